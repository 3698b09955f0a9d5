"""`weft convert`: archives of TorchScript become exported programs that give the same results."""

import os
import pathlib
import re

import numpy as np
import pytest
import weft.torch as torch
from weft.torch import nn
from weft.torch.export import command, load

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA") or pathlib.Path(__file__).parents[3] / "shared" / "data"
)
ARCHIVES = SHARED / "torchscript"
CONVERTED = "attention cnn_frozen cnn_scripted cnn_traced encoder_layer lstm mobilenet_v3_small squeezenet1_1 text".split()
REFUSED = {
    "control_flow": "data-dependent",
    "early_return": "data-dependent",
    "fork_many": "prim::fork",
    "fork_wait": "prim::fork",
}
needs_data = pytest.mark.skipif(not ARCHIVES.exists(), reason=f"no test data at {ARCHIVES}")


def converted(model, arrays, folder, *options):
    """(status, the program's path) of the command."""
    np.savez(folder / "x.npz", **arrays)
    status = command.main([str(model), str(folder / "model.pt2"), "--input", str(folder / "x.npz"), *options])
    return status, folder / "model.pt2"


def recorded(name):
    arrays = np.load(ARCHIVES / f"{name}.npz")
    return {key: arrays[key] for key in arrays if key.startswith("in.")}, arrays


@needs_data
@pytest.mark.parametrize("name", CONVERTED)
def test_archives_of_pytorch(name, tmp_path):
    inputs, arrays = recorded(name)
    status, path = converted(ARCHIVES / f"{name}.pt", inputs, tmp_path)
    assert status == 0
    given = [value.item() if value.ndim == 0 else torch.tensor(value) for value in inputs.values()]
    results = torch.utils._pytree.tree_leaves(load(path).module()(*given))
    expected = [arrays[key] for key in arrays if key.startswith("out")]
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-5)


@needs_data
@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name, tmp_path, capsys):
    inputs, _ = recorded(name)
    status, path = converted(ARCHIVES / f"{name}.pt", inputs, tmp_path)
    assert status == 1 and not path.exists()
    error = capsys.readouterr().err
    assert "cannot be converted" in error
    assert re.search(REFUSED[name], error)


class Layers(nn.Module):
    """Lists, a loop, a branch on a size, a default, a buffer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.register_buffer("scale", torch.full((4,), 2.0))

    def forward(self, x, repeats: int = 2):
        found = []
        for layer in self.layers:
            x = torch.relu(layer(x)) * self.scale
            found.append(x)
        if x.shape[0] > 1:
            for at in range(repeats):
                x = x + at
        return torch.cat(found, 0).view(3 * x.shape[0], 4), x


@pytest.fixture
def archive(tmp_path):
    torch.manual_seed(0)
    module = torch.jit.script(Layers().eval())
    module.save(str(tmp_path / "model.pt"))
    return module, tmp_path / "model.pt"


def check(module, path, *given):
    for _ in range(3):  # compiled then, as the program is at once
        expected = module(*given)
    for one, other in zip(load(path).module()(*given), expected, strict=True):
        assert torch.equal(one, other)


def test_names_and_defaults(archive, tmp_path):
    module, path = archive
    x = np.ones((2, 4), np.float32)
    for arrays in ({"x": x}, {"0": x}, {"arr_0": x}):
        status, program = converted(path, arrays, tmp_path)
        assert status == 0
        check(module, program, torch.ones(2, 4))
    status, program = converted(path, {"x": x, "repeats": np.array(3)}, tmp_path)
    assert status == 0
    check(module, program, torch.ones(2, 4), 3)
    assert [name for name, _ in load(program).named_parameters()] == [
        name for name, _ in module.named_parameters()
    ]


def test_dynamic_sizes(archive, tmp_path):
    module, path = archive
    status, program = converted(path, {"x": np.ones((3, 4), np.float32)}, tmp_path, "--dynamic", "x:0=batch")
    assert status == 0
    for size in (2, 5):
        check(module, program, torch.randn(size, 4))
    with pytest.raises(ValueError, match=r"shape\[1\]"):
        load(program).module()(torch.randn(2, 5))


@pytest.mark.parametrize(
    "arrays, options, message",
    [
        ({"y": np.ones(2)}, [], "the array 'y' is no argument"),
        ({}, [], "the argument 'x' (Tensor) is missing"),
        ({"x": np.ones((2, 4), np.float32)}, ["--dynamic", "z:0"], "expected ARGUMENT:DIMENSION"),
        ({"x": np.ones((2, 4), np.float32)}, ["--dynamic", "x:1"], "specialized"),
    ],
)
def test_wrong_calls(archive, tmp_path, capsys, arrays, options, message):
    status, path = converted(archive[1], arrays, tmp_path, *options)
    assert status == 1 and message in capsys.readouterr().err and not path.exists()
