"""Native loops that index with arrays and masks: what NumPy gives, with its errors and what was done before them."""

import copy

import numpy as np
import pytest
import weft
from support.compare import assert_same, outcome


def sparse_product(starts, columns, values, x, y):
    for i in range(y.size):
        low, high = starts[i], starts[i + 1]
        y[i] = values[low:high] @ x[columns[low:high]]
    return y


def sums_of_gathers(starts, columns, values, x, y):
    for i in range(y.size):
        chosen = columns[starts[i] : starts[i + 1]]
        y[i] = (values[starts[i] : starts[i + 1]] * x[chosen] - 1.0).sum() + x[chosen + 0].max()
    return y


def rows_and_pairs(A, index, w):
    total = 0.0
    for i in range(4):
        B = A[index]
        total += B.sum() + (B @ w).max()
        total += A[i, index].sum() + A[index, i] @ A[index, i + 1] + A[index, index].sum()
        A[index, i] += 1
        A[index, index] = 0.5
    return total, A


def scattered(a, index, values):
    for i in range(4):
        a[index] += values
        a[index] = a[index[::-1]]
        a[index[:3]] = i
        a[:] = a[index % 10]
    return a


def index_is_the_array(x):
    for _ in range(3):
        x[x % 10] = x
        x[x % 10] += 1
        x[1:] = x[x[1:] % 10] + 1
    return x


def masks(a, b, mask):
    total = 0.0
    for i in range(a.shape[0]):
        row = a[i]
        large = row > 0.5
        total += row[large].sum() + large.any() * 2 + large.all() + np.count_nonzero(large)
        total += row.mean() + row.std() + np.var(row * 2)
        b[i][large] = 1.5
        b[i, row < 0.2] = -1.0
        row[mask] += 0.25
    return total, a, b


def masks_of_matrices(a, b):
    for i in range(5):
        small = a < 0.5
        a[small] = a[small] * 1.5 + b[small]
        b[a > 0.9] = i
        b[~small] -= 0.1
    return a, b


def sums_of_ints(x, y):
    total = 0
    for i in range(3):
        total = total + x[i:] @ y[i:] + (x[i:] * y[i:]).sum()
    return total


def long_sums(x):
    a = b = 0.0
    for i in range(3):
        a += x[i:].sum() + (x[i::2] > 0.5).sum()
        b += (x[i:] * x[i:]).sum()
    return a, b


def sparse(n, bad=None):
    rng = np.random.default_rng(1)
    columns = rng.integers(-n, n, n * 8)
    if bad is not None:
        columns[n * 4] = bad
    return np.arange(0, n * 8 + 1, 8), columns, rng.random(n * 8), rng.random(n), np.zeros(n)


def random(*shape):
    return np.random.default_rng(2).random(shape)


def indices(n, low=-10, high=10):
    return np.random.default_rng(3).integers(low, high, n)


CASES = [
    (sparse_product, *sparse(50)),
    (sparse_product, *sparse(50, bad=50)),
    (sums_of_gathers, *sparse(50)),
    (sums_of_gathers, *sparse(50, bad=-51)),
    (rows_and_pairs, random(10, 10), indices(7), random(10)),
    (rows_and_pairs, np.asfortranarray(random(10, 10)), indices(7), random(10)),
    (scattered, random(10), indices(10), random(10)),
    (scattered, random(10), indices(10).astype(np.int8), random(10)),
    (scattered, np.arange(10), indices(10), random(10)),
    (scattered, np.arange(10), indices(10), np.arange(10)),
    (scattered, np.arange(10), indices(10, 10, 11), np.arange(10)),
    (index_is_the_array, np.arange(10)[::-1].copy()),
    (masks, random(20, 33), random(20, 33), random(33) > 0.5),
    (masks, random(20, 33), random(20, 33), random(32) > 0.5),
    (masks_of_matrices, random(20, 33), random(20, 33)),
    (masks_of_matrices, random(20, 33)[::2, ::-1], random(10, 33)),
    (sums_of_ints, np.arange(10), np.arange(10)),
    pytest.param(
        (sums_of_ints, np.arange(10, dtype=np.int8), np.arange(10, dtype=np.int8) * 3), marks=pytest.mark.long
    ),
    (long_sums, random(70_001)),
    (long_sums, random(513)),
    (long_sums, random(3)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_gives_what_numpy_gives(case):
    program, *arguments = case
    mine, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    assert_same(outcome(weft.compile(program), *mine), outcome(program, *theirs), rtol=1e-12)
    assert_same(tuple(mine), tuple(theirs), rtol=1e-12)


def sums(x, n):
    total = squares = 0.0
    for i in range(n):
        total, squares = x[i:].sum(), (x[i:] * x[i:]).sum()
    return total, squares


def test_long_sums_keep_the_bound():
    x = np.full(1 << 20, 0.1)
    total, squares = weft.compile(sums)(x, 20)
    for result, exact in ((total, 0.1 * (x.size - 19)), (squares, 0.1 * 0.1 * (x.size - 19))):
        assert abs(result - exact) <= 48 * np.finfo(float).eps * exact
