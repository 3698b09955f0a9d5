"""Sorts of many short runs, which are sorted side by side, and of few and long ones, which are not: beside NumPy."""

import numpy as np
import pytest
import weft
from support.tiers import long_but

DTYPES = [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]
DTYPES += [np.int64, np.uint64, np.bool_]


def example(length, lanes, dtype):
    random = np.random.default_rng(length * lanes)
    if dtype is np.bool_:
        return random.random((length, lanes)) < 0.5
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        x = random.integers(max(limits.min, -50), 50, (length, lanes)).astype(dtype)
        specials = [limits.min, limits.max]
    else:
        x = np.round(random.standard_normal((length, lanes)) * 9).astype(dtype) / 4
        specials = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0]
    for special in specials:
        x[random.random(x.shape) < 0.05] = special
    return x


def layouts(x):
    yield x, 0
    yield x.T, 1
    yield np.ascontiguousarray(x.T), 1
    yield np.repeat(x, 2, 1)[:, ::2], 0
    yield x[::-1], 0


LENGTHS = [1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 64, 65, 127, 200, 256, 257, 511, 512, 513]


@pytest.mark.parametrize("dtype", long_but(DTYPES, np.float32, np.float64, np.uint8, np.int32, np.int64))
def test_runs(dtype):
    for length in LENGTHS:
        for lanes in (1, 4, 8, 9, 33, 64, 150):
            for array, dim in layouts(example(length, lanes, dtype)):
                tensor = weft.from_numpy(array)
                expected, order = np.sort(array, dim), np.argsort(array, dim, kind="stable")
                np.testing.assert_array_equal(weft.sort_values(tensor, dim).numpy(), expected)
                values, positions = weft.sort(tensor, dim)
                np.testing.assert_array_equal(values.numpy(), expected)
                np.testing.assert_array_equal(positions.numpy(), order)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int32, np.int64])
def test_descending_runs_are_stable(dtype):
    for length in (2, 7, 32, 33, 100):
        x = example(length, 40, dtype)
        if np.issubdtype(dtype, np.floating):
            x[np.isnan(x)] = 1
        keys = -(x.astype(np.float64) + 0.0)  # equal numbers of either sign of zero
        if dtype is np.int64:
            keys = np.array([[-int(v) for v in row] for row in x], object)
        values, positions = weft.sort(weft.from_numpy(x), 0, True)
        order = np.argsort(keys, 0, kind="stable")
        np.testing.assert_array_equal(positions.numpy(), order)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, 0))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_negative_zeros_come_first(dtype):
    zeros = np.tile(np.array([0.0, -0.0, 1.0, 0.0, -1.0, -0.0], dtype)[:, None], (1, 70))
    result = weft.sort_values(weft.from_numpy(zeros), 0).numpy()
    np.testing.assert_array_equal(np.signbit(result[:, 3]), [True, True, True, False, False, False])


def test_nothing_to_sort():
    for shape in ((0, 50), (50, 0), (1, 50)):
        for dim in (0, 1):
            assert weft.sort_values(weft.zeros(shape), dim).shape == shape
