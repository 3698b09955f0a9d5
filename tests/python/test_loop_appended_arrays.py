"""Native loops that append arrays to lists, comprehensions over many rounds, and arrays of long lists."""

import numpy as np
import pytest
import weft
from support.compare import assert_same

RNG = np.random.default_rng(5)


def history(x, n):
    states = [x]
    for _ in range(n):
        x = x - 0.1 * np.tanh(x)
        states.append(x)
    return states, x


def updated_after_it_was_appended(x, n):
    states = []
    for i in range(n):
        y = x * i
        states.append(y)
        y += 1
        states.append(y.copy())
        y[0] = -i
    y *= 2
    return states, y


def rows_and_pairs(x, n):
    rows, pairs = [], []
    for i in range(n):
        rows.append(x[i % 3])
        pairs.append((i, x[i % 3] + i, x[:2, 1]))
    rows[0][:] = 7.0
    return rows, pairs


def comprehensions(x, n):
    means = [np.sin(x * k).mean() for k in range(n)]
    table = [x[i % 3, j] * i for i in range(n) for j in range(3)]
    return np.array(means), np.array(table), [x[0] * k for k in range(n)]


def stacked(x, n):
    parts = []
    for i in range(n):
        parts.append(x @ x * i)
    return np.stack(parts), np.concatenate(parts, axis=1), np.vstack(parts)


def nothing_in_them(x, n):
    parts = []
    for i in range(n):
        parts.append(x[:0] * i)
    return parts


@pytest.mark.parametrize(
    "function",
    [history, updated_after_it_was_appended, rows_and_pairs, comprehensions, stacked, nothing_in_them],
)
def test_what_lists_hold(function):
    x = RNG.random((3, 3))
    compiled = weft.compile(function)
    for n in [80, 50, 301]:
        assert_same(compiled(x.copy(), n), function(x.copy(), n), rtol=1e-12)
    breaks = weft.compiler.explain(function)(x.copy(), 80).breaks
    assert all("loop" not in found.reason for found in breaks), breaks


def test_what_is_appended_and_a_variable_are_one_array():
    states, last = weft.compile(history)(RNG.random((3, 3)), 80)
    assert states[-1] is last
    assert not any(np.shares_memory(a, b) for a, b in zip(states, states[1:]))
    last += 1
    np.testing.assert_array_equal(states[-1], last)
    states, last = weft.compile(updated_after_it_was_appended)(RNG.random((3, 3)), 80)
    assert states[-2] is last


def test_many_arrays_stay_apart():
    states, _ = weft.compile(history)(RNG.random(5), 5000)
    expected, _ = history(states[0], 5000)
    np.testing.assert_allclose(np.array(states), np.array(expected), rtol=1e-12)
    assert len({state.ctypes.data for state in states}) == len(states)


def test_long_lists_of_any_length_become_arrays():
    @weft.compile(fullgraph=True)
    def doubled(numbers, arrays):
        return np.array(numbers) * 2, np.stack(arrays).sum(axis=0)

    for n in [33, 40, 100]:
        numbers, arrays = list(range(n)), [np.full(3, k) for k in range(n)]
        got = doubled(numbers, arrays)
        np.testing.assert_array_equal(got[0], np.arange(n) * 2)
        np.testing.assert_array_equal(got[1], np.full(3, n * (n - 1) // 2))
    with pytest.raises(ValueError, match="inhomogeneous"):
        doubled([[1], [1, 2]] * 20, arrays)
