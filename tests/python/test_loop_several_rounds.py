"""Loops of which four rounds stand behind one another: any number of rounds, left in any of them."""

import numpy as np
import pytest
import weft


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


def outcome(function, a, c):
    try:
        return repr((function(a, c), a, c))
    except Exception as error:
        return repr((type(error), str(error), a, c))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_any_number_of_rounds(function, dtype):
    compiled = weft.compile(function)
    for n in [*range(14), 61]:
        a = (np.arange(n) * 7 % 5).astype(dtype)
        assert outcome(compiled, a.copy(), np.arange(5)) == outcome(function, a.copy(), np.arange(5))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("wrong", [5, 200, -1, -5, -6, -(1 << 63)])
def test_an_index_from_elsewhere(function, wrong):
    compiled = weft.compile(function)
    for place in range(13):
        a = np.arange(13) % 5
        a[place] = wrong
        assert outcome(compiled, a.copy(), np.arange(5)) == outcome(function, a.copy(), np.arange(5))


@pytest.mark.parametrize("function", FUNCTIONS[:3])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_count_that_overflows(function):
    compiled = weft.compile(function)
    for place in range(5):
        c = np.zeros(5, np.int64)
        c[place] = np.iinfo(np.int64).max - 1
        a = np.arange(16) % 5
        assert outcome(compiled, a, c.copy()) == outcome(function, a, c.copy())


def test_indices_that_are_the_counts():
    compiled = weft.compile(count)
    for n in range(9):
        a, b = np.arange(n), np.arange(n)
        assert outcome(compiled, a, a) == outcome(count, b, b)


def test_negative_and_other_indices_in_turn():
    compiled = weft.compile(count)
    a = np.random.default_rng(0).integers(-100, 100, 5000)
    c, expected = np.zeros(100, np.int64), np.zeros(100, np.int64)
    assert compiled(a, c) == 5000
    np.add.at(expected, a, 1)
    np.testing.assert_array_equal(c, expected)
