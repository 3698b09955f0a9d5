"""Padding, shuffling, resizing and sampling of images, of torch.nn.functional."""

from typing import List, Optional

import weft as _weft
from weft import Tensor


def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return _weft.pad(input, pad, mode, value)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    return _weft.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    return _weft.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    return _weft.channel_shuffle(input, groups)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    return channel_shuffle(input, groups)


def affine_grid(theta, size, align_corners=None):
    return _weft.affine_grid(theta, size, bool(align_corners))


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    if antialias and (mode not in ("bilinear", "bicubic") or input.dim() != 4):
        raise ValueError(
            f"interpolate: antialias is for modes 'bilinear' and 'bicubic' and input of 4 dimensions, got {mode!r} and "
            f"{input.dim()} dimensions"
        )
    if not isinstance(scale_factor, (tuple, list)):
        return _weft.interpolate(
            input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
        )
    rank = input.ndim - 2
    if len(scale_factor) != rank:
        raise ValueError(f"interpolate: scale_factor: expected one number, or {rank}, got {scale_factor}")
    if size is not None or all(factor == scale_factor[0] for factor in scale_factor):
        return _weft.interpolate(
            input, size, scale_factor[0], mode, align_corners, recompute_scale_factor, antialias
        )
    size = [int(length * factor) for length, factor in zip(input.shape[2:], scale_factor)]
    if recompute_scale_factor or mode == "area":
        return _weft.interpolate(input, size, None, mode, align_corners, None, antialias)
    if align_corners is not None and mode in ("nearest", "nearest-exact"):
        raise ValueError(f"interpolate: align_corners is not for mode {mode!r}")
    scales = [None] * (3 - rank) + list(scale_factor)
    return _weft.upsample(input, size, mode, bool(align_corners), *scales, antialias)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "bilinear", True)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    return _weft.grid_sample(input, grid, mode, padding_mode, align_corners)
