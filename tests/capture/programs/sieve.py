"""A list that a native loop appends to, and a step that is known when it runs."""

import numpy as np


def sieve(limit):
    composite = np.zeros(limit, bool)
    primes = []
    for i in range(2, limit):
        if not composite[i]:
            primes.append(i)
            for j in range(i * i, limit, i):
                composite[j] = True
    return primes


ARGUMENTS = (60,)
BRANCHES = (3, 11)
