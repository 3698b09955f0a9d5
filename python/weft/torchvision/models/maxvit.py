"""MaxViT (Tu and others, Multi-axis vision transformer, 2022)."""

from collections import OrderedDict
from functools import partial

import numpy as np

import weft
import weft.torch as torch
from weft import nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ._api import load_published, model_builder, number_of_classes, published_weights
from ._utils import _ovewrite_named_param

__all__ = ["MaxVit", "MaxVit_T_Weights", "maxvit_t"]


def _get_conv_output_shape(input_size, kernel_size, stride, padding):
    """The height and width that a convolution gives."""
    return tuple((length - kernel_size + 2 * padding) // stride + 1 for length in input_size)


def _make_block_input_shapes(input_size, n_blocks):
    """The sizes of the blocks' results, each of half the one before; the stem halves the image first."""
    shapes = [_get_conv_output_shape(input_size, 3, 2, 1)]
    for _ in range(n_blocks):
        shapes.append(_get_conv_output_shape(shapes[-1], 3, 2, 1))
    return shapes[1:]


def _get_relative_position_index(height, width):
    """[pixels, pixels]: the row of the bias table for each pair of a window's pixels."""
    row = torch.arange(height).repeat_interleave(width)
    column = torch.arange(width).repeat(height)
    rows = row.reshape(-1, 1) - row + height - 1
    columns = column.reshape(-1, 1) - column + width - 1
    return rows * (2 * width - 1) + columns


class MBConv(nn.Module):
    """Channels normalized, widened, filtered one by one, scaled by squeeze and excitation, narrowed, and added to the input,
    which is pooled and projected where the shape changes."""

    def __init__(self, in_channels, out_channels, expansion_ratio, squeeze_ratio, stride, activation_layer, norm_layer,
                 p_stochastic_dropout=0.0):  # fmt: skip
        super().__init__()
        if stride == 1 and in_channels == out_channels:
            self.proj = nn.Identity()
        else:
            projection = [nn.Conv2d(in_channels, out_channels, 1, bias=True)]
            if stride == 2:
                projection.insert(0, nn.AvgPool2d(3, stride, 1))
            self.proj = nn.Sequential(*projection)
        hidden = int(out_channels * expansion_ratio)
        squeezed = int(out_channels * squeeze_ratio)
        layer = partial(
            Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None
        )
        dropped = StochasticDepth(p_stochastic_dropout, mode="row") if p_stochastic_dropout else nn.Identity()
        self.stochastic_depth = dropped
        self.layers = nn.Sequential(
            OrderedDict(
                pre_norm=norm_layer(in_channels),
                conv_a=layer(in_channels, hidden, kernel_size=1, padding=0),
                conv_b=layer(hidden, hidden, stride=stride, padding=1, groups=hidden),
                squeeze_excitation=SqueezeExcitation(hidden, squeezed, activation=nn.SiLU),
                conv_c=nn.Conv2d(hidden, out_channels, 1, bias=True),
            )
        )

    def forward(self, x):
        return self.proj(x) + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention within groups, [n, groups, max_seq_len, feat_dim] to the same shape, biased by relative positions.

    raises: ValueError where feat_dim is no multiple of head_dim.
    """

    def __init__(self, feat_dim, head_dim, max_seq_len):
        super().__init__()
        if feat_dim % head_dim:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads = feat_dim // head_dim
        self.head_dim = head_dim
        self.size = round(max_seq_len**0.5)
        self.max_seq_len = max_seq_len
        self.to_qkv = nn.Linear(feat_dim, 3 * self.n_heads * head_dim)
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(self.n_heads * head_dim, feat_dim)
        positions = (2 * self.size - 1) ** 2
        self.relative_position_bias_table = nn.Parameter(weft.zeros((positions, self.n_heads)))
        self.register_buffer("relative_position_index", _get_relative_position_index(self.size, self.size))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self):
        table = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        bias = table.view(self.max_seq_len, self.max_seq_len, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x):
        batch, groups, length, width = x.shape
        qkv = self.to_qkv(x).reshape(batch, groups, length, 3, self.n_heads, self.head_dim)
        query, key, value = qkv.permute(3, 0, 1, 4, 2, 5)
        scores = query @ (key * self.scale_factor).transpose(-2, -1)
        attention = (scores + self.get_relative_positional_bias()).softmax(-1)
        joined = (attention @ value).permute(0, 1, 3, 2, 4).reshape(batch, groups, length, width)
        return self.merge(joined)


class SwapAxes(nn.Module):
    """The input with two dimensions exchanged."""

    def __init__(self, a, b):
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x):
        return x.transpose(self.a, self.b)


class WindowPartition(nn.Module):
    """[n, c, h, w] and p to [n, windows, p · p, c]."""

    def forward(self, x, p):
        n, channels, height, width = x.shape
        x = x.reshape(n, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(n, (height // p) * (width // p), p * p, channels)


class WindowDepartition(nn.Module):
    """[n, windows, p · p, c], p, and the windows of a column and a row, to [n, c, h, w]."""

    def forward(self, x, p, h_partitions, w_partitions):
        n, _, _, channels = x.shape
        x = x.reshape(n, h_partitions, w_partitions, p, p, channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(n, channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention and an MLP in windows of partition_size, or in the grid of pixels that lie that many windows apart.

    raises: ValueError for another kind than "window" and "grid", and (forward) for images that are no whole windows.
    """

    def __init__(self, in_channels, head_dim, partition_size, partition_type, grid_size, mlp_ratio, activation_layer,
                 norm_layer, attention_dropout, mlp_dropout, p_stochastic_dropout):  # fmt: skip
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        self.n_heads = in_channels // head_dim
        self.head_dim = head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type = partition_type
        self.grid_size = grid_size
        windows = partition_type == "window"
        self.p, self.g = (
            (partition_size, self.n_partitions) if windows else (self.n_partitions, partition_size)
        )
        self.partition_op = WindowPartition()
        self.departition_op = WindowDepartition()
        self.partition_swap = nn.Identity() if windows else SwapAxes(-2, -3)
        self.departition_swap = nn.Identity() if windows else SwapAxes(-2, -3)
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x):
        height, width = self.grid_size[0] // self.p, self.grid_size[1] // self.p
        if self.grid_size[0] % self.p or self.grid_size[1] % self.p:
            raise ValueError(
                f"Grid size must be divisible by partition size. Got grid size of {self.grid_size} and partition size of "
                f"{self.p}"
            )
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        return self.departition_op(self.departition_swap(x), self.p, height, width)


class MaxVitLayer(nn.Module):
    """MBConv, attention in windows, attention in the grid."""

    def __init__(self, in_channels, out_channels, squeeze_ratio, expansion_ratio, stride, norm_layer, activation_layer,
                 head_dim, mlp_ratio, mlp_dropout, attention_dropout, p_stochastic_dropout, partition_size, grid_size):  # fmt: skip
        super().__init__()
        layers = OrderedDict(
            MBconv=MBConv(in_channels, out_channels, expansion_ratio, squeeze_ratio, stride, activation_layer, norm_layer,
                          p_stochastic_dropout)
        )  # fmt: skip
        for kind in ("window", "grid"):
            layers[f"{kind}_attention"] = PartitionAttentionLayer(
                out_channels, head_dim, partition_size, kind, grid_size, mlp_ratio, activation_layer, nn.LayerNorm,
                attention_dropout, mlp_dropout, p_stochastic_dropout)  # fmt: skip
        self.layers = nn.Sequential(layers)

    def forward(self, x):
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers, the first of which halves the image.

    raises: ValueError where there are not as many probabilities as layers.
    """

    def __init__(self, in_channels, out_channels, squeeze_ratio, expansion_ratio, norm_layer, activation_layer, head_dim,
                 mlp_ratio, mlp_dropout, attention_dropout, partition_size, input_grid_size, n_layers, p_stochastic):  # fmt: skip
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(
                f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}."
            )
        self.layers = nn.ModuleList()
        self.grid_size = _get_conv_output_shape(input_grid_size, 3, 2, 1)
        for i, probability in enumerate(p_stochastic):
            self.layers.append(
                MaxVitLayer(out_channels if i else in_channels, out_channels, squeeze_ratio, expansion_ratio,
                            1 if i else 2, norm_layer, activation_layer, head_dim, mlp_ratio, mlp_dropout,
                            attention_dropout, probability, partition_size, self.grid_size)
            )  # fmt: skip

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """Images [n, 3, *input_size] to logits [n, num_classes].

    raises: ValueError where some block's image is no whole windows.
    """

    def __init__(self, input_size, stem_channels, partition_size, block_channels, block_layers, head_dim,
                 stochastic_depth_prob, norm_layer=None, activation_layer=nn.GELU, squeeze_ratio=0.25, expansion_ratio=4,
                 mlp_ratio=4, mlp_dropout=0.0, attention_dropout=0.0, num_classes=1000):  # fmt: skip
        super().__init__()
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        for i, size in enumerate(_make_block_input_shapes(input_size, len(block_channels))):
            if size[0] % partition_size or size[1] % partition_size:
                raise ValueError(
                    f"Input size {size} of block {i} is not divisible by partition size {partition_size}. Consider changing "
                    f"the partition size or the input size.\nCurrent configuration yields the following block input sizes: "
                    f"{_make_block_input_shapes(input_size, len(block_channels))}."
                )
        self.stem = nn.Sequential(
            Conv2dNormActivation(3, stem_channels, 3, 2, norm_layer=norm_layer, activation_layer=activation_layer,
                                 bias=False, inplace=None),
            Conv2dNormActivation(stem_channels, stem_channels, 3, 1, norm_layer=None, activation_layer=None, bias=True),
        )  # fmt: skip
        self.partition_size = partition_size
        size = _get_conv_output_shape(input_size, 3, 2, 1)
        self.blocks = nn.ModuleList()
        total = sum(block_layers)
        probabilities = np.linspace(0, stochastic_depth_prob, total).tolist()
        channels = stem_channels
        for width, layers in zip(block_channels, block_layers):
            self.blocks.append(
                MaxVitBlock(channels, width, squeeze_ratio, expansion_ratio, norm_layer, activation_layer, head_dim,
                            mlp_ratio, mlp_dropout, attention_dropout, partition_size, size, layers,
                            probabilities[:layers])
            )  # fmt: skip
            probabilities = probabilities[layers:]
            channels, size = width, self.blocks[-1].grid_size
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(channels),
            nn.Linear(channels, channels),
            nn.Tanh(),
            nn.Linear(channels, num_classes, bias=False),
        )
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def _maxvit(weights, progress, **kwargs):
    number_of_classes(kwargs, weights)
    if weights is not None:
        _ovewrite_named_param(kwargs, "input_size", weights.meta["min_size"])
    return load_published(MaxVit(kwargs.pop("input_size", (224, 224)), **kwargs), weights, progress)


MaxVit_T_Weights = published_weights("MaxVit_T_Weights", __name__)
# source: table 1 of the paper
maxvit_t = model_builder(
    "maxvit_t", MaxVit_T_Weights, _maxvit, stem_channels=64, block_channels=[64, 128, 256, 512],
    block_layers=[2, 2, 5, 2], head_dim=32, stochastic_depth_prob=0.2, partition_size=7)  # fmt: skip
