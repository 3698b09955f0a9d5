"""Results whose size depends on values: masks, positions, sets and counts. They end a segment, and do not break the graph."""

import numpy as np
import pytest
import weft
from support.compare import assert_same

rng = np.random.default_rng(7)
x = rng.random((6, 7))
cube = rng.random((3, 4, 5))
k = rng.integers(0, 10, 20)
i = rng.integers(3, 15, (4, 4))


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, cube: x[x > 0.5],
        lambda x, cube: x.T[x.T > 0.5],
        lambda x, cube: x[x > 2],
        lambda x, cube: x[x[:, 0] > 0.5],
        lambda x, cube: x[x[:, 0] > 0.5, 2],
        lambda x, cube: x[None, x[:, 0] > 0.5],
        lambda x, cube: cube[:, x[:4, 0] > 0.5],
        lambda x, cube: cube[cube[:, :, 0] > 0.5],
        lambda x, cube: cube[..., x[0, :5] > 0.5],
        lambda x, cube: x[np.array([0, 2]), :][:, x[0] > 0.5],
        lambda x, cube: x[np.ix_(x[:, 0] > 0.5, [1, 2])],
        lambda x, cube: np.nonzero(cube > 0.5),
        lambda x, cube: (x[x > 0.5] * 2).sum() + x[x < 0.1].size,
        lambda x, cube: np.delete(x, x[0] > 0.5, axis=1),
    ],
)
def test_masks(function):
    compiled = weft.compile(function, fullgraph=True)
    for _ in range(2):
        assert_same(compiled(x, cube), function(x, cube))
    assert weft.compiler.stats()["breaks"] == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda k, i: np.unique(k),
        lambda k, i: np.unique(i, return_index=True, return_inverse=True, return_counts=True),
        lambda k, i: np.unique(np.where(k > 4, np.nan, k)),
        lambda k, i: np.union1d(k, i),
        lambda k, i: np.intersect1d(k, i),
        lambda k, i: np.setxor1d(k, i),
        lambda k, i: np.setdiff1d(k, i),
        lambda k, i: np.setdiff1d(k, i, assume_unique=True),
        lambda k, i: np.bincount(k, weights=k * 0.5, minlength=30),
        lambda k, i: np.bincount(k.astype(np.uint8)),
        lambda k, i: np.bincount(k[k > 100]),
    ],
)
def test_sets_and_counts(function):
    compiled = weft.compile(function, fullgraph=True)
    for _ in range(2):
        assert_same(compiled(k, i), function(k, i))


def test_a_hundred_counts_do_not_compile_a_hundred_times():
    def function(x):
        chosen = x[x > 0.5]
        return (chosen * 2).sum(), np.flatnonzero(x)[-1:], chosen.size

    compiled = weft.compile(function, fullgraph=True)
    for count in range(100):
        values = np.zeros(1000)
        values[: count * 7] = 1
        assert_same(compiled(values), function(values))
    stats = weft.compiler.stats()
    assert stats["captures"] <= 10
    assert stats["eager_calls"] == 0
    assert len(weft.compiler.explain(function)(values).breaks) == 0


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: x[np.ones(3, bool) & (x[:3, 0] > 0)], IndexError),
        (lambda x: np.bincount((x[0] * 0 - 1).astype(int)), ValueError),
    ],
)
def test_errors_are_numpys(function, error):
    with pytest.raises(error) as expected:
        function(x)
    with pytest.raises(error) as actual:
        weft.compile(function)(x)
    assert str(actual.value) == str(expected.value)


def doubled(x):
    x[x > 0.5] = x[x > 0.5] * 2
    return x


def increased(x):
    x[x > 0.5] += 1
    return x


def of_nothing(x):
    x[x > 100] += 1
    return x


def rows(x):
    x[x[:, 0] > 0.5] = np.arange(7.0)
    return x


def one_value(x):
    x[x > 0.5] = [3]
    return x


@pytest.mark.parametrize("function", [doubled, increased, of_nothing, rows, one_value])
def test_assignment_of_several_values(function):
    compiled = weft.compile(function, fullgraph=True)
    for _ in range(2):
        assert_same(compiled(x.copy()), function(x.copy()))


def test_assignment_of_too_few_values_is_numpys_error():
    def function(x):
        x[x > 0.5] = [1.0, 2.0]

    with pytest.raises(ValueError, match="NumPy boolean array indexing assignment"):
        weft.compile(function)(x.copy())


def test_masks_in_a_loop_over_a_list():
    def function(arrays):
        out = []
        for array in arrays:
            out.append((array[array > 0.5] * 2).max())
        return out

    compiled = weft.compile(function, fullgraph=True)
    arrays = [x.ravel(), x.ravel() * 2, x.ravel() / 3 + 0.3]
    for _ in range(2):
        assert_same(compiled(arrays), function(arrays))
