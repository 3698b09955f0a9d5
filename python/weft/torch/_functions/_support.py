"""What the functions here have in common: dimensions, out=, named results."""

import weft as _weft
from weft._composed.checks import (  # noqa: F401
    DTypeError,
    is_inexact,
    need_floating,
    need_tensor,
    refuse_bool,
    refuse_complex,
)
from weft._composed.checks import dimension as _dimension

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")


_DTYPES = [
    getattr(_weft, name)
    for name in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint16",
        "uint32",
        "uint64",
        *_FLOATS,
        *_COMPLEX,
    )
]
_PROMOTED = {}
for _a in _DTYPES:
    for _b in _DTYPES:
        try:
            _PROMOTED[_a, _b] = _weft.promote_types(_a, _b)
        except (TypeError, RuntimeError, ValueError):
            pass


def promoted(first, *others):
    """The dtype of an operation on tensors of these. A table: captured functions look it up."""
    for other in others:
        if (first, other) not in _PROMOTED:
            raise RuntimeError(f"Promotion for {first} and {other} is not supported")
        first = _PROMOTED[first, other]
    return first


def kind(dtype):
    """0 for bool, 1 for integers, 2 for floating dtypes, 3 for complex ones."""
    name = str(dtype).rsplit(".", 1)[-1]
    if name == "bool":
        return 0
    return 2 if name in _FLOATS else 3 if name in _COMPLEX else 1


def of_number(value, dtype=None):
    """A number as a tensor without dimensions, also in captured functions."""
    if dtype is None:
        if isinstance(value, bool):
            dtype = _weft.bool
        elif isinstance(value, int):
            dtype = _weft.int64
        else:
            dtype = _weft.complex64 if isinstance(value, complex) else _weft.float32
    return _weft.full((), value, dtype=dtype)


def is_number(value):
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def is_integer(value):
    """What can be one size or dimension."""
    return not isinstance(value, (bool, float, str, tuple, list)) and hasattr(type(value), "__index__")


def dimension(function, dim, rank):
    """`dim` counted from the front; a tensor without dimensions has one, as PyTorch sees it."""
    if not is_integer(dim) or isinstance(dim, _weft.Tensor):
        raise TypeError(f"{function}: argument 'dim' must be int, not {type(dim).__name__}")
    return _dimension(function, dim, rank)


def written(out, result, *inputs, parts_of=(), own_dtype=True):
    """`result`, or `out` with the result in it and of the result's shape.

    raises: RuntimeError for an out that is one of `inputs` or shares memory with one, or that is a part of one of `parts_of`;
    for another dtype than the result's, without own_dtype for one that the result cannot be cast to.
    """
    if out is None:
        return result
    if not isinstance(out, _weft.Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if own_dtype and result.dtype != out.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
    if kind(result.dtype) > kind(out.dtype):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {out.dtype}")
    if inputs and not _weft.compiler.is_compiling() and _repeats_elements(out):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if tuple(out.shape) != tuple(result.shape):
        out.resize_(tuple(result.shape))
    for one in inputs:
        if _lies_within(out, one):
            refuse_overlap(out, one)
    for one in parts_of:
        if one is not out and _lies_within(out, one) and not _is_same(out, one):
            refuse_overlap(out, one)
    return out.copy_(result)


def _repeats_elements(tensor):
    return any(step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape))


def may_overlap(one, other):
    """Whether two tensors may have elements in common."""
    return one is other or bool(_weft._C._may_overlap(one, other))


def _lies_within(out, one):
    return isinstance(one, _weft.Tensor) and _weft._C._may_overlap(out, one)


def into(out, operator, *operands, **attributes):
    """Whether an operator, called with these, has written its result into `out`; else written() does, or says what is wrong."""
    return (
        type(out) is _weft.Tensor
        and not _weft.compiler.is_compiling()
        and operator.into(out, *operands, **attributes)
    )


def _is_same(out, one):
    """Whether both are the same elements."""
    return out.data_ptr() == one.data_ptr() and tuple(out.shape) == tuple(one.shape)


def refuse_overlap(out, one):
    """Of tensors that share memory; raises: RuntimeError where the elements of both lie densely."""
    if out.is_contiguous() and one.is_contiguous():
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def all_written(out, results, *inputs, **rules):
    """The results, a named tuple, or `out`'s tensors with them, under the same names; inputs and rules: see written()."""
    if out is None:
        return results
    pairs = [written(target, result, *inputs, **rules) for target, result in zip(out, results)]
    return type(results).of_out(*pairs) if hasattr(results, "_fields") else tuple(pairs)


def copied(result):
    """Contiguous copies of the tensors of a result: what functions named ..._copy give in place of views."""
    if isinstance(result, _weft.Tensor):
        return result.clone() if result.is_contiguous() else result.contiguous()
    return tuple(copied(each) for each in result)
