"""In which modules classes say that they are defined: PyTorch's under `weft torch`, and in files."""

import importlib
import inspect
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import weft.torch as torch
from weft.torch import _places

# By class: the module that PyTorch 2.15 defines it in.
RECORDED = json.loads((Path(__file__).parent / "test_places.json").read_text())
nn = torch.nn

PROGRAM = """
import copy, importlib, io, inspect, json, multiprocessing, pickle, sys
import torch
import torchvision

recorded = json.load(open(sys.argv[1]))
wrong, found = {}, 0
for name, module in recorded.items():
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        found += 1
        if value.__module__ != module:
            wrong[name] = value.__module__
assert not wrong, wrong
assert found > 200
assert repr(torch.nn.ReLU) == "<class 'torch.nn.modules.activation.ReLU'>"
assert torchvision.models.resnet18().__class__.__module__ == "torchvision.models.resnet"
for module in (torch.nn.BatchNorm2d(2), torch.nn.LSTM(2, 3), torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())):
    for again in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert type(again) is type(module) and list(again.state_dict()) == list(module.state_dict())
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    kinds = {type(each) for each in module.modules()}
    with torch.serialization.safe_globals(kinds):
        assert repr(torch.load(file)) == repr(module)
compiled = torch.compile(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.GELU()), fullgraph=True)
assert compiled(torch.ones(1, 2)).shape == (1, 2)
scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)))
assert scripted(torch.ones(2, 2)).shape == (2, 2)
traced = torch.jit.trace(torch.nn.LSTM(2, 3), torch.ones(4, 1, 2))
assert traced(torch.ones(4, 1, 2))[0].shape == (4, 1, 3)
print("done")
"""


def test_under_weft_torch(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    result = subprocess.run(
        [sys.executable, "-m", "weft.torch", "program.py", str(Path(__file__).parent / "test_places.json")],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert result.stdout == "done\n", result.stderr


@pytest.mark.parametrize("name", RECORDED)
def test_places(name):
    value = getattr(importlib.import_module(f"weft.{RECORDED[name]}"), name)
    assert not inspect.isclass(value) or _places.place_of(value) in (RECORDED[name], None)


def names_in(file):
    import pickletools

    with zipfile.ZipFile(file) as archive:
        data = archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
    return {
        argument.replace(" ", ".")
        for opcode, argument, _ in pickletools.genops(data)
        if opcode.name == "GLOBAL"
    }


def test_files_have_pytorch_s_names():
    file = io.BytesIO()
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3))
    torch.save(model, file)
    assert {
        "torch.nn.modules.container.Sequential", "torch.nn.modules.conv.Conv2d", "torch.nn.modules.batchnorm.BatchNorm2d",
        "torch.nn.modules.activation.ReLU", "torch.nn.modules.flatten.Flatten", "torch.nn.modules.linear.LazyLinear",
    } <= names_in(file)  # fmt: skip
    file.seek(0)
    with pytest.raises(Exception, match="not allowed by default"):
        torch.load(file)
    with torch.serialization.safe_globals([type(each) for each in model.modules()]):
        file.seek(0)
        assert repr(torch.load(file)) == repr(model)
        assert len(torch.serialization.get_safe_globals()) == 6
    assert torch.serialization.get_safe_globals() == []
    file.seek(0)
    assert repr(torch.load(file, weights_only=False)) == repr(model)
