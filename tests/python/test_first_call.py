"""What the first call of a process does beside compiling."""

import subprocess
import sys

ASSERTIONS = """
import sys
import numpy as np
import weft

weft.compile(lambda x: x + 1)(np.ones(3))
assert "numpy.testing" not in sys.modules


def lazily(x):
    y = x * 2
    np.testing.assert_allclose(y, x + x)
    return y + 1


def checked(x):
    y = x * 2
    assert_allclose(y, x + x)
    return y + 1


compiled = weft.compile(lazily)
for _ in range(3):
    assert compiled(np.ones(4)).tolist() == [3] * 4
from numpy.testing import assert_allclose

for function in (checked, lazily):
    explanation = weft.compiler.explain(function)(np.ones(4))
    assert explanation.result.tolist() == [3] * 4
    assert len(explanation.graphs) == 2 and not explanation.breaks, explanation
"""


def test_functions_of_numpy_testing_are_known_once_it_is_imported():
    """It imports unittest and more: a program that does not use it does not pay for it."""
    done = subprocess.run([sys.executable, "-c", ASSERTIONS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
