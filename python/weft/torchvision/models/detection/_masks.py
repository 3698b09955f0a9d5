"""Masks and key points of regions, brought to the image: what Mask R-CNN (He and others, 2017) does after its heads."""

import weft
from weft.nn import functional as F


def maskrcnn_inference(x, labels):
    """Mask logits x[n, classes, m, m] to probabilities of the labels (a list of int64[n_i]): a list of [n_i, 1, m, m]."""
    chosen = weft.cat(labels)
    probabilities = weft.sigmoid(x)[weft.arange(x.shape[0]), chosen].unsqueeze(1)
    return probabilities.split([label.shape[0] for label in labels], 0)


def expand_boxes(boxes, scale):
    """Boxes of the same centres, `scale` times as wide and high."""
    x1, y1, x2, y2 = boxes.unbind(1)
    x, y = (x2 + x1) * 0.5, (y2 + y1) * 0.5
    half_width, half_height = (x2 - x1) * 0.5 * scale, (y2 - y1) * 0.5 * scale
    return weft.stack((x - half_width, y - half_height, x + half_width, y + half_height), 1)


def expand_masks(mask, padding):
    """(masks[n, 1, m, m] with a border of zeros, how many times as large they are)"""
    side = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), float(side + 2 * padding) / side


def paste_mask_in_image(mask, box, im_h, im_w):
    """[im_h, im_w]: mask[m, m], resized to the box of integers, at its place; 0 elsewhere."""
    x1, y1, x2, y2 = (int(side) for side in box.tolist())
    height, width = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
    resized = F.interpolate(mask[None, None], size=(height, width), mode="bilinear", align_corners=False)[0][
        0
    ]
    left, right = max(x1, 0), min(x2 + 1, im_w)
    upper, lower = max(y1, 0), min(y2 + 1, im_h)
    image = weft.zeros((im_h, im_w), dtype=mask.dtype, device=mask.device)
    image[upper:lower, left:right] = resized[upper - y1 : lower - y1, left - x1 : right - x1]
    return image


def paste_masks_in_image(masks, boxes, img_shape, padding=1):
    """[n, 1, *img_shape]: masks[n, 1, m, m] at boxes[n, 4]."""
    height, width = (int(side) for side in img_shape)
    masks, scale = expand_masks(masks, padding)
    places = expand_boxes(boxes, scale).to(weft.int64)
    pasted = [paste_mask_in_image(mask[0], place, height, width) for mask, place in zip(masks, places)]
    if not pasted:
        return masks.new_empty((0, 1, height, width))
    return weft.stack(pasted).unsqueeze(1)


def heatmaps_to_keypoints(maps, rois):
    """Heat maps [n, k, m, m] of boxes rois[n, 4] to (key points [n, k, 3]: x, y, 1; scores [n, k]): the largest value of each
    map, resized to its box by cubic interpolation."""
    x1, y1, x2, y2 = rois.unbind(1)
    sizes = [weft.clamp(x2 - x1, min=1), weft.clamp(y2 - y1, min=1)]
    counts = [weft.ceil(size) for size in sizes]
    keypoints, scores = [], []
    for i, (width, height) in enumerate(zip(*(count.tolist() for count in counts))):
        size = (int(height), int(width))
        resized = F.interpolate(maps[i : i + 1], size=size, mode="bicubic", align_corners=False)[0]
        flat = resized.reshape((resized.shape[0], -1))
        places = flat.argmax(1)
        x, y = places % size[1], places // size[1]
        points = [
            (place + 0.5) * (own[i] / count[i]) + start[i]
            for place, own, count, start in zip((x, y), sizes, counts, (x1, y1))
        ]
        keypoints.append(weft.stack((*points, weft.ones_like(points[0])), 1))
        scores.append(flat.gather(1, places.unsqueeze(1)).squeeze(1))
    if not keypoints:
        return maps.new_zeros((0, maps.shape[1], 3)), maps.new_zeros((0, maps.shape[1]))
    return weft.stack(keypoints).to(maps.dtype), weft.stack(scores)


def keypointrcnn_inference(x, boxes):
    """heatmaps_to_keypoints of each image: x[n, k, m, m], boxes a list of [n_i, 4]; (key points, scores), lists."""
    maps = x.split([box.shape[0] for box in boxes], 0)
    found = [heatmaps_to_keypoints(own, box) for own, box in zip(maps, boxes)]
    return [points for points, _ in found], [scores for _, scores in found]
