"""Norms of vectors and matrices, condition numbers."""

import math
from typing import List, Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten, number
from .checks import is_half, is_inexact, need_floating, need_tensor
from .matrices import identity_like, need_matrices


def dimensions(function: str, x: Tensor, dims: List[int]) -> List[int]:
    """Dimensions counted from the front, once each."""
    rank = max(x.dim(), 1)
    for each in dims:
        if each < -rank or each >= rank:
            raise IndexError(
                f"{function}: Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {each})"
            )
    found = [each % rank for each in dims]
    for at, each in enumerate(found):
        if each in found[:at]:
            raise RuntimeError(f"{function}: dim {dims} appears multiple times in the list of dims")
    return found


def _converted(function: str, x: Tensor, dtype: Optional[int]) -> Tensor:
    if not is_inexact(x):
        raise NotImplementedError(
            f"{function}: Expected a floating point or complex tensor as input. Got {x.dtype}"
        )
    if dtype is None:
        return x
    if (dtype == _weft.complex64 or dtype == _weft.complex128) != x.is_complex():
        kind = "complex" if x.is_complex() else "real"
        raise RuntimeError(f"{function}: dtype should be {kind} for {x.dtype} inputs, but got {dtype}")
    return x.to(dtype)


# ---- of vectors ----------------------------------------------------------------------------------------------
@aten(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor"
)
def vector_norm(
    x: Tensor,
    ord: number,
    dim: Optional[List[int]] = None,
    keepdim: bool = False,
    dtype: Optional[int] = None,
) -> Tensor:
    x = _converted("linalg.vector_norm", x, dtype)
    over: Optional[List[int]] = None
    if dim is not None and len(dim) > 0:
        over = dimensions("linalg.vector_norm", x, dim)
    order = float(ord)
    if (order < 0 or order == math.inf) and x.numel() == 0:
        is_empty = x.dim() == 0
        for each in list(range(x.dim())) if over is None else over:
            is_empty = is_empty or x.shape[each] == 0
        if is_empty:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {order} norm on an empty tensor because the operation does not have "
                "an identity"
            )
    if x.dim() == 0:
        size = _weft.abs(x)
        return (size != 0).to(size.dtype) if order == 0 else size
    return _weft.vector_norm(x, order, over, keepdim)


@aten("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
def frobenius_norm(input: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    if len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return vector_norm(input, 2, dim, keepdim)


@aten("norm.Scalar(Tensor self, Scalar p=2) -> Tensor")
@aten("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor")
@aten(
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor"
)
@aten("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor")
def norm_over(
    input: Tensor,
    p: Optional[number],
    dim: Optional[List[int]] = None,
    keepdim: bool = False,
    *,
    dtype: Optional[int] = None,
) -> Tensor:
    return vector_norm(input, 2 if p is None else p, dim, keepdim, dtype)


@aten("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor")
def dist(input: Tensor, other: Tensor, p: number = 2) -> Tensor:
    """The norm of input - other."""
    need_tensor("dist", input)
    need_tensor("dist", other, "other", 2)
    difference = input - other
    if not is_inexact(difference):
        raise NotImplementedError(
            f"norm(): input dtype should be either floating point or complex. Got {difference.dtype} instead."
        )
    return vector_norm(difference, p)


@aten("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor")
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which is kept in its place; dim=-1: of all elements."""
    need_tensor("norm_except_dim", v)
    need_floating("norm_except_dim", v)
    if dim == -1:
        return _weft.vector_norm(v, float(pow))
    kept = dimensions("norm_except_dim", v, [dim])[0]
    axes = [axis for axis in range(v.dim()) if axis != kept]
    if len(axes) == 0:
        return _weft.vector_norm(v.reshape(-1, 1), float(pow), [1])
    return _weft.vector_norm(v, float(pow), axes, keepdim=True)


@aten("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor")
def weight_norm(v: Tensor, g: Tensor, dim: int) -> Tensor:
    return v * (g / norm_except_dim(v, 2, dim))


# ---- of matrices ---------------------------------------------------------------------------------------------
def _matrices(A: Tensor, dim: List[int]) -> List[int]:
    """The dimensions of the rows and the columns."""
    if A.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    found = dimensions("linalg.matrix_norm", A, dim[:1]) + dimensions("linalg.matrix_norm", A, dim[1:])
    if found[0] == found[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({found[0]}, {found[1]})")
    return found


def _of_singular_values(x: Tensor, over: List[int], keepdim: bool, reduction: str) -> Tensor:
    """Their sum, or the largest or smallest."""
    if is_half(x):
        raise NotImplementedError(f"linalg.svd: Low precision dtypes not supported. Got {x.dtype}")
    values = _weft.svdvals(_weft.movedim(x, over, [-2, -1]))
    if reduction == "sum":
        result = values.sum(-1)
    elif reduction == "largest":
        result = _weft.amax(values, [-1])
    else:
        result = _weft.amin(values, [-1])
    return result.unsqueeze(min(over)).unsqueeze(max(over)) if keepdim else result


@aten(
    'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? '
    "dtype=None) -> Tensor"
)
def named_matrix_norm(
    A: Tensor, ord: str, dim: List[int], keepdim: bool, dtype: Optional[int] = None
) -> Tensor:
    over = _matrices(A, dim)
    x = _converted("linalg.matrix_norm", A, dtype)
    if ord == "fro":
        return _weft.vector_norm(x, 2.0, over, keepdim)
    if ord != "nuc":
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return _of_singular_values(x, over, keepdim, "sum")


@aten(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor"
)
def matrix_norm(A: Tensor, ord: number, dim: List[int], keepdim: bool, dtype: Optional[int] = None) -> Tensor:
    """Norms 1 and inf of sums, and 2 of singular values: the largest, of negative orders the smallest."""
    over = _matrices(A, dim)
    rows, cols = over[0], over[1]
    x = _converted("linalg.matrix_norm", A, dtype)
    order = float(ord)
    size = abs(order)
    if size != 1 and size != 2 and size != math.inf:
        raise RuntimeError(f"linalg.matrix_norm: Order {order} not supported.")
    if x.numel() == 0 and order > 0 and (x.shape[rows] == 0 or x.shape[cols] == 0):
        return _weft.vector_norm(x, 1.0, over, keepdim)
    if size == 2:
        return _of_singular_values(x, over, keepdim, "largest" if order > 0 else "smallest")
    sums = _weft.vector_norm(x, 1.0, [rows if size == 1 else cols], True)
    rest = [cols if size == 1 else rows]
    result = _weft.amax(sums, rest, True) if order > 0 else _weft.amin(sums, rest, True)
    return result if keepdim else result.squeeze(max(rows, cols)).squeeze(min(rows, cols))


@aten(
    "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
)
def norm(
    A: Tensor, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]
) -> Tensor:
    """A vector's norm, or a matrix' where `dim` has two dimensions or the tensor has."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype)
    if dim is None and A.dim() > 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
        )
    if dim is not None and len(dim) != 1 and len(dim) != 2:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}")
    over = list(range(A.dim())) if dim is None else dim
    return (
        matrix_norm(A, ord, over, keepdim, dtype)
        if len(over) == 2
        else vector_norm(A, ord, over, keepdim, dtype)
    )


@aten(
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
)
def named_norm(A: Tensor, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if dim is None and A.dim() != 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
        )
    over = list(range(A.dim())) if dim is None else dim
    if len(over) != 2:
        raise RuntimeError(f"linalg.norm: If ord is a string, dim must be two dimensions, got {over}")
    return named_matrix_norm(A, ord, over, keepdim, dtype)


@aten("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor")
@aten("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor")
def nuclear_norm(input: Tensor, dim: Optional[List[int]] = None, keepdim: bool = False) -> Tensor:
    return named_matrix_norm(input, "nuc", [-2, -1] if dim is None else dim, keepdim)


# ---- condition numbers ---------------------------------------------------------------------------------------
def _no_conditions(A: Tensor) -> Tensor:
    return _weft.zeros(list(A.shape[:-2]), dtype=_weft.abs(A).dtype)


def _inverse_of(A: Tensor) -> Tuple[Tensor, Tensor]:
    """And where there is none: not 0."""
    LU, pivots, info = _weft.lu_factor(A)
    return _weft.lu_solve(LU, pivots, identity_like(A)), info


def _infinite(result: Tensor, info: Tensor) -> Tensor:
    return _weft.where(info != 0, _weft.full_like(result, math.inf), result)


@aten("linalg_cond(Tensor self, Scalar? p=None) -> Tensor")
def cond(A: Tensor, p: Optional[number]) -> Tensor:
    need_matrices("linalg.cond", A)
    order = 2.0 if p is None else float(p)
    size = abs(order)
    if size != 1 and size != 2 and size != math.inf:
        raise ValueError(f"linalg.cond got an invalid norm type: {order}")
    if size != 2:
        need_matrices(f"linalg.cond(ord={order})", A, square=True)
    if A.numel() == 0:
        return _no_conditions(A)
    if size == 2:
        values = _weft.svdvals(A)
        large, small = values[..., 0], values[..., -1]
        return small / large if order < 0 else large / small
    inverse, info = _inverse_of(A)
    result = matrix_norm(A, order, [-2, -1], False) * matrix_norm(inverse, order, [-2, -1], False)
    return _infinite(result, info)


@aten("linalg_cond.p_str(Tensor self, str p) -> Tensor")
def named_cond(A: Tensor, p: str) -> Tensor:
    need_matrices("linalg.cond", A)
    if p != "fro" and p != "nuc":
        raise ValueError(f"linalg.cond got an invalid norm type: {p}")
    need_matrices(f"linalg.cond(ord={p})", A, square=True)
    if A.numel() == 0:
        return _no_conditions(A)
    inverse, info = _inverse_of(A)
    result = named_matrix_norm(A, p, [-2, -1], False) * named_matrix_norm(inverse, p, [-2, -1], False)
    return _infinite(result, info)
