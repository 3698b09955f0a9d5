"""Calls that native code runs from their arguments to what they return, nests of loops that are checked once, and arrays
that a call only counts in: every size has to give what plain Python gives, and so has what native code leaves to it."""

import threading

import numpy as np
import pytest
import weft
from loop_products import product
from support.compare import assert_same, check, outcome

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def check_whole(function, *calls, native=True, **options):
    """`check`, of one compiled function; `native`: which has no graph."""
    compiled = check(function, *calls, **options)
    graphs = weft.compiler.stats()["graphs"]
    for make in calls:
        outcome(compiled, *make())
    assert not native or weft.compiler.stats()["graphs"] == graphs
    return compiled


def matrices(n, k, m, seed=0, order="C"):
    rng = np.random.default_rng(seed)
    return lambda: (np.asarray(rng.random((n, k)), order=order), rng.random((k, m)))


def fixed(*arrays):
    return lambda: tuple(a.copy(order="K") if isinstance(a, np.ndarray) else a for a in arrays)


def test_one_code_for_all_sizes():
    before = weft.compiler.stats()
    check_whole(
        product, *(fixed(*matrices(n, k, m)()) for n, k, m in [(2, 2, 2), (3, 5, 4), (8, 2, 9), (40, 33, 27)])
    )
    after = weft.compiler.stats()
    # And one from where a call goes on that another thread has interrupted, where there is one.
    assert after["kernels"] - before["kernels"] in (1, 2)
    assert after["graphs"] == before["graphs"]
    check_whole(
        product, *(fixed(*matrices(n, k, m)()) for n, k, m in [(1, 1, 1), (0, 3, 2), (2, 0, 3), (2, 3, 0)])
    )


def test_layouts_and_types_of_arguments():
    a, b = matrices(4, 3, 5)()
    check_whole(
        product,
        fixed(a, b),
        lambda: (a[::-1], b[:, ::-1]),
        lambda: (a.T.copy().T, b),
        lambda: (a.astype(np.float32), b),
    )
    check_whole(
        product, fixed(a, b), lambda: (a.astype(int), b.astype(int)), lambda: (a.tolist(), b), native=False
    )


def test_wrong_sizes_raise_as_in_python():
    a, b = matrices(4, 3, 5)()
    check_whole(
        product,
        fixed(a, b),
        fixed(a, b[:2]),
        fixed(a, b),
        fixed(a[:, :2], b),
        lambda: (a[0], b),
        native=False,
    )


def test_results():
    def everything(x, n, flag):
        made = np.ones(n, np.int64)
        total = 0.0
        count = 0
        for i in range(x.shape[0]):
            total += x[i]
            count += 1
        return made, total, count, flag, x, x[1:], (n, None, "text"), -total

    def first(x):
        for i in range(x.shape[0]):
            if x[i] > 2:
                return i
        return None

    def nothing(x):
        for i in range(x.shape[0]):
            x[i] += 1

    x = np.arange(5.0)
    check_whole(everything, *(fixed(x[:n], n, f) for n in (5, 1, 0) for f in (True, 2, 2.5)))
    check_whole(first, fixed(x), fixed(x[:2]), fixed(x[:0]))
    check_whole(nothing, fixed(x), fixed(x[:0]))


def test_results_are_arrays_of_their_own():
    def tables(n):
        a = np.zeros(n)
        b = np.empty((n, 2))
        for i in range(n):
            a[i] = i
            for j in range(2):
                b[i, j] = a[i] + j
        return a, b, a[0:2], b

    compiled = weft.compile(tables)
    for n in (3, 600):  # NumPy's small blocks, and weft's
        compiled(n)
        a, b, part, same = compiled(n)
        others = compiled(n)
        assert a.base is None and a.flags.owndata and a.flags.writeable and part.base is a and same is b
        assert not any(np.shares_memory(x, y) for x in (a, b) for y in others)
        expected = tables(n)
        for got, want in zip((a, b, part), expected):
            assert got.tobytes() == want.tobytes() and got.strides == want.strides


def test_like_another_array():
    def shifted(x):
        out = np.zeros_like(x)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = x[i, j] + 1
        return out

    x = np.arange(12.0).reshape(3, 4)
    check_whole(
        shifted,
        fixed(x),
        lambda: (np.asfortranarray(x),),
        lambda: (x[:, ::2],),
        lambda: (x[::2],),
        lambda: (x[:, :1],),
        lambda: (x[:0],),
        native=False,
    )
    made = weft.compile(shifted)(np.asfortranarray(x))
    assert made.strides == shifted(np.asfortranarray(x)).strides


def test_keywords_defaults_and_names():
    def scaled(x, factor=2.0, *, shift=0.0):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i] * factor + shift
        return total

    compiled = weft.compile(scaled)
    x = np.arange(4.0)
    for _ in range(3):
        assert compiled(x) == scaled(x)
        assert compiled(x, 3.0) == scaled(x, 3.0)
        assert compiled(x, factor=4.0, shift=1.0) == scaled(x, 4.0, shift=1.0)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            compiled()


FACTOR = 2.0


def test_globals_that_change():
    def scaled(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i] * FACTOR
        return total

    global FACTOR
    compiled = weft.compile(scaled)
    x = np.arange(4.0)
    try:
        for FACTOR in (2.0, 3.0, 2, 3.0, 2.0):
            for _ in range(3):
                assert_same((compiled(x),), (scaled(x),))
    finally:
        FACTOR = 2.0


def test_what_python_performs_in_the_middle():
    def ratios(a, b):
        out = np.zeros(a.shape[0])
        for i in range(a.shape[0]):
            out[i] = a[i] / b[i]
        return out

    def growing(n):
        product = 1
        for i in range(1, n):
            product *= i
        return product

    a = np.arange(1.0, 6.0)
    check_whole(
        ratios, fixed(a, a), fixed(a, a[:3]), fixed(a, np.array([1.0, 2.0, 0.0, 1.0, 0.0])), native=False
    )
    check_whole(growing, lambda: (5,), lambda: (30,), lambda: (2,), native=False)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        weft.compile(ratios)(a, np.zeros(5))


def test_exceptions_are_raised_each_time():
    def checked(x, n):
        total = 0.0
        for i in range(n):
            total += x[i]
        return total

    x = np.arange(4.0)
    check_whole(
        checked,
        *(fixed(x, n) for n in (4, 5, 4, 6)),
        *(fixed(x, 9) for _ in range(80)),
        fixed(x, 4),
        native=False,
    )


def test_statements_on_arrays_at_all_sizes():
    def solved(a, b):
        y = np.zeros(a.shape[0])
        scale = a.max()
        for k in range(1, a.shape[0]):
            y[k] = b[k] - np.sum(a[:k] * y[:k]) / scale
        return y, y + a

    rng = np.random.default_rng(1)
    check_whole(
        solved, *(fixed(rng.random(n) + 1, rng.random(n)) for n in (3, 1, 30, 5000)), native=False, rtol=1e-12
    )


def test_handlers_and_many_threads():
    compiled = weft.compile(product)
    a, b = matrices(9, 8, 7)()
    expected = product(a, b).tobytes()
    found = []

    def run():
        for _ in range(200):
            found.append(compiled(a, b).tobytes() == expected)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found) and len(found) == 800


# ---- nests ----
def test_triangular_nests():
    def lower(a):
        total = 0.0
        for i in range(a.shape[0]):
            for j in range(i + 1):
                for k in range(j, i):
                    total += a[i, j] * a[k, j]
        return total

    def upper(a, n):
        out = np.zeros((n, n))
        for i in range(n - 1, -1, -1):
            for j in range(i, n):
                out[i, j] = a[i, j] - a[j - i, 0]
        return out

    a = np.random.default_rng(0).random((6, 6))
    check_whole(lower, *(fixed(a[:n, :n]) for n in (6, 1, 0, 4)), fixed(a[:, :4]), native=False)
    check_whole(upper, *(fixed(a, n) for n in (6, 1, 0, 7)), native=False)


def test_nests_whose_indices_leave_the_range_in_some_rounds():
    def neighbours(a):
        out = np.zeros(a.shape)
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                s = a[i - 1, j]
                if j + 1 < a.shape[1]:
                    s += a[i, j + 1]
                out[i, j] = s
        return out

    def sparse(start, column, x, n):
        y = np.zeros(n)
        for i in range(n):
            s = 0.0
            for k in range(start[i], start[i + 1]):
                s += x[column[k]]
            y[i] = s
        return y

    a = np.random.default_rng(0).random((5, 4))
    check_whole(neighbours, fixed(a), fixed(a[:1]), fixed(a[:, :1]), native=False)
    start, column, x = np.array([0, 2, 2, 5]), np.array([0, 2, 1, 0, 2]), np.arange(3.0)
    check_whole(
        sparse,
        fixed(start, column, x, 3),
        fixed(start, column, x, 4),
        fixed(start, column, x[:2], 3),
        native=False,
    )


def test_variables_behind_inner_loops():
    def last(a, m):
        found = np.zeros(a.shape[0], np.int64)
        j = 7
        for i in range(a.shape[0]):
            for j in range(i, m):
                a[i, j] += 1.0
            found[i] = j
        return found, j

    a = np.zeros((5, 9))
    check_whole(last, *(fixed(a, m) for m in (4, 9, 0, 2, 10)), native=False)


def test_empty_rows_of_sums_stay_what_they_are():
    def sums(a, stops):
        total = 0.0
        for i in range(stops.shape[0]):
            part = 0.0
            for j in range(stops[i]):
                part += a[i, j]
            total = part
        return total

    a = np.random.default_rng(0).random((3, 4))
    check_whole(
        sums, *(fixed(a, np.array(s)) for s in ([1, 2, 3], [1, 2, 0], [0, 0, 0], [3, 0, 5])), native=False
    )


# ---- counts ----
def test_counts():
    def counted(x, n):
        c = np.zeros(n, np.int64)
        for i in range(x.shape[0]):
            c[x[i]] += 1
        return c

    def mixed(x, n):
        c = np.ones((n, n), np.int64)
        for i in range(x.shape[0]):
            c[x[i], i % n] -= 3
            c[0, 0] = 5
            c[x[i], 0] = c[x[i], 1]
        return c

    x = np.random.default_rng(0).integers(0, 8, 300)
    for dtype in (np.int64, np.uint8, np.int32):
        check_whole(
            counted,
            *(fixed(x.astype(dtype), n) for n in (8, 256)),
            fixed(x.astype(dtype) % 5, 6),
            fixed(x.astype(dtype), 7),
            native=False,
        )
    check_whole(counted, fixed(x - 8, 8), fixed(x - 9, 8), native=False)
    check_whole(mixed, fixed(x, 8), fixed(x % 3, 3))


@pytest.mark.parametrize("way", ["value", "row", "view", "all", "step", "negative"])
def test_arrays_that_are_not_only_counted_in_overflow_as_numpy_does(way):
    def value(x, big):
        c = np.zeros(4, np.int64)
        c[1] = big
        for i in range(x.shape[0]):
            c[x[i]] += 1
        return c

    def row(x, big):
        c = np.zeros((2, 4), np.int64)
        r = c[1]
        r[1] = big
        for i in range(x.shape[0]):
            c[1, x[i]] += 1
        return c

    def view(x, big):
        c = np.zeros(4, np.int64)
        v = c[1:]
        v[0] = big
        for i in range(x.shape[0]):
            c[x[i]] += 1
        return c

    def all(x, big):
        c = np.zeros(4, np.int64)
        c += big
        for i in range(x.shape[0]):
            c[x[i]] += 1
        return c

    def step(x, big):
        c = np.zeros(4, np.int64)
        for i in range(x.shape[0]):
            c[x[i]] += big
            c[x[i]] += 1
        return c

    def negative(x, big):
        c = np.ones(4, np.int64)
        c[1] = -big
        for i in range(x.shape[0]):
            c[x[i]] -= 5
        return c

    function = locals()[way]
    x = np.array([1, 1, 2, 1])
    check_whole(function, fixed(x, 5), fixed(x, 2**63 - 2), fixed(x, 7), native=False)
    with pytest.warns(RuntimeWarning, match="overflow"):
        weft.compile(function)(x, 2**63 - 2)
