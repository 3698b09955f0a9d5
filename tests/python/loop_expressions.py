"""Expressions in a plain loop over numbers: what Python gives, raises and warns of, and whether the loop is native."""

import functools
import itertools
import math
import operator
import warnings

import numpy as np
import weft
from support.compare import assert_same, outcome

MODULES = {"np": np, "math": math, "functools": functools, "itertools": itertools, "operator": operator}


def loop_of(text):
    lines = [
        "def program(x, y, out):",
        "    last = None",
        "    for i in range(len(x)):",
        "        a, b = x[i], y[i]",
        f"        last = {text}",
        "        out.append(last)",
        "    return last",
    ]
    scope = dict(MODULES)
    exec(compile("\n".join(lines), "<loop>", "exec"), scope)
    return scope["program"]


def told(function, *arguments):
    """What a call gives or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = outcome(function, *arguments)
    return result, sorted(str(one.message) for one in found)


def parted(text, values, two):
    """The values of which Python says nothing, and the others."""
    function = functools.partial(eval, text)
    good, bad = [], []
    for a in values:
        for b in values if two else [a]:
            with np.errstate(all="raise"):
                try:
                    function({**MODULES, "a": a, "b": b, "i": 1, "x": [0.5, 1.5]})
                    good.append((a, b))
                except Exception:
                    bad.append((a, b))
    return good, bad


def is_native(program, *arguments):
    """Is nothing of it performed by Python?"""
    report = weft.compiler.explain(program)(*arguments)
    return not report.breaks and any(kernel["name"].startswith("loop_") for kernel in report.kernels)


def check_expression(text, values, two=False, as_values=list, rtol=0.0, atol=None):
    good, bad = parted(text, values, two)
    good = [good[i] for i in np.random.default_rng(1).permutation(len(good))[:300]]
    program = loop_of(text)
    x, y = (as_values([pair[k] for pair in good] * (1 + 40 // len(good))) for k in range(2))
    compiled = weft.compile(program)
    for _ in range(2):
        expected, actual = [], []
        result = told(program, x, y, expected)
        assert told(compiled, x, y, actual)[1] == [], text
        assert_same(actual, expected, rtol, atol)
        assert_same(compiled(x, y, []), result[0], rtol, atol)
    assert is_native(program, x, y, []), (text, weft.compiler.explain(program)(x, y, []).breaks)
    # Behind others, and with others behind them.
    for a, b in bad[:6]:
        x_of_bad, y_of_bad = (as_values([*values[:20], one, *values[:3]]) for values, one in ((x, a), (y, b)))
        expected, actual = [], []
        mine, theirs = told(compiled, x_of_bad, y_of_bad, actual), told(program, x_of_bad, y_of_bad, expected)
        assert_same(actual, expected, rtol, atol)
        assert_same(mine[0], theirs[0], rtol, atol)
        assert mine[1] == theirs[1], (text, a, b)
