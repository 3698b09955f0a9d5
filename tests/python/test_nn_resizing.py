"""Interpolation and sampling of weft.nn.functional against definitions written in NumPy, and what is refused."""

import functools
import math

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from nn_arrays import RANDOM, X, close, each_layout, layouts, normal


def resize_matrix(size, count, kind, align_corners=False):
    """[count, size]: the weights of every element in every result, by the definition of the modes."""
    matrix = np.zeros((count, size))
    for i in range(count):
        if align_corners:
            at = i * (size - 1) / (count - 1) if count > 1 else 0.0
        else:
            at = (i + 0.5) * size / count - 0.5
        if kind == "cubic":
            low, a = math.floor(at), -0.75
            for j in range(low - 1, low + 3):
                x = abs(at - j)
                near = (a + 2) * x**3 - (a + 3) * x**2 + 1
                far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
                matrix[i, min(max(j, 0), size - 1)] += near if x <= 1 else far
        else:
            at = min(max(at, 0), size - 1)
            low = min(math.floor(at), size - 1)
            matrix[i, low] += 1 - (at - low)
            matrix[i, min(low + 1, size - 1)] += at - low
    return matrix


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize(
    "mode, kind, rank",
    [("linear", "linear", 1), ("bilinear", "linear", 2), ("trilinear", "linear", 3), ("bicubic", "cubic", 2)],
)
@pytest.mark.parametrize("count", [1, 4, 13])
def test_interpolate(mode, kind, rank, align_corners, count):
    x = normal(2, 3, *[7, 5, 4][:rank])
    expected = x.astype(np.float64)
    for d in range(rank):
        expected = np.moveaxis(
            np.tensordot(resize_matrix(x.shape[2 + d], count, kind, align_corners), expected, (1, 2 + d)),
            0,
            2 + d,
        )
    each_layout(
        lambda x: F.interpolate(x, count, mode=mode, align_corners=align_corners), x, expected, atol=1e-5
    )


@pytest.mark.parametrize("factor", [0.5, 1.5, 2.0, (2.0, 0.75)])
def test_interpolate_by_a_factor(factor):
    x = normal(2, 3, 8, 6)
    factors = factor if isinstance(factor, tuple) else (factor, factor)
    size = [int(n * f) for n, f in zip(x.shape[2:], factors)]
    rows, columns = (
        [min(int(i / f), n - 1) for i in range(m)] for n, m, f in zip(x.shape[2:], size, factors)
    )
    for each in layouts(x):
        got = F.interpolate(weft.from_numpy(each), scale_factor=factor)
        np.testing.assert_array_equal(np.asarray(got), x[:, :, rows][..., columns])
    expected = np.einsum(
        "hi,wj,ncij->nchw", resize_matrix(8, size[0], "linear"), resize_matrix(6, size[1], "linear"), x
    )
    if all(
        n * f == m for n, m, f in zip(x.shape[2:], size, factors)
    ):  # else the factor is not the ratio of the sizes
        close(
            F.interpolate(weft.from_numpy(x), scale_factor=factor, mode="bilinear"),
            expected.astype(np.float32),
            atol=1e-5,
        )


def test_interpolate_nearest_exact_and_area():
    x = normal(1, 2, 7)
    centres = [int((i + 0.5) * 7 / 4) for i in range(4)]
    np.testing.assert_array_equal(
        np.asarray(F.interpolate(weft.from_numpy(x), 4, mode="nearest-exact")), x[..., centres]
    )
    area, pooled = (
        F.interpolate(weft.from_numpy(x), 4, mode="area"),
        F.adaptive_avg_pool1d(weft.from_numpy(x), 4),
    )
    np.testing.assert_array_equal(np.asarray(area), np.asarray(pooled))
    numbers = RANDOM.integers(0, 255, (1, 1, 4)).astype(np.uint8)
    np.testing.assert_array_equal(
        np.asarray(F.interpolate(weft.from_numpy(numbers), 8)), numbers.repeat(2, -1)
    )


def test_antialiased_halving_averages():
    x = normal(1, 1, 8, 8)
    weights = np.zeros((4, 8))
    for i in range(4):
        for j, weight in zip(range(2 * i - 1, 2 * i + 3), (0.25, 0.75, 0.75, 0.25)):
            if 0 <= j < 8:
                weights[i, j] = weight
    weights /= weights.sum(1, keepdims=True)
    got = F.interpolate(weft.from_numpy(x), scale_factor=0.5, mode="bilinear", antialias=True)
    close(got, (weights @ x @ weights.T).astype(np.float32))


def test_grid_sample_at_the_identity_and_outside():
    x = normal(2, 3, 5, 6)
    theta = weft.from_numpy(np.tile(np.eye(2, 3, dtype=np.float32), (2, 1, 1)))
    for align_corners in (False, True):
        grid = F.affine_grid(theta, x.shape, align_corners=align_corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            sample = functools.partial(F.grid_sample, grid=grid, mode=mode, align_corners=align_corners)
            each_layout(sample, x, x, atol=1e-5)
    far = weft.full((2, 1, 1, 2), 3.0)
    assert np.all(np.asarray(F.grid_sample(weft.from_numpy(x), far)) == 0)
    close(F.grid_sample(weft.from_numpy(x), far, padding_mode="border")[:, :, 0, 0], x[:, :, -1, -1])
    # With align_corners 3 is 4 half widths from the left edge: reflected to the left edge.
    reflected = F.grid_sample(weft.from_numpy(x), far, padding_mode="reflection", align_corners=True)
    close(reflected[:, :, 0, 0], x[:, :, 0, 0])
    nan = weft.full((2, 1, 1, 2), math.nan)
    assert np.all(np.asarray(F.grid_sample(weft.from_numpy(x), nan)) == 0)


def test_grid_sample_between_elements():
    x = np.array([[[[0, 1], [2, 3]]]], np.float32)
    grid = weft.tensor([[[[0.0, 0.0], [-1.0, -0.5], [1.0, 1.0]]]])
    close(
        F.grid_sample(weft.from_numpy(x), grid, align_corners=True), np.array([[[[1.5, 0.5, 3]]]], np.float32)
    )
    # The corner of the outermost element without align_corners: three quarters of it are outside.
    close(
        F.grid_sample(weft.from_numpy(x), grid, align_corners=False)[..., 2], np.array([[[0.75]]], np.float32)
    )


def test_grid_sample_in_three_dimensions():
    x = normal(1, 2, 3, 4, 5)
    theta = weft.from_numpy(np.eye(3, 4, dtype=np.float32)[None])
    grid = F.affine_grid(theta, x.shape, align_corners=False)
    for mode in ("bilinear", "nearest"):
        close(F.grid_sample(weft.from_numpy(x), grid, mode, align_corners=False), x, atol=1e-5)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: F.interpolate(x), ValueError, "either size or scale_factor, got neither"),
        (lambda x: F.interpolate(x, 2, 2.0), ValueError, "either size or scale_factor, got both"),
        (lambda x: F.interpolate(x, (2, 2, 2)), ValueError, "size: expected one int, or 2"),
        (lambda x: F.interpolate(x, scale_factor=(2.0, 2.0, 2.0)), ValueError, "expected one number, or 2"),
        (lambda x: F.interpolate(x, 2, align_corners=True), ValueError, "align_corners is for modes"),
        (
            lambda x: F.interpolate(x, 2, recompute_scale_factor=True),
            ValueError,
            "not meaningful with an explicit size",
        ),
        (
            lambda x: F.interpolate(x, 2, mode="linear"),
            NotImplementedError,
            "mode 'linear' of an input of 4 dimensions",
        ),
        (lambda x: F.interpolate(x, 2, antialias=True), ValueError, "antialias is for modes"),
        (lambda x: F.interpolate(x, 0), ValueError, "input and output sizes must be positive"),
        (lambda x: F.interpolate(x.to(weft.int64), 2, mode="bilinear"), TypeError, "expected floating"),
        (lambda x: F.interpolate(x[0, 0], 2), ValueError, "expected an input of 3 to 5 dimensions"),
        (lambda x: F.grid_sample(x, x), ValueError, r"expected input\[N, C, H, W\] and grid"),
        (lambda x: F.grid_sample(x, x[..., :2], "linear"), ValueError, "mode: expected 'bilinear'"),
        (
            lambda x: F.grid_sample(x, x[..., :2], padding_mode="wrap"),
            ValueError,
            "padding_mode: expected 'zeros'",
        ),
        (
            lambda x: F.grid_sample(x, x[..., :2].to(weft.float64)),
            TypeError,
            "input and grid must have one dtype",
        ),
        (lambda x: F.affine_grid(x[0], (3, 1, 2, 2)), ValueError, r"expected theta\[3, 2, 3\]"),
    ],
)
def test_resizing_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.from_numpy(X))
