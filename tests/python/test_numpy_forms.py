"""NumPy's functions in the forms people write: the same results, the same errors, and in the graph unless marked."""

import json
import os
import pathlib
import subprocess
import sys

SCRIPT = """
import json
import numpy_forms
print(json.dumps([vars(outcome) for outcome in numpy_forms.survey()]))
"""


def test_forms():
    """By the interpreter, as test_numpy_surface.py."""
    path = os.pathsep.join(sys.path)
    env = {**os.environ, "PYTHONPATH": path, "WEFT_TOOLCHAIN": "c++", "WEFT_CXX": "/nonexistent"}
    command = [sys.executable, "-c", SCRIPT]
    folder = pathlib.Path(__file__).parent
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    wrong = [
        f"{outcome['sample']}: {outcome['status']}: {outcome['detail']}"
        for outcome in json.loads(done.stdout)
        if outcome["status"] != "as expected"
    ]
    assert wrong == []
