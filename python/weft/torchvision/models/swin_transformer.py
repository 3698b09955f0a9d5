"""Swin Transformer (Liu and others, Hierarchical vision transformer using shifted windows, 2021; V2: Scaling up capacity and
resolution, 2022). Images are [n, h, w, c] between the first layer and the last normalization.
"""

import math
from functools import partial

import weft
import weft.torch as torch
from weft import nn

from ..ops.misc import MLP, Permute
from ..ops.stochastic_depth import StochasticDepth
from ._api import load_published, model_builder, number_of_classes, published_weights

__all__ = [
    "SwinTransformer",
    "Swin_B_Weights",
    "Swin_S_Weights",
    "Swin_T_Weights",
    "Swin_V2_B_Weights",
    "Swin_V2_S_Weights",
    "Swin_V2_T_Weights",
    "swin_b",
    "swin_s",
    "swin_t",
    "swin_v2_b",
    "swin_v2_s",
    "swin_v2_t",
]

F = nn.functional


# What torch.fx does not trace into: calls of these are nodes.
_WRAPPED_FOR_FX = ("_patch_merging_pad", "_get_relative_position_bias", "shifted_window_attention")


def _patch_merging_pad(x):
    """[..., h, w, c] to [..., h/2, w/2, 4c]: the pixels of each 2×2 square side by side, by columns; odd sizes get zeros."""
    height, width = x.shape[-3:-1]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    corners = [x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)]
    return weft.cat(corners, -1)


class PatchMerging(nn.Module):
    """[..., h, w, dim] to [..., h/2, w/2, 2·dim]: normalized, then reduced."""

    def __init__(self, dim, norm_layer=nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x):
        return self.reduction(self.norm(_patch_merging_pad(x)))


class PatchMergingV2(nn.Module):
    """[..., h, w, dim] to [..., h/2, w/2, 2·dim]: reduced, then normalized."""

    def __init__(self, dim, norm_layer=nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x):
        return self.norm(self.reduction(_patch_merging_pad(x)))


def _get_relative_position_bias(relative_position_bias_table, relative_position_index, window_size):
    """[positions, heads] as [1, heads, pixels, pixels] of a window."""
    pixels = window_size[0] * window_size[1]
    bias = relative_position_bias_table[relative_position_index].view(pixels, pixels, -1)
    return bias.permute(2, 0, 1).contiguous().unsqueeze(0)


def _windows(x, window):
    """[n, h, w, c] to [n · windows, pixels of a window, c]."""
    n, height, width, channels = x.shape
    x = x.view(n, height // window[0], window[0], width // window[1], window[1], channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, window[0] * window[1], channels)


def _image(x, window, n, height, width):
    """What _windows made, as [n, height, width, c]."""
    x = x.view(n, height // window[0], width // window[1], window[0], window[1], x.shape[-1])
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n, height, width, x.shape[-1])


def _regions(length, window, shift):
    """Of each row of a shifted image, which of three regions it came from."""
    row = torch.arange(length)
    return (row >= length - window).to(weft.int64) + (row >= length - shift).to(weft.int64)


def _apart(height, width, window, shift):
    """[windows, 1, pixels, pixels]: -100 between pixels of a window that were no neighbours before the shift, else 0."""
    rows, columns = _regions(height, window[0], shift[0]), _regions(width, window[1], shift[1])
    region = (rows.reshape(-1, 1) * 3 + columns).reshape(1, height, width, 1)
    region = _windows(region, window).squeeze(-1)
    apart = region.unsqueeze(1) != region.unsqueeze(2)
    return weft.where(apart, -100.0, 0.0).unsqueeze(1)


def shifted_window_attention(input, qkv_weight, proj_weight, relative_position_bias, window_size, num_heads, shift_size,
                             attention_dropout=0.0, dropout=0.0, qkv_bias=None, proj_bias=None, logit_scale=None,
                             training=True):  # fmt: skip
    """Attention within windows of [n, h, w, c], padded to whole ones, after a cyclic shift that is undone afterwards.

    relative_position_bias: [1, num_heads, pixels, pixels] of a window. logit_scale [num_heads, 1, 1], the logarithm of the
    scale: attention by cosines (V2), of keys without a bias; None: by scaled products.
    """
    n, height, width, channels = input.shape
    window, shift = list(window_size), list(shift_size)
    x = F.pad(input, (0, 0, 0, -width % window[1], 0, -height % window[0]))
    padded_height, padded_width = x.shape[1:3]
    shift = [0 if w >= length else s for w, s, length in zip(window, shift, (padded_height, padded_width))]
    shifted = any(shift)
    if shifted:
        x = x.roll((-shift[0], -shift[1]), (1, 2))
    x = _windows(x, window)
    if logit_scale is not None and qkv_bias is not None:
        third = qkv_bias.numel() // 3
        zeros = weft.zeros_like(qkv_bias[:third])
        qkv_bias = weft.cat([qkv_bias[:third], zeros, qkv_bias[2 * third :]])
    qkv = F.linear(x, qkv_weight, qkv_bias)
    qkv = qkv.reshape(x.shape[0], x.shape[1], 3, num_heads, channels // num_heads).permute(2, 0, 3, 1, 4)
    query, key, value = qkv[0], qkv[1], qkv[2]
    if logit_scale is None:
        scores = (query * (channels // num_heads) ** -0.5) @ key.transpose(-2, -1)
    else:
        scores = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)
        scores = scores * logit_scale.clamp(max=math.log(100.0)).exp()
    scores = scores + relative_position_bias
    if shifted:
        apart = _apart(padded_height, padded_width, window, shift)
        by_window = scores.view(n, apart.shape[0], num_heads, x.shape[1], x.shape[1]) + apart
        scores = by_window.view(-1, num_heads, x.shape[1], x.shape[1])
    attention = F.dropout(scores.softmax(-1), p=attention_dropout, training=training)
    x = (attention @ value).transpose(1, 2).reshape(x.shape[0], x.shape[1], channels)
    x = F.dropout(F.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = _image(x, window, n, padded_height, padded_width)
    if shifted:
        x = x.roll((shift[0], shift[1]), (1, 2))
    return x[:, :height, :width, :].contiguous()


class ShiftedWindowAttention(nn.Module):
    """Attention within windows, with a learned bias for each relative position.

    raises: ValueError where window and shift are not two numbers.
    """

    def __init__(self, dim, window_size, shift_size, num_heads, qkv_bias=True, proj_bias=True, attention_dropout=0.0,
                 dropout=0.0):  # fmt: skip
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self):
        positions = (2 * self.window_size[0] - 1) * (2 * self.window_size[1] - 1)
        self.relative_position_bias_table = nn.Parameter(weft.zeros((positions, self.num_heads)))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self):
        height, width = self.window_size
        row = torch.arange(height).repeat_interleave(width)
        column = torch.arange(width).repeat(height)
        rows = row.reshape(-1, 1) - row + height - 1
        columns = column.reshape(-1, 1) - column + width - 1
        self.register_buffer("relative_position_index", (rows * (2 * width - 1) + columns).flatten())

    def get_relative_position_bias(self):
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, self.window_size
        )

    def forward(self, x):
        bias = self.get_relative_position_bias()
        return shifted_window_attention(
            x, self.qkv.weight, self.proj.weight, bias, self.window_size, self.num_heads, self.shift_size,
            self.attention_dropout, self.dropout, self.qkv.bias, self.proj.bias, None, self.training)  # fmt: skip


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by cosines; biases are computed from the logarithms of relative positions."""

    def __init__(self, dim, window_size, shift_size, num_heads, qkv_bias=True, proj_bias=True, attention_dropout=0.0,
                 dropout=0.0):  # fmt: skip
        super().__init__(
            dim, window_size, shift_size, num_heads, qkv_bias, proj_bias, attention_dropout, dropout
        )
        self.logit_scale = nn.Parameter(weft.log(10 * weft.ones((num_heads, 1, 1))))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False)
        )
        if qkv_bias:
            third = self.qkv.bias.numel() // 3
            with torch.no_grad():
                self.qkv.bias[third : 2 * third].zero_()

    def define_relative_position_bias_table(self):
        height, width = self.window_size
        offsets = [torch.arange(-(length - 1), length, dtype=weft.float32) for length in (height, width)]
        scaled = [8 * one / max(length - 1, 1) for one, length in zip(offsets, (height, width))]
        grid = weft.stack(
            [one.contiguous() for one in torch.meshgrid(scaled[0], scaled[1], indexing="ij")], -1
        )
        table = weft.sign(grid) * weft.log2(weft.abs(grid) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table.unsqueeze(0))

    def get_relative_position_bias(self):
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        bias = _get_relative_position_bias(table, self.relative_position_index, self.window_size)
        return 16 * weft.sigmoid(bias)

    def forward(self, x):
        bias = self.get_relative_position_bias()
        return shifted_window_attention(
            x, self.qkv.weight, self.proj.weight, bias, self.window_size, self.num_heads, self.shift_size,
            self.attention_dropout, self.dropout, self.qkv.bias, self.proj.bias, self.logit_scale, self.training)  # fmt: skip


class SwinTransformerBlock(nn.Module):
    """Attention and an MLP, each of the normalized input and added to it."""

    def __init__(self, dim, num_heads, window_size, shift_size, mlp_ratio=4.0, dropout=0.0, attention_dropout=0.0,
                 stochastic_depth_prob=0.0, norm_layer=nn.LayerNorm, attn_layer=ShiftedWindowAttention):  # fmt: skip
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(
            dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout, dropout=dropout
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(
            dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout
        )
        for module in self.mlp.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.normal_(module.bias, std=1e-6)

    def forward(self, x):
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """Attention and an MLP, their results normalized and added to the input."""

    def __init__(self, dim, num_heads, window_size, shift_size, mlp_ratio=4.0, dropout=0.0, attention_dropout=0.0,
                 stochastic_depth_prob=0.0, norm_layer=nn.LayerNorm, attn_layer=ShiftedWindowAttentionV2):  # fmt: skip
        super().__init__(dim, num_heads, window_size, shift_size, mlp_ratio, dropout, attention_dropout,
                         stochastic_depth_prob, norm_layer, attn_layer)  # fmt: skip

    def forward(self, x):
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes]; every second block's windows are shifted by half a window."""

    def __init__(self, patch_size, embed_dim, depths, num_heads, window_size, mlp_ratio=4.0, dropout=0.0,
                 attention_dropout=0.0, stochastic_depth_prob=0.1, num_classes=1000, norm_layer=None, block=None,
                 downsample_layer=PatchMerging):  # fmt: skip
        super().__init__()
        self.num_classes = num_classes
        block = block or SwinTransformerBlock
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        patches = nn.Conv2d(3, embed_dim, tuple(patch_size), tuple(patch_size))
        features = [nn.Sequential(patches, Permute([0, 2, 3, 1]), norm_layer(embed_dim))]
        total, index = sum(depths), 0
        for stage, (depth, heads) in enumerate(zip(depths, num_heads)):
            width, blocks = embed_dim * 2**stage, []
            for i in range(depth):
                shift = [0 if i % 2 == 0 else side // 2 for side in window_size]
                blocks.append(
                    block(width, heads, window_size=window_size, shift_size=shift, mlp_ratio=mlp_ratio, dropout=dropout,
                          attention_dropout=attention_dropout, norm_layer=norm_layer,
                          stochastic_depth_prob=stochastic_depth_prob * float(index) / (total - 1))
                )  # fmt: skip
                index += 1
            features.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                features.append(downsample_layer(width, norm_layer))
        self.features = nn.Sequential(*features)
        channels = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm_layer(channels)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x):
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def _swin(weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    return load_published(SwinTransformer(**kwargs), weights, progress)


def _builder(weights, embed_dim, heads, third_depth, window, probability):
    settings = {
        "patch_size": [4, 4],
        "embed_dim": embed_dim,
        "depths": [2, 2, third_depth, 2],
        "num_heads": [heads * 2**i for i in range(4)],
        "window_size": [window, window],
    }
    if "_V2_" in weights.__name__:
        settings |= {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}

    def make(weights, progress, stochastic_depth_prob=probability, **kwargs):
        return _swin(weights, progress, stochastic_depth_prob=stochastic_depth_prob, **kwargs)

    return model_builder(weights.__name__.removesuffix("_Weights").lower(), weights, make, **settings)


Swin_T_Weights = published_weights("Swin_T_Weights", __name__)
Swin_S_Weights = published_weights("Swin_S_Weights", __name__)
Swin_B_Weights = published_weights("Swin_B_Weights", __name__)
Swin_V2_T_Weights = published_weights("Swin_V2_T_Weights", __name__)
Swin_V2_S_Weights = published_weights("Swin_V2_S_Weights", __name__)
Swin_V2_B_Weights = published_weights("Swin_V2_B_Weights", __name__)

# source: section 3.3 of the first paper; stochastic depth of appendix A2.1
swin_t = _builder(Swin_T_Weights, 96, 3, 6, 7, 0.2)
swin_s = _builder(Swin_S_Weights, 96, 3, 18, 7, 0.3)
swin_b = _builder(Swin_B_Weights, 128, 4, 18, 7, 0.5)
swin_v2_t = _builder(Swin_V2_T_Weights, 96, 3, 6, 8, 0.2)
swin_v2_s = _builder(Swin_V2_S_Weights, 96, 3, 18, 8, 0.3)
swin_v2_b = _builder(Swin_V2_B_Weights, 128, 4, 18, 8, 0.5)
