"""ConvNeXt (Liu and others, A ConvNet for the 2020s, 2022)."""

from functools import partial

import weft
from weft import nn

from ..ops.misc import Conv2dNormActivation, Permute
from ..ops.stochastic_depth import StochasticDepth
from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = [
    "ConvNeXt",
    "ConvNeXt_Base_Weights",
    "ConvNeXt_Large_Weights",
    "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights",
    "convnext_base",
    "convnext_large",
    "convnext_small",
    "convnext_tiny",
]


class LayerNorm2d(nn.LayerNorm):
    """Normalizes the channels of each pixel of [n, c, h, w]."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A 7×7 convolution of each channel, then two linear layers over the channels, scaled and added to the input."""

    def __init__(self, dim, layer_scale, stochastic_depth_prob, norm_layer=None):
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, 7, padding=3, groups=dim),
            Permute([0, 2, 3, 1]),
            norm_layer(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(weft.ones((dim, 1, 1)) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input):
        return self.stochastic_depth(self.layer_scale * self.block(input)) + input


class CNBlockConfig:
    """A stage: its channels, those of the next one (None: the last), its blocks."""

    def __init__(self, input_channels, out_channels, num_layers):
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers

    def __repr__(self):
        return (
            f"{type(self).__name__}(input_channels={self.input_channels}, out_channels={self.out_channels}, "
            f"num_layers={self.num_layers})"
        )


class ConvNeXt(nn.Module):
    """Images [n, 3, h, w], at least 32×32, to logits [n, num_classes].

    raises: ValueError for an empty setting, TypeError where it is no list of CNBlockConfig.
    """

    def __init__(self, block_setting, stochastic_depth_prob=0.0, layer_scale=1e-6, num_classes=1000, block=None,
                 norm_layer=None, **kwargs):  # fmt: skip
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        if not (
            isinstance(block_setting, (list, tuple))
            and all(isinstance(one, CNBlockConfig) for one in block_setting)
        ):
            raise TypeError("The block_setting should be List[CNBlockConfig]")
        block = block or CNBlock
        norm_layer = norm_layer or partial(LayerNorm2d, eps=1e-6)
        features = [
            Conv2dNormActivation(3, block_setting[0].input_channels, kernel_size=4, stride=4, padding=0, bias=True,
                                 norm_layer=norm_layer, activation_layer=None)
        ]  # fmt: skip
        total, index = sum(one.num_layers for one in block_setting), 0
        for stage in block_setting:
            blocks = []
            for _ in range(stage.num_layers):
                blocks.append(
                    block(stage.input_channels, layer_scale, stochastic_depth_prob * index / (total - 1.0))
                )
                index += 1
            features.append(nn.Sequential(*blocks))
            if stage.out_channels is not None:
                halved = nn.Conv2d(stage.input_channels, stage.out_channels, 2, 2)
                features.append(nn.Sequential(norm_layer(stage.input_channels), halved))
        self.features = nn.Sequential(*features)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1]
        channels = last.input_channels if last.out_channels is None else last.out_channels
        self.classifier = nn.Sequential(norm_layer(channels), nn.Flatten(1), nn.Linear(channels, num_classes))
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def _forward_impl(self, x):
        return self.classifier(self.avgpool(self.features(x)))

    def forward(self, x):
        return self._forward_impl(x)


def _convnext(weights, progress, widths, depths, stochastic_depth_prob, **kwargs):
    stages = [CNBlockConfig(*one) for one in zip(widths, (*widths[1:], None), depths)]
    number_of_classes(kwargs, weights)
    model = ConvNeXt(stages, stochastic_depth_prob=stochastic_depth_prob, **kwargs)
    return load_published(model, weights, progress)


def _builder(weights, first_width, third_depth, default_probability):
    def make(weights, progress, stochastic_depth_prob=default_probability, **kwargs):
        widths = [first_width << i for i in range(4)]
        return _convnext(weights, progress, widths, (3, 3, third_depth, 3), stochastic_depth_prob, **kwargs)

    return model_builder(weights.__name__.removesuffix("_Weights").lower(), weights, make)


ConvNeXt_Tiny_Weights = published_weights("ConvNeXt_Tiny_Weights", __name__)
ConvNeXt_Small_Weights = published_weights("ConvNeXt_Small_Weights", __name__)
ConvNeXt_Base_Weights = published_weights("ConvNeXt_Base_Weights", __name__)
ConvNeXt_Large_Weights = published_weights("ConvNeXt_Large_Weights", __name__)

convnext_tiny = _builder(ConvNeXt_Tiny_Weights, 96, 9, 0.1)
convnext_small = _builder(ConvNeXt_Small_Weights, 96, 27, 0.4)
convnext_base = _builder(ConvNeXt_Base_Weights, 128, 27, 0.5)
convnext_large = _builder(ConvNeXt_Large_Weights, 192, 27, 0.5)
