"""torchvision.transforms.v2.functional: functions that are those of the first version, under both versions' names, and
what the second one does in another way."""

import weft

from .._modes import InterpolationMode
from ..functional import *  # noqa: F403
from ..functional import __all__ as _functions
from ..functional import (
    convert_image_dtype,
    crop,
    elastic_transform,
    get_dimensions,
    hflip,
    pil_to_tensor,
    resized,
    vflip,
)

__all__ = [*_functions, "elastic", "get_size", "horizontal_flip", "to_dtype", "to_image", "vertical_flip"]

horizontal_flip, vertical_flip, elastic = hflip, vflip, elastic_transform


def to_image(inpt):
    """[C, H, W] of an image."""
    return inpt if isinstance(inpt, weft.Tensor) else pil_to_tensor(inpt)


def to_dtype(inpt, dtype=None, scale=False):
    """The tensor in another dtype; scale: values so that the brightest stays so."""
    dtype = weft.float32 if dtype is None else dtype
    return convert_image_dtype(inpt, dtype) if scale else inpt.to(dtype)


def get_size(inpt):
    """[height, width]."""
    return get_dimensions(inpt)[1:]


def resize(img, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
    """The image in another size: (height, width), or of the shorter side; uint8 as interpolate() resizes it."""
    return resized(img, size, interpolation, max_size, antialias, of_bytes=True)


def resized_crop(
    img, top, left, height, width, size, interpolation=InterpolationMode.BILINEAR, antialias=True
):
    """crop, then resize."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)
