"""Full disks and folders that cannot be used, while functions are compiled: they run, with a kernel or without."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
import weft

resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))  # as a disk that becomes full


@weft.compile
def elementwise(x):
    return np.sin(x) * {limit} + x.sum()


@weft.compile
def loop(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * i + {limit}
    return total


x = np.arange(50.0)
for _ in range(3):
    np.testing.assert_allclose(elementwise(x), elementwise.__wrapped__(x), rtol=1e-12)
    np.testing.assert_allclose(loop(x), loop.__wrapped__(x), rtol=1e-12)
script = weft.jit.script(weft.nn.Sequential(weft.nn.Linear(4, 4), weft.nn.ReLU()))
for _ in range(4):
    assert script(weft.ones(2, 4)).shape == (2, 4)
sys.stdout.write("well")
"""


def run(folder, limit=1 << 40, **variables):
    settings = {"WEFT_CACHE_DIR": str(folder / "kernels"), "TMPDIR": str(folder), **variables}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(limit=limit)],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "well"), done.stderr
    return done.stderr


@pytest.mark.parametrize("toolchain, limit", [("clang", 0), ("clang", 2000), ("clang", 20000), ("c++", 0)])
def test_a_full_disk(tmp_path, toolchain, limit):
    said = run(tmp_path, limit, WEFT_TOOLCHAIN=toolchain)
    if limit == 0:
        assert "cannot write" in said


@pytest.mark.parametrize("place", ["missing", "file", "pipe", "read-only"])
def test_a_temporary_folder_that_cannot_be_used(tmp_path, place):
    folder = tmp_path / place
    if place == "file":
        folder.write_text("")
    elif place == "pipe":
        os.mkfifo(folder)
    elif place == "read-only":
        folder.mkdir(mode=0o500)
    run(tmp_path, TMPDIR=str(folder), WEFT_CACHE_DIR=str(folder))


def test_pipes_in_the_place_of_every_entry(tmp_path):
    run(tmp_path)
    entries = sorted((tmp_path / "kernels").iterdir())
    assert entries
    for entry in entries:
        entry.unlink()
        os.mkfifo(entry, 0o600)
    run(tmp_path)
    assert all(entry.is_file() for entry in entries if entry.suffix == ".so")


def test_folders_in_the_place_of_every_entry(tmp_path):
    run(tmp_path)
    entries = sorted((tmp_path / "kernels").iterdir())
    for entry in entries:
        entry.unlink()
        (entry / "within").mkdir(parents=True)
    assert "cannot write" in run(tmp_path)
