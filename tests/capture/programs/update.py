"""Assignments to parts of an argument, which the program sees in order."""

import numpy as np


def update(x, y):
    x[1:-1] += y[:-2] - 2.0 * y[1:-1] + y[2:]
    x[0] = x[1]
    return x.sum()


ARGUMENTS = np.zeros(10), np.ones(10)
