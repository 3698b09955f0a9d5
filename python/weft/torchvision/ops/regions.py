"""torchvision's pooling of regions of interest: boxes[K, 5] (image, x1, y1, x2, y2), or a list of boxes[L, 4] per image."""

import weft
from weft import Tensor
from weft.nn import Module

__all__ = [
    "PSRoIAlign",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "ps_roi_align",
    "ps_roi_pool",
    "roi_align",
    "roi_pool",
]


def convert_boxes_to_roi_format(boxes):
    """boxes[K, 5] of a list of boxes[L, 4], one for each image."""
    numbered = [weft.full((len(each), 1), float(i), dtype=each.dtype) for i, each in enumerate(boxes)]
    return weft.cat([weft.cat(numbered, 0), weft.cat(list(boxes), 0)], 1)


def check_roi_boxes_shape(boxes):
    """AssertionError unless these are boxes as this module's functions take them."""
    if isinstance(boxes, (list, tuple)):
        for each in boxes:
            assert (
                each.shape[1] == 4
            ), "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]"
    elif isinstance(boxes, Tensor):
        assert boxes.shape[1] == 5, "The boxes tensor shape is not correct as Tensor[K, 5]"
    else:
        raise AssertionError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]")


def _regions(boxes):
    check_roi_boxes_shape(boxes)
    return boxes if isinstance(boxes, Tensor) else convert_boxes_to_roi_format(boxes)


def _pair(size):
    return [size, size] if isinstance(size, int) else list(size)


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    """[K, C, *output_size]: means of bilinear samples; see weft.roi_align."""
    return weft.roi_align(
        input, _regions(boxes), _pair(output_size), float(spatial_scale), sampling_ratio, aligned
    )


def roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """[K, C, *output_size]: maxima; see weft.roi_pool."""
    return weft.roi_pool(input, _regions(boxes), _pair(output_size), float(spatial_scale))


def ps_roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1):
    """roi_align whose every bin reads its own channels: [K, C / (PH * PW), PH, PW] of input[N, C, H, W].

    source: Li et al., Light-Head R-CNN (2017).
    """
    height, width = _pair(output_size)
    channels = input.shape[1] // (height * width)
    if channels * height * width != input.shape[1]:
        raise RuntimeError(
            f"ps_roi_align: expected channels divisible by {height} * {width}, got {input.shape[1]}"
        )
    pooled = weft.roi_align(
        input, _regions(boxes), [height, width], float(spatial_scale), sampling_ratio, True
    )
    split = pooled.reshape((pooled.shape[0], channels, height * width, height * width))
    return weft.diagonal(split, 0, 2, 3).reshape((pooled.shape[0], channels, height, width))


def ps_roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """Left out."""
    raise NotImplementedError("torchvision.ops.ps_roi_pool is not written yet; see ps_roi_align")


class _Regions(Module):
    def __init__(self, output_size, spatial_scale):
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def __repr__(self):
        return f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale})"


class RoIPool(_Regions):
    def forward(self, input, rois):
        return roi_pool(input, rois, self.output_size, self.spatial_scale)


class PSRoIPool(_Regions):
    def forward(self, input, rois):
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)


class RoIAlign(_Regions):
    def __init__(self, output_size, spatial_scale, sampling_ratio, aligned=False):
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input, rois):
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)

    def __repr__(self):
        return f"{super().__repr__()[:-1]}, sampling_ratio={self.sampling_ratio}, aligned={self.aligned})"


class PSRoIAlign(_Regions):
    def __init__(self, output_size, spatial_scale, sampling_ratio):
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio = sampling_ratio

    def forward(self, input, rois):
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)

    def __repr__(self):
        return f"{super().__repr__()[:-1]}, sampling_ratio={self.sampling_ratio})"
