"""What special functions, linear algebra and transforms have in common: dtypes, out=, named results."""

import weft as _weft
from weft.return_types import named  # noqa: F401

HALF = (_weft.float16, _weft.bfloat16)
FLOATS = (*HALF, _weft.float32, _weft.float64)
COMPLEX = (_weft.complex64, _weft.complex128)


def is_inexact(x):
    return x.is_floating_point() or x.is_complex()


def need_tensor(function, value, name="input", position=1):
    if not isinstance(value, _weft.Tensor) and not hasattr(type(value), "__weft_operator__"):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
        )
    return value


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


def transposed(x):
    """The matrices' transposes, a view."""
    return x.transpose(-2, -1)


def adjoint_of(x):
    """The matrices' conjugate transposes."""
    return transposed(_weft.conj(x))


def columns(x):
    """The matrices column after column in memory, as LAPACK gives them."""
    return transposed(transposed(x).contiguous())


def need_matrices(function, x, name="A", square=False, half=False):
    """The tensor, if it is a batch of (square) matrices of a dtype that can be decomposed."""
    need_tensor(function, x, name)
    if x.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{function}: {name} must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    if not is_inexact(x):
        raise NotImplementedError(
            f"{function}: Expected a floating point or complex tensor as input. Got {x.dtype}"
        )
    if x.dtype in HALF and not half:
        raise NotImplementedError(f"{function}: Low precision dtypes not supported. Got {x.dtype}")
    return x


def need_same_dtype(function, a, b, name="B"):
    need_tensor(function, b, name, 2)
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{function}: Expected A and {name} to have the same dtype, got {a.dtype} and {b.dtype}"
        )


def broadcast_batch(function, a, b):
    """Both with one batch shape before their last two dimensions."""
    shape, size = [], max(a.ndim, b.ndim) - 2
    for left, right in zip(
        (1,) * (size + 2 - a.ndim) + tuple(a.shape[:-2]), (1,) * (size + 2 - b.ndim) + tuple(b.shape[:-2])
    ):
        if left != right and left != 1 and right != 1:
            raise RuntimeError(
                f"{function}: The size of tensor a ({left}) must match the size of tensor b ({right}) in the batch dimensions"
            )
        shape.append(right if left == 1 else left)
    return a.expand(*shape, *a.shape[-2:]), b.expand(*shape, *b.shape[-2:])


def first_failure(info):
    """The batch element and the value of the first info that is not zero, None where all are."""
    if not bool((info != 0).any()):
        return None
    values = info.reshape(-1).tolist()
    at = next(i for i, value in enumerate(values) if value)
    return (f"(Batch element {at}): " if info.ndim else ""), values[at]
