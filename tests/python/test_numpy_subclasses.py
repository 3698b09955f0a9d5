"""NumPy's functions on arrays of classes of their own, which arise in the compiled function: every sample by every class."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import numpy_subclasses
import pytest
import weft
from support.tiers import long_but

SCRIPT = """
import json, sys
import numpy_subclasses
print(json.dumps(numpy_subclasses.survey(sys.argv[1], most=3)))
"""


@pytest.mark.parametrize(
    "name", long_but(numpy_subclasses.CLASSES, "masked", "matrix", "named", "of functions", "duck")
)
def test_every_function_gives_what_numpy_gives(name):
    """By the interpreter, as test_numpy_surface.py."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "WEFT_INTERPRET": "1",
        "WEFT_TOOLCHAIN": "c++",
        "WEFT_CXX": "/nonexistent",
    }
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, name]
    folder = pathlib.Path(__file__).parent
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    differing, count = json.loads(done.stdout.splitlines()[-1])
    assert count > 800
    assert differing == []


class Number(np.float64):
    def __add__(self, other):
        return "sum"


def adds(x):
    return x + 1.0, np.add(x, 1.0), np.sqrt(x)


def test_scalars_of_a_class_of_their_own():
    compiled = weft.compile(adds)
    for _ in range(2):
        for x in (Number(4.0), np.float64(4.0)):
            assert compiled(x) == adds(x)


def in_a_stand_in(x):
    first = np.matrix(x)  # made by Python, between segments that begin within the call
    return np.argmax(first), np.median(first, axis=0), np.r_[first, first]


def test_a_call_behind_one_that_python_made_the_object_of():
    x = np.arange(12.0).reshape(3, 4)
    compiled = weft.compile(in_a_stand_in)
    for _ in range(2):
        assert numpy_subclasses.described(compiled(x)) == numpy_subclasses.described(in_a_stand_in(x))


def plain_only(x):
    return np.mean(x), np.r_[x, x], np.vectorize(lambda v: v + 1.0)(x)


def test_plain_arrays_still_compile():
    assert ", 0 breaks" in str(weft.compiler.explain(plain_only)(np.arange(4.0)))


def holds_itself(x):
    inner = []
    inner.append(inner)
    return np.array([inner, inner], dtype=object).shape, np.ndim(x)


def given_what_holds_itself(x, inner):
    return np.array([inner, inner], dtype=object).shape, np.ndim(x)


def test_lists_that_hold_themselves():
    x, inner = np.arange(3.0), []
    inner.append(inner)
    for function, arguments in ((holds_itself, (x,)), (given_what_holds_itself, (x, inner))):
        compiled = weft.compile(function)
        for _ in range(2):
            assert compiled(*arguments) == function(*arguments)
