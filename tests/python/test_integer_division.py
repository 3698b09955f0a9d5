"""Quotients, rests and shifts of integers in kernels: at every edge of their types, beside NumPy."""

import numpy as np
import pytest
import weft

DTYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
OPERATIONS = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "fmod": lambda x, y: np.fmod(x, y),
    "divmod": lambda x, y: np.add(*np.divmod(x, y)),
}


def pairs(dtype):
    limits = np.iinfo(dtype)
    if limits.bits == 8:
        a, b = np.meshgrid(*[np.arange(limits.min, limits.max + 1).astype(dtype)] * 2)
        return a.ravel(), b.ravel()
    random = np.random.default_rng(limits.bits)
    edges = [
        0,
        1,
        2,
        3,
        7,
        10,
        limits.max,
        limits.max - 1,
        limits.max // 2,
        limits.max // 3,
        limits.min,
        limits.min + 1,
    ]
    edges += [-1, -2, -3, -7] if limits.min < 0 else []
    a, b = np.meshgrid(*[np.array(edges, object).astype(dtype)] * 2)
    some = random.integers(limits.min, limits.max, (2, 20000), dtype=dtype, endpoint=True)
    # Beside multiples: where a quotient in floating point might be rounded up.
    quotients, divisors = (
        random.integers(1, 200, 20000).astype(dtype),
        random.integers(1, limits.max // 400, 20000).astype(dtype),
    )
    products = quotients * divisors
    one = dtype(1)
    numerators = [a.ravel(), some[0], some[0], products - one, products, products + one]
    denominators = [b.ravel(), some[1], some[1] >> dtype(limits.bits // 2), divisors, divisors, divisors]
    return np.concatenate(numerators), np.concatenate(denominators)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_division(operation, dtype):
    function = OPERATIONS[operation]
    a, b = pairs(dtype)
    np.testing.assert_array_equal(weft.compile(function)(a, b), function(a, b))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_divisors_that_are_known(dtype):
    a, _ = pairs(dtype)
    for divisor in (1, 2, 3, 7, 8, 64, 100, -1, -2, -3, np.iinfo(dtype).max // 2 + 1):
        if divisor < np.iinfo(dtype).min:
            continue

        def function(x, divisor=divisor):
            return x // divisor, x % divisor, (x // divisor).sum(), np.fmod(x, dtype(divisor))

        for actual, expected in zip(weft.compile(function)(a), function(a), strict=True):
            np.testing.assert_array_equal(actual, expected)
            assert actual.dtype == expected.dtype


def test_rests_of_columns():
    x = np.random.default_rng(3).integers(-(2**62), 2**62, (70, 130))
    for function in (
        lambda x: (x % 3).sum(0),
        lambda x: (x // 7).max(1),
        lambda x: (x % 4).sum(),
        lambda x: (x >> 3).sum(0),
    ):
        np.testing.assert_array_equal(weft.compile(function)(x), function(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_shifts(dtype):
    limits = np.iinfo(dtype)
    a, _ = pairs(dtype)
    amounts = np.array([0, 1, 3, limits.bits - 1, limits.bits, limits.bits + 5, limits.max], object).astype(
        dtype
    )
    b = np.resize(amounts, a.shape)
    for function in (lambda x, y: x << y, lambda x, y: x >> y, lambda x, y: (x << 3) + (y >> 1)):
        np.testing.assert_array_equal(weft.compile(function)(a, b), function(a, b))


def test_division_by_zero_warns_as_numpy_does():
    x, y = np.arange(-50, 50, dtype=np.int32), np.resize(np.array([1, 0, 3], np.int32), 100)
    for function in (lambda x, y: x // y, lambda x, y: x % y):
        with np.errstate(all="warn"):
            with pytest.warns(RuntimeWarning, match="divide by zero"):
                expected = function(x, y)
            with pytest.warns(RuntimeWarning, match="divide by zero"):
                actual = weft.compile(function)(x, y)
        np.testing.assert_array_equal(actual, expected)
