"""numpy.where, comparisons, a mean over what is selected."""

import numpy as np


def selection(x, low):
    inside = (x > low) & (x < 2.0)
    return np.where(inside, np.sqrt(x), -x), x[inside].mean()


ARGUMENTS = np.linspace(0.0, 4.0, 12), 0.5
