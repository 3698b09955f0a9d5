"""Sizes that no machine has memory for: every operator, builtin and function of the namespaces answers, with a result or
an error, before it begins to work; nothing hangs, is killed or takes memory."""

import pathlib
import selectors
import subprocess
import sys

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from support.tiers import long_but

HERE = pathlib.Path(__file__).parent
TABLES = ["operators", "builtins", "numpy", "functional", "tensors"]
# Of silence, which is a hang: calls take microseconds. Not a bound on how fast they are.
SECONDS = 120


def outcomes(table):
    """The calls of a table that a process makes, and what came of each, as far as it gets."""
    process = subprocess.Popen(
        [sys.executable, "-u", str(HERE / "huge_sizes.py"), table],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=HERE,
    )
    lines = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(timeout=SECONDS):
            part = process.stdout.read1(1 << 16)
            if not part:
                return lines.decode(errors="replace").splitlines(), process.wait()
            lines += part
    process.kill()
    process.wait()
    return lines.decode(errors="replace").splitlines(), "hangs"


@pytest.mark.parametrize("table", long_but(TABLES, "operators", "numpy", "functional", "tensors"))
def test_every_call_answers(table):
    lines, status = outcomes(table)
    assert status == 0 and lines[-1] == "done", f"{status}: {lines[-2:]}"
    took = [f"{call}: {outcome}" for call, outcome in zip(lines, lines[1:]) if outcome.startswith("  took")]
    assert not took
    calls = sum(not line.startswith("  ") for line in lines)
    assert calls > 400, "the table is nearly empty"
    asked = [line for line in lines if line.startswith("  MemoryError")]
    assert len(asked) > 20
    if table in ("operators", "builtins"):  # others are refused by Python and NumPy, too
        assert [line for line in asked if "bytes" not in line] == []


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda x: F.adaptive_avg_pool2d(x, (1, 2**40)), MemoryError, r"adaptive_avg_pool2d: .* bytes"),
        (lambda x: weft.zeros(2**40), MemoryError, r"full: f32\[1099511627776\] needs 4398046511104 bytes"),
        (lambda x: x.repeat(2**31, 2**31, 1, 1), ValueError, "does not fit 64 bits|needs"),
        (lambda x: x.expand(2**40, 2, 4, 4) + 1, MemoryError, "add: .* bytes"),
        (lambda x: weft.as_strided(x, [2**63 - 1], [1], 2), ValueError, "reaches elements"),
        (lambda x: weft.as_strided(x, [2**62, 2**62], [1, 1], 0), ValueError, "reaches elements"),
        (lambda x: weft.as_strided(x, [-4], [1], 2), ValueError, "negative"),
        (lambda x: F.unfold(x, 2, stride=2**62), ValueError, "stride must be at most"),
        (lambda x: weft.cross(weft.tensor(1.0), x, dim=0), ValueError, "0-d"),
    ],
)
def test_messages(call, kind, message):
    with pytest.raises(kind, match=message):
        call(weft.ones(1, 2, 4, 4))


def call_builtin(name, *args):
    return weft._C._call_builtin(f"aten::{name}", *args)


CUBE, INTEGERS, WEIGHTS = weft.ones(2, 4, 4), weft.tensor([1, 2]), [weft.ones(6, 2), weft.ones(6)]


@pytest.mark.parametrize(
    "call",
    [
        lambda: call_builtin("empty_strided", [1, 1], []),
        lambda: call_builtin("empty_strided", [2], [-3]),
        lambda: call_builtin("max_unpool3d", CUBE, INTEGERS, [1, 1, 1], [], [1, 2, 4, 4]),
        lambda: call_builtin("nuclear_norm", CUBE, [], False),
        lambda: call_builtin(
            "_native_multi_head_attention", CUBE[:, :, :2], CUBE, CUBE, 2, 0, *WEIGHTS, *WEIGHTS
        ),
        lambda: weft.native_multi_head_attention(CUBE, CUBE, CUBE, 4, 0, *WEIGHTS, *WEIGHTS),
        lambda: weft.transformer_encoder_layer_fwd(
            weft.tensor(1.0), 4, 2, *WEIGHTS, *WEIGHTS, False, True, 0.5, *[weft.ones(2)] * 8
        ),
        lambda: call_builtin("randperm", -1),
    ],
)
def test_arguments_that_do_not_fit_together(call):
    """Of calls that the tables try, those that read what is not there."""
    with pytest.raises((ValueError, RuntimeError)):
        call()


def test_counts_along_the_dimension_of_a_number():
    x = weft.tensor(2.5)
    assert weft.repeat_interleave(x, weft.tensor(3), dim=0).tolist() == [2.5] * 3
    assert call_builtin("repeat_interleave", x, weft.tensor([2]), -1).tolist() == [2.5] * 2


def test_views_need_no_memory():
    x = weft.ones(3)
    assert x.expand(2**40, 3).shape == (2**40, 3)
    assert x.expand(2**40, 3)[7].tolist() == [1, 1, 1]


def test_compiled_calls_are_refused_like_eager_ones():
    @weft.compile
    def pooled(x):
        return F.adaptive_avg_pool2d(x * 2, (1, 2**40))

    @weft.compile
    def filled(x):
        return np.full(2**45, 1.5) + x

    for _ in range(3):
        with pytest.raises(MemoryError):
            pooled(weft.ones(1, 2, 4, 4))
        with pytest.raises(MemoryError):
            filled(np.ones(1))


def test_scripted_calls_are_refused_like_eager_ones():
    @weft.jit.script
    def lists(n: int):
        return [1, 2] * n

    @weft.jit.script
    def text(n: int):
        return "ab" * n

    @weft.jit.script
    def pooled(x, n: int):
        return weft.nn.functional.adaptive_avg_pool2d(x, [1, n])

    for function, arguments in ((lists, ()), (text, ()), (pooled, (weft.ones(1, 2, 4, 4),))):
        for _ in range(3):
            with pytest.raises(Exception, match="bytes"):
                function(*arguments, 2**40)
