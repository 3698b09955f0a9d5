"""Results against NumPy in float64, with the tolerance of their dtype."""

import numpy as np
import weft

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12, np.float16: 2e-3}


def close(actual, expected, dtype):
    actual = actual.numpy()
    assert actual.dtype == dtype and actual.shape == expected.shape
    np.testing.assert_allclose(
        actual.astype(np.float64),
        expected,
        rtol=0,
        atol=TOLERANCE[dtype] * max(1, np.abs(expected).max(initial=0)),
    )


def rounded(arrays, dtype):
    return [a.astype(dtype).astype(np.float64) for a in arrays]


def tensors(arrays, dtype):
    return [weft.from_numpy(np.ascontiguousarray(a.astype(dtype))) for a in arrays]
