"""Modules of weft.nn with arguments and inputs, for weft and PyTorch alike.

By a Python that has PyTorch, `python nn_cases.py write FOLDER` writes the modules' states (states.pt), texts
(modules.json) and outputs (arrays.npz) there, and `python nn_cases.py run FOLDER` what its archives (0.pt, …) give.
"""

import inspect
import json
import os
import sys

import numpy as np


class Case:
    """A module's class by name, what it is made with, and what it is called with."""

    def __init__(self, name, *args, inputs=(), options=None, **kwargs):
        self.name, self.args, self.kwargs = name, args, kwargs
        self.inputs, self.options = inputs, options or {}

    def __repr__(self):
        arguments = [*map(repr, self.args), *(f"{key}={value!r}" for key, value in self.kwargs.items())]
        return f"{self.name}({', '.join(arguments)})" + "".join(f"[{key}]" for key in self.options)

    def build(self, nn):
        """The module in eval mode. Arguments ("module", name, arguments…) are modules themselves."""
        return getattr(nn, self.name)(
            *_built(nn, self.args), **dict(zip(self.kwargs, _built(nn, self.kwargs.values())))
        ).eval()

    def arrays(self):
        """The inputs, and the options by name, as NumPy arrays."""
        rng = np.random.default_rng(len(repr(self)))
        return [_array(spec, rng) for spec in self.inputs], {
            key: _array(spec, rng) for key, spec in self.options.items()
        }


def _built(nn, values):
    return [
        Case(*value[1:]).build(nn) if isinstance(value, tuple) and value[:1] == ("module",) else value
        for value in values
    ]


def _array(spec, rng):
    if isinstance(spec, list):
        return [_array(each, rng) for each in spec]
    if not isinstance(spec, tuple):
        return spec
    kind, *rest = spec
    if kind == "normal":
        return rng.standard_normal(rest).astype(np.float32)
    if kind == "uniform":  # between 0 and 1
        return rng.uniform(0.01, 0.99, rest).astype(np.float32)
    if kind == "below":  # integers
        return rng.integers(0, rest[0], rest[1:])
    if kind == "signs":
        return np.where(rng.uniform(size=rest) < 0.5, -1.0, 1.0).astype(np.float32)
    if kind == "values":
        return np.array(*rest)
    raise ValueError(kind)


def fill(state):
    """Numbers for every array of a state, so that no weight is one and no bias zero."""
    rng = np.random.default_rng(len(state))
    return {key: fill_one(key, value, rng) for key, value in state.items()}


def fill_one(key, value, rng):
    if value.dtype.kind != "f":
        return value
    if key.endswith("_var"):
        return rng.uniform(0.5, 1.5, value.shape).astype(value.dtype)
    return (rng.standard_normal(value.shape) * 0.4).astype(value.dtype)


def filled(module, convert):
    """The module, its state filled; convert makes a tensor of an array."""
    state = module.state_dict()
    for key, value in fill({key: value.numpy() for key, value in state.items()}).items():
        state[key].copy_(convert(np.array(value)))
    return module


def flat(output):
    """The tensors of an output, one after another."""
    if isinstance(output, (tuple, list)):
        return [tensor for each in output for tensor in flat(each)]
    return [] if output is None else [output]


N1, N2, N3 = ("normal", 2, 6, 10), ("normal", 2, 6, 9, 8), ("normal", 2, 6, 5, 6, 7)
ROWS = ("normal", 3, 8)
ACTIVATIONS = ["ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Sigmoid", "Tanh", "Softsign", "Tanhshrink", "LogSigmoid",
               "GELU", "ELU", "CELU", "LeakyReLU", "RReLU", "PReLU", "Hardtanh", "Hardshrink", "Softshrink"]  # fmt: skip
CASES = [Case(name, inputs=[N2]) for name in ACTIVATIONS]
CASES += [Case(name, inplace=True, inputs=[N2]) for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "ELU", "CELU",
                                                             "LeakyReLU", "RReLU", "Hardtanh")]  # fmt: skip
CASES += [
    Case("GELU", approximate="tanh", inputs=[N2]), Case("ELU", 0.7, inputs=[N2]), Case("CELU", 1.3, inputs=[N2]), Case("PReLU", 6, inputs=[N2]),
    Case("Hardtanh", -0.5, 0.25, inputs=[N2]), Case("Softplus", 1.5, 10.0, inputs=[N2]), Case("Threshold", 0.1, -2.0, inputs=[N2]),
    Case("Threshold", 0.1, -2.0, inplace=True, inputs=[N2]), Case("Softmax", 1, inputs=[N2]), Case("LogSoftmax", -1, inputs=[N2]),
    Case("Softmin", 2, inputs=[N2]), Case("Softmax2d", inputs=[N2]), Case("GLU", 1, inputs=[N2]), Case("Identity", 3, a=4, inputs=[N1]),
    Case("Linear", 8, 5, inputs=[ROWS]), Case("Linear", 8, 5, bias=False, inputs=[("normal", 2, 3, 8)]),
    Case("Bilinear", 4, 5, 3, inputs=[("normal", 2, 4), ("normal", 2, 5)]), Case("Bilinear", 4, 5, 3, False, inputs=[("normal", 2, 4), ("normal", 2, 5)]),
]  # fmt: skip
for rank, x in ((1, N1), (2, N2), (3, N3)):
    CASES += [
        Case(f"Conv{rank}d", 6, 4, 3, inputs=[x]), Case(f"Conv{rank}d", 6, 4, 3, 2, 1, bias=False, inputs=[x]),
        Case(f"Conv{rank}d", 6, 4, (3,) * rank, padding=2, dilation=2, groups=2, inputs=[x]),
        Case(f"Conv{rank}d", 6, 4, 3, padding=1, padding_mode="circular", inputs=[x]),
        Case(f"Conv{rank}d", 6, 4, 2, padding="same", padding_mode="replicate", inputs=[x]),
        Case(f"Conv{rank}d", 6, 4, 4, padding="same", inputs=[x]), Case(f"Conv{rank}d", 6, 4, 2, padding="valid", inputs=[x]),
        Case(f"ConvTranspose{rank}d", 6, 4, 3, inputs=[x]),
        Case(f"ConvTranspose{rank}d", 6, 4, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2, bias=False, inputs=[x]),
        Case(f"ConvTranspose{rank}d", 6, 4, 3, stride=2, inputs=[x], options={"output_size": [2 * n + 2 for n in x[3:]]}),
        Case(f"BatchNorm{rank}d", 6, inputs=[x]), Case(f"BatchNorm{rank}d", 6, affine=False, inputs=[x]),
        Case(f"BatchNorm{rank}d", 6, momentum=None, inputs=[x]), Case(f"BatchNorm{rank}d", 6, track_running_stats=False, inputs=[x]),
        Case(f"InstanceNorm{rank}d", 6, inputs=[x]), Case(f"InstanceNorm{rank}d", 6, affine=True, track_running_stats=True, inputs=[x]),
        Case(f"InstanceNorm{rank}d", 6, inputs=[("normal", *x[2:])]),
        Case(f"MaxPool{rank}d", 2, inputs=[x]), Case(f"MaxPool{rank}d", 3, 2, 1, return_indices=True, inputs=[x]),
        Case(f"MaxPool{rank}d", (2,) * rank, 2, ceil_mode=True, inputs=[x]), Case(f"AvgPool{rank}d", 2, inputs=[x]),
        Case(f"AvgPool{rank}d", 3, 2, 1, count_include_pad=False, inputs=[x]),
        Case(f"AdaptiveAvgPool{rank}d", 3, inputs=[x]), Case(f"AdaptiveMaxPool{rank}d", 3, inputs=[x]),
        Case(f"AdaptiveMaxPool{rank}d", 3, return_indices=True, inputs=[x]),
        Case(f"ConstantPad{rank}d", 2, 1.5, inputs=[x]), Case(f"ReflectionPad{rank}d", 1, inputs=[x]),
        Case(f"ReplicationPad{rank}d", tuple(range(1, 2 * rank + 1)), inputs=[x]),
        Case(f"Dropout{rank}d", 0.3, inputs=[x]),
    ]  # fmt: skip
CASES += [
    Case("AdaptiveAvgPool2d", (None, 3), inputs=[N2]), Case("AdaptiveMaxPool2d", (None, 3), inputs=[N2]),
    Case("AvgPool2d", 2, divisor_override=3, inputs=[N2]), Case("BatchNorm1d", 8, inputs=[ROWS]),
    Case("LPPool1d", 2.0, 3, inputs=[N1]), Case("LPPool2d", 1.5, (3, 2), (2, 1), inputs=[("uniform", 2, 6, 9, 8)]), Case("ZeroPad2d", (1, 2, 3, 4), inputs=[N2]),
    Case("MaxUnpool1d", 2, inputs=[("normal", 1, 2, 3), ("values", [[[0, 3, 5], [1, 2, 4]]])]),
    Case("MaxUnpool2d", 2, inputs=[("normal", 1, 1, 2, 2), ("values", [[[[0, 3], [9, 14]]]])]),
    Case("MaxUnpool2d", 2, inputs=[("normal", 1, 1, 2, 2), ("values", [[[[0, 3], [9, 14]]]])], options={"output_size": [5, 4]}),
    Case("Dropout", inputs=[N2]), Case("Dropout", 0.2, True, inputs=[N2]), Case("AlphaDropout", inputs=[N2]), Case("FeatureAlphaDropout", inputs=[N2]),
    Case("LayerNorm", 8, inputs=[N2]), Case("LayerNorm", (9, 8), elementwise_affine=False, inputs=[N2]), Case("LayerNorm", [9, 8], eps=0.1, inputs=[N2]),
    Case("GroupNorm", 3, 6, inputs=[N2]), Case("GroupNorm", 2, 6, affine=False, inputs=[N1]), Case("LocalResponseNorm", 3, 0.1, inputs=[N2]),
    Case("Embedding", 10, 4, inputs=[("below", 10, 2, 5)]), Case("Embedding", 10, 4, padding_idx=-3, max_norm=0.5, inputs=[("below", 10, 2, 5)]),
    Case("EmbeddingBag", 10, 4, inputs=[("below", 10, 3, 5)]),
    Case("EmbeddingBag", 10, 4, mode="sum", inputs=[("below", 10, 9)], options={"offsets": ("values", [0, 2, 2, 7]), "per_sample_weights": ("normal", 9)}),
    Case("EmbeddingBag", 10, 4, mode="max", padding_idx=2, include_last_offset=True, inputs=[("below", 10, 9), ("values", [0, 4, 9])]),
    Case("Flatten", inputs=[N2]), Case("Flatten", 0, 1, inputs=[N2]), Case("Unflatten", 1, (2, 3), inputs=[N2]), Case("PixelShuffle", 2, inputs=[("normal", 2, 8, 3, 5)]),
    Case("PixelUnshuffle", 2, inputs=[("normal", 2, 3, 4, 6)]), Case("ChannelShuffle", 3, inputs=[N2]), Case("Upsample", scale_factor=2, inputs=[N2]),
    Case("Upsample", (11, 13), mode="bilinear", inputs=[N2]), Case("Upsample", scale_factor=(1.5, 2.5), mode="bicubic", align_corners=True, inputs=[N2]),
    Case("Upsample", scale_factor=1.7, mode="linear", inputs=[N1]), Case("Upsample", scale_factor=1.7, mode="trilinear", recompute_scale_factor=True, inputs=[N3]),
    Case("UpsamplingNearest2d", scale_factor=2, inputs=[N2]), Case("UpsamplingBilinear2d", (4, 5), inputs=[N2]),
    Case("Fold", (4, 5), (2, 3), padding=1, stride=2, inputs=[("normal", 2, 12, 9)]), Case("Unfold", (2, 3), 2, 1, 2, inputs=[N2]),
    Case("CosineSimilarity", inputs=[ROWS, ROWS]), Case("PairwiseDistance", 3.0, inputs=[ROWS, ROWS]), Case("PairwiseDistance", keepdim=True, inputs=[ROWS, ROWS]),
]  # fmt: skip
MARGIN = {"MarginRankingLoss": [ROWS, ROWS, ("signs", 3, 8)], "CosineEmbeddingLoss": [ROWS, ROWS, ("signs", 3)],
          "HingeEmbeddingLoss": [ROWS, ("signs", 3, 8)], "SoftMarginLoss": [ROWS, ("signs", 3, 8)], "TripletMarginLoss": [ROWS] * 3,
          "TripletMarginWithDistanceLoss": [ROWS] * 3}  # fmt: skip
CHANCES = ("uniform", 3, 8)
LOSSES = {"L1Loss": [ROWS, ROWS], "MSELoss": [ROWS, ROWS], "SmoothL1Loss": [ROWS, ROWS], "HuberLoss": [ROWS, ROWS], "KLDivLoss": [ROWS, CHANCES],
          "BCELoss": [CHANCES, CHANCES], "BCEWithLogitsLoss": [ROWS, CHANCES], "NLLLoss": [ROWS, ("below", 8, 3)], "CrossEntropyLoss": [ROWS, ("below", 8, 3)],
          "PoissonNLLLoss": [ROWS, CHANCES], "GaussianNLLLoss": [ROWS, ROWS, CHANCES], "MultiLabelSoftMarginLoss": [ROWS, ("below", 2, 3, 8)],
          "MultiMarginLoss": [ROWS, ("below", 8, 3)], "MultiLabelMarginLoss": [("normal", 2, 4), ("values", [[3, 0, -1, 1], [2, -1, 0, 0]])],
          "CTCLoss": [("normal", 7, 2, 5), ("values", [[1, 2, 2], [3, 1, 4]]), ("values", [7, 6]), ("values", [3, 2])], **MARGIN}  # fmt: skip
CASES += [
    Case(name, reduction=reduction, inputs=inputs)
    for name, inputs in LOSSES.items()
    for reduction in ("none", "mean", "sum")
]
CASES += [
    Case("KLDivLoss", reduction="batchmean", log_target=True, inputs=[ROWS, ROWS]), Case("PoissonNLLLoss", False, True, inputs=[CHANCES, ("uniform", 3, 8)]),
    Case("GaussianNLLLoss", full=True, inputs=[ROWS, ROWS, ("uniform", 3, 1)]), Case("MultiMarginLoss", 2, 0.5, inputs=[ROWS, ("below", 8, 3)]),
    Case("TripletMarginLoss", 0.5, 1.0, swap=True, inputs=[ROWS] * 3), Case("CrossEntropyLoss", label_smoothing=0.2, inputs=[ROWS, ("below", 8, 3)]),
    Case("CTCLoss", 2, "sum", True, inputs=[("normal", 4, 2, 5), ("values", [1, 1, 1, 1, 3]), ("values", [4, 4]), ("values", [4, 1])]),
]  # fmt: skip
CASES.append(Case("AdaptiveLogSoftmaxWithLoss", 8, 20, [5, 11], 2.0, inputs=[ROWS, ("values", [3, 7, 19])]))
for name in ("RNN", "GRU", "LSTM"):
    x = ("normal", 5, 3, 4)
    CASES += [
        Case(name, 4, 6, inputs=[x]), Case(name, 4, 6, 2, bidirectional=True, inputs=[x]), Case(name, 4, 6, 2, bias=False, batch_first=True, inputs=[x]),
        Case(name, 4, 6, 2, dropout=0.3, inputs=[("normal", 5, 4)]), Case(name + "Cell", 4, 6, inputs=[("normal", 3, 4)]),
        Case(name + "Cell", 4, 6, False, inputs=[("normal", 4)]),
    ]  # fmt: skip
STATE = ("normal", 2, 3, 6)
CASES += [
    Case("RNN", 4, 6, 2, nonlinearity="relu", inputs=[("normal", 5, 3, 4), STATE]), Case("GRU", 4, 6, 2, inputs=[("normal", 5, 3, 4), STATE]),
    Case("LSTM", 4, 6, 2, inputs=[("normal", 5, 3, 4), [STATE, STATE]]), Case("LSTM", 4, 6, 2, proj_size=3, bidirectional=True, inputs=[("normal", 5, 3, 4)]),
    Case("LSTM", 4, 6, inputs=[("normal", 5, 4), [("normal", 1, 6), ("normal", 1, 6)]]), Case("RNNCell", 4, 6, nonlinearity="relu", inputs=[("normal", 3, 4), ("normal", 3, 6)]),
    Case("LSTMCell", 4, 6, inputs=[("normal", 3, 4), [("normal", 3, 6), ("normal", 3, 6)]]), Case("GRUCell", 4, 6, inputs=[("normal", 4), ("normal", 6)]),
]  # fmt: skip
Q, K, V = ("normal", 5, 2, 8), ("normal", 7, 2, 8), ("normal", 7, 2, 8)
PADDING = ("values", [[False] * 4 + [True], [False] * 5])
CAUSAL = ("values", [[j > i for j in range(5)] for i in range(5)])
ADDED = ("values", [[0.1 * i - 0.2 * j for j in range(5)] for i in range(5)], np.float32)
CASES += [
    Case("MultiheadAttention", 8, 2, inputs=[Q, K, V]), Case("MultiheadAttention", 8, 2, bias=False, inputs=[Q, K, V], options={"need_weights": False}),
    Case("MultiheadAttention", 8, 2, add_bias_kv=True, add_zero_attn=True, inputs=[Q, K, V], options={"average_attn_weights": False}),
    Case("MultiheadAttention", 8, 4, kdim=3, vdim=5, batch_first=True, inputs=[("normal", 2, 5, 8), ("normal", 2, 7, 3), ("normal", 2, 7, 5)]),
    Case("MultiheadAttention", 8, 2, inputs=[("normal", 5, 8), ("normal", 7, 8), ("normal", 7, 8)]),
    Case("MultiheadAttention", 8, 2, inputs=[Q, Q, Q], options={"attn_mask": CAUSAL, "key_padding_mask": PADDING}),
    Case("MultiheadAttention", 8, 2, inputs=[Q, Q, Q], options={"attn_mask": ADDED}),
]  # fmt: skip
for norm_first in (False, True):
    x = ("normal", 2, 5, 8)
    for options in (
        {},
        {"src_mask": CAUSAL},
        {"src_key_padding_mask": ("values", [[False] * 5] * 2)},
        {"src_mask": ADDED},
    ):
        CASES.append(
            Case(
                "TransformerEncoderLayer",
                8,
                2,
                12,
                batch_first=True,
                norm_first=norm_first,
                inputs=[x],
                options=options,
            )
        )
    CASES.append(
        Case("TransformerEncoderLayer", 8, 2, 12, activation="gelu", norm_first=norm_first, inputs=[Q])
    )
    CASES.append(
        Case(
            "TransformerDecoderLayer",
            8,
            2,
            12,
            norm_first=norm_first,
            inputs=[Q, K],
            options={"tgt_mask": CAUSAL, "tgt_key_padding_mask": PADDING},
        )
    )
CASES += [
    Case("TransformerEncoder", ("module", "TransformerEncoderLayer", 8, 2, 12), 2, ("module", "LayerNorm", 8), enable_nested_tensor=False, inputs=[Q]),
    Case("TransformerDecoder", ("module", "TransformerDecoderLayer", 8, 2, 12), 2, inputs=[Q, K]),
    Case("Transformer", 8, 2, 1, 1, 12, inputs=[Q, K]), Case("Transformer", 8, 2, 1, 1, 12, batch_first=True, norm_first=True, inputs=[("normal", 2, 5, 8), ("normal", 2, 3, 8)]),
    Case("Sequential", ("module", "Conv2d", 6, 4, 3), ("module", "BatchNorm2d", 4), ("module", "ReLU"), inputs=[N2]),
]  # fmt: skip


def signature(module_class):
    """Names and defaults of a class's constructor, as text."""
    parameters = inspect.signature(module_class.__init__).parameters.values()
    return [
        (p.name, str(p.kind), getattr(p.default, "__name__", repr(p.default)))
        for p in parameters
        if p.name != "self"
    ]


def run(folder):
    """The archives' outputs, in arrays.npz."""
    import torch

    torch.set_grad_enabled(False)
    arrays = {}
    for i, case in enumerate(CASES):
        if os.path.exists(f"{folder}/{i}.pt"):
            inputs, options = case.arrays()
            module = torch.jit.load(f"{folder}/{i}.pt")
            outputs = module(*to_tensors(torch.from_numpy, inputs), **to_tensors(torch.from_numpy, options))
            arrays.update({f"{i}/{j}": output.numpy() for j, output in enumerate(flat(outputs))})
    np.savez(f"{folder}/arrays.npz", **arrays)


def write(folder):
    import torch

    torch.set_grad_enabled(False)
    states, texts, arrays = [], [], {}
    for i, case in enumerate(CASES):
        module = case.build(torch.nn)
        states.append(filled(module, torch.from_numpy).state_dict())
        inputs, options = case.arrays()
        outputs = module(*to_tensors(torch.from_numpy, inputs), **to_tensors(torch.from_numpy, options))
        for j, output in enumerate(flat(outputs)):
            arrays[f"{i}/{j}"] = output.numpy()
        texts.append(repr(module))
    names = [
        name
        for name, value in vars(torch.nn).items()
        if isinstance(value, type) and issubclass(value, torch.nn.Module)
    ]
    torch.save(states, f"{folder}/states.pt")
    np.savez(f"{folder}/arrays.npz", **arrays)
    with open(f"{folder}/modules.json", "w") as file:
        json.dump(
            {"texts": texts, "signatures": {name: signature(getattr(torch.nn, name)) for name in names}}, file
        )


def to_tensors(convert, values):
    """Arrays, in lists (which become tuples) and dictionaries, as tensors."""
    if isinstance(values, dict):
        return {key: to_tensors(convert, value) for key, value in values.items()}
    if isinstance(values, list):
        return (
            tuple(to_tensors(convert, value) for value in values)
            if any(isinstance(v, np.ndarray) for v in flat(values))
            else values
        )
    return convert(values) if isinstance(values, np.ndarray) else values


if __name__ == "__main__":
    {"write": write, "run": run}[sys.argv[1]](sys.argv[2])
