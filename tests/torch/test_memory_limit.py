"""What a control group does not allow is refused before memory is taken for it: the process would be killed."""

import os
import pathlib
import subprocess
import sys

import pytest

LIMIT = 600 << 20
PROGRAM = """
import os, pathlib, sys
pathlib.Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
import numpy as np
import weft
import weft.torch as torch

many = 3 * 10**8
for call in (
    lambda: torch.ones(many),
    lambda: torch.empty(many),
    lambda: torch.arange(many),
    lambda: torch.zeros(2).expand(many, 2).clone(),
    lambda: torch.rand(many),
    lambda: weft.ones((many,)) + 1,
    lambda: torch.ones(1, many // 100).t() @ torch.ones(1, 1000),
    lambda: torch.ones(10).repeat(many // 10),
):
    try:
        call()
        sys.exit("not refused")
    except MemoryError as error:
        assert "process may have" in str(error) or "cannot be allocated" in str(error), error
assert torch.ones(10**6).sum().item() == 10**6
print("well")
"""


@pytest.fixture
def group():
    """A control group of memory, which is removed at the end."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    own = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    version_1 = "memory" in own
    base = pathlib.Path(
        "/sys/fs/cgroup", "memory" if version_1 else ".", (own.get("memory") or own.get("", "/"))[1:]
    )
    folder = base / f"weft-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no right to make a control group: {error}")
    try:
        (folder / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(LIMIT))
    except OSError as error:
        folder.rmdir()
        pytest.skip(f"no right to limit a control group: {error}")
    yield folder
    folder.rmdir()


def test_what_is_too_large_for_the_group(group):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(group)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
