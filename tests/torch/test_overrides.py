"""__torch_function__ and torch.overrides beside PyTorch: the programs of override_programs.py (test_overrides.json)."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import override_programs
import pytest
import weft.torch as torch

RECORDED = json.loads((Path(__file__).parent / "test_overrides.json").read_text())


@pytest.mark.parametrize("name", override_programs.PROGRAMS)
def test_programs(name):
    found = json.loads(json.dumps(override_programs.PROGRAMS[name](torch)))
    assert len(found) == len(RECORDED[name])
    for at, (mine, expected) in enumerate(zip(found, RECORDED[name])):
        assert mine == expected, f"{name}, answer {at}"


def test_compiled_functions_while_calls_are_offered():
    class Logged(torch.Tensor):
        pass

    def function(x, w):
        return torch.nn.functional.relu(torch.nn.functional.linear(x, w)).softmax(-1)

    x, w = torch.ones(2, 4), torch.ones(3, 4)
    compiled = torch.compile(function, fullgraph=True)
    assert torch.allclose(compiled(x, w), function(x, w))
    subclass = torch.compile(function)(x.as_subclass(Logged), w)
    assert torch.allclose(subclass, function(x, w))


def test_modes_are_of_their_thread():
    seen, found = [], []
    with override_programs.logging_mode(torch, seen)("a"):
        thread = threading.Thread(target=lambda: found.append(torch.exp(torch.zeros(1)).item()))
        thread.start()
        thread.join()
    assert found == [1.0] and seen == []


PROGRAM = """
import torch
relu, view = torch.nn.functional.relu.__code__, torch.Tensor.view

class Plain:
    pass

class Model(torch.nn.Module):
    pass

assert torch.nn.functional.relu.__code__ is relu and torch.Tensor.view is view

class Like:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__

assert torch.nn.functional.relu.__code__ is not relu and torch.Tensor.view is view
print(torch.nn.functional.relu(Like()), torch.median(Like()), torch.exp(Like()))
"""


def test_functions_offer_calls_once_a_class_overrides(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    result = subprocess.run(
        [sys.executable, "-m", "weft.torch", "program.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.stdout == "relu median exp\n", result.stderr
