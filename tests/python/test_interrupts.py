"""Ctrl-C while a long operation runs: Python's signal handlers run between its pieces, and one that raises ends it."""

import subprocess
import sys

import pytest
from support.tiers import long_but

BEGIN = """
import signal, sys, time
import numpy as np
import weft
weft.set_num_threads({threads})
rng = np.random.default_rng(0)
calls = []


def during(prepare, size):
    '''How often a handler runs while an operation does that takes some of its periods: once where it waits for the end.
    Processor time, which is no longer on a machine that does other things.'''
    took = 0
    while took < 0.6 * {threads}:
        operation = prepare(size)
        started = time.process_time()
        operation()
        took = time.process_time() - started
        size = int(size * 1.5)
    signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    operation()
    during_it = len(calls)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return during_it
"""

COMPILED = """
many = eval("lambda x: " + "np.sin(" * 30 + "x" + ") + np.cos(x)" * 30)
f = weft.compile(many)
f(rng.random(1000))
f(rng.random(2000))


def prepare(size):
    x = rng.random(size)
    return lambda: f(x)


print(during(prepare, {size}))
"""

EAGER = """
def prepare(size):
    x = weft.from_numpy(rng.random(size))
    return lambda: weft.igamma(x, x)


print(during(prepare, {size}))
"""

PRODUCT = """
def prepare(n):
    a, b = (weft.from_numpy((rng.random((n, n)) * 4).astype(np.{dtype})) for _ in range(2))
    return lambda: a @ b


print(during(prepare, {size}))
"""

SCRIPT = """
f = weft.jit.script(weft.nn.Sequential(*[weft.nn.Tanh() for _ in range(300)]))
f(weft.from_numpy(rng.random(10)))


def prepare(size):
    x = weft.from_numpy(rng.random(size))
    return lambda: f(x)


print(during(prepare, {size}))
"""

RAISING = """
def on_alarm(number, frame):
    raise KeyboardInterrupt


many = eval("lambda x: " + "np.sin(" * 60 + "x" + ") + np.cos(x)" * 60)


f = weft.compile(many)
f(np.ones(64))
f(np.ones(99))
x = rng.random({size})
signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_REAL, 0.15)
try:
    print("result", f(x) is not None)
except KeyboardInterrupt:
    print("interrupted")
signal.setitimer(signal.ITIMER_REAL, 0)
print(np.array_equal(f(np.ones(64)), many(np.ones(64))))
"""


def run(text, **values):
    done = subprocess.run(
        [sys.executable, "-c", (BEGIN + text).format(**values)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


# The sizes to begin with.
CASES = {
    "compiled": (COMPILED, {"size": 4_000_000}),
    "eager": (EAGER, {"size": 4_000_000}),
    "float64 product": (PRODUCT, {"size": 2000, "dtype": "float64"}),
    "float32 product": (PRODUCT, {"size": 3000, "dtype": "float32"}),
    "int64 product": (PRODUCT, {"size": 800, "dtype": "int64"}),
    "script": (SCRIPT, {"size": 1_000_000}),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", long_but(CASES, "compiled", "float64 product", "script"))
def test_handlers_run_between_the_pieces(case, threads):
    text, values = CASES[case]
    (times,) = run(text, threads=threads, **values)
    assert int(times) >= 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_handler_that_raises_ends_the_work(threads):
    assert run(RAISING, threads=threads, size=12_000_000) == ["interrupted", "True"]


ANY_TIME = """
class Stopped(Exception):
    pass


def stop(number, frame):
    raise Stopped


TEXT = "def f(a, b):\\n    c = np.zeros(len(a))\\n    for i in range(len(a)):\\n        c[i] = a[i] * {{}} + np.sin(b)[i]\\n    return c.sum()"
signal.signal(signal.SIGALRM, stop)
lost = 0
for n in range({rounds}):
    names = {{"np": np}}
    exec(TEXT.format(n), names)
    f = weft.compile(names["f"])
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002 + rng.random() * 0.15)
        for size in range(10, 400):
            f(np.ones(size), np.ones(size))
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass
        lost += 1
    except Stopped:
        pass
print(lost)
"""


@pytest.mark.long
def test_what_a_handler_raises_is_not_lost():
    """Whatever it interrupts: capture, which looks at exceptions of the program; the compiler; kernels."""
    assert run(ANY_TIME, threads=2, rounds=60) == ["0"]
