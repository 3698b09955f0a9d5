"""Ctrl-C while a long operation runs: Python's signal handlers run between its pieces, and one that raises ends it."""

import subprocess
import sys

import pytest

BEGIN = """
import signal, sys
import numpy as np
import weft
weft.set_num_threads({threads})
rng = np.random.default_rng(0)
calls = []


def during(function, *arguments):
    '''How often a handler runs while the function does: once where it waits for the end.'''
    calls.clear()
    signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    result = function(*arguments)
    during_it = len(calls)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return during_it
"""

COMPILED = """
many = eval("lambda x: " + "np.sin(" * 30 + "x" + ") + np.cos(x)" * 30)
f = weft.compile(many)
f(rng.random(1000))
f(rng.random(2000))
big = rng.random({size})
print(during(f, big))
"""

EAGER = """
x = weft.from_numpy(rng.random({size}))
y = weft.from_numpy(rng.random({size}))
print(during(lambda: weft.pow(x, y)))
"""

PRODUCT = """
n = {size}
a = weft.from_numpy((rng.random((n, n)) * 4).astype(np.{dtype}))
b = weft.from_numpy((rng.random((n, n)) * 4).astype(np.{dtype}))
print(during(lambda: a @ b))
"""

SCRIPT = """
f = weft.jit.script(weft.nn.Sequential(*[weft.nn.Tanh() for _ in range(300)]))
x = weft.from_numpy(rng.random({size}))
f(x[:10])
print(during(f, x))
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
signal.setitimer(signal.ITIMER_REAL, 0.3)
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


# With these sizes one operation takes one thread some seconds.
CASES = {
    "compiled": (COMPILED, {"size": 4_000_000}),
    "eager": (EAGER, {"size": 30_000_000}),
    "float64 product": (PRODUCT, {"size": 3000, "dtype": "float64"}),
    "float32 product": (PRODUCT, {"size": 4500, "dtype": "float32"}),
    "int64 product": (PRODUCT, {"size": 1200, "dtype": "int64"}),
    "script": (SCRIPT, {"size": 2_000_000}),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_handlers_run_between_the_pieces(case, threads):
    text, values = CASES[case]
    (times,) = run(text, threads=threads, **values)
    assert int(times) >= 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_handler_that_raises_ends_the_work(threads):
    assert run(RAISING, threads=threads, size=6_000_000) == ["interrupted", "True"]
