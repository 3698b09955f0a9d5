"""Prompts as users give them, checked and in pixels of the model's image."""

import numpy as np

import weft

__all__ = ["as_array", "as_pixels", "longest_side", "check_points", "check_boxes", "check_masks", "scaled"]


def as_array(value, dtype, name):
    """A NumPy array of what NumPy or weft made, or of nested sequences; TypeError or ValueError that says `name`."""
    try:
        array = value.numpy() if isinstance(value, weft.Tensor) else np.asarray(value)
        array = array.astype(dtype)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    return array


def as_pixels(image, format="RGB"):
    """uint8 [H, W, 3], C-contiguous, of uint8 [H, W, 3] whose channels are RGB or BGR; grey and alpha as well."""
    if format not in ("RGB", "BGR"):
        raise ValueError(f"image_format must be 'RGB' or 'BGR', got {format!r}")
    if isinstance(image, weft.Tensor):
        image = image.numpy()
    image = np.asarray(image)
    if image.dtype != np.uint8:
        raise TypeError(f"an image must be uint8 [height, width, 3], got {image.dtype} {list(image.shape)}")
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.shape[2] not in (1, 3, 4):
        raise ValueError(f"an image must be uint8 [height, width, 3], got {list(image.shape)}")
    if 0 in image.shape:
        raise ValueError(f"an image must have a pixel, got {list(image.shape)}")
    if image.shape[2] == 1:
        image = np.repeat(image, 3, axis=2)
    image = image[:, :, :3]
    return np.ascontiguousarray(image[:, :, ::-1] if format == "BGR" else image)


def longest_side(height, width, size):
    """(height, width) with the longest side `size`, rounded as the original rounds them; at least 1."""
    scale = size / max(height, width)
    return max(1, int(height * scale + 0.5)), max(1, int(width * scale + 0.5))


def _check_within(array, original, name):
    height, width = original
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers")
    x, y = array[..., 0], array[..., 1]
    outside = (x < 0) | (y < 0) | (x > width) | (y > height)
    if outside.any():
        first = array[outside][0]
        raise ValueError(
            f"{name} ({first[0]:g}, {first[1]:g}) lies outside of the image, which is {width} wide and {height} high"
        )


def check_points(coords, labels, original, batched):
    """float32 [B, N, 2] and int64 [B, N]; points with label -1 are none and lie anywhere."""
    shape = "[prompts, points, 2]" if batched else "[points, 2]"
    coords = as_array(coords, np.float32, "point_coords")
    if labels is None:
        raise ValueError("point_labels must be given with point_coords: 1 foreground, 0 background")
    labels = as_array(labels, np.int64, "point_labels")
    if not batched:
        coords, labels = coords[None], labels[None]
    if coords.ndim != 3 or coords.shape[2] != 2 or labels.shape != coords.shape[:2]:
        given = [list(x.shape) if batched else list(x.shape[1:]) for x in (coords, labels)]
        raise ValueError(
            f"point_coords must be {shape} with a label for each point, got {given[0]} and {given[1]}"
        )
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ValueError("point_labels must be 1 (foreground), 0 (background) or -1 (no point)")
    _check_within(coords[labels != -1], original, "point")
    return coords, labels


def check_boxes(boxes, original):
    """float32 [B, 4] of (left, top, right, bottom)."""
    boxes = as_array(boxes, np.float32, "box")
    boxes = boxes[None] if boxes.ndim == 1 else boxes
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"a box must be [left, top, right, bottom], got shape {list(boxes.shape)}")
    _check_within(boxes.reshape(-1, 2, 2), original, "the corner of a box")
    wrong = (boxes[:, 2] < boxes[:, 0]) | (boxes[:, 3] < boxes[:, 1])
    if wrong.any():
        raise ValueError(f"a box must be [left, top, right, bottom], got {boxes[wrong][0].tolist()}")
    return boxes


def check_masks(masks, side, batched):
    """float32 [B, 1, side, side]."""
    masks = as_array(masks, np.float32, "mask_input")
    if not batched and masks.ndim == 3:
        masks = masks[None]
    if masks.ndim != 4 or masks.shape[1:] != (1, side, side):
        raise ValueError(
            f"mask_input must be low-resolution logits [1, {side}, {side}] of a prediction, got {list(masks.shape)}"
        )
    if not np.isfinite(masks).all():
        raise ValueError("mask_input must be finite numbers")
    return masks


def scaled(points, original, input):
    """[..., 2] in pixels of the original image to those of the model's."""
    return (points * np.array([input[1] / original[1], input[0] / original[0]])).astype(np.float32)
