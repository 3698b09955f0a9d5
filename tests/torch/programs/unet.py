"""A U-Net that segments images."""

import torch
from common import fill, main, wave
from torch import Tensor, nn
from torch.nn import functional as F


class DoubleConv(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inp, out, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(inplace=True),
            nn.Conv2d(out, out, kernel_size=3, padding=1, bias=False),
            nn.GroupNorm(4, out),
            nn.SiLU(inplace=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, inp, out, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(inp + out, out)
        else:
            self.up = nn.ConvTranspose2d(inp, inp // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(inp // 2 + out, out)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diff_y, diff_x = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diff_x // 2, diff_x - diff_x // 2, diff_y // 2, diff_y - diff_y // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, classes=3, width=8):
        super().__init__()
        self.inc = DoubleConv(3, width)
        self.downs = nn.ModuleList([DoubleConv(width * 2**i, width * 2 ** (i + 1)) for i in range(3)])
        self.ups = nn.ModuleList(
            [Up(width * 2 ** (i + 1), width * 2**i, bilinear=i % 2 == 0) for i in (2, 1, 0)]
        )
        self.outc = nn.Conv2d(width, classes, kernel_size=1)

    def forward(self, x):
        skips = [self.inc(x)]
        for down in self.downs:
            skips.append(down(F.max_pool2d(skips[-1], 2)))
        x = skips.pop()
        for up in self.ups:
            x = up(x, skips.pop())
        return self.outc(x)


def build():
    return fill(UNet()), (wave(1, 3, 37, 45),)


def results(compiled=False):
    model, inputs = build()
    if compiled:
        model = torch.compile(model)
    with torch.no_grad():
        logits = model(*inputs)
    probabilities = torch.softmax(logits, dim=1)
    return {"logits": logits[:, :, ::4, ::4], "classes": probabilities.argmax(1)[:, ::3, ::3]}


if __name__ == "__main__":
    main(results)
