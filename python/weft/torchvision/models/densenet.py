"""DenseNet (Huang and others, Densely connected convolutional networks, 2016)."""

import re
from collections import OrderedDict

import weft
from weft import nn
from weft.nn import functional as F

from ._api import model_builder, number_of_classes, published_weights

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]


class _DenseLayer(nn.Module):
    """growth_rate new channels from all channels before: a list of tensors, or one."""

    def __init__(self, num_input_features, growth_rate, bn_size, drop_rate, memory_efficient=False):
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, width, kernel_size=1, stride=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, kernel_size=3, stride=1, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient  # how gradients would be computed: nothing here

    def bn_function(self, inputs):
        return self.conv1(self.relu1(self.norm1(weft.cat(inputs, 1))))

    def forward(self, input):
        inputs = [input] if isinstance(input, weft.Tensor) else input
        new = self.conv2(self.relu2(self.norm2(self.bn_function(inputs))))
        if self.drop_rate > 0:
            new = F.dropout(new, p=self.drop_rate, training=self.training)
        return new


class _DenseBlock(nn.ModuleDict):
    """Dense layers, each of what the ones before gave and the input; all of it in one tensor."""

    _version = 2

    def __init__(
        self, num_layers, num_input_features, bn_size, growth_rate, drop_rate, memory_efficient=False
    ):
        super().__init__()
        for i in range(num_layers):
            channels = num_input_features + i * growth_rate
            self.add_module(
                f"denselayer{i + 1}",
                _DenseLayer(channels, growth_rate, bn_size, drop_rate, memory_efficient),
            )

    def forward(self, init_features):
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return weft.cat(features, 1)


class _Transition(nn.Sequential):
    """Fewer channels, and half the size."""

    def __init__(self, num_input_features, num_output_features):
        super().__init__(
            OrderedDict(
                norm=nn.BatchNorm2d(num_input_features),
                relu=nn.ReLU(inplace=True),
                conv=nn.Conv2d(num_input_features, num_output_features, kernel_size=1, stride=1, bias=False),
                pool=nn.AvgPool2d(kernel_size=2, stride=2),
            )
        )


class DenseNet(nn.Module):
    """Images [n, 3, h, w], at least 29×29, to logits [n, num_classes]: a dense block of block_config[i] layers for each i."""

    def __init__(self, growth_rate=32, block_config=(6, 12, 24, 16), num_init_features=64, bn_size=4, drop_rate=0,
                 num_classes=1000, memory_efficient=False):  # fmt: skip
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                conv0=nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
                norm0=nn.BatchNorm2d(num_init_features),
                relu0=nn.ReLU(inplace=True),
                pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            )
        )
        channels = num_init_features
        for i, layers in enumerate(block_config, 1):
            block = _DenseBlock(layers, channels, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{i}", block)
            channels += layers * growth_rate
            if i < len(block_config):
                self.features.add_module(f"transition{i}", _Transition(channels, channels // 2))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x):
        x = F.relu(self.features(x), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


def _load_state_dict(model, weights, progress):
    """Loads published weights, whose files write norm.1 for norm1 in dense layers."""
    former = re.compile(r"(denselayer\d+\.(?:norm|relu|conv))\.([12])\.")
    state = weights.get_state_dict(progress=progress, check_hash=True)
    model.load_state_dict({former.sub(r"\1\2.", key): value for key, value in state.items()})


def _densenet(growth_rate, block_config, num_init_features, weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    model = DenseNet(growth_rate, block_config, num_init_features, **kwargs)
    if weights is not None:
        _load_state_dict(model, weights, progress)
    return model


DenseNet121_Weights = published_weights("DenseNet121_Weights", __name__)
DenseNet161_Weights = published_weights("DenseNet161_Weights", __name__)
DenseNet169_Weights = published_weights("DenseNet169_Weights", __name__)
DenseNet201_Weights = published_weights("DenseNet201_Weights", __name__)
densenet121 = model_builder("densenet121", DenseNet121_Weights, _densenet, 32, (6, 12, 24, 16), 64)
densenet161 = model_builder("densenet161", DenseNet161_Weights, _densenet, 48, (6, 12, 36, 24), 96)
densenet169 = model_builder("densenet169", DenseNet169_Weights, _densenet, 32, (6, 12, 32, 32), 64)
densenet201 = model_builder("densenet201", DenseNet201_Weights, _densenet, 32, (6, 12, 48, 32), 64)
