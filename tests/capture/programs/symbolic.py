"""A size and a number that change are symbolic from the second call on."""

import numpy as np


def symbolic(x, n):
    return np.cos(x[1:]) * n + len(x)


CALLS = (np.ones(4), 2), (np.ones(7), 3)
