"""Resizing and sampling of images."""

from typing import List, Optional

from weft import Tensor
from weft.ops import aten


def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    return aten.affine_grid_generator(theta, size, align_corners is not None and align_corners)


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: Optional[bool] = None) -> Tensor:  # fmt: skip
    if mode == "bilinear":
        mode_number = 0
    elif mode == "nearest":
        mode_number = 1
    elif mode == "bicubic":
        mode_number = 2
    else:
        raise ValueError(f"grid_sample: mode must be bilinear, nearest or bicubic, got {mode}")
    if padding_mode == "zeros":
        padding_number = 0
    elif padding_mode == "border":
        padding_number = 1
    elif padding_mode == "reflection":
        padding_number = 2
    else:
        raise ValueError(f"grid_sample: padding_mode must be zeros, border or reflection, got {padding_mode}")
    return aten.grid_sampler(
        input, grid, mode_number, padding_number, align_corners is not None and align_corners
    )


# ---- interpolate: a size or factors, each one number or one per dimension ------------------------------------
def _sizes_by(input: Tensor, factors: List[float]) -> List[int]:
    sizes: List[int] = []
    for d in range(len(factors)):
        sizes.append(int(input.size(d + 2) * factors[d]))
    return sizes


def _area(input: Tensor, size: List[int]) -> Tensor:
    if input.dim() == 3:
        return aten.adaptive_avg_pool1d(input, size)
    if input.dim() == 4:
        return aten.adaptive_avg_pool2d(input, size)
    return aten.adaptive_avg_pool3d(input, size)


def _nearest(input: Tensor, size: Optional[List[int]], factors: Optional[List[float]]) -> Tensor:
    if input.dim() == 3:
        return aten.upsample_nearest1d(input, size, factors)
    if input.dim() == 4:
        return aten.upsample_nearest2d(input, size, factors)
    return aten.upsample_nearest3d(input, size, factors)


def _nearest_exact(input: Tensor, size: Optional[List[int]], factors: Optional[List[float]]) -> Tensor:
    if input.dim() == 3:
        return aten._upsample_nearest_exact1d(input, size, factors)
    if input.dim() == 4:
        return aten._upsample_nearest_exact2d(input, size, factors)
    return aten._upsample_nearest_exact3d(input, size, factors)


def _smooth(input: Tensor, size: Optional[List[int]], factors: Optional[List[float]], mode: str, align_corners: bool,
            antialias: bool) -> Tensor:  # fmt: skip
    if antialias:
        if mode == "bilinear" and input.dim() == 4:
            return aten._upsample_bilinear2d_aa(input, size, align_corners, factors)
        if mode == "bicubic" and input.dim() == 4:
            return aten._upsample_bicubic2d_aa(input, size, align_corners, factors)
        raise ValueError(f"interpolate: antialias is for bilinear and bicubic images, got {mode}")
    if mode == "linear" and input.dim() == 3:
        return aten.upsample_linear1d(input, size, align_corners, factors)
    if mode == "bilinear" and input.dim() == 4:
        return aten.upsample_bilinear2d(input, size, align_corners, factors)
    if mode == "bicubic" and input.dim() == 4:
        return aten.upsample_bicubic2d(input, size, align_corners, factors)
    if mode == "trilinear" and input.dim() == 5:
        return aten.upsample_trilinear3d(input, size, align_corners, factors)
    raise NotImplementedError(f"interpolate: mode {mode} is not for input of {input.dim()} dimensions")


def interpolate(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest",
                align_corners: Optional[bool] = None, recompute_scale_factor: Optional[bool] = None,
                antialias: bool = False) -> Tensor:  # fmt: skip
    rank = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: expected either size or scale_factor")
    if size is not None and len(size) != rank:
        raise ValueError(f"interpolate: size: expected {rank} numbers, got {size}")
    if scale_factor is not None:
        if len(scale_factor) != rank:
            raise ValueError(f"interpolate: scale_factor: expected {rank} numbers, got {scale_factor}")
        if mode == "area" or (recompute_scale_factor is not None and recompute_scale_factor):
            size, scale_factor = _sizes_by(input, scale_factor), None
    if align_corners is not None and (mode == "nearest" or mode == "nearest-exact" or mode == "area"):
        raise ValueError(f"interpolate: align_corners is not for mode {mode}")
    if mode == "nearest":
        return _nearest(input, size, scale_factor)
    if mode == "nearest-exact":
        return _nearest_exact(input, size, scale_factor)
    if mode == "area":
        assert size is not None
        return _area(input, size)
    return _smooth(input, size, scale_factor, mode, align_corners is not None and align_corners, antialias)


def _interpolate_by_factor(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None,
                           mode: str = "nearest", align_corners: Optional[bool] = None,
                           recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:  # fmt: skip
    factors: Optional[List[float]] = None
    if scale_factor is not None:
        factors = [scale_factor] * (input.dim() - 2)
    return interpolate(input, size, factors, mode, align_corners, recompute_scale_factor, antialias)


def _interpolate_to_size(input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None,
                         mode: str = "nearest", align_corners: Optional[bool] = None,
                         recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:  # fmt: skip
    sizes: Optional[List[int]] = None
    if size is not None:
        sizes = [size] * (input.dim() - 2)
    return interpolate(input, sizes, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


_OVERLOADS = {"interpolate": [interpolate, _interpolate_by_factor, _interpolate_to_size]}
