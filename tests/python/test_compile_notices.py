"""What people are told once, with the line: loops that were unrolled, functions that fell back to Python."""

import subprocess
import sys

import numpy as np
import pytest
import weft

PROGRAM = """
import numpy as np, weft

{source}

compiled = weft.compile(function)
for _ in range({calls}):
    result = compiled({arguments})
weft.compile(function)({arguments})
"""


def said(tmp_path, source, arguments, calls=2):
    """The warnings of a program that calls `function`, compiled, some times, and then compiled anew."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(source=source, arguments=arguments, calls=calls))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("[weft warning]")]


UNROLLED = """
def function(weights, x):
    for w in weights:
        x = x + w
    return x
"""


def test_an_unrolled_loop_is_named_once(tmp_path):
    (line,) = said(tmp_path, UNROLLED, "[np.ones(3)] * 24, np.ones(3)")
    assert (
        f"the loop at {tmp_path}/program.py:6 is not native code: 24 rounds of it were unrolled into one graph"
        in line
    )


@pytest.mark.parametrize("count", [3, 16])
def test_small_constant_counts_are_unrolled_without_a_word(tmp_path, count):
    assert said(tmp_path, UNROLLED, f"[np.ones(3)] * {count}, np.ones(3)") == []


def test_loops_that_only_build_constants_are_not_named(tmp_path):
    source = """
def function(x):
    names = {}
    for name in ("a", "b", "c", "d", "e") * 5:
        names[name] = len(names)
    return x * names["c"]
"""
    assert said(tmp_path, source, "np.ones(3)") == []


def test_a_native_loop_is_not_named(tmp_path):
    source = """
def function(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total
"""
    assert said(tmp_path, source, "np.ones(100)") == []


def test_a_function_that_cannot_be_captured_is_named_once(tmp_path):
    source = """
def function(x):
    yield x
"""
    lines = said(tmp_path, source, "np.ones(3)")
    assert len(lines) == 2  # it was compiled twice
    assert f"function runs as it is, from {tmp_path}/program.py:5 on: " in lines[0]


def test_explain_lists_unrolled_loops_and_fallbacks():
    def function(weights, x):
        for w in weights:
            x = x + w
        return x

    found = weft.compiler.explain(function)([np.ones(3)] * 20, np.ones(3))
    (loop,) = found.unrolled
    assert (loop.rounds, loop.line, loop.source) == (
        20,
        function.__code__.co_firstlineno + 1,
        "for w in weights:",
    )
    assert f"{__file__}:{loop.line}: 20 rounds in one graph, not native code: " in str(found)
    assert not found.fallbacks

    def generator(x):
        yield x

    found = weft.compiler.explain(generator)(np.ones(3))
    (fallback,) = found.fallbacks
    assert fallback.line == generator.__code__.co_firstlineno
    assert "falls back to Python at " in str(found)


def test_what_stands_for_a_builtin_is_no_fallback():
    def clipped(x, out, limits):
        for i in range(len(x)):
            out[i] = max(limits["low"], x[i])
        return out

    found = weft.compiler.explain(clipped)(np.array([-1.0]), np.ones(1), {"low": 0.0})
    assert found.result == [0.0] and not found.fallbacks
    assert [entry.reason for entry in found.breaks] == ["a call of max"]


def test_loops_stay_native_where_a_function_falls_back():
    def function(x, depth):
        under_way = iter_of(x)
        first = next(under_way) + hash(depth)
        total = 0.0
        for i in range(len(x)):
            if x[i] == 7.0:
                continue
            total += x[i] * i
        return first + total + next(under_way), [hash(v) + v for v in range(20)]

    def iter_of(x):
        for k in range(3):
            yield x[k]

    x = np.arange(200.0)
    found = weft.compiler.explain(function)(x, 2)
    assert found.result == function(x, 2)
    assert [entry.reason for entry in found.fallbacks] == ["the graph ends while a generator is under way"]
    assert any(kernel["name"].startswith("loop_function_") for kernel in found.kernels)
