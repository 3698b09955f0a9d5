"""gpu_host_checks.py on the emulated device."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.emulated import EMULATED
from support.tiers import long_but


# Attention and quantized weights are tests/gpu's, too.
@pytest.mark.parametrize(
    "check",
    long_but(
        ["products", "quantized_weights", "attention", "convolutions", "order"],
        *("products", "convolutions", "order"),
    ),
)
def test_emulated(check):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("gpu_host_checks.py"), check],
        env={**os.environ, **EMULATED},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == f"passed {check}\n"
