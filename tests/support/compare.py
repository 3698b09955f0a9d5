"""What tests compare: results, exceptions and what is left in arguments, of compiled functions beside Python's own."""

import copy
import traceback

import numpy as np
import weft


def outcome(function, *arguments, **options):
    """What a call gives, or the type, the words and the line of what it raises."""
    try:
        return function(*arguments, **options)
    except Exception as error:
        return type(error), str(error), traceback.extract_tb(error.__traceback__)[-1].lineno


def assert_same(actual, expected, rtol=0.0, atol=None):
    """Equal types, structure, order of keys, dtypes and shapes; elements to the bit, but for NaN's. With `rtol`, elements that are not
    exact within it and `atol` (None: the same number)."""
    assert type(actual) is type(expected), f"{actual!r} is not {expected!r}"
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected), f"{actual!r} is not {expected!r}"
        for one, other in zip(actual, expected):
            assert_same(one, other, rtol, atol)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key, value in expected.items():
            assert_same(actual[key], value, rtol, atol)
    elif isinstance(expected, weft.Tensor):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        assert actual.requires_grad == expected.requires_grad
        _assert_elements(_array(actual), _array(expected), rtol, atol)
    elif isinstance(expected, np.ndarray | np.generic):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        _assert_elements(actual, expected, rtol, atol)
    elif isinstance(expected, float | complex):
        _assert_elements(actual, expected, rtol, atol)
    else:
        assert actual == expected


def _array(tensor):
    wide = tensor.dtype in (weft.bfloat16, weft.float16)
    return (tensor.detach().to(weft.float32) if wide else tensor.detach()).numpy()


def _assert_elements(actual, expected, rtol, atol):
    if rtol and np.asarray(expected).dtype.kind in "fc":
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol if atol is None else atol)
        return
    np.testing.assert_array_equal(actual, expected)
    if np.asarray(expected).dtype.kind in "fc":
        for part in (np.real, np.imag):
            one, other = np.asarray(part(actual)), np.asarray(part(expected))
            known = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one)[known], np.signbit(other)[known])


def numpy_fuses():
    """Does NumPy round products of complex arrays once less, as processors with fused operations allow?"""
    z = np.array([complex(1 + 2.0**-30, 1 + 2.0**-30)])
    return (z * z)[0].real != 0


def _arguments(call):
    return call() if callable(call) else copy.deepcopy(call)


def check(function, *calls, rounds=2, rtol=0.0, atol=None, compiled=None):
    """Each of `calls`, a tuple of arguments or a function that makes it, does what Python does, also the second time: it gives or
    raises the same and leaves the same in its arguments. Returns the compiled function."""
    compiled = compiled or weft.compile(function)
    for _ in range(rounds):
        for call in calls:
            mine, theirs = _arguments(call), _arguments(call)
            expected = outcome(function, *theirs)
            assert_same(outcome(compiled, *mine), expected, rtol, atol)
            assert_same(mine, theirs, rtol, atol)
    return compiled


def check_loop(function, *calls, native=True, **options):
    """As `check`; `native`: for the first of the calls that raises nothing a loop is compiled."""
    compiled = check(function, *calls, **options)
    for call in calls if native else ():
        try:
            kernels = weft.compiler.explain(function)(*_arguments(call)).kernels
        except Exception:
            continue
        assert any(kernel["name"].startswith("loop_") for kernel in kernels), kernels
        break
    return compiled
