"""Operators as users call them: sizes and axes one by one or as tuples, creation, views, several results."""

import numpy as np
import pytest
import weft

BASE = np.arange(24.0).reshape(2, 3, 4)


def tensor():
    return weft.from_numpy(BASE)


@pytest.mark.parametrize(
    "view, expected",
    [
        (lambda x: x.permute(2, 0, 1), BASE.transpose(2, 0, 1)),
        (lambda x: x.permute((2, 0, 1)), BASE.transpose(2, 0, 1)),
        (lambda x: weft.permute(x, dims=(2, 0, 1)), BASE.transpose(2, 0, 1)),
        (lambda x: x.transpose(0, 2), BASE.swapaxes(0, 2)),
        (lambda x: x.reshape(6, -1), BASE.reshape(6, -1)),
        (lambda x: x.reshape(-1), BASE.reshape(-1)),
        (lambda x: x[0].expand(2, 3, 4), np.broadcast_to(BASE[0], (2, 3, 4))),
        (lambda x: x.unsqueeze(1).squeeze(1), BASE),
        (lambda x: x.flatten(), BASE.reshape(-1)),
        (lambda x: x.T, BASE.T),
    ],
)
def test_views_share_memory(view, expected):
    got = view(tensor())
    assert got.shape == expected.shape and np.array_equal(got.numpy(), expected)
    assert np.shares_memory(got.numpy(), BASE)


def test_creation():
    assert weft.zeros(2, 3).shape == weft.zeros((2, 3)).shape == weft.zeros(size=(2, 3)).shape == (2, 3)
    assert weft.zeros(2).dtype is weft.float32 and weft.ones(2, dtype=weft.int8).tolist() == [1, 1]
    assert weft.full((2,), 7).dtype is weft.int64 and weft.full((2,), fill_value=1.5).tolist() == [1.5, 1.5]
    assert weft.arange(3).tolist() == [0, 1, 2] and weft.arange(1, 7, 2).tolist() == [1, 3, 5]
    assert weft.arange(0, 1, 0.25).dtype is weft.float32
    assert weft.linspace(0, 1, steps=3).tolist() == [0, 0.5, 1]
    assert weft.eye(2).tolist() == [[1, 0], [0, 1]]
    assert weft.zeros(2, device="meta").is_meta and weft.empty(3, 4).shape == (3, 4)
    assert weft.zeros_like(tensor()).dtype is weft.float64
    with pytest.raises(RuntimeError, match="cuda:0"):
        weft.zeros(2, device="cuda")
    with pytest.raises(ValueError, match="-1"):
        weft.zeros(-1)


def test_lists_of_tensors():
    a, b = weft.tensor([1.0]), weft.tensor([2.0])
    assert weft.concatenate([a, b]).tolist() == [1, 2] and weft.stack((a, b), axis=1).tolist() == [[1, 2]]
    first, second = tensor().unbind()
    assert second.tolist() == BASE[1].tolist()
    assert [piece.shape for piece in weft.chunk(tensor(), 2, dim=2)] == [(2, 3, 2), (2, 3, 2)]
    with pytest.raises(TypeError, match="argument 'tensors' must be"):
        weft.stack([a, "b"])


def test_numbers_where_operators_are_not_pointwise():
    x = weft.tensor([1, 2], dtype=weft.int32)
    assert weft.div(x, 2).tolist() == [0.5, 1.0] and (x / 2).dtype is weft.float32
    assert (x.double() / 3)[0].item() == 1 / 3
    assert weft.div(x.double(), 3)[0].item() == 1 / 3


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">="])
def test_python_operators_are_numpys(operator):
    x, y = np.array([5.0, -7.0, 2.5]), np.array([2.0, 3.0, 0.5])
    names = {"x": weft.from_numpy(x), "y": weft.from_numpy(y), "a": x, "b": y}
    for mine, theirs in (
        (f"x {operator} y", f"a {operator} b"),
        (f"x {operator} 2", f"a {operator} 2"),
        (f"2.0 {operator} y", f"2.0 {operator} b"),
    ):
        assert np.array_equal(eval(mine, names).numpy(), eval(theirs, names)), mine


def test_bit_operators():
    x, y = weft.tensor([6, 3]), weft.tensor([3, 1])
    assert (x & y).tolist() == [2, 1] and (x | y).tolist() == [7, 3] and (x ^ 1).tolist() == [7, 2]
    assert (x << 1).tolist() == [12, 6] and (x >> y).tolist() == [0, 1] and (~x).tolist() == [-7, -4]
    assert (-x).tolist() == [-6, -3] and abs(-x).tolist() == [6, 3] and (+x).tolist() == [6, 3]
    x &= 2
    x <<= 1
    assert x.tolist() == [4, 4]


def test_matrix_product():
    x = weft.from_numpy(BASE)
    assert np.allclose((x @ x.mT).numpy(), BASE @ BASE.swapaxes(1, 2))
