"""A ConvNeXt with stochastic depth, in channels-last memory."""

from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, main, wave


def drop_path(x, drop_prob: float = 0.0, training: bool = False, scale_by_keep: bool = True):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
    if keep_prob > 0.0 and scale_by_keep:
        random_tensor.div_(keep_prob)
    return x * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        super().__init__()
        self.drop_prob, self.scale_by_keep = drop_prob, scale_by_keep

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training, self.scale_by_keep)

    def extra_repr(self):
        return f"drop_prob={round(self.drop_prob, 3):0.3f}"


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class GlobalResponseNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x_g = x.norm(p=2, dim=(1, 2), keepdim=True)
        x_n = x_g / (x_g.mean(dim=-1, keepdim=True) + self.eps)
        return x + torch.addcmul(self.bias.view(1, 1, 1, -1), self.weight.view(1, 1, 1, -1), x * x_n)


class Block(nn.Module):
    def __init__(self, dim, drop_path=0.0, layer_scale=1e-6):
        super().__init__()
        self.conv_dw = nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.fc1, self.act, self.grn, self.fc2 = (
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            GlobalResponseNorm(4 * dim),
            nn.Linear(4 * dim, dim),
        )
        self.gamma = nn.Parameter(layer_scale * torch.ones(dim)) if layer_scale is not None else None
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()

    def forward(self, x):
        shortcut = x
        x = self.conv_dw(x).permute(0, 2, 3, 1)
        x = self.fc2(self.grn(self.act(self.fc1(self.norm(x))))).permute(0, 3, 1, 2)
        if self.gamma is not None:
            x = x.mul(self.gamma.reshape(1, -1, 1, 1))
        return self.drop_path(x) + shortcut


class ConvNeXt(nn.Module):
    def __init__(self, depths=(1, 2), dims=(12, 24), classes=10, drop_path_rate=0.2):
        super().__init__()
        norm = partial(LayerNorm2d, eps=1e-6)
        self.stem = nn.Sequential(nn.Conv2d(3, dims[0], 4, 4), norm(dims[0]))
        rates = [x.tolist() for x in torch.linspace(0, drop_path_rate, sum(depths)).split(list(depths))]
        stages = []
        for i, (depth, dim) in enumerate(zip(depths, dims)):
            down = [norm(dims[i - 1]), nn.Conv2d(dims[i - 1], dim, 2, 2)] if i else []
            stages.append(nn.Sequential(*down, *[Block(dim, rates[i][j]) for j in range(depth)]))
        self.stages = nn.Sequential(*stages)
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            norm(dims[-1]),
            nn.Flatten(1),
            nn.Dropout(0.1),
            nn.Linear(dims[-1], classes),
        )

    def forward(self, x):
        return self.head(self.stages(self.stem(x)))


def build():
    return fill(ConvNeXt()).to(memory_format=torch.channels_last), (
        wave(2, 3, 32, 32).to(memory_format=torch.channels_last),
    )


def results(compiled=False):
    model, inputs = build()
    if compiled:
        model = torch.compile(model)
    with torch.inference_mode():
        return {"logits": model(*inputs)}


if __name__ == "__main__":
    main(results)
