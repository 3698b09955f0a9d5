"""Reading and writing by index and choosing, with PyTorch's arguments and results."""

import weft as _weft
from weft import Tensor as _Tensor
from weft import _autocast
from weft._composed import indexing
from weft._composed.indexing import with_dimension
from weft.jit._tracer import is_tracing, paused

from ._support import (
    dimension,
    is_inexact,
    need_tensor,
    written,
)


def _positions(function, index):
    """`index` as int64."""
    if not isinstance(index, _Tensor):
        raise TypeError(f"{function}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index.dtype == _weft.int64:
        return index
    if index.numel() == 0:
        return index.to(_weft.int64)
    if index.dtype != _weft.int32:
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index, but got {index.dtype}")
    return index.to(_weft.int64)


def _least(index):
    """The smallest number. A check of the arguments is no part of what is traced."""
    if not is_tracing():
        return int(index.min())
    with paused():
        return int(index.min())


def _not_negative(index, dim, size, error=None):
    """The index, whose numbers count from the front only. raises: RuntimeError, or IndexError with the text `error`."""
    if _weft.compiler.is_compiling():
        return _weft.require(index, index >= 0, error="index is out of bounds: it is negative")
    if index.numel() and index.device.type != "meta" and (least := _least(index)) < 0:
        if error is not None:
            raise IndexError(error)
        raise RuntimeError(f"index {least} is out of bounds for dimension {dim} with size {size}")
    return index


# ---- choosing ------------------------------------------------------------------------------------------------


def where(condition, input=None, other=None, *, self=None, out=None):
    """`input` where the condition holds, else `other`; with the condition alone, the positions where it holds."""
    need_tensor("where", condition, "condition")
    input = self if input is None else input
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError("where(): expected both input and other, or neither")
    if condition.dtype not in (_weft.bool, _weft.uint8):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    if condition.dtype == _weft.uint8:
        condition = condition != 0
    return written(
        out, _weft.where(condition, input, other), parts_of=(condition, input, other), own_dtype=True
    )


def nonzero(input, *, out=None, as_tuple=False):
    """[n, dim] the indices of elements that differ from zero; with as_tuple one tensor per dimension."""
    need_tensor("nonzero", input)
    if out is not None and not isinstance(out, _Tensor):
        raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}")
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if not as_tuple:
        return written(out, _by_columns(_weft.nonzero(input)))
    return tuple(_weft.unbind(_by_columns(_weft.nonzero(with_dimension(input))), 1))


def _by_columns(indices):
    """The same elements, those of a column beside each other, as PyTorch has them."""
    return indices.t().contiguous().t()


def argwhere(input):
    """[n, dim] the indices of elements that differ from zero."""
    return nonzero(input)


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """[size, dim] the first indices of elements that differ from zero, filled up with fill_value."""
    need_tensor("nonzero_static", input)
    return written(out, indexing.nonzero_static(input, size, fill_value))


def masked_select(input, mask, *, out=None):
    """The elements where the mask holds, in one dimension."""
    need_tensor("masked_select", input)
    if mask.dtype != _weft.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    return written(out, _weft.masked_select(input, mask), input, mask, own_dtype=True)


def masked_fill(input, mask, value):
    """`value`, a number or a tensor of no dimension, where the mask holds."""
    need_tensor("masked_fill", input)
    if not isinstance(mask, _Tensor) or mask.dtype != _weft.bool:
        raise RuntimeError("masked_fill only supports boolean masks")
    if isinstance(value, _Tensor) and value.dim():
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    if isinstance(value, _Tensor) and (_weft.compiler.is_compiling() or value.device.type != "cpu"):
        return _weft.where(mask, value.to(input.dtype), input)
    return _weft.masked_fill(input, mask, value.item() if isinstance(value, _Tensor) else value)


def masked_scatter(input, mask, source):
    """The input with the elements where the mask holds replaced by those of `source`, in order."""
    need_tensor("masked_scatter", input)
    return indexing.masked_scatter(input, mask, source)


# ---- gathering -----------------------------------------------------------------------------------------------


def gather(input, dim=None, index=None, *, sparse_grad=False, out=None, axis=None):
    """result[i] = input[j], j = i but j[dim] = index[i]."""
    dim = dim if axis is None else axis
    need_tensor("gather", input)
    index = _positions("gather", index)
    dim = dimension("gather", dim, input.dim())
    if index.numel() == 0:
        return written(out, _weft.empty(tuple(index.shape), dtype=input.dtype))
    index = _not_negative(index, dim, input.shape[dim] if input.dim() else 1)
    if input.dim() == 0 or index.dim() == 0:
        found = _weft.gather(with_dimension(input), dim, with_dimension(index))
        return written(out, found.reshape(index.shape), input, index, own_dtype=True)
    return written(out, _weft.gather(input, dim, index), input, index, own_dtype=True)


def take(input, index, *, out=None):
    """The elements at positions of the flattened input."""
    need_tensor("take", input)
    if index.dtype != _weft.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    return written(out, _weft.take(input, index), input, index, own_dtype=True)


def take_along_dim(input, indices, dim=None, *, out=None):
    """gather with the input and the indices broadcast in the other dimensions; of None, the flattened ones."""
    need_tensor("take_along_dim", input)
    if indices.numel() == 0:
        indices = indices.to(_weft.int64)
    if is_inexact(indices) or indices.dtype == _weft.bool:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is not None and input.dim() != indices.dim():
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.dim()} "
            f"dimensions for input, and {indices.dim()} dimensions for indices"
        )
    # Positions wrap around, in both directions.
    size = input.numel() if dim is None else input.shape[dim] if input.dim() else 1
    if input.dim() == 0:
        input, indices = input.reshape(1), with_dimension(indices)
    at = _weft.remainder(indices, size) if size else indices
    return written(out, _weft.take_along_dim(input, at, dim), input, indices, own_dtype=True)


def index_select(input, dim=None, index=None, *, out=None, axis=None):
    """The input at indices of a dimension."""
    dim = dim if axis is None else axis
    need_tensor("index_select", input)
    index = _not_negative(_positions("index_select", index), dim, 0, "index out of range in self")
    return written(out, _weft.index_select(input, dim, index), input, index, own_dtype=True)


# ---- writing -------------------------------------------------------------------------------------------------


def index_add(input, dim, index, source, *, alpha=1, out=None):
    """The input with alpha * source added at indices of a dimension."""
    need_tensor("index_add", input)
    index = _not_negative(_positions("index_add", index), dim, input.shape[dim] if input.dim() else 1)
    if input.dim() == 0:
        return written(
            out,
            _weft.index_add(
                input.reshape(1), 0, with_dimension(index), source.reshape(-1), alpha=alpha
            ).reshape(()),
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({input.dtype}) and source ({source.dtype}) must have the same scalar type"
        )
    return written(out, _weft.index_add(input, dim, with_dimension(index), source, alpha=alpha))


@_autocast.widest
def index_copy(input, dim, index, source, *, out=None):
    """The input with `source` written at indices of a dimension."""
    need_tensor("index_copy", input)
    index = _positions("index_copy", index)
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype} and (source) {source.dtype}"
        )
    index = _not_negative(index, dim, 0, "index_copy_(): index is out of bounds: it is negative")
    if input.dim() == 0:
        return written(out, source.reshape(()).clone())
    return written(out, _weft.index_copy(input, dim, with_dimension(index), source))


def index_fill(input, dim, index, value):
    """The input with one value, a number or a tensor of no dimension, at indices of a dimension."""
    need_tensor("index_fill", input)
    index = _positions("index_fill", index)
    if input.dim() == 0:
        return index_fill(input.reshape(1), 0, with_dimension(index), value).reshape(())
    dim = dimension("index_fill", dim, input.dim())
    if isinstance(value, _Tensor):
        if value.dim():
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
            )
        at = with_dimension(index)
        shape = list(input.shape)
        shape[dim] = at.shape[0]
        return _weft.index_copy(input, dim, at, _weft.broadcast_to(value.to(input.dtype), tuple(shape)))
    return _weft.index_fill(input, dim, with_dimension(index), value)


def index_put(input, indices, values, accumulate=False):
    """The input with input[indices] replaced by values, or increased by them."""
    need_tensor("index_put", input)
    if input.dtype != values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {input.dtype} for the destination and {values.dtype} for the source."
        )
    return _weft.index_put(input, values, list(indices), accumulate=accumulate)


def put(input, index, source, accumulate=False):
    """The input with the elements at positions of its flattened form replaced by those of source, or increased."""
    need_tensor("put", input)
    return indexing.put(input, index, source, accumulate)


def _scatter_source(function, input, index, src, value):
    """The tensor that is scattered: a number becomes one of index's shape."""
    if isinstance(src, _Tensor):
        if src.dtype != input.dtype:
            raise RuntimeError(f"{function}(): Expected self.dtype to be equal to src.dtype")
        return with_dimension(src)
    number = src if src is not None else value
    if number is None:
        raise TypeError(f"{function}() missing 1 required positional arguments: 'src'")
    # masked_fill refuses what the dtype does not hold, for one element alone, too.
    every = _weft.ones((), dtype=_weft.bool)
    return _weft.masked_fill(_weft.zeros(tuple(index.shape), dtype=input.dtype), every, number)


def scatter(input, dim, index, src=None, *, value=None, reduce=None, out=None):
    """The input with result[j] = src[i], j = i but j[dim] = index[i]; reduce: 'add' or 'multiply'."""
    need_tensor("scatter", input)
    dim = dimension("scatter", dim, input.dim())
    index = _positions("scatter", index)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"scatter(): reduce argument must be either add or multiply, got {reduce}.")
    if index.numel() == 0:
        return written(out, input.clone())
    index = _not_negative(index, dim, input.shape[dim] if input.dim() else 1)
    given, at = with_dimension(input), with_dimension(index)
    source = _scatter_source("scatter", input, at, src, value)
    if reduce is None:
        result = _weft.scatter(given, dim, at, source)
    elif reduce == "add":
        result = _weft.scatter_add(given, dim, at, source)
    else:
        result = _weft.scatter_combine(given, dim, at, source, "prod")
    return written(out, result.reshape(input.shape))


def scatter_add(input, dim, index, src, *, out=None):
    """The input with result[j] += src[i], j = i but j[dim] = index[i]."""
    need_tensor("scatter_add", src, "src", 4)
    return scatter(input, dim, index, src, reduce="add", out=out)


def _places(function, input, dim, index):
    """`index` as int64, from the front."""
    index = _positions(function, index)
    if index.numel() == 0:
        return index
    return _not_negative(index, dim, input.shape[dim] if input.dim() else 1)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """The input combined with src[i] at j = i but j[dim] = index[i]: 'sum', 'prod', 'mean', 'amax' or 'amin'."""
    need_tensor("scatter_reduce", input)
    dim = dimension("scatter_reduce", dim, input.dim())
    places = _places("scatter_reduce", input, dim, index)
    return written(out, indexing.scatter_reduce(input, dim, places, src, reduce, include_self))


def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """The input combined with slices of source at indices of a dimension: 'prod', 'mean', 'amax' or 'amin'."""
    need_tensor("index_reduce", input)
    dim = dimension("index_reduce", dim, input.dim())
    places = _places("index_reduce", input, dim, index)
    return written(out, indexing.index_reduce(input, dim, places, source, reduce, include_self))
