"""First calls by several threads at once, in processes where nothing was called before: none hangs, none crashes, and all
give the right results. cold_calls.py has the scenarios and runs by hand with more processes."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from support.tiers import long_but

PROGRAM = pathlib.Path(__file__).with_name("cold_calls.py")
HAS_DATA = (pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "")) / "torchscript").is_dir()
SCENARIOS = ["one_function", "functions", "networks", "scripts", "everything"]
OF_DATA = ["archives", "models"]
needs_data = pytest.mark.skipif(not HAS_DATA, reason="no shared data (WEFT_SHARED_DATA)")


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=1200
    )


@pytest.mark.parametrize(
    "processes, intra_op", [(4, 2), *(pytest.param(20, count, marks=pytest.mark.long) for count in (1, 2))]
)
@pytest.mark.parametrize("scenario", [*SCENARIOS, *(pytest.param(one, marks=needs_data) for one in OF_DATA)])
def test_children_that_are_cold(scenario, processes, intra_op):
    result = run(
        scenario, "--processes", processes, "--threads", 6, "--intra-op", intra_op, "--seed", 1000 * intra_op
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["processes"] == processes


@pytest.mark.parametrize("seed", long_but(range(4), 0))
@pytest.mark.parametrize("scenario", ["one_function", "functions", "everything"])
def test_fresh_processes(scenario, seed):
    """Unlike in a child of fork(), the pools of threads have not been touched, and nothing is imported."""
    result = run(scenario, "--fresh", "--threads", 6, "--intra-op", 2, "--seed", seed)
    assert result.returncode == 0, result.stdout + result.stderr
