"""What weft.jit.script compiles in place of transforms.functional's: tensors only, numbers of one type, sizes as lists."""

from typing import List, Optional, Tuple  # noqa: UP035

import weft
from weft import Tensor
from weft.nn import functional as F

from ._modes import InterpolationMode


def _image_size(img: Tensor) -> Tuple[int, int]:  # noqa: UP006
    if img.dim() < 2:
        raise TypeError("Tensor is not a torch image.")
    return img.size(-2), img.size(-1)


def _output_size(height: int, width: int, size: List[int], max_size: Optional[int]) -> List[int]:  # noqa: UP006, UP007
    if len(size) == 2:
        if max_size is not None:
            raise ValueError(
                "max_size should only be passed if size specifies the length of the smaller edge"
            )
        return size
    if len(size) != 1:
        raise ValueError("Size must be an int or a 1 or 2 element tuple/list")
    short, long = (width, height) if width <= height else (height, width)
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            raise ValueError("max_size must be strictly greater than the requested size")
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return [new_long, new_short] if width <= height else [new_short, new_long]


def resize(
    img: Tensor,
    size: List[int],  # noqa: UP006
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: Optional[int] = None,  # noqa: UP007
    antialias: Optional[bool] = True,  # noqa: UP007
) -> Tensor:
    height, width = _image_size(img)
    new = _output_size(height, width, size, max_size)
    if new == [height, width]:
        return img
    shape = img.size()
    mode = interpolation.value
    x = img.reshape([-1] + shape[-3:]) if img.dim() > 2 else img.reshape([1, 1] + shape)
    if not img.is_floating_point():
        x = x.to(weft.float32)
    if mode == "bilinear" or mode == "bicubic":
        smooth = antialias is not None and antialias
        result = F.interpolate(x, size=new, mode=mode, align_corners=False, antialias=smooth)
        if mode == "bicubic" and img.dtype == weft.uint8:
            result = weft.clamp(result, 0, 255)
    else:
        result = F.interpolate(x, size=new, mode=mode)
    if not img.is_floating_point():
        result = weft.round(result)
    return result.to(img.dtype).reshape(shape[:-2] + new)


def normalize(tensor: Tensor, mean: List[float], std: List[float], inplace: bool = False) -> Tensor:  # noqa: UP006
    if not tensor.is_floating_point():
        raise TypeError("Input tensor should be a float tensor.")
    if tensor.dim() < 3:
        raise ValueError("Expected tensor to be a tensor image of size (..., C, H, W).")
    means = weft.tensor(mean, dtype=tensor.dtype).reshape([-1, 1, 1])
    deviations = weft.tensor(std, dtype=tensor.dtype).reshape([-1, 1, 1])
    if bool((deviations == 0).any()):
        raise ValueError("std evaluated to zero after conversion, leading to division by zero.")
    result = (tensor - means) / deviations
    return tensor.copy_(result) if inplace else result


def hflip(img: Tensor) -> Tensor:
    return weft.flip(img, [-1])


def vflip(img: Tensor) -> Tensor:
    return weft.flip(img, [-2])


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    rows, columns = _image_size(img)
    right, bottom = left + width, top + height
    inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if left >= 0 and top >= 0 and right <= columns and bottom <= rows:
        return inside
    before_rows, before_columns = max(min(bottom, 0) - top, 0), max(min(right, 0) - left, 0)
    after_rows, after_columns = max(bottom - max(rows, top), 0), max(right - max(columns, left), 0)
    return F.pad(inside, [before_columns, after_columns, before_rows, after_rows])


def center_crop(img: Tensor, output_size: List[int]) -> Tensor:  # noqa: UP006
    height, width = output_size[0], output_size[-1]
    rows, columns = _image_size(img)
    if width > columns or height > rows:
        left = (width - columns) // 2 if width > columns else 0
        right = (width - columns + 1) // 2 if width > columns else 0
        top = (height - rows) // 2 if height > rows else 0
        bottom = (height - rows + 1) // 2 if height > rows else 0
        img = F.pad(img, [left, right, top, bottom])
        rows, columns = _image_size(img)
        if height == rows and width == columns:
            return img
    return crop(img, int(round((rows - height) / 2.0)), int(round((columns - width) / 2.0)), height, width)
