"""MobileSAM's image encoder: convolutions, then a vision transformer in windows whose width grows as its grid shrinks.

source: Wu et al. 2022, TinyViT; Zhang et al. 2023, Faster Segment Anything (the last stage keeps the grid; the neck is SAM's).
"""

import weft
from weft import nn

from .image_encoder import LayerNorm2d, from_windows, to_windows

F = nn.functional


class ConvNorm(nn.Module):
    """A convolution and the batch normalization behind it, as one convolution: its statistics are constants."""

    def __init__(self, channels, out, size=1, stride=1, groups=1):
        super().__init__()
        self.c = nn.Conv2d(channels, out, size, stride, size // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(out)

    def forward(self, x):
        c, bn = self.c, self.bn
        scale = bn.weight / weft.sqrt(bn.running_var + bn.eps)
        weight, bias = c.weight * scale[:, None, None, None], bn.bias - bn.running_mean * scale
        return F.conv2d(x, weight, bias, c.stride, c.padding, groups=c.groups)


class PatchEmbedding(nn.Module):
    """[B, 3, S, S] to [B, width, S / 4, S / 4]."""

    def __init__(self, width):
        super().__init__()
        self.seq = nn.Sequential(ConvNorm(3, width // 2, 3, 2), nn.GELU(), ConvNorm(width // 2, width, 3, 2))

    def forward(self, x):
        return self.seq(x)


class ConvBlock(nn.Module):
    """An inverted bottleneck: wider, each channel by itself, narrower, with a residual."""

    def __init__(self, width, hidden):
        super().__init__()
        self.conv1 = ConvNorm(width, hidden)
        self.conv2 = ConvNorm(hidden, hidden, 3, groups=hidden)
        self.conv3 = ConvNorm(hidden, width)

    def forward(self, x):
        return F.gelu(x + self.conv3(F.gelu(self.conv2(F.gelu(self.conv1(x))))))


class Merging(nn.Module):
    """[B, C, H, W] to [B, out, H / stride, W / stride]."""

    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1 = ConvNorm(width, out)
        self.conv2 = ConvNorm(out, out, 3, stride, groups=out)
        self.conv3 = ConvNorm(out, out)

    def forward(self, x):
        return self.conv3(F.gelu(self.conv2(F.gelu(self.conv1(x)))))


class Attention(nn.Module):
    """Attention within windows [B, window, window, C]; each head knows how far apart two patches are."""

    def __init__(self, width, heads, window):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.attention_biases = nn.Parameter(weft.zeros(heads, window * window))

    def forward(self, x):
        B, H, W, C = x.shape
        qkv = self.qkv(self.norm(x)).reshape(B, H * W, self.heads, 3, C // self.heads)
        q, k, v = qkv.permute(3, 0, 2, 1, 4)  # [B, heads, H * W, C / heads] each
        down, across = weft.arange(H * W) // W, weft.arange(H * W) % W
        distance = weft.abs(down[:, None] - down) * W + weft.abs(across[:, None] - across)
        bias = self.attention_biases[:, distance]  # [heads, H * W, H * W]
        x = F.scaled_dot_product_attention(q, k, v, bias[None])
        return self.proj(x.transpose(1, 2).reshape(B, H, W, C))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(self.norm(x))))


class Block(nn.Module):
    """Attention in windows, a convolution of each channel by itself, an MLP. [B, C, H, W]."""

    def __init__(self, width, heads, window, hidden):
        super().__init__()
        self.window = window
        self.attn = Attention(width, heads, window)
        self.local_conv = ConvNorm(width, width, 3, groups=width)
        self.mlp = Mlp(width, hidden)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        windows, padded = to_windows(x, self.window)
        x = x + from_windows(self.attn(windows), padded, x.shape[1:3])
        x = self.local_conv(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return (x + self.mlp(x)).permute(0, 3, 1, 2)


class Stage(nn.Module):
    def __init__(self, blocks, downsample=None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.downsample = downsample

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x if self.downsample is None else self.downsample(x)


class TinyViT(nn.Module):
    """Images [B, 3, S, S] to embeddings [B, out_channels, S / 16, S / 16]."""

    def __init__(self, config):
        super().__init__()
        c, stages = config.tiny, len(config.tiny.widths)
        self.patch_embed = PatchEmbedding(c.widths[0])
        self.layers = nn.ModuleList()
        for i, width in enumerate(c.widths):
            hidden = c.ratio * width
            blocks = [
                ConvBlock(width, c.expansion * width)
                if i == 0
                else Block(width, c.heads[i], c.windows[i], hidden)
                for _ in range(c.depths[i])
            ]
            last = i + 1 == stages
            # Two halvings in the patches, and as many as lead to a sixteenth.
            self.layers.append(
                Stage(blocks, None if last else Merging(width, c.widths[i + 1], 2 if i < 2 else 1))
            )
        if c.classes:  # of the classifier that it was trained as; nothing here is computed with them
            self.norm_head = nn.LayerNorm(c.widths[-1])
            self.head = nn.Linear(c.widths[-1], c.classes)
        self.neck = nn.Sequential(
            nn.Conv2d(c.widths[-1], config.out_channels, kernel_size=1, bias=False),
            LayerNorm2d(config.out_channels),
            nn.Conv2d(config.out_channels, config.out_channels, kernel_size=3, padding=1, bias=False),
            LayerNorm2d(config.out_channels),
        )

    def forward(self, x):
        x = self.patch_embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.neck(x)
