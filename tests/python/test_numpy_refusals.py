"""What NumPy refuses, from compiled functions too, beside what it takes on the other side of each edge."""

import fractions
import numbers
import warnings

import numpy as np
import pytest
import weft

ARRAYS = {
    "x": np.array([3.0, 1.0, 2.0, 0.5]),
    "m": np.array([[1.5, 2.0, 3.0], [4.0, 5.5, 6.0]]),
    "q": np.array([[2.0, 1.0], [0.5, 3.0]]),
    "i": np.array([1, 2, 3, 4]),
    "b": np.array([True, False, True, True]),
    "z": np.array([1 + 2j, 3 - 1j]),
    "cube": np.arange(24.0).reshape(2, 3, 4),
}
ERROR_STATES = ("raise", "call", "warn", "ignore")

# One a line; what NumPy gives or raises for each.
EXPRESSIONS = """
np.rot90(m); np.rot90(x); np.rot90(m, axes=(0, 0)); np.rot90(m, axes=(0, 2)); np.rot90(m, axes=(0, -2)); np.rot90(m, axes=(1, 0))
np.rot90(m, axes=(0, 1, 0)); np.rot90(m, axes=(0,)); np.rot90(cube, 2, (0, -3)); np.rot90(cube, 3, (1, 2)); np.rot90(cube, 1, (1, 5))
np.true_divide(i, 2, dtype=int); np.true_divide(i, 2, dtype=float); np.divide(i, 2, dtype=np.float32, casting='unsafe')
np.sqrt(i, dtype=int); np.sqrt(i, dtype=np.float64); np.exp(b, dtype=bool); np.sin(i, dtype=np.int8); np.bitwise_and(i, 1, dtype=float)
np.bitwise_and(i, 1, dtype=np.int64); np.negative(b, dtype=bool); np.add(b, b, dtype=bool); np.subtract(b, b, dtype=bool); np.subtract(b, b, dtype=int)
np.remainder(i, 2, dtype=float); np.floor_divide(i, 2, dtype=np.float64); np.logical_and(i, 1, dtype=float); np.absolute(z, dtype=complex)
np.digitize(x, [1j, 2]); np.digitize(z, [1, 2]); np.digitize(x, [1, 2]); np.digitize(x, [[1, 2]]); np.digitize(x, [1, 3, 2])
np.array(x, copy='always'); np.array(x, copy=True); np.array(x, copy=None); np.asarray(x, copy='no'); np.asarray(x, copy=True); np.array(x, copy=2)
np.array(x, copy=np._CopyMode.ALWAYS); np.array(x, copy=np._CopyMode.NEVER); np.array([x, x], copy=False); x.astype(int, copy='x'); np.array(x, copy=[])
np.zeros((1,) * 64).shape; np.zeros((1,) * 65); np.ones((1,) * 65); np.full((1,) * 65, 2.0); x.reshape((1,) * 63 + (4,)).ndim; x.reshape((1,) * 64 + (4,))
x[(None,) * 63].ndim; x[(None,) * 64]; np.array(1, ndmin=64).ndim; np.array(1, ndmin=65); np.expand_dims(x, tuple(range(63))).ndim
np.expand_dims(x, tuple(range(64))); np.broadcast_to(x, (1,) * 64 + (4,)); np.add.outer(np.zeros((1,) * 40), np.zeros((1,) * 40)); np.zeros_like(x, shape=(1,) * 65)
np.dot(q, q, out=np.ones((2, 2)).T); np.dot(q, q, out=np.ones((2, 2))); np.dot(q, q, out=np.ones((2, 2), order='F')); np.dot(q, q, out=np.ones((4, 4))[::2, ::2])
np.dot(q, q, out=np.ones((2, 2), np.float32)); np.dot(x, x, out=np.array(1.0)); q.dot(q, np.ones((3, 2)).T); np.dot(q, m, out=np.ones((2, 3), order='F'))
x.reshape((True, -1)); x.reshape(True, -1); np.reshape(x, (True, -1)); np.zeros((True, 2)); np.zeros(True); np.ones((2, False)); np.full((True,), 1)
np.broadcast_to(x, (True, 4)); x.reshape((1, -1)); x.reshape((1.0, -1)); np.empty((True, 2)).shape; np.zeros_like(x, shape=(True,)); np.eye(True)
x.sum(axis=True); x.sum(True); m.sum(True); m.sum((False, True)); m.sum(0); np.transpose(x, (False,)); np.concatenate([x, x], axis=False)
np.stack([x, x], axis=True); np.cumsum(x, axis=False); np.sort(x, axis=False); np.flip(x, False); np.expand_dims(x, True); np.moveaxis(m, False, True)
np.swapaxes(m, False, True); np.roll(x, True); np.take(m, 0, axis=True); np.argmax(m, axis=True); np.mean(m, axis=True); np.repeat(m, 2, axis=True)
np.diff(m, axis=False); np.median(m, axis=True); np.quantile(m, 0.5, axis=True); np.trace(cube, True); np.diagonal(cube, False, False, True); np.tile(x, True)
x.flat[1, 2]; x.flat[(1,)]; x.flat[1]; x.flat[[1, 2]]; x.flat[()]; x.flat[None]; x.flat[9]; x.flat[1:3]; x.flat[1.0]; x.flat[i[:2]]; m.flat[1, 1]
np.tril_indices_from(cube); np.tril_indices_from(q); np.triu_indices_from(x); np.triu_indices_from(q)
np.isin(i, [2, 10**9], kind='table'); np.isin(i, [0, 2**62, -2**62], kind='table'); np.isin(i, [2, 3], kind='sort'); np.isin(x, [2.0], kind='table')
np.vstack(x for _ in range(2)); np.hstack(x for _ in range(2)); np.dstack(x for _ in range(2)); np.column_stack(x for _ in range(2)); np.vstack((x, x))
np.block(([1, 2], [3, 4])); np.block([(1, 2), (3, 4)]); np.block([[x, x], [x, x]]); np.rollaxis(m, 0, -3); np.rollaxis(m, 0, 3); np.rollaxis(m, 1, -2)
np.concatenate((x, x), out=np.empty(5)); np.concatenate((x, x), out=np.empty((8, 1))); np.concatenate((x, x), out=np.empty((1, 8))); np.concatenate((x, x), out=np.empty(8))
np.histogram(x, range=[np.nan, 0.75]); np.histogram(x, range=[0.25, np.inf]); np.histogram(x, range=[1.0, 2.0]); np.histogramdd(m.T, range=[[0.0, 1.0], [np.nan, 1.0]])
np.pad(x, 1, 'maximum', stat_length=0); np.pad(x, 0, 'minimum', stat_length=(1, 0)); np.pad(x, 1, 'mean', stat_length=1); np.broadcast_to(x[:1], (-1,))
np.broadcast_to(x[:1], -1); np.broadcast_to(m[:1], (-1, 3)); np.ravel_multi_index(([0], [0]), (2**62, 2)); np.ravel_multi_index(([0], [0]), (2**61, 2))
np.unravel_index([0], ()); np.unravel_index(1, (2**32 - 1, 2**31 + 1)); np.unravel_index(3, (2, 2)); np.ravel_multi_index([[1], [1]], (0, 2), mode='clip')
np.mgrid[0:0.33:np.float32(0.1)].dtype; np.ogrid[0 : 1 : np.complex64(3j)]; np.r_[0 : 1 : np.float32(0.5)]; np.mgrid[0:1:3j]; np.r_[np.arange(3, dtype=np.int8), 255]
np.r_[np.arange(3, dtype=np.int8), 25]; np.concatenate([np.float32(1), 1.0], axis=None); np.choose(1, [np.float32(1), 2.0]); np.choose(i - 1, [1, 2, 3, 4])
np.isclose(np.float32(1), 0.9999999999999998, atol=0, rtol=0); np.isclose(np.float32(1), 2, atol=0, rtol=0.4999999999999999); np.isclose(x, x, rtol=np.nan)
np.isclose(i, 2); np.isclose(2, i); np.isclose(x.astype(np.float32), 1.0); np.allclose([1, 2], [1.0, 2.0]); np.isclose(z, 1 + 2j); np.isclose(x, i, rtol=x)
np.shares_memory(np.reshape(x, (2, 2), copy=True), x); np.shares_memory(x.reshape((2, 2), copy=False), x); np.reshape(m.T, 6, copy=False); np.diff(x, n=0)
np.array_equal(x, x) is True; np.array_equal(x, i) is True; np.array_equal(x, i) is not False; np.allclose(x, x) is True; (x > 9).any().item() is False
type(np.dtype(float, metadata={1: 2}).metadata).__name__; np.dtype(float, metadata={1: 2}).metadata == {1: 2}; np.dtype(float, metadata={1: 2}).metadata == {1: 3}
np.isscalar(fractions.Fraction(1, 2)); np.isscalar(numbers.Number()); np.isscalar(x); np.isscalar([1]); np.isscalar(None); np.isscalar(x[0])
x.flat[[True, True]]; x.flat[[True, False, True, True]]; x.flat[b]; x.flat[[1, 0]]
""".replace("\n", "; ")
# Each takes more memory than there is, or more than there can be; nothing reads it.
HUGE = """np.zeros(2**62); np.zeros(2**63); np.zeros((2**40, 2**40)); np.empty(10**14); np.ones(10**14); np.full(10**14, 2.0)
np.zeros_like(x, shape=(10**14,)); np.full_like(x, 1.0, shape=(10**14,)); np.add.outer(np.zeros(10**7), np.zeros(10**7))""".replace(
    "\n", "; "
)


def expressions(text):
    return [one.strip() for one in text.split("; ") if one.strip()]


def function_of(expression, unused=False):
    scope = {"np": np, "fractions": fractions, "numbers": numbers}
    result = f"    {expression}\n    return x + 1\n" if unused else f"    return {expression}\n"
    exec(f"def function({', '.join(ARRAYS)}):\n{result}", scope)
    return scope["function"]


def answer(function):
    """The result, or the exception and its words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(**{name: array.copy() for name, array in ARRAYS.items()})
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return described(result)


def described(result):
    if isinstance(result, tuple | list):
        return f"{type(result).__name__}({', '.join(described(item) for item in result)})"
    dtype, shape = getattr(result, "dtype", ""), getattr(result, "shape", "")
    return f"{type(result).__name__} {dtype} {shape} {np.asarray(result).tolist()!r}"


@pytest.mark.parametrize("expression", expressions(EXPRESSIONS))
def test_refusals_are_numpys(expression):
    function = function_of(expression)
    expected, compiled = answer(function), weft.compile(function)
    for _ in range(2):
        assert answer(compiled) == expected


@pytest.mark.parametrize("expression", expressions(HUGE))
def test_memory_that_nobody_reads_is_asked_for(expression):
    function = function_of(expression, unused=True)
    expected, compiled = answer(function), weft.compile(function)
    assert "Error" in expected
    for _ in range(2):
        assert answer(compiled) == expected


# Floating-point errors of constants, and of what nobody reads.
ERRORS = """
np.array([1.0, 2.0]) / np.array([1.0, 0.0]); np.log(np.zeros(3)); np.exp(np.array(1000.0)); np.sqrt(np.array([-1.0])); np.float64(1.0) / np.float64(0.0)
np.ones(3) / 0; np.sum(np.array([1e308, 1e308])); np.prod([1e200, 1e200]); np.array([1e300]).astype(np.float32); np.float32(1e30) * np.float32(1e30)
np.array([np.inf]) - np.array([np.inf]); np.array([1, 2]) // np.array([0, 1]); np.divide(1.0, 0.0); np.log(0.0); np.exp(-1000.0); np.exp(1000.0)
np.power(np.array([10.0]), 400); np.dot(np.array([1e200]), np.array([1e200])); np.array([1e-300]) * 1e-300; np.float32(3.0) * 1e300; np.square(np.full(2, 1e200))
x / 0; np.log(-x); np.exp(x * 1000); i // 0; x * 1e308 * 10; np.sqrt(x - 10); np.float32(1e30) * x.astype(np.float32) * np.float32(1e30); x * 1e-308 * 1e-10
""".replace("\n", "; ")


def stated_outcome(function, states, calls):
    calls.clear()
    with np.errstate(all=states, call=lambda kind, flag: calls.append(kind)):
        return answer(function), list(calls)


@pytest.mark.parametrize("unused", [False, True], ids=["read", "unread"])
@pytest.mark.parametrize("expression", expressions(ERRORS))
def test_errors_are_raised_where_the_state_says_so(expression, unused):
    """Of a state around the call: captured without one, then under it, and the other way round."""
    function, calls = function_of(expression, unused), []
    for order in (ERROR_STATES, ERROR_STATES[::-1]):
        compiled = weft.compile(function)
        for states in order * 2:
            expected = stated_outcome(function, states, calls)
            assert stated_outcome(compiled, states, calls) == expected, states


@pytest.mark.parametrize("unused", [False, True], ids=["read", "unread"])
@pytest.mark.parametrize("expression", expressions(ERRORS))
def test_errors_are_raised_in_a_state_of_the_function(expression, unused):
    scope = {"np": np}
    line = f"        {expression}\n        return x + 1" if unused else f"        return {expression}"
    exec(f"def function({', '.join(ARRAYS)}):\n    with np.errstate(all='raise'):\n{line}\n", scope)
    function = scope["function"]
    expected, compiled = answer(function), weft.compile(function)
    for _ in range(2):
        assert answer(compiled) == expected
