"""Linear layers with quantized weights."""

import weft

from .._trace_registry import operator_rule
from .._tracer import aten, current


def _of_rows(x, function):
    """function(rows of x), with x's first dimension as it comes."""
    if x.dim() == 2:
        return function(x)
    rows = function(aten.reshape(x, [-1, x.size(-1)]))
    return aten.reshape(
        rows, [*(-1 if i == 0 else size for i, size in enumerate(x.shape[:-1])), rows.size(-1)]
    )


@operator_rule()
def linear_dynamic_int8(x, weight, scales, bias=None):
    def product(x):
        rows = aten.to(x, weft.float32)
        row_scales = aten.div(aten.clamp(aten.amax(aten.abs(rows), [-1], True), 1e-5), 127.0)
        numbers = aten.to(aten.clamp(aten.round(aten.div(rows, row_scales)), -127, 127), weft.int8)
        sums = aten.to(aten._int_mm(numbers, aten.t(weight)), weft.float32)
        result = aten.mul(aten.mul(sums, row_scales), scales)
        if bias is not None:
            result = aten.add(result, aten.to(bias, weft.float32))
        return aten.to(result, x.dtype)

    return _of_rows(x, product)


def _int4_product(x, weight, group_size, scales):
    if not current().for_pytorch:
        return aten._weight_int4pack_mm(x, weight, group_size, scales)
    rows, columns = weight.size(0), 2 * weight.size(1)
    if rows % 16 == 0 and columns % group_size == 0 and not current().recorder.is_computed(weight):
        pack = current().constant(weight, _packed_for_cpu)
        return aten._weight_int4pack_mm_for_cpu(x, pack, group_size, aten.to(scales, x.dtype))
    # No pack of PyTorch's has such rows and groups.
    numbers = aten.stack([aten.bitwise_right_shift(weight, 4), aten["bitwise_and.Scalar"](weight, 15)], 2)
    numbers = aten.sub(aten.to(aten.reshape(numbers, [rows, columns]), weft.float32), 8)
    by_column = aten.repeat_interleave(aten.to(aten.transpose(scales, 0, 1), weft.float32), group_size, 1)
    steps, zeros = (aten.slice(aten.select(by_column, 2, at), 1, 0, columns) for at in (0, 1))
    wide = aten.linear(aten.to(x, weft.float32), aten.add(aten.mul(numbers, steps), zeros))
    return aten.to(wide, x.dtype)


def _packed_for_cpu(weight):
    numbers = weft.stack([weight >> 4, weight & 15], 2).reshape([weight.size(0), 2 * weight.size(1)])
    return weft._convert_weight_to_int4pack_for_cpu(numbers.to(weft.int32))


@operator_rule()
def linear_packed(input, weight, scales=None, bias=None, residual=None, **others):
    if scales is None or residual is not None or others.get("activation", "none") != "none":
        return NotImplemented

    def product(x):
        if weight.dtype == weft.int8:
            result = aten._weight_int8pack_mm(x, weight, scales)
        else:
            result = _int4_product(x, weight, others["group_size"], scales)
        return result if bias is None else aten.add(result, bias)

    return _of_rows(input, product)
