"""torch.nn.functional: forms of arguments, dtypes and errors beyond the recorded calls."""

import math

import numpy as np
import pytest
import weft
import weft.torch as torch

F = torch.nn.functional


def tensor(*shape, seed=0, dtype="float32"):
    return weft.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def close(result, expected, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=tolerance, atol=tolerance)


# ---- integers and complex numbers ----------------------------------------------------------------------------


def test_means_and_convolutions_of_integers():
    x = weft.asarray([[[-7, 2, 5, 9]]])
    assert F.avg_pool1d(x, 2).tolist() == [[[-2, 7]]]
    assert F.avg_pool1d(x, 2).dtype == weft.int64
    assert F.conv1d(x, weft.asarray([[[1, 2]]])).tolist() == [[[-3, 12, 23]]]
    assert F.conv1d(x, weft.asarray([[[1, 2]]]), padding="same").shape == (1, 1, 4)
    with pytest.raises(NotImplementedError, match="int64"):
        F.conv1d(x.to(weft.int32), weft.asarray([[[1, 2]]]).to(weft.int32))


@pytest.mark.parametrize(
    "name, reference",
    [
        ("silu", lambda z: z / (1 + np.exp(-z))),
        ("softsign", lambda z: z / (abs(z) + 1)),
        ("tanhshrink", lambda z: z - np.tanh(z)),
    ],
)
def test_complex_activations(name, reference):
    z = (np.arange(6) - 2.5 + 1j * np.arange(6)).astype(np.complex64)
    close(getattr(F, name)(weft.from_numpy(z)), reference(z), 1e-5)


def test_complex_convolution_is_the_convolution_of_parts():
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((1, 1, 5)) + 1j * rng.standard_normal((1, 1, 5))).astype(np.complex64)
    w = (rng.standard_normal((1, 1, 2)) + 1j * rng.standard_normal((1, 1, 2))).astype(np.complex64)
    expected = [sum(x[0, 0, i + k] * w[0, 0, k] for k in range(2)) for i in range(4)]
    close(F.conv1d(weft.from_numpy(x), weft.from_numpy(w))[0, 0], expected, 1e-5)


# ---- pooling -------------------------------------------------------------------------------------------------


def test_fractional_pooling_takes_windows_at_the_samples():
    x = weft.arange(64).to(weft.float32).reshape((1, 1, 8, 8))
    samples = weft.asarray([[[0.3, 0.6]]])
    values, places = F.fractional_max_pool2d(
        x, 2, output_size=3, _random_samples=samples, return_indices=True
    )
    # Columns start at 0, 3, 6 for the sample 0.3 of the width; rows at 0, 3, 6 for 0.6.
    assert values.shape == (1, 1, 3, 3) and places.tolist() == values.to(weft.int64).tolist()
    assert values[0, 0, 0].tolist() == [9.0, 12.0, 15.0]
    alone = F.fractional_max_pool2d(x[0], 2, output_ratio=0.5, _random_samples=samples)
    assert alone.shape == (1, 4, 4)
    with pytest.raises(ValueError, match="output_size or output_ratio"):
        F.fractional_max_pool2d(x, 2)
    with pytest.raises(RuntimeError, match="do not fit"):
        F.fractional_max_pool2d(x, 4, output_size=6, _random_samples=samples)


def test_pooling_to_one_element_takes_any_leading_dimensions():
    x = tensor(4, 5)
    close(F.adaptive_avg_pool2d(x, 1), np.asarray(x).mean(keepdims=True))
    assert F.adaptive_avg_pool3d(tensor(2, 3, 4), 1).shape == (1, 1, 1)


def test_lp_pooling_by_the_largest_absolute_value():
    x = weft.asarray([[[-3.0, 1.0, 2.0, -1.0]]])
    assert F.lp_pool1d(x, math.inf, 2).tolist() == [[[3.0, 2.0]]]


# ---- losses --------------------------------------------------------------------------------------------------


def test_weights_of_elementwise_losses():
    x, y, w = tensor(3, 4), tensor(3, 4, seed=1), tensor(3, 4, seed=2).abs()
    loss = (np.asarray(x) - np.asarray(y)) ** 2 * np.asarray(w)
    close(F.mse_loss(x, y, weight=w), loss.sum() / np.asarray(w).sum(), 1e-5)
    close(F.mse_loss(x, y, weight=w, reduction="sum"), loss.sum(), 1e-5)
    close(F.mse_loss(x, y, weight=w, reduction="none"), loss, 1e-5)
    with pytest.raises(ValueError, match="weight: expected the shape"):
        F.l1_loss(x, y, weight=w[0])


def test_gaussian_nll_loss_takes_a_number():
    x, y = tensor(3, 4), tensor(3, 4, seed=1)
    close(F.gaussian_nll_loss(x, y, 0.5), F.gaussian_nll_loss(x, y, weft.full((3, 4), 0.5)))
    with pytest.raises(ValueError, match="negative"):
        F.gaussian_nll_loss(x, y, -1.0)
    with pytest.raises(ValueError, match="does not fit"):
        F.gaussian_nll_loss(x, y, weft.ones((3, 2)))


def test_losses_of_other_dtypes():
    x, y = weft.asarray([[2, -3]]), weft.asarray([[1, -1]])
    assert F.hinge_embedding_loss(x, y, reduction="none").tolist() == [[2, 4]]
    assert F.l1_loss(x.to(weft.uint8), y.to(weft.uint8), reduction="sum").dtype == weft.int64
    assert F.cross_entropy(tensor(2, 3), weft.asarray([0, 2]).to(weft.uint8)).shape == ()
    assert F.huber_loss(tensor(3), tensor(3).double()).dtype == weft.float32
    with pytest.raises(ValueError, match="margin must be greater than 0"):
        F.triplet_margin_loss(x, x, x, margin=0)


def test_linear_cross_entropy_is_that_of_the_layer():
    x, w = tensor(4, 5), tensor(6, 5, seed=1)
    target = weft.asarray([1, 0, 5, 2])
    close(F.linear_cross_entropy(x, w, target), F.cross_entropy(F.linear(x, w), target))


# ---- norms, in-place forms, names ----------------------------------------------------------------------------


def test_norms_of_mixed_dtypes():
    x = tensor(4, 5)
    assert F.rms_norm(x.double(), (5,), weft.ones((5,))).dtype == weft.float64
    close(F.normalize(x, dim=(0, 1)), np.asarray(x) / np.linalg.norm(np.asarray(x)), 1e-5)
    mean, var = weft.zeros((3,)), weft.ones((3,))
    F.instance_norm(tensor(2, 3, 4).double(), mean, var)
    assert mean.dtype == weft.float32 and (mean != 0).any()
    with pytest.raises(ValueError, match="more than 1 spatial element"):
        F.instance_norm(tensor(2, 3, 1))


def test_in_place_activations():
    x = tensor(3)
    before = np.asarray(x).copy()
    assert F.hardtanh_(x, 2, 1) is x and x.tolist() == [1.0, 1.0, 1.0]
    x = weft.from_numpy(before.copy())
    F.elu_(x, 2.0, 3.0, 0.5)
    close(x, 3.0 * np.where(before > 0, before, 2.0 * np.expm1(0.5 * before)), 1e-5)


def test_names_that_are_no_functions_of_tensors():
    assert F.GRID_SAMPLE_INTERPOLATION_MODES == {"bilinear": 0, "nearest": 1, "bicubic": 2}
    assert F.has_torch_function((weft.ones((1,)), 3)) is False
    assert F.assert_int_or_pair(2, "size", "{}") is None
    with pytest.raises(ValueError, match="size is wrong"):
        F.assert_int_or_pair([1, 2, 3], "size", "{} is wrong")
    pick = F.boolean_dispatch("flag", 1, False, lambda x, flag: "yes", lambda x, flag=False: "no", "m", "f")
    assert (pick(1), pick(1, True), pick(1, flag=True)) == ("no", "yes", "yes")


def test_bytes_are_resized_as_bytes():
    image = weft.from_numpy(np.random.default_rng(0).integers(0, 256, (1, 3, 8, 9)).astype(np.uint8))
    small = F.interpolate(image, size=(4, 5), mode="bilinear", antialias=True)
    assert small.dtype == weft.uint8 and small.shape == (1, 3, 4, 5)
    wide = F.interpolate(image.float(), size=(4, 5), mode="bilinear", antialias=True)
    assert np.abs(np.asarray(small).astype(float) - np.asarray(wide)).max() <= 1.01


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.hinge_embedding_loss(x, x.sign(), reduction="none"),
        lambda x: F.multilabel_soft_margin_loss(x, x),
        lambda x: F.normalize(x, dim=(0, 1)),
        lambda x: F.soft_margin_loss(x, x.sign()),
        lambda x: F.elu_(x * 1, 1.5, 2.0, 0.5),
    ],
)
def test_compiled_is_eager(function):
    x = tensor(4, 6)
    close(weft.compile(function, fullgraph=True)(x), function(x), 1e-5)


@pytest.mark.parametrize("dtypes", [
    ("float32", "float64", None), ("bfloat16", "float32", None), ("float32", "int64", None),
    ("float32", "float32", "float64"), ("float64", "float32", "float64"),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 2, 3)])
def test_linear_takes_operands_of_one_dtype(dtypes, shape):
    x, weight, bias = (
        None if dtype is None else torch.ones(size, dtype=getattr(torch, dtype))
        for dtype, size in zip(dtypes, (shape, (4, 3), (4,)))
    )
    with pytest.raises(RuntimeError):
        F.linear(x, weight, bias)
    with pytest.raises(RuntimeError):
        torch.compile(lambda x: F.linear(x, weight, bias))(x)
