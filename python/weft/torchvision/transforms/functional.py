"""torchvision.transforms.functional: images are Pillow's or tensors[*, C, H, W], and stay what they are."""

import math
import numbers

import weft
from weft import Tensor

from .._pillow import is_pillow_image, pillow
from . import _tensors as tensors
from ._modes import PILLOW, InterpolationMode, mode_of

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "adjust_sharpness", "affine", "autocontrast", "center_crop", "convert_image_dtype", "crop", "elastic_transform", "equalize", "erase", "five_crop",
    "gaussian_blur", "get_dimensions", "get_image_num_channels", "get_image_size", "hflip", "invert", "normalize", "pad",
    "perspective", "pil_to_tensor", "posterize", "resize", "resized_crop", "rgb_to_grayscale", "rotate", "solarize", "ten_crop",
    "to_grayscale", "to_pil_image", "to_tensor", "vflip",
]  # fmt: skip

_is_pil_image = is_pillow_image
_TV_TENSORS, _OTHERS = "weft.torchvision.tv_tensors", ("BoundingBoxes", "KeyPoints", "Mask")


def _is_tensor(img, name):
    """True for a tensor, False for one of Pillow's images."""
    if isinstance(img, Tensor):
        if type(img).__name__ in _OTHERS and type(img).__module__ == _TV_TENSORS:
            raise NotImplementedError(
                f"{name}: weft changes images and videos, not {type(img).__name__}: as_subclass(torch.Tensor) is one"
            )
        if img.ndim < 2:
            raise TypeError(f"{name}: expected a tensor[*, H, W], got {img.ndim} dimensions")
        return True
    if is_pillow_image(img):
        return False
    raise TypeError(f"{name}: img should be PIL Image or Tensor. Got {type(img)}")


# ---- what an image is ----------------------------------------------------------------------------------------
def get_dimensions(img):
    """[channels, height, width]."""
    if _is_tensor(img, "get_dimensions"):
        return [tensors.channels(img), *img.shape[-2:]]
    return [len(img.getbands()), img.height, img.width]


def get_image_size(img):
    """[width, height]."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img):
    return get_dimensions(img)[0]


def _array(pic):
    import numpy

    kinds = {"I": numpy.int32, "I;16": numpy.int16, "F": numpy.float32}
    array = numpy.array(pic, kinds.get(pic.mode, numpy.uint8), copy=True)
    return 255 * array if pic.mode == "1" else array


def pil_to_tensor(pic):
    """[C, H, W] of one of Pillow's images, in its own dtype."""
    if not is_pillow_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    array = _array(pic).reshape((pic.height, pic.width, len(pic.getbands())))
    return weft.from_numpy(array).permute(2, 0, 1).contiguous()


def to_tensor(pic):
    """[C, H, W] of one of Pillow's images or an array[H, W] or [H, W, C]; bytes become floats from 0 to 1."""
    if is_pillow_image(pic):
        array = _array(pic).reshape((pic.height, pic.width, len(pic.getbands())))
    elif type(pic).__module__ == "numpy":
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic[:, :, None] if pic.ndim == 2 else pic
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    import numpy

    img = weft.from_numpy(numpy.ascontiguousarray(array)).permute(2, 0, 1).contiguous()
    return img.to(weft.float32) / 255 if img.dtype == weft.uint8 else img


def to_pil_image(pic, mode=None):
    """One of Pillow's images of a tensor[C, H, W] or [H, W], or an array[H, W, C] or [H, W]."""
    Image = pillow("to_pil_image").Image
    import numpy

    if isinstance(pic, Tensor):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        if pic.is_floating_point() and mode != "F":
            pic = (pic * 255).to(weft.uint8)
        array = pic.unsqueeze(0).numpy() if pic.ndim == 2 else pic.numpy()
        array = numpy.transpose(array, (1, 2, 0))
    elif type(pic).__module__ == "numpy":
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic[:, :, None] if pic.ndim == 2 else pic
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    count = array.shape[2]
    if count > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {count} channels.")
    array = numpy.ascontiguousarray(array)
    if count == 1:
        expected = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}.get(str(array.dtype))
        if mode is not None and mode != expected:
            raise ValueError(
                f"Incorrect mode ({mode}) supplied for input type {array.dtype}. Should be {expected}"
            )
        return Image.fromarray(array[:, :, 0])
    allowed = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}[count]
    if mode is not None and mode not in allowed:
        raise ValueError(f"Only modes {list(allowed)} are supported for {count}D inputs")
    if str(array.dtype) != "uint8":
        raise TypeError(f"Input type {array.dtype} is not supported")
    mode = mode or allowed[0]
    return Image.frombytes(mode, (array.shape[1], array.shape[0]), array.tobytes())


def convert_image_dtype(image, dtype=None):
    """The image in another dtype, values scaled so that the brightest stays so."""
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    return tensors.convert(image, weft.float32 if dtype is None else dtype)


def normalize(tensor, mean, std, inplace=False):
    """(tensor - mean) / std by channel."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got {tuple(tensor.shape)}"
        )
    values = [each if isinstance(each, Tensor) else weft.asarray([float(v) for v in (each if hasattr(each, "__iter__") else [each])])
              for each in (mean, std)]  # fmt: skip
    mean, std = (each.to(tensor.dtype) for each in values)
    if (std == 0).any():
        raise ValueError(
            f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero."
        )
    mean, std = (each.reshape((-1, 1, 1)) if each.ndim == 1 else each for each in (mean, std))
    result = (tensor - mean) / std
    return tensor.copy_(result) if inplace else result


# ---- sizes ---------------------------------------------------------------------------------------------------
def _compute_resized_output_size(image_size, size, max_size=None):
    """[height, width]: two numbers as they are, or with one as the shorter side."""
    size = [size] if isinstance(size, int) else list(size)
    if len(size) == 2:
        return size
    height, width = image_size
    short, long = (width, height) if width <= height else (height, width)
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size = {size[0]}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return [new_long, new_short] if width <= height else [new_short, new_long]


def resize(img, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
    """The image in another size: (height, width), or of the shorter side. antialias: for tensors; Pillow always does."""
    return resized(img, size, interpolation, max_size, antialias, of_bytes=False)


def resized(img, size, interpolation, max_size, antialias, of_bytes):
    """resize; of_bytes: as the second version of torchvision's transforms resizes bytes."""
    mode = mode_of(interpolation).value
    is_tensor = _is_tensor(img, "resize")
    if not isinstance(size, int) and len(size) not in (1, 2):
        raise ValueError(
            f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list"
        )
    if max_size is not None and not isinstance(size, int) and len(size) == 2:
        raise ValueError("max_size should only be passed if size specifies the length of the smaller edge")
    _, height, width = get_dimensions(img)
    new = _compute_resized_output_size((height, width), size, max_size)
    if new == [height, width]:
        return img
    if not is_tensor:
        return img.resize((new[1], new[0]), PILLOW[mode])
    return tensors.resize(img, new, mode, antialias and mode in ("bilinear", "bicubic"), of_bytes)


def pad(img, padding, fill=0, padding_mode="constant"):
    """A border of one number, (left and right, top and bottom), or (left, top, right, bottom)."""
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    if not isinstance(padding, (numbers.Number, tuple, list)):
        raise TypeError("Got inappropriate padding arg")
    sides = [padding] if isinstance(padding, int) else list(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(sides)} element tuple"
        )
    left, top, right, bottom = sides * (4 // len(sides))
    if _is_tensor(img, "pad"):
        return tensors.pad(img, left, top, right, bottom, fill, padding_mode)
    if padding_mode == "constant":
        fill = tuple(fill) if isinstance(fill, list) else fill
        if isinstance(fill, (int, float)) and len(img.getbands()) > 1:
            fill = (int(fill),) * len(img.getbands())
        return pillow("pad").ImageOps.expand(img, border=(left, top, right, bottom), fill=fill)
    import numpy

    width = [(top, bottom), (left, right)]
    array = numpy.asarray(img)
    width += [(0, 0)] * (array.ndim - 2)
    return pillow("pad").Image.fromarray(numpy.pad(array, width, padding_mode))


def crop(img, top, left, height, width):
    """A part of the image; zeros outside of it."""
    if _is_tensor(img, "crop"):
        return tensors.crop(img, top, left, height, width)
    return img.crop((left, top, left + width, top + height))


def center_crop(img, output_size):
    """The part in the middle, of size (height, width) or of both; zeros around an image that is smaller."""
    size = (
        [int(output_size)] * 2
        if isinstance(output_size, numbers.Number)
        else list(output_size) * (3 - len(output_size))
    )
    crop_height, crop_width = size
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        dx, dy = max(crop_width - width, 0), max(crop_height - height, 0)
        img = pad(img, [dx // 2, dy // 2, (dx + 1) // 2, (dy + 1) // 2], fill=0)
        _, height, width = get_dimensions(img)
        if crop_width == width and crop_height == height:
            return img
    return crop(
        img,
        int(round((height - crop_height) / 2.0)),
        int(round((width - crop_width) / 2.0)),
        crop_height,
        crop_width,
    )


def resized_crop(
    img, top, left, height, width, size, interpolation=InterpolationMode.BILINEAR, antialias=True
):
    """crop, then resize."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def _size_of_crop(size):
    size = (int(size), int(size)) if isinstance(size, numbers.Number) else tuple(size) * (3 - len(size))
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return size


def five_crop(img, size):
    """The four corners and the middle."""
    crop_height, crop_width = _size_of_crop(size)
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(height, width)}")
    down, right = height - crop_height, width - crop_width
    corners = [crop(img, top, left, crop_height, crop_width) for top in (0, down) for left in (0, right)]
    return (*corners, center_crop(img, [crop_height, crop_width]))


def ten_crop(img, size, vertical_flip=False):
    """five_crop of the image and of the flipped one."""
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def hflip(img):
    """Left and right exchanged."""
    if _is_tensor(img, "hflip"):
        return weft.flip(img, [-1])
    return img.transpose(0)


def vflip(img):
    """Top and bottom exchanged."""
    if _is_tensor(img, "vflip"):
        return weft.flip(img, [-2])
    return img.transpose(1)


def erase(img, i, j, h, w, v, inplace=False):
    """The h rows and w columns from (i, j) on set to v."""
    if not isinstance(img, Tensor):
        raise TypeError(f"Tensor Image is expected, got {type(img)}")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


# ---- colours -------------------------------------------------------------------------------------------------
def rgb_to_grayscale(img, num_output_channels=1):
    """The image's luminance, in one or three channels."""
    if _is_tensor(img, "rgb_to_grayscale"):
        return tensors.grayscale(img, num_output_channels)
    return to_grayscale(img, num_output_channels)


def to_grayscale(img, num_output_channels=1):
    """rgb_to_grayscale for Pillow's images."""
    if not is_pillow_image(img):
        raise TypeError("Input should be PIL Image")
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    gray = img.convert("L")
    return gray if num_output_channels == 1 else pillow("to_grayscale").Image.merge("RGB", [gray] * 3)


def _enhanced(img, kind, factor):
    return getattr(pillow(f"adjust_{kind.lower()}").ImageEnhance, kind)(img).enhance(factor)


def _check_factor(name, factor):
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def adjust_brightness(img, brightness_factor):
    """0: black, 1: the image itself."""
    if not _is_tensor(img, "adjust_brightness"):
        return _enhanced(img, "Brightness", brightness_factor)
    _check_factor("brightness_factor", brightness_factor)
    return tensors.blend(img, weft.zeros_like(img), brightness_factor)


def adjust_contrast(img, contrast_factor):
    """0: its mean luminance everywhere, 1: the image itself."""
    if not _is_tensor(img, "adjust_contrast"):
        return _enhanced(img, "Contrast", contrast_factor)
    _check_factor("contrast_factor", contrast_factor)
    return tensors.blend(img, tensors.mean_of_gray(img), contrast_factor)


def adjust_saturation(img, saturation_factor):
    """0: gray, 1: the image itself."""
    if not _is_tensor(img, "adjust_saturation"):
        return _enhanced(img, "Color", saturation_factor)
    _check_factor("saturation_factor", saturation_factor)
    if tensors.channels(img) == 1:
        return img
    return tensors.blend(img, tensors.grayscale(img), saturation_factor)


def adjust_sharpness(img, sharpness_factor):
    """0: blurred, 1: the image itself."""
    if not _is_tensor(img, "adjust_sharpness"):
        return _enhanced(img, "Sharpness", sharpness_factor)
    _check_factor("sharpness_factor", sharpness_factor)
    return tensors.adjust_sharpness(img, sharpness_factor)


def adjust_hue(img, hue_factor):
    """Colours turned by hue_factor, from -0.5 to 0.5, of the circle."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if _is_tensor(img, "adjust_hue"):
        return tensors.adjust_hue(img, hue_factor)
    if img.mode in ("L", "1", "I", "F"):
        return img
    import numpy

    Image = pillow("adjust_hue").Image
    hue, saturation, value = img.convert("HSV").split()
    turned = (numpy.array(hue, numpy.int32) + int(hue_factor * 255)).astype(numpy.uint8)
    return Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert(img.mode)


def adjust_gamma(img, gamma, gain=1):
    """gain * img ** gamma, of values from 0 to 1."""
    _check_factor("gamma", gamma)
    if _is_tensor(img, "adjust_gamma"):
        return tensors.adjust_gamma(img, gamma, gain)
    table = [int((255 + 1 - 1e-3) * gain * (value / 255.0) ** gamma) for value in range(256)]
    return img.convert("RGB").point(table * 3).convert(img.mode)


def invert(img):
    """Dark and bright exchanged."""
    if _is_tensor(img, "invert"):
        return tensors.largest(img.dtype) - img
    return pillow("invert").ImageOps.invert(img)


def posterize(img, bits):
    """The highest `bits` of each byte."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if not _is_tensor(img, "posterize"):
        return pillow("posterize").ImageOps.posterize(img, bits)
    if img.dtype != weft.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    return img & (256 - 2 ** (8 - bits))


def solarize(img, threshold):
    """Values from the threshold on inverted."""
    if not _is_tensor(img, "solarize"):
        return pillow("solarize").ImageOps.solarize(img, threshold)
    if threshold > tensors.largest(img.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return weft.where(img >= threshold, invert(img), img)


def autocontrast(img):
    """Values of each channel stretched over the whole range."""
    if _is_tensor(img, "autocontrast"):
        return tensors.autocontrast(img)
    return pillow("autocontrast").ImageOps.autocontrast(img)


def equalize(img):
    """Values of each channel spread evenly; for bytes."""
    if _is_tensor(img, "equalize"):
        return tensors.equalize(img)
    return pillow("equalize").ImageOps.equalize(img)


def gaussian_blur(img, kernel_size, sigma=None):
    """Convolution with a Gaussian of kernel_size (width, height) and deviation sigma."""
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != 2 or any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    if sigma is None:
        sigma = [size * 0.15 + 0.35 for size in sizes]
    sigma = (
        [float(sigma)] * 2
        if isinstance(sigma, (int, float))
        else [float(s) for s in sigma] * (3 - len(sigma))
    )
    if any(each <= 0 for each in sigma):
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    if _is_tensor(img, "gaussian_blur"):
        return tensors.gaussian_blur(img, sizes, sigma)
    return to_pil_image(tensors.gaussian_blur(pil_to_tensor(img), sizes, sigma), img.mode)


# ---- places --------------------------------------------------------------------------------------------------
def _inverse_affine_matrix(center, angle, translate, scale, shear):
    """Six numbers: where a pixel of the result comes from. Angles in degrees."""
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -math.cos(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -math.sin(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(turn)
    matrix = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    (cx, cy), (tx, ty) = center, translate
    matrix[2] = matrix[0] * (-cx - tx) + matrix[1] * (-cy - ty) + cx
    matrix[5] = matrix[3] * (-cx - tx) + matrix[4] * (-cy - ty) + cy
    return matrix


def _fill_of(img, fill):
    """fillcolor for Pillow."""
    count = len(img.getbands())
    if fill is None:
        fill = 0
    if isinstance(fill, (int, float)) and count > 1:
        fill = (fill,) * count
    if isinstance(fill, (list, tuple)):
        fill = tuple(fill) if len(fill) == count else tuple(fill) * count
        fill = tuple(int(each) for each in fill) if img.mode != "F" else fill
        fill = fill[0] if count == 1 else fill
    return fill


def affine(
    img, angle, translate, scale, shear, interpolation=InterpolationMode.NEAREST, fill=None, center=None
):
    """The image turned clockwise, moved, scaled and sheared; angle and shear in degrees. The size stays."""
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    mode = mode_of(interpolation).value
    shear = [shear, 0.0] if isinstance(shear, numbers.Number) else list(shear) + [0.0] * (2 - len(shear))
    _, height, width = get_dimensions(img)
    if _is_tensor(img, "affine"):
        about = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
        matrix = _inverse_affine_matrix(about, angle, [float(t) for t in translate], scale, shear)
        return tensors.sample(img, tensors.affine_grid(matrix, width, height, width, height), mode, fill)
    about = [width * 0.5, height * 0.5] if center is None else center
    matrix = _inverse_affine_matrix(about, angle, translate, scale, shear)
    return img.transform((width, height), 0, matrix, PILLOW[mode], fillcolor=_fill_of(img, fill))


def rotate(img, angle, interpolation=InterpolationMode.NEAREST, expand=False, center=None, fill=None):
    """The image turned counterclockwise by an angle in degrees. expand: in a size that all of it fits in."""
    mode = mode_of(interpolation).value
    if not _is_tensor(img, "rotate"):
        return img.rotate(angle, PILLOW[mode], expand, center, fillcolor=_fill_of(img, fill))
    _, height, width = get_dimensions(img)
    about = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = _inverse_affine_matrix(about, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    size = tensors.rotated_size(matrix, width, height) if expand else (width, height)
    return tensors.sample(img, tensors.affine_grid(matrix, width, height, *size), mode, fill)


def perspective(img, startpoints, endpoints, interpolation=InterpolationMode.BILINEAR, fill=None):
    """The image whose four startpoints [x, y] (corners) come to lie on the endpoints."""
    import numpy

    mode = mode_of(interpolation).value
    rows, values = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    solution = numpy.linalg.solve(numpy.array(rows, float), numpy.array(values, float))
    coefficients = solution.astype(numpy.float32).tolist()
    _, height, width = get_dimensions(img)
    if _is_tensor(img, "perspective"):
        return tensors.sample(img, tensors.perspective_grid(coefficients, width, height), mode, fill)
    return img.transform((width, height), 2, coefficients, PILLOW[mode], fillcolor=_fill_of(img, fill))


def elastic_transform(img, displacement, interpolation=InterpolationMode.BILINEAR, fill=None):
    """The image whose pixels come from displacement[1, H, W, 2] beside their places, in halves of the image's size."""
    mode = mode_of(interpolation).value
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    _, height, width = get_dimensions(img)
    if displacement.shape != (1, height, width, 2):
        raise ValueError(
            f"Argument displacement shape should be {(1, height, width, 2)}, but given {displacement.shape}"
        )
    is_tensor = _is_tensor(img, "elastic_transform")
    grid = tensors.displaced_grid(displacement, height, width)
    result = tensors.sample(img if is_tensor else pil_to_tensor(img), grid, mode, fill)
    return result if is_tensor else to_pil_image(result, img.mode)
