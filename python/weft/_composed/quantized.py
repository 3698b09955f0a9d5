"""quantized_decomposed: scales of whole tensors and of tokens, numbers by token and by group; products of scaled float8."""

from typing import Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten

# Of these PyTorch's operators are Python: torch/ao/quantization/fx/_decomposed.py, and determine_qparams of its utils.py.


def extremes(what: str, input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    """The least number, or 0, and the greatest, or 0."""
    kinds = [_weft.float32, _weft.float16, _weft.bfloat16]
    if input.dtype not in kinds:
        raise TypeError(what + ": expected an input of float32, float16 or bfloat16")
    targets = [_weft.uint8, _weft.int8, _weft.uint16, _weft.int16, _weft.int32]
    if dtype not in targets:
        raise TypeError(what + ": expected a dtype of integers of 8, 16 or 32 bits")
    return _weft.clamp(input.min(), max=0), _weft.clamp(input.max(), min=0)


def at_least(scale: Tensor, eps: float) -> Tensor:
    return _weft.maximum(scale, _weft.full([1], eps, dtype=_weft.float32))


@aten(
    "quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> "
    "(Tensor, Tensor)"
)
def choose_qparams(
    input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: int
) -> Tuple[Tensor, Tensor]:
    least, most = extremes("choose_qparams", input, dtype)
    scale = at_least((most - least) / float(quant_max - quant_min), eps)
    zero_point = quant_min - _weft.round(least / scale).to(_weft.int32)
    return scale.to(_weft.float64), _weft.clamp(zero_point, quant_min, quant_max).to(_weft.int64)


@aten(
    "quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType "
    "dtype) -> (Tensor, Tensor)"
)
def choose_qparams_symmetric(
    input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: int
) -> Tuple[Tensor, Tensor]:
    least, most = extremes("choose_qparams_symmetric", input, dtype)
    scale = at_least(_weft.maximum(-least, most) / (float(quant_max - quant_min) / 2), eps)
    zero_point = 128 if dtype == _weft.uint8 else 0
    return scale.to(_weft.float64), _weft.full([1], zero_point, dtype=_weft.int64)


@aten("quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    if dtype != _weft.int8:
        raise TypeError("choose_qparams_per_token: expected dtype int8")
    scales = _weft.amax(_weft.abs(input), [-1], True)
    if scales.dtype == _weft.float16:
        scales = scales.to(_weft.float32)
    scales = _weft.clamp(scales, min=1e-5) / 127
    return scales, _weft.zeros_like(scales)


@aten(
    "quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"
)
@aten(
    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_per_token_asymmetric(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    """The range is int8's, whatever the dtype."""
    least = _weft.clamp(_weft.amin(input, [-1], True), max=0)
    most = _weft.clamp(_weft.amax(input, [-1], True), min=0)
    scale = _weft.clamp((most - least) / 255.0, min=1.1920928955078125e-07)  # float32's epsilon
    low, high = least / scale, most / scale
    zero_point = _weft.where((low - 128) + (high + 127) > 0, -128 - low, 127 - high)
    zero_point = _weft.round(_weft.clamp(zero_point, -128, 127))
    return scale.to(_weft.float64), zero_point.to(_weft.int64)


def need_tokens(input: Tensor, scales: Tensor, zero_points: Tensor) -> None:
    tokens = 1
    for size in input.shape[:-1]:
        tokens = tokens * size
    if tokens != scales.numel() or tokens != zero_points.numel():
        raise ValueError("quantized_decomposed: expected a scale and a zero point for each token")


@aten(
    "quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
    "ScalarType dtype) -> Tensor"
)
def quantize_per_token(
    input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: int
) -> Tensor:
    need_tokens(input, scales, zero_points)
    return _weft.clamp(_weft.round(input * (1.0 / scales) + zero_points), quant_min, quant_max).to(dtype)


@aten(
    "quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
    "ScalarType dtype, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_token(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    output_dtype: int,
) -> Tensor:
    return ((input - zero_points) * scales).to(output_dtype)


def group_of(input: Tensor, scales: Tensor, group_size: int) -> int:
    """The size of groups: a row's, where that is less and a row has one scale."""
    if input.dim() != 2:
        raise ValueError("quantized_decomposed: groups are of a matrix's rows")
    columns = input.shape[1]
    size = columns if group_size > columns and scales.shape[-1] == 1 else group_size
    if size <= 1 or columns % size != 0:
        raise ValueError("quantized_decomposed: expected a group_size above 1 that divides the columns")
    return size


@aten(
    "quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int "
    "quant_max, ScalarType dtype, int group_size) -> Tensor"
)
def quantize_per_channel_group(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    group_size: int,
) -> Tensor:
    groups = input.reshape([-1, group_of(input, scales, group_size)])
    moved = groups * (1.0 / scales.reshape([-1, 1])) + zero_points.reshape([-1, 1])
    return _weft.clamp(_weft.round(moved), quant_min, quant_max).to(dtype).reshape(input.shape)


@aten(
    "quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int "
    "quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_channel_group(
    input: Tensor,
    scales: Tensor,
    zero_points: Optional[Tensor],
    quant_min: int,
    quant_max: int,
    dtype: int,
    group_size: int,
    output_dtype: int,
) -> Tensor:
    groups = input.reshape([-1, group_of(input, scales, group_size)])
    if zero_points is None:
        moved = groups - _weft.zeros([], dtype=_weft.int32)
    else:
        moved = groups - zero_points.reshape([-1, 1])
    return (moved * scales.reshape([-1, 1])).reshape(input.shape).to(output_dtype)


@aten("quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Tensor, dtype: int) -> Tensor:
    return input.to(dtype)


@aten(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, "
    "ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor"
)
def scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Optional[Tensor],
    scale_result: Optional[Tensor],
    out_dtype: Optional[int],
    use_fast_accum: bool,
) -> Tensor:
    """(input * scale_a) @ (mat2 * scale_b) + bias in float32, as PyTorch computes it on CPUs."""
    result = _weft.mm(input.to(_weft.float32) * scale_a, mat2.to(_weft.float32) * scale_b)
    if bias is not None:
        result = result + bias
    return result.to(input.dtype if out_dtype is None else out_dtype)
