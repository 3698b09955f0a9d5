"""Reductions of columns by kernels of the build, beside NumPy's."""

import numpy as np
import pytest
import weft


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 6, 9, 33, 200])
@pytest.mark.parametrize("columns", [8, 511, 512, 513, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
def test_extremes_of_columns(rows, columns, dtype):
    x = (np.random.default_rng(24).standard_normal((rows, columns)) * 9).astype(dtype)
    if dtype != np.int32:
        x[rows // 2, ::3], x[0, ::5], x[rows - 1, 1] = np.nan, -0.0, np.inf
    for array in (x, np.repeat(x, 2, 1)[:, ::2], np.stack([x, -x])):
        for function, expected in ((weft.amax, np.max), (weft.amin, np.min)):
            np.testing.assert_array_equal(function(weft.from_numpy(array), -2).numpy(), expected(array, -2))
