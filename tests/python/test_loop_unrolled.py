"""Native loops over ranges of few numbers, whose rounds are blocks of their own; ranges of many steps; searchsorted."""

import numpy as np
import pytest
import weft
from support.compare import assert_same, check_loop

RNG = np.random.default_rng(0)
A, B = RNG.random((7, 3, 3)), RNG.random((7, 3, 3))


def products(a, b):
    c = np.zeros_like(a)
    for k in range(a.shape[0]):
        for i in range(3):
            for j in range(3):
                s = 0.0
                for p in range(3):
                    s += a[k, i, p] * b[k, p, j]
                c[k, i, j] = s
    return c


def products_in_place(a, b):
    c = np.zeros_like(a)
    for k in range(a.shape[0]):
        for i in range(3):
            for j in range(3):
                for p in range(3):
                    c[k, i, j] += a[k, i, p] * b[k, p, j]
    return c


def steps_back(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        for i in range(2, -1, -2):
            total += a[k, i, i] * (i - 1) + b[k, 2 - i, i]
    return total, i


def lengths(a, b):
    total = 0
    for k in range(a.shape[0]):
        for _ in range(0):
            total += 1000
        for i in range(8):
            total += i
        for i in range(9):
            total -= i * k
    return total


def breaks_and_continues(a, b):
    found = []
    best = -1
    for k in range(a.shape[0]):
        for i in range(3):
            if a[k, i, 0] > 0.9:
                break
            if b[k, i, 0] < 0.1:
                continue
            best = i
        else:
            best += 10
        found.append(best * 100 + i)
    return found, best, i


def counters_in_other_numbers(a, b):
    last = first = 0
    for k in range(a.shape[0]):
        for i in range(4):
            for j in range(i, 3):
                last = i
                first += last * j
    return last, first


def keeps_counters(a, b):
    kept = (0, 0)
    rest = [0, 0]
    for k in range(a.shape[0]):
        for i in range(3):
            kept = (i, k)
            rest[k % 2] = i
    return kept, rest, i


@pytest.mark.parametrize(
    "function",
    [
        products,
        products_in_place,
        steps_back,
        lengths,
        breaks_and_continues,
        counters_in_other_numbers,
        keeps_counters,
    ],
)
def test_few_rounds(function):
    check_loop(function, (A, B), (A[:1], B[:1]), (A[:, ::-1], B.transpose(0, 2, 1)))


def test_index_errors_are_where_python_has_them():
    narrow = A[:, :, :2].copy()
    for function in (products, products_in_place):
        check_loop(function, (A, B), (narrow, B), (A, B[:4]), native=False)
        compiled = weft.compile(function)
        compiled(A, B)
        with pytest.raises(IndexError, match="index 2 is out of bounds for axis 2 with size 2"):
            compiled(narrow, B)


def many_nests(x):
    total = 0.0
    for k in range(x.shape[0]):
        for i in range(8):
            for j in range(8):
                total += x[k, i] * j
        for i in range(8):
            for j in range(8):
                total -= x[k, j] * i
        for i in range(8):
            for j in range(8):
                total += x[k, j] * x[k, i]
        for i in range(8):
            for j in range(8):
                if x[k, j] > x[k, i]:
                    total += 1
        for i in range(8):
            for j in range(8):
                if x[k, j] > x[k, i]:
                    total += 0.5
                else:
                    total -= 0.25
    return total


def test_more_than_can_be_unrolled():
    check_loop(many_nests, (RNG.random((5, 8)),), (RNG.random((1, 8)),))


def by_steps(n):
    total = 0
    for step in range(1, n):
        m = step * 3
        for k in range(0, 100, m):
            total += k % (m + 1)
        for k in range(100, 0, -m):
            total -= k
    return total


def strided_sum(x, step):
    total = 0.0
    for k in range(0, x.shape[0], step):
        total += x[k]
    return total


def test_many_steps():
    check_loop(by_steps, (2,), (30,))
    compiled = weft.compile(strided_sum)
    x = RNG.random(200)
    for step in [*range(1, 14), -1, -3, 300]:
        assert_same(compiled(x, step), strided_sum(x, step))
    with pytest.raises(ValueError, match="arg 3 must not be zero"):
        compiled(x, 0)


def stages(x):
    y, m, n = x.copy(), 1, x.shape[0]
    while m < n:
        w = np.exp(-1j * np.pi * np.arange(m) / m)
        for k in range(0, n, 2 * m):
            even, odd = y[k : k + m].copy(), y[k + m : k + 2 * m] * w
            y[k : k + m] = even + odd
            y[k + m : k + 2 * m] = even - odd
        m *= 2
    return y


def test_stages_of_many_sizes_are_one_variant():
    compiled = weft.compile(stages)
    for size in (4, 2048, 1024):
        x = RNG.random(size) + 0j
        np.testing.assert_allclose(compiled(x), stages(x), rtol=1e-12, atol=1e-12)
    explained = weft.compiler.explain(stages)(RNG.random(4096) + 0j)
    assert not [b for b in explained.breaks if "runs as it is" in b.reason]
    assert len(explained.kernels) < 12


def places(edges, x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        out[i] = np.searchsorted(edges, x[i])
    return out


def counts_in_bins(edges, x):
    counts = np.zeros(len(edges) + 1, np.int64)
    for i in range(len(x)):
        counts[np.searchsorted(edges, x[i], side="right")] += 1
    return counts


def places_named(edges, x):
    last = None
    for i in range(len(x)):
        last = np.searchsorted(edges, x[i], side="left")
    return last


def refused_side(edges, x):
    last = None
    for i in range(len(x)):
        last = np.searchsorted(edges, x[i], side="middle")
    return last


@pytest.mark.parametrize("function", [places, counts_in_bins, places_named])
def test_searchsorted(function):
    edges = np.array([0.0, 0.1, 0.1, 0.5, 1.0])
    x = np.array([*RNG.random(20), 0.0, -0.0, 0.1, 0.5, 1.0, 2.0, -1.0, np.inf, -np.inf, np.nan])
    unsorted = RNG.random(9)
    with_nan = np.array([0.0, 0.5, np.nan, np.nan])
    calls = [(e, x) for e in (edges, edges[::2], edges[::-1], unsorted, with_nan, edges[:0])]
    integers = np.array([1, 3, 3, 9])
    check_loop(function, *calls, (integers, np.arange(-2, 12)), (integers, x[:20]))


def test_searchsorted_of_an_unknown_side():
    edges = np.array([0.0, 0.1])
    check_loop(refused_side, (edges, np.array([0.5] * 8)), native=False)
