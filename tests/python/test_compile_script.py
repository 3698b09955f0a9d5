"""`weft compile script.py`: what it runs, what it reports, what it answers to mistakes."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np

def smooth(x, k):
    return np.exp(-np.abs(x)) * k + np.sqrt(x * x + 1)

def shown(x):
    print("shown", x.size)
    return x + 1

def numbers(n):
    yield from range(n)

class Model:
    def __init__(self, w):
        self.w = w

    def step(self, x):
        return smooth(x, 2.0) * self.w

def main():
    x = np.linspace(-1, 1, 1000)
    for i in numbers(10):
        y = Model(3.0).step(smooth(x, i))
    shown(y)
    print(__name__, sys.argv[1:], round(float(y.sum()), 6))

if __name__ == "__main__":
    main()
"""


def run(*arguments, **environment):
    command = [sys.executable, "-m", "weft", "compile", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_runs_as_python_does(script):
    expected = subprocess.run([sys.executable, str(script), "a", "-b"], capture_output=True, text=True)
    found = run(script, "a", "-b")
    assert (found.returncode, found.stdout) == (0, expected.stdout), found.stderr
    assert all(
        line.startswith("[weft warning] weft.compile: __main__.main runs as it is, from ")
        for line in found.stderr.splitlines()
    )
    assert "['--report', 'x']" in run(script, "--", "--report", "x").stdout


def test_report(script, tmp_path):
    found = run(script, "--report", "--json", tmp_path / "report.json")
    assert found.returncode == 0, found.stderr
    assert "smooth (" in found.stderr and "saved, compiling included" in found.stderr
    assert f"break in shown: {script}:9: a call of print" in found.stderr
    functions = {f["name"]: f for f in json.loads((tmp_path / "report.json").read_text())["functions"]}
    assert functions.keys() == {"smooth", "shown", "Model.step", "main"}
    assert functions["smooth"]["calls"] == functions["Model.step"]["calls"] == 10
    assert functions["smooth"]["graphs"] >= 1 and functions["smooth"]["breaks"] == []
    assert functions["smooth"]["saved_ms"] is not None and functions["shown"]["saved_ms"] is None
    assert functions["main"]["calls"] == 0
    assert functions["smooth"]["unrolled"] == functions["smooth"]["fallbacks"] == []


def test_mistakes(script, tmp_path):
    missing = run(tmp_path / "no.py")
    assert missing.returncode == 1 and "no such file" in missing.stderr
    (tmp_path / "bad.py").write_text("def f(:\n")
    broken = run(tmp_path / "bad.py")
    assert broken.returncode == 1 and "SyntaxError" in broken.stderr and "bad.py" in broken.stderr
    (tmp_path / "raises.py").write_text("import numpy as np\ndef f(x):\n    return x[9]\nf(np.zeros(3))\n")
    raised = run(tmp_path / "raises.py", "--report")
    assert raised.returncode == 1 and "IndexError" in raised.stderr and "raises.py" in raised.stderr
    assert run().returncode == 2


def test_native_loops_are_reported_as_compiled(tmp_path):
    path = tmp_path / "loops.py"
    path.write_text(
        "import numpy as np\n"
        "def total(n):\n    t = 0\n    for i in range(n):\n        t += i * i % 7\n    return t\n"
        "def smooth(a, steps):\n    for _ in range(steps):\n        a[1:] = 0.5 * a[1:] + 0.5 * a[:-1]\n    return a\n"
        "print(total(1000), smooth(np.arange(50.0), 40)[-1])\n"
    )
    report = tmp_path / "report.json"
    found = run(path, "--json", report)
    assert found.returncode == 0, found.stderr
    functions = {f["name"]: f for f in json.loads(report.read_text())["functions"]}
    assert functions["total"]["calls"] == functions["smooth"]["calls"] == 1
    assert functions["total"]["graphs"] and functions["smooth"]["graphs"]


def test_unrolled_loops_and_fallbacks_are_reported(tmp_path):
    path = tmp_path / "layers.py"
    path.write_text(
        "import numpy as np\n"
        "def layers(x, weights):\n    for w in weights:\n        x = x + w\n    return x\n"
        "def reader(x):\n    import sys\n    return x + len(sys._getframe().f_code.co_name)\n"
        "layers(np.ones(3), [np.ones(3)] * 20)\nreader(np.ones(3))\n"
    )
    report = tmp_path / "report.json"
    found = run(path, "--report", "--json", report)
    assert found.returncode == 0, found.stderr
    functions = {f["name"]: f for f in json.loads(report.read_text())["functions"]}
    (unrolled,), (fallback,) = functions["layers"]["unrolled"], functions["reader"]["fallbacks"]
    assert (
        unrolled.startswith(f"{path}:3: 20 rounds in one graph: ")
        and f"unrolled in layers: {unrolled}" in found.stderr
    )
    assert fallback.startswith(f"{path}:") and f"reader falls back to Python at {fallback}" in found.stderr
