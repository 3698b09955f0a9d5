"""Tensors of quantized dtypes: integers with a scale and a zero point. What computes with them: weft.ops.aten, weft.ops.quantized."""

import weft as _weft
from weft.ops import aten as _aten

from .. import _kinds

_SCHEMES = {
    0: _kinds.per_tensor_affine,
    1: _kinds.per_channel_affine,
    2: _kinds.per_tensor_symmetric,
    3: _kinds.per_channel_symmetric,
    4: _kinds.per_channel_affine_float_qparams,
}


def quantize_per_tensor(input, scale, zero_point, dtype):
    """round(input / scale) + zero_point, clamped to the dtype; of a list with a scale and zero point for each, a list."""
    return _aten.quantize_per_tensor(input, scale, zero_point, dtype)


def quantize_per_tensor_dynamic(input, dtype, reduce_range):
    """By a scale and a zero point that fit the least and the largest number."""
    return _aten.quantize_per_tensor_dynamic(input, dtype, reduce_range)


def quantize_per_channel(input, scales, zero_points, axis, dtype):
    """By a scale and a zero point for each index of dimension `axis`."""
    return _aten.quantize_per_channel(input, scales, zero_points, axis, dtype)


def dequantize(input):
    """The numbers as float32; of a list, a list."""
    if isinstance(input, (tuple, list)):
        return [dequantize(each) for each in input]
    return _aten.dequantize(input)


def int_repr(input):
    """The integers."""
    return _aten.int_repr(input)


def q_scale(input):
    """The scale of a tensor quantized per tensor."""
    return _aten.q_scale(input)


def q_zero_point(input):
    """The zero point of a tensor quantized per tensor."""
    return _aten.q_zero_point(input)


def q_per_channel_scales(input):
    """The scales of a tensor quantized per channel."""
    return _aten.q_per_channel_scales(input)


def q_per_channel_zero_points(input):
    """The zero points of a tensor quantized per channel."""
    return _aten.q_per_channel_zero_points(input)


def q_per_channel_axis(input):
    """The dimension whose indices have a scale each."""
    return _aten.q_per_channel_axis(input)


def qscheme(self):
    """How the integers stand for numbers."""
    return _SCHEMES[_aten.qscheme(self)]


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """The numbers as quantization would round them."""
    return _aten.fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """The numbers as quantization per channel would round them."""
    return _aten.fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max)


def quantized_max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest of each window."""
    return _weft.nn.functional.max_pool2d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


def _empty_affine_quantized(
    size,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    scale=1.0,
    zero_point=0,
    memory_format=None,
):
    """Integers of zero, with a scale and a zero point."""
    return _aten._empty_affine_quantized(list(size), dtype=dtype, scale=scale, zero_point=zero_point)


def _make_per_tensor_quantized_tensor(input, scale, zero_point):
    """Integers with a scale and a zero point."""
    return _aten._make_per_tensor_quantized_tensor(input, scale, zero_point)


def _make_per_channel_quantized_tensor(input, scale, zero_point, axis):
    """Integers with scales and zero points along a dimension."""
    return _aten._make_per_channel_quantized_tensor(input, scale, zero_point, axis)
