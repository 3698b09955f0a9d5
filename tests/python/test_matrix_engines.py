"""Engines that the machine has and the kernel refuses: listed with the reason, and not used."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

WEFT = Path(sys.executable).parent / "weft"

# From here on, arch_prctl(ARCH_REQ_XCOMP_PERM, …), by which a process asks for the tiles, fails with EPERM: a filter of
# system calls for this process and those it becomes.
REFUSING = """
import ctypes, os, struct, sys
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
filter = b"".join(struct.pack("=HBBI", *line) for line in [
    (LOAD, 0, 0, 0), (EQUAL, 0, 3, 158),       # the call's number: arch_prctl
    (LOAD, 0, 0, 16), (EQUAL, 0, 1, 0x1023),   # its first argument
    (RETURN, 0, 0, 0x00050001), (RETURN, 0, 0, 0x7fff0000)])
libc = ctypes.CDLL(None, use_errno=True)
program = Program(len(filter) // 8, filter)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
"""


def engines(*before):
    ran = subprocess.run([*before, str(WEFT), "info", "--json"], capture_output=True, text=True)
    if ran.returncode == 77:
        pytest.skip("this process may not filter its system calls")
    assert ran.returncode == 0, ran.stderr
    return {engine["name"]: engine for engine in json.loads(ran.stdout)["engines"]}


@pytest.fixture
def refusing():
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        pytest.skip("the tiles are Linux's on x86-64")
    if not engines().get("amx-bf16", {}).get("available"):
        pytest.skip("the machine has no tiles, or another reason against them")
    return [sys.executable, "-c", REFUSING]


def test_refused_tiles_have_a_reason(refusing):
    allowed, refused = engines(), engines(*refusing)
    for name in ("amx-bf16", "amx-int8"):
        assert allowed[name]["available"]
        assert not refused[name]["available"] and not refused[name]["used"]
        assert (
            "the kernel refuses the tiles (arch_prctl): Operation not permitted" in refused[name]["why_not"]
        )
    assert {name: engine["available"] for name, engine in refused.items() if "amx" not in name} == {
        name: engine["available"] for name, engine in allowed.items() if "amx" not in name
    }


def test_products_without_refused_tiles(refusing):
    program = """
import weft
def numbers(*shape):
    count = 1
    for size in shape:
        count *= size
    return (weft.arange(count) * 37 % 101 - 50).reshape(*shape)
x, y = numbers(70, 65), numbers(65, 40)
exact = x.to(weft.float32) @ y.to(weft.float32)
sums = weft._int_mm(x.to(weft.int8), y.to(weft.int8))
assert (sums.to(weft.float32) == exact).all()
product = x.to(weft.bfloat16) @ y.to(weft.bfloat16)
assert (product == exact.to(weft.bfloat16)).all()
"""
    for before in ([], refusing):
        ran = subprocess.run(
            [*before, sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "WEFT_VERIFY": "1"},
        )
        assert ran.returncode == 0, ran.stderr
