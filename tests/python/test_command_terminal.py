"""The commands for language models on a terminal: what it shows at the end is what they write into a pipe."""

import json
import os
import pathlib
import pty
import re
import subprocess
import sys

import pytest

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)
WEFT = [sys.executable, "-m", "weft"]


def on_terminal(*arguments):
    """The lines that the terminal shows at the end: of stdout and stderr, after carriage returns and clears."""
    outer, inner = pty.openpty()
    process = subprocess.Popen([*WEFT, *arguments], stdin=subprocess.DEVNULL, stdout=inner, stderr=inner)
    os.close(inner)
    data = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:  # the process has closed it
            break
        if not part:
            break
        data += part
    os.close(outer)
    assert process.wait(timeout=120) == 0, data
    lines, column = [""], 0
    for item in re.findall(r"\r|\n|\033\[K|[^\r\n\033]+", data.decode()):
        if item == "\r":
            column = 0
        elif item == "\n":
            lines.append("")
        elif item == "\033[K":
            lines[-1] = lines[-1][:column]
        else:
            lines[-1] = lines[-1][:column] + item + lines[-1][column + len(item) :]
            column += len(item)
    assert "\033" not in "".join(lines)
    return lines


def piped(*arguments):
    done = subprocess.run([*WEFT, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_quantize(tmp_path):
    expected = piped("quantize", STORIES, str(tmp_path / "a"), "--scheme", "int8")
    shown = on_terminal("quantize", STORIES, str(tmp_path / "b"), "--scheme", "int8")
    assert [line.replace("/b/", "/a/") for line in shown] == expected
    assert len(expected) == 10  # head, five layers, the head's, an empty line, the sum, the end


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_perplexity(form, tmp_path):
    story = json.loads((pathlib.Path(STORIES) / "expected.json").read_text())["greedy_text"]
    (tmp_path / "story").write_text(story)
    arguments = ("eval", "perplexity", "-m", STORIES, "--text", str(tmp_path / "story"), *form)
    assert on_terminal(*arguments) == piped(*arguments)


def test_generate():
    arguments = ("generate", "-m", STORIES, "-n", "12", "-p", "Once upon")
    expected = piped(*arguments)
    shown = on_terminal(*arguments)
    assert shown[: len(expected)] == expected
    assert all(re.match(r"(load|prefill|decode|weights|memory)  |$", line) for line in shown[len(expected) :])


def test_bench():
    arguments = ("bench", "llm", "--shape", "tiny", "--random-weights", "--pp", "8", "--tg", "4", "-r", "2")

    def form(lines):
        return [re.sub(r"[-\d.]+", "N", re.sub(" +", " ", line)) for line in lines]

    assert form(on_terminal(*arguments)) == form(piped(*arguments))
