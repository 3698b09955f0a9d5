"""Magnitudes of complex elements against a limit, which their squares decide; elements that a mask chooses."""

import numpy as np


def mandelbrot(c, steps):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, np.int64)
    for n in range(steps):
        inside = np.abs(z) <= 2.0
        z[inside] = z[inside] * z[inside] + c[inside]
        counts[inside] = n
    return counts


ARGUMENTS = (np.linspace(-2.0, 1.0, 12).reshape(3, 4) + 0.4j).T, 40
