"""GoogLeNet (Szegedy and others, Going deeper with convolutions, 2014), with batch normalization and 3×3 convolutions where
the paper has 5×5 ones.
"""

import warnings
from collections import namedtuple

import weft
from weft import nn
from weft.nn import functional as F

from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "_GoogLeNetOutputs", "googlenet"]

# What a training model gives: logits of the end, of the second and of the first auxiliary classifier.
GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
_GoogLeNetOutputs = GoogLeNetOutputs


class BasicConv2d(nn.Module):
    """A convolution without bias, its normalization, and relu."""

    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches side by side: ch1x1 + ch3x3 + ch5x5 + pool_proj channels."""

    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj, conv_block=None):
        super().__init__()
        block = conv_block or BasicConv2d

        def reduced(narrow, wide):
            return nn.Sequential(
                block(in_channels, narrow, kernel_size=1), block(narrow, wide, kernel_size=3, padding=1)
            )

        self.branch1 = block(in_channels, ch1x1, kernel_size=1)
        self.branch2 = reduced(ch3x3red, ch3x3)
        self.branch3 = reduced(ch5x5red, ch5x5)
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            block(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x):
        return weft.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A classifier of the channels in the middle."""

    def __init__(self, in_channels, num_classes, conv_block=None, dropout=0.7):
        super().__init__()
        self.conv = (conv_block or BasicConv2d)(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(128 * 4 * 4, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        x = self.conv(F.adaptive_avg_pool2d(x, (4, 4))).flatten(1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


def with_inputs_of_half(x):
    """Images [n, 3, h, w] normalized by ImageNet's means and deviations, normalized by 0.5 and 0.5 instead."""
    channels = []
    for channel, (mean, deviation) in enumerate(((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))):
        channels.append(x[:, channel : channel + 1] * (deviation / 0.5) + (mean - 0.5) / 0.5)
    return weft.cat(channels, 1)


def warn_of_initialization(owner):
    """Of a model that is built without a word on init_weights."""
    warnings.warn(
        f"The default weight initialization of {owner} takes long and is to change; init_weights=True keeps it, without "
        "this warning.",
        FutureWarning,
        stacklevel=3,
    )


_CHANNELS = {  # of the paper's table: in, 1×1, before 3×3, 3×3, before 5×5, 5×5, after the pooling
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet(nn.Module):
    """Images [n, 3, h, w], at least 15×15, to logits [n, num_classes]; in training mode with aux_logits to GoogLeNetOutputs.

    transform_input: the images are normalized by ImageNet's means, and the weights want 0.5. blocks: three classes in place of
    BasicConv2d, Inception and InceptionAux. raises: ValueError where blocks has not three elements.
    """

    def __init__(self, num_classes=1000, aux_logits=True, transform_input=False, init_weights=None, blocks=None,
                 dropout=0.2, dropout_aux=0.7):  # fmt: skip
        super().__init__()
        blocks = [BasicConv2d, Inception, InceptionAux] if blocks is None else blocks
        if len(blocks) != 3:
            raise ValueError(f"GoogLeNet: expected 3 blocks, got {len(blocks)}")
        if init_weights is None:
            warn_of_initialization("GoogLeNet")
        conv, inception, auxiliary = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, channels in _CHANNELS.items():
            setattr(self, f"inception{name}", inception(*channels))
            if name == "3b":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            elif name == "4e":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.aux1 = auxiliary(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = auxiliary(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is None or init_weights:
            for module in self.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    nn.init.trunc_normal_(module.weight, mean=0.0, std=0.01, a=-2, b=2)
                elif isinstance(module, nn.BatchNorm2d):
                    nn.init.ones_(module.weight)
                    nn.init.zeros_(module.bias)

    def _transform_input(self, x):
        return with_inputs_of_half(x) if self.transform_input else x

    def _forward(self, x):
        """(logits, logits of aux2 or None, logits of aux1 or None)"""
        auxiliary = self.training and self.aux1 is not None
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        aux1 = self.aux1(x) if auxiliary else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if auxiliary else None
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        return self.fc(self.dropout(self.avgpool(x).flatten(1))), aux2, aux1

    def eager_outputs(self, x, aux2, aux1):
        return GoogLeNetOutputs(x, aux2, aux1) if self.training and self.aux_logits else x

    def forward(self, x):
        return self.eager_outputs(*self._forward(self._transform_input(x)))


def _googlenet(weights, progress, **kwargs):
    if weights is None:
        return GoogLeNet(**kwargs)
    auxiliary = kwargs.pop("aux_logits", False)
    if auxiliary:
        warnings.warn("the auxiliary classifiers of the published weights are not trained", stacklevel=4)
    kwargs.setdefault("transform_input", True)
    kwargs["init_weights"] = False
    number_of_classes(kwargs, weights)
    model = load_published(GoogLeNet(aux_logits=True, **kwargs), weights, progress)
    if not auxiliary:
        model.aux_logits = False
        model.aux1 = model.aux2 = None
    return model


GoogLeNet_Weights = published_weights("GoogLeNet_Weights", __name__)
googlenet = model_builder("googlenet", GoogLeNet_Weights, _googlenet)
