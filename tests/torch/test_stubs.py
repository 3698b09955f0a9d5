"""The stubs that editors and type checkers read of weft.torch."""

import ast
import pathlib
import subprocess
import sys

import pytest
import weft
from weft.torch import _names, _stubs

PROGRAM = """
import weft.torch as torch
from weft.torch import Tensor

def function(x: Tensor, k: int) -> Tensor:
    y = torch.sum(x, dim=0) + x.mean() * k
    z = torch.cat([y, x @ x.T], dim=0).softmax(-1)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        z = torch.nn.functional.relu(z)
    n: int = x.shape[0] + x.size(1)
    w = torch.zeros(3, 4, dtype=torch.float32).to("cpu").view(-1)
    v, i = torch.linalg.eigh(x)
    b: bool = bool((x > 0).all()) and x.dtype == torch.float32
    x[0] = 1.0
    return z.reshape(n, -1)[:, None] + w.float() + abs(-x) + (1 - x) + b + v
"""
WRONG = {
    "torch.sum('text')": "arg-type",
    "torch.nosuch(1)": "attr-defined",
    "function(torch.ones(2), 'a')": "arg-type",
}


def test_stubs_have_all_names():
    names = set()
    for node in ast.parse(_stubs.text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            names.update(each.asname for each in node.names)
    missing = {name for name in _names.FUNCTIONS.found if not name.startswith("__")} - names
    assert not missing - {"newaxis"}


def test_stubs_of_the_build_are_current():
    path = pathlib.Path(weft.__file__).parent / "torch/__init__.pyi"
    if not path.exists():
        pytest.skip("this build writes no stubs")
    assert path.read_text() == _stubs.text()


def test_type_checker(tmp_path):
    pytest.importorskip("mypy")
    package = pathlib.Path(weft.__file__).parent
    if not (package / "torch/__init__.pyi").exists():
        pytest.skip("this build writes no stubs")
    (tmp_path / "program.py").write_text(PROGRAM + "\n".join(WRONG) + "\n")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary", "program.py"]
    found = subprocess.run(
        command, cwd=tmp_path, env={"MYPYPATH": str(package.parent)}, capture_output=True, text=True
    ).stdout.splitlines()
    assert len(found) == len(WRONG) and all(code in line for code, line in zip(WRONG.values(), found)), found
