"""Calling operators: argument matching, Python's operators, in-place forms, out= and error messages."""

import pickle

import numpy as np
import pytest
import weft


def test_functions_methods_and_operators_agree():
    x, y = weft.tensor([1.0, -2.0]), weft.tensor([[3.0], [4.0]])
    expected = x.numpy() + y.numpy()
    for got in (weft.add(x, y), x + y, x.add(y), weft.add(x, other=y), weft.add(input=x, other=y)):
        assert np.array_equal(got.numpy(), expected)


def test_python_scalars_and_arrays_as_operands():
    x = weft.tensor([1, 2])
    assert (x + 1).dtype is weft.int64 and (1 + x).tolist() == [2, 3] and (x * 2.5).dtype is weft.float32
    assert (10 - x).tolist() == [9, 8]
    assert (x + np.array([1, 2])).tolist() == [2, 4]
    both = np.array([1, 2]) + x
    assert isinstance(both, weft.Tensor) and both.tolist() == [2, 4]
    assert (x + np.float64(0.5)).dtype is weft.float32


def test_in_place():
    x = weft.tensor([1, 2])
    same, address = x, x.data_ptr()
    x += 1
    x *= weft.tensor([2, 3])
    assert x is same and x.data_ptr() == address and x.tolist() == [4, 9]
    x.add_(1)
    assert x.tolist() == [5, 10]
    with pytest.raises(TypeError, match="result type float32 cannot be stored in the target i64"):
        x += 0.5
    with pytest.raises(ValueError, match="does not have the shape of the target"):
        x += weft.tensor([[1], [2]])
    a = np.arange(2)
    a.flags.writeable = False
    y = weft.from_numpy(a)
    with pytest.raises(ValueError, match="read-only"):
        y += 1


def test_out():
    x, out = weft.tensor([1.0, 2.0]), weft.tensor([0.0, 0.0])
    assert weft.add(x, x, out=out) is out and out.tolist() == [2, 4]
    with pytest.raises(TypeError, match="out must be a Tensor"):
        weft.add(x, x, out=[1])


def test_reductions_take_numpy_and_pytorch_keywords():
    x = weft.tensor(np.arange(6.0).reshape(2, 3))
    for got in (
        weft.sum(x, dim=1, keepdim=True),
        weft.sum(x, axis=1, keepdims=True),
        x.sum(1, True),
        x.sum((1,), keepdim=True),
    ):
        assert got.tolist() == [[3], [12]]
    assert x.sum().item() == 15 and weft.sum(x, (0, 1)).item() == 15


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: weft.add(x), TypeError, "add: missing argument 'y'"),
        (lambda x: weft.add(x, x, x), TypeError, "add: expected at most 2 positional arguments, got 3"),
        (
            lambda x: weft.add(x, "a"),
            TypeError,
            "add: argument 'y' must be a Tensor, an array or a number, got str",
        ),
        (lambda x: weft.add(x, x, z=1), TypeError, "add: unexpected keyword argument 'z'"),
        (lambda x: weft.add(x, x, y=x), TypeError, "add: argument 'y' is given twice"),
        (
            lambda x: x.sum(dim="a"),
            TypeError,
            "sum: argument 'dim' must be an int or a sequence of ints or None, got str",
        ),
        (lambda x: x + "a", TypeError, "unsupported operand"),
        (lambda x: "a" + x, TypeError, "can only concatenate str"),
        (lambda x: x + weft.tensor([1, 2, 3]), ValueError, "add"),
        (lambda x: x.sum(dim=3), IndexError, "sum"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.tensor([1, 2]))


def test_operators_describe_themselves():
    assert weft.add.__name__ == "add" and weft.add.__doc__.startswith("add(Tensor x, Tensor y")
    assert repr(weft.add) == "<weft operator add>" and pickle.loads(pickle.dumps(weft.add)) is weft.add
    assert "Tensor x" in weft.add.schema


def test_comparison_with_other_objects():
    x = weft.tensor([1])
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    assert x in {x: 1} and hash(x) == hash(x)
