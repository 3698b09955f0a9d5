"""weft.nn.functional against definitions written in NumPy, hand-checked numbers, and what is refused."""

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from nn_arrays import RANDOM, X, close, each_layout, layouts, normal

# ---- normalization -------------------------------------------------------------------------------------------


def standardized(x, axes, eps=1e-5):
    wide = x.astype(np.float64)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + eps)


def per_channel(values, x):
    return values.reshape(1, -1, *[1] * (x.ndim - 2))


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
    each_layout(
        lambda x: F.instance_norm(x, weight=weight, bias=bias), X, affine(standardized(X, (2, 3))), atol=1e-5
    )
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
    each_layout(
        lambda x: F.layer_norm(x, shape, weft.from_numpy(weight), weft.from_numpy(bias)),
        X,
        expected,
        atol=1e-5,
    )
    root = np.sqrt((X.astype(np.float64) ** 2).mean(axes, keepdims=True) + 1e-6)
    each_layout(
        lambda x: F.rms_norm(x, shape, weft.from_numpy(weight), 1e-6), X, X / root * weight, atol=1e-5
    )


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


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "elu", "selu", "celu", "leaky_relu", "silu", "mish", "hardswish", "rrelu"]
)
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
        given = x[0] if name == "dropout1d" else x
        assert getattr(F, name)(given, 0.5, training=False) is given
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(x, 1.5, training=False)


# ---- padding, rearrangement, blocks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode, numpy_mode",
    [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pad(mode, numpy_mode, rank):
    x = normal(2, 3, *[4, 5, 6][:rank])
    pads = [1, 2, 0, 3, 3, 1][: 2 * rank]
    pairs = [(0, 0), (0, 0)] + [tuple(pads[2 * d : 2 * d + 2]) for d in reversed(range(rank))]
    expected = np.pad(x, pairs, mode=numpy_mode)
    for each in layouts(x):
        np.testing.assert_array_equal(np.asarray(F.pad(weft.from_numpy(each), pads, mode)), expected)
    np.testing.assert_array_equal(
        np.asarray(F.pad(weft.from_numpy(x), [-1, -1] + [0] * (2 * rank - 2), mode)), x[..., 1:-1]
    )


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
    expected = np.stack([reduce(table[bag], axis=0) if len(bag) else np.zeros(5) for bag in bags]).astype(
        np.float32
    )
    close(F.embedding_bag(input, weight, weft.tensor([0, 3, 3]), mode=mode), expected)
    close(
        F.embedding_bag(input, weight, weft.tensor([0, 3, 3, 7]), mode=mode, include_last_offset=True),
        expected,
    )
    kept = np.stack([reduce(table[bag[bag != 2]], axis=0) if len(bag) else np.zeros(5) for bag in bags])
    close(
        F.embedding_bag(input, weight, weft.tensor([0, 3, 3]), mode=mode, padding_idx=2),
        kept.astype(np.float32),
    )
    rows = numbers[:6].reshape(2, 3)
    close(F.embedding_bag(weft.from_numpy(rows), weight, mode=mode), reduce(table[rows], axis=1))


def test_embedding_bag_with_weights():
    table, numbers, factors = normal(7, 5), RANDOM.integers(0, 7, (2, 3)), normal(2, 3)
    got = F.embedding_bag(
        *map(weft.from_numpy, (numbers, table)), mode="sum", per_sample_weights=weft.from_numpy(factors)
    )
    close(got, np.einsum("ij,ijk->ik", factors, table[numbers]))


# ---- what is refused ---------------------------------------------------------------------------------------------


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
        (lambda x: F.embedding(x, x[0, 0]), TypeError, "row numbers must be int32 or int64"),
        (lambda x: F.embedding(weft.tensor([0]), x[0, 0], padding_idx=5), ValueError, "padding_idx must be within"),
        (lambda x: F.embedding_bag(weft.tensor([0]), x[0, 0]), ValueError, "without offsets"),
        (lambda x: F.embedding_bag(weft.tensor([0]), x[0, 0], weft.tensor([1])), ValueError, "has to be 0: got 1"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(weft.from_numpy(X))
