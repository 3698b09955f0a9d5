"""np.histogram compiled: NumPy's counts, sums of weights and edges, bit for bit where NumPy's bins are even."""

import numpy as np
import pytest
import weft

rng = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def forget_captures():
    yield
    weft.compiler.reset()


def same_histogram(*arguments, **keywords):
    def histogram(*arguments):
        return np.histogram(*arguments, **keywords)

    compiled = weft.compile(histogram)
    expected = histogram(*arguments)
    for _ in range(2):
        got = compiled(*arguments)
        for mine, theirs in zip(got, expected):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000, 16383, 16384, 40_000, 131_073])
@pytest.mark.parametrize("bins", [1, 2, 10, 100, 3000])
def test_even_bins(size, bins):
    x = rng.standard_normal(size)
    same_histogram(x, bins)
    same_histogram(x, bins, (-1.5, 1.25))
    same_histogram(np.round(x, 1), bins)
    same_histogram((x * 10).astype(np.int64), bins)


@pytest.mark.parametrize("size", [3, 1000, 65535, 65536, 65537, 200_000])
def test_weights_are_added_up_as_numpy_does(size):
    x, weights = rng.random(size), rng.random(size)
    same_histogram(x, 13, weights=weights)
    same_histogram(x, 13, (0.25, 0.5), weights=weights)


def test_given_edges():
    x = np.concatenate([rng.standard_normal(5000), [-1.0, 0.5, 2.0, np.nan, np.inf, -np.inf] * 9])
    same_histogram(x, np.array([-1.0, 0.5, 0.5, 2.0]))
    same_histogram(x, np.array([-1.0, 0.5, 2.0, 2.0]))
    same_histogram(x, np.array([-np.inf, 0.0, np.inf]))
    same_histogram(x, np.array([-1e300, -1.0, 1e-300, 1.0, 1e300]))
    same_histogram(x, np.array([0, 1, 2]))
    same_histogram(np.arange(3000) // 7, np.array([0, 1, 5, 70, 428]))
    same_histogram(
        np.array([2**62, 2**62 + 1, 2**53 + 1, 5] * 40), np.array([0, 2**53 + 1, 2**62 + 1, 2**62 + 2])
    )


def test_elements_that_are_all_equal():
    same_histogram(np.full(1000, 3.0), 10)
    same_histogram(np.zeros(1, dtype=np.int64), 4)


def test_what_numpy_refuses():
    compiled = weft.compile(lambda x, bins: np.histogram(x, bins))
    for x, bins in [
        (np.array([1.0, np.nan]), 4),
        (np.arange(4.0), np.array([1.0, 0.0])),
        (np.arange(4.0), 0),
    ]:
        with pytest.raises(ValueError) as expected:
            np.histogram(x, bins)
        with pytest.raises(ValueError) as got:
            compiled(x, bins)
        assert str(got.value) == str(expected.value)


@pytest.mark.parametrize("size", [255, 256, 257, 1000, 70_001])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
def test_what_lies_on_edges_and_outside(size, dtype):
    x = (rng.standard_normal(size) * 20).astype(dtype)
    x[:60] = np.resize([-10, 10, 5, -30, 30, 0], 60)
    edges = np.linspace(-10, 10, 9).astype(dtype)
    same_histogram(x, edges)
    same_histogram(x, 8, (-10, 10))
    if np.issubdtype(dtype, np.floating):
        x[60:120] = np.resize([np.nan, np.inf, -np.inf, -0.0, np.nextafter(dtype(10), dtype(11))], 60)
        same_histogram(x, edges)


def test_many_bins_beside_few():
    """2048 edges have 8192 cells, to which each has two slots; more edges count bins."""
    x = np.random.default_rng(5).standard_normal(40_000)
    compiled = weft.compile(lambda x, edges: np.histogram(x, edges)[0])
    for bins in (10, 2046, 2047, 2048, 2049, 4000):
        edges = np.linspace(-2.0, 2.0, bins + 1)
        values = np.concatenate([x, edges, [np.nan, -2.0, 2.0]])
        np.testing.assert_array_equal(compiled(values, edges), np.histogram(values, edges)[0])
