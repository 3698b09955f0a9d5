"""AlexNet (Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014)."""

from weft import nn

from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = ["AlexNet", "AlexNet_Weights", "alexnet"]


class AlexNet(nn.Module):
    """Images [n, 3, h, w], at least 63×63, to logits [n, num_classes]."""

    def __init__(self, num_classes=1000, dropout=0.5):
        super().__init__()
        features = []
        in_channels = 3
        for channels, kernel, stride, pooled in (
            (64, 11, 4, True),
            (192, 5, 1, True),
            (384, 3, 1, False),
            (256, 3, 1, False),
            (256, 3, 1, True),
        ):
            padding = 2 if kernel > 3 else 1
            features += [nn.Conv2d(in_channels, channels, kernel, stride, padding), nn.ReLU(inplace=True)]
            if pooled:
                features.append(nn.MaxPool2d(3, 2))
            in_channels = channels
        self.features = nn.Sequential(*features)
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _alexnet(weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(AlexNet(**kwargs), weights, progress)


AlexNet_Weights = published_weights("AlexNet_Weights", __name__)
alexnet = model_builder("alexnet", AlexNet_Weights, _alexnet)
