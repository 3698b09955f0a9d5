"""Array statements in a native loop: a stencil over rows and columns, a ring, a mask, sums."""

import numpy as np


def diffusion(u, ring, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
        ring[:] = 0.5 * (np.roll(ring, 1) + ring)
        u[0][ring > 0.5] = 0.0
        ring -= u.sum(axis=0) * 0.01
    return u, ring


ARGUMENTS = np.ones((6, 5)), np.linspace(0.0, 1.0, 5), 40
