"""torchvision.io.image."""

import enum
import io
import os

import weft
from weft import Tensor

from .._pillow import pillow


class ImageReadMode(enum.Enum):
    """The channels that images are read as."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {"UNCHANGED": None, "GRAY": "L", "GRAY_ALPHA": "LA", "RGB": "RGB", "RGB_ALPHA": "RGBA"}


def read_file(path):
    """uint8[N]: the bytes of a file."""
    import numpy

    with open(path, "rb") as file:
        return weft.from_numpy(numpy.frombuffer(file.read(), numpy.uint8).copy())


def write_file(filename, data):
    """Writes uint8[N] into a file."""
    with open(filename, "wb") as file:
        file.write(data.numpy().tobytes())


def _decoded(data, mode, apply_exif_orientation, name):
    import numpy

    PIL = pillow(name)
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    try:
        image = PIL.Image.open(io.BytesIO(data))
        image.load()
    except (OSError, SyntaxError) as error:
        raise RuntimeError(f"{name}: {error}") from error
    if apply_exif_orientation:
        image = PIL.ImageOps.exif_transpose(image)
    wanted = _MODES[mode.name]
    if wanted is None and image.mode not in ("L", "LA", "RGB", "RGBA", "I;16", "CMYK"):
        wanted = "RGBA" if "transparency" in image.info else "RGB" if image.mode == "P" else "L"
    if wanted is not None and image.mode != wanted:
        image = image.convert(wanted)
    array = numpy.array(image)
    array = array[:, :, None] if array.ndim == 2 else array
    return weft.from_numpy(array).permute(2, 0, 1).contiguous()


def _bytes_of(input, name):
    if not isinstance(input, Tensor) or input.dtype != weft.uint8 or input.ndim != 1:
        raise RuntimeError(f"{name}: expected the bytes of a file, uint8[N], got {input!r:.60}")
    if input.numel() == 0:
        raise RuntimeError(f"{name}: expected the bytes of a file, got none")
    return input.numpy().tobytes()


def decode_image(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """uint8[C, H, W] of the bytes of a file, uint8[N], or of the file of this name."""
    data = read_file(input) if isinstance(input, (str, os.PathLike)) else input
    return _decoded(_bytes_of(data, "decode_image"), mode, apply_exif_orientation, "decode_image")


def decode_png(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """decode_image of a PNG."""
    return _decoded(_bytes_of(input, "decode_png"), mode, apply_exif_orientation, "decode_png")


def decode_jpeg(input, mode=ImageReadMode.UNCHANGED, device="cpu", apply_exif_orientation=False):
    """decode_image of a JPEG, or of each of a list."""
    if isinstance(input, (list, tuple)):
        return [decode_jpeg(each, mode, device, apply_exif_orientation) for each in input]
    return _decoded(_bytes_of(input, "decode_jpeg"), mode, apply_exif_orientation, "decode_jpeg")


def read_image(path, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """uint8[C, H, W] of an image file."""
    with open(path, "rb") as file:
        return _decoded(file.read(), mode, apply_exif_orientation, "read_image")


def _encoded(input, name, kind, **options):
    import numpy

    Image = pillow(name).Image
    if (
        not isinstance(input, Tensor)
        or input.dtype != weft.uint8
        or input.ndim != 3
        or input.shape[0] not in (1, 3)
    ):
        raise RuntimeError(f"{name}: expected uint8[1, H, W] or [3, H, W], got {input!r:.60}")
    array = numpy.transpose(input.numpy(), (1, 2, 0))
    image = Image.fromarray(numpy.ascontiguousarray(array[:, :, 0] if array.shape[2] == 1 else array))
    file = io.BytesIO()
    image.save(file, kind, **options)
    return weft.from_numpy(numpy.frombuffer(file.getvalue(), numpy.uint8).copy())


def encode_png(input, compression_level=6):
    """uint8[N]: the bytes of a PNG of uint8[C, H, W]."""
    return _encoded(input, "encode_png", "PNG", compress_level=compression_level)


def encode_jpeg(input, quality=75):
    """uint8[N]: the bytes of a JPEG of uint8[C, H, W], or of each of a list."""
    if quality < 1 or quality > 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    if isinstance(input, (list, tuple)):
        return [encode_jpeg(each, quality) for each in input]
    return _encoded(input, "encode_jpeg", "JPEG", quality=quality)


def write_png(input, filename, compression_level=6):
    """Writes a PNG of uint8[C, H, W]."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input, filename, quality=75):
    """Writes a JPEG of uint8[C, H, W]."""
    write_file(filename, encode_jpeg(input, quality))
