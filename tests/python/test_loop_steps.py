"""Loops over ranges whose step is known only when they begin."""

import numpy as np
import pytest
import weft
from support.compare import check


def stores(a, b, low, high, step):
    for k in range(2):
        for j in range(low + k, high, step):
            a[j] = b[j] * 2 - k


def adds(a, b, low, high, step):
    total = 0.0
    for k in range(1, 4):
        for j in range(low, high, step * k):
            total += a[j] * k
    return total


def reads_what_it_stored(a, b, low, high, step):
    for _ in range(3):
        for j in range(low, high, step):
            a[j] = a[j - step] + b[j]


def uses_the_counter_behind(a, b, low, high, step):
    j = -1
    for k in range(3):
        for j in range(low, high, step):
            a[j] += k
    return j


def sieves(a, b, low, high, step):
    i = step
    while i < 20:
        for j in range(i * 2 + low, high, i):
            a[j] = 0.0
        i += 1


def branches(a, b, low, high, step):
    count = 0
    for i in range(low, high, step):
        for j in range(i, high, step):
            if a[j] > b[i]:
                count += 1
    return count


def outermost(a, b, low, high, step):
    for j in range(low, high, step):
        a[j] = a[j] + b[j] * j


def changes_the_step(a, b, low, high, step):
    for _ in range(3):
        for j in range(low, high, step):
            a[j] += 1
            step += 1
    return step


def indexes_otherwise(a, b, low, high, step):
    for _ in range(3):
        for j in range(low, high, step):
            a[j] = b[high - j - 1] + b[j // 2]


PROGRAMS = [
    stores,
    adds,
    reads_what_it_stored,
    uses_the_counter_behind,
    sieves,
    branches,
    outermost,
    changes_the_step,
]
PROGRAMS += [indexes_otherwise]
STEPS = [1, 2, 3, 7, 100, -1, -2, -5, 0, 2**50 - 1, 2**50, 2**61, 2**62, -(2**62)]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_steps(function):
    compiled = weft.compile(function)
    for size in (0, 1, 7, 300):
        ranges = [
            (0, size),
            (1, size),
            (size - 1, -1),
            (0, size + 1),
            (-3, size),
            (size, 0),
            (-(2**61), 5),
            (0, 2**61 - 1),
        ]
        for low, high in ranges:
            for step in STEPS:
                if (abs(high - low) > 1000 and abs(step) < 2**49) or (function is sieves and step < -100):
                    continue  # too many rounds
                a = np.arange(float(size))
                check(function, (a, a[::-1].copy(), low, high, step), rounds=1, compiled=compiled)
