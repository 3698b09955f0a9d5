"""`weft compile --report` on programs of several modules, with work in all places: what runs, and what it says."""

import json
import re
import subprocess
import sys
import textwrap

import pytest

NBODY = """
import sys
import numpy as np

def getAcc(pos, mass, G, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    ax, ay, az = (G * (d * inv_r3) @ mass for d in (dx, dy, dz))
    return np.hstack((ax, ay, az))

def nbody(mass, pos, vel, steps, dt, G, softening):
    acc = getAcc(pos, mass, G, softening)
    for i in range(steps):
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = getAcc(pos, mass, G, softening)
        vel = vel + acc * dt / 2.0
    return pos, vel

def unused(x):
    return x

def main():
    rng = np.random.default_rng(17)
    n = int(sys.argv[1])
    mass = 20.0 * np.ones((n, 1)) / n
    pos, vel = rng.standard_normal((n, 3)), rng.standard_normal((n, 3))
    for i in range(4):
        pos, vel = nbody(mass, pos, vel, 5, 0.01, 1.0, 0.1)
    print(round(float(np.abs(pos).sum()), 6))

if __name__ == "__main__":
    main()
"""


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def run(*arguments, plain=False, **options):
    command = [sys.executable, *([] if plain else ["-m", "weft", "compile"]), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def reported(folder, script, *arguments):
    """(what it printed, the report's text, the functions of its JSON by name, the JSON) of a program that runs well."""
    target = folder / "report.json"
    done = run("--report", "--json", target, folder / script, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    expected = run(folder / script, *arguments, plain=True, cwd=folder)
    assert done.stdout == expected.stdout
    found = json.loads(target.read_text())
    return done.stdout, done.stderr, {f["name"]: f for f in found["functions"]}, found


def test_a_function_within_another_is_reported_as_a_part_of_it(tmp_path):
    write(tmp_path, {"nbody.py": NBODY})
    _, text, functions, _ = reported(tmp_path, "nbody.py", 30)
    assert functions["nbody"]["calls"] == 4 and functions["nbody"]["graphs"]
    assert functions["getAcc"]["calls"] == 0 and functions["getAcc"]["inside"] == ["nbody"]
    assert "getAcc (nbody.py:5): compiled as a part of nbody" in text
    assert "not called: unused" in text and functions["main"]["other_calls"] == 1
    # Python 3.13 counts a function's lines from another one; what takes long is named with its time.
    assert re.search(
        r"called without arrays: main|main \(nbody\.py:2[34]\): called once without arrays", text
    )
    assert "weft does not know" not in text


def test_modules_beside_the_script_belong_to_the_program(tmp_path):
    files = {
        "run.py": """
            import argparse
            import numpy as np
            import model
            from package import scaled
            from package.inner.deep import shifted

            def main():
                parser = argparse.ArgumentParser()
                parser.add_argument("--n", type=int, default=10)
                n = parser.parse_args().n
                for i in range(5):
                    x = shifted(scaled(model.smooth(np.arange(float(n)))))
                print(round(float(x.sum()), 6), __name__, model.__name__, model.__file__)

            if __name__ == "__main__":
                main()
            """,
        "model.py": '"""Docstring."""\nfrom __future__ import annotations\nimport numpy as np\ndef smooth(x: np.ndarray):\n    return np.exp(-x) * 2 + x\n',
        "package/__init__.py": "from .parts import scaled\n",
        "package/parts.py": "from . import constants\ndef scaled(x):\n    return x * constants.K + x / 3\n",
        "package/constants.py": "K = 3.0\n",
        "package/inner/__init__.py": "",
        "package/inner/deep.py": "from ..constants import K\nfrom .. import parts\ndef shifted(x):\n    return parts.scaled(x) + K\n",
        "venv/lib/site-packages/other.py": "def outside(x):\n    return x + 1\n",
    }
    write(tmp_path, files)
    _, text, functions, _ = reported(tmp_path, "run.py", "--n", 20)
    assert functions["smooth"]["file"].endswith("model.py")
    for name in ("smooth", "scaled", "shifted"):
        assert functions[name]["calls"] == 5 and functions[name]["graphs"], text
    assert not list(tmp_path.glob("**/__pycache__/model*"))  # code that calls weft is kept nowhere
    # Installed packages and the standard library are not the program's.
    (tmp_path / "run.py").write_text(
        "import sys\nsys.path.insert(0, 'venv/lib/site-packages')\nimport other, statistics\nimport numpy as np\n"
        "other.outside(np.ones(3)); print(type(other.outside).__name__, type(statistics.mean).__name__)\n"
    )
    printed, text, functions, _ = reported(tmp_path, "run.py")
    assert printed == "function function\n" and not functions
    assert "the program defines no functions, and only functions are compiled" in text


def test_work_at_the_top_level_gets_advice(tmp_path):
    script = """
        import time
        import numpy as np

        def helper(x):
            return x * 2 + 1

        x = np.linspace(0, 1, 1000)
        total = 0.0
        for i in range(30):
            time.sleep(0.01)
            total += float(helper(x).sum())
        if __name__ == "__main__":
            y = time.sleep(0.1)
            print(total)
        """
    write(tmp_path, {"top.py": script})
    _, text, functions, found = reported(tmp_path, "top.py")
    lines = [(one["line"], one["end_line"]) for one in found["top_level"]]
    assert lines[:2] == [(10, 12), (14, 14)]
    assert "statements outside of functions, which Python performs: put them into a function" in text
    assert "  top.py:10-12: 0." in text and "  top.py:14: 0." in text
    assert functions["helper"]["calls"] == 30


def test_time_in_functions_is_not_the_top_levels(tmp_path):
    write(
        tmp_path, {"s.py": "import time\ndef main():\n    time.sleep(0.2)\nfor i in range(2):\n    main()\n"}
    )
    _, text, functions, found = reported(tmp_path, "s.py")
    at_top_level = sum(one["seconds"] for one in found["top_level"])
    in_functions = functions["main"]["other_ms"] / 1e3
    assert in_functions > 0.35 and at_top_level + in_functions <= found["seconds"]  # no second is told twice
    assert functions["main"]["other_calls"] == 2
    assert (
        "main (s.py:2): called 2 times without arrays" in text and "a function that takes the arrays" in text
    )


def test_arrays_in_objects_and_dicts_are_arrays(tmp_path):
    script = """
        import numpy as np

        class Solver:
            def __init__(self, n):
                self.u = np.ones(n)

            def step(self, dt):
                self.u = self.u * (1 - dt) + dt
                return self.u.sum()

        def norm(parts):
            return (parts["a"] * parts["b"]).sum()

        def label(name):
            return name + "!"

        s = Solver(100)
        for i in range(4):
            print(s.step(0.5), norm({"a": s.u, "b": s.u}), label("x"))
        """
    write(tmp_path, {"s.py": script})
    _, text, functions, _ = reported(tmp_path, "s.py")
    assert functions["Solver.step"]["calls"] == functions["norm"]["calls"] == 4, text
    assert functions["label"]["calls"] == 0 and "called without arrays: label" in text


@pytest.mark.parametrize(
    "body, status",
    [
        ("sys.exit(3)", 3),
        ("sys.exit('why')", 1),
        ("sys.exit()", 0),
        ("raise ValueError('no')", 1),
        ("f(5)[9]", 1),
        ("1 +", 1),
        ("assert False", 1),
        ("raise SystemExit(7)", 7),
        ("import bad", 1),
        ("import no_such_module", 1),
    ],
)
def test_programs_end_as_they_do_in_python(body, status, tmp_path):
    files = {
        "s.py": f"import sys\nimport numpy as np\ndef f(n):\n    return np.zeros(n)\nprint('before')\n{body}\n",
        "bad.py": "def g(:\n",
    }
    write(tmp_path, files)
    expected = run(tmp_path / "s.py", plain=True)
    assert expected.returncode == status
    for options in ([], ["--report"]):
        done = run(*options, tmp_path / "s.py")
        assert (done.returncode, done.stdout) == (status, expected.stdout), done.stderr
        assert (
            expected.stderr.strip().splitlines()[-1:] == []
            or expected.stderr.strip().splitlines()[-1] in done.stderr
        )
        assert "weft/script.py" not in done.stderr and "_program.py" not in done.stderr
        if options and "+" not in body:
            assert "the script took" in done.stderr


def test_arguments_go_to_the_script(tmp_path):
    write(tmp_path, {"s.py": "import sys\nprint(sys.argv[1:])\n"})
    for given, expected in [
        (["a", "-b"], ["a", "-b"]),
        (["--verbose", "--report"], ["--verbose"]),
        (["--", "--report"], ["--report"]),
        (["--help"], ["--help"]),
        (["-h", "--json", tmp_path / "r.json"], ["-h"]),
        ([f"--json={tmp_path / 'r.json'}", "x"], ["x"]),
    ]:
        done = run(tmp_path / "s.py", *given)
        assert (done.returncode, done.stdout) == (0, f"{expected}\n"), done.stderr
    assert (tmp_path / "r.json").exists()


def test_files_that_cannot_be_used(tmp_path):
    write(tmp_path, {"s.py": "print(1)\n"})
    for arguments, message in [
        ([tmp_path / "no.py"], "no such file"),
        ([tmp_path], "is a folder, not a script"),
        (["--json", tmp_path / "none" / "r.json", tmp_path / "s.py"], "cannot be written"),
        (["--json", tmp_path, tmp_path / "s.py"], "cannot be written"),
    ]:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert (
            done.stderr.startswith("weft: compile: ")
            and message in done.stderr
            and done.stderr.count("\n") == 1
        )
