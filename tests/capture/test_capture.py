"""Functions as text in, what capture makes of them as text out: guards, graphs, where they end, and native loops as C++.

programs/NAME.py has a function NAME and its ARGUMENTS (or CALLS: several of them, and KEYWORDS), programs/NAME.txt what
is expected. GOLDEN_UPDATE=1 rewrites the texts: a change of what capture does is a diff to be reviewed. BRANCHES: the
Python whose bytecode has the jumps that the text shows; other versions place them elsewhere.
"""

import copy
import importlib.util
import os
import pathlib
import re
import sys

import pytest
import weft
from weft import _C

PROGRAMS = pathlib.Path(__file__).parent / "programs"


def loaded(path):
    spec = importlib.util.spec_from_file_location(f"capture_program_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_addresses(text):
    return re.sub(r"<0x[0-9a-f]+>| at 0x[0-9a-f]+", "", text)


def place_of_end(segment, program):
    """With its line where that is the program's own; lines of weft's sources change with them."""
    file = pathlib.Path(segment["file"]).name
    return f"line {segment['line']}" if file == program else file


def described(segment, program):
    """One captured segment, as it was compiled; a native loop is a segment with nothing but a kernel."""
    if segment["kernels"] and not segment["has_graph"]:
        return "".join(kernel["source"] for kernel in segment["kernels"])
    lines = [f"guard: {without_addresses(guard)}" for guard in segment["guards"]]
    lines += segment["graph"].splitlines() if segment["has_graph"] else ["no graph"]
    for loop in segment["unrolled"]:
        lines.append(f"unrolled: {loop['rounds']} rounds of {loop['source']}: {loop['reason']}")
    if segment["reason"]:
        lines.append(
            f"ends at {place_of_end(segment, program)}: {segment['source']}\n    {segment['reason']}"
        )
    return "\n".join(lines) + "\n"


def captured(module, name):
    function = getattr(module, name)
    calls = getattr(module, "CALLS", None) or (module.ARGUMENTS,)
    compiled = weft.compile(function)
    for call in calls:
        compiled(*copy.deepcopy(call), **getattr(module, "KEYWORDS", {}))
    return "\n".join(
        f"// segment {number}\n{described(segment, f'{name}.py')}"
        for number, segment in enumerate(_C._report(compiled))
    )


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_capture(path):
    module = loaded(path)
    branches = getattr(module, "BRANCHES", sys.version_info[:2])
    if branches != sys.version_info[:2]:
        pytest.skip(f"its branches are written as Python {branches[0]}.{branches[1]} has them in bytecode")
    got = captured(module, path.stem)
    golden = path.with_suffix(".txt")
    if os.environ.get("GOLDEN_UPDATE"):
        golden.write_text(got)
    assert golden.is_file(), "GOLDEN_UPDATE=1 makes it"
    assert got == golden.read_text(), "GOLDEN_UPDATE=1 accepts this"
