"""Entries of native loops like earlier ones are read the short way: what differs has to be seen."""

import threading

import numpy as np
import pytest
import weft
from support.compare import assert_same, check

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
FACTOR = 2


def check_after_usual(function, usual, others):
    """`usual` and each of `others` make arguments; every other call comes after many usual ones."""
    compiled = weft.compile(function)
    for make in others:
        check(function, usual, rounds=4, compiled=compiled)
        check(function, make, compiled=compiled)


def add_scaled(a, b, k):
    total = 0
    for i in range(a.shape[0]):
        b[i] = b[i] + a[i] * k
        total += 1
    return total, k, FACTOR


def floats(n=7):
    return np.arange(float(n))


def read_only(array):
    array.flags.writeable = False
    return array


def unaligned(n):
    memory = np.zeros(8 * n + 1, np.uint8)[1:]
    memory.view(np.float64)[:] = np.arange(n)
    return memory.view(np.float64)


def one_array(shift=0):
    a = floats(9)
    return a[: 9 - shift], a[shift:]


class Sub(np.ndarray):
    pass


ARRAYS = {
    "one array twice": lambda: (*one_array()[:1] * 2, 3),
    "the same memory": lambda: (*one_array(), 3),
    "memory of before": lambda: (*one_array(1), 3),
    "memory behind": lambda: (*reversed(one_array(1)), 3),
    "other dtypes in one memory": lambda: (lambda a: (a.view(np.int64), a, 3))(floats()),
    "read-only": lambda: (floats(), read_only(floats()), 3),
    "read-only operand": lambda: (read_only(floats()), floats(), 3),
    "float32": lambda: (floats().astype(np.float32), floats(), 3),
    "float32 result": lambda: (floats(), floats().astype(np.float32), 3),
    "long long": lambda: (np.arange(7, dtype=np.longlong), floats(), 3),
    "complex": lambda: (floats(), floats() + 0j, 3),
    "every other": lambda: (np.arange(14.0)[::2], np.arange(14.0)[1::2], 3),
    "backwards": lambda: (floats()[::-1], floats()[::-1], 3),
    "one element, again and again": lambda: (np.broadcast_to(np.float64(2), 7), floats(), 3),
    "unaligned": lambda: (unaligned(7), floats(), 3),
    "byte order": lambda: (floats().astype(">f8"), floats(), 3),
    "objects": lambda: (floats().astype(object), floats(), 3),
    "two dimensions": lambda: (np.ones((7, 1)), floats(), 3),
    "no dimension": lambda: (np.ones(()), floats(), 3),
    "empty": lambda: (floats(0), floats(), 3),
    "too short": lambda: (floats(9), floats(5), 3),
    "a subclass": lambda: (floats().view(Sub), floats(), 3),
    "a list": lambda: ([1.0, 2.0], floats(), 3),
    "lists": lambda: (floats(), [0.0] * 7, 3),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_other_arrays(name):
    check_after_usual(add_scaled, lambda: (floats(), floats(), 3), [ARRAYS[name]])


NUMBERS = [
    3,
    -3,
    0,
    True,
    2.5,
    -0.0,
    1 << 70,
    np.float64(2),
    np.float32(2),
    np.int64(-2),
    np.uint8(200),
    2j,
    "k",
]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("usual", [5, 1.5, True, np.int64(4), np.float32(0.5), np.uint8(3), 1j], ids=repr)
def test_other_numbers(usual, number):
    check_after_usual(add_scaled, lambda: (floats(), floats(), usual), [lambda: (floats(), floats(), number)])


def test_global_changes():
    def scaled(a):
        total = 0
        for x in a:
            total += x * FACTOR
        return total

    global FACTOR
    compiled = weft.compile(scaled)
    try:
        for FACTOR in (2, 2, 2, 3, 2.5, 2, 2):
            for _ in range(3):
                assert_same((compiled(floats()),), (scaled(floats()),))
    finally:
        FACTOR = 2


def counted(start, stop, step):
    seen = total = 0
    for i in range(start, stop, step):
        seen += 1
        total += i
    return seen, total


def test_other_ranges():
    others = [
        (-5, 9, 1),
        (-9, -5, 1),
        (9, 0, -1),
        (0, 9, 2),
        (0, 9, 3),
        (0, 9, 4),
        (0, 9, 5),
        (9, -9, -4),
        (9, 0, 1),
    ]
    others += [(1 << 62, (1 << 62) + 5, 1), (1 << 80, (1 << 80) + 5, 1), (-(1 << 62), 5 - (1 << 62), 2)]
    check_after_usual(counted, lambda: (0, 9, 1), [lambda args=args: args for args in others])


def test_other_iterators():
    def total(it):
        result = 0
        for x in it:
            result += x
        return result

    def begun(it):
        next(it)
        return it

    def kept(it):
        KEPT.append(it)
        return it

    KEPT = []
    others = [
        lambda: (begun(iter(floats())),),
        lambda: (kept(begun(iter(floats()))),),
        lambda: (iter(floats().astype(int)),),
        lambda: (iter(floats(0)),),
        lambda: (iter([1, 2]),),
        lambda: (iter(range(5)),),
        lambda: (begun(iter(range(3, 90, 7))),),
        lambda: (kept(begun(iter(range(3, 90, 7)))),),
        lambda: (enumerate(range(0)),),
        lambda: (zip(),),
    ]
    compiled = weft.compile(total)
    for make in others:
        for function in (total, compiled, compiled, compiled):
            KEPT.clear()
            got = function(*make())
            rest = [list(it) for it in KEPT]
            if function is total:
                expected = repr((got, rest))
            assert repr((got, rest)) == expected
        compiled(iter(floats()))


def test_held_variables():
    def last(a, pair):
        x = None
        for x in a:
            pass
        return x, pair

    kept = (1, None, (2.5, True))
    others = [
        (2, None, (2.5, True)),
        (1, 2, (2.5, True)),
        (1, None, (2.5, 1)),
        (1, None),
        (-1, None, (2.5, True)),
    ]
    check_after_usual(last, lambda: (floats(), kept), [lambda pair=pair: (floats(), pair) for pair in others])
    check_after_usual(last, lambda: (floats(), kept), [lambda: (floats(0), kept), lambda: (floats(), [1])])


def test_error_inside_leaves_what_was_done():
    def spread(a, c):
        done = 0
        for x in a:
            c[x] += 1
            done += 1
        return done

    wrong = np.array([0, 1, 2, 9, 1])
    check_after_usual(
        spread, lambda: (np.array([0, 1, 1]), np.zeros(3, int)), [lambda: (wrong, np.zeros(3, int))]
    )


def test_function_calls_itself():
    def walk(a, depth):
        total = 0.0
        for x in a:
            total += x
        if depth == 0:
            return total
        return total + inner(a[1:], depth - 1)

    inner = compiled = weft.compile(walk)
    expected = sum(sum(range(k, 9)) for k in range(4))
    for _ in range(5):
        assert compiled(floats(9), 3) == expected


def test_threads_at_once():
    def prefix(a, b):
        total = 0.0
        for i in range(a.shape[0]):
            total += a[i]
            b[i] = total
        return total

    compiled = weft.compile(prefix)
    wrong = []

    def work(k):
        for n in range(1, 120):
            a = np.full(n % 7 * 40 + 1, float(k))
            if n % 3 == 0:
                a = a.astype(np.float32)
            b = np.zeros(a.size)
            if compiled(a, b) != a.sum() or b[-1] != a.sum():
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_names_that_change_under_a_reader():
    class Values:
        scale = 2.0

    values = Values()

    def scaled(a):
        total = 0.0
        for x in a:
            total += x * values.scale
        return total

    compiled = weft.compile(scaled)
    for values.scale in (2.0, 2.0, 2.0, 3.0, 3, 2.0):
        for _ in range(3):
            assert_same((compiled(floats()),), (scaled(floats()),))
