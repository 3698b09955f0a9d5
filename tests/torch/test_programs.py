"""The programs of tests/torch/programs, which import torch, give on weft what they give on PyTorch, eager and compiled."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in (PROGRAMS / "expected").glob("*.npz"))

# (rtol, atol) beside PyTorch; bfloat16 results differ by its rounding.
TOLERANCES = {"quantized": (2e-2, 4e-3), "diffusion": (1e-3, 1e-4), "sam": (2e-4, 1e-4)}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", NAMES)
def test_program_gives_what_pytorch_gives(name, mode, loaded):
    path = loaded / f"{name}-{mode}.pt"
    command = [sys.executable, "-m", "weft.torch", str(PROGRAMS / f"{name}.py"), "--save", str(path)]
    ran = subprocess.run(
        command + (["--compile"] if mode == "compiled" else []), capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr[-2000:]

    from weft.torch import serialization

    found, expected = serialization.load(path), np.load(PROGRAMS / "expected" / f"{name}.npz")
    assert set(found) == set(expected.files)
    rtol, atol = TOLERANCES.get(name, (2e-4, 2e-5))
    for key in expected.files:
        value = found[key].numpy()
        assert value.shape == expected[key].shape and value.dtype == expected[key].dtype, key
        np.testing.assert_allclose(value, expected[key], rtol=rtol, atol=atol, err_msg=f"{name}: {key}")
