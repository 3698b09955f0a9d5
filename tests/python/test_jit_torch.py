"""What weft.jit saves runs in PyTorch, and what PyTorch scripts runs here. Skipped unless WEFT_TORCH_PYTHON names a
Python that has PyTorch."""

import os
import subprocess

import numpy as np
import pytest
import test_jit_script_modules as modules
import weft
from weft import nn

LOAD = """
import sys, numpy, torch
module = torch.jit.load(sys.argv[1])
arrays = numpy.load(sys.argv[2])
inputs = [torch.from_numpy(arrays[f"in.{i}"]) for i in range(len(arrays.files))]
numpy.save(sys.argv[3], module(*inputs).numpy())
torch.jit.save(module, sys.argv[4])
"""

SCRIPT = """
import sys, numpy, torch
from typing import Dict, List, Optional, Tuple

class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)
        self.norm = torch.nn.LayerNorm(4)
    def forward(self, x, scale: Optional[float] = None):
        y = self.norm(self.linear(x))
        return y if scale is None else y * scale

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Inner(), Inner()])
        self.table: Dict[str, int] = {"a": 1}
    def forward(self, x):
        results: List[torch.Tensor] = []
        for i, block in enumerate(self.blocks):
            results.append(block(x, float(i) + 0.5))
        futures = [torch.jit.fork(torch.sin, r) for r in results]
        return torch.cat([torch.jit.wait(f) for f in futures]) + self.table["a"]

torch.manual_seed(0)
module = torch.jit.script(Outer().eval())
x = torch.randn(2, 3)
torch.jit.save(module, sys.argv[1])
with torch.no_grad():
    numpy.savez(sys.argv[2], x=x.numpy(), y=module(x).numpy())
"""


def run(program, folder, *arguments):
    python = os.environ.get("WEFT_TORCH_PYTHON")
    if not python:
        pytest.skip("WEFT_TORCH_PYTHON names no Python with PyTorch")
    script = folder / "program.py"  # PyTorch compiles from files only
    script.write_text(program)
    done = subprocess.run([python, script, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.classifier = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x):
        return nn.functional.log_softmax(self.classifier(self.features(x).flatten(1)), dim=1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True)

    def forward(self, x):
        output, (h, c) = self.lstm(x)
        return output + h.sum() + c.mean()


CASES = {
    "attributes": (modules.Everything, (2, 3)),
    "containers": (modules.Containers, (2, 3)),
    "parameters": (lambda: modules.Scale(2.0), (2, 3)),
    "interface": (modules.UsesInterface, (3,)),
    "script methods": (lambda: modules.Written(2), (2, 3)),
    "state": (modules.State, (2,)),
    "convolutions": (Network, (2, 3, 8, 8)),
    "lstm": (Recurrent, (5, 2, 3)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("frozen", [False, True])
def test_pytorch_runs_what_weft_scripts(name, frozen, tmp_path):
    make, shape = CASES[name]
    module = make()
    if name != "state":
        module.eval()
    if frozen and name in ("state", "script methods", "interface"):
        pytest.skip("nothing to freeze")
    x = modules.ramp(*shape)
    expected = np.asarray(module(x))
    compiled = weft.jit.script(module)
    if frozen:
        compiled = weft.jit.freeze(compiled)
    compiled.save(tmp_path / "weft.pt")
    np.savez(tmp_path / "in.npz", **{"in.0": np.asarray(x)})
    run(
        LOAD, tmp_path, tmp_path / "weft.pt", tmp_path / "in.npz", tmp_path / "out.npy", tmp_path / "torch.pt"
    )
    if name == "state":  # __getstate__ doubles the weight each time
        expected = expected * 2 - np.asarray(x)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, rtol=2e-5, atol=1e-5)
    if name != "state":
        again = weft.jit.load(tmp_path / "torch.pt")
        np.testing.assert_allclose(np.asarray(again(x)), expected, rtol=2e-5, atol=1e-5)


def test_pytorch_runs_functions(tmp_path):
    def f(x, n: int = 3):
        total = x
        for i in range(n):
            if i % 2 == 0:
                total = total + weft.sin(x) * i
        return total

    x = modules.ramp(2, 3)
    weft.jit.script(f).save(tmp_path / "weft.pt")
    np.savez(tmp_path / "in.npz", **{"in.0": np.asarray(x)})
    run(
        LOAD, tmp_path, tmp_path / "weft.pt", tmp_path / "in.npz", tmp_path / "out.npy", tmp_path / "torch.pt"
    )
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.asarray(f(x)), rtol=1e-6)


def test_weft_runs_what_pytorch_scripts(tmp_path):
    run(SCRIPT, tmp_path, tmp_path / "torch.pt", tmp_path / "io.npz")
    arrays = np.load(tmp_path / "io.npz")
    module = weft.jit.load(tmp_path / "torch.pt")
    for one in (module, weft.jit.freeze(module)):
        np.testing.assert_allclose(
            np.asarray(one(weft.tensor(arrays["x"]))), arrays["y"], rtol=1e-5, atol=1e-6
        )
