"""The sizes of a Segment Anything model, as they follow from the shapes of its weights."""

import dataclasses
import math
import re

__all__ = ["SamConfig", "TinyViTConfig", "config_of"]


@dataclasses.dataclass(frozen=True)
class TinyViTConfig:
    """MobileSAM's image encoder, stage by stage; the first one has no attention."""

    widths: tuple = (64, 128, 160, 320)
    depths: tuple = (2, 2, 6, 2)
    heads: tuple = (0, 4, 5, 10)
    windows: tuple = (0, 7, 14, 7)
    expansion: int = 4
    ratio: int = 4
    classes: int = 1000


@dataclasses.dataclass(frozen=True)
class SamConfig:
    """ViT-B's by default. See `vit_b`, `vit_l`, `vit_h`, and `mobile`, whose encoder is `tiny` (width to patch say nothing)."""

    width: int = 768
    depth: int = 12
    heads: int = 12
    hidden: int = 3072
    global_blocks: tuple = (2, 5, 8, 11)
    window: int = 14
    patch: int = 16
    image_size: int = 1024
    out_channels: int = 256
    mask_channels: int = 16
    decoder_depth: int = 2
    decoder_heads: int = 8
    decoder_hidden: int = 2048
    cross_width: int = 128
    mask_tokens: int = 4
    iou_depth: int = 3
    iou_hidden: int = 256
    tiny: TinyViTConfig | None = None

    @property
    def grid(self):
        return self.image_size // self.patch

    @classmethod
    def vit_b(cls):
        return cls()

    @classmethod
    def vit_l(cls):
        return cls(width=1024, depth=24, heads=16, hidden=4096, global_blocks=(5, 11, 17, 23))

    @classmethod
    def vit_h(cls):
        return cls(width=1280, depth=32, heads=16, hidden=5120, global_blocks=(7, 15, 23, 31))

    @classmethod
    def mobile(cls):
        return cls(**_NO_VIT, tiny=TinyViTConfig())


_NO_VIT = {"width": 0, "depth": 0, "heads": 0, "hidden": 0, "global_blocks": (), "window": 0}


def _count(names, pattern):
    found = {int(match[1]) for name in names if (match := re.match(pattern, name))}
    return len(found)


def _vit_of(shapes, shape, name):
    """The image encoder's sizes, by SamConfig's names; shape: config_of's."""
    _, grid, across, width = shape("image_encoder.pos_embed", 4)
    patch = shape("image_encoder.patch_embed.proj.weight", 4)[2]
    depth = _count(shapes, r"image_encoder\.blocks\.(\d+)\.norm1\.weight")
    tables = [shape(f"image_encoder.blocks.{i}.attn.rel_pos_h", 2) for i in range(depth)]
    if grid != across or not tables or any(rows % 2 == 0 for rows, _ in tables):
        raise ValueError(
            f"'{name}': the grid of positions is {grid} by {across}, with {depth} blocks: no SAM"
        )
    windows = {rows // 2 + 1 for rows, _ in tables} - {grid}
    head_dim = tables[0][1]
    if len(windows) > 1 or width % head_dim:
        raise ValueError(
            f"'{name}': blocks have windows of {sorted(windows)} and heads of {head_dim} channels in {width}"
        )
    return {
        "width": width,
        "depth": depth,
        "heads": width // head_dim,
        "hidden": shape("image_encoder.blocks.0.mlp.lin1.weight", 2)[0],
        "global_blocks": tuple(i for i, (rows, _) in enumerate(tables) if rows // 2 + 1 == grid),
        "window": windows.pop() if windows else 0,
        "patch": patch,
        "image_size": grid * patch,
    }


def _tiny_of(shapes, shape, name):
    """TinyViTConfig of MobileSAM's image encoder."""
    layers = "image_encoder.layers"
    stages = _count(shapes, r"image_encoder\.layers\.(\d+)\.blocks\.0\.")
    if stages < 3:
        raise ValueError(f"'{name}': an image encoder of {stages} stages: no MobileSAM")
    widths = [shape("image_encoder.patch_embed.seq.2.c.weight", 4)[0]]
    heads, windows = [0], [0]
    for i in range(1, stages):
        widths.append(shape(f"{layers}.{i - 1}.downsample.conv1.c.weight", 4)[0])
        count, places = shape(f"{layers}.{i}.blocks.0.attn.attention_biases", 2)
        if widths[i] % count or math.isqrt(places) ** 2 != places:
            raise ValueError(
                f"'{name}': stage {i}: {count} heads in {widths[i]} channels, {places} distances"
            )
        heads.append(count)
        windows.append(math.isqrt(places))
    return TinyViTConfig(
        widths=tuple(widths),
        depths=tuple(_count(shapes, rf"image_encoder\.layers\.{i}\.blocks\.(\d+)\.") for i in range(stages)),
        heads=tuple(heads),
        windows=tuple(windows),
        expansion=shape(f"{layers}.0.blocks.0.conv1.c.weight", 4)[0] // widths[0],
        ratio=shape(f"{layers}.1.blocks.0.mlp.fc1.weight", 2)[0] // widths[1],
        classes=shape("image_encoder.head.weight", 2)[0] if "image_encoder.head.weight" in shapes else 0,
    )


def config_of(shapes, name, decoder_heads=8, image_size=1024):
    """Of {name of a weight: shape}; ValueError, with the file's `name`, where these are not Segment Anything's.

    decoder_heads: no shape tells it; 8 in every published model. image_size: no shape of MobileSAM's tells it, either.
    """

    def shape(key, ndim):
        if key not in shapes:
            raise ValueError(
                f"'{name}': the checkpoint of another model: expected Segment Anything's weights "
                f"(sam_vit_b, sam_vit_l, sam_vit_h or mobile_sam), and there is no '{key}' among {len(shapes)} weights"
            )
        found = tuple(shapes[key])
        if len(found) != ndim or 0 in found:
            raise ValueError(
                f"'{name}': '{key}' must have {ndim} dimensions and no size 0, got {list(found)}"
            )
        return found

    if any(key.startswith("image_encoder.patch_embed.seq") for key in shapes):
        encoder = {**_NO_VIT, "tiny": _tiny_of(shapes, shape, name), "image_size": image_size}
        if image_size < 16 or image_size % 16:
            raise ValueError(f"'{name}': image_size must be a multiple of 16, got {image_size}")
    else:
        encoder = _vit_of(shapes, shape, name)
    channels = shape("image_encoder.neck.0.weight", 4)[0]
    decoder = "mask_decoder.transformer.layers"
    cross_width = shape(f"{decoder}.0.cross_attn_token_to_image.q_proj.weight", 2)[0]
    if channels % decoder_heads or cross_width % decoder_heads:
        raise ValueError(
            f"'{name}': decoder_heads must divide {math.gcd(channels, cross_width)}, got {decoder_heads}"
        )
    return SamConfig(
        **encoder,
        out_channels=channels,
        mask_channels=shape("prompt_encoder.mask_downscaling.3.weight", 4)[0],
        decoder_depth=_count(shapes, r"mask_decoder\.transformer\.layers\.(\d+)\.norm1\.weight"),
        decoder_heads=decoder_heads,
        decoder_hidden=shape(f"{decoder}.0.mlp.lin1.weight", 2)[0],
        cross_width=cross_width,
        mask_tokens=shape("mask_decoder.mask_tokens.weight", 2)[0],
        iou_depth=_count(shapes, r"mask_decoder\.iou_prediction_head\.layers\.(\d+)\.weight"),
        iou_hidden=shape("mask_decoder.iou_prediction_head.layers.0.weight", 2)[0],
    )
