"""Frames, exceptions, the ends of objects and arrays' memory as programs see them: what a compiled program sees is what Python shows it."""

import exception_programs
import frame_programs
import introspection_programs
import lifetime_programs
import pytest
import traceback_programs
import weft
from frame_checks import assert_same
from support.tiers import long_but

pytestmark = pytest.mark.semantics  # what Python performs around graphs: no kernel's


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def named(module):
    return pytest.mark.parametrize("program", module.PROGRAMS, ids=lambda program: program.__name__)


@named(frame_programs)
def test_frames(program):
    assert_same(program)


@pytest.mark.parametrize(
    "filters", long_but(["default", "once", "module", "error", "ignore"], "once", "error")
)
@pytest.mark.parametrize(
    "program",
    [one for one in frame_programs.PROGRAMS if one.__name__.startswith("warn")],
    ids=lambda one: one.__name__,
)
def test_filters(program, filters):
    assert_same(program, filters)


@named(exception_programs)
def test_exceptions(program):
    assert_same(program)


@named(traceback_programs)
def test_tracebacks_of_blocks(program):
    assert_same(program)


@named(lifetime_programs)
def test_ends_of_objects(program):
    assert_same(program)


@named(introspection_programs)
def test_memory_of_arrays(program):
    assert_same(program)
