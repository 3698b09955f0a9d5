"""What the tests of native loops compare: results, or exceptions, of a compiled function and of Python's."""

import copy
import traceback

import numpy as np
import weft


def outcome(function, arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)


def check_equal(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            check_equal(g, e)
    elif isinstance(expected, np.ndarray | np.generic | float):
        assert np.asarray(got).dtype == np.asarray(expected).dtype and np.shape(got) == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    else:
        assert got == expected


def identical(actual, expected):
    assert type(actual) is type(expected), (type(actual), type(expected))
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected):
            identical(one, other)
    elif isinstance(expected, np.ndarray | np.generic):
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        np.testing.assert_array_equal(actual, expected)
    else:
        assert actual == expected or (actual != actual and expected != expected)


def located_outcome(fn, args):
    with np.errstate(all="ignore"):
        try:
            return fn(*args), None, None
        except Exception as error:
            return None, error, traceback.extract_tb(error.__traceback__)[-1].lineno


def clone(value):
    return value.copy(order="K") if isinstance(value, np.ndarray) and value.flags.forc else copy.copy(value)


def check(fn, *calls, native=True):
    """Every call gives what Python gives, and leaves its arguments as Python does, also the second time."""
    compiled = weft.compile(fn)
    for _ in range(2):
        for args in calls:
            mine, theirs = [clone(a) for a in args], [clone(a) for a in args]
            expected, expected_error, line = located_outcome(fn, theirs)
            actual, actual_error, actual_line = located_outcome(compiled, mine)
            assert type(actual_error) is type(expected_error), (actual_error, expected_error)
            if expected_error is not None:
                assert str(actual_error) == str(expected_error)
                assert actual_line == line
            else:
                identical(actual, expected)
            identical(mine, theirs)
    if native:
        kernels = (
            weft.compiler.explain(fn)(*[clone(a) for a in calls[0]]).kernels if expected_error is None else []
        )
        assert expected_error is not None or any(k["name"].startswith("loop_") for k in kernels)
    return compiled


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def product_into(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c
