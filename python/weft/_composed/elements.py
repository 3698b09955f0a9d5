"""Functions of each element: parts of numbers, steps, gamma functions."""

import math
from typing import Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten, aten_, number
from .checks import DTypeError, is_inexact, need_tensor
from .shapes import common_shape


def _has_parts(tensor: Tensor) -> bool:
    """Whether complex numbers may be made of it."""
    return tensor.dtype == _weft.float16 or tensor.dtype == _weft.float32 or tensor.dtype == _weft.float64


def _check_parts(real: Tensor, imag: Tensor) -> None:
    if not _has_parts(real) or not _has_parts(imag):
        raise DTypeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {real.dtype} and {imag.dtype}"
        )
    if real.dtype != imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype} but got scalar type {imag.dtype} for second argument"
        )


@aten("complex(Tensor real, Tensor imag) -> Tensor")
def complex_of(real: Tensor, imag: Tensor) -> Tensor:
    need_tensor("complex", real, "real")
    need_tensor("complex", imag, "imag", 2)
    _check_parts(real, imag)
    if real.dtype == _weft.float16:
        raise NotImplementedError("complex: weft has no complex numbers of float16 parts")
    if list(real.shape) != list(imag.shape):
        shape = common_shape("complex", list(real.shape), list(imag.shape))
        real, imag = real.expand(shape), imag.expand(shape)
    return _weft.complex(real, imag)


@aten("polar(Tensor abs, Tensor angle) -> Tensor")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    need_tensor("polar", abs, "abs")
    need_tensor("polar", angle, "angle", 2)
    _check_parts(abs, angle)
    return complex_of(abs * _weft.cos(angle), abs * _weft.sin(angle))


@aten("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")
def frexp(input: Tensor) -> Tuple[Tensor, Tensor]:
    need_tensor("frexp", input)
    if not input.is_floating_point():
        raise DTypeError(f"torch.frexp() only supports floating-point dtypes, but got {input.dtype}")
    is_double = input.dtype == _weft.float64
    x = input if is_double else input.to(_weft.float32)
    fraction, bias, mask, shift = (52, 1022, 0x7FF, 54) if is_double else (23, 126, 0xFF, 25)
    # Subnormal numbers have their exponent in the fraction's leading zeros.
    is_small = (_weft.abs(x) < 2.0**-bias) & (x != 0)
    bits = _weft.bitcast(_weft.where(is_small, x * 2.0**shift, x), _weft.int64 if is_double else _weft.int32)
    field = _weft.bitwise_and(_weft.bitwise_right_shift(bits, fraction), mask)
    special = (x == 0) | (field == mask)
    exponent = _weft.where(special, 0, field - bias - _weft.where(is_small, shift, 0))
    cleared = _weft.bitwise_and(bits, -1 - (mask << fraction))
    mantissa = _weft.bitcast(_weft.bitwise_or(cleared, bias << fraction), x.dtype)
    return _weft.where(special, x, mantissa).to(input.dtype), exponent.to(_weft.int32)


@aten_("heaviside(Tensor self, Tensor values) -> Tensor")
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    need_tensor("heaviside", input)
    need_tensor("heaviside", values, "values", 2)
    if input.is_complex() or values.is_complex():
        raise DTypeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    if input.dtype == _weft.bool:
        return input | values
    # Zero for NaN.
    return _weft.where(input == 0, values, (input > 0).to(input.dtype))


@aten_("mvlgamma(Tensor self, int p) -> Tensor")
@aten("special_multigammaln(Tensor self, int p) -> Tensor")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """log of the multivariate gamma function of dimension p."""
    need_tensor("mvlgamma", input)
    if input.dtype == _weft.bool or input.is_complex():
        raise RuntimeError(f"mvlgamma: expected integers or floating point numbers, got {input.dtype}")
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    if p > 65536:  # each is a pass over the input
        raise RuntimeError(f"mvlgamma: p has to be at most 65536, got {p}")
    x = input if is_inexact(input) else input * 1.0
    result = _weft.lgamma(x) + p * (p - 1) * math.log(math.pi) / 4
    for j in range(1, p):
        result = _weft.lgamma(x - j / 2) + result
    return result


@aten("fill.Scalar(Tensor self, Scalar value) -> Tensor")
def fill(input: Tensor, value: number) -> Tensor:
    need_tensor("fill", input)
    return _weft.full_like(input, value)


@aten("fill.Tensor(Tensor self, Tensor value) -> Tensor")
def fill_by(input: Tensor, value: Tensor) -> Tensor:
    need_tensor("fill", input)
    if value.dim() > 0:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
        )
    return value.to(input.dtype).expand(input.shape).clone()


@aten_("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor")
def nan_to_num(
    input: Tensor, nan: Optional[float], posinf: Optional[float], neginf: Optional[float]
) -> Tensor:
    return _weft.nan_to_num(input, 0.0 if nan is None else nan, posinf, neginf)
