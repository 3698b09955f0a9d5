"""Native loops that reduce arrays and expressions along some of their dimensions."""

import sys
from pathlib import Path

import numpy as np
import pytest
import weft
from support.compare import assert_same, outcome

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from programs import learning
from support.tiers import long_but

WAYS = [(1, False), (2, False), ((0, 1), False), ((0, -1), False), ((1, 2), True), (None, True)]
DTYPES = ["float64", "float32", "uint8", "bool"]


def native(function, *arguments):
    """The compiled function, of which with these arguments nothing but a native loop is left."""
    kernels = weft.compiler.explain(function)(*arguments).kernels
    assert [k["name"].rpartition("_")[0] for k in kernels] == ["loop_" + function.__name__]
    return weft.compile(function)


def inputs(dtype, shape=(4, 5, 17)):
    x = np.random.default_rng(0).integers(0, 90, shape)
    return (
        (x % 2 == 0)
        if dtype == "bool"
        else x.astype(dtype)
        if dtype[0] in "iu"
        else (x / 8 - 4).astype(dtype)
    )


REDUCTIONS = """
def sums(x, n):
    for i in range(n):
        part = x[i % 2 :]
        a = np.sum(part, AXIS)
        b = (part * part).sum(AXIS)
        c = np.any(part > 3, AXIS)
        d = part.all(AXIS)
    return a, b, c, d

def extrema(x, n):
    for i in range(n):
        part = x[i % 2 :]
        a = np.max(part, AXIS)
        b = (part + part).min(AXIS)
        c = np.amin(part[:, ::-2], AXIS)
    return a, b, c
"""


def reductions(axis, keepdims):
    functions = {"np": np}
    exec(REDUCTIONS.replace("AXIS", f"axis={axis}" + ", keepdims=True" * keepdims), functions)
    return functions["sums"], functions["extrema"]


@pytest.mark.parametrize(
    "axis, keepdims", long_but(WAYS, (1, False), ((0, -1), False), (None, True), unpack=True), ids=str
)
def test_sums_and_extrema(axis, keepdims):
    x = inputs("float64")
    arrays = [inputs(dtype) for dtype in DTYPES] + [x.T, x.transpose(2, 0, 1)[:, ::-1]]
    for function in reductions(axis, keepdims):
        compiled = native(function, x, 40)
        for array in arrays:
            assert_same(outcome(compiled, array, 40), outcome(function, array, 40), rtol=1e-12)


def test_nan_infinities_and_signed_zeros():
    def reduce(x, n):
        for _ in range(n):
            a = (x * 1).max(axis=(0, 2))
            b = np.min(x + 0, axis=(1, 2))
            c = np.sum(x * 1, axis=(0, 1))
            d = np.sum(-x[:, :, :0] * 1, axis=(1, 2))
            e = np.sum(x[:, 0, :], axis=0)
        return a, b, c, d, e

    x = inputs("float64")
    x[1, 2, 3], x[0, 0, 1], x[2, 3, 5], x[:, :, 7] = np.nan, np.inf, -np.inf, -0.0
    compiled = native(reduce, x, 40)
    with np.errstate(invalid="ignore"):
        got, expected = compiled(x, 40), reduce(x, 40)
    assert_same(got, expected, rtol=1e-12)
    assert_same([np.signbit(g) for g in got], [np.signbit(e) for e in expected], rtol=1e-12)


def test_nothing_to_reduce():
    def reduce(x, n):
        for _ in range(n):
            a = np.sum(x, axis=0)
            b = np.all(x, axis=(1, 2))
        return a, b

    def extremum(x, n):
        for _ in range(n):
            a = np.max(x, axis=(0, 1))
        return a

    some = np.ones((2, 3, 2))
    compiled = native(reduce, some, 40), native(extremum, some, 40)
    for shape in [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)]:
        x = np.ones(shape)
        assert_same(compiled[0](x, 40), reduce(x, 40), rtol=1e-12)
        assert_same(outcome(compiled[1], x, 40), outcome(extremum, x, 40), rtol=1e-12)


def test_means_and_axes_that_are_not_known():
    def means(x, axis, n):
        for i in range(n):
            a = x[i % 3 :].mean(axis=(0, 2))
            b = ((x[i % 3 :] - np.mean(x[i % 3 :], axis=2, keepdims=True)) ** 2).sum(axis=(0, 1, 2))
            c = np.sum(x * 2, axis=axis)
        return a, b, c

    x = inputs("float64")
    compiled = weft.compile(means)
    for axis in (0, 1, 3, -4, 2):
        assert_same(outcome(compiled, x, axis, 40), outcome(means, x, axis, 40), rtol=1e-12)


def test_a_convolution_is_one_native_loop():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 9, (2, 9, 8, 3)).astype(np.float32)
    weights = rng.integers(0, 9, (3, 3, 3, 5)).astype(np.float32)
    bias = np.arange(5, dtype=np.float32)
    function, arguments = learning.convolution_bias, (image, weights, bias)
    kernels = [k["name"] for k in weft.compiler.explain(function)(*arguments).kernels]
    assert [name.startswith("loop_") for name in kernels].count(True) == 1 and "sum" not in " ".join(kernels)
    assert_same(weft.compile(function)(*arguments), function(*arguments), rtol=1e-12)
