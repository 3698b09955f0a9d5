"""Complex numbers in a native loop, with a call of a function that is entered."""

import numpy as np


def size(z):
    return z.real * z.real + z.imag * z.imag


def escape(points, most):
    counts = np.zeros(len(points), np.int64)
    for i in range(len(points)):
        z = c = points[i]
        for _ in range(most):
            if size(z) > 4.0:
                break
            z = z * z + c
            counts[i] += 1
    return counts


ARGUMENTS = np.linspace(-2.0, 2.0, 8) * (1 + 0.5j), 30
BRANCHES = (3, 11)
