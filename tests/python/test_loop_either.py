"""Native loops with floats that are Python's or NumPy's, whichever an extreme gave: values, types, exceptions."""

import math
import warnings

import numpy as np
import pytest
import weft
from support.compare import assert_same, outcome


def appended(x):
    return_values = []
    for i in range(len(x)):
        return_values.append(max(0.0, x[i]))
    return return_values


def clipped(x, low, high):
    last = []
    for i in range(len(x)):
        last.append(min(max(x[i], low), high))
    return last


def largest(x):
    found = 0.0
    for i in range(len(x)):
        found = max(found, x[i])
    return found


def arithmetic(x):
    total, other, value = 0.0, 1.0, 0.0
    for i in range(len(x)):
        value = max(0.25, x[i])
        total = value * 2 - 1 + other
        other = -value / 2 + value**2 % 0.7 - value // 0.3
        if value > 0.5:
            other = abs(other)
        if not value:
            other = 3.0
    return total, other, value


def beside_float32(x):
    narrow = x.astype(np.float32)
    found = []
    for i in range(len(x)):
        found.append(max(0.25, x[i]) + narrow[i])
    return found


def converted(x):
    count, kept, root = 0, False, 0.0
    for i in range(len(x)):
        value = max(0.25, x[i])
        kept = value > 0.5
        count += int(value) + math.floor(value) + math.trunc(value)
        root = np.sqrt(value) + math.sqrt(value) + np.maximum(value, 0.5)
    return count, kept, root


def divided(x):
    found = []
    for i in range(len(x)):
        try:
            found.append(1.0 / max(0.0, x[i]))
        except ZeroDivisionError:
            found.append("zero")
    return found


def pick(a, b):
    return a if a > b else b * 2


def passed_on(x):
    total, both = 0.0, (0.0, 0)
    for i in range(len(x)):
        total = pick(max(0.0, x[i]), 0.5) + total
        both = (min(0.0, x[i]), i)
    return total, both


def stored(x):
    y, z, k, numbers = np.zeros(4), np.zeros(len(x), np.float32), np.zeros(len(x), int), [0.5] * len(x)
    for i in range(len(x)):
        y[1:] = y[:-1] * 0.5 + max(0.0, x[i])
        y[0] = max(0.1, x[i], -x[i])
        z[i] = max(0.5, x[i])
        k[i] = max(0.5, x[i])
        numbers[i] = max(0.5, x[i])
    return y, z, k, numbers


FUNCTIONS = [
    appended,
    lambda x: clipped(x, -0.5, 0.5),
    lambda x: clipped(x, np.float64(-0.5), 0.5),
    largest,
    arithmetic,
    beside_float32,
    converted,
    divided,
    passed_on,
    stored,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_which_float_it_is(function):
    x = np.random.default_rng(0).standard_normal(60)
    x[::7] = -0.0
    compiled = weft.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for values in (x, np.abs(x) + 0.01, -np.abs(x)):
            for _ in range(2):
                assert_same(outcome(compiled, values.copy()), outcome(function, values.copy()), rtol=1e-12)


def test_nan_is_compared_as_python_does():
    x = np.array([np.nan, 1.0, np.nan, -1.0, 0.0, -0.0, np.inf, -np.inf, 2.0])
    assert repr(weft.compile(appended)(x)) == repr(appended(x))
    assert repr(weft.compile(clipped)(x, -0.5, 0.5)) == repr(clipped(x, -0.5, 0.5))


def test_float32_has_no_trunc():
    def truncated(x):
        total = 0
        for i in range(len(x)):
            total += math.trunc(x[i])
        return total

    compiled = weft.compile(truncated)
    for dtype in (np.float64, np.float32):
        x = np.linspace(-3, 3, 20, dtype=dtype)
        assert_same(outcome(compiled, x), outcome(truncated, x), rtol=1e-12)
