"""Inception v3 (Szegedy and others, Rethinking the Inception architecture for computer vision, 2015)."""

from collections import namedtuple

import weft
from weft import nn
from weft.nn import functional as F

from ._api import load_published, model_builder, number_of_classes, published_weights
from .googlenet import BasicConv2d as _BasicConv2d
from .googlenet import warn_of_initialization, with_inputs_of_half

__all__ = ["Inception3", "InceptionOutputs", "Inception_V3_Weights", "_InceptionOutputs", "inception_v3"]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])  # what a training model gives
_InceptionOutputs = InceptionOutputs

_ROW = {"kernel_size": (1, 7), "padding": (0, 3)}
_COLUMN = {"kernel_size": (7, 1), "padding": (3, 0)}
_SHORT_ROW = {"kernel_size": (1, 3), "padding": (0, 1)}
_SHORT_COLUMN = {"kernel_size": (3, 1), "padding": (1, 0)}
_SQUARE = {"kernel_size": 3, "padding": 1}
_HALVING = {"kernel_size": 3, "stride": 2}
_POINT = {"kernel_size": 1}


class BasicConv2d(_BasicConv2d):
    """A convolution without bias, its normalization, and relu."""


class _Branches(nn.Module):
    """Branches side by side, their channels concatenated."""

    def _forward(self, x):
        """The list of what the branches give."""
        raise NotImplementedError

    def forward(self, x):
        return weft.cat(self._forward(x), 1)


class InceptionA(_Branches):
    """[n, in_channels, h, w] to [n, 224 + pool_features, h, w]."""

    def __init__(self, in_channels, pool_features, conv_block=None):
        super().__init__()
        block = conv_block or BasicConv2d
        self.branch1x1 = block(in_channels, 64, **_POINT)
        self.branch5x5_1 = block(in_channels, 48, **_POINT)
        self.branch5x5_2 = block(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = block(in_channels, 64, **_POINT)
        self.branch3x3dbl_2 = block(64, 96, **_SQUARE)
        self.branch3x3dbl_3 = block(96, 96, **_SQUARE)
        self.branch_pool = block(in_channels, pool_features, **_POINT)

    def _forward(self, x):
        return [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]


class InceptionB(_Branches):
    """[n, in_channels, h, w] to [n, 480 + in_channels, (h - 1) / 2, (w - 1) / 2]."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__()
        block = conv_block or BasicConv2d
        self.branch3x3 = block(in_channels, 384, **_HALVING)
        self.branch3x3dbl_1 = block(in_channels, 64, **_POINT)
        self.branch3x3dbl_2 = block(64, 96, **_SQUARE)
        self.branch3x3dbl_3 = block(96, 96, **_HALVING)

    def _forward(self, x):
        return [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            F.max_pool2d(x, kernel_size=3, stride=2),
        ]


class InceptionC(_Branches):
    """[n, in_channels, h, w] to [n, 768, h, w]: 7×7 convolutions as rows and columns."""

    def __init__(self, in_channels, channels_7x7, conv_block=None):
        super().__init__()
        block = conv_block or BasicConv2d
        narrow = channels_7x7
        self.branch1x1 = block(in_channels, 192, **_POINT)
        self.branch7x7_1 = block(in_channels, narrow, **_POINT)
        self.branch7x7_2 = block(narrow, narrow, **_ROW)
        self.branch7x7_3 = block(narrow, 192, **_COLUMN)
        self.branch7x7dbl_1 = block(in_channels, narrow, **_POINT)
        self.branch7x7dbl_2 = block(narrow, narrow, **_COLUMN)
        self.branch7x7dbl_3 = block(narrow, narrow, **_ROW)
        self.branch7x7dbl_4 = block(narrow, narrow, **_COLUMN)
        self.branch7x7dbl_5 = block(narrow, 192, **_ROW)
        self.branch_pool = block(in_channels, 192, **_POINT)

    def _forward(self, x):
        single, once = self.branch1x1(x), self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        twice = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        return [
            single,
            once,
            self.branch7x7dbl_5(self.branch7x7dbl_4(twice)),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]


class InceptionD(_Branches):
    """[n, in_channels, h, w] to [n, 512 + in_channels, (h - 1) / 2, (w - 1) / 2]."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__()
        block = conv_block or BasicConv2d
        self.branch3x3_1 = block(in_channels, 192, **_POINT)
        self.branch3x3_2 = block(192, 320, **_HALVING)
        self.branch7x7x3_1 = block(in_channels, 192, **_POINT)
        self.branch7x7x3_2 = block(192, 192, **_ROW)
        self.branch7x7x3_3 = block(192, 192, **_COLUMN)
        self.branch7x7x3_4 = block(192, 192, **_HALVING)

    def _forward(self, x):
        once = self.branch3x3_2(self.branch3x3_1(x))
        crossed = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        return [
            once,
            self.branch7x7x3_4(crossed),
            F.max_pool2d(x, kernel_size=3, stride=2),
        ]


class InceptionE(_Branches):
    """[n, in_channels, h, w] to [n, 2048, h, w]: 3×3 convolutions as a row beside a column."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__()
        block = conv_block or BasicConv2d
        self.branch1x1 = block(in_channels, 320, **_POINT)
        self.branch3x3_1 = block(in_channels, 384, **_POINT)
        self.branch3x3_2a = block(384, 384, **_SHORT_ROW)
        self.branch3x3_2b = block(384, 384, **_SHORT_COLUMN)
        self.branch3x3dbl_1 = block(in_channels, 448, **_POINT)
        self.branch3x3dbl_2 = block(448, 384, **_SQUARE)
        self.branch3x3dbl_3a = block(384, 384, **_SHORT_ROW)
        self.branch3x3dbl_3b = block(384, 384, **_SHORT_COLUMN)
        self.branch_pool = block(in_channels, 192, **_POINT)

    def _forward(self, x):
        single, once = self.branch1x1(x), self.branch3x3_1(x)
        both = weft.cat([self.branch3x3_2a(once), self.branch3x3_2b(once)], 1)
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return [
            single,
            both,
            weft.cat([self.branch3x3dbl_3a(twice), self.branch3x3dbl_3b(twice)], 1),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]


class InceptionAux(nn.Module):
    """A classifier of the channels in the middle; `stddev` of a layer: the deviation of its first weights."""

    def __init__(self, in_channels, num_classes, conv_block=None):
        super().__init__()
        block = conv_block or BasicConv2d
        self.conv0 = block(in_channels, 128, **_POINT)
        self.conv1 = block(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x):
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class Inception3(nn.Module):
    """Images [n, 3, h, w], at least 75×75, to logits [n, num_classes]; in training mode with aux_logits to InceptionOutputs.

    transform_input: the images are normalized by ImageNet's means, and the weights want 0.5. inception_blocks: seven classes in
    place of BasicConv2d, InceptionA to E, and InceptionAux. raises: ValueError where these are not seven.
    """

    def __init__(self, num_classes=1000, aux_logits=True, transform_input=False, inception_blocks=None,
                 init_weights=None, dropout=0.5):  # fmt: skip
        super().__init__()
        blocks = inception_blocks or [
            BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux
        ]  # fmt: skip
        if len(blocks) != 7:
            raise ValueError(f"Inception3: expected 7 inception_blocks, got {len(blocks)}")
        if init_weights is None:
            warn_of_initialization("inception_v3")
        conv, block_a, block_b, block_c, block_d, block_e, auxiliary = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, **_SQUARE)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, **_POINT)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = block_a(192, pool_features=32)
        self.Mixed_5c = block_a(256, pool_features=64)
        self.Mixed_5d = block_a(288, pool_features=64)
        self.Mixed_6a = block_b(288)
        self.Mixed_6b = block_c(768, channels_7x7=128)
        self.Mixed_6c = block_c(768, channels_7x7=160)
        self.Mixed_6d = block_c(768, channels_7x7=160)
        self.Mixed_6e = block_c(768, channels_7x7=192)
        self.AuxLogits = auxiliary(768, num_classes) if aux_logits else None
        self.Mixed_7a = block_d(768)
        self.Mixed_7b = block_e(1280)
        self.Mixed_7c = block_e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            for module in self.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    deviation = float(getattr(module, "stddev", 0.1))
                    nn.init.trunc_normal_(module.weight, mean=0.0, std=deviation, a=-2, b=2)
                elif isinstance(module, nn.BatchNorm2d):
                    nn.init.ones_(module.weight)
                    nn.init.zeros_(module.bias)

    def _transform_input(self, x):
        return with_inputs_of_half(x) if self.transform_input else x

    def _forward(self, x):
        """(logits, logits of AuxLogits or None)"""
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(self.maxpool2(x))))
        x = self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))
        x = self.Mixed_6e(self.Mixed_6d(x))
        auxiliary = self.AuxLogits(x) if self.training and self.AuxLogits is not None else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        return self.fc(self.dropout(self.avgpool(x)).flatten(1)), auxiliary

    def eager_outputs(self, x, aux):
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x

    def forward(self, x):
        return self.eager_outputs(*self._forward(self._transform_input(x)))


def _inception_v3(weights, progress, **kwargs):
    if weights is None:
        return Inception3(**kwargs)
    auxiliary = kwargs.pop("aux_logits", True)
    kwargs.setdefault("transform_input", True)
    kwargs["init_weights"] = False
    number_of_classes(kwargs, weights)
    model = load_published(Inception3(aux_logits=True, **kwargs), weights, progress)
    if not auxiliary:
        model.aux_logits = False
        model.AuxLogits = None
    return model


Inception_V3_Weights = published_weights("Inception_V3_Weights", __name__)
inception_v3 = model_builder("inception_v3", Inception_V3_Weights, _inception_v3)
