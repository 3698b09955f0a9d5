"""Functions of torch whose arguments differ in kind, as scripts call them: a source for each way to call."""

from typing import List, Optional, Tuple

import weft
from weft import Tensor
from weft._composed import shapes


def _tensordot_of_pair(
    a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None
) -> Tensor:
    if out is not None:
        raise RuntimeError("tensordot: out= in a script: copy_() the result")
    return shapes.tensordot(a, b, dims[0], dims[1])


def _tensordot_of_lists(a: Tensor, b: Tensor, dims: List[List[int]], out: Optional[Tensor] = None) -> Tensor:
    return _tensordot_of_pair(a, b, (dims[0], dims[-1]), out)


def _tensordot_of_count(a: Tensor, b: Tensor, dims: int = 2, out: Optional[Tensor] = None) -> Tensor:
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    return _tensordot_of_pair(a, b, ([i - dims for i in range(dims)], list(range(dims))), out)


# ---- norm ------------------------------------------------------------------------------------------------------------


def _norm(
    input: Tensor, p: float, dim: Optional[List[int]] = None, keepdim: bool = False, out: Optional[Tensor] = None,
    dtype: Optional[int] = None
) -> Tensor:  # fmt: skip
    if out is not None:
        raise RuntimeError("norm: out= in a script: copy_() the result")
    return weft.ops.aten.linalg_vector_norm(input, p, dim, keepdim, dtype=dtype)


def _norm_over_one(
    input: Tensor,
    p: float,
    dim: int,
    keepdim: bool = False,
    out: Optional[Tensor] = None,
    dtype: Optional[int] = None,
) -> Tensor:
    return _norm(input, p, [dim], keepdim, out, dtype)


def _norm_by_name(
    input: Tensor, p: str = "fro", dim: Optional[List[int]] = None, keepdim: bool = False, out: Optional[Tensor] = None,
    dtype: Optional[int] = None
) -> Tensor:  # fmt: skip
    if p == "nuc":
        dims = [0, 1] if dim is None else dim
        return weft.ops.aten.linalg_matrix_norm(input, p, dims, keepdim, dtype=dtype)
    if p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    return _norm(input, 2.0, dim, keepdim, out, dtype)


def _norm_by_name_over_one(
    input: Tensor,
    p: str,
    dim: int,
    keepdim: bool = False,
    out: Optional[Tensor] = None,
    dtype: Optional[int] = None,
) -> Tensor:
    return _norm_by_name(input, p, [dim], keepdim, out, dtype)


# ---- unique: what is returned is a matter of which flags are given ------------------------------------------------------


def _all_of_unique(
    input: Tensor, sorted: bool, wanted: Tuple[bool, bool], dim: Optional[int]
) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        return weft.ops.aten.unique_dim(input, dim, sorted, wanted[0], wanted[1])
    return weft.ops.aten._unique2(input, sorted, wanted[0], wanted[1])


def _needs(given: bool):
    if not given:
        raise RuntimeError("unique, unique_consecutive: a flag that a script gives is True, or left out")


def _unique_values(input: Tensor, sorted: bool = True, *, dim: Optional[int] = None) -> Tensor:
    return _all_of_unique(input, sorted, (False, False), dim)[0]


def _unique_inverse(
    input: Tensor, sorted: bool = True, *, return_inverse: bool, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    _needs(return_inverse)
    values, inverse, _ = _all_of_unique(input, sorted, (True, False), dim)
    return values, inverse


def _unique_counts(
    input: Tensor, sorted: bool = True, *, return_counts: bool, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    _needs(return_counts)
    values, _, counts = _all_of_unique(input, sorted, (False, True), dim)
    return values, counts


def _unique_all(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: bool,
    return_counts: bool,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    _needs(return_inverse and return_counts)
    return _all_of_unique(input, sorted, (True, True), dim)


def _consecutive(input: Tensor, *, dim: Optional[int] = None) -> Tensor:
    return weft.ops.aten.unique_consecutive(input, False, False, dim)[0]


def _consecutive_inverse(
    input: Tensor, *, return_inverse: bool, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    _needs(return_inverse)
    values, inverse, _ = weft.ops.aten.unique_consecutive(input, True, False, dim)
    return values, inverse


def _consecutive_counts(
    input: Tensor, *, return_counts: bool, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    _needs(return_counts)
    values, _, counts = weft.ops.aten.unique_consecutive(input, False, True, dim)
    return values, counts


def _consecutive_all(
    input: Tensor, *, return_inverse: bool, return_counts: bool, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor, Tensor]:
    _needs(return_inverse and return_counts)
    return weft.ops.aten.unique_consecutive(input, True, True, dim)


# A function's name in its file, and what a call takes the first of that fits.
FORMS = {
    "tensordot": [_tensordot_of_count, _tensordot_of_pair, _tensordot_of_lists],
    "old_norm": [_norm_by_name, _norm_by_name_over_one, _norm, _norm_over_one],
    "unique": [_unique_values, _unique_inverse, _unique_counts, _unique_all],
    "unique_consecutive": [_consecutive, _consecutive_inverse, _consecutive_counts, _consecutive_all],
}
