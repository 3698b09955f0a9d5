"""The stubs that editors and type checkers read of weft.torch."""

import ast
import functools
import pathlib
import subprocess
import sys

import pytest
import weft
import weft.torch as torch
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


@functools.cache
def text():
    """Of a process of its own: other tests add methods to Tensor."""
    program = "from weft.torch import _stubs; print(_stubs.text(), end='')"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_stubs_leave_methods_alone():
    before = dict(vars(torch.Tensor))
    _stubs.text()
    assert all(vars(torch.Tensor)[name] is method for name, method in before.items())


def test_stubs_have_all_names():
    names = set()
    for node in ast.parse(text()).body:
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
    assert path.read_text() == text()


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
