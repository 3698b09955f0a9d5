"""Products of shapes that have a way of their own, beside NumPy's."""

import numpy as np
import pytest
import weft

rng = np.random.default_rng(5)


@pytest.mark.parametrize(
    "m, n, k", [(300, 8, 4000), (2000, 3, 700), (13, 12, 3000), (12, 12, 3000), (100, 13, 900)]
)
def test_a_transposed_matrix_times_a_few_columns(m, n, k):
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((k, m), (k, n)))
    got = (weft.from_numpy(a).transpose(0, 1) @ weft.from_numpy(b)).numpy()
    exact = a.T.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(got, exact, atol=1e-4 * k**0.5, rtol=0)
    part = weft.from_numpy(a)[:, 1:].transpose(0, 1) @ weft.from_numpy(b)
    np.testing.assert_allclose(part.numpy(), exact[1:], atol=1e-4 * k**0.5, rtol=0)


@pytest.mark.parametrize("k", [0, 1, 3, 8, 9])
@pytest.mark.parametrize("m, n", [(1, 4), (2, 2), (3, 3), (4, 4), (8, 8), (5, 9), (7, 1), (9, 7)])
def test_stacks_of_tiny_matrices(m, n, k):
    a, b = rng.standard_normal((6, m, k)), rng.standard_normal((6, k, n))
    for left in (a, a.transpose(0, 2, 1).copy().transpose(0, 2, 1), np.repeat(a, 2, 2)[:, :, ::2]):
        for right in (b, b.transpose(0, 2, 1).copy().transpose(0, 2, 1), b[:1]):
            got = (weft.from_numpy(left) @ weft.from_numpy(right)).numpy()
            np.testing.assert_allclose(got, left @ right, rtol=1e-13, atol=1e-13)
    x = rng.standard_normal((4, 5, 6))
    symmetric = (weft.from_numpy(x) @ weft.from_numpy(x).transpose(1, 2)).numpy()
    np.testing.assert_array_equal(symmetric, symmetric.transpose(0, 2, 1))
