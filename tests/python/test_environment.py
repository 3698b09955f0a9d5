"""Every environment variable with every kind of wrong value: a warning that names it, and everything works."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import weft
from support.tiers import long_but

PROGRAM = pathlib.Path(__file__).with_name("environment_program.py")
COMMAND = str(pathlib.Path(weft.__file__).parent / "bin" / "weft")

LONG = "x" * 100_000
NUMBERS = ["maybe", " ", "-1", "0.5", "99999999999999999999999999", "\xff\xfe\x01"]
WRONG = {
    "flag": NUMBERS,
    "number": [*NUMBERS, LONG],
    "choice": NUMBERS,
    "channels": ["maybe", "guards,maybe", "-1", "\xff\xfe\x01", LONG],
    "program": ["/nonexistent/c++", "/dev/null", "\xff\xfe\x01", LONG],
    "file": ["/nonexistent/plugin.so", "/", "\xff\xfe\x01", LONG],
    "folder": ["/dev/null"],
    "text": ["/nonexistent/folder/file"],
}
# Names of files and folders that can be made.
UNUSUAL = {"folder": ["maybe", "-1", "\xff\xfe\x01"], "text": ["maybe", "-1", "\xff\xfe\x01"]}


def environment(name=None, value=""):
    """The caller's, without what would be said of it, and one variable."""
    result = {key: text for key, text in os.environb.items() if not key.startswith(b"WEFT_LOGS")}
    if name is not None:
        result[name.encode()] = value.encode("latin-1")
    return result


def run(arguments, env, folder):
    result = subprocess.run(arguments, capture_output=True, env=env, cwd=folder, timeout=600)
    return result.returncode, result.stdout.decode("latin-1"), result.stderr.decode("latin-1")


@pytest.fixture(scope="module")
def variables():
    status, out, err = run([COMMAND, "env", "--json"], environment(), None)
    assert status == 0, err
    return [(one["name"], one["kind"]) for one in json.loads(out)]


def shown(value):
    text = "".join(c if " " <= c <= "~" else f"\\x{ord(c):02x}" for c in value[:200])
    return text


def check_said(stderr, name, value):
    lines = [
        line
        for line in stderr.splitlines()
        if line.startswith("[weft warning] " + name) or "WEFT_TRACE" in line
    ]
    assert lines, f"nothing is said of {name}={value[:50]!r}:\n{stderr}"
    assert any(shown(value) in line for line in lines)


def status_of(name, stderr):
    """A trace that cannot be written ends the program before it starts; any other wrong value counts as none."""
    return 2 if name == "WEFT_TRACE" and "cannot write" in stderr else 0


def test_every_kind_has_wrong_values(variables):
    assert {kind for _, kind in variables} == set(WRONG)


# few: one value of each variable; a child takes 0.4 s.
@pytest.mark.parametrize("tier", long_but(["few", "all"], "few"))
def test_python(variables, tmp_path, tier):
    path = str(pathlib.Path(weft.__file__).parents[1])
    plans = [
        {"name": name, "value": value, "is_wrong": is_wrong}
        for is_wrong, table in (
            (True, WRONG),
            (False, {kind: [*UNUSUAL.get(kind, []), ""] for kind in WRONG}),
        )
        for name, kind in variables
        for value in (table.get(kind, []) if tier == "all" else WRONG[kind][:1] * is_wrong)
    ]
    env = {**environment(), b"PYTHONPATH": path.encode()}
    (tmp_path / "plans.json").write_text(json.dumps(plans))
    status, out, err = run([sys.executable, str(PROGRAM), "plans.json"], env, tmp_path)
    assert status == 0, err
    results = json.loads(out)
    assert len(results) == len(plans) >= (100 if tier == "all" else len(variables))
    for plan, result in zip(plans, results):
        name, value = plan["name"], plan["value"]
        assert result["status"] == status_of(name, result["stderr"]), f"{name}={value[:50]!r}: {result}"
        if plan["is_wrong"]:
            check_said(result["stderr"], name, value)
        else:
            assert f"warning] {name}" not in result["stderr"]


@pytest.mark.parametrize("tier", long_but(["few", "all"], "few"))
def test_command(variables, tmp_path, tier):
    for name, kind in variables:
        for value in WRONG[kind] if tier == "all" else WRONG[kind][:1]:
            env = environment(name, value)
            for arguments in (["info", "--json"], ["env"]):
                status, out, err = run([COMMAND, *arguments], env, tmp_path)
                assert status == status_of(
                    name, err
                ), f"{name}={value[:50]!r} weft {arguments}: {status} {err}"
                check_said(err, name, value)
                if "--json" in arguments and status == 0:
                    json.loads(out)


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "MKL_NUM_THREADS"])
@pytest.mark.parametrize("value", ["maybe", "-1", "\xff\xfe"])
def test_numbers_of_threads(name, value, tmp_path):
    path = str(pathlib.Path(weft.__file__).parents[1])
    env = {**environment(name, value), b"PYTHONPATH": path.encode()}
    code = "import weft; weft.get_num_threads(); print(weft.__config__.parallel_info())"
    status, out, err = run([sys.executable, "-c", code], env, tmp_path)
    assert status == 0, err
    assert f"{name}: expected a number of threads >= 1, got '{shown(value)}'; ignored" in err
