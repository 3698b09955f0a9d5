"""A MobileNet of which hooks take features."""

from collections import OrderedDict

import torch
from common import fill, main, wave
from torch import nn


def _make_divisible(v, divisor, min_value=None):
    new_v = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return new_v + divisor if new_v < 0.9 * v else new_v


class ConvBNReLU(nn.Sequential):
    def __init__(self, inp, out, kernel_size=3, stride=1, groups=1, activation=nn.ReLU6):
        super().__init__(
            nn.Conv2d(inp, out, kernel_size, stride, (kernel_size - 1) // 2, groups=groups, bias=False),
            nn.BatchNorm2d(out),
            activation(inplace=True),
        )


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeeze):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = nn.Conv2d(channels, squeeze, 1), nn.Conv2d(squeeze, channels, 1)

    def forward(self, x):
        return nn.functional.hardsigmoid(self.fc2(nn.functional.relu(self.fc1(self.avgpool(x))))) * x


class InvertedResidual(nn.Module):
    def __init__(self, inp, out, stride, expand_ratio, activation):
        super().__init__()
        hidden = int(round(inp * expand_ratio))
        self.use_res_connect = stride == 1 and inp == out
        layers = [ConvBNReLU(inp, hidden, kernel_size=1, activation=activation)] if expand_ratio != 1 else []
        layers += [
            ConvBNReLU(hidden, hidden, stride=stride, groups=hidden, activation=activation),
            SqueezeExcitation(hidden, _make_divisible(hidden / 4, 8)),
            nn.Conv2d(hidden, out, 1, 1, 0, bias=False),
            nn.BatchNorm2d(out),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        settings = [
            (1, 8, 1, nn.ReLU6),
            (4, 12, 2, nn.ReLU6),
            (4, 12, 1, nn.Hardswish),
            (3, 16, 2, nn.Hardswish),
        ]
        layers, channels = [("stem", ConvBNReLU(3, 8, stride=2))], 8
        for index, (t, c, s, activation) in enumerate(settings):
            layers.append((f"block{index}", InvertedResidual(channels, c, s, t, activation)))
            channels = c
        self.features = nn.Sequential(OrderedDict(layers))
        self.classifier = nn.Sequential(nn.Dropout(p=0.2), nn.Linear(channels, classes))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(torch.flatten(nn.functional.adaptive_avg_pool2d(x, (1, 1)), 1))


class FeatureExtractor:
    def __init__(self, model, names):
        self.features, modules = OrderedDict(), dict(model.named_modules())
        self.handles = [modules[name].register_forward_hook(self.hook(name)) for name in names]

    def hook(self, name):
        def save(module, args, output):
            self.features[name] = output.detach().mean(dim=(2, 3))

        return save

    def remove(self):
        for handle in self.handles:
            handle.remove()


def build():
    return fill(MobileNet()), (wave(2, 3, 32, 32),)


def results(compiled=False):
    model, inputs = build()
    extractor = FeatureExtractor(model, ["features.block0", "features.block2", "features.block3.conv.1"])
    run = torch.compile(model) if compiled else model
    with torch.no_grad():
        logits = run(*inputs)
    extractor.remove()
    return {
        "logits": logits,
        **{name.replace(".", "_"): value.clone() for name, value in extractor.features.items()},
    }


if __name__ == "__main__":
    main(results)
