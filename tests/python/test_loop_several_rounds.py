"""Loops of which four rounds stand behind one another: any number of rounds, left in any of them."""

import numpy as np
import pytest
import weft
from support.compare import check


def count(a, c):
    done = 0
    for x in a:
        c[x] += 1
        done += 1
    return done


def count_backwards(a, c):
    done = 0
    for i in range(len(a) - 1, -1, -1):
        c[a[i]] += 1
        done += 1
    return done


def count_some(a, c):
    done = 0
    for i in range(1, len(a), 3):
        c[a[i]] += 1
        done += 1
    return done


def spread(a, c):
    for i in range(len(a)):
        a[i] = c[a[i]]


FUNCTIONS = [count, count_backwards, count_some, spread]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_any_number_of_rounds(function, dtype):
    compiled = weft.compile(function)
    for n in [*range(14), 61]:
        a = (np.arange(n) * 7 % 5).astype(dtype)
        check(function, (a, np.arange(5)), rounds=1, compiled=compiled)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("wrong", [5, 200, -1, -5, -6, -(1 << 63)])
def test_an_index_from_elsewhere(function, wrong):
    compiled = weft.compile(function)
    for place in range(13):
        a = np.arange(13) % 5
        a[place] = wrong
        check(function, (a, np.arange(5)), rounds=1, compiled=compiled)


@pytest.mark.parametrize("function", FUNCTIONS[:3])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_count_that_overflows(function):
    compiled = weft.compile(function)
    for place in range(5):
        c = np.zeros(5, np.int64)
        c[place] = np.iinfo(np.int64).max - 1
        a = np.arange(16) % 5
        check(function, (a, c), rounds=1, compiled=compiled)


def test_indices_that_are_the_counts():
    compiled = weft.compile(count)
    for n in range(9):
        a = np.arange(n)
        check(count, (a, a), rounds=1, compiled=compiled)


def test_negative_and_other_indices_in_turn():
    compiled = weft.compile(count)
    a = np.random.default_rng(0).integers(-100, 100, 5000)
    c, expected = np.zeros(100, np.int64), np.zeros(100, np.int64)
    assert compiled(a, c) == 5000
    np.add.at(expected, a, 1)
    np.testing.assert_array_equal(c, expected)
