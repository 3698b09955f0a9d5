"""Writing by index, histograms, distances of all pairs."""

import math
from typing import List, Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten, aten_, number
from .checks import DTypeError, dimension, is_inexact, need_tensor
from .shapes import common_shape


def with_dimension(tensor: Tensor) -> Tensor:
    """A tensor of no dimension as one of a dimension."""
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


# ---- scattering ----------------------------------------------------------------------------------------------
def _combined(
    function: str, input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """scatter with a reduction, over `index` of as many dimensions as the input."""
    if input.dtype != source.dtype:
        raise RuntimeError(f"{function}(): Expected self.dtype to be equal to src.dtype")
    if index.numel() == 0:
        return input.clone()
    x, at, values = with_dimension(input), with_dimension(index), with_dimension(source)
    base = x
    if not include_self:
        first = values
        if reduce != "amax" and reduce != "amin":
            first = _weft.full(list(at.shape), 1 if reduce == "prod" else 0, dtype=x.dtype)
        base = _weft.scatter(x, dim, at, first)
    if reduce == "sum" or reduce == "mean":
        base = _weft.scatter_add(base, dim, at, values)
    else:
        base = _weft.scatter_combine(base, dim, at, values, reduce)
    if reduce == "mean":
        count = _weft.full(list(x.shape), 1 if include_self else 0, dtype=x.dtype)
        count = _weft.scatter_add(count, dim, at, _weft.ones(list(at.shape), dtype=x.dtype))
        count = _weft.where(count == 0, 1, count).to(x.dtype)
        base = base / count if is_inexact(x) else _weft.floor_divide(base, count)
    return base.reshape(input.shape)


@aten_(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor"
)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if reduce not in ["sum", "prod", "mean", "amax", "amin"]:
        raise RuntimeError(
            f"scatter_reduce(): reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
        )
    dim = dimension("scatter_reduce", dim, input.dim())
    places = index if index.dtype == _weft.int64 else index.to(_weft.int64)
    return _combined("scatter_reduce", input, dim, places, src, reduce, include_self)


@aten_(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor"
)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if reduce not in ["prod", "mean", "amax", "amin"]:
        raise RuntimeError(
            f"index_reduce(): reduce argument must be either prod, mean, amax or amin, got {reduce}."
        )
    dim = dimension("index_reduce", dim, input.dim())
    index, source = with_dimension(index.to(_weft.int64)), with_dimension(source)
    if source.shape[dim] != index.shape[0]:
        raise RuntimeError(
            f"index_reduce(): Number of indices ({index.shape[0]}) should be equal to source.size(dim) ({source.shape[dim]})"
        )
    shape = [1] * source.dim()
    shape[dim] = index.shape[0]
    places = index.reshape(shape).expand(source.shape)
    return _combined("index_reduce", input, dim, places, source, reduce, include_self)


@aten_("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """The input with the elements at positions of its flattened form replaced by those of source, or increased."""
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
    flat = _weft.index_put(input.reshape(-1), source.reshape(-1), [index.reshape(-1)], accumulate=accumulate)
    return flat.reshape(input.shape)


@aten_("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The input with the elements where the mask holds replaced by those of `source`, in order."""
    if mask.dtype != _weft.bool:
        raise RuntimeError("masked_scatter: expected BoolTensor for mask")
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}"
        )
    shape = common_shape("masked_scatter", list(input.shape), list(mask.shape))
    input, mask = input.expand(shape), mask.expand(shape)
    flat = mask.reshape(-1)
    if flat.numel() == 0:
        return input.clone()
    source = source.reshape(-1)
    if source.numel() == 0:
        source = _weft.zeros([1], dtype=input.dtype)
    order = _weft.clamp(_weft.cumsum(flat, 0) - 1, min=0, max=source.shape[0] - 1)
    return _weft.where(mask, _weft.take(source, order).reshape(shape), input)


# ---- membership ----------------------------------------------------------------------------------------------
@aten(
    "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor"
)
def isin(elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool) -> Tensor:
    dtype = _weft.promote_types(elements.dtype, test_elements.dtype)
    elements, tested = elements.to(dtype), test_elements.to(dtype).reshape(-1)
    count = tested.shape[0]
    if count == 0:
        found = _weft.zeros(list(elements.shape), dtype=_weft.bool)
    elif count <= 16:
        found = (elements.unsqueeze(-1) == tested).any(-1)
    else:
        ordered = _weft.sort(tested, 0)[0]
        at = _weft.clamp(_weft.searchsorted(ordered, elements), max=count - 1)
        found = _weft.take(ordered, at) == elements
    return _weft.logical_not(found) if invert else found


@aten(
    "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor"
)
def isin_number(elements: Tensor, test_element: number, assume_unique: bool, invert: bool) -> Tensor:
    return _weft.ne(elements, test_element) if invert else _weft.eq(elements, test_element)


@aten(
    "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor"
)
def number_isin(element: number, test_elements: Tensor, assume_unique: bool, invert: bool) -> Tensor:
    found = _weft.eq(test_elements, element).any()
    return _weft.logical_not(found) if invert else found


# ---- histograms ----------------------------------------------------------------------------------------------
def histogram_edges(x: Tensor, bins: int, range: Optional[List[float]]) -> Tensor:
    """The edges of `bins` equal bins: of the elements' range where none is given, and no empty one."""
    low, high = 0.0, 0.0
    if range is not None:
        low, high = float(range[0]), float(range[1])
        if not (low <= high and high - low < math.inf):
            raise RuntimeError(f"histogram: expected a finite range with min <= max, got [{low}, {high}]")
    elif x.numel() == 0:
        high = 1.0
    else:
        low, high = float(_weft.amin(x)), float(_weft.amax(x))
        if not high - low < math.inf:
            raise RuntimeError(f"histogram: expected a finite range with min <= max, got [{low}, {high}]")
    if low == high:
        low, high = low - 0.5, high + 0.5
    # Counted from the nearer end, so that both ends are exact.
    count = _weft.arange(bins + 1).to(x.dtype)
    first, last = _weft.full([], low, dtype=x.dtype), _weft.full([], high, dtype=x.dtype)
    step = (last - first) / bins
    return _weft.where(count < (bins + 1) // 2, first + step * count, last - step * (bins - count))


def histogram_of(rows: Tensor, edges: List[Tensor], weight: Optional[Tensor], density: bool) -> Tensor:
    """rows: [n, d] values; edges: d tensors. [bins…] the sum of weights in each bin; the last is closed on the right."""
    sizes = [each.shape[0] - 1 for each in edges]
    flat = _weft.zeros([rows.shape[0]], dtype=_weft.int64)
    inside = _weft.ones([rows.shape[0]], dtype=_weft.bool)
    total = 1
    for axis, each in enumerate(edges):
        size = each.shape[0] - 1
        column = _weft.select(rows, 1, axis).contiguous()
        at = _weft.searchsorted(each, column, right=True) - 1
        at = _weft.clamp(_weft.where(column == each[-1], size - 1, at), min=0, max=size - 1)
        flat = flat * size + at
        inside = inside & (column >= each[0]) & (column <= each[-1])
        total *= size
    weights = _weft.ones([rows.shape[0]], dtype=rows.dtype) if weight is None else weight.reshape(-1)
    counts = _weft.zeros([total], dtype=rows.dtype)
    if rows.shape[0] > 0:
        counts = _weft.scatter_add(counts, 0, flat, _weft.where(inside, weights, 0).to(rows.dtype))
    counts = counts.reshape(sizes)
    if density:
        counts = counts / counts.sum()
        for axis, each in enumerate(edges):
            shape = [1] * len(sizes)
            shape[axis] = sizes[axis]
            counts = counts / _weft.diff(each).reshape(shape)
    return counts


def _need_histogram(input: Tensor, weight: Optional[Tensor]) -> None:
    if not input.is_floating_point():
        raise DTypeError(f'"histogram_cpu" not implemented for {input.dtype}')
    if weight is not None and list(weight.shape) != list(input.shape):
        raise RuntimeError(
            "histogram(): if weight tensor is provided it should have the same shape as the input tensor excluding its "
            "innermost dimension"
        )


@aten(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor bin_edges)"
)
def histogram_of_count(
    input: Tensor, bins: int, range: Optional[List[float]], weight: Optional[Tensor], density: bool
) -> Tuple[Tensor, Tensor]:
    _need_histogram(input, weight)
    if bins <= 0:
        raise RuntimeError(f"histogram(): bins must be > 0, but got {bins}")
    flat = input.reshape(-1)
    edges = histogram_edges(flat, bins, range)
    return histogram_of(flat.reshape(-1, 1), [edges], weight, density), edges


@aten(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, "
    "Tensor bin_edges)"
)
def histogram_of_edges(
    input: Tensor, bins: Tensor, weight: Optional[Tensor], density: bool
) -> Tuple[Tensor, Tensor]:
    _need_histogram(input, weight)
    if bins.dtype != input.dtype:
        raise RuntimeError("torch.histogram: input tensor and bins tensors should have the same dtype")
    return histogram_of(input.reshape(-1, 1), [bins], weight, density), bins


# ---- others --------------------------------------------------------------------------------------------------
@aten("pdist(Tensor self, float p=2.) -> Tensor")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances of all pairs of rows of input[N, D], N * (N - 1) / 2 of them: of 0 and 1, 0 and 2, …"""
    need_tensor("pdist", input)
    if input.dim() != 2:
        raise DTypeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows = _weft.arange(input.shape[0])
    pairs = _weft.nonzero(rows.unsqueeze(1) < rows)
    first = _weft.index_select(input, 0, _weft.select(pairs, 1, 0))
    second = _weft.index_select(input, 0, _weft.select(pairs, 1, 1))
    return _weft.vector_norm(first - second, float(p), [1])


@aten("nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor")
def nonzero_static(input: Tensor, size: int, fill_value: int) -> Tensor:
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = _weft.nonzero(input)[:size]
    missing = _weft.full([size - found.shape[0], input.dim()], fill_value, dtype=_weft.int64)
    return _weft.cat([found, missing], 0)


@aten("cdist(Tensor x1, Tensor x2, float p=2.0, int? compute_mode=None) -> Tensor")
def cdist(x1: Tensor, x2: Tensor, p: float) -> Tensor:
    """The p-norm distances between the rows of two (batches of) matrices."""
    return _weft.cdist(x1, x2, p)


# ---- places in sorted sequences ------------------------------------------------------------------------------
@aten(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, "
    "Tensor? sorter=None) -> Tensor"
)
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    out_int32: bool,
    right: bool,
    side: Optional[str],
    sorter: Optional[Tensor],
) -> Tensor:
    if side is not None:
        if side != "left" and side != "right":
            raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
        if side == "left" and right:
            raise RuntimeError(
                "searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
        right = side == "right"
    if sorter is not None:
        if list(sorter.shape) != list(sorted_sequence.shape):
            raise RuntimeError("searchsorted(): boundary and sorter must have the same size")
        sorted_sequence = _weft.gather(sorted_sequence, -1, sorter)
    found = _weft.searchsorted(sorted_sequence, input, right=right)
    return found.to(_weft.int32) if out_int32 else found


@aten(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, "
    "Tensor? sorter=None) -> Tensor"
)
def searchsorted_number(
    sorted_sequence: Tensor,
    input: number,
    out_int32: bool,
    right: bool,
    side: Optional[str],
    sorter: Optional[Tensor],
) -> Tensor:
    return searchsorted(sorted_sequence, _weft.full([], input), out_int32, right, side, sorter)


@aten("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
def bucketize(input: Tensor, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    """The number of the bucket between boundaries that each value falls in."""
    if boundaries.dim() != 1:
        raise RuntimeError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return searchsorted(boundaries, input, out_int32, right, None, None)


@aten("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
def bucketize_number(input: number, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    return bucketize(_weft.full([], input), boundaries, out_int32, right)
