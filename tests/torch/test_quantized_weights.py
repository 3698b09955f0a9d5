"""Weights of quantized layers are packed once: products of every kind of convolution beside sums of integers in NumPy, and what
may happen to weights before and after they are packed."""

import copy
import io
import threading

import numpy
import pytest
import quantized_calls
import weft.torch as torch

quant = torch.ops.quantized
numbers = quantized_calls.numbers


def per_channel(weight, zeros):
    scales = numpy.linspace(0.01, 0.05, weight.shape[0])
    zeros = numpy.arange(weight.shape[0]) % 5 - 2 if zeros else numpy.zeros(weight.shape[0])
    return torch.quantize_per_channel(
        weight, torch.from_numpy(scales), torch.from_numpy(zeros.astype("int64")), 0, torch.qint8
    )


def integers(x):
    zero = numpy.asarray(
        x.q_per_channel_zero_points() if x.qscheme() == torch.per_channel_affine else x.q_zero_point()
    )
    return numpy.asarray(x.int_repr()).astype("int64") - zero.reshape(
        -1, *[1] * (x.ndim - 1) if zero.ndim else [1]
    )


def finished(sums, x, weight, bias, scale, zero, relu, dtype="quint8"):
    """FBGEMM's arithmetic: sums [batch, outputs, …]."""
    factor = numpy.float32(x.q_scale()) * numpy.asarray(weight.q_per_channel_scales()).astype("float32")
    shape = (-1, *[1] * (sums.ndim - 2))
    bias = (numpy.asarray(bias) / factor).reshape(shape)
    rounded = numpy.rint((sums.astype("float32") + bias) * (factor / numpy.float32(scale)).reshape(shape))
    low, high = (0, 255) if dtype == "quint8" else (-128, 127)
    return numpy.clip(rounded + zero, max(low, zero) if relu else low, high)


def convolved(x, w, stride, padding, dilation, groups):
    """Sums of integers: x [batch, channels, h, w], w [outputs, channels / groups, kh, kw]."""
    x = numpy.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    own, channels = w.shape[0] // groups, w.shape[1]
    reach = [dilation * (size - 1) + 1 for size in w.shape[2:]]
    out = [(size - r) // stride + 1 for size, r in zip(x.shape[2:], reach)]
    result = numpy.zeros((x.shape[0], w.shape[0], *out), "int64")
    for ky in range(w.shape[2]):
        for kx in range(w.shape[3]):
            part = x[:, :, ky * dilation :, kx * dilation :][:, :, ::stride, ::stride][
                :, :, : out[0], : out[1]
            ]
            for group in range(groups):
                rows = slice(group * own, (group + 1) * own)
                from_x = part[:, group * channels : (group + 1) * channels]
                result[:, rows] += numpy.einsum("bchw,oc->bohw", from_x, w[rows, :, ky, kx])
    return result


# channels, outputs, groups, kernel, stride, padding, dilation
CONVOLUTIONS = [
    (8, 6, 1, (1, 1), 1, 0, 1),  # a product of x as it lies
    (8, 6, 1, (1, 1), 2, 0, 1),
    (64, 40, 1, (1, 1), 1, 1, 1),
    (3, 33, 1, (3, 3), 2, 1, 1),
    (20, 17, 1, (3, 2), 1, 2, 2),
    (6, 4, 2, (3, 3), 1, 1, 1),
    (15, 15, 15, (3, 3), 1, 1, 1),  # depthwise: fewer channels than a vector, as many, one more, several
    (16, 16, 16, (3, 3), 2, 1, 1),
    (17, 17, 17, (5, 3), 1, 2, 1),
    (40, 40, 40, (3, 3), 1, 2, 2),
    (8, 16, 8, (3, 3), 1, 1, 1),
    (1, 1, 1, (3, 3), 1, 1, 1),
]


@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
@pytest.mark.parametrize("with_zeros", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case, with_zeros, dtype):
    channels, outputs, groups, kernel, stride, padding, dilation = case
    zero = 120 if dtype == "quint8" else -9
    x = quantized_calls.quantized(torch, 1, 2, channels, 9, 8, scale=0.03, zero_point=zero, dtype=dtype)
    weight = per_channel(numbers(torch, 2, outputs, channels // groups, *kernel, scale=0.3), with_zeros)
    bias = numbers(torch, 3, outputs)
    packed = quant.conv2d_prepack(weight, bias, [stride] * 2, [padding] * 2, [dilation] * 2, groups)
    sums = convolved(integers(x), integers(weight), stride, padding, dilation, groups)
    for given in (x, x.contiguous(memory_format=torch.channels_last)):
        for relu, call in ((False, quant.conv2d), (True, quant.conv2d_relu)):
            expected = finished(sums, x, weight, bias, 0.1, zero, relu, dtype)
            found = call(given, packed, 0.1, zero)
            numpy.testing.assert_array_equal(numpy.asarray(found.int_repr()), expected)


@pytest.mark.parametrize("with_zeros", [False, True])
@pytest.mark.parametrize(("rows", "depth", "outputs"), [(1, 5, 3), (4, 64, 32), (97, 65, 33), (300, 8, 16)])
def test_linear_layers(rows, depth, outputs, with_zeros):
    x = quantized_calls.quantized(torch, 1, rows, depth)
    weight = per_channel(numbers(torch, 2, outputs, depth), with_zeros)
    bias = numbers(torch, 3, outputs)
    packed = quant.linear_prepack(weight, bias)
    sums = integers(x) @ integers(weight).T
    for relu, call in ((False, quant.linear), (True, quant.linear_relu)):
        found = call(x, packed, 0.2, 100)
        expected = finished(sums, x, weight, bias, 0.2, 100, relu)
        numpy.testing.assert_array_equal(numpy.asarray(found.int_repr()), expected)


def test_weights_that_change_later():
    """Packed weights are the object's own: neither the tensor they came from nor one that is unpacked is they."""
    x = quantized_calls.quantized(torch, 1, 4, 8)
    weight = per_channel(numbers(torch, 2, 5, 8), False)
    packed = quant.linear_prepack(weight, None)
    before = quant.linear(x, packed, 0.1, 128)
    for changed in (weight, quant.linear_unpack(packed)[0]):
        changed.copy_(torch.zeros(5, 8))
        assert torch.equal(quant.linear(x, packed, 0.1, 128), before)
    assert torch.equal(
        quant.linear_unpack(packed)[0].dequantize(), per_channel(numbers(torch, 2, 5, 8), False).dequantize()
    )
    with pytest.raises(AttributeError):
        packed.weight = weight


def test_modules_whose_weights_are_replaced():
    model, other = (quantized_calls.statically_quantized(torch) for _ in range(2))
    x = numbers(torch, 1, 1, 3, 8, 8)
    first = model(x)
    weight, bias = model.conv.weight(), model.conv.bias()
    model.conv.set_weight_bias(per_channel(weight.dequantize() * -1, False), bias)
    assert not torch.equal(model(x), first)
    model.load_state_dict(other.state_dict())
    assert torch.equal(model(x), first)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    other.conv.set_weight_bias(per_channel(weight.dequantize() * -1, False), bias)
    other.load_state_dict(torch.load(buffer))
    assert torch.equal(other(x), first) and torch.equal(copy.deepcopy(other)(x), first)


def test_threads_at_once():
    """One object, rows of many sizes."""
    weight = per_channel(numbers(torch, 2, 24, 16, 3, 3), False)
    packed = quant.conv2d_prepack(weight, None, [1, 1], [1, 1], [1, 1], 1)
    inputs = [quantized_calls.quantized(torch, seed, 1, 16, 5 + seed, 7) for seed in range(6)]
    expected = [quant.conv2d(x, packed, 0.2, 128) for x in inputs]
    failures = []

    def run(seed):
        for _ in range(20):
            if not torch.equal(quant.conv2d(inputs[seed], packed, 0.2, 128), expected[seed]):
                failures.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
@pytest.mark.parametrize("shape", [(3,), (127,), (128,), (5, 60), (2, 3, 4, 64)])
def test_sums(shape, dtype):
    """Of operands that lie alike, which are added byte by byte, and of others, by way of their numbers."""
    zero = 100 if dtype == "quint8" else 3
    a = quantized_calls.quantized(torch, 1, *shape, zero_point=zero, dtype=dtype)
    b = quantized_calls.quantized(torch, 2, *shape, scale=0.02, zero_point=zero - 7, dtype=dtype)
    for call in (quant.add, quant.add_relu):
        alike = call(a, b, 0.06, zero)
        spread = torch.quantize_per_tensor(
            torch.stack([b.dequantize()] * 2, -1), 0.02, zero - 7, getattr(torch, dtype)
        )[..., 0]
        assert torch.equal(alike, call(a, spread, 0.06, zero))
    if a.ndim == 4:
        turned = (
            a.contiguous(memory_format=torch.channels_last),
            b.contiguous(memory_format=torch.channels_last),
        )
        assert torch.equal(quant.add(*turned, 0.06, zero), quant.add(a, b, 0.06, zero))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (torch.quantize_per_tensor(torch.zeros(2, 3), 0.1, 0, torch.quint8), "qint8 weight"),
        (torch.zeros(2, 3), "qint8 weight"),
    ],
)
def test_wrong_weights(weight, words):
    with pytest.raises(Exception, match=words):
        quant.linear_prepack(weight, None)


def test_wrong_inputs():
    packed = quant.linear_prepack(per_channel(numbers(torch, 2, 5, 8), False), None)
    half = quant.linear_prepack_fp16(numbers(torch, 2, 5, 8), None)
    with pytest.raises(ValueError, match="quint8 or qint8 x"):
        quant.linear(torch.zeros(2, 8), packed, 0.1, 0)
    with pytest.raises(ValueError, match=r"x \[..., k\]"):
        quant.linear(quantized_calls.quantized(torch, 1, 2, 7), packed, 0.1, 0)
    with pytest.raises(ValueError, match="weight of qint8"):
        quant.linear(quantized_calls.quantized(torch, 1, 2, 8), half, 0.1, 0)
