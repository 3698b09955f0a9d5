"""What the tests of native loops compare: results, or exceptions, of a compiled function and of Python's."""

import numpy as np


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
