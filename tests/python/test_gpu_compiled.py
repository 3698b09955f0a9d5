"""Compiled functions whose arguments lie on a GPU: on the emulated device, or on the GPU under WEFT_TEST_GPU=1 (test_gpu.py)."""

from pathlib import Path

import pytest
from test_gpu import run

CHECKS = Path(__file__).with_name("gpu_compiled_checks.py")


@pytest.mark.parametrize(
    "check",
    ["tensors", "two_devices", "changes", "numpy_functions", "lists", "under_with", "breaks", "modes"],
)
def test_with_a_gpu(check):
    run(CHECKS, check)
