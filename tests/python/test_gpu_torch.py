"""torch.cuda where there is a GPU: the emulated one (docs/GPU.md). Without: tests/torch/test_modules.py."""

from pathlib import Path

import pytest
from test_gpu import run

CHECKS = Path(__file__).with_name("gpu_torch_checks.py")


@pytest.mark.parametrize("check", ["devices", "tensors", "memory", "streams", "random_numbers", "tf32"])
def test_with_a_gpu(check):
    run(CHECKS, check)


def test_a_child_of_fork_has_none():
    run(
        "-c",
        "import os, weft.torch as torch\n"
        "assert torch.ones(3, device='cuda').is_cuda and torch.cuda.is_available()\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(7 if not torch.cuda.is_available() and torch.cuda.memory_allocated() == 0 else 8)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n",
    )
