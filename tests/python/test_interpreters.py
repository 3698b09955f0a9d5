"""Other interpreters of the process refuse weft with a sentence; the main one goes on."""

import pathlib
import subprocess
import sys
import textwrap

import pytest
import weft

PROGRAM = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def said(statement, *kind, **keywords):
    number = interpreters.create(*kind, **keywords)
    try:
        failed = interpreters.run_string(number, f"import sys; sys.path[:] = {sys.path!r}; {statement}")
        return "" if failed is None else failed.formatted
    except interpreters.RunFailedError as error:
        return str(error)
    finally:
        interpreters.destroy(number)

kinds = [(("isolated",), {}), (("legacy",), {})] if sys.version_info >= (3, 13) else [((), {"isolated": i}) for i in (True, False)]
for before in BEFORE:
    exec(before)
for statement in ("import weft", "import weft._C", "import weft.models", "from weft import compile"):
    for kind, keywords in kinds:
        message = said(statement, *kind, **keywords)
        assert "ImportError" in message and "weft cannot be imported in a subinterpreter" in message, message

import numpy, weft
assert float(weft.compile(lambda x: (x * 2).sum())(numpy.ones(4))) == 8
assert weft.ones((3,)).sum().item() == 3
"""


@pytest.mark.parametrize(
    "before", [[], ["import weft, numpy", "weft.compile(lambda x: x + 1)(numpy.ones(3))"]]
)
def test_subinterpreters_are_refused(before):
    paths = [
        str(pathlib.Path(weft.__file__).parents[1]),
        *(p for p in sys.path if p.endswith("site-packages")),
    ]
    program = f"import sys; sys.path[:0] = {paths!r}; BEFORE = {before!r}" + textwrap.dedent(PROGRAM)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
