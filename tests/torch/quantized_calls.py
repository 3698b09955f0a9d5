"""Calls with quantized tensors, and modules of torch.ao, as functions of `torch`: PyTorch's answers are recorded, weft.torch's
are compared with them (test_quantized.py).

Run with a Python that has PyTorch: python tests/torch/quantized_calls.py writes test_quantized.json.
"""

import base64
import io
import json
import re
import sys
from pathlib import Path

import numpy
from kept_values import kept, numbers, shorter
from quantized_graphs import by_graph, residual_network

ANSWERS = Path(__file__).parent / "test_quantized.json"
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def quantized(torch, seed, *shape, scale=0.05, zero_point=128, dtype="quint8"):
    return torch.quantize_per_tensor(numbers(torch, seed, *shape), scale, zero_point, getattr(torch, dtype))


def weight(torch, seed, *shape, per_channel=True):
    values = numbers(torch, seed, *shape)
    if not per_channel:
        return torch.quantize_per_tensor(values, 0.03, 0, torch.qint8)
    scales = torch.from_numpy(numpy.random.RandomState(seed + 1).uniform(0.01, 0.05, shape[0]))
    return torch.quantize_per_channel(
        values, scales, torch.zeros(shape[0], dtype=torch.int64), 0, torch.qint8
    )


# ---- tensors ---------------------------------------------------------------------------------------------------------


@case
def quantize(torch):
    x = torch.cat([numbers(torch, 1, 40), torch.tensor([1e9, -1e9, 0.125, 0.375, -0.125, 0.0])])
    return [
        *(
            torch.quantize_per_tensor(x, 0.25, z, getattr(torch, dtype))
            for dtype, z in (("quint8", 7), ("qint8", -3))
        ),
        torch.quantize_per_tensor(x[:40], 1e-4, 11, torch.qint32),
        *(torch.quantize_per_tensor_dynamic(x[:40], torch.quint8, reduce) for reduce in (True, False)),
        torch.quantize_per_tensor_dynamic(x[:40], torch.qint8, False),
        torch.quantize_per_tensor_dynamic(x[:40].abs(), torch.quint8, True),
        torch.quantize_per_tensor_dynamic(torch.zeros(4), torch.quint8, True),
    ]


@case
def quantize_per_channel(torch):
    x = numbers(torch, 2, 3, 4, 2)
    scales, zeros = torch.tensor([0.01, 0.02, 0.05, 0.1]), torch.tensor([0, 5, 250, 3])
    q = torch.quantize_per_channel(x, scales, zeros, 1, torch.quint8)
    f = torch.quantize_per_channel(x, scales[:3], torch.tensor([0.1, -0.2, 3.5]), 0, torch.quint8)
    return [
        q,
        q.dequantize(),
        q.q_per_channel_scales(),
        q.q_per_channel_zero_points(),
        q.q_per_channel_axis(),
        f,
        f.dequantize(),
    ]


@case
def about(torch):
    q = quantized(torch, 3, 4, 5)
    return [
        q.q_scale(),
        q.q_zero_point(),
        q.int_repr(),
        q.dequantize(),
        torch.dequantize(q),
        q.is_quantized,
        str(q.qscheme()),
        str(q.dtype),
        q.dtype.is_floating_point,
        q.element_size(),
        float(q[0, 0].item()),
        q.clone(),
    ]


@case
def printed(torch):
    q = quantized(torch, 4, 2, 3)
    return [str(q), str(quantized(torch, 4, 3, dtype="qint8", zero_point=0)), repr(torch.quint8)]


@case
def fake(torch):
    x = numbers(torch, 5, 4, 6)
    return [
        torch.fake_quantize_per_tensor_affine(x, 0.1, 5, 0, 255),
        torch.fake_quantize_per_channel_affine(
            x, torch.tensor([0.1, 0.03, 0.2, 0.01]), torch.zeros(4, dtype=torch.int32), 0, -128, 127
        ),
    ]


@case
def views(torch):
    q = quantized(torch, 6, 2, 3, 4)
    return [
        q.view(6, 4),
        q.reshape(-1),
        q.permute(2, 0, 1),
        q.transpose(0, 2),
        q[1],
        q[:, 1:],
        q[..., ::2],
        q.flatten(1),
        q.unsqueeze(1),
        q.squeeze(),
        q.contiguous(),
        *q.chunk(2, 2),
        q.select(1, 2),
        torch.stack([q, q]),
        torch.cat([q, q], 1),
        torch.flatten(q, 1),
        q.view(2, 12)[:, ::3],
        *q.split(2, 1),
        q.narrow(2, 1, 2),
        q.detach(),
        *q.unbind(0),
    ]


@case
def moved(torch):
    q, other = quantized(torch, 7, 1, 4, 2, 2), quantized(torch, 8, 1, 4, 2, 2, scale=0.1, zero_point=3)
    filled = quantized(torch, 9, 1, 4, 2, 2)
    filled.copy_(numbers(torch, 10, 1, 4, 2, 2))
    return [
        torch.cat([q, other], 1),
        torch.nn.functional.pixel_shuffle(q, 2),
        filled,
        torch.nn.functional.pad(q, [1, 1, 0, 1]),
        torch.nn.functional.channel_shuffle(q, 2),
        torch.equal(q, q.clone()),
        torch.equal(q, other),
    ]


@case
def compared(torch):
    q, other = quantized(torch, 11, 4, 4), quantized(torch, 12, 4, 4)
    return [q == other, q > other, q <= 0.5, q != 0.0, q.max(), q.min()]


@case
def activations(torch):
    q = quantized(torch, 13, 4, 8, scale=0.06, zero_point=100)
    signed = quantized(torch, 13, 4, 8, scale=0.03, zero_point=-4, dtype="qint8")
    F, quant = torch.nn.functional, torch.ops.quantized
    return [
        torch.relu(q),
        F.relu6(q),
        torch.clamp(q, -0.5, 0.7),
        F.hardtanh(q, -0.3, 0.3),
        F.leaky_relu(q, 0.1),
        torch.sigmoid(q),
        torch.tanh(q),
        torch.sigmoid(signed),
        torch.tanh(signed),
        F.hardsigmoid(q),
        q.mean([1]),
        torch.relu(signed),
        quant.hardswish(q, 0.05, 10),
        quant.elu(q, 0.05, 10, 1.5),
        quant.leaky_relu(q, 0.2, False, 0.05, 10),
        quant.sigmoid(q, 0.01, 2),
        quant.relu6(q),
        quant.celu(q, 0.05, 10, 0.7),
        quant.threshold(q, 0.1, 0.5),
        quant.clamp(q, -0.2, 0.4),
        quant.softmax(q, 1, 1 / 256, 0),
    ]


@case
def prelu(torch):
    q, slope = (
        quantized(torch, 14, 2, 3, 4),
        torch.quantize_per_tensor(torch.tensor([0.1, 0.25, 0.5]), 0.01, 0, torch.quint8),
    )
    return [torch.ops.quantized.prelu(q, slope, 0.04, 60)]


@case
def sums(torch):
    a, b = quantized(torch, 15, 3, 20), quantized(torch, 16, 3, 20, scale=0.02, zero_point=90)
    c, quant = quantized(torch, 17, 20), torch.ops.quantized
    return [
        quant.add(a, b, 0.07, 120),
        quant.add_relu(a, b, 0.07, 120),
        quant.mul(a, b, 0.05, 100),
        quant.mul_relu(a, b, 0.05, 100),
        quant.add(a, c, 0.07, 120),
        quant.cat([a, b], 1, 0.06, 110),
        quant.cat([a, b], 0, None, None),
        quant.cat_relu([a, b], 0, 0.03, 5),
        *(quant.add_scalar(a, n) for n in (0.3, -4.0, 9.0)),
        *(quant.mul_scalar(a, n) for n in (1.5, 0.0, -2.0)),
        quant.add_scalar_relu(a, 0.4),
        quant.mul_scalar_relu(a, -0.5),
        quant.matmul(a, b.transpose(0, 1).contiguous(), 0.3, 128),
    ]


@case
def pools(torch):
    q, F = quantized(torch, 18, 2, 3, 9, 8), torch.nn.functional
    return [
        F.max_pool2d(q, 3, 2, 1),
        F.max_pool2d(q, 2, 2, 0, ceil_mode=True),
        F.avg_pool2d(q, 3),
        F.avg_pool2d(q, 2, 2, 1, True, False),
        F.adaptive_avg_pool2d(q, 1),
        F.adaptive_avg_pool2d(q, (3, 2)),
        F.max_pool1d(q[0], 2),
        F.avg_pool2d(q, (4, 3), 2, (1, 1)),
        F.interpolate(q, scale_factor=2),
        F.interpolate(q, size=[5, 12], mode="bilinear", align_corners=False),
        F.interpolate(q, scale_factor=2, mode="bilinear", align_corners=True),
    ]


@case
def norms(torch):
    q, quant = quantized(torch, 19, 2, 6, 3, 3), torch.ops.quantized
    w, b = numbers(torch, 20, 6).abs(), numbers(torch, 21, 6)
    mean, var = numbers(torch, 22, 6, scale=0.1), numbers(torch, 23, 6).abs() + 0.5
    rows = quantized(torch, 24, 5, 6)
    return [
        quant.batch_norm2d(q, w, b, mean, var, 1e-5, 0.04, 120),
        quant.batch_norm2d_relu(q, w, b, mean, var, 1e-5, 0.04, 120),
        quant.layer_norm(rows, [6], w, b, 1e-5, 0.04, 120),
        quant.group_norm(q, 2, w, b, 1e-5, 0.04, 120),
        quant.instance_norm(q, w, b, 1e-5, 0.04, 120),
    ]


# ---- products --------------------------------------------------------------------------------------------------------


@case
def linear(torch):
    quant, results = torch.ops.quantized, []
    bias = numbers(torch, 30, 7)
    for per_channel in (True, False):
        w = weight(torch, 31, 7, 21, per_channel=per_channel)
        for b in (bias, None):
            packed = quant.linear_prepack(w, b)
            x = quantized(torch, 32, 5, 21, scale=0.04, zero_point=60)
            results += [quant.linear(x, packed, 0.11, 100), quant.linear_relu(x, packed, 0.11, 100)]
            f = numbers(torch, 33, 2, 3, 21)
            results += [quant.linear_dynamic(f, packed, r) for r in (True, False)]
            results += [quant.linear_relu_dynamic(f, packed, True)]
    results += [*quant.linear_unpack(packed)[:1]]
    offset = torch.quantize_per_tensor(numbers(torch, 34, 7, 21), 0.03, 4, torch.qint8)
    results += [quant.linear(x, quant.linear_prepack(offset, bias), 0.11, 100)]
    return results


@case
def convolutions(torch):
    quant, results = torch.ops.quantized, []
    x = quantized(torch, 40, 2, 4, 7, 6, scale=0.04, zero_point=60)
    for groups, stride, padding, dilation, per_channel in (
        (1, [1, 1], [1, 1], [1, 1], True),
        (2, [2, 1], [0, 2], [1, 2], True),
        (4, [1, 2], [1, 1], [1, 1], True),
        (1, [2, 2], [1, 0], [1, 1], False),
    ):
        w = weight(torch, 41, 8, 4 // groups, 3, 3, per_channel=per_channel)
        packed = quant.conv2d_prepack(w, numbers(torch, 42, 8), stride, padding, dilation, groups)
        results += [quant.conv2d(x, packed, 0.2, 110), quant.conv2d_relu(x, packed, 0.2, 110)]
        results += [quant.conv2d_stride(packed), quant.conv2d_groups(packed)]
    w = weight(torch, 43, 6, 4, 3)
    packed = quant.conv1d_prepack(w, None, [1], [1], [1], 1)
    results += [quant.conv1d(x[:, :, 0].contiguous(), packed, 0.2, 110), quant.conv1d_unpack(packed)[0]]
    packed = quant.conv3d_prepack(
        weight(torch, 44, 6, 2, 2, 3, 3), numbers(torch, 45, 6), [1, 2, 1], [1, 1, 1], [1, 1, 1], 1
    )
    results += [quant.conv3d(quantized(torch, 46, 1, 2, 3, 5, 4), packed, 0.2, 110)]
    return results


@case
def layouts(torch):
    """Halves are rounded by where channels lie: densest in results of convolutions."""
    quant, F = torch.ops.quantized, torch.nn.functional
    x = quantized(torch, 47, 2, 4, 6, 6, scale=0.04, zero_point=5)
    packed = quant.conv2d_prepack(weight(torch, 48, 8, 4, 1, 1), None, [1, 1], [0, 0], [1, 1], 1)
    y = quant.conv2d(x, packed, 0.2, 111)
    results = [F.pad(x, [1, 1, 2, 0], mode="reflect"), F.max_pool2d(torch.relu(y), 2)]
    for each in (
        x,
        y,
        quant.hardswish(y, 0.1, 33),
        quant.add(y, y, 0.3, 21),
        quant.mul(y, y[:, :, :1, :1], 0.3, 7),
    ):
        results += [
            F.avg_pool2d(each, 2),
            F.adaptive_avg_pool2d(each, 1),
            F.adaptive_avg_pool2d(torch.relu(each), 3),
        ]
    return [*results, quant.conv2d_dynamic(numbers(torch, 49, 1, 4, 5, 5), packed, True)]


@case
def transposed(torch):
    quant, results = torch.ops.quantized, []
    x = quantized(torch, 50, 1, 4, 4, 5, scale=0.04, zero_point=60)
    for groups, stride, padding, output_padding in ((1, [2, 2], [1, 1], [1, 0]), (2, [1, 3], [0, 2], [0, 1])):
        w = weight(torch, 51, 4, 3, 3, 3, per_channel=False)
        packed = quant.conv_transpose2d_prepack(
            w, numbers(torch, 52, 3 * groups), stride, padding, output_padding, [1, 1], groups
        )
        results += [quant.conv_transpose2d(x, packed, 0.2, 110)]
    return results


@case
def embeddings(torch):
    quant, results = torch.ops.quantized, []
    values = numbers(torch, 60, 9, 8)
    scales, zeros = numbers(torch, 61, 9).abs() * 0.01 + 0.01, numbers(torch, 62, 9) * 20 + 100
    packed = quant.embedding_bag_prepack(torch.quantize_per_channel(values, scales, zeros, 0, torch.quint8))
    four = quant.embedding_bag_prepack(
        torch.quantize_per_channel(values, scales * 20, zeros * 0.05, 0, torch.quint4x2)
    )
    places, offsets = torch.tensor([1, 3, 8, 0, 3, 2]), torch.tensor([0, 2, 2])
    weights = numbers(torch, 63, 6)
    for bag, one in ((quant.embedding_bag_byte, packed), (quant.embedding_bag_4bit, four)):
        results += [bag(one, places, offsets), bag(one, places, offsets, per_sample_weights=weights)]
    return [*results, quant.embedding_byte(packed, places)]


# ---- modules ---------------------------------------------------------------------------------------------------------


def seeded(torch, module, seed=70):
    for at, parameter in enumerate(
        [*module.parameters(), *(b for b in module.buffers() if b.is_floating_point())]
    ):
        values = numbers(torch, seed + at, *parameter.shape, scale=0.4)
        parameter.data.copy_(values.abs() + 0.5 if parameter.ndim == 1 else values)
    return module.eval()


def small_network(torch):
    nn, tq = torch.nn, torch.ao.quantization

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
            self.conv, self.bn, self.relu = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
            self.pool, self.average, self.head = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 3)
            self.sum = torch.ao.nn.quantized.FloatFunctional()

        def forward(self, x):
            x = self.pool(self.relu(self.bn(self.conv(self.quant(x)))))
            x = self.average(self.sum.add(x, x)).flatten(1)
            return self.dequant(self.head(x))

    return seeded(torch, Network())


def statically_quantized(torch, qconfig=None):
    tq = torch.ao.quantization
    model = small_network(torch)
    model.qconfig = tq.get_default_qconfig("fbgemm") if qconfig is None else qconfig
    model = tq.fuse_modules(model, [["conv", "bn", "relu"]])
    prepared = tq.prepare(model)
    for seed in (90, 91):
        prepared(numbers(torch, seed, 2, 3, 8, 8))
    return tq.convert(prepared)


@case
def static_module(torch):
    results = []
    for qconfig in (None, torch.ao.quantization.default_qconfig):
        model = statically_quantized(torch, qconfig)
        results += [
            model(numbers(torch, 92, 2, 3, 8, 8)),
            model.conv.scale,
            model.conv.zero_point,
            re.sub(r"scale=[^,]*", "scale=…", str(model)),
        ]
        results += [model.conv.weight(), model.head.weight(), sorted(model.state_dict())]
    return results


@case
def dynamic_module(torch):
    nn, tq = torch.nn, torch.ao.quantization
    model = seeded(torch, nn.Sequential(nn.Linear(12, 9), nn.ReLU(), nn.Linear(9, 4)))
    quant, half = tq.quantize_dynamic(model), tq.quantize_dynamic(model, dtype=torch.float16)
    x = numbers(torch, 93, 5, 12)
    return [quant(x), str(quant), quant[0].weight(), half(x), sorted(quant.state_dict())]


@case
def recurrent_modules(torch):
    nn, tq, results = torch.nn, torch.ao.quantization, []
    x = numbers(torch, 94, 3, 4, 6)
    for kind, options in (
        (nn.LSTM, {}),
        (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}),
        (nn.GRU, {"bidirectional": True}),
    ):
        model = seeded(torch, nn.ModuleList([kind(6, 5, **options)]))
        y, state = tq.quantize_dynamic(model, {kind})[0](x)
        results += [y, *(state if isinstance(state, tuple) else [state])]
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 1, 2, 2]), enforce_sorted=False)
    y, (h, c) = tq.quantize_dynamic(
        seeded(torch, nn.ModuleList([nn.LSTM(6, 5, bidirectional=True)])), {nn.LSTM}
    )[0](packed)
    results += [y.data, h, c]
    for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        y = tq.quantize_dynamic(seeded(torch, nn.ModuleList([kind(6, 5)])), {kind})[0](x[0])
        results += [*y] if isinstance(y, tuple) else [y]
    return results


@case
def observers(torch):
    tq, results = torch.ao.quantization, []
    for observer in (
        tq.MinMaxObserver(),
        tq.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric),
        tq.MovingAverageMinMaxObserver(averaging_constant=0.1),
        tq.PerChannelMinMaxObserver(ch_axis=1),
        tq.PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric),
        tq.MovingAveragePerChannelMinMaxObserver(),
        tq.HistogramObserver(),
        tq.HistogramObserver(bins=256, quant_min=0, quant_max=127),
        tq.default_float_qparams_observer(),
    ):
        for seed in (100, 101, 102):
            observer(numbers(torch, seed, 16, 12, scale=1 + 0.3 * (seed - 100)))
        results += [*observer.calculate_qparams()]
    return results


# ---- graphs ----------------------------------------------------------------------------------------------------------


@case
def whole_graphs(torch):
    tq = torch.ao.quantization
    mapping = tq.get_default_qconfig_mapping("fbgemm")
    return [
        by_graph(torch, seeded(torch, residual_network(torch)).eval(), mapping),
        by_graph(torch, small_network(torch).eval(), mapping),
        by_graph(
            torch, seeded(torch, residual_network(torch)).eval(), tq.get_default_qconfig_mapping("qnnpack")
        ),
    ]


@case
def parts_of_graphs(torch):
    tq, nn = torch.ao.quantization, torch.nn
    qconfig = tq.get_default_qconfig("fbgemm")
    layers = seeded(
        torch, nn.Sequential(nn.Flatten(), nn.Linear(192, 5), nn.Hardtanh(), nn.Linear(5, 4))
    ).eval()
    return [
        by_graph(
            torch,
            layers,
            tq.QConfigMapping()
            .set_global(qconfig)
            .set_module_name("1", None)
            .set_object_type(nn.Hardtanh, None),
        ),
        by_graph(torch, layers, tq.QConfigMapping().set_object_type(nn.Linear, qconfig)),
        by_graph(torch, layers, tq.QConfigMapping().set_module_name_regex("[3-9]", qconfig)),
        by_graph(torch, layers, tq.QConfigMapping().set_object_type(nn.Linear, tq.default_dynamic_qconfig)),
        by_graph(
            torch,
            seeded(torch, residual_network(torch)).eval(),
            tq.QConfigMapping().set_global(qconfig).set_module_name("conv2", None),
        ),
        by_graph(torch, seeded(torch, residual_network(torch)).eval(), {"": None}),
    ]


@case
def embedding_modules(torch):
    nn, tq = torch.nn, torch.ao.quantization
    model = seeded(torch, nn.ModuleList([nn.Embedding(6, 8), nn.EmbeddingBag(6, 8, mode="sum")]))
    model.qconfig = tq.float_qparams_weight_only_qconfig
    model = tq.convert(tq.prepare(model))
    places = torch.tensor([[0, 5, 2], [1, 1, 3]])
    return [model[0](places), model[1](places), str(model[0])]


# ---- archives --------------------------------------------------------------------------------------------------------
# Modules that PyTorch scripts or traces; the archive's bytes are kept with what it gives.


def archives(torch):
    """(name, module as TorchScript, inputs)"""
    import warnings

    warnings.filterwarnings("ignore")
    nn, tq = torch.nn, torch.ao.quantization
    x, image = numbers(torch, 110, 5, 12), numbers(torch, 111, 1, 3, 8, 8)
    plain = seeded(torch, nn.Sequential(nn.Linear(12, 9), nn.ReLU(), nn.Linear(9, 4)))
    dynamic, half = tq.quantize_dynamic(plain), tq.quantize_dynamic(plain, dtype=torch.float16)
    static = statically_quantized(torch)
    yield "dynamic scripted", torch.jit.script(dynamic), [x]
    yield "dynamic traced", torch.jit.trace(dynamic, x), [x]
    yield "half scripted", torch.jit.script(half), [x]
    yield "static scripted", torch.jit.script(static), [image]
    yield "static traced", torch.jit.trace(static, image), [image]
    yield "static frozen", torch.jit.freeze(torch.jit.script(static).eval()), [image]

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(6, 5, 2)

        def forward(self, x):
            return self.lstm(x)[0]

    lstm = tq.quantize_dynamic(seeded(torch, Recurrent()), {nn.LSTM})
    yield "lstm scripted", torch.jit.script(lstm), [numbers(torch, 112, 3, 2, 6)]
    model = seeded(torch, nn.ModuleList([nn.Embedding(6, 8), nn.EmbeddingBag(6, 8, mode="sum")]))
    model.qconfig = tq.float_qparams_weight_only_qconfig
    model = tq.convert(tq.prepare(model))
    places = torch.tensor([[0, 5, 2], [1, 1, 3]])
    yield "embedding scripted", torch.jit.script(model[0]), [places]
    yield "embedding bag scripted", torch.jit.script(model[1]), [places]
    four = torch.ao.nn.quantized.EmbeddingBag(6, 8, dtype=torch.quint4x2)
    rows = torch.quantize_per_channel(
        numbers(torch, 113, 6, 8),
        numbers(torch, 114, 6).abs() * 0.1 + 0.1,
        numbers(torch, 115, 6).abs() * 3,
        0,
        torch.quint4x2,
    )
    four.set_weight(rows)
    yield "embedding of four bits", torch.jit.script(four), [places]
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    prepared = prepare_fx(small_network(torch), tq.get_default_qconfig_mapping("fbgemm"), (image,))
    prepared(image)
    yield "fx scripted", torch.jit.script(convert_fx(prepared)), [image]


# ---- what is kept ----------------------------------------------------------------------------------------------------


def record():
    import torch

    torch.backends.quantized.engine = "fbgemm"
    answers = {"calls": {name: kept(function(torch)) for name, function in CASES.items()}, "archives": {}}
    for name, script, inputs in archives(torch):
        buffer = io.BytesIO()
        torch.jit.save(script, buffer)
        answers["archives"][name] = {
            "archive": base64.b64encode(shorter(buffer.getvalue())).decode(),
            "inputs": kept(inputs),
            "result": kept(script(*inputs)),
        }
    ANSWERS.write_text(json.dumps(answers, separators=(",", ":")) + "\n")
    print(ANSWERS, ANSWERS.stat().st_size)


if __name__ == "__main__":
    sys.exit(record())
