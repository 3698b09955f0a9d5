"""Compiled programs that combine many values for one element: ufunc.at, bincount, convolve."""

import numpy as np
import pytest
import weft


def lowest_and_highest(array, index, values):
    np.minimum.at(array, index, values)
    np.maximum.at(array, index[::-1], values)
    return array


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "i2", "?"])
def test_extremes_at_repeated_positions(dtype):
    rng = np.random.default_rng(1)
    array, values = (np.abs(rng.standard_normal(n) * 9).astype(dtype) for n in (50, 300))
    index = rng.integers(-50, 50, 300)
    if values.dtype.kind == "f":
        values[7] = array[3] = np.nan
    with np.errstate(invalid="ignore"):
        want = lowest_and_highest(array.copy(), index, values)
        got = weft.compile(lowest_and_highest)(array.copy(), index, values)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_extremes_of_rows():
    rows, index = np.zeros((4, 5)), np.array([1, 1, 3])
    values = np.arange(15.0).reshape(3, 5) - 7
    compiled = weft.compile(lowest_and_highest)
    np.testing.assert_array_equal(
        compiled(rows.copy(), index, values), lowest_and_highest(rows.copy(), index, values)
    )
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
        compiled(rows, np.array([9]), values[:1])


@pytest.mark.parametrize("mode", ["valid", "full", "same"])
@pytest.mark.parametrize("taps", [3, 17, 64, 300])
def test_convolve(mode, taps):
    rng = np.random.default_rng(taps)
    signal, weights = rng.integers(-9, 9, 1000), rng.integers(-9, 9, taps)
    compiled = weft.compile(lambda a, v: np.convolve(a, v, mode))
    for dtype in (np.int64, np.float64, np.float32):  # exact in each
        a, v = signal.astype(dtype), weights.astype(dtype)
        want = np.convolve(a, v, mode)
        got = compiled(a, v)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("bins", [1, 256, 100_000])
def test_long_bincount(bins):
    rng = np.random.default_rng(bins)
    x, weights = rng.integers(0, bins, 200_000), rng.integers(0, 9, 200_000).astype(float)

    def counts(x, weights):
        return np.bincount(x), np.bincount(x, weights=weights, minlength=bins + 3)

    for got, want in zip(weft.compile(counts)(x, weights), counts(x, weights)):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    x[777] = -1
    with pytest.raises(ValueError, match="must have no negative elements"):
        weft.compile(counts)(x, weights)
