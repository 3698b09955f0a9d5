"""A loop over a list of arrays: one graph holds all of its rounds."""

import numpy as np


def unrolled(x, weights):
    for i, weight in enumerate(weights):
        x = np.tanh(x @ weight)
        if i == 0:
            x = x * 2.0
    return x


ARGUMENTS = np.ones((2, 3)), [np.ones((3, 3)), np.ones((3, 4))]
