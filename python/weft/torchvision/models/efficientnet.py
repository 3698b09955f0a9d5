"""EfficientNet (Tan and Le, Rethinking model scaling for convolutional neural networks, 2019) and EfficientNetV2 (Smaller
models and faster training, 2021).
"""

import copy
import math
from collections.abc import Sequence
from functools import partial

from weft import nn

from ..ops import StochasticDepth
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import load_published, model_builder, number_of_classes, published_weights
from ._utils import _make_divisible

__all__ = [
    "EfficientNet",
    "EfficientNet_B0_Weights",
    "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights",
    "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights",
    "EfficientNet_V2_M_Weights",
    "EfficientNet_V2_S_Weights",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
]


class _MBConvConfig:
    """The numbers of a stage of blocks."""

    def __init__(self, expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block):
        self.expand_ratio = expand_ratio
        self.kernel = kernel
        self.stride = stride
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers
        self.block = block

    @staticmethod
    def adjust_channels(channels, width_mult, min_value=None):
        return _make_divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """A stage of MBConv blocks; channels are scaled by width_mult, the number of blocks by depth_mult."""

    def __init__(self, expand_ratio, kernel, stride, input_channels, out_channels, num_layers, width_mult=1.0,
                 depth_mult=1.0, block=None):  # fmt: skip
        channels = [self.adjust_channels(one, width_mult) for one in (input_channels, out_channels)]
        layers = self.adjust_depth(num_layers, depth_mult)
        super().__init__(expand_ratio, kernel, stride, *channels, layers, block or MBConv)

    @staticmethod
    def adjust_depth(num_layers, depth_mult):
        return int(math.ceil(num_layers * depth_mult))


class FusedMBConvConfig(_MBConvConfig):
    """A stage of FusedMBConv blocks."""

    def __init__(self, expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block=None):
        super().__init__(
            expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block or FusedMBConv
        )


class _Block(nn.Module):
    """Layers, dropped at random in training and added to the input where that has the same shape.

    raises: ValueError for a stride other than 1 or 2.
    """

    def __init__(self, cnf, layers, stochastic_depth_prob):
        super().__init__()
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input):
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


def _check_stride(cnf):
    if not 1 <= cnf.stride <= 2:
        raise ValueError("illegal stride value")


class MBConv(_Block):
    """Channels widened, filtered one by one, scaled by squeeze and excitation, narrowed."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer, se_layer=SqueezeExcitation):
        _check_stride(cnf)
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer)
        hidden = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        layers = []
        if hidden != cnf.input_channels:
            layers.append(layer(cnf.input_channels, hidden, kernel_size=1, activation_layer=nn.SiLU))
        layers += [
            layer(hidden, hidden, cnf.kernel, cnf.stride, groups=hidden, activation_layer=nn.SiLU),
            se_layer(hidden, max(1, cnf.input_channels // 4), activation=partial(nn.SiLU, inplace=True)),
            layer(hidden, cnf.out_channels, kernel_size=1, activation_layer=None),
        ]
        super().__init__(cnf, layers, stochastic_depth_prob)


class FusedMBConv(_Block):
    """Channels widened by a full convolution, and narrowed; without expansion the one convolution."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer):
        _check_stride(cnf)
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer)
        hidden = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        widened = hidden if hidden != cnf.input_channels else cnf.out_channels
        layers = [layer(cnf.input_channels, widened, cnf.kernel, cnf.stride, activation_layer=nn.SiLU)]
        if hidden != cnf.input_channels:
            layers.append(layer(hidden, cnf.out_channels, kernel_size=1, activation_layer=None))
        super().__init__(cnf, layers, stochastic_depth_prob)


class EfficientNet(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes].

    raises: ValueError for an empty setting, TypeError where it is no sequence of configurations.
    """

    def __init__(self, inverted_residual_setting, dropout, stochastic_depth_prob=0.2, num_classes=1000, norm_layer=None,
                 last_channel=None):  # fmt: skip
        super().__init__()
        setting = inverted_residual_setting
        if not setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (isinstance(setting, Sequence) and all(isinstance(one, _MBConvConfig) for one in setting)):
            raise TypeError("The inverted_residual_setting should be List[MBConvConfig]")
        norm_layer = norm_layer or nn.BatchNorm2d
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        features = [layer(3, setting[0].input_channels, stride=2)]
        total, index = sum(one.num_layers for one in setting), 0
        for configuration in setting:
            blocks = []
            for _ in range(configuration.num_layers):
                own = copy.copy(configuration)
                if blocks:
                    own.input_channels, own.stride = own.out_channels, 1
                blocks.append(own.block(own, stochastic_depth_prob * float(index) / total, norm_layer))
                index += 1
            features.append(nn.Sequential(*blocks))
        narrow = setting[-1].out_channels
        wide = 4 * narrow if last_channel is None else last_channel
        features.append(layer(narrow, wide, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(wide, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                bound = 1.0 / math.sqrt(module.out_features)
                nn.init.uniform_(module.weight, -bound, bound)
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
            else:
                continue
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def _forward_impl(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))

    def forward(self, x):
        return self._forward_impl(x)


# Of each stage: expansion, kernel, stride, channels, blocks; "F" for FusedMBConv. source: table 1 of the first paper, table 4
# of the second one and its code's configurations.
_FIRST = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
          (6, 3, 1, 320, 1))  # fmt: skip
_SECOND = {
    "v2_s": (24, "F 1 3 1 24 2, F 4 3 2 48 4, F 4 3 2 64 4, 4 3 2 128 6, 6 3 1 160 9, 6 3 2 256 15"),
    "v2_m": (
        24,
        "F 1 3 1 24 3, F 4 3 2 48 5, F 4 3 2 80 5, 4 3 2 160 7, 6 3 1 176 14, 6 3 2 304 18, 6 3 1 512 5",
    ),
    "v2_l": (
        32,
        "F 1 3 1 32 4, F 4 3 2 64 7, F 4 3 2 96 7, 4 3 2 192 10, 6 3 1 224 19, 6 3 2 384 25, 6 3 1 640 7",
    ),
}


def _efficientnet_conf(arch, **kwargs):
    """The stages of "efficientnet_…" and the last channels (None: four times those of the last stage). B models take
    width_mult and depth_mult.

    raises: ValueError for another name.
    """
    kind = arch.removeprefix("efficientnet_")
    if kind.startswith("b"):
        scaled = partial(
            MBConvConfig, width_mult=kwargs.pop("width_mult"), depth_mult=kwargs.pop("depth_mult")
        )
        stages, channels = [], 32
        for expansion, kernel, stride, out_channels, layers in _FIRST:
            stages.append(scaled(expansion, kernel, stride, channels, out_channels, layers))
            channels = out_channels
        return stages, None
    if kind not in _SECOND:
        raise ValueError(f"Unsupported model type {arch}")
    channels, text = _SECOND[kind]
    stages = []
    for row in text.split(","):
        make = FusedMBConvConfig if "F" in row else MBConvConfig
        expansion, kernel, stride, out_channels, layers = map(int, row.replace("F", "").split())
        stages.append(make(expansion, kernel, stride, channels, out_channels, layers))
        channels = out_channels
    return stages, 1280


def _efficientnet(weights, progress, arch, dropout, scale=None, norm_options=None, **kwargs):
    scales = {} if scale is None else {"width_mult": scale[0], "depth_mult": scale[1]}
    stages, last_channel = _efficientnet_conf(arch, **scales)
    if norm_options is not None:
        kwargs.setdefault("norm_layer", partial(nn.BatchNorm2d, **norm_options))
    number_of_classes(kwargs, weights)
    return load_published(
        EfficientNet(stages, dropout, last_channel=last_channel, **kwargs), weights, progress
    )


EfficientNet_B0_Weights = published_weights("EfficientNet_B0_Weights", __name__)
EfficientNet_B1_Weights = published_weights("EfficientNet_B1_Weights", __name__)
EfficientNet_B2_Weights = published_weights("EfficientNet_B2_Weights", __name__)
EfficientNet_B3_Weights = published_weights("EfficientNet_B3_Weights", __name__)
EfficientNet_B4_Weights = published_weights("EfficientNet_B4_Weights", __name__)
EfficientNet_B5_Weights = published_weights("EfficientNet_B5_Weights", __name__)
EfficientNet_B6_Weights = published_weights("EfficientNet_B6_Weights", __name__)
EfficientNet_B7_Weights = published_weights("EfficientNet_B7_Weights", __name__)
EfficientNet_V2_S_Weights = published_weights("EfficientNet_V2_S_Weights", __name__)
EfficientNet_V2_M_Weights = published_weights("EfficientNet_V2_M_Weights", __name__)
EfficientNet_V2_L_Weights = published_weights("EfficientNet_V2_L_Weights", __name__)


def _builder(weights, default_dropout, scale=None, **norm_options):
    arch = weights.__name__.removesuffix("_Weights").lower()

    def make(weights, progress, dropout=default_dropout, **kwargs):
        return _efficientnet(weights, progress, arch, dropout, scale, norm_options or None, **kwargs)

    return model_builder(arch, weights, make)


# The dropout, and the factors of width and depth. source: the first paper's code
efficientnet_b0 = _builder(EfficientNet_B0_Weights, 0.2, (1.0, 1.0))
efficientnet_b1 = _builder(EfficientNet_B1_Weights, 0.2, (1.0, 1.1))
efficientnet_b2 = _builder(EfficientNet_B2_Weights, 0.3, (1.1, 1.2))
efficientnet_b3 = _builder(EfficientNet_B3_Weights, 0.3, (1.2, 1.4))
efficientnet_b4 = _builder(EfficientNet_B4_Weights, 0.4, (1.4, 1.8))
efficientnet_b5 = _builder(EfficientNet_B5_Weights, 0.4, (1.6, 2.2), eps=0.001, momentum=0.01)
efficientnet_b6 = _builder(EfficientNet_B6_Weights, 0.5, (1.8, 2.6), eps=0.001, momentum=0.01)
efficientnet_b7 = _builder(EfficientNet_B7_Weights, 0.5, (2.0, 3.1), eps=0.001, momentum=0.01)
efficientnet_v2_s = _builder(EfficientNet_V2_S_Weights, 0.2, eps=0.001)
efficientnet_v2_m = _builder(EfficientNet_V2_M_Weights, 0.3, eps=0.001)
efficientnet_v2_l = _builder(EfficientNet_V2_L_Weights, 0.4, eps=0.001)
