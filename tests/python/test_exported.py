"""Programs that PyTorch 2.15 exported: results, and arguments after the call, as PyTorch gave them."""

import json
import os
import pathlib

import exported_operators
import numpy as np
import pytest
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA") or pathlib.Path(__file__).parents[3] / "shared" / "data"
)
FOLDER = SHARED / "pt2"
NAMES = sorted(path.stem for path in FOLDER.glob("*.pt2"))

needs_data = pytest.mark.skipif(not NAMES, reason=f"no test data at {FOLDER}")
TOLERANCE = {"bfloat16": 1e-2, "float16": 2e-3, "float64": 1e-10}


def value_of(tree, arrays):
    """The value that a tree of the data says."""
    if "t" in tree:
        return weft.tensor(arrays[tree["t"]]).to(getattr(weft, tree["dtype"]))
    if "u" in tree:
        return tuple(value_of(each, arrays) for each in tree["u"])
    if "l" in tree:
        return [value_of(each, arrays) for each in tree["l"]]
    if "d" in tree:
        return {key: value_of(each, arrays) for key, each in tree["d"].items()}
    return tree["s"]


def compare(found, expected, place, tolerance=None):
    if isinstance(expected, weft.Tensor):
        assert isinstance(found, weft.Tensor), place
        assert (found.dtype, tuple(found.shape)) == (expected.dtype, tuple(expected.shape)), place
        dtype = str(expected.dtype).rpartition(".")[2]
        tolerance = TOLERANCE.get(dtype, 1e-4) if tolerance is None else tolerance
        if not expected.is_floating_point() and not expected.is_complex():
            np.testing.assert_array_equal(found.numpy(), expected.numpy(), err_msg=place)
            return
        wide = [
            each.to(weft.float32).numpy() if dtype in ("bfloat16", "float16") else each.numpy()
            for each in (found, expected)
        ]
        scale = np.abs(wide[1][np.isfinite(wide[1])]).max(initial=1e-3)
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance * scale, err_msg=place)
        return
    if isinstance(expected, dict):
        found = found if isinstance(found, dict) else found._asdict()
        assert list(found) == list(expected), place
        for key in expected:
            compare(found[key], expected[key], f"{place}[{key!r}]", tolerance)
        return
    if isinstance(expected, (tuple, list)):
        assert isinstance(found, type(expected)) and len(found) == len(expected), place
        for at, (one, other) in enumerate(zip(found, expected)):
            compare(one, other, f"{place}[{at}]", tolerance)
        return
    assert found == expected and type(found) is type(expected), place


def calls(name):
    arrays = np.load(FOLDER / f"{name}.npz")
    for number, call in enumerate(json.loads((FOLDER / f"{name}.json").read_text())["calls"]):
        yield number, {key: value_of(tree, arrays) for key, tree in call.items()}


def check(name, module):
    for number, call in calls(name):
        found = module(*call["args"], **call["kwargs"])
        compare(found, call["out"], f"{name}, call {number}: the result")
        compare(call["args"], call["args_after"], f"{name}, call {number}: the arguments afterwards")


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_results(name):
    check(name, weft.export.load(FOLDER / f"{name}.pt2").module())


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_optimized(name):
    check(name, weft.export.load(FOLDER / f"{name}.pt2").module().optimize_for_inference())


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_later_calls(name):
    """Stretches are compiled from the second call on."""
    module = weft.export.load(FOLDER / f"{name}.pt2").module()
    before = [(buffer, buffer.clone()) for buffer in module.buffers()]
    for _ in range(3):
        for _, call in calls(name):
            module(*call["args"], **call["kwargs"])
    for buffer, values in before:
        buffer.copy_(values)
    check(name, module)


@needs_data
def test_what_a_program_does_not_take():
    program = weft.export.load(FOLDER / "mlp_batch.pt2")
    module = program.module()
    assert program.range_constraints == {"s31": (1, 64)}
    for sizes, message in (((65, 16), r"shape\[0\] to be <= 64, but got 65"), ((2, 3), r"shape\[1\] to be equal to 16"),
                           ((2,), "2 dimensions, but got 1")):  # fmt: skip
        for each in (module, module.optimize_for_inference()):
            with pytest.raises(ValueError, match=message):
                each(weft.ones(sizes))
    with pytest.raises(TypeError, match="1 positional arguments, got 2"):
        module(1, 2)
    with pytest.raises(TypeError, match="no keyword argument 'y'"):
        module(weft.ones((2, 16)), y=1)
    with pytest.raises(RuntimeError, match="module"):
        program(weft.ones((2, 16)))


@needs_data
def test_files_that_are_none():
    contents = (FOLDER / "mlp.pt2").read_bytes()
    for damaged in (b"", b"PK", contents[:1000], contents.replace(b'"major": 8', b'"major": 9')):
        with pytest.raises(ValueError):
            weft.export.load(damaged)
    with pytest.raises(OSError):
        weft.export.load(FOLDER / "none.pt2")
    with pytest.raises(ValueError, match="TorchScript archive"):
        weft.export.load(SHARED / "torchscript" / "lstm.pt")


def test_core_overloads():
    """Gradients are none of inference's."""
    found = exported_operators.core()
    assert all(is_here or name.partition(".")[0].endswith("_backward") for name, is_here in found.items())
    assert len(found) > 180
