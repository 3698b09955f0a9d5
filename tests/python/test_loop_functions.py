"""Native loops that call functions which the program makes, over its local variables, and set closure variables."""

import copy

import numpy as np
import pytest
import weft
from support.compare import assert_same, check


def union(n, pairs):
    parent = np.arange(n)

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    count = n
    for k in range(len(pairs)):
        a, b = find(pairs[k, 0]), find(pairs[k, 1])
        if a != b:
            parent[b] = a
            count -= 1
    return count, parent


def union_of_rows(n, pairs):
    parent = np.arange(n)

    def find(x):
        while parent[x] != x:
            x = parent[x]
        return x

    count = n
    for a, b in pairs:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[rb] = ra
            count -= 1
    return count


def runge_kutta(y, steps, h):
    k, damping = 1.5, 0.1

    def force(t, y):
        return np.array([y[1], -k * y[0] - damping * y[1] + t])

    out = np.empty((steps, 2))
    t = 0.0
    for i in range(steps):
        a = force(t, y)
        b = force(t + h / 2, y + h / 2 * a)
        c = force(t + h / 2, y + h / 2 * b)
        d = force(t + h, y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
        t += h
        out[i] = y
    return out


def counted(x):
    calls = 0
    largest = -1.0

    def note(v):
        nonlocal calls, largest
        calls += 1
        if v > largest:
            largest = v
        return v * 2

    total = 0.0
    for i in range(len(x)):
        total += note(x[i])
    return total, calls, largest


def polynomial(cs, x):
    def step(total, c):
        return total * x + c

    def value():
        total = 0.0
        for c in cs:
            total = step(total, c)
        return total

    return value() + value()


def greatest(n):
    def gcd(a, b):
        while b:
            a, b = b, a % b
        return a

    total = 0
    for i in range(1, n):
        for j in range(1, n):
            total += gcd(i, j)
    return total


def factorials(n):
    def factorial(k):
        return 1 if k < 2 else k * factorial(k - 1)

    total = 0
    for i in range(n):
        total += factorial(i % 9)
    return total


def rotated(points, angle):
    out = np.empty_like(points)
    for i in range(len(points)):
        t = angle * i
        r = np.array([[np.cos(t), -np.sin(t), 0.0], [np.sin(t), np.cos(t), 0.0], [0.0, 0.0, 1.0]])
        out[i] = r @ points[i]
    return out


def attractor(n, dt):
    out = np.zeros((n, 3))
    x, y, z = 1.0, 1.0, 1.0
    for i in range(n):
        x, y, z = x + 10.0 * (y - x) * dt, y + (x * (28.0 - z) - y) * dt, z + (x * y - 8 / 3 * z) * dt
        out[i] = x, y, z
    return out


RNG = np.random.default_rng(0)
PROGRAMS = [
    (union, 40, RNG.integers(0, 40, size=(60, 2))),
    (union_of_rows, 40, RNG.integers(0, 40, size=(60, 2))),
    (runge_kutta, np.array([1.0, 0.0]), 40, 0.01),
    (counted, RNG.normal(size=40)),
    (polynomial, RNG.normal(size=30), 0.7),
    (greatest, 25),
    (factorials, 40),
    (rotated, RNG.normal(size=(20, 3)), 0.1),
    (attractor, 60, 0.01),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_programs(program):
    check(program[0], program[1:], rtol=1e-12)


@pytest.mark.parametrize(
    "program",
    [p for p in PROGRAMS if p[0] in (union, runge_kutta, counted, greatest)],
    ids=lambda program: program[0].__name__,
)
def test_a_new_function_object_is_no_new_code(program):
    function, *arguments = program
    compiled = weft.compile(function)
    for _ in range(3):
        compiled(*copy.deepcopy(arguments))
    before = weft.compiler.stats()
    for _ in range(10):
        compiled(*copy.deepcopy(arguments))
    after = weft.compiler.stats()
    assert after["kernels"] == before["kernels"] and after["captures"] == before["captures"]
    assert after["eager_calls"] == before["eager_calls"]


def test_what_the_function_raises():
    check(union, (40, np.array([[0, 1]] * 20 + [[3, 40]])))
    check(union_of_rows, (40, RNG.integers(0, 40, size=(60, 3))))


def test_closure_variables_outlive_the_loop():
    def maker(x):
        total = 0.0
        history = []

        def add(v):
            nonlocal total
            total += v
            return total

        for v in x:
            add(v)
        before = total
        for k in range(10):
            total = total + k
        history.append(total)
        return before, total, add(1.0), history

    check(maker, (RNG.normal(size=30),), rtol=1e-12)


def test_functions_of_other_calls_have_their_own_variables():
    def outer(scale, x):
        def scaled(v):
            return v * scale

        total = 0.0
        for i in range(len(x)):
            total += scaled(x[i])
        return total

    compiled = weft.compile(outer)
    x = RNG.normal(size=20)
    for scale in (2, 3, 0.5, np.float64(1.5), 2):
        assert_same(compiled(scale, x), outer(scale, x), rtol=1e-12)
