"""Reading and writing by index, choosing, counting and searching with PyTorch's arguments and results."""

import weft as _weft
from weft import Tensor as _Tensor
from weft import _autocast
from weft import return_types as _types
from weft.compiler import is_compiling

from ._support import (
    DTypeError,
    all_written,
    dimension,
    is_inexact,
    is_integer,
    need_tensor,
    of_number,
    promoted,
    refuse_bool,
    refuse_complex,
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


def _not_negative(index, dim, size, error=None):
    """The index, whose numbers count from the front only. raises: RuntimeError, or IndexError with the text `error`."""
    if _weft.compiler.is_compiling():
        return _weft.require(index, index >= 0, error="index is out of bounds: it is negative")
    if index.numel() and index.device.type != "meta" and (least := int(index.min())) < 0:
        if error is not None:
            raise IndexError(error)
        raise RuntimeError(f"index {least} is out of bounds for dimension {dim} with size {size}")
    return index


def _with_dimension(tensor):
    """A tensor of no dimension as one of a dimension."""
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


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
    return tuple(_weft.unbind(_by_columns(_weft.nonzero(_with_dimension(input))), 1))


def _by_columns(indices):
    """The same elements, those of a column beside each other, as PyTorch has them."""
    return indices.t().contiguous().t()


def argwhere(input):
    """[n, dim] the indices of elements that differ from zero."""
    return nonzero(input)


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """[size, dim] the first indices of elements that differ from zero, filled up with fill_value."""
    need_tensor("nonzero_static", input)
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = _weft.nonzero(input)[:size]
    missing = _weft.full((size - found.shape[0], input.dim()), fill_value, dtype=_weft.int64)
    return written(out, _weft.cat([found, missing], 0))


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
    if mask.dtype != _weft.bool:
        raise RuntimeError("masked_scatter: expected BoolTensor for mask")
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}"
        )
    input, mask = (
        _weft.broadcast_to(input, _shape_of(input, mask)),
        _weft.broadcast_to(mask, _shape_of(input, mask)),
    )
    flat = mask.reshape(-1)
    if flat.numel() == 0:
        return input.clone()
    source = source.reshape(-1)
    if source.numel() == 0:
        source = _weft.zeros((1,), dtype=input.dtype)
    order = _weft.clamp(_weft.cumsum(flat, 0) - 1, min=0, max=source.shape[0] - 1)
    return _weft.where(mask, _weft.take(source, order).reshape(mask.shape), input)


def _shape_of(*tensors):
    from .shapes import broadcast_shapes

    return tuple(broadcast_shapes(*[each.shape for each in tensors]))


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
        found = _weft.gather(_with_dimension(input), dim, _with_dimension(index))
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
        input, indices = input.reshape(1), _with_dimension(indices)
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
                input.reshape(1), 0, _with_dimension(index), source.reshape(-1), alpha=alpha
            ).reshape(()),
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({input.dtype}) and source ({source.dtype}) must have the same scalar type"
        )
    return written(out, _weft.index_add(input, dim, _with_dimension(index), source, alpha=alpha))


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
    return written(out, _weft.index_copy(input, dim, _with_dimension(index), source))


def index_fill(input, dim, index, value):
    """The input with one value, a number or a tensor of no dimension, at indices of a dimension."""
    need_tensor("index_fill", input)
    index = _positions("index_fill", index)
    if input.dim() == 0:
        return index_fill(input.reshape(1), 0, _with_dimension(index), value).reshape(())
    dim = dimension("index_fill", dim, input.dim())
    if isinstance(value, _Tensor):
        if value.dim():
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
            )
        at = _with_dimension(index)
        shape = list(input.shape)
        shape[dim] = at.shape[0]
        return _weft.index_copy(input, dim, at, _weft.broadcast_to(value.to(input.dtype), tuple(shape)))
    return _weft.index_fill(input, dim, _with_dimension(index), value)


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
    if index.dtype != _weft.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}")
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got {input.dtype} and {source.dtype}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    result = _weft.index_put(
        input.reshape(-1), source.reshape(-1), [index.reshape(-1)], accumulate=accumulate
    )
    return result.reshape(input.shape)


def _scatter_source(function, input, index, src, value):
    """The tensor that is scattered: a number becomes one of index's shape."""
    if isinstance(src, _Tensor):
        if src.dtype != input.dtype:
            raise RuntimeError(f"{function}(): Expected self.dtype to be equal to src.dtype")
        return _with_dimension(src)
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
    given, at = _with_dimension(input), _with_dimension(index)
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


def _neutral(index, reduce, dtype):
    return _weft.full(tuple(index.shape), 1 if reduce == "prod" else 0, dtype=dtype)


def _combined(function, input, dim, index, source, reduce, include_self):
    """scatter with a reduction, over `index` of as many dimensions as the input."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"{function}(): reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
        )
    if input.dtype != source.dtype:
        raise RuntimeError(f"{function}(): Expected self.dtype to be equal to src.dtype")
    if index.numel() == 0:
        return input.clone()
    index = _not_negative(index, dim, input.shape[dim] if input.dim() else 1)
    shape = input.shape
    input, index, source = _with_dimension(input), _with_dimension(index), _with_dimension(source)
    base = input
    if not include_self:
        first = source if reduce in ("amax", "amin") else _neutral(index, reduce, input.dtype)
        base = _weft.scatter(input, dim, index, first)
    if reduce in ("sum", "mean"):
        base = _weft.scatter_add(base, dim, index, source)
    else:
        base = _weft.scatter_combine(base, dim, index, source, reduce)
    if reduce == "mean":
        ones = _weft.ones(tuple(index.shape), dtype=input.dtype)
        count = (
            _weft.ones(tuple(input.shape), dtype=input.dtype)
            if include_self
            else _weft.zeros(tuple(input.shape), dtype=input.dtype)
        )
        count = _weft.scatter_add(count, dim, index, ones)
        count = _weft.where(count == 0, 1, count).to(input.dtype)
        base = base / count if is_inexact(input) else _weft.floor_divide(base, count)
    return base.reshape(shape)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """The input combined with src[i] at j = i but j[dim] = index[i]: 'sum', 'prod', 'mean', 'amax' or 'amin'."""
    need_tensor("scatter_reduce", input)
    dim = dimension("scatter_reduce", dim, input.dim())
    return written(
        out,
        _combined(
            "scatter_reduce", input, dim, _positions("scatter_reduce", index), src, reduce, include_self
        ),
    )


def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """The input combined with slices of source at indices of a dimension: 'prod', 'mean', 'amax' or 'amin'."""
    need_tensor("index_reduce", input)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): reduce argument must be either prod, mean, amax or amin, got {reduce}."
        )
    dim = dimension("index_reduce", dim, input.dim())
    index, source = _with_dimension(_positions("index_reduce", index)), _with_dimension(source)
    if source.shape[dim] != index.shape[0]:
        raise RuntimeError(
            f"index_reduce(): Number of indices ({index.shape[0]}) should be equal to source.size(dim) ({source.shape[dim]})"
        )
    shape = [1] * source.dim()
    shape[dim] = index.shape[0]
    return written(
        out,
        _combined(
            "index_reduce",
            input,
            dim,
            index.reshape(shape).expand(source.shape),
            source,
            reduce,
            include_self,
        ),
    )


# ---- membership and sets -------------------------------------------------------------------------------------


def isin(
    elements=None,
    test_elements=None,
    *,
    assume_unique=False,
    invert=False,
    element=None,
    test_element=None,
    out=None,
):
    """Which elements are among test_elements."""
    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    if not isinstance(elements, _Tensor) and not isinstance(test_elements, _Tensor):
        raise TypeError("isin(): expected a tensor for elements or test_elements")
    elements = elements if isinstance(elements, _Tensor) else of_number(elements)
    tested = test_elements if isinstance(test_elements, _Tensor) else of_number(test_elements)
    dtype = promoted(elements.dtype, tested.dtype)
    refuse_complex("isin", elements, tested)
    refuse_bool("isin", elements, tested)
    elements, tested = elements.to(dtype), tested.to(dtype).reshape(-1)
    if tested.shape[0] == 0:
        found = _weft.zeros(tuple(elements.shape), dtype=_weft.bool)
    elif tested.shape[0] <= 16:
        found = (elements.unsqueeze(-1) == tested).any(-1)
    else:
        ordered = _weft.sort(tested, 0)[0]
        at = _weft.clamp(_weft.searchsorted(ordered, elements), max=tested.shape[0] - 1)
        found = _weft.take(ordered, at) == elements
    return written(out, ~found if invert else found)


def _run_starts(rows):
    """Whether each row of [n, m] differs from the one before it."""
    changed = (rows[1:] != rows[:-1]).any(1)
    return _weft.cat([_weft.ones((min(rows.shape[0], 1),), dtype=_weft.bool), changed], 0)


def _runs(starts):
    """The number of the run that each element is in, the positions of first elements, and lengths."""
    first = _weft.nonzero(starts).reshape(-1)
    numbers = _weft.cumsum(starts, 0) - 1
    ends = _weft.cat([first[1:], _weft.tensor([starts.shape[0]], dtype=_weft.int64)[: first.shape[0]]], 0)
    return numbers, first, ends - first


def _rows(function, input, dim):
    """[n, m]: slices along `dim`, flattened."""
    moved = input.movedim(dim, 0)
    if input.shape[dim] and not input.numel():
        raise RuntimeError(
            f"{function}: There are 0 sized dimensions, and they aren't selected, so unable to apply unique"
        )
    width = 1
    for size in moved.shape[1:]:
        width *= size
    return moved.reshape(input.shape[dim], width)


def _slices(input, dim, positions):
    """Slices of a dimension, which lies widest in memory."""
    return _weft.index_select(input.movedim(dim, 0), 0, positions).movedim(0, dim)


def _chosen(values, inverse, counts, return_inverse, return_counts):
    results = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return results if len(results) > 1 else values


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Distinct elements in order, or distinct slices of a dimension; where each is among them, how often it occurs."""
    need_tensor("unique", input)
    if dim is None:
        flat = input.reshape(-1)
        ordered, order = _weft.sort(flat, 0, stable=True)
        starts = _run_starts(ordered.reshape(-1, 1))
        numbers, first, lengths = _runs(starts)
        inverse = _weft.scatter(_weft.zeros_like(order), 0, order, numbers) if flat.shape[0] else order
        return _chosen(
            _weft.take(ordered, first), inverse.reshape(input.shape), lengths, return_inverse, return_counts
        )
    dim = dimension("unique", dim, input.dim())
    if input.dim() == 0:
        found = unique(input.reshape(1), True, True, True)
        return _chosen(found[0].reshape(()), found[1], found[2], return_inverse, return_counts)
    rows = _rows("unique", input, dim)
    order = _weft.arange(rows.shape[0])
    for column in range(rows.shape[1] - 1, -1, -1):
        order = _weft.take(order, _weft.argsort(_weft.take(rows[:, column], order), 0, stable=True))
    numbers, first, lengths = _runs(_run_starts(_weft.index_select(rows, 0, order)))
    inverse = _weft.scatter(_weft.zeros_like(order), 0, order, numbers) if rows.shape[0] else order
    values = _slices(input, dim, _weft.take(order, first))
    return _chosen(values, inverse, lengths, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of every run of equal elements, or of equal slices of a dimension; run numbers and lengths."""
    need_tensor("unique_consecutive", input)
    if dim is None:
        flat = input.reshape(-1)
        numbers, first, lengths = _runs(_run_starts(flat.reshape(-1, 1)))
        return _chosen(
            _weft.take(flat, first), numbers.reshape(input.shape), lengths, return_inverse, return_counts
        )
    dim = dimension("unique_consecutive", dim, input.dim())
    numbers, first, lengths = _runs(_run_starts(_rows("unique_consecutive", input, dim)))
    return _chosen(_slices(input, dim, first), numbers, lengths, return_inverse, return_counts)


def unravel_index(indices, shape):
    """The indices of flat positions in an array of a shape, a tensor per dimension."""
    need_tensor("unravel_index", indices, "indices")
    if is_inexact(indices) or indices.dtype == _weft.bool:
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, _Tensor):
        shape = shape.tolist()
    sizes = [shape] if is_integer(shape) else [int(each) for each in shape]
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    found, step = [], 1
    indices = indices.to(_weft.int64)
    for size in reversed(sizes):
        found.append(_weft.remainder(_weft.floor_divide(indices, step), size))
        step *= size
    # PyTorch's are views of one tensor that has them side by side.
    return tuple(_weft.stack(found[::-1], -1).unbind(-1)) if found else ()


def msort(input, *, out=None):
    """The elements sorted along the first dimension."""
    need_tensor("msort", input)
    return written(out, _weft.sort(input, 0)[0] if input.dim() else input.clone())


# ---- searching and counting ----------------------------------------------------------------------------------


def _side(function, right, side):
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{function}(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            f"{function}(): side and right can't be set to opposites, got side of left while right was True"
        )
    return right or side == "right"


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Positions at which values would keep the last dimension of a sequence sorted."""
    need_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    values = input if isinstance(input, _Tensor) else of_number(input)
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError("searchsorted(): boundary and sorter must have the same size")
        sorted_sequence = _weft.gather(sorted_sequence, -1, sorter)
    found = _weft.searchsorted(sorted_sequence, values, right=_side("searchsorted", right, side))
    return written(out, found.to(_weft.int32) if out_int32 else found)


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The number of the bucket between boundaries that each value falls in."""
    need_tensor("bucketize", boundaries, "boundaries", 2)
    if boundaries.dim() != 1:
        raise RuntimeError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def bincount(input, weights=None, minlength=0):
    """How often each value from 0 to the largest occurs, or the sums of its weights."""
    need_tensor("bincount", input)
    counts = _weft.bincount(input, weights, minlength)
    return counts.to(_weft.float32) if weights is not None and weights.dtype == _weft.float32 else counts


def _range_of(x, low, high):
    """The range of a histogram: of the elements where it is not given, and no empty one."""
    if low == high:
        low, high = (float(_weft.amin(x)), float(_weft.amax(x))) if x.numel() else (0.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5
    return low, high


def _edges(x, bins, given):
    low, high = given if given is not None else (0.0, 0.0)
    low, high = float(low), float(high)
    if not (low <= high and high - low < float("inf")):
        raise RuntimeError(f"histogram: expected a finite range with min <= max, got [{low}, {high}]")
    if given is not None:
        if low == high:
            low, high = low - 0.5, high + 0.5
    else:
        low, high = _range_of(x, 0.0, 0.0)
    # Counted from the nearer end, so that both ends are exact.
    number = _weft.arange(bins + 1).to(x.dtype)
    first, last = of_number(low, x.dtype), of_number(high, x.dtype)
    step = (last - first) / bins
    return _weft.where(number < (bins + 1) // 2, first + step * number, last - step * (bins - number))


def _bins_of(column, edges):
    """The bin of each value, and whether it lies in one; the last is closed on the right."""
    count = edges.shape[0] - 1
    at = _weft.searchsorted(edges, column, right=True) - 1
    at = _weft.where(column == edges[-1], count - 1, at)
    return _weft.clamp(at, min=0, max=count - 1), (column >= edges[0]) & (column <= edges[-1])


def _histogram(rows, edges, weight, density):
    """rows: [n, d] values; edges: d tensors. [bins…] the sum of weights in each bin."""
    sizes = [each.shape[0] - 1 for each in edges]
    flat = _weft.zeros((rows.shape[0],), dtype=_weft.int64)
    inside = _weft.ones((rows.shape[0],), dtype=_weft.bool)
    for axis, each in enumerate(edges):
        at, within = _bins_of(rows[:, axis].contiguous(), each)
        flat, inside = flat * sizes[axis] + at, inside & within
    weights = _weft.ones((rows.shape[0],), dtype=rows.dtype) if weight is None else weight.reshape(-1)
    total = 1
    for size in sizes:
        total *= size
    counts = _weft.zeros((total,), dtype=rows.dtype)
    if rows.shape[0]:
        counts = _weft.scatter_add(counts, 0, flat, _weft.where(inside, weights, 0).to(rows.dtype))
    counts = counts.reshape(sizes)
    if density:
        counts = counts / counts.sum()
        for axis, each in enumerate(edges):
            shape = [1] * len(sizes)
            shape[axis] = sizes[axis]
            counts = counts / _weft.diff(each).reshape(shape)
    return counts


def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """Counts, or sums of weights, in bins, and the edges of the bins: as many equal ones, or between edges."""
    need_tensor("histogram", input)
    if not input.is_floating_point():
        raise DTypeError(f'"histogram_cpu" not implemented for {input.dtype}')
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            "histogram(): if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension"
        )
    flat = input.reshape(-1)
    if isinstance(bins, _Tensor):
        if bins.dtype != input.dtype:
            raise RuntimeError("torch.histogram: input tensor and bins tensors should have the same dtype")
        edges = bins
    else:
        if bins <= 0:
            raise RuntimeError(f"histogram(): bins must be > 0, but got {bins}")
        edges = _edges(flat, bins, range)
    counts = _histogram(flat.reshape(-1, 1), [edges], weight, density)
    return all_written(out, _types.histogram(counts, edges))


def histogramdd(input, bins, range=None, weight=None, density=False):
    """Counts, or sums of weights, of points, the last dimension of the input, in a grid of bins; the grid's edges."""
    need_tensor("histogramdd", input)
    if input.dim() < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input.dim()}"
        )
    if str(input.dtype).rsplit(".", 1)[-1] not in ("float32", "float64"):
        raise DTypeError(f'"histogramdd" not implemented for {input.dtype}')
    rows = input.reshape(-1, input.shape[-1])
    if is_integer(bins):
        bins = [bins] * rows.shape[1]
    if len(bins) != rows.shape[1]:
        raise RuntimeError(
            f"histogramdd: The size of bins must be equal to the innermost dimension of the input, got {len(bins)}"
        )
    edges = []
    for axis, each in enumerate(bins):
        given = None if range is None else (range[2 * axis], range[2 * axis + 1])
        edges.append(each if isinstance(each, _Tensor) else _edges(rows[:, axis], each, given))
    return _types.histogramdd(_histogram(rows, edges, weight, density), tuple(edges))


def histc(input, bins=100, min=0, max=0, *, out=None):
    """How many elements lie in each of equal bins from min to max; both equal: from the least to the greatest."""
    return written(out, _counts_in_bins(input, bins, min, max))


def _counts_in_bins(input, bins, min, max):
    if min == max or bins <= 0 or not input.is_floating_point() or not is_compiling():
        return _weft.histc(input, bins, min, max)
    # Of a range that is known the operators that graphs hold tell the same.
    values = input.flatten() if input.dtype == _weft.float32 else input.flatten().double()
    low, high = _weft.tensor(min, dtype=values.dtype), _weft.tensor(max, dtype=values.dtype)
    is_counted = (values >= low) & (values <= high)
    position = _weft.where(is_counted, (values - low) * bins / (high - low), 0.0).long().clamp(max=bins - 1)
    return (
        _weft.zeros(bins, dtype=_weft.float64).scatter_add(0, position, is_counted.double()).to(input.dtype)
    )


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Every element, or slice of a dimension, repeated; of counts alone: each position as often as its count."""
    if repeats is None:
        return _weft.repeat_interleave(_weft.arange(input.shape[0]).to(input.dtype), input, 0)
    is_wrong = dim is not None and not -input.ndim <= dim < input.ndim
    if isinstance(repeats, _Tensor) or repeats < 0 or is_wrong or input.ndim == 0:
        return _weft.repeat_interleave(input, repeats, dim)
    # As often each: shapes alone tell the result's, so that graphs have it.
    if dim is None:
        input, dim = input.flatten(), 0
    dim = dim % input.ndim
    before, size, after = input.shape[:dim], input.shape[dim], input.shape[dim + 1 :]
    if repeats == 1:
        return input.contiguous() if not input.is_contiguous() else input.clone()
    repeated = input.unsqueeze(dim + 1).expand(*before, size, repeats, *after).contiguous()
    return repeated.reshape(*before, size * repeats, *after)
