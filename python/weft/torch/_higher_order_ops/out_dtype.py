"""torch._higher_order_ops.out_dtype: an operator whose result has another dtype than its arguments."""

import weft

_NAMES = "aten::linear aten::mm aten::conv2d aten::convolution aten::mul aten::div".split()


def out_dtype(op, output_dtype, *args):
    """The operator's result, computed in the dtype that its arguments and the result's have together: products of int8 matrices
    as int32 are exact. op: torch.ops.aten.mm.default, linear, conv2d, convolution, mul or div."""
    if not hasattr(op, "overloads"):
        raise ValueError("out_dtype's first argument must be an OpOverload")
    if op.name() not in _NAMES:
        raise ValueError(f"out_dtype only allows the following operators: {_NAMES}.")
    if op.name() == "aten::mm" and output_dtype == weft.int32 and all(one.dtype == weft.int8 for one in args):
        return weft.torch._int_mm(*args)
    dtype = output_dtype
    for one in args:
        if isinstance(one, weft.Tensor):
            dtype = weft.promote_types(dtype, one.dtype)
    given = [one.to(dtype) if isinstance(one, weft.Tensor) else one for one in args]
    return op(*given).to(output_dtype)
