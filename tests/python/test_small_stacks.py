"""First calls of compiled functions in threads whose stacks are small: each in a process of its own, which would die."""

import subprocess
import sys

import pytest
from support.tiers import long_but

KIB = 1024

PROGRAM = """
import sys, threading
import numpy as np
import weft

weft.compile(lambda x: x + 1)(np.ones(3))   # what is loaded once is loaded
KIND = {kind!r}


def elementwise(x):
    return np.sin(x) * 2 + np.cos(x).sum()


def native_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * i
    return total


def product(x):
    return x.reshape(20, 20) @ x.reshape(20, 20).T


def broken(x):
    y = x * 2
    print(end="", file=sys.stderr)
    return y + 1


def raising(x):
    try:
        raise ValueError(str(x.shape))
    except ValueError as error:
        return x + len(str(error))


def recursive(x, depth=40):
    return x if depth == 0 else recursive(x, depth - 1) + 1


def nested(x):
    def inner(y):
        return [y * i for i in range(30)]
    return sum(inner(x + 1))


def tensors(x):
    layers = weft.nn.Sequential(weft.nn.Linear(20, 20), weft.nn.ReLU())
    for parameter in layers.parameters():
        parameter.fill_(0.5)
    return weft.compile(layers)(weft.from_numpy(x.reshape(20, 20))).numpy()


function = globals()[KIND]
x = np.arange(400, dtype=np.float32 if KIND == "tensors" else np.float64)
expected = function(x) if KIND != "tensors" else np.maximum(x.reshape(20, 20).sum(1, keepdims=True) * 0.5 + 0.5, 0) + np.zeros((20, 20))
found = []


def work():
    compiled = function if KIND == "tensors" else weft.compile(function)
    for _ in range(3):
        found.append(compiled(x))


threading.stack_size({stack})
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(found) == 9, len(found)
for result in found:
    np.testing.assert_allclose(result, expected, rtol=1e-5)
print("well")
"""


def run(kind, stack):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(kind=kind, stack=stack)],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "stack",
    long_but(
        [32 * KIB, 64 * KIB, 256 * KIB, 512 * KIB, 1024 * KIB, 8192 * KIB], 32 * KIB, 64 * KIB, 8192 * KIB
    ),
)
@pytest.mark.parametrize("kind", ["elementwise", "broken"])
def test_first_calls(kind, stack):
    done = run(kind, stack)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


@pytest.mark.parametrize("kind", ["native_loop", "product", "raising", "recursive", "nested", "tensors"])
@pytest.mark.parametrize("stack", [64 * KIB])
def test_every_kind_of_function(kind, stack):
    done = run(kind, stack)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
