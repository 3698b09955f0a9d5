"""Pixels in, masks out: resizing, run lengths, regions, outlines."""

import numpy as np

import weft

from ... import _models
from . import prompts as _prompts

__all__ = [
    "mask_to_rle",
    "rle_to_mask",
    "area_of",
    "mask_to_polygons",
    "remove_small_regions",
    "resize_pixels",
]


def _mask(mask):
    mask = mask.numpy() if isinstance(mask, weft.Tensor) else np.asarray(mask)
    if mask.dtype != bool or mask.ndim != 2:
        raise ValueError(f"a mask must be bool [height, width], got {mask.dtype} {list(mask.shape)}")
    return weft.from_numpy(np.ascontiguousarray(mask))


def resize_pixels(image, size):
    """uint8 [H, W, 3] at the size (height, width), as Pillow's antialiased bilinear filter gives it."""
    pixels = _prompts.as_pixels(image)
    return _models.resize_pixels(weft.from_numpy(pixels), tuple(size)).numpy()


def mask_to_rle(mask, compressed=True):
    """Run lengths of bool [H, W], as COCO's files have them: counts is a text, or a list where not compressed."""
    mask = _mask(mask)
    runs = _models.run_lengths(mask)
    return {"size": list(mask.shape), "counts": runs.coco_string() if compressed else list(runs)}


def _counts(rle):
    counts, size = rle["counts"], tuple(rle["size"])
    if isinstance(counts, bytes):
        counts = counts.decode("ascii", "replace")
    return (_models.from_coco_string(counts, size) if isinstance(counts, str) else list(counts)), size


def rle_to_mask(rle):
    """bool [H, W] of mask_to_rle's results; ValueError where the runs do not fill the size."""
    return _models.mask_of(*_counts(rle)).numpy()


def area_of(rle):
    """Pixels of a mask."""
    return sum(_counts(rle)[0][1::2])


def mask_to_polygons(mask):
    """Outer boundaries of a mask's regions along the edges of pixels: lists [x, y, x, y, ...]. Holes have none."""
    return _models.polygons_of(_mask(mask))


def remove_small_regions(mask, area, mode):
    """(mask, whether it changed): "holes" of fewer than `area` pixels are filled, or "islands" removed, of which the
    largest stays."""
    if mode not in ("holes", "islands"):
        raise ValueError(f"mode must be 'holes' or 'islands', got {mode!r}")
    mask, changed = _models.remove_small_regions(_mask(mask), area, mode == "holes")
    return mask.numpy(), changed
