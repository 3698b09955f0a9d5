"""SqueezeNet (Iandola and others, SqueezeNet: AlexNet-level accuracy with 50× fewer parameters, 2016)."""

import weft
from weft import nn

from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = ["SqueezeNet", "SqueezeNet1_0_Weights", "SqueezeNet1_1_Weights", "squeezenet1_0", "squeezenet1_1"]


class Fire(nn.Module):
    """A 1×1 convolution to few channels, and a 1×1 and a 3×3 one side by side from these."""

    def __init__(self, inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze_activation(self.squeeze(x))
        return weft.cat(
            [self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1
        )


# Of each version: channels and size of the first convolution, and the Fire blocks after which the size is halved.
_VERSIONS = {"1_0": (96, 7, (3, 7)), "1_1": (64, 3, (2, 4))}


class SqueezeNet(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes]. raises: ValueError for a version other than "1_0" and "1_1"."""

    def __init__(self, version="1_0", num_classes=1000, dropout=0.5):
        super().__init__()
        if version not in _VERSIONS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: expected one of {sorted(_VERSIONS)}")
        self.num_classes = num_classes
        channels, kernel, halved_after = _VERSIONS[version]
        features = [nn.Conv2d(3, channels, kernel, stride=2), nn.ReLU(inplace=True), _pooling()]
        for i, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64), 1):
            features.append(Fire(channels, squeezed, 4 * squeezed, 4 * squeezed))
            channels = 8 * squeezed
            if i in halved_after:
                features.append(_pooling())
        self.features = nn.Sequential(*features)
        last = nn.Conv2d(channels, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.features(x)).flatten(1)


def _pooling():
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


def _squeezenet(version, weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(SqueezeNet(version, **kwargs), weights, progress)


SqueezeNet1_0_Weights = published_weights("SqueezeNet1_0_Weights", __name__)
SqueezeNet1_1_Weights = published_weights("SqueezeNet1_1_Weights", __name__)
squeezenet1_0 = model_builder("squeezenet1_0", SqueezeNet1_0_Weights, _squeezenet, "1_0")
squeezenet1_1 = model_builder("squeezenet1_1", SqueezeNet1_1_Weights, _squeezenet, "1_1")
