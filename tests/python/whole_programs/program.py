"""The table of programs, and the arrays that they are called with."""

import numpy as np

PROGRAMS = {}
X = np.linspace(0.1, 1, 12).reshape(3, 4)
V = np.arange(6.0)


def program(*arguments):
    """Lists a function with the arguments that it is called with."""

    def register(function):
        assert function.__name__ not in PROGRAMS, function.__name__
        PROGRAMS[function.__name__] = function, arguments
        return function

    return register
