"""Native loops that put arrays together, turn them round and multiply small matrices: what NumPy gives."""

import numpy as np
import pytest
import weft
from support.compare import assert_same, check_loop


def levinson(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = alpha
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def flips(x, m, n):
    total = np.zeros_like(x)
    for i in range(n):
        total += np.flip(x) * i
        total[:i] -= np.flip(x[::-1][:i])
        m += np.flip(m) + np.flip(m, 0) * 2 - np.flip(m, axis=1) / 3 + np.flip(m * i, axis=-1)
    return total, m, np.flip(total)


def backward_dots(x, y, n):
    total = 0.0
    for i in range(n):
        total += np.dot(np.flip(x[:i]), y[:i]) + np.flip(y[:i]) @ x[:i] * 2 + x[:i][::-1] @ y[:i][::-1]
        total += np.flip(x[: 2 * i : 2]) @ y[:i]
    return total


def joins(x, m, n):
    kept = np.zeros((4, m.shape[1]))
    total = x[:0]
    for i in range(1, n):
        both = np.hstack((x[:i], x[i:] * 2, x[:0]))
        total = np.hstack([total, both[i : i + 2]])
        rows = np.vstack((m, m[0] - i, both[: m.shape[1]]))
        wide = np.concatenate((m, rows[:2] * 3), axis=1)
        tall = np.concatenate((m, np.hstack((wide[:, :1], wide[:, 2 : m.shape[1] + 1]))), 0)
        kept += tall + rows[: tall.shape[0]]
    return total, kept


def complex_joins(z, n):
    total = z * 0
    for i in range(1, n):
        total += np.flip(np.hstack((z[i:], z[:i])))
    return total


def products(A, B, n):
    total = np.zeros((A.shape[1], B.shape[2]), dtype=A.dtype)
    for i in range(n):
        total += A[i] @ B[i] + np.dot(B[i].T, A[i].T).T
        total += (A[i] * 2) @ B[i - n]
        total[:, 0] += A[i] @ B[i][:, 0] + B[i][:, 0] @ A[i].T
    return total


def mismatched(A, B, n):
    total = 0
    for i in range(n):
        total = total + (A[i] @ B[i]).sum()
    return total


rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def forget_captures():
    yield
    weft.compiler.reset()


def whole(*shape):
    """Numbers whose products can be added up in any order."""
    return rng.integers(-9, 9, shape).astype(float)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 16, 17, 33, 70])
def test_flipped_slices(size):
    r = rng.random(size) / size
    compiled = weft.compile(levinson)
    for _ in range(2):
        assert_same(compiled(r), levinson(r), rtol=1e-12)
    check_loop(backward_dots, (whole(2 * size), whole(2 * size), size), native=size > 30)
    check_loop(
        backward_dots,
        (whole(2 * size).astype(np.float32), whole(2 * size).astype(np.float32), size),
        native=False,
    )


def test_flipped_arrays():
    check_loop(flips, (rng.random(50), rng.random((3, 4)), 40), (rng.random(9), rng.random((4, 4)), 30))
    single = rng.random(80).astype(np.float32)
    check_loop(flips, (single[::2], rng.random((6, 8))[::2, ::-2], 40), native=False)


def test_arrays_put_together():
    check_loop(joins, (rng.random(60), rng.random((2, 4)), 40))
    check_loop(joins, (rng.random(120)[::-2], rng.random((2, 4)), 40))
    check_loop(complex_joins, (rng.random(60) + 1j * rng.random(60), 50))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize(
    "sizes", [(3, 3, 3), (1, 4, 2), (2, 0, 3), (10, 10, 10), (11, 3, 2), (2, 11, 3), (2, 3, 11)]
)
def test_products_of_small_matrices(dtype, sizes):
    rows, inner, columns = sizes

    def matrices(*shape):
        values = rng.integers(0, 9, shape).astype(dtype)  # sums of products are exact
        return values + 1j * values[::-1] if dtype == np.complex128 else values

    A, B = matrices(40, rows, inner), matrices(40, inner, columns)
    check_loop(products, (A, B, 40), (A[:, ::-1], B.transpose(0, 2, 1).copy().transpose(0, 2, 1), 40))


def test_products_that_do_not_fit_raise():
    A, B = rng.random((40, 2, 4)), rng.random((40, 3, 2))
    check_loop(mismatched, (A, B, 40), native=False)
    check_loop(mismatched, (A + 1j, B + 1j, 40), native=False)
