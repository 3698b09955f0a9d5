"""torchvision.ops.boxes: boxes[N, 4] as (x1, y1, x2, y2), unless a function says otherwise."""

import math

import weft
from weft import Tensor

__all__ = ["batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image", "complete_box_iou", "distance_box_iou",
           "generalized_box_iou", "masks_to_boxes", "nms", "remove_small_boxes"]  # fmt: skip

# Above this many numbers classes are suppressed one after another: shifted coordinates lose precision.
_MOST_SHIFTED = 4000


# ---- suppression ---------------------------------------------------------------------------------------------
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """int64: the boxes that non-maximum suppression leaves, by falling score; see weft.nms."""
    return weft.nms(boxes, scores, iou_threshold)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """nms among the boxes of each class; idxs: int[N], their classes."""
    if boxes.numel() == 0:
        return weft.empty((0,), dtype=weft.int64)
    if boxes.numel() > _MOST_SHIFTED:
        return _nms_by_class(boxes, scores, idxs, iou_threshold)
    offsets = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + offsets.unsqueeze(1), scores, iou_threshold)


def _nms_by_class(boxes, scores, idxs, iou_threshold):
    kept = []
    for number in sorted(set(idxs.tolist())):
        own = weft.nonzero(idxs == number).squeeze(1)
        kept.append(own[nms(boxes[own], scores[own], iou_threshold)])
    places = weft.sort(weft.cat(kept))[0]
    return places[weft.argsort(scores[places], descending=True, stable=True)]


# ---- shapes of boxes -----------------------------------------------------------------------------------------
def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """int64: the boxes both of whose sides are at least min_size."""
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return weft.nonzero((width >= min_size) & (height >= min_size)).squeeze(1)


def clip_boxes_to_image(boxes: Tensor, size) -> Tensor:
    """The boxes cut at the borders of an image of size (height, width)."""
    height, width = size
    x, y = weft.clamp(boxes[..., 0::2], min=0, max=width), weft.clamp(boxes[..., 1::2], min=0, max=height)
    return weft.stack((x, y), boxes.ndim).reshape(boxes.shape)


def _corners(boxes, kind):
    if kind == "xyxy":
        return boxes.unbind(-1)
    a, b, c, d = boxes.unbind(-1)[:4]
    if kind == "xywh":
        return a, b, a + c, b + d
    return a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d


def _rotated_corners(boxes, kind):
    """Eight numbers: the corners in turn, from the upper left one. Angles are in degrees, counterclockwise."""
    if kind == "xyxyxyxy":
        return boxes.unbind(-1)
    a, b, width, height, angle = boxes.unbind(-1)
    cos, sin = weft.cos(angle * (math.pi / 180)), weft.sin(angle * (math.pi / 180))
    if kind == "cxcywhr":
        a = a - width / 2 * cos - height / 2 * sin
        b = b - height / 2 * cos + width / 2 * sin
    x2, y2 = a + width * cos, b - width * sin
    return a, b, x2, y2, x2 + height * sin, y2 + height * cos, a + height * sin, b + height * cos


def _from_rotated_corners(corners, kind):
    if kind == "xyxyxyxy":
        return weft.stack(corners, -1)
    x1, y1, x2, y2, x3, y3, _, _ = corners
    angle = weft.atan2(y1 - y2, x2 - x1) * (180 / math.pi)
    width = weft.sqrt((x2 - x1) ** 2 + (y1 - y2) ** 2)
    height = weft.sqrt((x3 - x2) ** 2 + (y3 - y2) ** 2)
    if kind == "xywhr":
        return weft.stack((x1, y1, width, height, angle), -1)
    return weft.stack(((x1 + x3) / 2, (y1 + y3) / 2, width, height, angle), -1)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes in another form: "xyxy", "xywh" or "cxcywh"; with an angle in degrees "xywhr", "cxcywhr" or "xyxyxyxy"."""
    straight, rotated = ("xyxy", "xywh", "cxcywh"), ("xywhr", "cxcywhr", "xyxyxyxy")
    if in_fmt not in straight + rotated or out_fmt not in straight + rotated:
        raise ValueError(
            f"box_convert: expected two of {', '.join(straight + rotated)}, got {in_fmt!r}, {out_fmt!r}"
        )
    if in_fmt == out_fmt:
        return boxes.clone()
    if in_fmt in rotated and out_fmt in rotated:
        return _from_rotated_corners(_rotated_corners(boxes, in_fmt), out_fmt)
    if in_fmt in rotated or out_fmt in rotated:
        raise ValueError(f"box_convert: no conversion from {in_fmt!r} to {out_fmt!r}")
    x1, y1, x2, y2 = _corners(boxes, in_fmt)
    if out_fmt == "xyxy":
        return weft.stack((x1, y1, x2, y2), -1)
    if out_fmt == "xywh":
        return weft.stack((x1, y1, x2 - x1, y2 - y1), -1)
    return weft.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), -1)


def _wide(x):
    """In a dtype that areas fit."""
    if x.is_floating_point():
        return x.float() if x.dtype in (weft.float16, weft.bfloat16) else x
    return x if x.dtype in (weft.int32, weft.int64) else x.to(weft.int32)


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """[N]: the boxes' areas."""
    boxes = _wide(boxes)
    if fmt in ("xywh", "cxcywh"):
        return boxes[..., 2] * boxes[..., 3]
    if fmt != "xyxy":
        raise ValueError(f"box_area: expected xyxy, xywh or cxcywh, got {fmt!r}")
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


# ---- two sets of boxes: [N, 4] and [M, 4] give [N, M] ----------------------------------------------------------
def _common(boxes1, boxes2):
    """Areas of the intersections and of the unions."""
    area1, area2 = box_area(boxes1), box_area(boxes2)
    upper = weft.maximum(boxes1[..., None, :2], boxes2[..., None, :, :2])
    lower = weft.minimum(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    sides = weft.clamp(_wide(lower - upper), min=0)
    both = sides[..., 0] * sides[..., 1]
    return both, area1[..., :, None] + area2[..., None, :] - both


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Intersection over union."""
    if fmt != "xyxy":
        boxes1, boxes2 = box_convert(boxes1, fmt, "xyxy"), box_convert(boxes2, fmt, "xyxy")
    both, union = _common(boxes1, boxes2)
    return both / union


def _around(boxes1, boxes2):
    """Widths and heights of the smallest boxes around both."""
    upper = weft.minimum(boxes1[..., None, :2], boxes2[..., None, :, :2])
    lower = weft.maximum(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    return weft.clamp(_wide(lower - upper), min=0)


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """box_iou minus the share of the smallest box around both that neither covers.

    source: Rezatofighi et al., Generalized Intersection over Union (2019).
    """
    both, union = _common(boxes1, boxes2)
    sides = _around(boxes1, boxes2)
    area = sides[..., 0] * sides[..., 1]
    return both / union - (area - union) / area


def _distance(boxes1, boxes2, eps):
    """(IoU minus the squared distance of the centres relative to the diagonal of the box around both, IoU)."""
    iou = box_iou(boxes1, boxes2)
    sides = _around(boxes1, boxes2)
    diagonal = sides[..., 0] ** 2 + sides[..., 1] ** 2 + eps
    dx = (
        _wide((boxes1[..., 0] + boxes1[..., 2]) / 2)[..., :, None]
        - _wide((boxes2[..., 0] + boxes2[..., 2]) / 2)[..., None, :]
    )
    dy = (
        _wide((boxes1[..., 1] + boxes1[..., 3]) / 2)[..., :, None]
        - _wide((boxes2[..., 1] + boxes2[..., 3]) / 2)[..., None, :]
    )
    return iou - (dx**2 + dy**2) / diagonal, iou


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """box_iou minus the relative distance of the centres. source: Zheng et al., Distance-IoU Loss (2020)."""
    boxes1, boxes2 = _wide(boxes1), _wide(boxes2)
    return _distance(boxes1, boxes2, eps)[0]


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """distance_box_iou minus a term for the aspect ratios. source: Zheng et al., Distance-IoU Loss (2020)."""
    boxes1, boxes2 = _wide(boxes1), _wide(boxes2)
    distance, iou = _distance(boxes1, boxes2, eps)
    ratios = [weft.atan((each[:, 2] - each[:, 0]) / (each[:, 3] - each[:, 1])) for each in (boxes1, boxes2)]
    v = 4 / math.pi**2 * (ratios[0][:, None] - ratios[1][None, :]) ** 2
    return distance - v / (1 - iou + v + eps) * v


def masks_to_boxes(masks: Tensor) -> Tensor:
    """float32[N, 4]: the boxes around the elements of masks[N, H, W] that are not zero."""
    if masks.numel() == 0:
        return weft.zeros((0, 4))
    height, width = masks.shape[-2:]
    rows, columns = (masks != 0).any(2), (masks != 0).any(1)
    limits = []
    for hits, size in ((columns, width), (rows, height)):
        places = weft.arange(size)
        limits.append(
            (
                weft.amin(weft.where(hits, places, size), 1),
                weft.amax(weft.where(hits, places, -1), 1),
            )
        )
    (x1, x2), (y1, y2) = limits
    return weft.stack((x1, y1, x2, y2), 1).to(weft.float32)
