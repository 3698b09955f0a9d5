"""Native loops over lists of numbers, which they read, set and append to, and over arrays that they make."""

import copy
import math

import numpy as np
import pytest
import weft
from stack_programs import knapsack, primes, seeded
from support.compare import assert_same, outcome


def digits(n):
    counts = [0] * 10
    for i in range(n):
        k = i
        while k > 0:
            k, r = divmod(k, 10)
            counts[r] += 1
    return counts


def matches(text, pattern):
    m = len(pattern)
    fail = np.zeros(m, dtype=int)
    k = 0
    for i in range(1, m):
        while k > 0 and pattern[i] != pattern[k]:
            k = fail[k - 1]
        if pattern[i] == pattern[k]:
            k += 1
        fail[i] = k
    k = 0
    hits = []
    for i in range(len(text)):
        while k > 0 and text[i] != pattern[k]:
            k = fail[k - 1]
        if text[i] == pattern[k]:
            k += 1
        if k == m:
            hits.append((i - m + 1, float(k), text[i], None))
            k = fail[k - 1]
    return hits


def moving_means(x, width):
    out = [-1.0]
    total = 0.0
    for i, v in enumerate(x):
        total += v
        if i >= width:
            total -= x[i - width]
        if i >= width - 1:
            out.append(total / width)
    return out


def life(grid, steps):
    h, w = grid.shape
    for _ in range(steps):
        after = np.zeros_like(grid)
        for i in range(h):
            for j in range(w):
                s = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di or dj:
                            s += grid[(i + di) % h, (j + dj) % w]
                after[i, j] = 1 if s == 3 or (s == 2 and grid[i, j]) else 0
        grid = after
    return grid


def chain(p):
    n = len(p) - 1
    m = np.zeros((n, n))
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i, j] = float("inf")
            for k in range(i, j):
                m[i, j] = min(m[i, j], m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1])
    return m


def bodies(pos, vel, mass, dt, steps):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            ax = ay = 0.0
            for j in range(n):
                if i == j:
                    continue
                d = pos[j] - pos[i]
                r2 = d[0] ** 2 + d[1] ** 2 + 1e-3
                f = mass[j] / (r2 * math.sqrt(r2))
                ax += f * d[0]
                ay += f * d[1]
            vel[i] += dt * np.array([ax, ay])
        pos += dt * vel
    return pos


def power_method(A, steps):
    v = np.ones(A.shape[0])
    length = 0.0
    for _ in range(steps):
        w = A @ v
        length = np.linalg.norm(w)
        v = w / length
    return length, v


def common_divisors(n):
    total = 0
    for a in range(-n, n):
        for b in range(a, n):
            total += math.gcd(a, b)
    return total


def updates(A, x, y):
    scratch = 0.0
    for k in range(1, 6):
        ones = np.ones(k, dtype=np.int32)
        grid = np.zeros((k, 3))
        grid[0, 0] = k
        A += np.outer(x, y) * ones.sum()
        scratch += grid.sum() + np.empty_like(x).size
    return A, scratch


def sieve(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    p = 2
    while p * p <= n:
        if is_prime[p]:
            is_prime[p * p :: p] = False
        p += 1
    return is_prime


def strides(x, steps):
    total = 0.0
    for i in range(len(steps)):
        total += x[i :: steps[i]].sum()
        x[: 30 : steps[i]] += 1
    return total, x


def clusters(X, C, rounds):
    label = np.zeros(len(X), dtype=int)
    for _ in range(rounds):
        for i in range(len(X)):
            best = np.inf
            for c in range(len(C)):
                d = np.sum((X[i] - C[c]) ** 2)
                if d < best:
                    best = d
                    label[i] = c
        for c in range(len(C)):
            members = X[label == c]
            if len(members) > 0:
                C[c] = members.mean(axis=0)
    return label, C


# ---- what must stay as in Python ----


def same_list_twice(values, n):
    other = values
    for i in range(n):
        values[i % 5] = values[i % 5] + 1
        if other[2] > 7:
            other[2] = 0
    return values, other


def appended_and_read(n):
    out = [1]
    same = out
    for i in range(n):
        out.append(i)
        if len(same) > 3 and same[-1] % 3 == 0:
            same[0] += same[i]
    return out


def fails_late(values, out, x):
    for i in range(40):
        values[i % 3] += i
        out.append((i, x[i]))
    return values


def set_while_iterated(values):
    total = 0
    for v in values:
        values[-1] = v + 1
        total += v
    return total, values


def grows_beyond(values, n):
    for i in range(n):
        values[i % 3] = values[i % 3] * 3 + 1
    return values


def changes_type(values, n):
    for i in range(n):
        values[i] = values[i] / 2 if i == n - 1 else values[i] + 1
    return values


def index_error(values, n):
    for i in range(n):
        values[i] = -values[-i]
    return values


CASES = [
    (knapsack, [3, 4, 7, 8, 9], [4, 5, 10, 11, 13], 60),
    (primes, 300),
    (digits, 400),
    (sieve, 500),
    (strides, np.arange(50.0), np.array([1, 2, 3, 7, 100, 1 << 50, 4, 5, 6])),
    (strides, np.arange(50.0), np.array([3, 2, -1, 7, -4, 2])),
    (strides, np.arange(50.0), np.array([3, 2, 0, 7])),
    (clusters, seeded(1).random((40, 3)), seeded(2).random((5, 3)), 5),
    (matches, seeded().integers(0, 2, 200), np.array([0, 1, 0])),
    (moving_means, seeded().random(60), 5),
    (life, (seeded().random((12, 12)) < 0.4).astype(int), 4),
    (chain, seeded().integers(1, 30, 12)),
    (bodies, seeded(1).random((6, 2)), seeded(2).random((6, 2)), seeded(3).random(6), 0.01, 20),
    (power_method, seeded().random((6, 6)), 25),
    (common_divisors, 25),
    (updates, seeded(1).random((4, 5)), seeded(2).random(4), seeded(3).random(5)),
    (same_list_twice, [1, 2, 3, 4, 5], 60),
    (appended_and_read, 40),
    (fails_late, [1, 2, 3], [], np.arange(30)),
    (fails_late, [1, 2, 3], ["given"], np.arange(40.0)),
    (set_while_iterated, list(range(40))),
    (grows_beyond, [1, 2, 3], 200),
    (changes_type, list(range(40)), 40),
    (index_error, list(range(30)), 35),
    (index_error, [float(i) for i in range(30)], 30),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_does_what_python_does(case):
    program, *arguments = case
    compiled = weft.compile(program)
    for _ in range(2):
        mine, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        assert_same(outcome(compiled, *mine), outcome(program, *theirs), rtol=1e-12)
        assert_same(mine, theirs, rtol=1e-12)


def roots(targets):
    def value(x, c):
        return x * x * x - x - c

    out = []
    for c in targets:
        low, high = 1.0, 2.0
        while high - low > 1e-10:
            middle = (low + high) / 2
            if value(middle, c) > 0:
                high = middle
            else:
                low = middle
        out.append(low)
    return out


def run_lengths(x):
    values, lengths = [], []
    i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[i]:
            j += 1
        values.append(int(x[i]))
        lengths.append(j - i)
        i = j
    return values, lengths


def coins(total):
    ways = [1] + [0] * total
    kinds = [1, 5, 10, 25]
    k = 0
    while k < len(kinds):
        for c in range(kinds[k], total + 1):
            ways[c] += ways[c - kinds[k]]
        k += 1
    return ways


@pytest.mark.parametrize(
    "function, arguments",
    [
        (roots, (np.linspace(0.1, 0.9, 40),)),
        (run_lengths, (np.repeat(np.arange(30) % 3, 3),)),
        (coins, (60,)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_lists_made_right_before_the_loop(function, arguments):
    compiled = weft.compile(function)
    for _ in range(2):
        assert_same(compiled(*arguments), function(*arguments), rtol=1e-12)
    breaks = weft.compiler.explain(function)(*arguments).breaks
    assert not breaks, [str(found) for found in breaks]


OTHER_ITEMS = ["a[i]", "(i, 1.5)", "(i, (i, 2.0))", "a[i].real", "True", "complex(i, 1)", "np.float32(i)"]


@pytest.mark.parametrize("first", OTHER_ITEMS)
@pytest.mark.parametrize("second", OTHER_ITEMS)
def test_lists_that_hold_items_of_different_sizes_before_the_loop(first, second):
    """An unrolled loop makes the list; a loop within it takes from it."""
    source = f"""
def program(a):
    l = [1, 1.0]
    taken = None
    for i in (3, 1, 2):
        l.append({first})
        l.append({second})
        while len(l) > 5:
            taken = l.pop()
    return taken, l
"""
    scope = {"np": np}
    exec(source, scope)
    compiled, a = weft.compile(scope["program"]), np.arange(9) * (1 + 2j)
    for _ in range(2):
        assert_same(compiled(a), scope["program"](a), rtol=1e-12)
