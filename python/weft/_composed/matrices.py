"""Systems of equations by factors, pseudo-inverses, rank."""

from typing import Optional, Tuple

import weft as _weft
from weft import Tensor, _autocast

from . import aten
from .checks import is_half, is_inexact, need_tensor
from .shapes import common_shape


def transposed(x: Tensor) -> Tensor:
    """The matrices' transposes, a view."""
    return x.transpose(-2, -1)


def adjoint_of(x: Tensor) -> Tensor:
    """The matrices' conjugate transposes."""
    return _weft.conj(x).transpose(-2, -1)


def columns(x: Tensor) -> Tensor:
    """The matrices column after column in memory, as LAPACK gives them."""
    return x.transpose(-2, -1).contiguous().transpose(-2, -1)


def need_matrices(
    function: str, x: Tensor, name: str = "A", square: bool = False, half: bool = False
) -> Tensor:
    """The tensor, if it is a batch of (square) matrices of a dtype that can be decomposed."""
    need_tensor(function, x, name)
    if x.dim() < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{function}: {name} must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    if not is_inexact(x):
        raise NotImplementedError(
            f"{function}: Expected a floating point or complex tensor as input. Got {x.dtype}"
        )
    if not half and is_half(x):
        raise NotImplementedError(f"{function}: Low precision dtypes not supported. Got {x.dtype}")
    return x


def need_same_dtype(function: str, a: Tensor, b: Tensor, name: str = "B") -> None:
    need_tensor(function, b, name, 2)
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{function}: Expected A and {name} to have the same dtype, got {a.dtype} and {b.dtype}"
        )


def broadcast_batch(function: str, a: Tensor, b: Tensor) -> Tuple[Tensor, Tensor]:
    """Both with one batch shape before their last two dimensions."""
    batch = common_shape(function, list(a.shape[:-2]), list(b.shape[:-2]))
    return a.expand(batch + list(a.shape[-2:])), b.expand(batch + list(b.shape[-2:]))


# ---- triangular systems --------------------------------------------------------------------------------------
@aten(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor"
)
def solve_triangular(
    A: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    need_matrices("linalg.solve_triangular", A, square=True)
    need_matrices("linalg.solve_triangular", B, "B")
    need_same_dtype("linalg.solve_triangular", A, B)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {equation} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    a, b = broadcast_batch("linalg.solve_triangular", A, B)
    if left:
        return columns(_weft.solve_triangular(a, b, upper, unitriangular))
    return columns(transposed(_weft.solve_triangular(transposed(a), transposed(b), not upper, unitriangular)))


@aten(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)"
)
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Tuple[Tensor, Tensor]:
    need_matrices("triangular_solve", A, square=True)
    need_tensor("triangular_solve", b)
    if b.dim() < 2:
        raise RuntimeError(
            f"torch.triangular_solve: Expected b to have at least 2 dimensions, but it has {b.dim()} dimensions"
        )
    a, right = broadcast_batch("triangular_solve", A, b)
    x = solve_triangular(transposed(a) if transpose else a, right, upper != transpose, True, unitriangular)
    return x, columns(a)


@aten("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    if B.dim() < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {B.dim()} dimensions instead")
    if L.dim() < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {L.dim()} dimensions instead")
    need_matrices("cholesky_solve", L, square=True)
    need_same_dtype("cholesky_solve", L, B)
    if B.shape[-2] != L.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by {L.shape[-1]} but each b "
            f"matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    L, B = broadcast_batch("cholesky_solve", L, B)
    adjoint = adjoint_of(L)
    inner = _weft.solve_triangular(adjoint if upper else L, B, False)
    return columns(_weft.solve_triangular(L if upper else adjoint, inner, True))


def identity_like(x: Tensor) -> Tensor:
    return _weft.eye(x.shape[-1], dtype=x.dtype).expand(x.shape)


@aten("cholesky_inverse(Tensor self, bool upper=False) -> Tensor")
def cholesky_inverse(L: Tensor, upper: bool) -> Tensor:
    need_matrices("cholesky_inverse", L, "L", square=True)
    return cholesky_solve(identity_like(L), L, upper)


# ---- LU ------------------------------------------------------------------------------------------------------
def _need_pivot(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@aten(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)"
)
@aten(
    "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)"
)
def lu_factor_ex(A: Tensor, pivot: bool, check_errors: bool) -> Tuple[Tensor, Tensor, Tensor]:
    need_matrices("torch.lu_factor_ex", A)
    _need_pivot(pivot)
    LU, pivots, info = _weft.lu_factor(A, check_errors)
    return columns(LU), pivots, info


@aten("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)")
def linalg_det(A: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    LU, pivots, info = lu_factor_ex(A, True, False)
    return _weft.det(A), LU, pivots


@aten("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)")
def linalg_slogdet(A: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    LU, pivots, info = lu_factor_ex(A, True, False)
    sign, logabsdet = _weft.slogdet(A)
    return sign, logabsdet, LU, pivots


@aten("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)")
def lu_factor(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor]:
    LU, pivots, info = lu_factor_ex(A, pivot, True)
    return LU, pivots


def _unpacked(LU: Tensor) -> Tuple[Tensor, Tensor]:
    m, least = LU.shape[-2], min(LU.shape[-2], LU.shape[-1])
    lower = _weft.tril(_weft.narrow(LU, -1, 0, least), -1) + _weft.eye(m, least, dtype=LU.dtype)
    return lower, _weft.triu(_weft.narrow(LU, -2, 0, least))


def _permutation(pivots: Tensor, m: int) -> Tensor:
    """Whether P[*B, m, m] with A = P L U is 1, of exchanges from 1."""
    position = _weft.arange(m)
    order = position.expand(list(pivots.shape[:-1]) + [m])
    for i in range(pivots.shape[-1]):
        other = (pivots[..., i : i + 1] - 1).to(_weft.int64)
        mine = order[..., i : i + 1]
        theirs = _weft.gather(order, order.dim() - 1, other)
        order = _weft.where(position == other, mine, order)
        order = _weft.where(position == i, theirs, order)
    return order.unsqueeze(-2) == position.unsqueeze(-1)


@aten(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, "
    "Tensor U)"
)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool
) -> Tuple[Tensor, Tensor, Tensor]:
    if unpack_pivots and LU_pivots.dtype != _weft.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype."
        )
    nothing = _weft.zeros([0], dtype=LU_data.dtype)
    P, L, U = nothing, nothing, nothing
    if unpack_pivots:
        P = _permutation(LU_pivots, LU_data.shape[-2]).to(LU_data.dtype)
    if unpack_data:
        L, U = _unpacked(LU_data)
    return P, L, U


@aten("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)")
def lu(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor, Tensor]:
    need_matrices("linalg.lu", A)
    _need_pivot(pivot)
    LU, pivots, info = _weft.lu_factor(A)
    return lu_unpack(LU, pivots, True, True)


@aten("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor")
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    need_matrices("torch.linalg.lu_solve", LU, "LU", square=True)
    need_same_dtype("linalg.lu_solve", LU, B)
    b = B if left else adjoint_of(B)
    if b.dim() < 2 or b.shape[-2] != LU.shape[-1]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B ({list(LU.shape)} and {list(B.shape)})"
        )
    LU, b = broadcast_batch("linalg.lu_solve", LU, b)
    x = _weft.lu_solve(LU, pivots.expand(list(LU.shape[:-1])), b, adjoint == left)
    return columns(x) if left else transposed(columns(_weft.conj(x)))


@aten("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor")
@_autocast.float32
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return linalg_lu_solve(LU_data, LU_pivots, b, True, False)


# ---- of singular values --------------------------------------------------------------------------------------
def _limit(
    function: str, x: Tensor, largest: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor]
) -> Tensor:
    """The size up to which singular values count as zero."""
    for value in [atol, rtol]:
        if value is not None:
            if value.is_complex():
                raise RuntimeError(
                    f"{function}: a tolerance of complex type is not supported. Got {value.dtype}"
                )
    epsilon = 2.0**-52 if largest.dtype == _weft.float64 else 2.0**-23
    default = largest * (max(x.shape[-2], x.shape[-1]) * epsilon)
    if rtol is not None:
        relative = rtol * largest
    elif atol is not None:
        relative = _weft.where(atol > 0, 0.0 * largest, default)
    else:
        relative = default
    return relative if atol is None else _weft.maximum(relative, atol + 0 * relative)


def tolerance(value: Optional[float], x: Tensor) -> Optional[Tensor]:
    """A tolerance as a tensor of the dtype of x' singular values."""
    if value is None:
        return None
    wide = x.dtype == _weft.float64 or x.dtype == _weft.complex128
    return _weft.full([], value, dtype=_weft.float64 if wide else _weft.float32)


@aten(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> "
    "Tensor"
)
def matrix_rank(A: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool) -> Tensor:
    need_matrices("linalg.matrix_rank", A, square=hermitian)
    if A.numel() == 0:
        return _weft.zeros(list(A.shape[:-2]), dtype=_weft.int64)
    sizes = _weft.abs(_weft.eigvalsh(A)) if hermitian else _weft.svdvals(A)
    limit = _limit("torch.linalg.matrix_rank", A, _weft.amax(sizes, [-1]), atol, rtol)
    return (sizes > limit.unsqueeze(-1)).sum(-1)


@aten(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor"
)
def matrix_rank_by(A: Tensor, atol: Optional[float], rtol: Optional[float], hermitian: bool) -> Tensor:
    return matrix_rank(A, tolerance(atol, A), tolerance(rtol, A), hermitian)


@aten("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor")
def matrix_rank_above(A: Tensor, tol: float, hermitian: bool) -> Tensor:
    return matrix_rank_by(A, tol, 0.0, hermitian)


@aten(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor"
)
def pinv(A: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool) -> Tensor:
    if A.dim() < 2 or not is_inexact(A) or is_half(A):
        raise RuntimeError(
            f"linalg.pinv({A.dtype}{list(A.shape)}): expected a tensor with 2 or more dimensions of float, double, cfloat or "
            "cdouble types"
        )
    if hermitian:
        need_matrices("linalg.pinv", A, square=True)
    if A.numel() == 0:
        return _weft.zeros(list(A.shape[:-2]) + [A.shape[-1], A.shape[-2]], dtype=A.dtype)
    if hermitian:
        values, vectors = _weft.eigh(A)
        left, right = vectors, adjoint_of(vectors)
        sizes = _weft.abs(values)
    else:
        U, values, Vh = _weft.svd(A, False)
        left, right = adjoint_of(Vh), adjoint_of(U)
        sizes = values
    keep = sizes > _limit("torch.linalg.pinv", A, _weft.amax(sizes, [-1]), atol, rtol).unsqueeze(-1)
    inverse = _weft.where(
        keep, 1 / _weft.where(keep, values, _weft.ones_like(values)), _weft.zeros_like(values)
    )
    return _weft.matmul(left * inverse.unsqueeze(-2).to(left.dtype), right)


@aten(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor"
)
def pinv_by(A: Tensor, atol: Optional[float], rtol: Optional[float], hermitian: bool) -> Tensor:
    return pinv(A, tolerance(atol, A), tolerance(rtol, A), hermitian)


@aten("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor")
def pinv_of(A: Tensor, rcond: float, hermitian: bool) -> Tensor:
    return pinv_by(A, None, rcond, hermitian)


@aten("pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor")
@_autocast.float32
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """torch.pinverse: linalg.pinv with a relative bound of 1e-15."""
    need_tensor("pinverse", input)
    return pinv_by(input, None, rcond, False)
