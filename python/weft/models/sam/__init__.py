"""Segment Anything: see docs/SEGMENT_ANYTHING.md."""

from .config import SamConfig
from .generator import SamAutomaticMaskGenerator
from .masks import (
    area_of,
    mask_to_polygons,
    mask_to_rle,
    remove_small_regions,
    resize_pixels,
    rle_to_mask,
)
from .model import Sam
from .predictor import SamPredictor

__all__ = ["Sam", "SamAutomaticMaskGenerator", "SamConfig", "SamPredictor", "area_of", "mask_to_polygons", "mask_to_rle",
           "remove_small_regions", "resize_pixels", "rle_to_mask"]  # fmt: skip
