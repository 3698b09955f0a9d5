"""VGG (Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition, 2014)."""

from weft import nn

from ._api import load_published, model_builder, number_of_classes, published_weights
from ._utils import initialize_rectified

__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


def _stages(*depths):
    """The channels of the convolutions of each stage, and "M" for the pooling that ends it."""
    widths = (64, 128, 256, 512, 512)
    return [item for width, depth in zip(widths, depths) for item in (*[width] * depth, "M")]


cfgs = {
    "A": _stages(1, 1, 2, 2, 2),
    "B": _stages(2, 2, 2, 2, 2),
    "D": _stages(2, 2, 3, 3, 3),
    "E": _stages(2, 2, 4, 4, 4),
}


class VGG(nn.Module):
    """Images [n, 3, h, w], at least 32×32, to logits [n, num_classes]; `features` gives 512 channels."""

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            for module in self.modules():
                initialize_rectified(module)

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def make_layers(cfg, batch_norm=False):
    """The trunk: a convolution for each number of `cfg`, a pooling for each "M"."""
    layers, in_channels = [], 3
    for item in cfg:
        if item == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(in_channels, item, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(item))
        layers.append(nn.ReLU(inplace=True))
        in_channels = item
    return nn.Sequential(*layers)


def _vgg(cfg, batch_norm, weights, progress, **kwargs):
    if weights is not None:
        kwargs["init_weights"] = False
    number_of_classes(kwargs, weights)
    return load_published(VGG(make_layers(cfgs[cfg], batch_norm=batch_norm), **kwargs), weights, progress)


VGG11_Weights = published_weights("VGG11_Weights", __name__)
VGG11_BN_Weights = published_weights("VGG11_BN_Weights", __name__)
VGG13_Weights = published_weights("VGG13_Weights", __name__)
VGG13_BN_Weights = published_weights("VGG13_BN_Weights", __name__)
VGG16_Weights = published_weights("VGG16_Weights", __name__)
VGG16_BN_Weights = published_weights("VGG16_BN_Weights", __name__)
VGG19_Weights = published_weights("VGG19_Weights", __name__)
VGG19_BN_Weights = published_weights("VGG19_BN_Weights", __name__)

vgg11 = model_builder("vgg11", VGG11_Weights, _vgg, "A", False)
vgg11_bn = model_builder("vgg11_bn", VGG11_BN_Weights, _vgg, "A", True)
vgg13 = model_builder("vgg13", VGG13_Weights, _vgg, "B", False)
vgg13_bn = model_builder("vgg13_bn", VGG13_BN_Weights, _vgg, "B", True)
vgg16 = model_builder("vgg16", VGG16_Weights, _vgg, "D", False)
vgg16_bn = model_builder("vgg16_bn", VGG16_BN_Weights, _vgg, "D", True)
vgg19 = model_builder("vgg19", VGG19_Weights, _vgg, "E", False)
vgg19_bn = model_builder("vgg19_bn", VGG19_BN_Weights, _vgg, "E", True)
