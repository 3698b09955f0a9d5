"""numpy.errstate, seterr and geterr inside compiled functions."""

import traceback

import numpy as np
import pytest
import weft

VALUES = np.array([1.0, 0.0, -2.0, 1e308, 1e-308])
calls = []


def ignores(x):
    with np.errstate(all="ignore"):
        y = 1 / x
        z = np.log(x)
    return y + z


def raises(x):
    y = x * 2
    with np.errstate(divide="raise"):
        return 1 / y


def handles(x):
    try:
        with np.errstate(all="raise"):
            y = 1 / x
    except FloatingPointError as error:
        calls.append(str(error))
        y = x * 0
    return y


def sets(x):
    old = np.seterr(all="ignore", over="raise")
    try:
        return np.exp(x), np.geterr()
    except FloatingPointError as error:
        return str(error), np.geterr()
    finally:
        np.seterr(**old)


@np.errstate(invalid="raise")
def decorated(x):
    return np.sqrt(x) + 1


def calls_back(x):
    with np.errstate(divide="call", call=lambda kind, flag: calls.append((kind, flag))):
        return 1 / x + 1


def underflows(x):
    with np.errstate(under="raise"):
        return x * 1e-10


def exponentials(x):
    with np.errstate(under="raise"):
        return np.exp(x * -100)


def in_a_loop(x):
    for k in range(3):
        with np.errstate(divide="ignore", invalid="ignore"):
            x = x / k
    return x


def integers(x):
    with np.errstate(divide="raise"):
        return 3 // x.astype(np.int64)


def updates(x):
    with np.errstate(divide="raise"):
        x += 1
        x /= x - 2
    return x


FUNCTIONS = [
    ignores,
    raises,
    handles,
    sets,
    decorated,
    calls_back,
    underflows,
    exponentials,
    in_a_loop,
    integers,
    updates,
]


def observed(function, argument):
    """What the function returns or raises, and on which line; what it called, and what its argument then holds."""
    calls.clear()
    argument = argument.copy()
    try:
        result = repr(function(argument))
    except FloatingPointError as error:
        result = str(error), traceback.extract_tb(error.__traceback__)[-1].lineno
    return result, list(calls), argument.tolist(), np.geterr()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_states_inside_functions_are_honoured(function):
    compiled = weft.compile(function)
    for argument in (np.array([3.0, 4.0]), VALUES, np.array([100.0, 1000.0]), np.array([3.0, 4.0])):
        expected = observed(function, argument)
        for _ in range(2):
            assert observed(compiled, argument) == expected


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_states_inside_functions_break_no_graph(function):
    assert ", 0 breaks" in str(weft.compiler.explain(function)(np.array([3.0, 4.0])))


def test_compiled_code_runs_where_errors_are_raised():
    compiled = weft.compile(raises)
    runs = weft.compiler.stats()["runs"]
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(compiled(np.array([2.0, 4.0])), [0.25, 0.125])
    assert weft.compiler.stats()["runs"] > runs
