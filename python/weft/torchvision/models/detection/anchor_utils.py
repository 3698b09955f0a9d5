"""torchvision.models.detection.anchor_utils: boxes at every place of a feature, of which a detector predicts the
difference."""

import math

import weft
from weft import nn

__all__ = ["AnchorGenerator", "DefaultBoxGenerator"]


class AnchorGenerator(nn.Module):
    """Anchors at each pixel of each feature: for feature i those of every sizes[i] (the square root of the area) and
    aspect_ratios[i] (height by width), their corners rounded. A call with an ImageList and the features gives a list of
    anchors [a, 4], one for each image."""

    def __init__(self, sizes=((128, 256, 512),), aspect_ratios=((0.5, 1.0, 2.0),)):
        super().__init__()
        if not isinstance(sizes[0], (list, tuple)):
            sizes = tuple((size,) for size in sizes)
        if not isinstance(aspect_ratios[0], (list, tuple)):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [self.generate_anchors(*each) for each in zip(sizes, aspect_ratios)]

    def generate_anchors(self, scales, aspect_ratios, dtype=weft.float32, device="cpu"):
        """[len(aspect_ratios) * len(scales), 4], around 0."""
        roots = weft.sqrt(weft.tensor(list(aspect_ratios), dtype=dtype, device=device))
        scales = weft.tensor(list(scales), dtype=dtype, device=device)
        height = (roots[:, None] * scales).reshape((-1,))
        width = ((1 / roots)[:, None] * scales).reshape((-1,))
        return weft.round(weft.stack((-width, -height, width, height), 1) / 2)

    def set_cell_anchors(self, dtype, device):
        """Brings the anchors around 0 to a dtype and device."""
        self.cell_anchors = [anchors.to(dtype=dtype, device=device) for anchors in self.cell_anchors]

    def num_anchors_per_location(self):
        """The anchors at a pixel of each feature."""
        return [len(sizes) * len(ratios) for sizes, ratios in zip(self.sizes, self.aspect_ratios)]

    def grid_anchors(self, grid_sizes, strides):
        """[a, 4] for each feature of grid_sizes (rows, columns), whose pixels are strides (rows, columns) apart in the image.

        raises: ValueError where there are not as many features as sizes.
        """
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise ValueError(
                f"AnchorGenerator: expected {len(self.cell_anchors)} features, as sizes and aspect_ratios have, "
                f"got {len(grid_sizes)}"
            )
        made = []
        for (rows, columns), (down, right), anchors in zip(grid_sizes, strides, self.cell_anchors):
            x = (weft.arange(columns, device=anchors.device) * right)[None, :].expand((rows, columns))
            y = (weft.arange(rows, device=anchors.device) * down)[:, None].expand((rows, columns))
            places = weft.stack((x, y, x, y), 2).reshape((-1, 1, 4))
            made.append((places.to(anchors.dtype) + anchors).reshape((-1, 4)))
        return made

    def forward(self, image_list, feature_maps):
        height, width = image_list.tensors.shape[-2:]
        grids = [(feature.shape[-2], feature.shape[-1]) for feature in feature_maps]
        self.set_cell_anchors(feature_maps[0].dtype, feature_maps[0].device)
        anchors = weft.cat(
            self.grid_anchors(grids, [(height // rows, width // columns) for rows, columns in grids])
        )
        return [anchors for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """The default boxes of SSD (Liu and others, 2016, section 2.2): at each pixel of feature k two squares and two boxes
    for each of aspect_ratios[k], of sides scales[k] relative to the image. scales None: evenly from min_ratio to max_ratio.
    steps[k]: the pixels that those of feature k are apart; None: as many as the feature's size says. clip: whether sides
    are at most 1.

    raises: ValueError where there are not as many steps as aspect_ratios.
    """

    def __init__(self, aspect_ratios, min_ratio=0.15, max_ratio=0.9, scales=None, steps=None, clip=True):
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        last = len(aspect_ratios) - 1
        if scales is None and last > 0:
            scales = [*(min_ratio + (max_ratio - min_ratio) * k / last for k in range(last + 1)), 1.0]
        self.scales = [min_ratio, max_ratio] if scales is None else scales
        self._wh_pairs = [
            weft.tensor(self._weft_sides(k, ratios), device="cpu") for k, ratios in enumerate(aspect_ratios)
        ]

    def _weft_sides(self, k, ratios):
        """[width, height] of the boxes of feature k."""
        scale = self.scales[k]
        between = math.sqrt(scale * self.scales[k + 1])
        sides = [[scale, scale], [between, between]]
        for root in map(math.sqrt, ratios):
            sides += [[scale * root, scale / root], [scale / root, scale * root]]
        return sides

    def num_anchors_per_location(self):
        """The boxes at a pixel of each feature."""
        return [len(pairs) for pairs in self._wh_pairs]

    def _weft_boxes(self, k, grid, size, dtype):
        """[a, 4]: (x, y, width, height) relative to the image."""
        rows, columns = grid
        high, wide = grid if self.steps is None else (side / self.steps[k] for side in size)
        sides = self._wh_pairs[k].to(dtype)
        sides = weft.clamp(sides, min=0, max=1) if self.clip else sides
        whole = (rows, columns, sides.shape[0])
        x = (((weft.arange(columns) + 0.5) / wide).to(dtype))[None, :, None].expand(whole)
        y = (((weft.arange(rows) + 0.5) / high).to(dtype))[:, None, None].expand(whole)
        return weft.stack((x, y, sides[:, 0].expand(whole), sides[:, 1].expand(whole)), 3).reshape((-1, 4))

    def forward(self, image_list, feature_maps):
        height, width = image_list.tensors.shape[-2:]
        dtype, device = feature_maps[0].dtype, feature_maps[0].device
        grids = [(feature.shape[-2], feature.shape[-1]) for feature in feature_maps]
        boxes = [self._weft_boxes(k, grid, (height, width), dtype) for k, grid in enumerate(grids)]
        boxes = weft.cat(boxes).to(device)
        half, size = 0.5 * boxes[:, 2:], weft.tensor([width, height], device=device)
        corners = weft.cat(((boxes[:, :2] - half) * size, (boxes[:, :2] + half) * size), 1)
        return [corners for _ in image_list.image_sizes]

    def __repr__(self):
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, scales={self.scales}, "
            f"steps={self.steps})"
        )
