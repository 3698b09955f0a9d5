"""Native loops over slices and whole arrays: what NumPy gives, element by element, with its errors and its views."""

import copy
import traceback

import numpy as np
import pytest
import weft
from support.compare import assert_same, check


def forward_substitution(L, b):
    x = np.zeros_like(b)
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def orthonormal(A):
    Q = np.zeros_like(A)
    for k in range(A.shape[1]):
        Q[:, k] = A[:, k] / np.sqrt(np.dot(A[:, k], A[:, k]))
        for j in range(k + 1, A.shape[1]):
            A[:, j] -= Q[:, k] * np.dot(Q[:, k], A[:, j])
    return Q


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for item in range(weights.size):
        w = weights[item]
        best[w:] = np.maximum(best[w:], best[:-w] + values[item])
    return best


def seam(energy):
    cost = energy.copy()
    for i in range(1, cost.shape[0]):
        above = cost[i - 1]
        left = np.concatenate([above[:1], above[:-1]])
        right = np.concatenate([above[1:], above[-1:]])
        cost[i] += np.minimum(above, np.minimum(left, right))
    return cost, cost[-1].min()


def conjugate_gradient(A, b, tolerance):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rr = r @ r
    while rr > tolerance:
        Ap = A @ p
        step = rr / (p @ Ap)
        x = x + step * p
        r = r - step * Ap
        after = r @ r
        p = r + (after / rr) * p
        rr = after
    return x


def shifted(a, n):
    for i in range(1, n):
        a[i:] += a[:-i]
        a[:-1] = a[1:] * 0.5
        a[::2] -= a[::-1][::2]
    return a


def folds(a, n):
    totals = np.zeros((n, 6))
    for i in range(1, n):
        part = a[i:] * 2 - a[:-i]
        totals[i, 0] = part.sum()
        totals[i, 1] = np.max(part)
        totals[i, 2] = part.min()
        totals[i, 3] = part.argmax()
        totals[i, 4] = np.argmin(part[::-1])
        totals[i, 5] = part.mean()
    return totals


def folds_along_axes(a, n):
    rows = np.zeros((n, 7))
    for i in range(n):
        part = a[i : i + 3, ::2] if i % 2 else a[i : i + 3, :7].T[:3]
        rows[i] = (part + 1).max(axis=0)[:7].sum() + a[i]
        rows[i, :2] += np.sum(part, axis=1)[:2] + part.min(0)[:2]
        rows[i, :1] += np.argmax(part, axis=0)[:1] - a[:, :7].argmin(axis=1)[:1] + a.sum(axis=-2)[:1]
    return rows


def swapped(a, b, steps):
    for k in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a, b = b, a
    return a, b


def many_dimensions(a, n):
    out = np.zeros_like(a)
    for i in range(n):
        row = a[i]
        out[i] = row[None, :, 0] * row[:, None, 1] + a[..., i, :1].T
        out[:, i, ::-1] += a[i, :, :2] @ a[:2, i, :]
        out[i, 1:, 1:] = np.where(out[i, :-1, :-1] > 0.5, out[i, 1:, 1:], -1)
    return out


def mixed_types(a, b, n):
    for i in range(n):
        a[i:] = b[: a.size - i] + i
        b[i] = a[i] > 2
        a[:i] *= 2
    return a, b


def kept(a, n):
    older = a
    old = a
    for i in range(n):
        older = old
        old = a
        a = a * 0.5 + i
    return older, old, a


def updated_in_place(a, n):
    p = a
    q = a[2:]
    for i in range(n):
        p += 1
        q *= 2
        r = p[1:]
        r[i % 3] = i
    return p, q, a


def inputs(name, n):
    rng = np.random.default_rng(n)
    return {
        "forward_substitution": lambda: (np.tril(rng.random((n, n))) + 2 * np.eye(n), rng.random(n)),
        "orthonormal": lambda: (rng.random((n + 2, n)) + np.eye(n + 2, n) * 5,),
        "knapsack": lambda: (rng.integers(1, 9, n), rng.integers(1, 100, n), 7 * n),
        "seam": lambda: (rng.random((n, 17)),),
        "conjugate_gradient": lambda: (np.diag(rng.random(n) + 1) + 0.01, rng.random(n), 1e-12),
        "shifted": lambda: (rng.standard_normal(n + 3), n),
        "folds": lambda: (rng.standard_normal(n + 40), n),
        "folds_along_axes": lambda: (rng.standard_normal((n + 3, 7)), n),
        "swapped": lambda: (rng.random(n + 2), rng.random(n + 2), 9),
        "many_dimensions": lambda: (rng.standard_normal((n, n, n)), n),
        "mixed_types": lambda: (rng.standard_normal(n), rng.integers(0, 9, n).astype(np.int32), n),
        "kept": lambda: (rng.standard_normal(n), n),
        "updated_in_place": lambda: (rng.standard_normal(n + 4), n),
    }[name]()


PROGRAMS = [
    forward_substitution, orthonormal, knapsack, seam, conjugate_gradient, shifted, folds, folds_along_axes, swapped,
    many_dimensions, mixed_types, kept, updated_in_place,
]  # fmt: skip


CLOSE = {"rtol": 1e-12, "atol": 1e-13}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program):
    calls = (tuple(inputs(program.__name__, n)) for n in (20, 33, 3, 64))
    check(program, *calls, rounds=1, **CLOSE)


def test_results_alias_as_in_numpy():
    a = np.arange(40.0)
    p, q, same = weft.compile(updated_in_place)(a, 20)
    assert p is a and same is a
    assert np.shares_memory(q, a)
    assert not np.shares_memory(*weft.compile(kept)(a, 20)[1:])


def row_of_loop(a, n):
    total = a[0] * 0
    for i in range(n):
        total = total + a[i]
    return total


def test_result_is_an_array_of_its_own():
    a = np.ones((30, 5))
    compiled = weft.compile(row_of_loop)
    first, second = compiled(a, 30), compiled(a, 30)
    first[:] = -1
    assert second.tolist() == [30.0] * 5
    assert first.flags.c_contiguous and first.flags.writeable


def fails_to_broadcast(a, n):
    for i in range(n):
        a[:i] = a[: i + 1 + i // 20] * 2 if i > 25 else 0
    return a


def index_out_of_range(a, n):
    for i in range(n):
        a[i, 1:] = a[i + 1, :-1]
    return a


def empty_maximum(a, n):
    for i in range(n):
        a[i] = a[i : n - 1].max()
    return a


@pytest.mark.parametrize(
    "program, shape", [(fails_to_broadcast, (40,)), (index_out_of_range, (40, 5)), (empty_maximum, (40,))]
)
def test_errors(program, shape):
    def raised(function):
        a = np.arange(float(np.prod(shape))).reshape(shape)
        with pytest.raises(Exception) as caught:
            function(a, 40)
        line = traceback.extract_tb(caught.value.__traceback__)[-1].line
        return type(caught.value), str(caught.value), line, a.tolist()

    assert raised(weft.compile(program)) == raised(program)


def test_read_only():
    def fill(a, n):
        for i in range(n):
            a[i:] = i
        return a

    a = np.zeros(30)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        weft.compile(fill)(a, 30)


def extremum_of_types(a, n):
    total = 0
    out = np.zeros((n, 3))
    for i in range(1, n):
        x = max(0.0, a[i], i - 10, a[i - 1] * 2)
        y = min(a[i], 3, i, -0.0)
        out[i, 0], out[i, 1] = x, y
        out[i, 2] = max(i % 3, 2, np.int64(1))
        total = total + x
    return out, total, type(x), type(y)


def test_extremum_of_numbers_of_different_types():
    a = np.random.default_rng(1).standard_normal(60) * 10
    got, expected = weft.compile(extremum_of_types)(a, 60), extremum_of_types(a, 60)
    assert_same(got[:2], expected[:2], **CLOSE)
    assert got[2:] == expected[2:]


def rolls(a, b, n):
    for i in range(n):
        a = np.roll(a, 1, 0) + np.roll(a, -1, 0) * 0.25 + np.roll(a, i - 7, 1) - np.roll(a.T, i * 5, -1).T
        b = np.roll(b, i * i - 9) + np.roll(b[::-1], 3) - np.roll(a * 0.5, i, 0)[-1, :]
    return a, b


@pytest.mark.parametrize("shape", [(5, 4), (1, 3), (4, 1), (6, 6)])
def test_rolls(shape):
    a = np.random.default_rng(2).random(shape)
    assert_same(weft.compile(rolls)(a, a[0].copy(), 30), rolls(a, a[0].copy(), 30), **CLOSE)


def rolls_where_they_are_read(u, n):
    total, columns = 0.0, np.zeros(u.shape[1])
    for i in range(n):
        u[:] = u * 0.9 + 0.1 * np.roll(np.roll(u, i, 0), -i, 1)
        total += (np.roll(u, i - 10, 1) * u).sum() + np.roll(u[0], i)[0] + np.roll(u[:, 0], i, -1).max()
        columns += np.roll(u, i, 1).sum(axis=0) + np.roll(np.roll(u, i, 0), 2, 0).max(axis=0)
        u[i % len(u)] += np.roll(u[0], 2) + np.roll(u[:1], 1, 1)[0]
    return u, total, columns


@pytest.mark.parametrize("shape", [(7, 40), (1, 3), (4, 1), (150, 300)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rolls_where_they_are_read(shape, order):
    u = np.asarray(np.random.default_rng(3).random(shape), order=order)
    expected = rolls_where_they_are_read(u.copy("K"), 25)
    assert_same(weft.compile(rolls_where_they_are_read)(u.copy("K"), 25), expected, **CLOSE)


def neighbours(u, n):
    for i in range(n):
        u = np.roll(u, 1, 0) + np.roll(np.roll(u, -1, 1), i, 0) - u
    return u


def test_rolls_make_no_arrays():
    (kernel,) = weft.compiler.explain(neighbours)(np.ones((6, 6)), 30).kernels
    assert kernel["source"].count("c_allocate(") == 2  # of the argument, and of what the loop made


def test_rolls_of_nothing_and_along_an_axis_that_is_not_there():
    empty = np.zeros((0, 3))

    def along(a, axis, n):
        for i in range(n):
            a = np.roll(a, i, axis)
        return a

    assert_same(weft.compile(along)(empty, 0, 30), empty, **CLOSE)
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        weft.compile(along)(empty, 2, 30)


def until_stable(a, n):
    for _ in range(n):
        a[1:] = a[:-1] * 0.5
    return a, a.std(ddof=1)


def test_method_of_an_array_behind_a_loop_is_compiled_once():
    compiled = weft.compile(until_stable)
    before = weft.compiler.stats()["recompiles"]
    for _ in range(12):
        a = np.random.default_rng(5).random(20)
        assert_same(compiled(a.copy(), 40), until_stable(a, 40), **CLOSE)
    assert weft.compiler.stats()["recompiles"] == before


def window_sums(image, weights):
    k = weights.shape[0]
    size = image.shape[1] - k + 1
    result = np.empty((image.shape[0], size, size, weights.shape[3]))
    for i in range(size):
        for j in range(size):
            patch = image[:, i : i + k, j : j + k, :, None]
            result[:, i, j, :] = np.sum(patch * weights[None], axis=(1, 2, 3))
    return result


def test_rounds_of_their_own_are_compiled_for_every_counter():
    rng = np.random.default_rng(5)
    image, weights = rng.random((2, 30, 30, 3)), rng.random((3, 3, 3, 4))
    compiled = weft.compile(window_sums)
    before = weft.compiler.stats()["recompiles"]
    assert_same(compiled(image, weights), window_sums(image, weights), **CLOSE)
    assert weft.compiler.stats()["recompiles"] == before


@pytest.mark.parametrize("n", [1, 2, 4, 9])
def test_few_rounds(n):
    for program in PROGRAMS:
        mine, theirs = (copy.deepcopy(inputs(program.__name__, n)) for _ in range(2))
        if program in (folds, many_dimensions) and n < 3:
            continue
        assert_same(weft.compile(program)(*mine), program(*theirs), **CLOSE)


def outer_results(a, b, n):
    for k in range(n):
        c = np.multiply.outer(a, b[k:]) + np.less.outer(a, b[k:])
        d = np.outer(a, b[k:]) - np.maximum.outer(a, b[k:])
    return c, d


def test_outer_of_ufuncs_is_native():
    arguments = np.linspace(-1, 2, 7), np.linspace(2, -3, 30), 20
    for got, expected in zip(weft.compile(outer_results)(*arguments), outer_results(*arguments)):
        np.testing.assert_array_equal(got, expected, strict=True)
    assert not weft.compiler.explain(outer_results)(*arguments).breaks
