"""Every program of the benchmark suite at its small size: what weft.compile gives is what NumPy gives.

The arguments are compared too, because programs write to them, and the second call, which runs without capture.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
import weft

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from programs import all_programs
from programs.registry import copied, same


@pytest.fixture(autouse=True)
def forget_captures():
    yield
    weft.compiler.reset()


@pytest.mark.filterwarnings("ignore:.*runs uncompiled from there")
@pytest.mark.parametrize("program", all_programs(), ids=lambda program: program.name)
def test_program_gives_what_numpy_gives(program):
    arguments = program.arguments(program.small)
    plain = copied(arguments)
    expected = program.function(*plain)
    compiled = weft.compile(program.function)
    for _ in range(2):
        written = copied(arguments)
        assert same(compiled(*written), expected, program.rtol) == ""
        assert same(written, plain, program.rtol) == ""


def test_suite_is_large_and_varied():
    programs = all_programs()
    assert len(programs) >= 40
    assert len({program.field for program in programs}) == 7
    assert any(program.loops for program in programs) and any(not program.loops for program in programs)


def test_same_tells_what_differs():
    one = np.arange(4.0)
    assert same(one, one.copy(), 0.0) == ""
    assert same(one + 1e-13, one, 1e-12) == ""
    assert "elements differ" in same(one + 1e-6, one, 1e-12)
    assert "dtype" in same(one.astype(np.float32), one, 0.0)
    assert "shape" in same(one[:3], one, 0.0)
    assert same(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), 1e-12) == ""
    assert "results" in same((one,), (one, one), 0.0)
