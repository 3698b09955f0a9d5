"""RegNet (Radosavovic and others, Designing network design spaces, 2020)."""

import math
from collections import OrderedDict
from functools import partial

import numpy as np

from weft import nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import load_published, model_builder, number_of_classes, published_weights
from ._utils import _make_divisible

__all__ = [
    "RegNet",
    "RegNet_X_16GF_Weights",
    "RegNet_X_1_6GF_Weights",
    "RegNet_X_32GF_Weights",
    "RegNet_X_3_2GF_Weights",
    "RegNet_X_400MF_Weights",
    "RegNet_X_800MF_Weights",
    "RegNet_X_8GF_Weights",
    "RegNet_Y_128GF_Weights",
    "RegNet_Y_16GF_Weights",
    "RegNet_Y_1_6GF_Weights",
    "RegNet_Y_32GF_Weights",
    "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_400MF_Weights",
    "RegNet_Y_800MF_Weights",
    "RegNet_Y_8GF_Weights",
    "regnet_x_16gf",
    "regnet_x_1_6gf",
    "regnet_x_32gf",
    "regnet_x_3_2gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_x_8gf",
    "regnet_y_128gf",
    "regnet_y_16gf",
    "regnet_y_1_6gf",
    "regnet_y_32gf",
    "regnet_y_3_2gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
    "regnet_y_8gf",
]


class SimpleStemIN(Conv2dNormActivation):
    """A 3×3 convolution of stride 2."""

    def __init__(self, width_in, width_out, norm_layer, activation_layer):
        super().__init__(width_in, width_out, 3, 2, norm_layer=norm_layer, activation_layer=activation_layer)


class BottleneckTransform(nn.Sequential):
    """Layers a, b (in groups), se (where there is a ratio) and c of a block."""

    def __init__(self, width_in, width_out, stride, norm_layer, activation_layer, group_width, bottleneck_multiplier,
                 se_ratio):  # fmt: skip
        width = int(round(width_out * bottleneck_multiplier))
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=activation_layer)
        layers = OrderedDict(
            a=layer(width_in, width, 1),
            b=layer(width, width, 3, stride, groups=width // group_width),
        )
        if se_ratio:
            squeezed = int(round(se_ratio * width_in))
            layers["se"] = SqueezeExcitation(width, squeezed, activation=activation_layer)
        layers["c"] = layer(width, width_out, 1, activation_layer=None)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """The layers' result added to the input, which is projected where the shape changes."""

    def __init__(self, width_in, width_out, stride, norm_layer, activation_layer, group_width=1,
                 bottleneck_multiplier=1.0, se_ratio=None):  # fmt: skip
        super().__init__()
        self.proj = None
        if stride != 1 or width_in != width_out:
            self.proj = Conv2dNormActivation(
                width_in, width_out, 1, stride, norm_layer=norm_layer, activation_layer=None
            )
        self.f = BottleneckTransform(width_in, width_out, stride, norm_layer, activation_layer, group_width,
                                     bottleneck_multiplier, se_ratio)  # fmt: skip
        self.activation = activation_layer(inplace=True)

    def forward(self, x):
        shortcut = x if self.proj is None else self.proj(x)
        return self.activation(shortcut + self.f(x))


class AnyStage(nn.Sequential):
    """`depth` blocks of one width, the first with the stride."""

    def __init__(self, width_in, width_out, stride, depth, block_constructor, norm_layer, activation_layer, group_width,
                 bottleneck_multiplier, se_ratio=None, stage_index=0):  # fmt: skip
        super().__init__()
        for i in range(depth):
            block = block_constructor(width_out if i else width_in, width_out, 1 if i else stride, norm_layer,
                                      activation_layer, group_width, bottleneck_multiplier, se_ratio)  # fmt: skip
            self.add_module(f"block{stage_index}-{i}", block)


class BlockParams:
    """The numbers of the stages, in lists."""

    def __init__(self, depths, widths, group_widths, bottleneck_multipliers, strides, se_ratio=None):
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(
        cls, depth, w_0, w_a, w_m, group_width, bottleneck_multiplier=1.0, se_ratio=None, **kwargs
    ):
        """Stages of blocks whose widths u = w_0 + w_a·j are replaced by w_0 · w_m^k of the nearest whole k, in multiples
        of 8: blocks of one width are a stage. source: section 3.3 of the paper.

        raises: ValueError for numbers that give no such line.
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8:
            raise ValueError(f"Invalid RegNet settings: w_0 {w_0}, w_a {w_a}, w_m {w_m}")
        line = (np.arange(depth) * w_a + w_0).astype(np.float32)
        powers = np.round(np.log(line / w_0) / math.log(w_m))
        block_widths = (np.round(w_0 * np.power(w_m, powers) / 8) * 8).astype(int).tolist()
        widths = sorted(set(block_widths))
        depths = [block_widths.count(width) for width in widths]
        multipliers = [bottleneck_multiplier] * len(widths)
        widths, groups = cls._adjust_widths_groups_compatibilty(
            widths, multipliers, [group_width] * len(widths)
        )
        return cls(depths, widths, groups, multipliers, [2] * len(widths), se_ratio)

    def _get_expanded_params(self):
        return zip(self.widths, self.strides, self.depths, self.group_widths, self.bottleneck_multipliers)

    @staticmethod
    def _adjust_widths_groups_compatibilty(stage_widths, bottleneck_ratios, group_widths):
        """Groups no wider than the bottleneck, and widths of which the bottleneck is whole groups."""
        widths, groups = [], []
        for width, ratio, group in zip(stage_widths, bottleneck_ratios, group_widths):
            bottleneck = int(width * ratio)
            group = min(group, bottleneck)
            widths.append(int(_make_divisible(bottleneck, group) / ratio))
            groups.append(group)
        return widths, groups


class RegNet(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes]."""

    def __init__(self, block_params, num_classes=1000, stem_width=32, stem_type=None, block_type=None, norm_layer=None,
                 activation=None):  # fmt: skip
        super().__init__()
        stem_type = stem_type or SimpleStemIN
        block_type = block_type or ResBottleneckBlock
        norm_layer = norm_layer or nn.BatchNorm2d
        activation = activation or nn.ReLU
        self.stem = stem_type(3, stem_width, norm_layer, activation)
        stages, channels = OrderedDict(), stem_width
        for i, (width, stride, depth, group_width, multiplier) in enumerate(
            block_params._get_expanded_params(), 1
        ):
            stages[f"block{i}"] = AnyStage(channels, width, stride, depth, block_type, norm_layer, activation, group_width,
                                           multiplier, block_params.se_ratio, stage_index=i)  # fmt: skip
            channels = width
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                outputs = math.prod(module.kernel_size) * module.out_channels
                nn.init.normal_(module.weight, mean=0.0, std=math.sqrt(2.0 / outputs))
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        x = self.trunk_output(self.stem(x))
        return self.fc(self.avgpool(x).flatten(1))


def _regnet(weights, progress, line, se_ratio, **kwargs):
    parameters = BlockParams.from_init_params(*line, se_ratio=se_ratio)
    kwargs.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=1e-5, momentum=0.1))
    number_of_classes(kwargs, weights)
    return load_published(RegNet(parameters, **kwargs), weights, progress)


RegNet_Y_400MF_Weights = published_weights("RegNet_Y_400MF_Weights", __name__)
RegNet_Y_800MF_Weights = published_weights("RegNet_Y_800MF_Weights", __name__)
RegNet_Y_1_6GF_Weights = published_weights("RegNet_Y_1_6GF_Weights", __name__)
RegNet_Y_3_2GF_Weights = published_weights("RegNet_Y_3_2GF_Weights", __name__)
RegNet_Y_8GF_Weights = published_weights("RegNet_Y_8GF_Weights", __name__)
RegNet_Y_16GF_Weights = published_weights("RegNet_Y_16GF_Weights", __name__)
RegNet_Y_32GF_Weights = published_weights("RegNet_Y_32GF_Weights", __name__)
RegNet_Y_128GF_Weights = published_weights("RegNet_Y_128GF_Weights", __name__)
RegNet_X_400MF_Weights = published_weights("RegNet_X_400MF_Weights", __name__)
RegNet_X_800MF_Weights = published_weights("RegNet_X_800MF_Weights", __name__)
RegNet_X_1_6GF_Weights = published_weights("RegNet_X_1_6GF_Weights", __name__)
RegNet_X_3_2GF_Weights = published_weights("RegNet_X_3_2GF_Weights", __name__)
RegNet_X_8GF_Weights = published_weights("RegNet_X_8GF_Weights", __name__)
RegNet_X_16GF_Weights = published_weights("RegNet_X_16GF_Weights", __name__)
RegNet_X_32GF_Weights = published_weights("RegNet_X_32GF_Weights", __name__)


def _builder(weights, *line, first="IMAGENET1K_V1"):
    """line: blocks, w_0, w_a, w_m, channels of a group. source: the configurations of the paper's model zoo (pycls)."""
    name = weights.__name__.removesuffix("_Weights").lower()
    se_ratio = 0.25 if "_y_" in name else None
    return model_builder(name, weights, _regnet, first=first, line=line, se_ratio=se_ratio)


regnet_y_400mf = _builder(RegNet_Y_400MF_Weights, 16, 48, 27.89, 2.09, 8)
regnet_y_800mf = _builder(RegNet_Y_800MF_Weights, 14, 56, 38.84, 2.4, 16)
regnet_y_1_6gf = _builder(RegNet_Y_1_6GF_Weights, 27, 48, 20.71, 2.65, 24)
regnet_y_3_2gf = _builder(RegNet_Y_3_2GF_Weights, 21, 80, 42.63, 2.66, 24)
regnet_y_8gf = _builder(RegNet_Y_8GF_Weights, 17, 192, 76.82, 2.19, 56)
regnet_y_16gf = _builder(RegNet_Y_16GF_Weights, 18, 200, 106.23, 2.48, 112)
regnet_y_32gf = _builder(RegNet_Y_32GF_Weights, 20, 232, 115.89, 2.53, 232)
regnet_y_128gf = _builder(RegNet_Y_128GF_Weights, 27, 456, 160.83, 2.52, 264, first=None)
regnet_x_400mf = _builder(RegNet_X_400MF_Weights, 22, 24, 24.48, 2.54, 16)
regnet_x_800mf = _builder(RegNet_X_800MF_Weights, 16, 56, 35.73, 2.28, 16)
regnet_x_1_6gf = _builder(RegNet_X_1_6GF_Weights, 18, 80, 34.01, 2.25, 24)
regnet_x_3_2gf = _builder(RegNet_X_3_2GF_Weights, 25, 88, 26.31, 2.25, 48)
regnet_x_8gf = _builder(RegNet_X_8GF_Weights, 23, 80, 49.56, 2.88, 120)
regnet_x_16gf = _builder(RegNet_X_16GF_Weights, 22, 216, 55.59, 2.1, 128)
regnet_x_32gf = _builder(RegNet_X_32GF_Weights, 23, 320, 69.86, 2.0, 168)
