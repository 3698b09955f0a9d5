"""MobileNetV2 (Sandler and others, Inverted residuals and linear bottlenecks, 2018)."""

from functools import partial

from weft import nn

from ..ops.misc import Conv2dNormActivation
from ._api import load_published, model_builder, number_of_classes, published_weights
from ._utils import _make_divisible

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

# A row for each group of blocks: expansion, channels, blocks, stride of the first block. source: table 2 of the paper.
_SETTING = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def initialize_mobilenet(model):
    """Convolutions from He's normal distribution by their outputs, linear layers with a standard deviation of 0.01."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(module.weight)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


class InvertedResidual(nn.Module):
    """Images [n, inp, h, w] to [n, oup, h / stride, w / stride]: channels widened, filtered one by one, and narrowed
    without an activation; added to the input where that has the same shape.

    raises: ValueError for a stride other than 1 or 2.
    """

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=None):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm_layer = norm_layer or nn.BatchNorm2d
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
        hidden = int(round(inp * expand_ratio))
        layers = [] if expand_ratio == 1 else [layer(inp, hidden, kernel_size=1)]
        layers += [
            layer(hidden, hidden, stride=stride, groups=hidden),
            nn.Conv2d(hidden, oup, 1, bias=False),
            norm_layer(oup),
        ]
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes]. width_mult scales the channels, which are multiples of round_nearest.

    raises: ValueError for a setting whose rows are not of four numbers.
    """

    def __init__(self, num_classes=1000, width_mult=1.0, inverted_residual_setting=None, round_nearest=8, block=None,
                 norm_layer=None, dropout=0.2):  # fmt: skip
        super().__init__()
        block = block or InvertedResidual
        norm_layer = norm_layer or nn.BatchNorm2d
        setting = _SETTING if inverted_residual_setting is None else inverted_residual_setting
        if len(setting) == 0 or len(setting[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {setting}"
            )
        layer = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
        channels = _make_divisible(32 * width_mult, round_nearest)
        features = [layer(3, channels, stride=2)]
        for expansion, out_channels, repeats, first_stride in setting:
            width = _make_divisible(out_channels * width_mult, round_nearest)
            for i in range(repeats):
                stride = 1 if i else first_stride
                features.append(block(channels, width, stride, expand_ratio=expansion, norm_layer=norm_layer))
                channels = width
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        features.append(layer(channels, self.last_channel, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes))
        initialize_mobilenet(self)

    def forward(self, x):
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(x.flatten(1))


def _mobilenet_v2(weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(MobileNetV2(**kwargs), weights, progress)


MobileNet_V2_Weights = published_weights("MobileNet_V2_Weights", __name__)
mobilenet_v2 = model_builder("mobilenet_v2", MobileNet_V2_Weights, _mobilenet_v2)
