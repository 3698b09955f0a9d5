"""The corpus of the program fuzzer, and a short run of it."""

import importlib.util
import pathlib
import sys

import pytest

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

import program_fuzz  # noqa: E402

CORPUS = sorted((FUZZ / "programs").glob("*.py"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_corpus(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    case = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(case)
    program_fuzz.check(case.PROGRAM, case.APPROXIMATE)


def test_short_run():
    for seed in range(1, 151):
        program, approximate = program_fuzz.one(seed)
        message = program_fuzz.fails(program, approximate)
        assert message is None, f"seed {seed}: {message}\n{program.source()}{program.arguments}"


def test_a_difference_is_found():
    """The fuzzer's own test: a compiled function that is wrong is reported."""
    import numpy as np

    program = program_fuzz.Program([program_fuzz.Argument("float64", (3,), "C", False, 1)], ["v0 = a0 + 1"], ["v0"])
    expected, arrays, _ = program_fuzz.run(program.function(), program.arguments)
    with pytest.raises(program_fuzz.Difference, match=r"v0\[0\]"):
        program_fuzz.compare("v0", np.asarray(expected[0]) + 1e-3, expected[0], tolerance=1e-10)
    with pytest.raises(program_fuzz.Difference, match="float32"):
        program_fuzz.compare("v0", np.float32(1), np.float64(1), tolerance=0.0)
    with pytest.raises(program_fuzz.Difference):
        program_fuzz.compare("v0", np.array([-0.0]), np.array([0.0]), tolerance=0.0)
