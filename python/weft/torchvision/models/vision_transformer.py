"""Vision Transformer (Dosovitskiy and others, An image is worth 16×16 words, 2020)."""

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import weft
import weft.torch as torch
from weft import nn

from ..ops.misc import MLP, Conv2dNormActivation
from ._api import load_published, model_builder, number_of_classes, published_weights
from ._utils import _ovewrite_named_param

__all__ = [
    "ViT_B_16_Weights",
    "ViT_B_32_Weights",
    "ViT_H_14_Weights",
    "ViT_L_16_Weights",
    "ViT_L_32_Weights",
    "VisionTransformer",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
]
_NORMALIZATION = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """A layer of a convolutional stem (Xiao and others, Early convolutions help transformers see better, 2021)."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Callable = nn.BatchNorm2d
    activation_layer: Callable = nn.ReLU


class MLPBlock(MLP):
    """Two linear layers with GELU. State dicts of the first version name them linear_1 and linear_2."""

    _version = 2

    def __init__(self, in_dim, mlp_dim, dropout):
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.normal_(module.bias, std=1e-6)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        version = (local_metadata or {}).get("version")
        if version is None or version < 2:
            for former, place in (("linear_1", 0), ("linear_2", 3)):
                for kind in ("weight", "bias"):
                    value = state_dict.pop(f"{prefix}{former}.{kind}", None)
                    if value is not None:
                        state_dict[f"{prefix}{place}.{kind}"] = value
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


class EncoderBlock(nn.Module):
    """Attention, then an MLP, each of the normalized input and added to it; [n, s, hidden_dim] to the same shape.

    raises: AssertionError for another rank.
    """

    def __init__(self, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout,
                 norm_layer=_NORMALIZATION):  # fmt: skip
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input):
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        normalized = self.ln_1(input)
        attended, _ = self.self_attention(normalized, normalized, normalized, need_weights=False)
        x = self.dropout(attended) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Positions added, blocks, and a normalization; [n, seq_length, hidden_dim] to the same shape.

    raises: AssertionError for another rank.
    """

    def __init__(self, seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout,
                 norm_layer=_NORMALIZATION):  # fmt: skip
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        blocks = OrderedDict()
        for i in range(num_layers):
            blocks[f"encoder_layer_{i}"] = EncoderBlock(
                num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
            )
        self.layers = nn.Sequential(blocks)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input):
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


def _fill_projection(convolution, std):
    nn.init.trunc_normal_(convolution.weight, std=std)
    if convolution.bias is not None:
        nn.init.zeros_(convolution.bias)


class VisionTransformer(nn.Module):
    """Images [n, 3, image_size, image_size] to logits [n, num_classes].

    raises: ValueError where patches do not fill the image.
    """

    def __init__(self, image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, dropout=0.0,
                 attention_dropout=0.0, num_classes=1000, representation_size=None,
                 norm_layer=_NORMALIZATION, conv_stem_configs=None):  # fmt: skip
        super().__init__()
        if image_size % patch_size:
            raise ValueError(f"Input shape indivisible by patch size: {image_size}, {patch_size}")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        if conv_stem_configs is None:
            self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, patch_size)
        else:
            self.conv_proj = self._weft_stem(conv_stem_configs)
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.class_token = nn.Parameter(weft.zeros((1, 1, hidden_dim)))
        self.encoder = Encoder(self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout,
                               norm_layer)  # fmt: skip
        heads = OrderedDict()
        if representation_size is None:
            heads["head"] = nn.Linear(hidden_dim, num_classes)
        else:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
            heads["head"] = nn.Linear(representation_size, num_classes)
        self.heads = nn.Sequential(heads)
        self._weft_initialize()

    def _weft_stem(self, configurations):
        layers, channels = OrderedDict(), 3
        for i, one in enumerate(configurations):
            layers[f"conv_bn_relu_{i}"] = Conv2dNormActivation(
                channels, one.out_channels, one.kernel_size, one.stride, norm_layer=one.norm_layer,
                activation_layer=one.activation_layer)  # fmt: skip
            channels = one.out_channels
        layers["conv_last"] = nn.Conv2d(channels, self.hidden_dim, 1)
        return nn.Sequential(layers)

    def _weft_initialize(self):
        if isinstance(self.conv_proj, nn.Conv2d):
            inputs = math.prod(self.conv_proj.weight.shape[1:])
            _fill_projection(self.conv_proj, math.sqrt(1 / inputs))
        else:
            last = self.conv_proj.conv_last
            nn.init.normal_(last.weight, mean=0.0, std=math.sqrt(2.0 / last.out_channels))
            nn.init.zeros_(last.bias)
        if self.representation_size is not None:
            _fill_projection(self.heads.pre_logits, math.sqrt(1 / self.hidden_dim))
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x):
        """Images [n, 3, h, w] as patches [n, patches, hidden_dim]. raises: AssertionError for another size of images."""
        n, _, height, width = x.shape
        torch._assert(
            height == self.image_size, f"Wrong image height! Expected {self.image_size} but got {height}!"
        )
        torch._assert(
            width == self.image_size, f"Wrong image width! Expected {self.image_size} but got {width}!"
        )
        rows, columns = height // self.patch_size, width // self.patch_size
        return self.conv_proj(x).reshape(n, self.hidden_dim, rows * columns).permute(0, 2, 1)

    def forward(self, x):
        patches = self._process_input(x)
        n = patches.shape[0]
        token = self.class_token.expand(n, -1, -1)
        encoded = self.encoder(torch.cat([token, patches], dim=1))
        return self.heads(encoded[:, 0])


def _vision_transformer(weights, progress, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, **kwargs):
    number_of_classes(kwargs, weights)
    if weights is not None:
        _ovewrite_named_param(kwargs, "image_size", weights.meta["min_size"][0])
    image_size = kwargs.pop("image_size", 224)
    model = VisionTransformer(image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, **kwargs)
    return load_published(model, weights, progress)


ViT_B_16_Weights = published_weights("ViT_B_16_Weights", __name__)
ViT_B_32_Weights = published_weights("ViT_B_32_Weights", __name__)
ViT_L_16_Weights = published_weights("ViT_L_16_Weights", __name__)
ViT_L_32_Weights = published_weights("ViT_L_32_Weights", __name__)
ViT_H_14_Weights = published_weights("ViT_H_14_Weights", __name__)

# source: table 1 of the paper
_BASE = {"num_layers": 12, "num_heads": 12, "hidden_dim": 768, "mlp_dim": 3072}
_LARGE = {"num_layers": 24, "num_heads": 16, "hidden_dim": 1024, "mlp_dim": 4096}
_HUGE = {"num_layers": 32, "num_heads": 16, "hidden_dim": 1280, "mlp_dim": 5120}

vit_b_16 = model_builder("vit_b_16", ViT_B_16_Weights, _vision_transformer, patch_size=16, **_BASE)
vit_b_32 = model_builder("vit_b_32", ViT_B_32_Weights, _vision_transformer, patch_size=32, **_BASE)
vit_l_16 = model_builder("vit_l_16", ViT_L_16_Weights, _vision_transformer, patch_size=16, **_LARGE)
vit_l_32 = model_builder("vit_l_32", ViT_L_32_Weights, _vision_transformer, patch_size=32, **_LARGE)
vit_h_14 = model_builder(
    "vit_h_14", ViT_H_14_Weights, _vision_transformer, first=None, patch_size=14, **_HUGE
)


def interpolate_embeddings(
    image_size, patch_size, model_state, interpolation_mode="bicubic", reset_heads=False
):
    """A state dict whose position embedding is resized to images of image_size; reset_heads leaves the heads out.

    raises: ValueError for an embedding that is not [1, s, c], or whose patches are no square.
    """
    name = "encoder.pos_embedding"
    embedding = model_state[name]
    batch, former, channels = embedding.shape
    if batch != 1:
        raise ValueError(f"Unexpected position embedding shape: {tuple(embedding.shape)}")
    wanted = (image_size // patch_size) ** 2 + 1
    if wanted == former:
        return model_state
    side, new_side = math.isqrt(former - 1), image_size // patch_size
    if side * side != former - 1:
        raise ValueError(f"seq_length is not a perfect square: {former - 1} patches")
    grid = embedding[:, 1:, :].permute(0, 2, 1).reshape(1, channels, side, side)
    grid = nn.functional.interpolate(grid, size=new_side, mode=interpolation_mode, align_corners=True)
    grid = grid.reshape(1, channels, new_side * new_side).permute(0, 2, 1)
    model_state[name] = weft.cat([embedding[:, :1, :], grid], 1)
    if not reset_heads:
        return model_state
    return OrderedDict((key, value) for key, value in model_state.items() if not key.startswith("heads"))
