"""Distinct elements and slices."""

from typing import Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten
from .checks import dimension


def _run_starts(rows: Tensor) -> Tensor:
    """Whether each row of [n, m] differs from the one before it."""
    changed = (rows[1:] != rows[:-1]).any(1)
    return _weft.cat([_weft.ones([min(rows.shape[0], 1)], dtype=_weft.bool), changed], 0)


def _runs(starts: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """The number of the run that each element is in, the positions of first elements, and lengths."""
    first = _weft.nonzero(starts).reshape(-1)
    numbers = _weft.cumsum(starts, 0) - 1
    end = _weft.full([min(starts.shape[0], 1)], starts.shape[0], dtype=_weft.int64)
    return numbers, first, _weft.cat([first[1:], end], 0) - first


def _rows(function: str, input: Tensor, dim: int) -> Tensor:
    """[n, m]: slices along `dim`, flattened."""
    count = input.shape[dim]
    if count > 0 and input.numel() == 0:
        raise RuntimeError(
            f"{function}: There are 0 sized dimensions, and they aren't selected, so unable to apply unique"
        )
    width = input.numel() // count if count > 0 else 0
    return input.movedim(dim, 0).reshape(count, width)


def _slices(input: Tensor, dim: int, positions: Tensor) -> Tensor:
    """Slices of a dimension, which lies widest in memory."""
    return _weft.index_select(input.movedim(dim, 0), 0, positions).movedim(0, dim)


def _inverse(order: Tensor, numbers: Tensor) -> Tensor:
    return _weft.scatter(_weft.zeros_like(order), 0, order, numbers) if order.shape[0] > 0 else order


def distinct(input: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """The distinct elements in order, which of them each element is, and how often each occurs."""
    ordered, order = _weft.sort(input.reshape(-1), dim=0, stable=True)
    numbers, first, lengths = _runs(_run_starts(ordered.reshape(-1, 1)))
    return _weft.take(ordered, first), _inverse(order, numbers).reshape(input.shape), lengths


def distinct_slices(input: Tensor, dim: int) -> Tuple[Tensor, Tensor, Tensor]:
    """The same of slices of a dimension."""
    dim = dimension("unique", dim, input.dim())
    if input.dim() == 0:
        values, inverse, lengths = distinct(input.reshape(1))
        return values.reshape([]), inverse, lengths
    rows = _rows("unique", input, dim)
    order = _weft.arange(rows.shape[0])
    # Sorted by the last column first: what is equal keeps its order.
    for column in range(rows.shape[1] - 1, -1, -1):
        keys = _weft.take(_weft.select(rows, 1, column), order)
        order = _weft.take(order, _weft.argsort(keys, dim=0, stable=True))
    numbers, first, lengths = _runs(_run_starts(_weft.index_select(rows, 0, order)))
    return _slices(input, dim, _weft.take(order, first)), _inverse(order, numbers), lengths


def runs(input: Tensor, dim: Optional[int]) -> Tuple[Tensor, Tensor, Tensor]:
    """The first of every run of equal elements, or of equal slices of a dimension; run numbers and lengths."""
    if dim is None:
        flat = input.reshape(-1)
        numbers, first, lengths = _runs(_run_starts(flat.reshape(-1, 1)))
        return _weft.take(flat, first), numbers.reshape(input.shape), lengths
    dim = dimension("unique_consecutive", dim, input.dim())
    numbers, first, lengths = _runs(_run_starts(_rows("unique_consecutive", input, dim)))
    return _slices(input, dim, first), numbers, lengths


# ---- builtins, which give empty tensors for what is not asked for ---------------------------------------------
def _chosen(
    values: Tensor, inverse: Tensor, counts: Tensor, return_inverse: bool, return_counts: bool
) -> Tuple[Tensor, Tensor, Tensor]:
    nothing = _weft.zeros([0], dtype=_weft.int64)
    return values, inverse if return_inverse else nothing, counts if return_counts else nothing


@aten(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)"
)
def unique_three(
    input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool
) -> Tuple[Tensor, Tensor, Tensor]:
    values, inverse, counts = distinct(input)
    return _chosen(values, inverse, counts, return_inverse, return_counts)


@aten("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)")
def unique_two(input: Tensor, sorted: bool, return_inverse: bool) -> Tuple[Tensor, Tensor]:
    values, inverse, counts = unique_three(input, sorted, return_inverse, False)
    return values, inverse


@aten(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
    "(Tensor, Tensor, Tensor)"
)
def unique_dim(
    input: Tensor, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> Tuple[Tensor, Tensor, Tensor]:
    values, inverse, counts = distinct_slices(input, dim)
    return _chosen(values, inverse, counts, return_inverse, return_counts)


@aten(
    "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
    "Tensor, Tensor)"
)
@aten(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
    "(Tensor, Tensor, Tensor)"
)
def unique_consecutive(
    input: Tensor, return_inverse: bool, return_counts: bool, dim: Optional[int]
) -> Tuple[Tensor, Tensor, Tensor]:
    values, inverse, counts = runs(input, dim)
    return _chosen(values, inverse, counts, return_inverse, return_counts)
