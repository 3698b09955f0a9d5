"""Guards by change: programs that read what changes between their calls, plain and compiled.

The programs are the texts of guarded_programs/: `# ---- ` and a name, the program, which makes functions of its own `compiled`,
and after `#> ` the steps, after each of which everything that the two namespaces reach is compared.
"""

import dataclasses
import pathlib
import sys

import pytest
import weft.torch as torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))
import tensor_fuzz
from tensor_programs import Program

FOLDER = pathlib.Path(__file__).with_name("guarded_programs")


def _programs():
    for path in sorted(FOLDER.glob("*.txt")):
        for text in path.read_text().split("# ---- ")[1:]:
            name, *lines = text.rstrip("\n").split("\n")
            steps = [line[3:] for line in lines if line.startswith("#> ")]
            lines = [line for line in lines if not line.startswith("#> ")]
            yield pytest.param(Program(lines, steps, True, {}), id=f"{path.stem}: {name}")


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", list(_programs()))
def test_changes_are_seen(program, dynamic):
    program = dataclasses.replace(program, settings={"dynamic": dynamic})
    found = tensor_fuzz.failure(program, torch, "interpreted")
    assert not found, found
