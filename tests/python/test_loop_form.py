"""WEFT_LOGS=native_loops shows a loop behind each pass, and the passes that change nothing."""

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
import weft

@weft.compile
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * 2.0
    return s

assert total(np.arange(1000.0)) == 999000.0
"""


def logged(logs):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "WEFT_LOGS": logs, "WEFT_VERIFY": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stderr


def test_passes_are_shown():
    log = logged("native_loops")
    parts = [part for part in log.split("[weft native_loops] ") if part]
    firsts = [part.splitlines()[0] for part in parts]
    assert [first.partition(" ")[2] for first in firsts] == [
        "blocks of bytecode and types",
        "versions of innermost loops",
        "versions of nests (unchanged)",
        "rounds shared by threads",
    ]
    assert "function loop_total_" in parts[0] and "version" not in parts[0].partition("\n")[2]
    assert "preheader {" in parts[1] and "stays_in(1L, 0L, first, last, 0L, a_n0)" in parts[1]
    assert "goes from round to round" in parts[3] and "goes from round to round" not in parts[1]


def test_nothing_is_shown_without():
    assert "function loop_total_" not in logged("")
