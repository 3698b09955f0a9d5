"""A network, and what prepare_fx and convert_fx make of one: for quantized_calls.py."""

import importlib

from kept_values import numbers


def residual_network(torch):
    nn, F = torch.nn, torch.nn.functional

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
            self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
            self.conv3 = nn.Conv2d(8, 8, 1, groups=8)
            self.pool, self.relu, self.drop = nn.MaxPool2d(2), nn.ReLU(), nn.Dropout()
            self.head = nn.Sequential(nn.Linear(16, 6), nn.ReLU(), nn.Linear(6, 3))

        def forward(self, x):
            x = self.relu(self.bn1(self.conv1(x)))
            y = F.relu(self.bn2(self.conv2(x)) + x)
            z = torch.cat([y, self.conv3(x)], 1)
            z = self.drop(torch.flatten(F.adaptive_avg_pool2d(self.pool(z), 1), 1))
            return torch.sigmoid(self.head(z)) * 2, z * z, x.size(0), z.exp()

    return Network()


def by_graph(torch, model, mapping):
    fx = importlib.import_module(torch.__name__ + ".ao.quantization.quantize_fx")
    prepared = fx.prepare_fx(model, mapping, (numbers(torch, 90, 2, 3, 8, 8),))
    for seed in (90, 91):
        prepared(numbers(torch, seed, 2, 3, 8, 8))
    converted = fx.convert_fx(prepared)
    kinds = [
        f"{name} {type(m).__name__} {'.ao.' in type(m).__module__}"
        for name, m in converted.named_modules()
        if not list(m.children()) and "Dropout" not in type(m).__name__
    ]
    return [converted(numbers(torch, 92, 2, 3, 8, 8)), sorted(kinds)]
