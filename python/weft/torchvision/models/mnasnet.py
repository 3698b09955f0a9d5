"""MNASNet B1 (Tan and others, MnasNet: platform-aware neural architecture search for mobile, 2018)."""

from weft import nn

from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = [
    "MNASNet",
    "MNASNet0_5_Weights",
    "MNASNet0_75_Weights",
    "MNASNet1_0_Weights",
    "MNASNet1_3_Weights",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
]

_MOMENTUM = 1 - 0.9997
_DEPTHS = (32, 16, 24, 40, 80, 96, 192, 320)
# A row for each stack after the first two layers: kernel, stride, expansion, blocks.
_STACKS = ((3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1))


def _normalized(inp, oup, kernel_size, stride=1, groups=1, momentum=_MOMENTUM):
    """A convolution that keeps the size where the stride is 1, and its normalization."""
    convolution = nn.Conv2d(inp, oup, kernel_size, stride, kernel_size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(oup, momentum=momentum)]


class _InvertedResidual(nn.Module):
    """raises: ValueError for a stride other than 1 or 2, or a kernel other than 3 or 5."""

    def __init__(self, in_ch, out_ch, kernel_size, stride, expansion_factor, bn_momentum=0.1):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        hidden = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            *_normalized(in_ch, hidden, 1, momentum=bn_momentum),
            nn.ReLU(inplace=True),
            *_normalized(hidden, hidden, kernel_size, stride, hidden, bn_momentum),
            nn.ReLU(inplace=True),
            *_normalized(hidden, out_ch, 1, momentum=bn_momentum),
        )

    def forward(self, input):
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stack(in_ch, out_ch, kernel_size, stride, exp_factor, repeats, bn_momentum):
    """`repeats` blocks, the first of that stride. raises: ValueError for fewer than one."""
    if repeats < 1:
        raise ValueError(f"repeats should be >= 1, instead got {repeats}")
    blocks = [_InvertedResidual(in_ch, out_ch, kernel_size, stride, exp_factor, bn_momentum)]
    for _ in range(1, repeats):
        blocks.append(_InvertedResidual(out_ch, out_ch, kernel_size, 1, exp_factor, bn_momentum))
    return nn.Sequential(*blocks)


def _round_to_multiple_of(val, divisor, round_up_bias=0.9):
    """The nearest multiple, or the next one where that is less than round_up_bias of `val`.

    raises: ValueError for a bias outside (0, 1).
    """
    if not 0.0 < round_up_bias < 1.0:
        raise ValueError(
            f"round_up_bias should be greater than 0.0 and smaller than 1.0, got {round_up_bias}"
        )
    nearest = max(divisor, int(val + divisor / 2) // divisor * divisor)
    return nearest if nearest >= round_up_bias * val else nearest + divisor


def _get_depths(alpha):
    """The channels scaled by alpha, in multiples of 8."""
    return [_round_to_multiple_of(depth * alpha, 8) for depth in _DEPTHS]


class MNASNet(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes]. source: figure 7(b) of the paper, with channels scaled by alpha.

    raises: ValueError for alpha <= 0.
    """

    _version = 2

    def __init__(self, alpha, num_classes=1000, dropout=0.2):
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        depths = _get_depths(alpha)
        first, second = depths[:2]
        layers = [
            *_normalized(3, first, 3, 2),
            nn.ReLU(inplace=True),
            *_normalized(first, first, 3, groups=first),
            nn.ReLU(inplace=True),
            *_normalized(first, second, 1),
        ]
        for (kernel, stride, expansion, blocks), inp, oup in zip(_STACKS, depths[1:], depths[2:]):
            layers.append(_stack(inp, oup, kernel, stride, expansion, blocks, _MOMENTUM))
        layers += [*_normalized(depths[-1], 1280, 1), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(1280, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
            else:
                continue
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.layers(x).mean([2, 3]))


def _mnasnet(weights, progress, alpha, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(MNASNet(alpha, **kwargs), weights, progress)


MNASNet0_5_Weights = published_weights("MNASNet0_5_Weights", __name__)
MNASNet0_75_Weights = published_weights("MNASNet0_75_Weights", __name__)
MNASNet1_0_Weights = published_weights("MNASNet1_0_Weights", __name__)
MNASNet1_3_Weights = published_weights("MNASNet1_3_Weights", __name__)

mnasnet0_5 = model_builder("mnasnet0_5", MNASNet0_5_Weights, _mnasnet, alpha=0.5)
mnasnet0_75 = model_builder("mnasnet0_75", MNASNet0_75_Weights, _mnasnet, alpha=0.75)
mnasnet1_0 = model_builder("mnasnet1_0", MNASNet1_0_Weights, _mnasnet, alpha=1.0)
mnasnet1_3 = model_builder("mnasnet1_3", MNASNet1_3_Weights, _mnasnet, alpha=1.3)
