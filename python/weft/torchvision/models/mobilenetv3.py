"""MobileNetV3 (Howard and others, Searching for MobileNetV3, 2019)."""

from functools import partial

from weft import nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import load_published, model_builder, number_of_classes, published_weights
from ._utils import _make_divisible
from .mobilenetv2 import initialize_mobilenet

__all__ = [
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]

# A row for each block: kernel, expanded channels, channels, squeeze and excitation, activation (RE: ReLU, HS: hard swish),
# stride; then the classifier's channels. source: tables 1 and 2 of the paper.
_BLOCKS = {
    "mobilenet_v3_large": (
        (3, 16, 16, False, "RE", 1),
        (3, 64, 24, False, "RE", 2),
        (3, 72, 24, False, "RE", 1),
        (5, 72, 40, True, "RE", 2),
        (5, 120, 40, True, "RE", 1),
        (5, 120, 40, True, "RE", 1),
        (3, 240, 80, False, "HS", 2),
        (3, 200, 80, False, "HS", 1),
        (3, 184, 80, False, "HS", 1),
        (3, 184, 80, False, "HS", 1),
        (3, 480, 112, True, "HS", 1),
        (3, 672, 112, True, "HS", 1),
        (5, 672, 160, True, "HS", 2),
        (5, 960, 160, True, "HS", 1),
        (5, 960, 160, True, "HS", 1),
    ),
    "mobilenet_v3_small": (
        (3, 16, 16, True, "RE", 2),
        (3, 72, 24, False, "RE", 2),
        (3, 88, 24, False, "RE", 1),
        (5, 96, 40, True, "HS", 2),
        (5, 240, 40, True, "HS", 1),
        (5, 240, 40, True, "HS", 1),
        (5, 120, 48, True, "HS", 1),
        (5, 144, 48, True, "HS", 1),
        (5, 288, 96, True, "HS", 2),
        (5, 576, 96, True, "HS", 1),
        (5, 576, 96, True, "HS", 1),
    ),
}
_LAST_CHANNELS = {"mobilenet_v3_large": 1280, "mobilenet_v3_small": 1024}
_SQUEEZE = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidualConfig:
    """The numbers of an InvertedResidual; channels are scaled by width_mult."""

    def __init__(self, input_channels, kernel, expanded_channels, out_channels, use_se, activation, stride, dilation,
                 width_mult):  # fmt: skip
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels, width_mult):
        return _make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """As MobileNetV2's, with squeeze and excitation of the filtered channels where the configuration says so.

    raises: ValueError for a stride other than 1 or 2.
    """

    def __init__(self, cnf, norm_layer, se_layer=_SQUEEZE):
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        hidden = cnf.expanded_channels
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer)
        activation = nn.Hardswish if cnf.use_hs else nn.ReLU
        layers = []
        if hidden != cnf.input_channels:
            layers.append(layer(cnf.input_channels, hidden, kernel_size=1, activation_layer=activation))
        stride = cnf.stride if cnf.dilation == 1 else 1
        layers.append(
            layer(hidden, hidden, kernel_size=cnf.kernel, stride=stride, dilation=cnf.dilation, groups=hidden,
                  activation_layer=activation)
        )  # fmt: skip
        if cnf.use_se:
            layers.append(se_layer(hidden, _make_divisible(hidden // 4, 8)))
        layers.append(layer(hidden, cnf.out_channels, kernel_size=1, activation_layer=None))
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input):
        result = self.block(input)
        return result + input if self.use_res_connect else result


class MobileNetV3(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes].

    raises: ValueError for an empty setting, TypeError where it is no list of InvertedResidualConfig.
    """

    def __init__(self, inverted_residual_setting, last_channel, num_classes=1000, block=None, norm_layer=None,
                 dropout=0.2, **kwargs):  # fmt: skip
        super().__init__()
        setting = inverted_residual_setting
        if not setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (
            isinstance(setting, (list, tuple)) and all(isinstance(c, InvertedResidualConfig) for c in setting)
        ):
            raise TypeError("The inverted_residual_setting should be List[InvertedResidualConfig]")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.Hardswish)
        narrow = setting[-1].out_channels
        wide = 6 * narrow
        self.features = nn.Sequential(
            layer(3, setting[0].input_channels, stride=2),
            *(block(configuration, norm_layer) for configuration in setting),
            layer(narrow, wide, kernel_size=1),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(wide, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        initialize_mobilenet(self)

    def _forward_impl(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))

    def forward(self, x):
        return self._forward_impl(x)


def _mobilenet_v3_conf(arch, width_mult=1.0, reduced_tail=False, dilated=False, **kwargs):
    """The blocks' configurations and the classifier's channels. reduced_tail: half the channels at the end; dilated: the last
    stage spreads its kernels where it would halve the image.

    raises: ValueError for another name.
    """
    if arch not in _BLOCKS:
        raise ValueError(f"Unsupported model type {arch}")
    rows = _BLOCKS[arch]
    last_stage = max(i for i, row in enumerate(rows) if row[-1] == 2)
    tail = last_stage  # from its result on, channels are halved where the tail is reduced
    setting, channels = [], 16
    for i, (kernel, expanded, out_channels, squeezed, activation, stride) in enumerate(rows):
        if reduced_tail and i >= tail:
            out_channels //= 2
            expanded = expanded // 2 if i > tail else expanded
        dilation = 2 if dilated and i >= last_stage else 1
        setting.append(
            InvertedResidualConfig(channels, kernel, expanded, out_channels, squeezed, activation, stride, dilation,
                                   width_mult)
        )  # fmt: skip
        channels = out_channels
    last = _LAST_CHANNELS[arch] // (2 if reduced_tail else 1)
    return setting, InvertedResidualConfig.adjust_channels(last, width_mult)


def _mobilenet_v3(weights, progress, arch, **kwargs):
    setting, last_channel = _mobilenet_v3_conf(arch, **kwargs)
    for name in ("width_mult", "reduced_tail", "dilated"):
        kwargs.pop(name, None)
    number_of_classes(kwargs, weights)
    return load_published(MobileNetV3(setting, last_channel, **kwargs), weights, progress)


MobileNet_V3_Large_Weights = published_weights("MobileNet_V3_Large_Weights", __name__)
MobileNet_V3_Small_Weights = published_weights("MobileNet_V3_Small_Weights", __name__)

mobilenet_v3_large = model_builder(
    "mobilenet_v3_large", MobileNet_V3_Large_Weights, _mobilenet_v3, arch="mobilenet_v3_large"
)
mobilenet_v3_small = model_builder(
    "mobilenet_v3_small", MobileNet_V3_Small_Weights, _mobilenet_v3, arch="mobilenet_v3_small"
)
