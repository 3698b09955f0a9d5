"""Sets, searching, counting and histograms with PyTorch's arguments and results."""

import weft as _weft
from weft import Tensor as _Tensor
from weft import return_types as _types
from weft._composed import indexing, sets
from weft.compiler import is_compiling

from ._support import (
    DTypeError,
    all_written,
    is_inexact,
    is_integer,
    need_tensor,
    of_number,
    refuse_bool,
    refuse_complex,
    written,
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
    for each in (elements, test_elements):
        if isinstance(each, _Tensor):
            refuse_complex("isin", each)
            refuse_bool("isin", each)
    if not isinstance(elements, _Tensor):
        found = indexing.number_isin(elements, test_elements, assume_unique, invert)
    elif not isinstance(test_elements, _Tensor):
        found = indexing.isin_number(elements, test_elements, assume_unique, invert)
    else:
        found = indexing.isin(elements, test_elements, assume_unique, invert)
    return written(out, found)


def _chosen(values, inverse, counts, return_inverse, return_counts):
    results = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return results if len(results) > 1 else values


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Distinct elements in order, or distinct slices of a dimension; where each is among them, how often it occurs."""
    need_tensor("unique", input)
    found = sets.distinct(input) if dim is None else sets.distinct_slices(input, dim)
    return _chosen(*found, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of every run of equal elements, or of equal slices of a dimension; run numbers and lengths."""
    need_tensor("unique_consecutive", input)
    return _chosen(*sets.runs(input, dim), return_inverse, return_counts)


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


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Positions at which values would keep the last dimension of a sequence sorted."""
    need_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    values = input if isinstance(input, _Tensor) else of_number(input)
    return written(out, indexing.searchsorted(sorted_sequence, values, out_int32, right, side, sorter))


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The number of the bucket between boundaries that each value falls in."""
    need_tensor("bucketize", boundaries, "boundaries", 2)
    values = input if isinstance(input, _Tensor) else of_number(input)
    return written(out, indexing.bucketize(values, boundaries, out_int32, right))


def bincount(input, weights=None, minlength=0):
    """How often each value from 0 to the largest occurs, or the sums of its weights."""
    need_tensor("bincount", input)
    counts = _weft.bincount(input, weights, minlength)
    return counts.to(_weft.float32) if weights is not None and weights.dtype == _weft.float32 else counts


def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """Counts, or sums of weights, in bins, and the edges of the bins: as many equal ones, or between edges."""
    need_tensor("histogram", input)
    if isinstance(bins, _Tensor):
        found = indexing.histogram_of_edges(input, bins, weight, density)
    else:
        found = indexing.histogram_of_count(input, bins, range, weight, density)
    return all_written(out, _types.histogram(*found))


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
        edges.append(
            each if isinstance(each, _Tensor) else indexing.histogram_edges(rows[:, axis], each, given)
        )
    return _types.histogramdd(indexing.histogram_of(rows, edges, weight, density), tuple(edges))


def histc(input, bins=100, min=0, max=0, *, out=None):
    """How many elements lie in each of equal bins from min to max; both equal: from the least to the greatest."""
    return written(out, _counts_in_bins(input, bins, min, max))


def _counts_in_bins(input, bins, min, max):
    if min == max or bins <= 0 or not input.is_floating_point() or not is_compiling():
        return _weft.histc(input, bins, min, max)
    # Of a range that is known the operators that graphs hold tell the same, each of them rounded to the dtype.
    values = input.flatten()
    low, high, size = (_weft.tensor(each, dtype=values.dtype) for each in (min, max, float(bins)))
    is_counted = (values >= low) & (values <= high)
    position = _weft.where(is_counted, (values - low) * size / (high - low), 0.0).long().clamp(max=bins - 1)
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
