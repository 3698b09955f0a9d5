"""Native loops whose rounds read elements that the rounds before have set."""

import copy

import numpy as np
import pytest
import weft
from support.compare import assert_same, outcome


def recursive(x, y):
    for i in range(2, len(x)):
        y[i] = 0.5 * y[i - 1] - 0.25 * y[i - 2] + x[i]
    return y


def only_two_before(x, y):
    for i in range(2, len(x)):
        y[i] = y[i - 2] * 0.5 + x[i]
    return y


def backward(x, y):
    for i in range(len(x) - 2, -1, -1):
        y[i] = y[i + 1] * 0.5 + x[i]
    return y


def by_two(x, y):
    for i in range(2, len(x), 2):
        y[i] = y[i - 2] * 0.5 + x[i] + y[i - 1]
    return y


def in_both_branches(x, y):
    for i in range(1, len(x)):
        if x[i] > 0:
            y[i] = y[i - 1] + 1
        else:
            y[i] = 0
    return y


def in_one_branch(x, y):
    for i in range(1, len(x)):
        if x[i] > 0:
            y[i] = y[i - 1] + 1
    return y


def twice(x, y):
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]
        y[i] = y[i] * 0.5 + y[i - 1]
    return y


def left_early(x, y):
    i = 0
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]
        if y[i] > 3.0:
            break
    return y, i


def in_a_list(x, y):
    numbers = [1.0] * len(x)
    for i in range(1, len(x)):
        numbers[i] = numbers[i - 1] * 0.5 + float(x[i])
    return numbers


VECTORS = [
    recursive,
    only_two_before,
    backward,
    by_two,
    in_both_branches,
    in_one_branch,
    twice,
    left_early,
    in_a_list,
]


@pytest.mark.parametrize("function", VECTORS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(
    "dtypes", [(np.float64, np.float64), (np.float32, np.float32), (np.float64, np.int8)]
)
def test_vectors(function, dtypes):
    rng = np.random.default_rng(1)
    compiled = weft.compile(function)
    for n in (3, 60):
        x, y = (np.round(rng.standard_normal(n) * 2).astype(dtype) for dtype in dtypes)
        for given in ((x, y), (x, y[::-1])):
            ours, pythons = copy.deepcopy(given), copy.deepcopy(given)
            assert_same(outcome(compiled, *ours), outcome(function, *pythons), rtol=1e-12)
            assert_same(ours, pythons, rtol=1e-12)


def edit_distance(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    table[0] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        table[i, 0] = i
        for j in range(1, len(b) + 1):
            changed = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + changed)
    return table


def test_a_table():
    a, b = (np.random.default_rng(2).integers(0, 3, n) for n in (30, 40))
    assert_same(weft.compile(edit_distance)(a, b), edit_distance(a, b), rtol=1e-12)


def along_columns(t):
    for j in range(t.shape[1]):
        for i in range(1, t.shape[0]):
            t[i, j] = t[i - 1, j] * 0.5 + t[i, j]
    return t


def along_the_diagonal(t):
    for k in range(1, min(t.shape)):
        t[k, k] = t[k - 1, k - 1] * 0.5 + t[k, k]
    return t


@pytest.mark.parametrize(
    "function", [along_columns, along_the_diagonal], ids=lambda function: function.__name__
)
@pytest.mark.parametrize("strides", [(88, 8), (-8, 8), (0, 8), (8, 0), (16, 8)])
def test_elements_that_share_an_address(function, strides):
    compiled = weft.compile(function)
    memory = [np.random.default_rng(3).standard_normal(300) for _ in range(2)]
    for call, m in zip((compiled, function), memory, strict=True):
        call(np.lib.stride_tricks.as_strided(m[150:], (10, 10), strides))
    np.testing.assert_array_equal(*memory)


@pytest.mark.parametrize(
    "function", [recursive, twice, in_both_branches, backward], ids=lambda function: function.__name__
)
def test_arrays_that_share_memory(function):
    compiled = weft.compile(function)
    for pair in (
        lambda m: (m, m),
        lambda m: (m[1:], m[:-1]),
        lambda m: (m[:-1], m[1:]),
        lambda m: (m[::-1], m),
    ):
        memory = [np.random.default_rng(4).standard_normal(50) for _ in range(2)]
        for call, m in zip((compiled, function), memory, strict=True):
            call(*pair(m))
        np.testing.assert_array_equal(*memory)
