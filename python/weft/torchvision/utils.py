"""torchvision.utils: images side by side, and what is drawn over them."""

import weft

from ._pillow import pillow

__all__ = ["draw_bounding_boxes", "draw_segmentation_masks", "make_grid", "save_image"]


def _ranged(img, low, high):
    return (weft.clamp(img, min=low, max=high) - low) / max(high - low, 1e-5)


def make_grid(tensor, nrow=8, padding=2, normalize=False, value_range=None, scale_each=False, pad_value=0.0):
    """[C, H, W] of images[N, C, H, W], or a list of them: nrow in a row. normalize: values to 0 to 1."""
    if not isinstance(tensor, weft.Tensor):
        if not (isinstance(tensor, (list, tuple)) and all(isinstance(each, weft.Tensor) for each in tensor)):
            raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
        tensor = weft.stack(list(tensor), 0)
    if tensor.ndim == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.ndim == 3:
        tensor = (weft.cat((tensor, tensor, tensor), 0) if tensor.shape[0] == 1 else tensor).unsqueeze(0)
    if tensor.ndim == 4 and tensor.shape[1] == 1:
        tensor = weft.cat((tensor, tensor, tensor), 1)
    if normalize:
        parts = tensor.unbind(0) if scale_each else [tensor]
        ranges = [value_range or (float(part.min()), float(part.max())) for part in parts]
        scaled = [_ranged(part, *limits) for part, limits in zip(parts, ranges)]
        tensor = weft.stack(scaled, 0) if scale_each else scaled[0]
    if tensor.shape[0] == 1:
        return tensor.squeeze(0)
    count, channels = tensor.shape[:2]
    columns = min(nrow, count)
    rows = -(-count // columns)
    height, width = tensor.shape[2] + padding, tensor.shape[3] + padding
    grid = weft.full(
        (channels, height * rows + padding, width * columns + padding), pad_value, dtype=tensor.dtype
    )
    for i in range(count):
        top, left = i // columns * height + padding, i % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = tensor[i]
    return grid


def save_image(tensor, fp, format=None, **kwargs):
    """Writes make_grid of images with values from 0 to 1 into a file."""
    Image = pillow("save_image").Image
    grid = make_grid(tensor, **kwargs)
    array = weft.clamp(grid * 255 + 0.5, min=0, max=255).permute(1, 2, 0).to(weft.uint8).numpy()
    Image.fromarray(array.copy()).save(fp, format=format)


def _colors(colors, count):
    """A colour (r, g, b) for each of `count` things."""
    Image = pillow("colors")

    if colors is None:
        palette = [2**25 - 1, 2**15 - 1, 2**21 - 1]
        return [tuple(i * each % 255 for each in palette) for i in range(count)]
    chosen = [colors] * count if isinstance(colors, (str, tuple)) else list(colors)
    if len(chosen) < count:
        raise ValueError(
            f"Number of colors must be equal or larger than the number of objects, but got {len(chosen)} < {count}."
        )
    return [Image.ImageColor.getrgb(each) if isinstance(each, str) else tuple(each) for each in chosen]


def draw_segmentation_masks(image, masks, alpha=0.8, colors=None):
    """image[3, H, W] with masks[N, H, W], bool, in colours over it."""
    if not isinstance(image, weft.Tensor):
        raise TypeError(f"The image must be a tensor, got {type(image)}")
    if image.dtype != weft.uint8 and not image.is_floating_point():
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.ndim != 3 or image.shape[0] != 3:
        raise ValueError("The image must be an RGB image, uint8[3, H, W]")
    masks = masks.unsqueeze(0) if masks.ndim == 2 else masks
    if masks.ndim != 3 or masks.dtype != weft.bool:
        raise ValueError("The masks must be bool[H, W] or bool[N, H, W]")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    drawn = image.clone()
    for mask, color in zip(masks.unbind(0), _colors(colors, masks.shape[0])):
        value = weft.asarray([float(each) for each in color]).reshape((3, 1, 1))
        value = value.to(image.dtype) if image.dtype == weft.uint8 else value / 255
        drawn = weft.where(mask, value, drawn)
    overlap = masks.any(0)
    drawn = weft.where(masks.to(weft.int64).sum(0) > 1, weft.zeros_like(drawn), drawn)
    mixed = image * (1 - alpha) + drawn * alpha
    return weft.where(overlap, mixed.to(image.dtype), image)


def draw_bounding_boxes(image, boxes, labels=None, colors=None, fill=False, width=1, font=None, font_size=None,
                        label_colors=None, label_background_colors=None, fill_labels=False):  # fmt: skip
    """uint8[3, H, W] with boxes[N, 4] (x1, y1, x2, y2) drawn over it, and their labels at the upper left corners."""
    pillow("draw_bounding_boxes")
    import PIL.ImageDraw
    import PIL.ImageFont

    from .transforms.functional import pil_to_tensor, to_pil_image

    if not isinstance(image, weft.Tensor):
        raise TypeError(f"Tensor expected, got {type(image)}")
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ValueError("Only grayscale and RGB images are supported")
    count = boxes.shape[0]
    if count == 0:
        return image
    if labels is not None and len(labels) != count:
        raise ValueError(f"Number of boxes ({count}) and labels ({len(labels)}) mismatch.")
    image = image.expand(3, *image.shape[1:]) if image.shape[0] == 1 else image
    is_floating = image.is_floating_point()
    picture = to_pil_image(image)
    draw = PIL.ImageDraw.Draw(picture, "RGBA" if fill else None)
    letters = PIL.ImageFont.load_default() if font is None else PIL.ImageFont.truetype(font, font_size or 10)
    inks = _colors(colors, count)
    words = inks if label_colors is None else _colors(label_colors, count)
    for i, box in enumerate(boxes.to(weft.int64).tolist()):
        draw.rectangle(box, width=width, outline=inks[i], fill=(*inks[i], 100) if fill else None)
        if labels is not None and labels[i] is not None:
            draw.text((box[0] + width + 1, box[1] + width + 1), labels[i], fill=words[i], font=letters)
    result = pil_to_tensor(picture)
    return result.to(image.dtype) / 255 if is_floating else result
