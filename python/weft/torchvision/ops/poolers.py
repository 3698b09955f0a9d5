"""torchvision.ops.poolers: regions of interest, each read from the level of a pyramid that fits its size."""

import math

import weft
from weft.nn import Module

from .boxes import box_area
from .regions import convert_boxes_to_roi_format, roi_align

__all__ = ["LevelMapper", "MultiScaleRoIAlign", "initLevelMapper"]


class LevelMapper:
    """The level of each box: canonical_level for areas of canonical_scale ** 2, one more for four times that."""

    def __init__(self, k_min, k_max, canonical_scale=224, canonical_level=4, eps=1e-6):
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists):
        sizes = weft.sqrt(weft.cat([box_area(boxes) for boxes in boxlists]))
        levels = weft.floor(self.lvl0 + weft.log2(sizes / self.s0) + self.eps)
        return weft.clamp(levels, min=self.k_min, max=self.k_max).to(weft.int64) - self.k_min


def initLevelMapper(k_min, k_max, canonical_scale=224, canonical_level=4, eps=1e-6):
    return LevelMapper(k_min, k_max, canonical_scale, canonical_level, eps)


def _scale(feature, original_size):
    """The power of two by which the feature's sides are smaller than the image's."""
    scales = [2.0 ** round(math.log2(own / size)) for own, size in zip(feature.shape[-2:], original_size)]
    return scales[0]


class MultiScaleRoIAlign(Module):
    """roi_align over several features; called with a dictionary of them, a list of boxes[L, 4] and the images' sizes."""

    def __init__(self, featmap_names, output_size, sampling_ratio, *, canonical_scale=224, canonical_level=4):
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.scales = None
        self.map_levels = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def _weft_set_scales(self, features, image_shapes):
        if not image_shapes:
            raise ValueError("images list should not be empty")
        original = [max(shape[d] for shape in image_shapes) for d in range(2)]
        self.scales = [_scale(feature, original) for feature in features]
        self.map_levels = initLevelMapper(
            int(-math.log2(self.scales[0])),
            int(-math.log2(self.scales[-1])),
            self.canonical_scale,
            self.canonical_level,
        )

    def forward(self, x, boxes, image_shapes):
        features = [value for key, value in x.items() if key in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self._weft_set_scales(features, image_shapes)
        regions = convert_boxes_to_roi_format(boxes)
        if len(features) == 1:
            return roi_align(features[0], regions, self.output_size, self.scales[0], self.sampling_ratio)
        levels = self.map_levels(boxes)
        result = weft.zeros(
            (regions.shape[0], features[0].shape[1], *self.output_size), dtype=features[0].dtype
        )
        for level, (feature, scale) in enumerate(zip(features, self.scales)):
            places = weft.nonzero(levels == level).squeeze(1)
            if places.numel():
                result[places] = roi_align(
                    feature, regions[places], self.output_size, scale, self.sampling_ratio
                )
        return result

    def __repr__(self):
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, output_size={self.output_size}, "
            f"sampling_ratio={self.sampling_ratio})"
        )
