"""Views, creation, joining and indexing, against NumPy: over layouts, dtypes and random indices."""

import numpy as np
import pytest
import weft
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compare import assert_same

DTYPES = ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"]


def layouts(dtype):
    """The same kind of [4, 6] data in different memory layouts, by name."""
    base = (np.arange(96) % 7).reshape(8, 12).astype(dtype)
    yield "contiguous", base[:4, :6].copy()
    yield "transposed", base[:6, :4].T
    yield "negative stride", base[3::-1, 11:5:-1]
    yield "broadcast", np.broadcast_to(base[:1, :6], (4, 6))
    yield "offset", base[2:6, 3:9]


LAYOUTS = [pytest.param(array, id=f"{dtype}-{name}") for dtype in DTYPES for name, array in layouts(dtype)]


def assert_numpys(got, expected):
    assert_same(got.numpy(), np.asarray(expected))


VIEWS = {
    "permute": (lambda x: weft.permute(x, 1, 0), lambda a: a.transpose(1, 0)),
    "reshape": (lambda x: weft.reshape(x, (3, -1)), lambda a: a.reshape(3, -1)),
    "reshape deep": (lambda x: weft.reshape(x, (2, 2, 3, 2)), lambda a: a.reshape(2, 2, 3, 2)),
    "expand": (lambda x: weft.expand(x, 3, 4, 6), lambda a: np.broadcast_to(a, (3, 4, 6))),
    "flip": (lambda x: weft.flip(x, 1), lambda a: np.flip(a, 1)),
    "flip all": (lambda x: weft.flip(x), lambda a: np.flip(a)),
    "select": (lambda x: weft.select(x, 1, -2), lambda a: a[:, -2]),
    "narrow": (lambda x: weft.narrow(x, 1, 2, 3), lambda a: a[:, 2:5]),
    "diagonal": (lambda x: weft.diagonal(x, 1), lambda a: np.diagonal(a, 1)),
    "diagonal below": (lambda x: weft.diagonal(x, -2), lambda a: np.diagonal(a, -2)),
    "unfold": (
        lambda x: weft.unfold(x, 1, 3, 2),
        lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, 1)[:, ::2],
    ),
    "unsqueeze": (lambda x: weft.unsqueeze(x, -1), lambda a: a[..., None]),
    "flatten": (lambda x: weft.flatten(x), lambda a: a.reshape(-1)),
    "movedim": (lambda x: weft.movedim(x, 0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "rot90": (lambda x: weft.rot90(x), lambda a: np.rot90(a)),
    "rot90 thrice": (lambda x: weft.rot90(x, 3), lambda a: np.rot90(a, 3)),
    "roll": (lambda x: weft.roll(x, 2, 1), lambda a: np.roll(a, 2, 1)),
    "roll flat": (lambda x: weft.roll(x, -5), lambda a: np.roll(a, -5)),
    "tile": (lambda x: weft.tile(x, (2, 1, 3)), lambda a: np.tile(a, (2, 1, 3))),
    "repeat_interleave": (lambda x: weft.repeat_interleave(x, 2, 1), lambda a: np.repeat(a, 2, 1)),
    "tril": (lambda x: weft.tril(x, 1), lambda a: np.tril(a, 1)),
    "triu": (lambda x: weft.triu(x, -1), lambda a: np.triu(a, -1)),
    "concatenate": (lambda x: weft.concatenate([x, x], 1), lambda a: np.concatenate([a, a], 1)),
    "stack": (lambda x: weft.stack([x, x], -1), lambda a: np.stack([a, a], -1)),
    "vstack": (lambda x: weft.vstack([x, x]), lambda a: np.vstack([a, a])),
    "hstack": (lambda x: weft.hstack([x, x]), lambda a: np.hstack([a, a])),
    "nonzero": (lambda x: weft.nonzero(x), np.argwhere),
    "take": (lambda x: weft.take(x, weft.tensor([3, -1, 7])), lambda a: np.take(a, [3, -1, 7])),
    "take dim": (
        lambda x: weft.take(x, weft.tensor([[3, -1], [0, 2]]), 1),
        lambda a: np.take(a, [[3, -1], [0, 2]], 1),
    ),
    "masked_fill": (
        lambda x: weft.masked_fill(x, weft.tensor(np.eye(4, 6) > 0), 1),
        lambda a: np.where(np.eye(4, 6) > 0, a.dtype.type(1), a),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("array", LAYOUTS)
def test_like_numpy(name, array):
    ours, numpys = VIEWS[name]
    assert_numpys(
        ours(weft.from_numpy(array) if array.flags.writeable else weft.tensor(array)), numpys(array)
    )


@pytest.mark.parametrize(
    "array",
    [np.float32(3).reshape(()), np.zeros((0, 3)), np.zeros((2, 0, 3))],
    ids=["0-d", "[0, 3]", "[2, 0, 3]"],
)
def test_scalars_and_empty_arrays(array):
    x = weft.tensor(array)
    assert_numpys(weft.ravel(x), np.ravel(array))
    assert_numpys(weft.unsqueeze(x, 0), array[None])
    assert_numpys(weft.flip(x), np.flip(array))
    assert_numpys(weft.stack([x, x]), np.stack([array, array]))
    assert_numpys(weft.nonzero(x), np.argwhere(array))
    assert_numpys(weft.tile(x, 2), np.tile(array, 2))


def test_splits_are_views():
    a = np.arange(10.0)
    x = weft.from_numpy(a)
    for got, expected in [
        (weft.split(x, 3), [a[:3], a[3:6], a[6:9], a[9:]]),
        (weft.split(x, [4, 6]), [a[:4], a[4:]]),
        (weft.chunk(x, 3), [a[:4], a[4:8], a[8:]]),
        (weft.array_split(x, 3), np.array_split(a, 3)),
        (weft.array_split(x, [3]), np.array_split(a, [3])),
        (weft.array_split(x, [-2, 20]), np.array_split(a, [-2, 20])),
        (weft.unbind(x), list(a)),
    ]:
        assert len(got) == len(expected)
        for one, other in zip(got, expected):
            assert_numpys(one, np.asarray(other))
    weft.split(x, 5)[1].fill_(7.0) if hasattr(x, "fill_") else a.__setitem__(slice(5, 10), 7.0)
    assert a[5:].tolist() == [7.0] * 5


def test_creation():
    assert_numpys(weft.arange(2, 10, 3), np.arange(2, 10, 3))
    assert_numpys(weft.arange(0.0, 1.0, 0.1, dtype=weft.float64), np.arange(10) * 0.1)
    assert_numpys(weft.linspace(0, 1, 5, dtype=weft.float64), np.linspace(0, 1, 5))
    assert_numpys(weft.eye(3, 4, dtype=weft.float64), np.eye(3, 4))
    assert_numpys(weft.tri(3, 4, 1, dtype=weft.float64), np.tri(3, 4, 1))
    for got, expected in zip(
        weft.meshgrid(weft.tensor([1, 2]), weft.tensor([3, 4, 5]), indexing="xy"),
        np.meshgrid([1, 2], [3, 4, 5]),
    ):
        assert_numpys(got, expected)
    assert_numpys(weft.diag(weft.tensor([1, 2, 3]), -1), np.diag([1, 2, 3], -1))


@st.composite
def gather_case(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    target = list(shape)
    target[dim] = draw(st.integers(0, 5))
    size = shape[dim]
    count = int(np.prod(target))
    index = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
    return shape, dim, np.array(index, dtype=np.int64).reshape(target)


@settings(max_examples=60, deadline=None)
@given(gather_case())
def test_gather_and_scatter(case):
    shape, dim, index = case
    a = np.arange(float(np.prod(shape))).reshape(shape)
    x, at = weft.tensor(a), weft.tensor(index)
    picked = np.take_along_axis(a, index, dim)
    assert_numpys(weft.gather(x, dim, at), picked)
    assert_numpys(weft.take_along_dim(x, at, dim), picked)
    source = np.arange(float(index.size)).reshape(index.shape) + 100
    expected = a.copy()
    np.put_along_axis(expected, index, source, dim)
    assert_numpys(weft.scatter(x, dim, at, weft.tensor(source)), expected)
    added = a.copy()
    where = list(np.indices(index.shape))
    where[dim] = index
    np.add.at(added, tuple(where), source)
    assert_numpys(weft.scatter_add(x, dim, at, weft.tensor(source)), added)


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(
    "key", [(np.array([0, 2, -1]),), (np.array([[0, 1], [2, 0]]), np.array([1, 3]))], ids=["rows", "pairs"]
)
def test_index_put(key, accumulate):
    a = np.arange(20.0).reshape(4, 5)
    values = np.arange(float(a[key].size)).reshape(a[key].shape)
    expected = a.copy()
    if accumulate:
        np.add.at(expected, key, values)
    else:
        expected[key] = values
    indices = [weft.tensor(k) for k in key]
    assert_numpys(
        weft.index_put(weft.tensor(a), weft.tensor(values), indices, accumulate=accumulate), expected
    )
    assert_numpys(weft.index(weft.tensor(a), indices), a[key])


def test_masks():
    a = np.arange(12.0).reshape(3, 4)
    mask = a % 3 == 0
    x, m = weft.tensor(a), weft.tensor(mask)
    assert_numpys(weft.masked_select(x, m), a[mask])
    assert_numpys(weft.index(x, [m]), a[mask])
    expected = a.copy()
    expected[mask] = -1
    assert_numpys(weft.index_put(x, weft.tensor(-1.0), [m]), expected)


def test_errors():
    x = weft.tensor(np.arange(6.0).reshape(2, 3))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 3"):
        weft.select(x, 1, 5)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 3"):
        weft.gather(x, 1, weft.tensor([[5], [0]]))
    with pytest.raises(IndexError, match="index -4 is out of bounds for axis 1 with size 3"):
        weft.take_along_dim(x, weft.tensor([[-4], [0]]), 1)
    with pytest.raises(ValueError, match="cannot reshape array of size 6 into shape"):
        weft.reshape(x, (4, 2))
    with pytest.raises(
        ValueError, match="sizes must match except in dimension 0: expected size 3 in dimension 1, got 2"
    ):
        weft.concatenate([x, weft.tensor([[1.0, 2.0]])])
    with pytest.raises(ValueError, match="split: sizes must add up to dimension 0's size 2"):
        weft.split(x, [1, 2])
    with pytest.raises(TypeError, match="gather: index must be int64, got float32"):
        weft.gather(x, 0, weft.tensor([[0.5]]))
    with pytest.raises(
        IndexError, match="boolean index did not match indexed array along axis 0; size of axis is 2"
    ):
        weft.index(x, [weft.tensor([True, False, True])])
