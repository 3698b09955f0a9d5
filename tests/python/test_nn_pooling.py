"""Pooling of weft.nn.functional against windows written out in NumPy, and what is refused."""

import itertools
import math

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from nn_arrays import RANDOM, close, layouts, normal


def windows(size, kernel, stride, padding, dilation=1, ceil_mode=False):
    """(positions inside the input, number of positions padding included) of every window along one dimension."""
    span = dilation * (kernel - 1) + 1
    count = (size + 2 * padding - span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    starts = [i * stride - padding for i in range(count)]
    inside = [[j for j in range(start, start + span, dilation) if 0 <= j < size] for start in starts]
    return [
        (positions, min(start + span, size + padding) - start) for positions, start in zip(inside, starts)
    ]


def adaptive(size, count):
    return [(range(i * size // count, -(-(i + 1) * size // count)), 0) for i in range(count)]


def pool(x, per_dimension, reduce):
    """reduce(elements of a window, its extent) over the windows of the trailing dimensions."""
    rank = len(per_dimension)
    lead = x.shape[:-rank]
    result = np.empty(lead + tuple(map(len, per_dimension)), x.dtype)
    for at in itertools.product(*(range(len(each)) for each in per_dimension)):
        chosen = [each[i] for each, i in zip(per_dimension, at)]
        part = x[(..., *np.ix_(*(list(inside) for inside, _ in chosen)))].reshape(*lead, -1)
        result[(..., *at)] = reduce(part, math.prod(extent for _, extent in chosen))
    return result


POOLED = {1: (2, 3, 11), 2: (2, 3, 9, 12), 3: (2, 2, 5, 6, 7)}


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel, stride, padding, dilation, ceil_mode",
    [
        (2, None, 0, 1, False),
        (3, 2, 1, 1, False),
        (3, 2, 1, 1, True),
        (2, 3, 1, 2, True),
        (3, 1, 1, 1, False),
    ],
)
def test_max_pool(rank, kernel, stride, padding, dilation, ceil_mode):
    x = normal(*POOLED[rank])
    function = getattr(F, f"max_pool{rank}d")
    along = [windows(size, kernel, stride or kernel, padding, dilation, ceil_mode) for size in x.shape[2:]]
    expected = pool(x, along, lambda part, extent: part.max(-1))
    for each in layouts(x):
        got = function(weft.from_numpy(each), kernel, stride, padding, dilation, ceil_mode)
        np.testing.assert_array_equal(np.asarray(got), expected)
    values, indices = function(
        weft.from_numpy(x), kernel, stride, padding, dilation, ceil_mode, return_indices=True
    )
    np.testing.assert_array_equal(np.asarray(values), expected)
    flat = x.reshape(*x.shape[:2], -1)
    picked = np.take_along_axis(flat, np.asarray(indices).reshape(*x.shape[:2], -1), -1)
    np.testing.assert_array_equal(picked.reshape(expected.shape), expected)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_avg_pool(rank, ceil_mode, count_include_pad):
    x = normal(*POOLED[rank])
    function = getattr(F, f"avg_pool{rank}d")

    def mean(part, extent):
        return part.sum(-1) / (extent if count_include_pad else part.shape[-1])

    along = [windows(size, 3, 2, 1, 1, ceil_mode) for size in x.shape[2:]]
    expected = pool(x, along, mean)
    for each in layouts(x):
        close(function(weft.from_numpy(each), 3, 2, 1, ceil_mode, count_include_pad), expected)


def test_avg_pool_divisor():
    got = F.avg_pool2d(weft.from_numpy(np.ones((1, 1, 4, 4), np.float32)), 2, divisor_override=3)
    close(got, np.full((1, 1, 2, 2), 4 / 3, np.float32))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 3, 4, 13])
def test_adaptive_pool(rank, count):
    x = normal(*POOLED[rank])
    along = [adaptive(size, count) for size in x.shape[2:]]
    largest, mean = (
        pool(x, along, lambda part, _: part.max(-1)),
        pool(x, along, lambda part, _: part.mean(-1)),
    )
    for each in layouts(x):
        np.testing.assert_array_equal(
            getattr(F, f"adaptive_max_pool{rank}d")(weft.from_numpy(each), count), largest
        )
        close(getattr(F, f"adaptive_avg_pool{rank}d")(weft.from_numpy(each), count), mean)
    values, indices = getattr(F, f"adaptive_max_pool{rank}d")(weft.from_numpy(x), count, return_indices=True)
    flat, at = x.reshape(*x.shape[:2], -1), np.asarray(indices).reshape(*x.shape[:2], -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, at, -1).reshape(largest.shape), np.asarray(values))


def test_adaptive_pool_keeps_a_size_given_as_none():
    x = weft.from_numpy(normal(1, 2, 5, 6))
    assert F.adaptive_avg_pool2d(x, (None, 3)).shape == (1, 2, 5, 3)


def test_max_pool_lets_nan_win():
    x = np.array([[0, 5, np.nan, 1, 2, 3, 4, 4]], np.float32)
    values, indices = F.max_pool1d(weft.from_numpy(x), 2, return_indices=True)
    np.testing.assert_array_equal(np.asarray(values), np.array([[5, np.nan, 3, 4]], np.float32))
    np.testing.assert_array_equal(np.asarray(indices), [[1, 2, 5, 6]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_pooling_of_small_floats_computes_in_float32(dtype):
    x = weft.from_numpy(normal(2, 3, 8, 8)).to(getattr(weft, dtype))
    wide = x.to(weft.float32)
    for name in ("max_pool2d", "avg_pool2d"):
        expected = getattr(F, name)(wide, 3, 2, 1).to(x.dtype)
        got = getattr(F, name)(x, 3, 2, 1)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(got.to(weft.float32)), np.asarray(expected.to(weft.float32)))


def test_max_pool_of_integers():
    x = RANDOM.integers(-100, 100, (1, 2, 6, 6))
    expected = pool(x, [windows(6, 2, 2, 0)] * 2, lambda part, _: part.max(-1))
    np.testing.assert_array_equal(np.asarray(F.max_pool2d(weft.from_numpy(x), 2)), expected)


def test_lp_pool():
    x = np.abs(normal(2, 3, 8, 8))
    expected = pool(x, [windows(8, 3, 2, 0)] * 2, lambda part, _: (part**3).sum(-1) ** (1 / 3))
    close(F.lp_pool2d(weft.from_numpy(x), 3, 3, 2), expected, rtol=1e-4)


def test_max_unpool_puts_elements_back():
    x = normal(2, 3, 8, 6)
    values, indices = F.max_pool2d(weft.from_numpy(x), 2, return_indices=True)
    got = np.asarray(F.max_unpool2d(values, indices, 2))
    assert got.shape == x.shape
    kept = got != 0
    np.testing.assert_array_equal(got[kept], x[kept])
    assert kept.sum() == values.numel()
    assert F.max_unpool2d(values, indices, 2, output_size=(8, 7)).shape == (2, 3, 8, 7)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: F.max_pool2d(x, 3, padding=2), ValueError, "padding may be at most half of kernel_size"),
        (lambda x: F.max_pool2d(x, 9), ValueError, "input is smaller than the window"),
        (lambda x: F.max_pool2d(x, 0), ValueError, "kernel_size must be at least 1"),
        (lambda x: F.max_pool2d(x, 2, stride=0), ValueError, "stride must be at least 1"),
        (lambda x: F.max_pool2d(x, (1, 2, 3)), ValueError, "kernel_size: expected one int, or 2"),
        (lambda x: F.max_pool3d(x[0], 2), ValueError, "expected an input of 4 or 5 dimensions"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=0), ValueError, "divisor_override must not be zero"),
        (lambda x: F.avg_pool2d(x.to(weft.int32), 2), TypeError, "expected floating, got int32"),
        (lambda x: F.adaptive_avg_pool2d(x, (2, -1)), ValueError, "output_size must not be negative"),
        (lambda x: F.max_unpool2d(x, x, 2), TypeError, "indices must be int64"),
        (
            lambda x: F.max_unpool2d(x, weft.full(x.shape, 99, dtype=weft.int64), 2),
            ValueError,
            "invalid max index 99",
        ),
    ],
)
def test_pooling_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.from_numpy(normal(1, 1, 4, 4)))
