"""What docs/THREADS.md shows runs as it stands there."""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest
import weft

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "THREADS.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
COMMANDS = re.findall(r"^python -c (\".*?\")", PAGE.read_text(), re.M)


def run(program, **environment):
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs(program):
    assert run(program)


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_commands(command):
    assert run(command.strip('"'))


def test_a_script_is_an_inter_op_task(tmp_path):
    """The program's fork runs on a thread of the inter-op pool; a Python function's runs at once, here."""
    [program] = [program for program in PROGRAMS if "jit.fork" in program]
    run(program, WEFT_TRACE=str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    threads = {names[event["tid"]] for event in events if event["name"] == "inter-op task"}
    assert threads and all(name.startswith("inter-op") or name == "main" for name in threads)
    ids = []
    weft.jit.wait(weft.jit.fork(lambda: ids.append(threading.get_native_id())))
    assert ids == [threading.get_native_id()]
