"""PyTorch's results, recorded from PyTorch 1.13.1: every case whose operator weft has.

Operators that do not exist yet are skipped, one skip per name, so that the list of what is missing is in the report.
"""

import json
import os
import pathlib

import numpy as np
import pytest
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
FOLDER = SHARED / "torch_goldens"


def load_cases():
    if not (FOLDER / "cases.json").exists():
        return []
    return json.loads((FOLDER / "cases.json").read_text())


CASES = load_cases()


def find(op):
    """weft's function for "F:relu", "torch:add" or "linalg:inv"; None when there is none."""
    family, name = op.split(":")
    places = {"F": ("nn.functional", ""), "linalg": ("linalg", ""), "torch": ("",)}[family]
    for place in places:
        holder = weft
        for part in filter(None, place.split(".")):
            holder = getattr(holder, part, None)
        function = getattr(holder, name, None) if holder is not None else None
        if callable(function):
            return function
    return None


@pytest.fixture(scope="module")
def arrays():
    with np.load(FOLDER / "cases.npz") as archive:
        return dict(archive)


def decode(item, arrays):
    if "tensor" in item:
        return weft.tensor(arrays[item["tensor"]])
    if "list" in item:
        return [decode(element, arrays) for element in item["list"]]
    return item["value"]


# Where weft gives another value on purpose, by operator and operand: left out of the comparison.
#   sign: NaN for NaN, as NumPy (PyTorch: 0).   i0: infinity at infinity (PyTorch 1.13: NaN).
DIFFERENT = {"torch:sign": np.isnan, "torch:i0": np.isinf}

# Sums of terms of both signs: PyTorch's rounding is relative to the terms, not to the result.
CANCELLING = {"F:linear", "F:conv1d", "F:conv2d", "F:conv3d", "F:conv_transpose1d", "F:conv_transpose2d",
              "F:conv_transpose3d", "F:gelu", "F:group_norm", "F:interpolate", "torch:einsum", "torch:matmul",
              "torch:bmm", "torch:addmm", "torch:baddbmm", "torch:tensordot", "torch:sum", "torch:mean",
              "torch:cumsum", "torch:scatter_add", "torch:index_add"}  # fmt: skip


def check_golden(op, result, expected, arrays):
    if "list" in expected:
        assert len(result) == len(expected["list"])
        for one, other in zip(result, expected["list"]):
            check_golden(op, one, other, arrays)
        return
    if isinstance(result, (tuple, list)) and len(result) == 1:
        result = result[0]
    wanted = arrays[expected["tensor"]]
    got = np.asarray(result)
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    if got.dtype.kind in "fc":
        largest = float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0))
        floor = 1e-6 * largest if op in CANCELLING or op.startswith("linalg:") else 1e-7
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=floor)
    else:
        np.testing.assert_array_equal(got, wanted)


def parameters():
    missing = {}
    for number, case in enumerate(CASES):
        if find(case["op"]) is None:
            missing[case["op"]] = missing.get(case["op"], 0) + 1
        else:
            yield pytest.param(case, id=f"{case['op']}-{number}")
    for op, count in sorted(missing.items()):
        reason = f"weft has no {op} yet ({count} case{'s' if count > 1 else ''})"
        yield pytest.param(None, id=op, marks=pytest.mark.skip(reason=reason))


@pytest.mark.skipif(not CASES, reason="torch_goldens/cases.json is not there")
@pytest.mark.parametrize("case", list(parameters()))
def test_case(case, arrays):
    args = [decode(argument, arrays) for argument in case["args"]]
    kwargs = {name: decode(value, arrays) for name, value in case["kwargs"].items()}
    op, expected = case["op"], case["out"]
    result = find(op)(*args, **kwargs)
    if op in DIFFERENT:
        keep = ~DIFFERENT[op](np.asarray(args[0]))
        arrays = arrays | {expected["tensor"]: arrays[expected["tensor"]][keep]}
        result = np.asarray(result)[keep]
    check_golden(op, result, expected, arrays)
