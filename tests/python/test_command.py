"""The weft command, as a user types it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

COMMAND = pathlib.Path(sys.prefix) / "bin" / "weft"
pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the weft command is not installed beside this Python")


def weft(*arguments, **environment):
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )


def test_help_teaches():
    done = weft("--help")
    assert done.returncode == 0
    for word in ["info", "env", "cache", "bench", "Examples", "weft.compile"]:
        assert word in done.stdout


def test_version():
    assert weft("--version").stdout.strip().endswith("0.1.0")


def test_info_as_text_and_json(tmp_path):
    assert "toolchains" in weft("info").stdout
    facts = json.loads(weft("info", "--json", WEFT_CACHE_DIR=str(tmp_path)).stdout)
    assert str(tmp_path) in json.dumps(facts)


def test_environment_variables_are_listed():
    shown = weft("env").stdout
    for name in ["WEFT_LOGS", "WEFT_CACHE_DIR", "WEFT_TOOLCHAIN"]:
        assert name in shown


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["bogus"], "unknown command 'bogus'"),
        (["info", "--jsn"], "--jsn"),
        (["bench", "ceilings", "--threads", "0"], "--threads"),
        ([], "subcommand is required"),
    ],
)
def test_mistakes(arguments, message):
    done = weft(*arguments)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_clearing_the_cache(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o700)
    done = weft("cache", "clear", WEFT_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
