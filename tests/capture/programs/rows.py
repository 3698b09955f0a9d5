"""Rounds that write to places of their own: pieces of the loop run on several threads."""

import numpy as np


def rows(x, out):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            if x[i, j] > 0.0:
                total += x[i, j]
        out[i] = total


ARGUMENTS = np.ones((6, 5)), np.zeros(6)
BRANCHES = (3, 11)
