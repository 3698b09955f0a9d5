"""Native loops against plain Python: values, types, the arrays' state afterwards, exceptions and their lines."""

import math

import numpy as np
import pytest
import weft
from support.compare import assert_same, check_loop


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


rng = np.random.default_rng(0)


def spd(n):
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def matrix_vector(A, B):
    n, m = A.shape
    s = 0.0
    for i in range(n):
        for j in range(m):
            s += A[i, j] * B[j]
    return s


def test_scalar_nest_in_every_layout():
    A, B = rng.standard_normal((20, 30)), rng.standard_normal(30)
    wide = rng.standard_normal((40, 60))
    check_loop(
        matrix_vector,
        (A, B),
        (np.asfortranarray(A), B),
        (wide[::2, ::-2], B[::-1]),
        (A[::-1], B),
        (A.astype(np.float32), B),
        (A.astype(np.float32), B.astype(np.float32)),
        ((A * 10).astype(np.int32), B),
        ((A * 10).astype(np.int64), (B * 10).astype(np.int64)),
        (A > 0, B),
        (A[:0], B),
        (A[:, :0], B[:0]),
    )


def test_the_sum_starts_as_the_int_it_is():
    def total(a):
        s = 0
        for i in range(len(a)):
            s += a[i]
        return s

    check_loop(
        total, (np.arange(50.0),), (np.arange(0.0),), (np.arange(50, dtype=np.int32),), (np.arange(50) > 20,)
    )


def test_triangular_solve():
    def solve(L, b):
        n = L.shape[0]
        x = np.zeros(n)
        for i in range(n):
            s = b[i]
            for j in range(i):
                s -= L[i, j] * x[j]
            x[i] = s / L[i, i]
        return x

    L = np.tril(rng.standard_normal((40, 40))) + 10 * np.eye(40)
    check_loop(solve, (L, rng.standard_normal(40)))


def test_cholesky_and_lu():
    def cholesky(A):
        n = A.shape[0]
        for i in range(n):
            for j in range(i):
                for k in range(j):
                    A[i, j] -= A[i, k] * A[j, k]
                A[i, j] /= A[j, j]
            for k in range(i):
                A[i, i] -= A[i, k] * A[i, k]
            A[i, i] = np.sqrt(A[i, i])
        return A

    def lu(A):
        n = len(A)
        for i in range(n):
            for j in range(i):
                for k in range(j):
                    A[i][j] -= A[i][k] * A[k][j]
                A[i][j] /= A[j][j]
            for j in range(i, n):
                for k in range(i):
                    A[i][j] -= A[i][k] * A[k][j]

    check_loop(cholesky, (spd(24),), (np.asfortranarray(spd(24)),))
    check_loop(lu, (spd(24),))


def test_floyd_warshall():
    def shortest(path):
        n = path.shape[0]
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    path[i, j] = (
                        path[i, j] if path[i, j] < path[i, k] + path[k, j] else path[i, k] + path[k, j]
                    )
        return path

    def shortest_min(path):
        n = path.shape[0]
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    path[i, j] = min(path[i, j], path[i, k] + path[k, j])
        return path

    for fn in (shortest, shortest_min):
        check_loop(fn, (rng.integers(1, 100, (20, 20)),), (rng.random((20, 20)),))


def test_edit_distance_with_rows_that_swap():
    def distance(a, b):
        n, m = len(a), len(b)
        previous, current = np.arange(m + 1), np.zeros(m + 1, dtype=np.int64)
        for i in range(n):
            current[0] = i + 1
            for j in range(m):
                cost = 0 if a[i] == b[j] else 1
                current[j + 1] = min(min(previous[j + 1] + 1, current[j] + 1), previous[j] + cost)
            previous, current = current, previous
        return previous[m]

    check_loop(
        distance,
        (rng.integers(0, 4, 30), rng.integers(0, 4, 25)),
        (rng.integers(0, 4, 31), rng.integers(0, 4, 25)),
    )


def test_knapsack_and_sieve():
    def knapsack(weights, values, capacity):
        best = np.zeros(capacity + 1, dtype=np.int64)
        for i in range(weights.shape[0]):
            w = weights[i]
            for c in range(capacity, w - 1, -1):
                if best[c - w] + values[i] > best[c]:
                    best[c] = best[c - w] + values[i]
        return best[capacity]

    def sieve(n):
        prime = np.ones(n + 1, dtype=np.bool_)
        prime[0] = prime[1] = False
        i = 2
        while i * i <= n:
            if prime[i]:
                for j in range(i * i, n + 1, i):
                    prime[j] = False
            i += 1
        return prime

    check_loop(knapsack, (rng.integers(1, 20, 25), rng.integers(1, 50, 25), 100))
    check_loop(sieve, (1000,), (1001,), (2,))


def test_mandelbrot():
    def mandelbrot(w, h, limit):
        out = np.zeros((h, w), dtype=np.int32)
        for y in range(h):
            for x in range(w):
                cr, ci = -2.0 + 3.0 * x / w, -1.5 + 3.0 * y / h
                zr = zi = 0.0
                k = 0
                while k < limit:
                    zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
                    if zr * zr + zi * zi > 4.0:
                        break
                    k += 1
                out[y, x] = k
        return out

    check_loop(mandelbrot, (24, 20, 50))


def test_game_of_life():
    def step(board):
        n, m = board.shape
        new = np.zeros((n, m), dtype=board.dtype)
        for i in range(n):
            for j in range(m):
                count = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di == 0 and dj == 0:
                            continue
                        count += board[(i + di) % n, (j + dj) % m]
                if count == 3 or (count == 2 and board[i, j]):
                    new[i, j] = 1
        return new

    check_loop(step, (rng.integers(0, 2, (20, 22)).astype(np.uint8),), (rng.integers(0, 2, (20, 22)),))


def test_stencils():
    def gauss_seidel(u, rounds):
        n, m = u.shape
        for _ in range(rounds):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    def jacobi(u, v, rounds):
        n, m = u.shape
        for _ in range(rounds):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            u, v = v, u
        return u

    check_loop(gauss_seidel, (rng.random((18, 20)), 20))
    check_loop(jacobi, (rng.random((18, 20)), np.zeros((18, 20)), 21))


def test_prefix_sums_histogram_and_search():
    def prefix(a):
        for i in range(1, len(a)):
            a[i] += a[i - 1]

    def histogram(values, bins):
        counts = np.zeros(bins, dtype=np.int64)
        for i in range(len(values)):
            counts[int(values[i] * bins)] += 1
        return counts

    def search(a, wanted):
        low, high = 0, len(a) - 1
        while low <= high:
            middle = (low + high) // 2
            if a[middle] == wanted:
                return middle
            if a[middle] < wanted:
                low = middle + 1
            else:
                high = middle - 1
        return -1

    check_loop(
        prefix,
        (rng.random(50),),
        (rng.integers(0, 9, 50),),
        (rng.integers(0, 9, 50).astype(np.uint8),),
        (np.ones(1),),
    )
    check_loop(histogram, (rng.random(200), 10), (rng.random(200) * 1.2, 10))
    a = np.arange(0, 300, 3)
    check_loop(search, (a, 27), (a, 28), (a, -5), (a, 999))


def test_collatz_and_gcd():
    def collatz(n):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    def gcd(a, b):
        while b:
            a, b = b, a % b
        return a

    check_loop(collatz, (27,), (97,), (2**70,), (2**62 - 1,))
    check_loop(gcd, (1071, 462), (-1071, 462), (1071, -462), (10**30, 7))


def test_nbody():
    def advance(position, velocity, mass, dt, steps):
        n = len(mass)
        for _ in range(steps):
            for i in range(n):
                for j in range(i + 1, n):
                    dx = position[i, 0] - position[j, 0]
                    dy = position[i, 1] - position[j, 1]
                    dz = position[i, 2] - position[j, 2]
                    d2 = dx**2 + dy * dy + dz**2
                    force = dt / (d2 * math.sqrt(d2))
                    velocity[i, 0] -= dx * mass[j] * force
                    velocity[i, 1] -= dy * mass[j] * force
                    velocity[i, 2] -= dz * mass[j] * force
                    velocity[j, 0] += dx * mass[i] * force
                    velocity[j, 1] += dy * mass[i] * force
                    velocity[j, 2] += dz * mass[i] * force
            for i in range(n):
                for k in range(3):
                    position[i, k] += dt * velocity[i, k]

    check_loop(advance, (rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), rng.random(5), 0.01, 20))


def test_early_return_and_nested_functions():
    def find(A, wanted):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                if A[i, j] == wanted:
                    return i, j
        return None

    def clamp(x, low=0.0, high=1.0):
        if x < low:
            return low
        return high if x > high else x

    def clamped(a):
        s = 0.0
        for i in range(len(a)):
            s += clamp(a[i]) + clamp(a[i], high=0.5) if i % 7 == 0 else clamp(a[i], -1.0)
        return s

    A = np.arange(400).reshape(20, 20)
    check_loop(find, (A, 399), (A, 25), (A, -1))
    check_loop(clamped, (rng.standard_normal(60),))


def test_ranges():
    def walk(start, stop, step):
        s, last = 0, None
        for i in range(start, stop, step):
            s += i * i
            last = i
        return s, last

    check_loop(
        walk,
        (0, 50, 1),
        (50, 0, -1),
        (3, 100, 7),
        (100, -100, -9),
        (0, 0, 1),
        (5, 0, 1),
        (0, -5, 3),
        (0, 5, 0),
        native=False,
    )


def test_floats_as_python_and_numpy_have_them():
    def python_floats(n, x, y):
        s = []
        a = b = c = 0.0
        for i in range(n):
            a += (x - i) // y
            b += (x - i) % y
            c += (x + i) ** 0.5 - (x + i) ** 2
        s.append(a)
        return s, b, c

    def numpy_floats(a):
        t = u = 0.0
        for i in range(len(a)):
            t += a[i] // 0.75 + a[i] % 0.75 - a[i] ** 2
            u = np.maximum(u, a[i])
        return t, u

    check_loop(python_floats, (30, 2.5, 0.75), (30, 2.5, -0.75), (30, 1e300, 3.0), (30, 100, 7))
    check_loop(numpy_floats, (rng.standard_normal(40),), (rng.standard_normal(40).astype(np.float32),))


def test_math_functions():
    def apply(a):
        s = 0.0
        for i in range(len(a)):
            x = abs(a[i])
            s += math.sqrt(x) + math.exp(-x) + math.log(x + 1) + math.sin(x) * math.cos(x) + math.atan2(x, 2)
            s += math.floor(x) + math.ceil(x) + int(x) + float(x) + math.fabs(x) + (1 if math.isnan(x) else 0)
        return s

    def domain(a):
        s = 0.0
        for i in range(len(a)):
            s += math.sqrt(a[i])
        return s

    check_loop(apply, (rng.standard_normal(40),))
    check_loop(domain, (np.arange(30.0),), (np.arange(30.0) - 20,))


def edit_distance_by_rows(a, b):
    previous = np.arange(len(b) + 1)
    for i in range(len(a)):
        current = np.full(len(b) + 1, i + 1)
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current[j + 1] = min(previous[j] + cost, previous[j + 1] + 1, current[j] + 1)
        previous = current
    return previous[-1]


def test_extremes_of_three():
    a, b = np.random.default_rng(0).integers(0, 4, (2, 60))
    assert weft.compile(edit_distance_by_rows)(a, b) == edit_distance_by_rows(a, b)


def test_a_thousand_steps_compile_once():
    def heat(u, steps):
        for t in range(steps):
            u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
            )
        return t

    def decay(u, steps):
        for t in range(steps):
            u = u * (1 - 1 / (t + 2))
        return u

    for fn in (heat, decay):
        u = rng.random((40, 50))
        mine, theirs = u.copy(), u.copy()
        explained = weft.compiler.explain(fn)(mine, 1000)
        expected = fn(theirs, 1000)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        np.testing.assert_allclose(explained.result, expected, rtol=1e-12)
        assert len(explained.kernels) <= 4


def test_rows_in_loops():
    def solve(L, b):
        x = np.zeros_like(b)
        for i in range(L.shape[0]):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        return x

    L = np.tril(rng.standard_normal((60, 60))) + 10 * np.eye(60)
    b = rng.standard_normal(60)
    compiled = weft.compile(solve)
    for _ in range(2):
        np.testing.assert_allclose(compiled(L, b), solve(L, b), rtol=1e-12)


def test_lengths_that_vary_do_not_recompile():
    def total(n):
        s = 0.0
        for i in range(n):
            s += i * 0.5
        return s

    compiled = weft.compile(total)
    for n in range(20, 60):
        assert_same(compiled(n), total(n))
    assert weft.compiler.stats()["kernels"] == 1


def test_checked_versions_fall_back():
    """Indices that leave the array, wrap around or overflow in the middle of a loop that is vectorized otherwise."""

    def shifted(a, b, shift, stride):
        for i in range(len(b)):
            b[i] = 2 * a[i * stride + shift] + i

    def branches(a, b):
        for i in range(len(a)):
            if a[i] > 0:
                b[i] = a[i - 1]
            elif i > 3:
                b[i] += a[i - 3] * i

    a = rng.standard_normal(100)
    calls = [
        (a, np.zeros(50), shift, stride)
        for shift, stride in ((0, 1), (50, 1), (51, 1), (0, 2), (2, 2), (-20, 1), (-101, 1))
    ]
    calls += [(a, np.zeros(50), 99, -1), (a, np.zeros(50), 2**62, 2**61), (a, a[50:], 0, 1)]
    check_loop(shifted, *calls, native=False)
    check_loop(branches, (a, np.zeros(100)), (a, np.zeros(40)))


def test_checked_versions_know_what_they_check():
    def negated(a, k, n):
        for i in range(1, n):
            a[-k] -= i
            a[-i] += 1
            a[abs(k - i)] += 2

    def swapped(a, b, n):
        for i in range(n):
            a[i] = b[i] + 1
            a, b = b, a

    check_loop(
        negated, (np.zeros(60), 3, 20), (np.zeros(60), 0, 60), (np.zeros(60), -7, 61), (np.zeros(60), 3, 62)
    )
    check_loop(swapped, (np.zeros(40), np.ones(40), 40), (np.zeros(40), np.ones(40), 41))
