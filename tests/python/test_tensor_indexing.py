"""Indexing and assignment, against NumPy."""

import numpy as np
import pytest
import weft

BASE = np.arange(2 * 3 * 4, dtype=np.int64).reshape(2, 3, 4)

BASIC = [
    0,
    -1,
    (1, 2),
    (1, -1, 3),
    slice(None),
    slice(None, None, -1),
    slice(5, 0, -2),
    (slice(None), slice(0, 3, 2)),
    ...,
    (..., 0),
    (0, ...),
    (0, ..., slice(1, 3)),
    None,
    (None, 0, None, ...),
    (slice(1, 1),),
    (slice(None), -1, ...),
    (slice(None, None, -1), slice(None, None, -2), slice(3, None, -3)),
    np.int32(1),
    (np.int64(0), np.uint8(2)),
    (),
]
ARRAYS = [
    [0, 1, 1],
    (slice(None), [2, 0]),
    (slice(None), slice(None), np.array([3, -4])),
    np.array([[0, 1], [1, 0]]),
    ([0, 1], [1, 2]),
    ([0, 1], slice(None), [1, 2]),
    (slice(None), [0, 2], [3, 1]),
    (np.array([[0], [1]]), [0, 2]),
    BASE > 5,
    (0, BASE[0] > 5),
    (slice(None), np.array([True, False, True])),
    [],
    (None, [0, 1]),
    (slice(None, None, -1), [0, 1]),
    np.zeros((0,), np.int32),
    (..., [1, 2]),
    BASE.astype(bool),
]


def identifiers(index):
    return str(index).replace("\n", "")[:50]


@pytest.mark.parametrize("index", BASIC, ids=identifiers)
def test_basic_indexing_is_a_view(index):
    expected = BASE[index]
    x = weft.from_numpy(BASE)
    got = x[index]
    assert got.shape == expected.shape and got.tolist() == expected.tolist()
    if got.numel():
        assert got.data_ptr() == np.asarray(expected).__array_interface__["data"][0] or not isinstance(
            expected, np.ndarray
        )


@pytest.mark.parametrize("index", ARRAYS, ids=identifiers)
def test_array_indexing(index):
    expected = BASE[index]
    got = weft.from_numpy(BASE)[index]
    assert got.shape == expected.shape and got.tolist() == expected.tolist()


@pytest.mark.parametrize("index", BASIC + ARRAYS, ids=identifiers)
def test_assignment(index):
    for value in (7, 2.0, np.arange(BASE[index].size, dtype=np.float32).reshape(BASE[index].shape)):
        a, x = BASE.copy(), weft.tensor(BASE)
        a[index] = value
        x[index] = value
        assert x.tolist() == a.tolist()


def test_tensors_as_indices():
    x = weft.tensor(BASE)
    assert x[weft.tensor([1, 0])].tolist() == BASE[[1, 0]].tolist()
    assert (
        x[weft.tensor(1), weft.tensor([True, False, True])].tolist() == BASE[1, [True, False, True]].tolist()
    )
    x[weft.tensor(BASE > 3)] = -1
    assert (x.numpy() == np.where(BASE > 3, -1, BASE)).all()


def test_last_value_stays_and_overlap_is_handled():
    x = weft.tensor([0, 0, 0])
    x[[1, 1]] = weft.tensor([5, 6])
    assert x.tolist() == [0, 6, 0]
    a = np.arange(8)
    x = weft.tensor(a)
    x[1:] = x[:-1]
    a[1:] = a[:-1].copy()
    assert x.tolist() == a.tolist()
    x[::-1] = x
    assert x.tolist() == a[::-1].tolist()


def test_large_gather():
    a = np.random.default_rng(0).normal(size=(5000, 17)).astype(np.float32)
    index = np.random.default_rng(1).integers(-5000, 5000, 20000)
    assert np.array_equal(weft.from_numpy(a)[index].numpy(), a[index])
    assert np.array_equal(weft.from_numpy(a)[:, [3, 3, 1]].numpy(), a[:, [3, 3, 1]])


@pytest.mark.parametrize(
    "index, error, message",
    [
        (2, IndexError, "index: 2 is out of range for dimension 0 of size 2"),
        ((0, 0, 0, 0), IndexError, r"index: 4 indices for i64\[2, 3, 4\] cpu"),
        ((..., 0, ...), IndexError, "at most one"),
        ("a", TypeError, "expected integers, slices, None, ... or arrays of integers or bool, got str"),
        (1.5, IndexError, "got float"),
        ([[0, 9]], IndexError, "index: 9 is out of range for dimension 0 of size 2"),
        ([0.5], IndexError, r"arrays of integers or bool index a tensor, got f32\[1\]"),
        (np.array([True]), IndexError, r"the mask bool\[1\] cpu does not match dimension 0"),
        (([0, 1], [0, 1, 2]), IndexError, "do not broadcast"),
        (slice(None, None, 0), ValueError, "step"),
    ],
)
def test_bad_indices(index, error, message):
    x = weft.tensor(BASE)
    with pytest.raises(error, match=message):
        x[index]
    with pytest.raises(error, match=message):
        x[index] = 0


def test_bad_assignments():
    x = weft.tensor(BASE)
    with pytest.raises(ValueError, match="source's shape must broadcast"):
        x[0] = weft.tensor([1, 2, 3])
    with pytest.raises(TypeError, match="complex value does not fit"):
        x[0] = 1j
    with pytest.raises(TypeError):
        x[0] = "a"
    with pytest.raises((TypeError, AttributeError)):
        del x[0]
