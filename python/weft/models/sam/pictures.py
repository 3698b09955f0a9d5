"""Photographs from files, and pictures of masks over them. Needs Pillow."""

import colorsys
import os

import numpy as np

__all__ = ["overlay", "read_image"]


def pillow():
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageOps
    except ModuleNotFoundError as error:
        raise ImportError("reading and writing images needs Pillow: pip install pillow") from error
    return PIL


def read_image(path):
    """uint8 [H, W, 3] of a PNG, JPEG or any other file that Pillow reads, upright: 16-bit grey as its high bytes, palette, CMYK and
    grey as RGB; alpha is dropped. OSError or ValueError that names the file."""
    path = os.fspath(path)
    PIL = pillow()
    try:
        with PIL.Image.open(path) as image:
            image.load()
            image = PIL.ImageOps.exif_transpose(image)
            if 0 in image.size:
                raise ValueError(f"'{path}': the image has no pixel: {image.width} x {image.height}")
            if image.mode.startswith("I"):
                return _grey_of_words(np.asarray(image), path)
            if image.mode == "F":
                raise ValueError(f"'{path}': images of floating-point numbers cannot be read")
            if image.mode in ("P", "PA"):
                image = image.convert("RGBA")
            return np.asarray(image.convert("RGB"))
    except PIL.UnidentifiedImageError:
        raise ValueError(f"'{path}': no image that can be read (PNG, JPEG)") from None
    except PIL.Image.DecompressionBombError as error:
        raise ValueError(f"'{path}': {error}") from None
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (OSError, SyntaxError, EOFError) as error:
        raise ValueError(f"'{path}': the image is damaged: {error}") from None


def _grey_of_words(words, path):
    if words.min() < 0 or words.max() > 0xFFFF:
        raise ValueError(f"'{path}': grey values of more than 16 bits cannot be read")
    grey = (words >> 8).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def _color(i):
    """Hues far from each other, in turn lighter and darker."""
    hue = (0.58 + i * 0.6180339887) % 1
    return np.array(colorsys.hsv_to_rgb(hue, 0.75 if i % 2 else 0.9, 1.0 if i % 3 else 0.85)) * 255


def _edge(mask, width):
    """Pixels of the mask that are at most `width` away from one that is not."""
    inner = np.pad(mask, width)
    kept = mask.copy()
    height, breadth = mask.shape
    for dy in range(-width, width + 1):
        for dx in range(-width, width + 1):
            if dx * dx + dy * dy <= width * width:
                kept &= inner[width + dy : width + dy + height, width + dx : width + dx + breadth]
    return mask & ~kept


def overlay(image, masks, points=(), labels=(), boxes=()):
    """uint8 [H, W, 3]: the masks (bool [H, W]) in colors over the image, small ones on large ones, outlined; prompts as dots (green:
    foreground, red: background) and frames."""
    picture = image.astype(np.float32)
    if masks:  # what is no part of a mask steps back
        rest = ~np.any(masks, axis=0) if len(masks) < 16 else np.zeros(image.shape[:2], bool)
        picture[rest] = picture[rest] * 0.6 + picture[rest].mean(-1, keepdims=True) * 0.15
    width = max(1, round(max(image.shape[:2]) / 500))
    order = sorted(range(len(masks)), key=lambda i: -int(masks[i].sum()))
    for i in order:
        color = _color(i)
        picture[masks[i]] = picture[masks[i]] * 0.5 + color * 0.5
        edge = _edge(masks[i], width)
        picture[edge] = picture[edge] * 0.15 + (color * 0.4 + 255 * 0.6) * 0.85
    picture = np.clip(picture + 0.5, 0, 255).astype(np.uint8)
    return _with_prompts(picture, points, labels, boxes) if len(points) or len(boxes) else picture


def _with_prompts(picture, points, labels, boxes):
    PIL = pillow()
    scale = 4  # drawn larger and made small again: smooth edges
    height, width = picture.shape[:2]
    radius = max(height, width) / 110 + 2
    image = PIL.Image.fromarray(picture).convert("RGBA")
    for (x, y), label in zip(points, labels):
        side = int(2 * radius) + 3
        dot = PIL.Image.new("RGBA", (side * scale, side * scale))
        left, top = round(x) - side // 2, round(y) - side // 2
        center = np.array([x - left, y - top]) * scale
        draw = PIL.ImageDraw.Draw(dot)
        fills = ((255, 255, 255, 255), (40, 170, 70, 255) if label else (210, 40, 50, 255))
        for fill, r in zip(fills, (radius * scale, radius * scale * 0.72)):
            draw.ellipse([*(center - r), *(center + r)], fill=fill)
        dot = dot.resize((side, side), PIL.Image.Resampling.BOX)
        layer = PIL.Image.new("RGBA", image.size)
        layer.paste(dot, (left, top))
        image = PIL.Image.alpha_composite(image, layer)
    draw = PIL.ImageDraw.Draw(image)
    line = max(2, round(max(height, width) / 350))
    for box in boxes:
        draw.rectangle([*box], outline=(255, 255, 255, 255), width=line + 2)
        draw.rectangle([box[0] + 1, box[1] + 1, box[2] - 1, box[3] - 1] if box[2] - box[0] > 4 and box[3] - box[1] > 4
                       else [*box], outline=(40, 170, 70, 255), width=line)  # fmt: skip
    return np.asarray(image.convert("RGB"))


def write_png(path, array):
    pillow().Image.fromarray(array).save(path, "PNG")
