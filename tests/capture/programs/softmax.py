"""Reductions along an axis; a function that is entered."""

import numpy as np


def shifted(x):
    return x - x.max(axis=-1, keepdims=True)


def softmax(x):
    weights = np.exp(shifted(x))
    return weights / weights.sum(axis=-1, keepdims=True)


ARGUMENTS = (np.ones((8, 16), np.float32),)
