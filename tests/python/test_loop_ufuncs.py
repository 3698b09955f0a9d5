"""NumPy's pointwise functions of whole arrays in native loops, against NumPy; no Python in between."""

import numpy as np
import pytest
import weft

ROUNDS = 70
UNARY = """negative positive absolute fabs sqrt square cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos
arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint sign signbit isnan isinf isfinite deg2rad rad2deg
logical_not""".split()
BINARY = """arctan2 hypot copysign fmod remainder floor_divide power maximum fmin logaddexp heaviside logical_and logical_or
logical_xor less not_equal""".split()
FORMS = ["a ** 3", "a ** -1", "a ** -1.0", "a ** 0.5", "2.0 ** a", "abs(a) ** b", "np.clip(a, -1, 1)", "a.clip(None, 0.25)",
         "np.round(a)", "np.sin(a * 2 + b) * a", "np.where(np.isnan(a), 0, np.cos(a))", "a * np.linalg.norm(b)"]  # fmt: skip
INTEGERS = ["a // 3", "a % 7", "np.fmod(a, 3)", "np.sign(a)", "a ** 2", "np.invert(a)", "a << 2", "a >> 1", "np.sin(a)",
            "abs(a)", "np.clip(a, -3, 5)", "np.hypot(a, 1.5)", "np.logical_not(a)"]  # fmt: skip


def loop_of(expressions):
    """A function that sets, round by round, a row of each out from rows a and b of x and y."""
    outs = [f"out{k}" for k in range(len(expressions))]
    lines = [
        f"def program(x, y, {', '.join(outs)}):",
        f"    for i in range({ROUNDS}):",
        "        a, b = x[i], y[i]",
    ]
    lines += [f"        {out}[i] = {text}" for out, text in zip(outs, expressions)]
    scope = {"np": np}
    exec(compile("\n".join(lines), "<loop>", "exec"), scope)
    return scope["program"]


def check_ufuncs(expressions, x, y, dtype, rtol):
    program = loop_of(expressions)
    expected = [np.zeros(x.shape, dtype) for _ in expressions]
    actual = [out.copy() for out in expected]
    with np.errstate(all="ignore"):
        program(x, y, *expected)
        weft.compile(program)(x, y, *actual)
    for text, want, got in zip(expressions, expected, actual):
        # Near zero the terms of logaddexp cancel.
        np.testing.assert_allclose(got, want, rtol=rtol, atol=np.finfo(dtype).eps, err_msg=text)
        zeros = want == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]), err_msg=text)
    breaks = weft.compiler.explain(program)(x, y, *actual).breaks
    assert all("loop" not in found.reason for found in breaks), breaks


def rows(dtype, size, seed):
    values = np.random.default_rng(seed).normal(size=(ROUNDS, size)) * 3
    if np.issubdtype(dtype, np.floating) and size > 8:
        values[seed, :8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5]
    return values.astype(dtype)


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 4e-15), (np.float32, 2e-6)])
@pytest.mark.parametrize("size", [1, 19])
def test_functions_of_one_array(dtype, rtol, size):
    texts = [f"np.{name}(a)" for name in UNARY]
    for k in range(0, len(texts), 13):
        check_ufuncs(texts[k : k + 13], rows(dtype, size, 1), rows(dtype, size, 2), dtype, rtol)


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-14), (np.float32, 4e-6)])
def test_functions_of_two_arrays_and_what_is_composed(dtype, rtol):
    texts = [f"np.{name}(a, b)" for name in BINARY] + FORMS
    for k in range(0, len(texts), 9):
        check_ufuncs(texts[k : k + 9], rows(dtype, 19, 1), rows(dtype, 19, 2), dtype, rtol)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16])
def test_functions_of_integers(dtype):
    check_ufuncs(
        INTEGERS, rows(dtype, 11, 3), rows(dtype, 11, 4), np.float64, 2e-6 if dtype == np.int16 else 4e-15
    )


def test_strided_and_empty_rows():
    wide = rows(np.float64, 40, 5)
    check_ufuncs(["np.sin(a)", "np.tan(a) + b"], wide[:, ::2], wide[:, ::-2], np.float64, 4e-15)
    check_ufuncs(["np.sin(a)"], wide[:, :0], wide[:, :0], np.float64, 0)


def test_integers_that_numpy_refuses_or_warns_of_are_its_own():
    def divided(x, d):
        out = np.zeros((60, 4))
        for i in range(60):
            out[i] = x // (d - i) + (x % 5) ** 2
        return out

    x = np.arange(4)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        expected = divided(x, 50)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.testing.assert_array_equal(weft.compile(divided)(x, 50), expected)

    def powers(x, k):
        total = 0
        for i in range(60):
            total = total + (x ** (k - i)).sum()
        return total

    with pytest.raises(ValueError, match="negative integer powers"):
        weft.compile(powers)(x, 3)
