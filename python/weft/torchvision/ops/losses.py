"""Losses of torchvision.ops: reduction is "none", "mean" or "sum"."""

import math

import weft
from weft import Tensor
from weft.nn import functional as F

from .boxes import _wide


def _reduced(loss, reduction, name):
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean() if loss.numel() > 0 else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(f"{name}: reduction must be none, mean or sum, got {reduction!r}")


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Binary cross entropy with logits times (1 - p) ** gamma, p being the probability of the target; alpha weights
    positive targets, 1 - alpha the others, unless it is negative. source: Lin et al., Focal Loss (2017)."""
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"sigmoid_focal_loss: alpha must be from 0 to 1, or -1, got {alpha}")
    p = weft.sigmoid(inputs)
    loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = loss * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return _reduced(loss, reduction, "sigmoid_focal_loss")


def _paired(boxes1, boxes2, eps):
    """IoU of pairs of boxes, widths and heights of the boxes around both, and the unions."""
    x1, y1, x2, y2 = boxes1.unbind(-1)
    a1, b1, a2, b2 = boxes2.unbind(-1)
    width = weft.clamp(weft.minimum(x2, a2) - weft.maximum(x1, a1), min=0)
    height = weft.clamp(weft.minimum(y2, b2) - weft.maximum(y1, b1), min=0)
    both = width * height
    union = (x2 - x1) * (y2 - y1) + (a2 - a1) * (b2 - b1) - both
    around = (weft.maximum(x2, a2) - weft.minimum(x1, a1), weft.maximum(y2, b2) - weft.minimum(y1, b1))
    return both / (union + eps), around, union


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - the generalized IoU of boxes1[N, 4] and boxes2[N, 4], pair by pair."""
    boxes1, boxes2 = _wide(boxes1), _wide(boxes2)
    iou, (width, height), union = _paired(boxes1, boxes2, eps)
    area = width * height
    return _reduced(1 - (iou - (area - union) / (area + eps)), reduction, "generalized_box_iou_loss")


def _distance_loss(boxes1, boxes2, eps):
    iou, (width, height), _ = _paired(boxes1, boxes2, eps)
    x1, y1, x2, y2 = boxes1.unbind(-1)
    a1, b1, a2, b2 = boxes2.unbind(-1)
    distance = ((x2 + x1) / 2 - (a1 + a2) / 2) ** 2 + ((y2 + y1) / 2 - (b1 + b2) / 2) ** 2
    return 1 - iou + distance / (width**2 + height**2 + eps), iou


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - the distance IoU of boxes1[N, 4] and boxes2[N, 4], pair by pair."""
    loss, _ = _distance_loss(_wide(boxes1), _wide(boxes2), eps)
    return _reduced(loss, reduction, "distance_box_iou_loss")


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - the complete IoU of boxes1[N, 4] and boxes2[N, 4], pair by pair."""
    boxes1, boxes2 = _wide(boxes1), _wide(boxes2)
    loss, iou = _distance_loss(boxes1, boxes2, eps)
    ratios = [weft.atan((each[:, 2] - each[:, 0]) / (each[:, 3] - each[:, 1])) for each in (boxes2, boxes1)]
    v = 4 / math.pi**2 * (ratios[0] - ratios[1]) ** 2
    return _reduced(loss + v / (1 - iou + v + eps) * v, reduction, "complete_box_iou_loss")
