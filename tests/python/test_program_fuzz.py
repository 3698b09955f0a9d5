"""The corpus of the program fuzzer, and a short run of it."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest
from support.tiers import long_but

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

import program_aliases  # noqa: E402
import program_arrays  # noqa: E402
import program_fuzz  # noqa: E402
import program_loops  # noqa: E402
import program_memory  # noqa: E402
import program_shrink  # noqa: E402
import program_whole  # noqa: E402
from program_values import Argument, Difference, Program  # noqa: E402

CORPUS = sorted((FUZZ / "programs").glob("*.py"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_corpus(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    case = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(case)
    program_fuzz.check(case.PROGRAM)


GRAMMARS = {
    "arrays": (program_arrays.generate, 600, 20),
    "loops": (program_loops.generate, 30, 2),
    "whole": (program_whole.generate, 200, 20),
    "memory": (program_memory.generate, 40, 2),
}
FIFTHS = long_but(range(5), 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fifth", FIFTHS)
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_short_run(grammar, fifth):
    """Every program in the reference interpreter, some compiled."""
    generate, programs, share = GRAMMARS[grammar]
    for seed in range(1 + fifth * programs // 5, 1 + (fifth + 1) * programs // 5):
        program = generate(seed)
        message = program_fuzz.fails(
            program, program_fuzz.modes_of(seed, share), layouts=False, threads=seed % 16 == 0
        )
        assert message is None, f"seed {seed}: {message}\n{program.source()}{program.arguments}"


@pytest.mark.parametrize("fifth", FIFTHS)
def test_views_and_updates(monkeypatch, fifth):
    monkeypatch.setenv("WEFT_INTERPRET", "1")
    for seed in range(1 + 60 * fifth, 61 + 60 * fifth):
        assert program_aliases.fails(seed) is None
    monkeypatch.delenv("WEFT_INTERPRET")
    for seed in range(301 + 2 * fifth, 303 + 2 * fifth):
        assert program_aliases.fails(seed) is None


def adds_one():
    return Program([Argument("float64", (3,), "C", False, 1)], ["v0 = a0 * 2", "v1 = a0 + 1"], ["v0", "v1"])


def ran(results, program):
    return results, program.make_arguments(), None


def test_differences_are_found():
    """The fuzzer's own test: what is wrong is reported, with the name and the place."""
    program = adds_one()
    expected = program_fuzz.run(program.function(), program)
    doubled, added = expected[0]
    wrong = added.copy()
    wrong[1] += 1e-9
    with pytest.raises(Difference, match=r"v1\[1\]"):
        program_fuzz.compare_run("compiled", program, ran((doubled, wrong), program), expected)
    program.bounds = {"v1": 1e-8}
    program_fuzz.compare_run("compiled", program, ran((doubled, wrong), program), expected)
    with pytest.raises(Difference, match="float32"):
        program_fuzz.compare_run(
            "compiled", program, ran((doubled.astype(np.float32), added), program), expected
        )
    with pytest.raises(Difference, match="type list"):
        program_fuzz.compare_run("compiled", program, ran((doubled.tolist(), added), program), expected)
    separate, one_memory = ran((doubled, doubled.copy()), program), ran((doubled, doubled), program)
    with pytest.raises(Difference, match="in NumPy v1 shares memory with v0"):
        program_fuzz.compare_run("compiled", program, separate, one_memory)
    with pytest.raises(Difference, match="in NumPy v1 does not share memory with v0"):
        program_fuzz.compare_run("compiled", program, one_memory, separate)


def test_zeros_orders_and_errors_are_compared():
    with pytest.raises(Difference):
        program_fuzz.compare("v0", np.array([-0.0]), np.array([0.0]))
    with pytest.raises(Difference, match="memory order C, NumPy gives F"):
        program_fuzz.compare("v0", np.ones((2, 3)), np.ones((3, 2)).T)
    program = adds_one()
    failed = (None, program.make_arguments(), ValueError("one"))
    with pytest.raises(Difference, match="NumPy's text"):
        program_fuzz.compare_run("compiled", program, (None, failed[1], ValueError("two")), failed)


def test_failures_are_shrunk():
    program = Program(
        [Argument("float64", (3,), "F", True, 1)],
        ["v0 = a0 * 2", "for i in range(3):\n    v0 = v0 + i\n    v1 = v0 - 1", "v2 = np.sign(v0)"],
        ["v0", "v1", "v2"],
    )

    def fails(candidate):
        return "v2: wrong" if "np.sign" in candidate.source() and "return (v2" in candidate.source() else None

    small = program_shrink.shrink(Program(program.arguments, program.statements, ["v2"]), fails, "v2: wrong")
    assert small.statements == ["v0 = a0 * 2", "v2 = np.sign(v0)"] and not small.arguments[0].special
