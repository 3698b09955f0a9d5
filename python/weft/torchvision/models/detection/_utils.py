"""torchvision.models.detection._utils: boxes as differences from anchors, and what detectors share."""

import math
from collections import OrderedDict

import weft
from weft import nn

from ...ops.misc import FrozenBatchNorm2d

_LARGEST_LOGARITHM = math.log(1000.0 / 16)


def _centers(boxes):
    """(x, y, width, height) of boxes[..., 4], each with a last dimension of 1."""
    width, height = boxes[..., 2:3] - boxes[..., 0:1], boxes[..., 3:4] - boxes[..., 1:2]
    return boxes[..., 0:1] + 0.5 * width, boxes[..., 1:2] + 0.5 * height, width, height


class BoxCoder:
    """Boxes as (dx, dy, dw, dh) from others, as Fast R-CNN has them (Girshick, 2015): differences of centres relative to the
    size, logarithms of ratios of the sides, each times its weight. bbox_xform_clip: the largest logarithm that is decoded."""

    def __init__(self, weights, bbox_xform_clip=_LARGEST_LOGARITHM):
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(self, reference_boxes, proposals):
        """Lists of boxes[n, 4], one for each image, to a list of differences."""
        return [self.encode_single(*each) for each in zip(reference_boxes, proposals)]

    def encode_single(self, reference_boxes, proposals):
        """reference_boxes[n, 4] as differences [n, 4] from proposals[n, 4]."""
        x, y, width, height = _centers(proposals)
        to_x, to_y, to_width, to_height = _centers(reference_boxes)
        wx, wy, ww, wh = self.weights
        return weft.cat(
            (
                wx * (to_x - x) / width,
                wy * (to_y - y) / height,
                ww * weft.log(to_width / width),
                wh * weft.log(to_height / height),
            ),
            1,
        )

    def decode(self, rel_codes, boxes):
        """[n, k, 4]: rel_codes[n, 4 · k] from boxes (a list of [n_i, 4], n in all)."""
        boxes = weft.cat(list(boxes))
        decoded = self.decode_single(rel_codes.reshape((boxes.shape[0], -1)), boxes)
        return decoded.reshape((boxes.shape[0], -1, 4)) if boxes.shape[0] else decoded

    def decode_single(self, rel_codes, boxes):
        """[n, 4 · k]: rel_codes[n, 4 · k] from boxes[n, 4]."""
        x, y, width, height = _centers(boxes.to(rel_codes.dtype))
        dx, dy, dw, dh = (rel_codes[:, i::4] / weight for i, weight in enumerate(self.weights))
        dw, dh = weft.clamp(dw, max=self.bbox_xform_clip), weft.clamp(dh, max=self.bbox_xform_clip)
        x, y = dx * width + x, dy * height + y
        half_width, half_height = 0.5 * (weft.exp(dw) * width), 0.5 * (weft.exp(dh) * height)
        corners = (x - half_width, y - half_height, x + half_width, y + half_height)
        return weft.stack(corners, 2).flatten(1)


class BoxLinearCoder:
    """Boxes as the distances of their four sides from the centre of others, as FCOS has them (Tian and others, 2019),
    relative to the size of those with normalize_by_size."""

    def __init__(self, normalize_by_size=True):
        self.normalize_by_size = normalize_by_size

    def encode(self, reference_boxes, proposals):
        """proposals[..., 4] as distances [..., 4] from the centres of reference_boxes[..., 4]."""
        x, y, width, height = _centers(reference_boxes)
        x1, y1, x2, y2 = (proposals[..., i : i + 1] for i in range(4))
        distances = weft.cat((x - x1, y - y1, x2 - x, y2 - y), -1)
        return distances / weft.cat((width, height) * 2, -1) if self.normalize_by_size else distances

    def decode(self, rel_codes, boxes):
        """[..., 4]: distances rel_codes[..., 4] from boxes[..., 4]."""
        x, y, width, height = _centers(boxes.to(rel_codes.dtype))
        if self.normalize_by_size:
            rel_codes = rel_codes * weft.cat((width, height) * 2, -1)
        left, upper, right, lower = (rel_codes[..., i : i + 1] for i in range(4))
        return weft.cat((x - left, y - upper, x + right, y + lower), -1)


def overwrite_eps(model, eps):
    """Sets eps of every FrozenBatchNorm2d. (Older published weights were trained with 0.)"""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def by_name(features):
    """What a trunk gives, as an OrderedDict: one tensor is named "0"."""
    return OrderedDict([("0", features)]) if isinstance(features, weft.Tensor) else features


def retrieve_out_channels(model, size):
    """The channels of what a trunk gives for images of size (width, height)."""
    training = model.training
    device = next(model.parameters()).device
    features = by_name(model.eval()(weft.zeros((1, 3, size[1], size[0]), device=device)))
    model.train(training)
    return [feature.shape[1] for feature in features.values()]


def refuse_training(model, targets):
    """raises: NotImplementedError in training mode, or where there are targets."""
    if model.training or targets is not None:
        raise NotImplementedError(
            f"{type(model).__name__}: weft computes no losses of detectors: call eval(), and give no targets"
        )


def image_sizes(images):
    """[(height, width)] of a list of images."""
    return [(image.shape[-2], image.shape[-1]) for image in images]


def best(scores, count):
    """(values, places) of the `count` largest of scores[n], or all."""
    return scores.topk(min(count, scores.shape[0]))


def frozen_where_trained(weights, weights_backbone):
    """The normalization of a trunk: with statistics that stay where it was trained."""
    return nn.BatchNorm2d if weights is None and weights_backbone is None else FrozenBatchNorm2d
