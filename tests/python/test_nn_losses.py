"""Losses and distances of weft.nn.functional against definitions written in NumPy, and what is refused."""

import math

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from nn_arrays import RANDOM, X, close, normal

INPUT, TARGET = normal(4, 3, 5), normal(4, 3, 5)
CLASSES = RANDOM.integers(0, 3, (4, 5))
CLASSES[0, :2] = -100


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def log_softmax(x):
    wide = x.astype(np.float64)
    return wide - np.log(np.exp(wide).sum(1, keepdims=True))


@pytest.mark.parametrize("reduction, reduce", [("none", lambda x: x), ("mean", np.mean), ("sum", np.sum)])
def test_losses_between_elements(reduction, reduce):
    x, y = weft.from_numpy(INPUT), weft.from_numpy(TARGET)
    d = np.abs(INPUT - TARGET).astype(np.float64)
    for got, expected in [
        (F.mse_loss(x, y, reduction=reduction), d * d),
        (F.l1_loss(x, y, reduction=reduction), d),
        (F.smooth_l1_loss(x, y, reduction=reduction, beta=0.5), np.where(d < 0.5, d * d, d - 0.25)),
        (F.huber_loss(x, y, reduction=reduction, delta=2.0), np.where(d < 2, d * d / 2, 2 * (d - 1))),
        (F.kl_div(x, y, reduction=reduction, log_target=True), np.exp(TARGET) * (TARGET - INPUT)),
    ]:
        close(got, np.asarray(reduce(expected), np.float32), rtol=1e-5, atol=1e-5)
    p, q = sigmoid(INPUT), sigmoid(TARGET)
    expected = np.asarray(reduce(-(q * np.log(p) + (1 - q) * np.log(1 - p))), np.float32)
    narrow = [weft.from_numpy(array.astype(np.float32)) for array in (p, q)]
    close(F.binary_cross_entropy(*narrow, reduction=reduction), expected, rtol=1e-4)
    close(F.binary_cross_entropy_with_logits(x, narrow[1], reduction=reduction), expected, rtol=1e-4)


def test_older_reduction_arguments():
    x, y = weft.from_numpy(INPUT), weft.from_numpy(TARGET)
    for arguments, reduction in [
        ({"reduce": False}, "none"),
        ({"size_average": False}, "sum"),
        ({"reduce": True}, "mean"),
    ]:
        got, expected = F.mse_loss(x, y, **arguments), F.mse_loss(x, y, reduction=reduction)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(smoothing, weighted):
    weight = np.abs(normal(3)) if weighted else np.ones(3, np.float32)
    keywords = {"weight": weft.from_numpy(weight) if weighted else None, "label_smoothing": smoothing}
    logs, counted = log_softmax(INPUT), CLASSES != -100
    safe = np.where(counted, CLASSES, 0)
    picked = -np.take_along_axis(logs, safe[:, None], 1)[:, 0] * weight[safe]
    uniform = -(logs * weight[:, None]).sum(1) / 3
    losses = np.where(counted, (1 - smoothing) * picked + smoothing * uniform, 0)
    x, target = weft.from_numpy(INPUT), weft.from_numpy(CLASSES)
    close(F.cross_entropy(x, target, reduction="none", **keywords), losses.astype(np.float32))
    mean = losses.sum() / (weight[safe] * counted).sum()
    close(F.cross_entropy(x, target, **keywords), np.asarray(mean, np.float32))
    probabilities = np.exp(log_softmax(TARGET))
    smooth = probabilities * (1 - smoothing) + smoothing / 3
    expected = -(logs * smooth * weight[:, None]).sum(1).mean()
    got = F.cross_entropy(x, weft.from_numpy(probabilities.astype(np.float32)), **keywords)
    close(got, np.asarray(expected, np.float32))


def test_nll_loss_of_one_sample_and_ignored_targets():
    x = weft.tensor([-0.5, -1.5, -2.5])
    assert F.nll_loss(x, weft.tensor(1)).item() == 1.5
    assert math.isnan(F.nll_loss(x, weft.tensor(-100)).item())
    assert F.nll_loss(x, weft.tensor(-100), reduction="sum").item() == 0


def test_distances():
    x, y = weft.from_numpy(INPUT), weft.from_numpy(TARGET)
    product = (INPUT * TARGET).sum(1) / (np.linalg.norm(INPUT, axis=1) * np.linalg.norm(TARGET, axis=1))
    close(F.cosine_similarity(x, y), product)
    close(F.pairwise_distance(x, y, 3.0), np.linalg.norm(INPUT - TARGET + np.float32(1e-6), 3, axis=-1))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: F.mse_loss(x, x, reduction="max"), ValueError, "reduction: expected 'none', 'mean' or 'sum'"),
        (lambda x: F.huber_loss(x, x, delta=0), ValueError, "delta must be positive"),
        (lambda x: F.binary_cross_entropy(x * 9, x), ValueError, "should be between 0 and 1"),
        (lambda x: F.binary_cross_entropy(x, x[0]), ValueError, "must have one shape"),
        (lambda x: F.cross_entropy(x, weft.zeros((3, 5), dtype=weft.int64)), ValueError, r"expected target of shape \[3, 5, 6\]"),
        (lambda x: F.cross_entropy(x[:, :, 0, 0], weft.tensor([0, 4, 0])), IndexError, "index 4 is out of bounds"),
        (lambda x: F.cross_entropy(x[:, :, 0, 0], weft.tensor([0, -1, 0])), IndexError, "out of bounds"),
    ],
)  # fmt: skip
def test_loss_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.from_numpy(X))
