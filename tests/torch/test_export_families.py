"""Models of torchvision, timm and transformers, small ones with random weights: exported by PyTorch and run here, as export
leaves them and decomposed; exported by weft, decomposed, written again, and run by PyTorch. Needs WEFT_TORCH_PYTHON (or
.venv-torch); families whose package it lacks are skipped."""

import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import weft.torch as torch
from test_export import answers_of_pytorch, torch_python
from weft.torch.export import load, save

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from test_jit_families import CASES, FAMILIES

# Run by PyTorch and, with the packages beside PyTorch behind weft's own, by `python -m weft.torch`.
PROGRAM = """
import sys
folder, name = sys.argv[1:3]
sys.path += sys.argv[3:]
import numpy, torch
from torch.export import Dim
torch.manual_seed(0)
R, ids = torch.randn, lambda n: torch.randint(1, 90, (n, 7))
def first(o): return tuple(v for v in (o.to_tuple() if hasattr(o, "to_tuple") else o) if isinstance(v, torch.Tensor))
class Called(torch.nn.Module):
    def __init__(self, module, how):
        super().__init__()
        self.module, self.how = module, how
    def forward(self, *given):
        return self.how(self.module, *given)
{make}
def write(module, inputs, script=False, dynamic=True):
    module = module.eval()
    # A batch of one is a constant: the larger call is the example.
    example = max(inputs, key=lambda given: given[0].shape[0])
    sizes = tuple({{0: Dim.AUTO}} for _ in example) if dynamic else None
    shapes = (sizes,) if dynamic and isinstance(module, Called) else sizes
    with torch.no_grad():
        program = torch.export.export(module, example, dynamic_shapes=shapes)
        torch.export.save(program, folder + "/plain.pt2")
        torch.export.save(program.run_decompositions(), folder + "/core.pt2")
        arrays, number = {{}}, 0
        for given in (example, *inputs):
            try:
                program.module()(*given)
            except Exception:
                continue  # a size that the program does not take
            leaves = torch.utils._pytree.tree_leaves((module(*given), (given, {{}})))
            arrays.update({{f"in{{number}}_{{at}}": x.numpy() for at, x in enumerate(given)}})
            arrays.update({{f"{{number}}_{{at}}": x.numpy() for at, x in enumerate(leaves) if isinstance(x, torch.Tensor)}})
            number += 1
        assert number, "no call"
        for each in ("plain", "core"):
            numpy.savez(folder + "/" + each + ".npz", **arrays)
write(*families[name]())
"""


def run(module, arrays, near=1e-4):
    number = 0
    while f"in{number}_0" in arrays:
        given, at = [], 0
        while f"in{number}_{at}" in arrays:
            given.append(torch.from_numpy(arrays[f"in{number}_{at}"]))
            at += 1
        for at, leaf in enumerate(torch.utils._pytree.tree_leaves(module(*given))):
            if isinstance(leaf, torch.Tensor):
                expected = arrays[f"{number}_{at}"]
                largest = float(np.abs(expected).max()) if expected.size else 0.0
                np.testing.assert_allclose(leaf.numpy(), expected, rtol=near, atol=near * max(largest, 1e-3))
        number += 1


@functools.cache
def place_of(package):
    """The folders that PyTorch's Python has packages in; None where it has not this one."""
    code = "import importlib.util as u, sys; u.find_spec(sys.argv[1]) or sys.exit(1); print(*sys.path, sep='\\n')"
    found = subprocess.run([torch_python(), "-c", code, package], capture_output=True, text=True, check=False)
    return (
        None if found.returncode else [each for each in found.stdout.split("\n") if "site-packages" in each]
    )


def written(make, name, folder, command, *packages):
    """The folder, with what the program writes of the module `name` that the code `make` has."""
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(PROGRAM.format(make=make))
    done = subprocess.run(
        [*command, program, folder, name, *packages], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def run_both_ways(folder, tmp_path, near=1e-4):
    """PyTorch's files run here; written again, they run there. near: of results here."""
    arrays = dict(np.load(folder / "plain.npz"))
    for file in ("plain.pt2", "core.pt2"):
        module = load(folder / file).module()
        for _ in range(3):  # interpreted, then compiled
            run(module, arrays, near)
        run(module.optimize_for_inference(), arrays, near)
    # Written by weft: as it was read, and decomposed here.
    again = tmp_path / "again"
    again.mkdir()
    plain = load(folder / "plain.pt2")
    programs = {"read": plain, "decomposed": plain.run_decompositions()}
    for each, program in programs.items():
        run(program.module(), arrays, near)
        save(program, again / f"{each}.pt2")
        np.savez(again / f"{each}.npz", **arrays)
    assert answers_of_pytorch(again) == dict.fromkeys(sorted(programs), "equal")


@pytest.fixture
def packages(package):
    if torch_python() is None:
        pytest.skip("no Python with PyTorch 2.15: WEFT_TORCH_PYTHON, or `make test-torch`")
    if place_of(package) is None:
        pytest.skip(f"{torch_python()} has no {package}")
    return place_of(package)


cases = pytest.mark.parametrize("package, name", CASES, ids=[f"{package}-{name}" for package, name in CASES])


@pytest.mark.long
@cases
def test_exported_by_pytorch(package, name, packages, tmp_path):
    folder = written(FAMILIES[package][0], name, tmp_path / "made", [torch_python()])
    run_both_ways(folder, tmp_path)


# Models that weft's torchvision does not have.
ABSENT = {("torchvision", "video"): "torchvision.models.video.SwinTransformer3d"}


@pytest.mark.long
@cases
def test_exported_by_weft(package, name, packages, tmp_path):
    if (package, name) in ABSENT:
        with pytest.raises(AssertionError, match=f"{ABSENT[package, name]} is torchvision's, but not weft's"):
            written(
                FAMILIES[package][0], name, tmp_path / "made", [sys.executable, "-m", "weft.torch"], *packages
            )
        return
    folder = written(
        FAMILIES[package][0], name, tmp_path / "made", [sys.executable, "-m", "weft.torch"], *packages
    )
    assert answers_of_pytorch(folder) == {"plain": "equal", "core": "equal"}
