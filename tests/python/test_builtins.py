"""TorchScript's tensor builtins: PyTorch's recorded results through them, and what archives call."""

import json
import os
import pathlib
import re
import zipfile

import numpy as np
import pytest
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
GOLDENS = SHARED / "torch_goldens"
ARCHIVES = SHARED / "torchscript"

SCHEMAS = weft._C._builtin_schemas()
NAMES = {re.split(r"[.(]", schema)[0] for schema in SCHEMAS}
# Functions of torch.nn.functional that are Python over builtins of other names, or take other arguments.
PYTHON_ONLY = {
    "F:adaptive_max_pool2d", "F:batch_norm", "F:cross_entropy", "F:grid_sample", "F:instance_norm", "F:interpolate",
    "F:logsigmoid", "F:normalize", "F:softmin", "F:softsign", "F:unfold",
}  # fmt: skip
RENAMED = {"F:embedding": "embedding", "F:softmax": "softmax", "torch:unique": "_unique2"}


def call(name, *args, **kwargs):
    return weft._C._call_builtin(name, *args, **kwargs)


def load_cases():
    path = GOLDENS / "cases.json"
    return json.loads(path.read_text()) if path.exists() else []


def decode(item, arrays):
    if "tensor" in item:
        return weft.tensor(arrays[item["tensor"]])
    if "list" in item:
        return [decode(element, arrays) for element in item["list"]]
    return item["value"]


@pytest.fixture(scope="module")
def arrays():
    with np.load(GOLDENS / "cases.npz") as archive:
        return dict(archive)


def builtin_name(op):
    family, name = op.split(":")
    if op in PYTHON_ONLY:
        return None
    return "aten::" + ("linalg_" + name if family == "linalg" else RENAMED.get(op, name))


CASES = [(i, case) for i, case in enumerate(load_cases()) if builtin_name(case["op"])]


def arguments(case, arrays):
    args = [decode(item, arrays) for item in case["args"]]
    kwargs = {key: decode(item, arrays) for key, item in case["kwargs"].items()}
    if case["op"] == "torch:einsum":
        args[1:] = [args[1:]]
    elif case["op"] == "torch:tensordot":
        dims = kwargs.pop("dims") if "dims" in kwargs else args.pop()
        rank = len(args[0].shape)
        args += [list(range(rank - dims, rank)), list(range(dims))] if isinstance(dims, int) else dims
    elif case["op"] == "F:embedding":
        args[0], args[1] = args[1], args[0]
    return args, kwargs


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{i}-{case['op']}" for i, case in CASES])
def test_golden(case, arrays):
    args, kwargs = arguments(case, arrays)
    try:
        result = call(builtin_name(case["op"]), *args, **kwargs)
    except NotImplementedError as error:
        pytest.skip(str(error))
    expected = decode(case["out"], arrays)
    expected = expected if isinstance(expected, list) else [expected]
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    for got, want in zip(results, expected, strict=False):
        if isinstance(want, weft.Tensor):
            assert got.dtype == want.dtype
            wanted = want.numpy()
            # Sums of terms of both signs: PyTorch's rounding is relative to the terms, not to the result.
            floor = (
                1e-6 * float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.1))
                if wanted.dtype.kind in "fc"
                else 0
            )
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=floor)
        else:
            assert got == want


# What the compiler and the interpreter know by themselves, or builtins of strings.
OUTSIDE = {
    "ops.prim.RaiseException", "torch.find", "torch.format", "torch.is_autocast_enabled", "torch.is_grad_enabled",
    "torch.lower", "torch.warn",
}  # fmt: skip


def archive_calls():
    calls = set()
    for path in sorted(ARCHIVES.glob("*.pt")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if "/code/" in name and name.endswith(".py"):
                    text = archive.read(name).decode()
                    calls.update(re.findall(r"\b(torch\.\w+|ops\.prim\.\w+)\(", text))
    return calls


@pytest.mark.skipif(not ARCHIVES.exists(), reason="the torchscript archives are not there")
def test_archives_call_nothing_unknown():
    def known(called):
        return called.replace("ops.prim.", "prim::").replace("torch.", "aten::") in NAMES

    assert sorted(called for called in archive_calls() if not known(called) and called not in OUTSIDE) == []


def test_in_place_builtins_write_into_self():
    x = weft.tensor([1.0, -2.0])
    assert call("aten::relu_", x) is not None
    assert x.tolist() == [1.0, 0.0]
    call("aten::add_", x, weft.tensor([1.0, 1.0]), alpha=2)
    assert x.tolist() == [3.0, 2.0]
    row = call("aten::select", weft.zeros([2, 2]), 0, 1)
    assert call("aten::fill_", row, 7).tolist() == [7.0, 7.0]


def test_in_place_results_must_fit():
    with pytest.raises(TypeError, match="float32 can't be written to a tensor of dtype int64"):
        call("aten::add_", weft.tensor([1, 2]), weft.tensor([0.5, 0.5]))
    with pytest.raises(ValueError, match="shape"):
        call("aten::add_", weft.tensor([1.0, 2.0]), weft.zeros([3, 2]))


@pytest.mark.parametrize(
    "view",
    [
        lambda x: call("aten::view", x, [3, 2]),
        lambda x: call("aten::transpose", x, 0, 1),
        lambda x: call("aten::select", x, 0, -1),
        lambda x: call("aten::slice", x, 1, 1, None, 1),
        lambda x: call("aten::unsqueeze", x, 0),
        lambda x: call("aten::chunk", x, 2, 0)[1],
        lambda x: call("aten::detach", x),
        lambda x: call("aten::flatten", x),
    ],
)
def test_views_share_memory(view):
    x = weft.zeros([2, 3])
    call("aten::fill_", view(x), 5)
    assert x.numpy().any()


def test_in_place_views_change_the_tensor():
    x = weft.zeros([2, 3])
    call("aten::t_", x)
    assert list(x.shape) == [3, 2]
    call("aten::unsqueeze_", x, -1)
    assert list(x.shape) == [3, 2, 1]


def test_view_of_what_cannot_be_viewed():
    with pytest.raises(ValueError, match="use reshape"):
        call("aten::view", call("aten::t", weft.zeros([2, 3])), [6])


def test_tensor_from_lists():
    assert call("aten::tensor", [[1.0, 2.0], [3.0, 4.0]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert call("aten::tensor", [True, False]).dtype == weft.bool
    assert call("aten::tensor", 3).dtype == weft.int64
    assert call("aten::tensor", 3.0, dtype=weft.float64).dtype == weft.float64
    with pytest.raises(ValueError, match="lists of length"):
        call("aten::tensor", [[1.0, 2.0], [3.0]])


def test_numbers_from_tensors():
    assert call("aten::Int", weft.tensor(3.9)) == 3
    assert call("aten::Float", weft.tensor(2)) == 2.0
    assert call("aten::Bool", weft.tensor(0)) is False
    assert call("aten::item", weft.tensor(2.5)) == 2.5
    with pytest.raises(ValueError, match="one element"):
        call("aten::item", weft.zeros([2]))


def test_missing_operators_are_named():
    with pytest.raises(TypeError, match="no overload of aten::relu"):
        call("aten::relu", 3)


def test_random_numbers_follow_the_seed():
    draws = []
    for _ in range(2):
        call("aten::manual_seed", 5)
        draws.append(call("aten::randn", [100]).numpy())
    assert (draws[0] == draws[1]).all()
    assert abs(draws[0].mean()) < 0.5
    x = weft.ones([1000])
    assert call("aten::dropout", x, 0.5, False).tolist() == x.tolist()
    kept = call("aten::dropout", x, 0.25, True).numpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / 0.75)}
