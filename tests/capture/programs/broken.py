"""A condition on elements, and a text of them: two places where the graph ends and Python goes on."""

import numpy as np


def broken(x):
    total = (x * x).sum()
    if total > 1.0:
        x = x / np.sqrt(total)
    text = f"{x[0]:.2f}"
    return np.cos(x) + len(text)


ARGUMENTS = (np.ones(5),)
BRANCHES = (3, 11)
