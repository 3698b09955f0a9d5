"""Functions that run step by step when compiled: their calls are timed, and Python performs them where it is faster."""

import numpy as np
import pytest
import weft


@pytest.fixture
def counters():
    weft.compiler.reset()
    return lambda: weft.compiler.stats()["eager_calls"]


def test_calls_go_to_python_where_it_is_faster(counters):
    compiled = weft.compile(rounds_of_objects)
    for _ in range(30):
        assert compiled("round and round it goes " * 60) == rounds_of_objects("round and round it goes " * 60)
    assert counters() >= 3


def rounds_of_objects(text):
    counts = {}
    total = 0
    for i in range(len(text)):
        counts[text[i]] = counts.get(text[i], 0) + 1
        total += len(counts)
    return counts, total


def test_fullgraph_and_other_floats_stay_compiled(counters):
    compiled = weft.compile(rounds_of_objects)
    with weft.config.patch(numpy_default_float="float32"):
        for _ in range(30):
            compiled("round and round it goes " * 60)
    assert counters() == 0


def test_native_loops_stay_compiled(counters):
    def sums(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i] * i
        return total

    compiled = weft.compile(sums)
    x = np.linspace(0.0, 1.0, 500)
    for _ in range(30):
        assert compiled(x) == sums(x)
    assert counters() == 0


def test_what_is_raised_is_raised_in_either_way(counters):
    compiled = weft.compile(rounds_of_objects)
    for _ in range(30):
        compiled("round and round it goes " * 60)
        with pytest.raises(TypeError, match="has no len"):
            compiled(3)


def test_small_functions_with_a_break_cost_what_they_cost_in_python(counters, capfd):
    def halved(x):
        if x[0] > 0.5:
            return x / 2
        return x * 2

    compiled = weft.compile(halved)
    low, high = np.linspace(0.0, 1.0, 9), np.linspace(1.0, 2.0, 9)
    for _ in range(5000):
        for x in (low, high):
            np.testing.assert_array_equal(compiled(x), halved(x))
    assert "runs as it is" not in capfd.readouterr().err
    assert counters() > 0


def test_what_python_runs_faster_stays_right_when_the_function_changes(counters):
    """Calls of one size after the other are left to Python without a look: other sizes, other code, a reset."""

    def small(x, k=1):
        if x.sum() > 0:
            return x + k
        return x - k

    def other(x, k=1):
        return x * 100 * k

    compiled = weft.compile(small)
    x, longer = np.ones(3), np.ones(3000)
    for _ in range(40):
        assert compiled(x).tolist() == [2.0] * 3
        assert compiled(x, 2).tolist() == [3.0] * 3
        assert compiled(x, k=2).tolist() == [3.0] * 3
        assert compiled(-longer)[0] == -2.0
        with pytest.raises(TypeError, match="positional argument"):
            compiled(x, 1, 2)
    compiled.__wrapped__.__code__ = other.__code__
    for _ in range(10):
        assert compiled(x).tolist() == [100.0] * 3
    weft.compiler.reset()
    before = counters()
    assert compiled(x).tolist() == [100.0] * 3 and counters() == before
    with weft.config.patch(numpy_default_float="float32"):
        assert compiled(x).tolist() == [100.0] * 3
