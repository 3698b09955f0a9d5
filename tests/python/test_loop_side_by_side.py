"""Native loops around loops that add up: several rounds take the inner loop together, each with sums of its own."""

import math
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import weft
from loop_products import product, product_into
from support.compare import assert_same, check_loop, outcome

RNG = np.random.default_rng(7)


def product_in_place(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def products_in_turn(a, b, c):
    """The sums of one round begin with what the round before it has left."""
    last = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = last
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
            last = s * 0.5
    return c


def with_a_total(a, b, c):
    """What comes behind the inner loop goes on from round to round."""
    total, largest = 0.0, -1.0
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 1.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s * 2 + total
            total += s
    return c, total, largest


def what_is_left(a, b, c):
    i = j = k = s = None
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s -= a[i, k] * b[k, j]
            c[i, j] = s
    return c, i, j, k, s


def triangle(a, b, c):
    for i in range(a.shape[0]):
        for j in range(min(a.shape[0], b.shape[1])):
            s = 0.0
            for k in range(min(j, a.shape[1])):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def one_element(a, b, c):
    """All rounds add up one element."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, 0] += a[i, k] * b[k, j]
    return c


def every_second(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1] // 2):
            for k in range(a.shape[1]):
                c[i, 2 * j] += a[i, k] * b[k, 2 * j]
    return c


def reads_what_it_stores(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j] + c[0, k]
            c[i, j] = s
    return c


def scaled_behind(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = c[i, j] * 0.25 + s
            if j + 1 < b.shape[1]:
                c[i, j + 1] += 1.0
    return c


def stores_behind(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] += s
            c[0, j] = s
    return c


PROGRAMS = [product_into, product_in_place, products_in_turn, with_a_total, what_is_left, triangle, one_element, every_second,
            reads_what_it_stores, scaled_behind, stores_behind]  # fmt: skip
SIZES = [
    (1, 1, 1),
    (2, 3, 4),
    (3, 4, 5),
    (3, 17, 3),
    (2, 16, 16),
    (5, 33, 7),
    (2, 23, 0),
    (0, 20, 3),
    (3, 0, 3),
    (2, 64, 9),
]


def operands(m, n, k):
    return RNG.standard_normal((m, k)), RNG.standard_normal((k, n)), RNG.standard_normal((m, n))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_python(program):
    check_loop(program, *(operands(*sizes) for sizes in SIZES))


def test_memory_of_the_call():
    check_loop(product, *(operands(*sizes)[:2] for sizes in SIZES))


def reversed_columns(m, n, k):
    a, b, c = operands(m, n, k)
    return a, b[:, ::-1], c[:, ::-1]


def columns_outermost(m, n, k):
    a, b, c = operands(m, n, k)
    return np.asfortranarray(a), np.asfortranarray(b), np.asfortranarray(c)


def every_third(m, n, k):
    a, b = operands(m, n, k)[:2]
    return a, np.repeat(b, 3, 1)[:, ::3], np.zeros((m, 3 * n))[:, ::3]


def repeated(m, n, k):
    a, b = operands(m, n, k)[:2]
    return np.broadcast_to(a[:1], a.shape), np.broadcast_to(b[:, :1], b.shape), np.zeros((m, n))


@pytest.mark.parametrize("layout", [reversed_columns, columns_outermost, every_third, repeated])
@pytest.mark.parametrize(
    "program", [product_into, product_in_place, scaled_behind], ids=lambda program: program.__name__
)
def test_memory_orders(program, layout):
    compiled = weft.compile(program)
    for sizes in [(3, 37, 5), (2, 5, 3)]:
        a, b, c = layout(*sizes)
        before, results = c.copy(), []
        for function in (compiled, compiled, program):
            c[:] = before
            function(a, b, c)
            results.append(c.copy())
        assert_same(results[0], results[2])
        assert_same(results[1], results[2])


def overlapping(kind):
    """Operands that are what is stored, or a part of it."""
    memory = np.linspace(-1, 1, 4000)
    if kind == "c is a":
        a = memory[:400].reshape(20, 20)
        return a, memory[1000:1400].reshape(20, 20), a
    if kind == "c is b":
        b = memory[:400].reshape(20, 20)
        return memory[1000:1400].reshape(20, 20), b, b
    if kind == "c begins in b":
        return memory[1000:1400].reshape(20, 20), memory[:400].reshape(20, 20), memory[7:407].reshape(20, 20)
    if kind == "c ends in a":
        return (
            memory[390:790].reshape(20, 20),
            memory[1000:1400].reshape(20, 20),
            memory[:400].reshape(20, 20),
        )
    if kind == "c runs backwards through b":
        return (
            memory[1000:1400].reshape(20, 20),
            memory[:400].reshape(20, 20),
            memory[395::-1][:380].reshape(19, 20),
        )
    assert kind == "rows of c share elements"
    strides = (8, 8)
    return (memory[1000:1400].reshape(20, 20), memory[2000:2400].reshape(20, 20),
            np.lib.stride_tricks.as_strided(memory, (20, 20), strides))  # fmt: skip


@pytest.mark.parametrize("kind", ["c is a", "c is b", "c begins in b", "c ends in a", "c runs backwards through b", "rows of c share elements"])  # fmt: skip
@pytest.mark.parametrize(
    "program", [product_into, product_in_place, scaled_behind], ids=lambda program: program.__name__
)
def test_memory_that_is_shared(program, kind):
    compiled = weft.compile(program)
    for _ in range(3):
        a, b, c = overlapping(kind)
        mine = outcome(compiled, a[: c.shape[0]], b, c)
        d, e, f = overlapping(kind)
        theirs = outcome(program, d[: f.shape[0]], e, f)
        assert type(mine) is type(theirs) and (not isinstance(theirs, tuple) or mine == theirs)
        for one, other in ((a, d), (b, e), (c, f)):
            assert_same(one.copy(), other.copy())


def test_an_element_that_does_not_move():
    """A row of c that is one element, given with a stride of 0."""
    compiled = weft.compile(product_in_place)
    for _ in range(3):
        a, b, _ = operands(3, 20, 4)
        results = []
        for function in (compiled, product_in_place):
            memory = np.zeros(3)
            function(a, b, np.lib.stride_tricks.as_strided(memory, (3, 20), (8, 0)))
            results.append(memory)
        assert_same(*results)


def distances(x):
    out = np.zeros((x.shape[0], x.shape[0]))
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                difference = x[i, k] - x[j, k]
                s += difference * difference
            out[i, j] = math.sqrt(s)
    return out


def roots(a, b, out):
    """Leaves in the middle of rounds that are side by side."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = math.sqrt(s)
    return out


def test_distances():
    check_loop(
        distances, *((RNG.standard_normal((n, d)),) for n, d in [(1, 1), (5, 3), (19, 3), (40, 0), (33, 8)])
    )


@pytest.mark.parametrize("first_below", [0, 1, 6, 15, 16, 17, 35, 38])
def test_a_round_that_raises(first_below):
    a, b = np.ones((2, 3)), np.ones((3, 39))
    b[:, first_below] = -1
    b[:, -1] = -1
    compiled = weft.compile(roots)
    compiled(a, np.ones((3, 39)), np.zeros((2, 39)))
    for _ in range(2):
        mine, theirs = np.zeros((2, 39)), np.zeros((2, 39))
        got, expected = outcome(compiled, a, b, mine), outcome(roots, a, b, theirs)
        assert got == expected and got[0] is ValueError
        assert_same(mine, theirs)


def test_an_index_out_of_range():
    compiled = weft.compile(product_into)
    for shape in [(3, 20), (3, 18), (2, 20)]:
        a, b, _ = operands(3, 20, 4)
        mine, theirs = np.zeros(shape), np.zeros(shape)
        got, expected = outcome(compiled, a, b, mine), outcome(product_into, a, b, theirs)
        assert_same((got, mine), (expected, theirs))


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "uint8", "complex128", "bool"])
@pytest.mark.parametrize("program", [product_into, product_in_place], ids=lambda program: program.__name__)
def test_dtypes(program, dtype):
    def make(m, n, k):
        return tuple((x * 3).astype(dtype) for x in operands(m, n, k))

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_loop(program, *(make(*sizes) for sizes in [(2, 37, 5), (3, 4, 3)]), native=False)


def test_special_values():
    a, b, c = operands(3, 37, 6)
    a[1, 2], b[3, 5], b[2, 8], b[4, 20], c[2, 3] = np.inf, np.nan, -np.inf, -0.0, np.nan
    with np.errstate(all="ignore"):
        for program in (product_into, product_in_place, with_a_total):
            check_loop(program, (a, b, c), (a * 1e308, b, c), (a * 5e-324, b, c))


def test_code_has_rounds_side_by_side():
    matrices = operands(3, 37, 6)
    singles = tuple(x.astype("f") for x in matrices)  # the first number that is added changes the sum's type
    for program, given in [
        (product, matrices[:2]),
        (product_into, matrices),
        (product_into, singles),
        (product_in_place, matrices),
        (distances, (RNG.random((20, 3)),)),
    ]:
        kernels = weft.compiler.explain(program)(*given).kernels
        assert any("++side" in kernel["source"] for kernel in kernels), program.__name__


@pytest.mark.parametrize("size", [40, 300, 1500])
def test_signals_are_seen(size):
    class Stopped(Exception):
        pass

    def stop(number, frame):
        raise Stopped

    compiled = weft.compile(product_into)
    a, b, c = operands(4, 33, 5)
    compiled(a, b, c)
    big = [np.ones((size, size)) for _ in range(3)]
    before = signal.signal(signal.SIGINT, stop)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    end = time.monotonic() + 60
    try:
        with pytest.raises(Stopped):
            while time.monotonic() < end:
                compiled(*big)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def wider_rows(a, b, c):
    for i in range(a.shape[0]):
        for j in range(i * 20000):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


@pytest.mark.parametrize("columns", [100000, 70000])
def test_loops_that_go_on_in_the_middle(columns):
    """Another thread makes native loops stop in rounds of an inner loop, from where they go on."""
    done = threading.Event()
    waiting = threading.Thread(target=done.wait)
    waiting.start()
    try:
        compiled, (a, b, _) = weft.compile(wider_rows), operands(6, 100000, 2)
        for _ in range(3):
            mine, theirs = np.zeros((12, columns)), np.zeros((12, columns))
            got = outcome(compiled, a, b, mine[:6])
            expected = outcome(wider_rows, a, b, theirs[:6])
            assert_same((got, mine), (expected, theirs))
    finally:
        done.set()
        waiting.join()
