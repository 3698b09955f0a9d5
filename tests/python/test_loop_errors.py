"""Native loops that meet what they do not do themselves: errors, warnings, big ints, read-only and aliased arrays, globals
that change, interrupts."""

import contextlib
import gc
import os
import signal
import textwrap
import threading
import time

import numpy as np
import pytest
import weft
from support.compare import assert_same, check_loop


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


rng = np.random.default_rng(0)


def test_index_errors_leave_the_state_python_leaves():
    def shift(a, b):
        for i in range(len(a)):
            b[i] = a[i + 1]

    def negative(a, k):
        s = 0
        for i in range(20):
            s += a[k - i]
        return s

    check_loop(shift, (np.arange(30.0), np.zeros(30)), (np.arange(30.0), np.zeros(10)))
    check_loop(
        negative,
        (np.arange(25), 3),
        (np.arange(15), 3),
        (np.arange(25), 24),
        (np.arange(25), 25),
        native=False,
    )


def test_an_exception_that_the_function_handles():
    def first_missing(a):
        try:
            for i in range(1000):
                a[i] += 1
        except IndexError as error:
            return i, str(error)

    check_loop(first_missing, (np.arange(40),), (np.arange(60.0),))


def test_division_by_zero():
    def ratio(a, b):
        s = 0.0
        for i in range(len(a)):
            s += a[i] / b[i]
        return s

    def modulo(n, k):
        s = 0
        for i in range(n):
            s += 100 // (k - i) + 100 % (k - i)
        return s

    def python_floats(n):
        s = 1.0
        for i in range(n):
            s = s / (n - 20.0 - i)
        return s

    a = rng.integers(-5, 5, 40)
    check_loop(ratio, (a, a + 100), (a * 1.0, rng.integers(0, 2, 40) * 1.0), (a, rng.integers(0, 2, 40)))
    check_loop(modulo, (30, 100), (30, 20), (30, -1))
    check_loop(python_floats, (30,), (19,), native=False)


def test_numpy_warns_where_python_does():
    def ratio(a, b):
        s = 0.0
        for i in range(len(a)):
            s += a[i] / b[i]
        return s

    with pytest.warns(RuntimeWarning, match="divide by zero encountered in scalar divide"):
        weft.compile(ratio)(np.ones(20), np.zeros(20))


def test_overflow_goes_on_with_big_ints():
    def factorial(n):
        f = 1
        for i in range(1, n + 1):
            f *= i
        return f

    def hashed(a):
        h = 5381
        for i in range(len(a)):
            h = h * 33 + int(a[i])
        return h

    def narrow(a):
        s = a[0]
        for i in range(1, len(a)):
            s = s + a[i]
        return s

    check_loop(factorial, (18,), (20,), (25,), (60,))
    check_loop(hashed, (np.arange(40),))
    check_loop(
        narrow,
        (np.arange(30, dtype=np.uint8),),
        (np.full(40, 2**62),),
        (np.full(40, 100, np.int8),),
        native=False,
    )


def test_stores_convert_as_numpy_does():
    def store(out, values):
        for i in range(len(values)):
            out[i] = values[i]

    def store_python(out, x):
        for i in range(len(out)):
            out[i] = x * i

    for dtype in (np.float32, np.int32, np.uint8, np.bool_, np.float64):
        for values in (
            np.arange(30),
            np.arange(30) * 1.5,
            np.arange(30) % 2 == 0,
            np.arange(30, dtype=np.float32),
        ):
            check_loop(store, (np.zeros(30, dtype), values))
        check_loop(store_python, (np.zeros(30, dtype), 2), (np.zeros(30, dtype), 2.75))
    check_loop(store_python, (np.zeros(30, np.uint8), 20), (np.zeros(30, np.uint8), -1), native=False)


def test_read_only_arrays():
    def fill(a):
        for i in range(len(a)):
            a[i] = i

    frozen = np.zeros(20)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        weft.compile(fill)(frozen)


def test_arguments_that_alias():
    def accumulate(a, b):
        for i in range(1, len(b)):
            b[i] += a[i - 1]

    compiled = weft.compile(accumulate)
    for view in (lambda x: (x, x), lambda x: (x, x[1:]), lambda x: (x[1:], x[:-1]), lambda x: (x, x[::-1])):
        mine, theirs = np.arange(40.0), np.arange(40.0)
        accumulate(*view(theirs))
        compiled(*view(mine))
        assert_same(mine, theirs)
    bits, numbers = np.arange(40.0), np.arange(40.0)
    accumulate(bits, bits.view(np.int64))
    compiled(numbers, numbers.view(np.int64))
    assert_same(bits, numbers)


def test_globals_that_change():
    global SCALE
    SCALE = 2

    def scaled(a):
        s = 0.0
        for i in range(len(a)):
            s += a[i] * SCALE
        return s

    compiled = weft.compile(scaled)
    a = np.arange(20.0)
    for SCALE in (2, 3, 2.5):
        assert_same(compiled(a), scaled(a))


def interrupt(signum, frame):
    raise KeyboardInterrupt


@contextlib.contextmanager
def interrupted(seconds):
    """A KeyboardInterrupt after `seconds`, raised by a signal. One is enough: a second, long after, would end
    what lost the first."""
    signals = []

    def handle(signum, frame):
        signals.append(signum)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handle)
    gc.disable()  # an exception in a callback of the collector (Hypothesis has one) is ignored by Python
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, seconds, 20)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        gc.enable()
    assert len(signals) == 1


def test_keyboard_interrupt():
    def endless(a):
        while True:
            a[0] += 1

    with interrupted(0.5):
        weft.compile(endless)(np.zeros(2))


def test_loops_of_segments_let_signals_and_threads_through():
    def endless(a):
        while True:
            a = np.sort(a)[::-1].copy()
            if a.sum() > 1e9:
                break
        return a

    previous = signal.signal(signal.SIGALRM, interrupt)
    done = threading.Event()

    def press():
        if not done.wait(0.5):
            os.kill(os.getpid(), signal.SIGALRM)

    presser = threading.Thread(target=press)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            try:
                weft.compile(endless)(np.arange(6.0))
            finally:
                done.set()
    finally:
        done.set()
        presser.join()
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize("size", [6, 5000])
def test_other_threads_get_their_turn(size):
    def endless(a, stop):
        while not stop:
            a = np.sort(a)[::-1].copy()
        return a

    def counting(a, stop):
        k = 0
        while not stop[0]:
            a[k % len(a)] += k
            k += 1
        return k

    for function, stop, set_stop in (
        (endless, [], lambda stop: stop.append(1)),
        (counting, np.zeros(1), lambda stop: stop.fill(1)),
    ):
        turns = []

        def press(stop=stop, set_stop=set_stop, turns=turns):
            for _ in range(20):
                time.sleep(0.001)
                turns.append(time.perf_counter())
            set_stop(stop)

        presser = threading.Thread(target=press)
        presser.start()
        weft.compile(function)(np.arange(float(size)), stop)
        presser.join()
        assert len(turns) == 20


def made_anew(source, name):
    """The function of a source, which nothing has captured yet."""
    names = {"np": np}
    exec(textwrap.dedent(source), names)
    return weft.compile(names[name])


@pytest.mark.parametrize("milliseconds", [1, 2, 4, 8, 12, 16, 24, 40])
def test_signals_during_capture_of_segments_are_not_lost(milliseconds):
    endless = made_anew(
        """
        def endless(a):
            while True:
                a = np.sort(a)[::-1].copy()
                if a.sum() > 1e9:
                    break
            return a
        """,
        "endless",
    )
    with interrupted(milliseconds / 1000):
        endless(np.arange(6.0))


@pytest.mark.parametrize("milliseconds", [1, 2, 3, 4, 6, 8, 12, 16])
def test_signals_during_capture_of_one_graph_are_not_lost(milliseconds):
    source = "def chain(a):\n" + "    a = np.sin(a) + np.cos(a.sum()) * a[::-1]\n" * 60 + "    return a\n"
    with interrupted(milliseconds / 1000):
        while True:
            made_anew(source, "chain")(np.arange(6.0))


def test_errors_that_are_to_be_raised():
    def grow(a):
        with np.errstate(over="raise"):
            s = a[0]
            for i in range(1, len(a)):
                s = s * a[i]
        return s

    with pytest.raises(FloatingPointError, match="overflow"):
        weft.compile(grow)(np.full(40, 1e200))


def test_what_is_not_known_is_performed_by_python():
    def rare(a, log):
        s = 0.0
        for i in range(len(a)):
            if a[i] > 0.9:
                log.append(i)
            s += a[i]
        return s, log

    check_loop(rare, (rng.random(100), []))
