"""Native loops over arrays, lists, enumerate, zip and reversed: what Python gives, with its types and errors."""

import numpy as np
import pytest
import weft
from support.compare import check_loop


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


RNG = np.random.default_rng(0)


def test_elements():
    def total(x):
        s = 0.0
        for value in x:
            if value > 0.5:
                s += value
        return s, value

    check_loop(total, (RNG.random(100),), (RNG.random(37),), (RNG.random(200)[::-2],))
    check_loop(total, (RNG.random(100).astype(np.float32),), (np.arange(50),))
    with np.errstate(all="ignore"):
        check_loop(total, (RNG.integers(-100, 100, 60).astype(np.int8),))


def test_rows():
    def norms(matrix, out):
        k = 0
        for row in matrix:
            s = 0.0
            for value in row:
                s += value * value
            out[k] = s
            k += 1
        return row

    check_loop(norms, (RNG.random((30, 7)), np.zeros(30)), (RNG.random((7, 30)).T, np.zeros(30)))

    def scale(matrix):
        for i, row in enumerate(matrix):
            for j in range(len(row)):
                row[j] = row[j] * i + j

    check_loop(scale, (RNG.random((40, 5)),), (RNG.random((3, 20, 5))[1],))

    def boxes(array):
        s = 0.0
        for plane in array:
            for row in plane:
                for value in row:
                    s += value
        return s

    check_loop(boxes, (RNG.random((20, 3, 4)),))


def test_enumerate_and_zip():
    def weighted(x, start):
        s = 0.0
        for i, value in enumerate(x, start):
            s += i * value
        return s, i

    check_loop(weighted, (RNG.random(50), 0), (RNG.random(60), -7))

    def keyword(x):
        s = 0
        for i, value in enumerate(x, start=3):
            s += i * value
        return s

    check_loop(keyword, (np.arange(40),))

    def dot(u, v):
        s = 0.0
        for a, b in zip(u, v):
            s += a * b
        return s, a, b

    check_loop(dot, (RNG.random(50), RNG.random(50)), (RNG.random(50), RNG.random(30)))
    check_loop(dot, (RNG.random(50), np.arange(70)))

    def mixed(u, v, n):
        s = 0.0
        for i, (a, k) in enumerate(zip(u, range(10, n, 3))):
            for j, (b, c) in enumerate(zip(v, reversed(range(20)))):
                s += a * b * (i + j) - c * k
        return s

    check_loop(mixed, (RNG.random(30), RNG.random(9), 1000), (RNG.random(30), RNG.random(9), 70))


def test_reversed():
    def backwards(x, y):
        for i in reversed(range(x.size)):
            for j in reversed(range(1, 20, 3)):
                y[i] += x[i] * j
            for j in reversed(range(i, -5, -2)):
                y[i] -= j
            for j in reversed(range(3, 3)):
                y[i] = 1e9
        return i, j

    check_loop(backwards, (RNG.random(40), np.zeros(40)))


def test_tuples():
    def neighbours(u, out):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                s = 0.0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            s += u[i + di, j + dj]
                out[i, j] = s

    check_loop(neighbours, (RNG.random((20, 25)), np.zeros((20, 25))))

    def constants(x):
        s = 0.0
        for value in x:
            for weight, power in ((0.5, 1), (0.25, 2), (2, 3)):
                s += weight * value**power
        return s

    check_loop(constants, (RNG.random(40),))


def test_lists():
    def total(numbers):
        s = 0
        for number in numbers:
            s += number
        return s, number

    check_loop(total, (list(range(100)),), ([0.5] * 40,), ([1, 2.5] * 20,), (tuple(range(50)),), native=False)

    def lookups(table, at, out):
        for i in range(at.size):
            out[i] = table[at[i]] + len(table) - table[-1]

    check_loop(lookups, ([1.5, 2.5, 3.5], RNG.integers(-3, 3, 50), np.zeros(50)))
    check_loop(lookups, ([1, 2, 3], RNG.integers(-3, 3, 50), np.zeros(50)))
    check_loop(lookups, ([1.5, 2.5, 3.5], RNG.integers(-3, 9, 50), np.zeros(50)), native=False)

    def pairs(a, b):
        s = 0.0
        for x, y in zip(a, b):
            s += x * y
        return s

    check_loop(pairs, ([float(k) for k in range(30)], RNG.random(40)))

    def grows(numbers):
        s = 0
        for i in range(50):
            s += numbers[i]
            numbers.append(s)
        return numbers

    check_loop(grows, ([1, 2, 3],), native=False)

    def changes(numbers):
        for i in range(1, len(numbers)):
            numbers[i] = numbers[i] + numbers[i - 1]
        return numbers

    check_loop(changes, (list(range(40)),), native=False)

    def large(numbers):
        s = 0
        for number in numbers:
            s += number
        return s

    check_loop(large, ([2**62] * 30,), ([2**70] * 30,), native=False)


def test_leaving_in_the_middle():
    def first(x, y):
        found = -1
        for i, (a, b) in enumerate(zip(x, y)):
            if a + b > 1.9:
                found = i
                break
        else:
            found = -2
        return found

    check_loop(first, (RNG.random(300), RNG.random(300)), (np.zeros(50), np.zeros(50)))

    def quotients(x, y, out):
        for i, (a, b) in enumerate(zip(x, y), 1):
            out[i] = 7 // int(a) + b

    x = RNG.integers(1, 5, 60)
    y = RNG.random(60)
    check_loop(quotients, (x, y, np.zeros(61)))
    bad = x.copy()
    bad[37] = 0
    check_loop(quotients, (bad, y, np.zeros(61)), native=False)
    check_loop(quotients, (x, y, np.zeros(50)), native=False)

    def rows(matrix, at):
        s = 0.0
        for row, k in zip(matrix, at):
            s += row[k]
        return s

    check_loop(rows, (RNG.random((40, 5)), RNG.integers(0, 5, 40)))
    check_loop(rows, (RNG.random((40, 5)), np.arange(40)), native=False)


@pytest.mark.filterwarnings("ignore")
def test_python_performs_something_in_a_round():
    """The iterators go on where they were."""

    def warns(x, y):
        s = 0.0
        for i, (a, b) in enumerate(zip(x, y), 5):
            s += a / b + i
        return s

    x, y = RNG.random(60), RNG.random(60)
    y[10] = y[50] = 0.0
    check_loop(warns, (x, y), native=False)

    def printed(x, seen):
        for i, a in enumerate(x):
            if i % 20 == 3:
                seen.append(float(a))
            x[i] = a + 1
        return i

    check_loop(printed, (x, []), native=False)

    def a_name(x):
        s = 0.0
        it = iter(x)
        for a in it:
            s += a
            if s > 10:
                break
        for a in it:
            s -= a
        return s

    check_loop(a_name, (RNG.random(100),), native=False)

    def shared(x):
        s = 0.0
        pairs = zip(x, x)
        for i in range(20):
            for a, b in pairs:
                s += a * b * i
                if a > 0.5:
                    break
        return s

    check_loop(shared, (RNG.random(100),), native=False)


def test_arrays_that_change_meanwhile():
    def shifts(x):
        k = 0
        for value in x:
            k += 1
            if k < x.size:
                x[k] = x[k] + value

    check_loop(shifts, (RNG.random(50),))
