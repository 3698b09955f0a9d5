"""Random arrays, their memory layouts, and how results are compared, for the tests of weft.nn.functional."""

import numpy as np
import weft

RANDOM = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def layouts(x):
    """The same array in other memory layouts: contiguous, channels last, every second element, reversed."""
    yield x
    yield np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield x[:, ::-1].copy()[:, ::-1]


def close(got, expected, rtol=1e-5, atol=1e-6):
    got = np.asarray(got)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def each_layout(function, x, expected, **tolerance):
    for array in layouts(x):
        close(function(weft.from_numpy(array)), expected.astype(x.dtype), **tolerance)


X = normal(3, 4, 5, 6) + 1
