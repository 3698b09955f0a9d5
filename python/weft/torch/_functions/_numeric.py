"""What special functions, linear algebra and transforms have in common: dtypes, out=, named results."""

import weft as _weft
from weft._composed.checks import is_inexact, need_tensor  # noqa: F401
from weft._composed.matrices import (  # noqa: F401
    adjoint_of,
    broadcast_batch,
    columns,
    need_matrices,
    need_same_dtype,
    transposed,
)
from weft.return_types import named  # noqa: F401

HALF = (_weft.float16, _weft.bfloat16)
FLOATS = (*HALF, _weft.float32, _weft.float64)
COMPLEX = (_weft.complex64, _weft.complex128)


def real_dtype(dtype):
    return (
        _weft.float32 if dtype == _weft.complex64 else _weft.float64 if dtype == _weft.complex128 else dtype
    )


def complex_dtype(dtype):
    return (
        _weft.complex64 if dtype == _weft.float32 else _weft.complex128 if dtype == _weft.float64 else dtype
    )


def inexact(x):
    """The tensor in a floating dtype: integers and bool in the default one."""
    return x if is_inexact(x) else x * 1.0


def written(out, result, own_dtype=True):
    """`result`, or `out` with the result in it and of the result's shape. raises: RuntimeError for another dtype than the
    result's, without own_dtype for one that the result cannot be cast to."""
    if out is None:
        return result
    if not isinstance(out, _weft.Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if (result.is_complex() and not out.is_complex()) or (is_inexact(result) and not is_inexact(out)):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {out.dtype}")
    if own_dtype and result.dtype != out.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
    if tuple(out.shape) != tuple(result.shape):
        out.resize_(tuple(result.shape))
    return out.copy_(result)


def all_written(out, results, own_dtype=True):
    """The results, a named tuple, or `out`'s tensors with them, under the same names."""
    if out is None:
        return results
    pairs = [written(target, result, own_dtype) for target, result in zip(out, results)]
    return type(results).of_out(*pairs) if hasattr(results, "_fields") else tuple(pairs)


def first_failure(info):
    """The batch element and the value of the first info that is not zero, None where all are."""
    if not bool((info != 0).any()):
        return None
    values = info.reshape(-1).tolist()
    at = next(i for i, value in enumerate(values) if value)
    return (f"(Batch element {at}): " if info.ndim else ""), values[at]
