"""The promotion tables against PyTorch's recorded results and against NumPy itself."""

import json
import os
import pathlib

import pytest
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA") or pathlib.Path(__file__).parents[3] / "shared" / "data"
)
GOLDEN = SHARED / "torch_goldens" / "type_promotion.json"


def torch_goldens():
    if not GOLDEN.exists():
        pytest.skip(f"no test data at {GOLDEN}")
    return json.loads(GOLDEN.read_text())


def test_pytorch_promote_types():
    table = torch_goldens()["promote_types"]
    for a, row in table.items():
        for b, expected in row.items():
            assert weft.promote_types(getattr(weft, a), getattr(weft, b)) is getattr(weft, expected), (a, b)


def test_pytorch_python_scalars():
    scalars = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}
    for name, row in torch_goldens()["tensor_with_python_scalar"].items():
        for kind, expected in row.items():
            expected = "complex64" if expected == "complex32" else expected
            result = weft.tensor([1], dtype=getattr(weft, name)) + scalars[kind]
            assert result.dtype is getattr(weft, expected), (name, kind)


def test_pytorch_zero_dimensional_tensors():
    for name, row in torch_goldens()["tensor_with_0d_tensor"].items():
        for other, expected in row.items():
            if expected == "complex32":
                continue
            result = weft.tensor([1], dtype=getattr(weft, name)) + weft.tensor(1, dtype=getattr(weft, other))
            assert result.dtype is getattr(weft, expected), (name, other)


def test_wide_unsigned_integers_have_no_rule():
    with pytest.raises(TypeError, match="uint16 and int32 have no common type"):
        weft.promote_types(weft.uint16, weft.int32)
    assert weft.promote_types(weft.uint64, weft.float16) is weft.float16
