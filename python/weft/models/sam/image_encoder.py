"""The image encoder: a vision transformer whose attention is in windows, but in a few blocks, and knows the distance
of two patches down and across.

source: Li et al. 2022, Exploring Plain Vision Transformer Backbones for Object Detection; Li et al. 2022, MViTv2 (decomposed
relative positions); Kirillov et al. 2023, Segment Anything.
"""

import weft
from weft import nn

F = nn.functional


class LayerNorm2d(nn.Module):
    """Layer normalization over the channels of [B, C, H, W]."""

    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(weft.ones(channels))
        self.bias = nn.Parameter(weft.zeros(channels))
        self.eps = eps

    def forward(self, x):
        centered = x - x.mean(1, keepdim=True)
        x = centered / weft.sqrt((centered * centered).mean(1, keepdim=True) + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class MLP(nn.Module):
    """Two linear layers around an activation."""

    def __init__(self, width, hidden, activation=F.gelu):
        super().__init__()
        self.lin1 = nn.Linear(width, hidden)
        self.lin2 = nn.Linear(hidden, width)
        self.activation = activation

    def forward(self, x):
        return self.lin2(self.activation(self.lin1(x)))


class PatchEmbedding(nn.Module):
    def __init__(self, patch, channels, width):
        super().__init__()
        self.proj = nn.Conv2d(channels, width, kernel_size=patch, stride=patch)

    def forward(self, x):
        return self.proj(x).permute(0, 2, 3, 1)  # [B, H, W, C]


def relative_table(positions, size):
    """[query, key, head_dim] of [2 * size - 1, head_dim]: the row of the distance query - key."""
    at = weft.arange(size, device=positions.device)
    return positions[at[:, None] - at[None, :] + (size - 1)]


class Attention(nn.Module):
    """Attention of patches [B, H, W, C] with q . R_h[y - y'] + q . R_w[x - x'] added to the scores."""

    attend = staticmethod(weft.relative_position_attention)

    def __init__(self, width, heads, size):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.rel_pos_h = nn.Parameter(weft.zeros(2 * size - 1, width // heads))
        self.rel_pos_w = nn.Parameter(weft.zeros(2 * size - 1, width // heads))

    def forward(self, x):
        B, H, W, C = x.shape
        q, k, v = self.qkv(x).reshape(B, H * W, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        grid = q.reshape(B, self.heads, H, W, C // self.heads)
        down = relative_table(self.rel_pos_h, H).transpose(1, 2)  # [H, C, H]
        across = relative_table(self.rel_pos_w, W).transpose(1, 2)  # [W, C, W]
        rel_h = (grid @ down).reshape(B, self.heads, H * W, H)
        rel_w = (grid.transpose(2, 3) @ across).transpose(2, 3).reshape(B, self.heads, H * W, W)
        x = self.attend(q, k, v, rel_h, rel_w)
        return self.proj(x.transpose(1, 2).reshape(B, H, W, C))


def to_windows(x, window):
    """[B, H, W, C] as [B * windows, window, window, C]; zeros fill up the last ones. And the padded H and W."""
    B, H, W, C = x.shape
    down, across = -H % window, -W % window
    if down or across:
        x = F.pad(x, (0, 0, 0, across, 0, down))
    H, W = H + down, W + across
    x = x.reshape(B, H // window, window, W // window, window, C).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, window, window, C), (H, W)


def from_windows(windows, padded, size):
    """to_windows' inverse."""
    (H, W), window = padded, windows.shape[1]
    x = windows.reshape(-1, H // window, W // window, window, window, windows.shape[-1])
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, H, W, windows.shape[-1])[:, : size[0], : size[1]]


class Block(nn.Module):
    """Attention and MLP with residuals. window: 0 for attention over the whole image."""

    def __init__(self, width, heads, hidden, window, size):
        super().__init__()
        self.window = window
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads, window or size)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = MLP(width, hidden)

    def forward(self, x):
        shortcut, x = x, self.norm1(x)
        if self.window:
            windows, padded = to_windows(x, self.window)
            x = from_windows(self.attn(windows), padded, x.shape[1:3])
        else:
            x = self.attn(x)
        x = shortcut + x
        return x + self.mlp(self.norm2(x))


class ImageEncoder(nn.Module):
    """Images [B, 3, S, S] to embeddings [B, out_channels, S / patch, S / patch]."""

    def __init__(self, config):
        super().__init__()
        c, grid = config, config.grid
        self.patch_embed = PatchEmbedding(c.patch, 3, c.width)
        self.pos_embed = nn.Parameter(weft.zeros(1, grid, grid, c.width))
        self.blocks = nn.ModuleList(
            Block(c.width, c.heads, c.hidden, 0 if i in c.global_blocks else c.window, grid)
            for i in range(c.depth)
        )
        self.neck = nn.Sequential(
            nn.Conv2d(c.width, c.out_channels, kernel_size=1, bias=False),
            LayerNorm2d(c.out_channels),
            nn.Conv2d(c.out_channels, c.out_channels, kernel_size=3, padding=1, bias=False),
            LayerNorm2d(c.out_channels),
        )

    def forward(self, x):
        x = self.patch_embed(x) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.neck(x.permute(0, 3, 1, 2))
