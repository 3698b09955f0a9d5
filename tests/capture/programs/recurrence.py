"""Elements that depend on the ones before: the loop carries them in registers, and checks its bounds once."""

import numpy as np


def recurrence(x, a):
    out = np.zeros_like(x)
    for i in range(1, len(x)):
        out[i] = a * out[i - 1] + x[i]
    return out


ARGUMENTS = np.ones(10), 0.5
