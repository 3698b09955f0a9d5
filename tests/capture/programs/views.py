"""Slices of slices, reshapes and transposed views: none of them copies."""

import numpy as np


def views(x):
    inner = x[1:-1, ::2]
    return (inner.T.reshape(-1) + inner[::-1].T.ravel()).reshape(inner.shape[::-1])


ARGUMENTS = (np.ones((6, 8)),)
