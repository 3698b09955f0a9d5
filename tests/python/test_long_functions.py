"""Functions of thousands of statements, one after the other: captured as one graph, with NumPy's results."""

import numpy as np
import pytest
import weft

KINDS = {
    "one variable": (["y = x"], "y = y + {i}.5", "y"),
    "many variables": (["v0 = x"], "v{next} = v{i} * 0.5 + x", "v{next}"),
    "numbers": (["k = 0"], "k = k + {i}", "x + k"),
    "a list": (["items = []"], "items.append(x[{i} % 8])", "sum(items[:5]) + len(items)"),
    "an argument that all read": (["y = x"], "y = y + x[0]", "y"),
}


def function_of(kind, count):
    begin, statement, result = KINDS[kind]
    lines = ["def f(x):", *begin]
    lines += [statement.format(i=i, next=i + 1) for i in range(count)]
    lines.append("return " + result.format(next=count))
    names = {"np": np}
    exec("\n    ".join(lines), names)
    return names["f"]


@pytest.mark.parametrize("kind", KINDS)
def test_straight_line(kind):
    f = function_of(kind, 1_000 if "x[0]" in KINDS[kind][1] else 5_000)
    x = np.linspace(0.0, 1.0, 16)
    weft.compiler.reset()
    compiled = weft.compile(f)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
    assert weft.compiler.stats()["breaks"] == 0


def test_updates_of_parts():
    lines = ["def f(x):", "y = x.copy()"]
    lines += [f"y[{i % 13}] = y[{(i + 1) % 13}] * 0.5 + {i}" for i in range(300)]
    names = {}
    exec("\n    ".join([*lines, "return y"]), names)
    x = np.linspace(0.0, 1.0, 16)
    np.testing.assert_array_equal(weft.compile(names["f"])(x), names["f"](x))


def test_lines_of_breaks():
    """Each statement has its own line, also behind many others."""
    lines = ["def f(x):"] + ["x = x + 1"] * 3000 + ["raise ValueError('here')"]
    names = {}
    exec(compile("\n    ".join(lines), "long.py", "exec"), names)
    for function in (names["f"], weft.compile(names["f"])):
        with pytest.raises(ValueError) as caught:
            function(np.ones(3))
        assert caught.traceback[-1].lineno + 1 == 3002
