"""Loops whose rounds threads share: the same arrays, numbers, exceptions and state after them as in turn."""

import signal

import numpy as np
import pytest
import weft
from loop_products import product_into
from support.compare import check


@pytest.fixture(autouse=True)
def two_threads():
    before = weft.get_num_threads()
    weft.set_num_threads(3)
    yield
    weft.set_num_threads(before)


def copies(arguments):
    seen = {}

    def one(value):
        if not isinstance(value, np.ndarray):
            return value
        base = value.base if isinstance(value.base, np.ndarray) else value
        if id(base) not in seen:
            seen[id(base)] = base.copy(order="K")
        new = seen[id(base)]
        if base is value:
            return new
        offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return np.ndarray(value.shape, value.dtype, new, offset, value.strides)

    return [one(value) for value in arguments]


def check_shared(function, *arguments, runs=3):
    """`check`, of arguments that may share memory."""
    check(function, lambda: copies(arguments), rounds=runs)


def stencil(u, v):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def by_rows(u, v):
    for i in range(u.shape[0]):
        row, out = u[i], v[i]
        for j in range(row.shape[0]):
            out[j] = row[j] * 2.0 + out[j]


def by_columns(u):
    for j in range(u.shape[1] - 1, -1, -1):
        for i in range(1, u.shape[0]):
            u[i, j] += u[i - 1, j]


def every_third(x):
    for i in range(2, x.size - 1, 3):
        x[i] = x[i] * 2.0 + 1.0


def shortest_paths(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def elimination(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, A.shape[1]):
                A[i, j] -= A[i, k] * A[k, j]


def count_primes(n):
    found = 0
    for number in range(2, n):
        prime, divisor = 1, 2
        while divisor * divisor <= number:
            if number % divisor == 0:
                prime = 0
                break
            divisor += 1
        found += prime
    return found, divisor, number


def sums(x, start):
    total, negative = start, 0
    for i in range(x.size):
        total += x[i]
        if x[i] < 0:
            negative -= 1
    return total, negative, i


def last_values(x, y):
    value = 0.0
    for i in range(x.size):
        value = x[i] * 2.0
        y[i] = value
    return value, i


def leads_out(x, limit):
    """The round that leads out of the independent ones takes along what the one before it set."""
    s = t = 0.5
    for i in range(len(x) - 1, -1, -1):
        if i <= limit:
            t, s = s, 3
        s = x[i // 2]
    return s, t


def test_rounds_that_lead_out_have_the_value_of_the_round_before():
    for size in (14, 100, 200_000):
        for limit in (0, 1, size // 3):
            check_shared(leads_out, np.arange(float(size)), limit)


def test_independent_rounds():
    rng = np.random.default_rng(0)
    check_shared(product_into, rng.random((70, 40)), rng.random((40, 50)), np.zeros((70, 50)))
    check_shared(stencil, rng.random((150, 120)), np.zeros((150, 120)))
    check_shared(stencil, rng.random((150, 120)).T, np.asfortranarray(np.zeros((120, 150))))
    check_shared(by_rows, rng.random((200, 100)), rng.random((200, 100)))
    check_shared(by_columns, rng.random((90, 200)))
    check_shared(every_third, rng.random(60_000))
    check_shared(shortest_paths, rng.random((40, 40)))
    check_shared(elimination, rng.random((60, 60)) + 60 * np.eye(60))
    check_shared(last_values, rng.random(50_000), np.zeros(50_000))


def test_integer_sums():
    rng = np.random.default_rng(1)
    check_shared(count_primes, 4000)
    check_shared(sums, rng.integers(-100, 100, 60_000), 0)
    check_shared(sums, rng.integers(-100, 100, 60_000), -5)


@pytest.mark.filterwarnings("ignore:overflow")
def test_sums_that_meet_their_limit():
    large = np.full(40_000, 2**49)
    large[20_000:] = -(2**49)
    check_shared(sums, large, np.int64(2**62))
    large = np.full(40_000, 2**50)
    large[30_000:] = -(2**50)
    check_shared(sums, large, 0)


def test_overlapping_arrays():
    base = np.random.default_rng(2).random((151, 120))
    check_shared(stencil, base[1:], base[:-1])
    check_shared(stencil, base, base)
    flat = np.random.default_rng(2).random(60_000)

    def shifted(x, y):
        for i in range(x.size):
            y[i] = x[i] + 1.0

    check_shared(shifted, flat[:-1], flat[1:])
    check_shared(shifted, flat[1:], flat[:-1])
    check_shared(shifted, flat, flat[::-1])
    check_shared(shifted, flat[::2], flat[1::2])
    windows = np.lib.stride_tricks.as_strided(flat, (20_000, 2), (8, 8))

    def within(x):
        for i in range(x.shape[0]):
            x[i, 1] = x[i, 0] + 1.0

    check_shared(within, windows)


def test_not_independent():
    def prefix(x):
        for i in range(1, x.size):
            x[i] = x[i] + x[i - 1]

    def backwards(x):
        for i in range(x.size - 1):
            x[i] = x[i + 1] * 2.0

    def wraps(x):
        for i in range(x.size):
            x[i - 5] = x[i - 5] + 1.0

    def scatter(x, at):
        for i in range(at.size):
            x[at[i]] = i

    def keeps(x):
        last = -1
        for i in range(x.size):
            if x[i] > 0.999:
                last = i
        return last

    def stops(x, y):
        for i in range(x.size):
            if x[i] > 0.9995:
                break
            y[i] = x[i]
        return i

    def returns(x, y):
        for i in range(x.size):
            y[i] = x[i]
            if x[i] > 0.9995:
                return i
        return -1

    def float_sum(x):
        total = 0.0
        for i in range(x.size):
            total += x[i]
        return total

    rng = np.random.default_rng(3)
    for function in (prefix, backwards, wraps, keeps, float_sum):
        check_shared(function, rng.random(40_000))
    check_shared(scatter, np.zeros(100), rng.integers(0, 100, 40_000))
    check_shared(stops, rng.random(40_000), np.zeros(40_000))
    check_shared(returns, rng.random(40_000), np.zeros(40_000))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", [0, 1, 9_999, 25_000, 39_999])
def test_exceptions(place):
    def quotients(x, y, z):
        for i in range(x.size):
            z[i] += 1.0
            y[i] = 100 // int(x[i])
            z[i] *= 2.0

    def lookups(at, table, out):
        for i in range(at.size):
            out[i] = out[i] + i
            out[i] = table[at[i]]

    rng = np.random.default_rng(4)
    x = rng.integers(1, 50, 40_000)
    x[place] = 0
    check_shared(quotients, x, np.zeros(40_000), rng.random(40_000))
    at = rng.integers(0, 50, 40_000)
    at[place] = 50
    check_shared(lookups, at, rng.random(50), rng.random(40_000))
    x[place // 2] = 0
    check_shared(quotients, x, np.zeros(40_000), rng.random(40_000))


def test_index_out_of_range_of_the_counter():
    def shifted(x, y):
        for i in range(y.size):
            y[i] = x[i + 1]

    check_shared(shifted, np.random.default_rng(5).random(40_000), np.zeros(40_000))


def test_interrupt():
    """A signal handler's exception leaves whole rounds done, those before the first that is not."""

    def endless(x, steps):
        for i in range(x.size):
            total = 0.0
            for k in range(steps[i]):
                total += 0.5
            x[i] = total + 1.0

    class Enough(Exception):
        pass

    def handler(signum, frame):
        raise Enough

    steps = np.full(3000, 100)
    compiled = weft.compile(endless)
    compiled(np.zeros(3000), steps)
    steps[2000:] = 2**62
    before = signal.signal(signal.SIGALRM, handler)
    try:
        x = np.zeros(3000)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Enough):
            compiled(x, steps)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    done = int(np.count_nonzero(x))
    assert done <= 2000
    assert (x[:done] == 51.0).all()
