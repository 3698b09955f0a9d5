"""weft.nn.functional against definitions written in NumPy, hand-checked numbers, and what is refused."""

import itertools
import math

import numpy as np
import pytest

import weft
import weft.nn.functional as F

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


# ---- pooling -------------------------------------------------------------------------------------------------


def windows(size, kernel, stride, padding, dilation=1, ceil_mode=False):
    """(positions inside the input, number of positions padding included) of every window along one dimension."""
    span = dilation * (kernel - 1) + 1
    count = (size + 2 * padding - span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    starts = [i * stride - padding for i in range(count)]
    inside = [[j for j in range(start, start + span, dilation) if 0 <= j < size] for start in starts]
    return [(positions, min(start + span, size + padding) - start) for positions, start in zip(inside, starts)]


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
    [(2, None, 0, 1, False), (3, 2, 1, 1, False), (3, 2, 1, 1, True), (2, 3, 1, 2, True), (3, 1, 1, 1, False)],
)
def test_max_pool(rank, kernel, stride, padding, dilation, ceil_mode):
    x = normal(*POOLED[rank])
    function = getattr(F, f"max_pool{rank}d")
    along = [windows(size, kernel, stride or kernel, padding, dilation, ceil_mode) for size in x.shape[2:]]
    expected = pool(x, along, lambda part, extent: part.max(-1))
    for each in layouts(x):
        got = function(weft.from_numpy(each), kernel, stride, padding, dilation, ceil_mode)
        np.testing.assert_array_equal(np.asarray(got), expected)
    values, indices = function(weft.from_numpy(x), kernel, stride, padding, dilation, ceil_mode, return_indices=True)
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
    largest, mean = pool(x, along, lambda part, _: part.max(-1)), pool(x, along, lambda part, _: part.mean(-1))
    for each in layouts(x):
        np.testing.assert_array_equal(getattr(F, f"adaptive_max_pool{rank}d")(weft.from_numpy(each), count), largest)
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
        (lambda x: F.avg_pool2d(x.to(weft.int64), 2), TypeError, "expected floating, got int64"),
        (lambda x: F.adaptive_avg_pool2d(x, (2, -1)), ValueError, "output_size must not be negative"),
        (lambda x: F.max_unpool2d(x, x, 2), TypeError, "indices must be int64"),
        (lambda x: F.max_unpool2d(x, weft.full(x.shape, 99, dtype=weft.int64), 2), ValueError, "invalid max index 99"),
    ],
)
def test_pooling_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.from_numpy(normal(1, 1, 4, 4)))


# ---- normalization -------------------------------------------------------------------------------------------


def standardized(x, axes, eps=1e-5):
    wide = x.astype(np.float64)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + eps)


def per_channel(values, x):
    return values.reshape(1, -1, *[1] * (x.ndim - 2))


def each_layout(function, x, expected, **tolerance):
    for array in layouts(x):
        close(function(weft.from_numpy(array)), expected.astype(x.dtype), **tolerance)


X = normal(3, 4, 5, 6) + 1
WEIGHT, BIAS, MEAN, VAR = normal(4), normal(4), normal(4), np.abs(normal(4)) + 0.1
TENSORS = [weft.from_numpy(array) for array in (WEIGHT, BIAS, MEAN, VAR)]


def affine(x):
    return x * per_channel(WEIGHT, X) + per_channel(BIAS, X)


def test_batch_norm_with_running_statistics():
    weight, bias, mean, var = TENSORS
    expected = affine((X - per_channel(MEAN, X)) / np.sqrt(per_channel(VAR, X) + 1e-5))
    each_layout(lambda x: F.batch_norm(x, mean, var, weight, bias), X, expected)


def test_batch_norm_in_training_updates_the_running_statistics():
    weight, bias, mean, var = (tensor.clone() for tensor in TENSORS)
    got = F.batch_norm(weft.from_numpy(X), mean, var, weight, bias, training=True, momentum=0.3)
    close(got, affine(standardized(X, (0, 2, 3))).astype(np.float32), atol=1e-5)
    close(mean, 0.7 * MEAN + 0.3 * X.mean((0, 2, 3)))
    close(var, 0.7 * VAR + 0.3 * X.var((0, 2, 3), ddof=1))


def test_instance_and_group_norm():
    weight, bias, mean, var = (tensor.clone() for tensor in TENSORS)
    each_layout(lambda x: F.instance_norm(x, weight=weight, bias=bias), X, affine(standardized(X, (2, 3))), atol=1e-5)
    grouped = standardized(X.reshape(3, 2, 2, 5, 6), (2, 3, 4)).reshape(X.shape)
    each_layout(lambda x: F.group_norm(x, 2, weight, bias), X, affine(grouped), atol=1e-5)
    F.instance_norm(weft.from_numpy(X), mean, var, momentum=0.5)
    close(mean, 0.5 * MEAN + 0.5 * X.mean((0, 2, 3)))
    close(var, 0.5 * VAR + 0.5 * X.var((2, 3), ddof=1).mean(0))


@pytest.mark.parametrize("shape", [(6,), (5, 6), (4, 5, 6)])
def test_layer_and_rms_norm(shape):
    weight, bias = normal(*shape), normal(*shape)
    axes = tuple(range(-len(shape), 0))
    expected = standardized(X, axes) * weight + bias
    each_layout(lambda x: F.layer_norm(x, shape, weft.from_numpy(weight), weft.from_numpy(bias)), X, expected, atol=1e-5)
    root = np.sqrt((X.astype(np.float64) ** 2).mean(axes, keepdims=True) + 1e-6)
    each_layout(lambda x: F.rms_norm(x, shape, weft.from_numpy(weight), 1e-6), X, X / root * weight, atol=1e-5)


def test_norms_of_float16_compute_in_float32():
    x = weft.from_numpy(X.astype(np.float16))
    expected = F.layer_norm(x.to(weft.float32), (6,)).to(weft.float16)
    np.testing.assert_array_equal(np.asarray(F.layer_norm(x, (6,))), np.asarray(expected))
    weight, bias, mean, var = TENSORS
    wide = F.batch_norm(x.to(weft.float32), mean, var, weight, bias).to(weft.float16)
    np.testing.assert_array_equal(np.asarray(F.batch_norm(x, mean, var, weight, bias)), np.asarray(wide))


def test_local_response_norm_and_normalize():
    padded = np.pad(X.astype(np.float64) ** 2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    mean = sum(padded[:, i : i + 4] for i in range(3)) / 3
    each_layout(lambda x: F.local_response_norm(x, 3, 0.1, 0.75, 2.0), X, X / (2 + 0.1 * mean) ** 0.75)
    each_layout(F.normalize, X, X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True))
    assert np.all(np.asarray(F.normalize(weft.zeros((2, 3)))) == 0)


# ---- activations and linear ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relu", "relu6", "elu", "selu", "celu", "leaky_relu", "silu", "mish", "hardswish", "rrelu"])
def test_inplace_writes_into_the_argument(name):
    x = weft.from_numpy(X.copy())
    expected = np.asarray(getattr(F, name)(x))
    assert getattr(F, name)(x, inplace=True) is x
    np.testing.assert_array_equal(np.asarray(x), expected)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def test_gated_activations():
    each_layout(lambda x: F.glu(x, 1), X, X[:, :2] * sigmoid(X[:, 2:]))
    each_layout(lambda x: F.prelu(x, TENSORS[0]), X, np.where(X > 0, X, X * per_channel(WEIGHT, X)))
    each_layout(lambda x: F.rrelu(x, 0.1, 0.3), X, np.where(X > 0, X, X * 0.2))
    exponentials = np.exp(-X.astype(np.float64))
    each_layout(F.softmin, X, exponentials / exponentials.sum(1, keepdims=True))


def test_bilinear():
    a, b, weight, bias = normal(2, 3, 4), normal(2, 3, 5), normal(6, 4, 5), normal(6)
    expected = np.einsum("xyi,oij,xyj->xyo", a, weight, b) + bias
    close(F.bilinear(*map(weft.from_numpy, (a, b, weight, bias))), expected, atol=1e-5)


def test_dropout_is_the_identity_outside_of_training():
    x = weft.from_numpy(X)
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        assert getattr(F, name)(x, 0.5, training=False) is x
    with pytest.raises(NotImplementedError, match="dropout: training=True"):
        F.dropout(x)
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(x, 1.5, training=False)


# ---- padding, rearrangement, blocks ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode, numpy_mode", [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pad(mode, numpy_mode, rank):
    x = normal(2, 3, *[4, 5, 6][:rank])
    pads = [1, 2, 0, 3, 3, 1][: 2 * rank]
    pairs = [(0, 0), (0, 0)] + [tuple(pads[2 * d : 2 * d + 2]) for d in reversed(range(rank))]
    expected = np.pad(x, pairs, mode=numpy_mode)
    for each in layouts(x):
        np.testing.assert_array_equal(np.asarray(F.pad(weft.from_numpy(each), pads, mode)), expected)
    np.testing.assert_array_equal(np.asarray(F.pad(weft.from_numpy(x), [-1, -1] + [0] * (2 * rank - 2), mode)), x[..., 1:-1])


def test_pad_with_a_value():
    x = RANDOM.integers(0, 9, (2, 3))
    expected = np.pad(x, ((0, 1), (2, 0)), constant_values=7)
    np.testing.assert_array_equal(np.asarray(F.pad(weft.from_numpy(x), (2, 0, 0, 1), value=7)), expected)


def test_rearrangements():
    x = normal(2, 8, 3, 5)
    shuffled = x.reshape(2, 2, 2, 2, 3, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 10)
    for each in layouts(x):
        got = F.pixel_shuffle(weft.from_numpy(each), 2)
        np.testing.assert_array_equal(np.asarray(got), shuffled)
        np.testing.assert_array_equal(np.asarray(F.pixel_unshuffle(got, 2)), x)
        by_groups = x.reshape(2, 4, 2, 3, 5).swapaxes(1, 2).reshape(x.shape)
        np.testing.assert_array_equal(np.asarray(F.channel_shuffle(weft.from_numpy(each), 4)), by_groups)


def test_unfold_and_fold():
    x = normal(2, 3, 6, 7)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2)))
    rows, columns = range(0, 8 - 2 * 2, 2), range(0, 11 - 3 + 1, 3)
    blocks = [padded[:, :, r : r + 5 : 2, c : c + 3].reshape(2, -1) for r in rows for c in columns]
    arguments = {"kernel_size": (3, 3), "dilation": (2, 1), "padding": (1, 2), "stride": (2, 3)}
    got = F.unfold(weft.from_numpy(x), **arguments)
    np.testing.assert_array_equal(np.asarray(got), np.stack(blocks, -1))
    # fold(unfold(x)) counts every element as often as it is in a block
    counts = F.fold(F.unfold(weft.ones(x.shape), **arguments), (6, 7), **arguments)
    close(F.fold(got, (6, 7), **arguments), x * np.asarray(counts))


# ---- embedding -------------------------------------------------------------------------------------------------


def test_embedding():
    table, numbers = normal(7, 5), RANDOM.integers(0, 7, (2, 3))
    for weight in (table, np.asfortranarray(table), np.repeat(table, 2, 0)[::2]):
        got = F.embedding(weft.from_numpy(numbers), weft.from_numpy(weight), padding_idx=0)
        np.testing.assert_array_equal(np.asarray(got), table[numbers])
    weight = weft.from_numpy(table.copy())
    F.embedding(weft.tensor([1, 3]), weight, max_norm=0.5)
    lengths = np.linalg.norm(table, axis=1)
    factors = np.where(np.isin(np.arange(7), [1, 3]) & (lengths > 0.5), 0.5 / lengths, 1)
    close(weight, (table * factors[:, None]).astype(np.float32))
    for wrong in (-1, 7):
        with pytest.raises(IndexError, match=f"row number out of range.*got {wrong}"):
            F.embedding(weft.tensor([wrong]), weight)


@pytest.mark.parametrize("mode, reduce", [("sum", np.sum), ("mean", np.mean), ("max", np.max)])
def test_embedding_bag(mode, reduce):
    table, numbers = normal(7, 5), np.array([1, 2, 4, 5, 2, 0, 6])
    bags = [numbers[0:3], numbers[3:3], numbers[3:7]]
    input, weight = weft.from_numpy(numbers), weft.from_numpy(table)
    expected = np.stack([reduce(table[bag], axis=0) if len(bag) else np.zeros(5) for bag in bags]).astype(np.float32)
    close(F.embedding_bag(input, weight, weft.tensor([0, 3, 3]), mode=mode), expected)
    close(F.embedding_bag(input, weight, weft.tensor([0, 3, 3, 7]), mode=mode, include_last_offset=True), expected)
    kept = np.stack([reduce(table[bag[bag != 2]], axis=0) if len(bag) else np.zeros(5) for bag in bags])
    close(F.embedding_bag(input, weight, weft.tensor([0, 3, 3]), mode=mode, padding_idx=2), kept.astype(np.float32))
    rows = numbers[:6].reshape(2, 3)
    close(F.embedding_bag(weft.from_numpy(rows), weight, mode=mode), reduce(table[rows], axis=1))


def test_embedding_bag_with_weights():
    table, numbers, factors = normal(7, 5), RANDOM.integers(0, 7, (2, 3)), normal(2, 3)
    got = F.embedding_bag(*map(weft.from_numpy, (numbers, table)), mode="sum", per_sample_weights=weft.from_numpy(factors))
    close(got, np.einsum("ij,ijk->ik", factors, table[numbers]))


# ---- losses ----------------------------------------------------------------------------------------------------

INPUT, TARGET = normal(4, 3, 5), normal(4, 3, 5)
CLASSES = RANDOM.integers(0, 3, (4, 5))
CLASSES[0, :2] = -100


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
    for arguments, reduction in [({"reduce": False}, "none"), ({"size_average": False}, "sum"), ({"reduce": True}, "mean")]:
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
        (lambda x: F.batch_norm(x, None, None), ValueError, "running_mean and running_var are needed"),
        (lambda x: F.batch_norm(x, weft.zeros(3), weft.ones(4)), ValueError, r"expected shape \[4\], got \[3\]"),
        (lambda x: F.batch_norm(x[:1, :, :1, :1], None, None, training=True), ValueError, "more than 1 value per channel"),
        (lambda x: F.instance_norm(x[:, :, :1, :1]), ValueError, "more than 1 spatial element"),
        (lambda x: F.group_norm(x, 3), ValueError, "divisible by num_groups: got 4 channels, num_groups 3"),
        (lambda x: F.layer_norm(x, (5, 5)), ValueError, r"expected an input with shape \[\*, 5, 5\]"),
        (lambda x: F.layer_norm(x, 6, weft.ones(5)), ValueError, "weight must have the shape normalized_shape"),
        (lambda x: F.layer_norm(x.to(weft.int64), 6), TypeError, "expected floating, got int64"),
        (lambda x: F.pad(x, (1,)), ValueError, r"expected \(before, after\)"),
        (lambda x: F.pad(x, (6, 0, 0, 0), "reflect"), ValueError, "padding must be less than the dimension's size"),
        (lambda x: F.pad(x, (7, 0, 0, 0), "circular"), ValueError, "padding may wrap around once"),
        (lambda x: F.pad(x, (1, 1), "replicate"), NotImplementedError, "only inputs of 2 to 5 dimensions"),
        (lambda x: F.pad(x, (1, 1), "edge"), NotImplementedError, "got 'edge'"),
        (lambda x: F.pad(x, (-4, -3)), ValueError, "leaves size -1 in dimension 3"),
        (lambda x: F.pixel_shuffle(x, 3), ValueError, "number of channels must be divisible by 9, got 4"),
        (lambda x: F.pixel_unshuffle(x, 2), ValueError, "height must be divisible by 2, got 5"),
        (lambda x: F.channel_shuffle(x, 3), ValueError, "number of channels must be divisible by 3"),
        (lambda x: F.unfold(x, 7), ValueError, "image is smaller than one block"),
        (lambda x: F.fold(x[0, 0], (4, 4), 2), ValueError, "dimension 0 must be divisible by the 4 elements"),
        (lambda x: F.fold(x[0, :, :4], (4, 4), 2), ValueError, "expected 9 columns, got 6"),
        (lambda x: F.glu(x, 2), ValueError, "must have an even size"),
        (lambda x: F.prelu(x, weft.ones(3)), ValueError, "weight must have 1 element, or one per channel"),
        (lambda x: F.bilinear(x, x, weft.ones((2, 6, 5))), ValueError, r"expected input1\[\*, in1\]"),
        (lambda x: F.mse_loss(x, x, reduction="max"), ValueError, "reduction: expected 'none', 'mean' or 'sum'"),
        (lambda x: F.huber_loss(x, x, delta=0), ValueError, "delta must be positive"),
        (lambda x: F.binary_cross_entropy(x * 9, x), ValueError, "should be between 0 and 1"),
        (lambda x: F.binary_cross_entropy(x, x[0]), ValueError, "must have one shape"),
        (lambda x: F.cross_entropy(x, weft.zeros((3, 5), dtype=weft.int64)), ValueError, r"expected target of shape \[3, 5, 6\]"),
        (lambda x: F.cross_entropy(x[:, :, 0, 0], weft.tensor([0, 4, 0])), IndexError, "index 4 is out of bounds"),
        (lambda x: F.cross_entropy(x[:, :, 0, 0], weft.tensor([0, -1, 0])), IndexError, "out of bounds"),
        (lambda x: F.embedding(x, x[0, 0]), TypeError, "row numbers must be int32 or int64"),
        (lambda x: F.embedding(weft.tensor([0]), x[0, 0], padding_idx=5), ValueError, "padding_idx must be within"),
        (lambda x: F.embedding_bag(weft.tensor([0]), x[0, 0]), ValueError, "without offsets"),
        (lambda x: F.embedding_bag(weft.tensor([0]), x[0, 0], weft.tensor([1])), ValueError, "has to be 0: got 1"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.from_numpy(X))


# ---- resizing --------------------------------------------------------------------------------------------------


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
    "mode, kind, rank", [("linear", "linear", 1), ("bilinear", "linear", 2), ("trilinear", "linear", 3), ("bicubic", "cubic", 2)]
)
@pytest.mark.parametrize("count", [1, 4, 13])
def test_interpolate(mode, kind, rank, align_corners, count):
    x = normal(2, 3, *[7, 5, 4][:rank])
    expected = x.astype(np.float64)
    for d in range(rank):
        expected = np.moveaxis(np.tensordot(resize_matrix(x.shape[2 + d], count, kind, align_corners), expected, (1, 2 + d)), 0, 2 + d)
    each_layout(lambda x: F.interpolate(x, count, mode=mode, align_corners=align_corners), x, expected, atol=1e-5)


@pytest.mark.parametrize("factor", [0.5, 1.5, 2.0, (2.0, 0.75)])
def test_interpolate_by_a_factor(factor):
    x = normal(2, 3, 8, 6)
    factors = factor if isinstance(factor, tuple) else (factor, factor)
    size = [int(n * f) for n, f in zip(x.shape[2:], factors)]
    rows, columns = ([min(int(i / f), n - 1) for i in range(m)] for n, m, f in zip(x.shape[2:], size, factors))
    for each in layouts(x):
        got = F.interpolate(weft.from_numpy(each), scale_factor=factor)
        np.testing.assert_array_equal(np.asarray(got), x[:, :, rows][..., columns])
    expected = np.einsum("hi,wj,ncij->nchw", resize_matrix(8, size[0], "linear"), resize_matrix(6, size[1], "linear"), x)
    if all(n * f == m for n, m, f in zip(x.shape[2:], size, factors)):  # else the factor is not the ratio of the sizes
        close(F.interpolate(weft.from_numpy(x), scale_factor=factor, mode="bilinear"), expected.astype(np.float32), atol=1e-5)


def test_interpolate_nearest_exact_and_area():
    x = normal(1, 2, 7)
    centres = [int((i + 0.5) * 7 / 4) for i in range(4)]
    np.testing.assert_array_equal(np.asarray(F.interpolate(weft.from_numpy(x), 4, mode="nearest-exact")), x[..., centres])
    area, pooled = F.interpolate(weft.from_numpy(x), 4, mode="area"), F.adaptive_avg_pool1d(weft.from_numpy(x), 4)
    np.testing.assert_array_equal(np.asarray(area), np.asarray(pooled))
    numbers = RANDOM.integers(0, 255, (1, 1, 4)).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(F.interpolate(weft.from_numpy(numbers), 8)), numbers.repeat(2, -1))


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
            each_layout(lambda x: F.grid_sample(x, grid, mode, align_corners=align_corners), x, x, atol=1e-5)
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
    close(F.grid_sample(weft.from_numpy(x), grid, align_corners=True), np.array([[[[1.5, 0.5, 3]]]], np.float32))
    # The corner of the outermost element without align_corners: three quarters of it are outside.
    close(F.grid_sample(weft.from_numpy(x), grid, align_corners=False)[..., 2], np.array([[[0.75]]], np.float32))


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
        (lambda x: F.interpolate(x, 2, recompute_scale_factor=True), ValueError, "not meaningful with an explicit size"),
        (lambda x: F.interpolate(x, 2, mode="linear"), NotImplementedError, "mode 'linear' of an input of 4 dimensions"),
        (lambda x: F.interpolate(x, 2, antialias=True), ValueError, "antialias is for modes"),
        (lambda x: F.interpolate(x, 0), ValueError, "input and output sizes must be positive"),
        (lambda x: F.interpolate(x.to(weft.int64), 2, mode="bilinear"), TypeError, "expected floating"),
        (lambda x: F.interpolate(x[0, 0], 2), ValueError, "expected an input of 3 to 5 dimensions"),
        (lambda x: F.grid_sample(x, x), ValueError, r"expected input\[N, C, H, W\] and grid"),
        (lambda x: F.grid_sample(x, x[..., :2], "linear"), ValueError, "mode: expected 'bilinear'"),
        (lambda x: F.grid_sample(x, x[..., :2], padding_mode="wrap"), ValueError, "padding_mode: expected 'zeros'"),
        (lambda x: F.grid_sample(x, x[..., :2].to(weft.float64)), TypeError, "input and grid must have one dtype"),
        (lambda x: F.affine_grid(x[0], (3, 1, 2, 2)), ValueError, r"expected theta\[3, 2, 3\]"),
    ],
)
def test_resizing_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.from_numpy(X))
