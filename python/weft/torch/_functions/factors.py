"""torch.linalg: factors of matrices (LU, Cholesky, LDL, QR), and systems of equations."""

import weft as _weft
from weft import _autocast
from weft._composed import matrices
from weft.return_types import LinAlgError

from ._numeric import (
    adjoint_of,
    all_written,
    broadcast_batch,
    columns,
    first_failure,
    named,
    need_matrices,
    need_same_dtype,
    need_tensor,
    transposed,
    written,
)

linalg_cholesky_ex = named("linalg_cholesky_ex", "L info")
linalg_inv_ex = named("linalg_inv_ex", "inverse info")
linalg_ldl_factor = named("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = named("linalg_ldl_factor_ex", "LD pivots info")
linalg_lu = named("linalg_lu", "P L U")
linalg_lu_factor = named("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = named("linalg_lu_factor_ex", "LU pivots info")
linalg_qr = named("linalg_qr", "Q R")
linalg_solve_ex = named("linalg_solve_ex", "result info")
lu_and_info = named("_lu_with_info", "LU pivots info")
lu_unpacked = named("lu_unpack", "P L U")
geqrf_factors = named("geqrf", "a tau")
triangular_solution = named("triangular_solve", "solution cloned_coefficient")


# ---- Cholesky ----
def _not_positive(function, info):
    failure = first_failure(info)
    if failure:
        raise LinAlgError(
            f"{function}: {failure[0]}The factorization could not be completed because the input is not positive-definite "
            f"(the leading minor of order {failure[1]} is not positive-definite)."
        )


@_autocast.float32
def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """The triangular factor L with L L^H = A, and where it fails: no error."""
    need_matrices("linalg.cholesky_ex" if check_errors else "linalg.cholesky", A, square=True)
    factor, info = _weft.cholesky_ex(adjoint_of(A) if upper else A)
    if check_errors:
        _not_positive("linalg.cholesky_ex", info)
    factor = columns(adjoint_of(factor) if upper else factor)
    return all_written(out, linalg_cholesky_ex(factor, info))


@_autocast.float32
def cholesky(A, *, upper=False, out=None):
    """The lower (or upper) triangular factor of a positive-definite matrix."""
    need_matrices("linalg.cholesky", A, square=True)
    factor = _weft.cholesky(adjoint_of(A) if upper else A)
    return written(out, columns(adjoint_of(factor) if upper else factor))


@_autocast.float32
def cholesky_solve(input, L, upper=False, *, out=None):
    """x with A x = input, from A's Cholesky factor."""
    need_tensor("cholesky_solve", input)
    need_tensor("cholesky_solve", L, "input2", 2)
    return written(out, matrices.cholesky_solve(input, L, bool(upper)), own_dtype=False)


@_autocast.float32
def cholesky_inverse(L, upper=False, *, out=None):
    """The inverse of A, from its Cholesky factor."""
    return written(out, matrices.cholesky_inverse(L, bool(upper)), own_dtype=False)


# ---- LU ----
def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """LU factors in one matrix, the exchanges of rows, and where U has a zero on its diagonal: no error."""
    return all_written(out, linalg_lu_factor_ex(*matrices.lu_factor_ex(A, pivot, bool(check_errors))))


def lu_factor(A, *, pivot=True, out=None):
    """LU factors in one matrix, and the exchanges of rows; an error where U has a zero on its diagonal."""
    return all_written(out, linalg_lu_factor(*matrices.lu_factor(A, pivot)))


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None):
    """P, L and U of lu_factor's results; empty tensors for what is not asked for."""
    need_tensor("lu_unpack", LU_data, "LU_data")
    need_tensor("lu_unpack", LU_pivots, "LU_pivots", 2)
    return all_written(out, lu_unpacked(*matrices.lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)))


def lu(A, *, pivot=True, out=None):
    """P, L and U with A = P L U."""
    return all_written(out, linalg_lu(*matrices.lu(A, pivot)))


def lu_with_info(A, pivot=True, get_infos=False, out=None):
    """torch.lu: LU factors in one matrix, the exchanges of rows, and with `get_infos` where it fails."""
    LU, pivots, info = matrices.lu_factor_ex(A, pivot, not get_infos)
    results = (LU, pivots, info) if get_infos else (LU, pivots)
    return lu_and_info(*results) if get_infos and out is None else all_written(out, results)


def lu_method(self, pivot=True, get_infos=False):
    """torch.lu, without names of the results."""
    return tuple(lu_with_info(self, pivot, get_infos))


def lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """x with A x = B (or x A = B), from A's lu_factor."""
    return written(out, matrices.linalg_lu_solve(LU, pivots, B, bool(left), bool(adjoint)))


def lu_solve_of(b, LU_data, LU_pivots, *, out=None):
    """torch.lu_solve: linalg.lu_solve with its arguments reversed."""
    return written(out, matrices.lu_solve(b, LU_data, LU_pivots))


# ---- systems of equations, inverses ----
def _is_vector(A, B):
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


def _system(function, A, B, left):
    """The matrix and the right sides as batches of matrices; whether the result is a batch of vectors."""
    need_matrices(function, A, square=True)
    need_same_dtype(function, A, B)
    vector = _is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            f"{function}: Vector broadcasting of the left hand side is not supported for left=False."
        )
    right = B.unsqueeze(-1) if vector else B
    if right.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {right.shape[-2]}x{right.shape[-1]})"
        )
    return (*broadcast_batch(function, A, right), vector)


def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """x with A x = B (or x A = B), and where A is singular: no error."""
    a, b, vector = _system("linalg.solve", A, B, left)
    LU, pivots, info = _weft.lu_factor(a if left else transposed(a))
    if check_errors and first_failure(info):
        raise LinAlgError("torch.linalg.solve_ex: The solver failed because the input matrix is singular.")
    x = _weft.lu_solve(LU, pivots, b if left else transposed(b))
    x = columns(x) if left else transposed(columns(x))
    return all_written(out, linalg_solve_ex(x.squeeze(-1) if vector else x, info))


@_autocast.float32
def solve(A, B, *, left=True, out=None):
    """x with A x = B, or x A = B; a LinAlgError where A is singular."""
    a, b, vector = _system("linalg.solve", A, B, left)
    x = columns(_weft.solve(a, b)) if left else transposed(columns(_weft.solve(transposed(a), transposed(b))))
    return written(out, x.squeeze(-1) if vector else x)


@_autocast.float32
def inv_ex(A, *, check_errors=False, out=None):
    """The inverse, and where A is singular: no error."""
    need_matrices("linalg.inv_ex" if check_errors else "linalg.inv", A, square=True)
    LU, pivots, info = _weft.lu_factor(A)
    failure = first_failure(info) if check_errors else None
    if failure:
        raise LinAlgError(
            f"linalg.inv_ex: {failure[0]}The diagonal element {failure[1]} is zero, the inversion could not be completed "
            "because the input matrix is singular."
        )
    inverse = _weft.lu_solve(LU, pivots, matrices.identity_like(A))
    return all_written(out, linalg_inv_ex(columns(inverse), info))


@_autocast.float32
def inv(A, *, out=None):
    """The inverse; a LinAlgError where A is singular."""
    need_matrices("linalg.inv", A, square=True)
    return written(out, columns(_weft.inv(A)))


@_autocast.float32
def inverse(input, *, out=None):
    """torch.inverse: linalg.inv."""
    return inv(input, out=out)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """x with A x = B (or x A = B) for triangular A."""
    x = matrices.solve_triangular(A, B, bool(upper), bool(left), bool(unitriangular))
    return written(out, x)


@_autocast.float32
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """torch.triangular_solve: x with A x = b, and A."""
    found = matrices.triangular_solve(b, A, bool(upper), bool(transpose), bool(unitriangular))
    return all_written(out, triangular_solution(*found))


# ---- LDL ----
def ldl_factor_ex(A, *, hermitian=False, check_errors=False, out=None):
    """Factors of a symmetric or Hermitian matrix, in LAPACK's form, and where they fail: no error."""
    need_matrices("torch.linalg.ldl_factor_ex", A, square=True)
    LD, pivots, info = _weft.ldl_factor(A, hermitian, bool(check_errors))
    return all_written(out, linalg_ldl_factor_ex(columns(LD), pivots, info))


def ldl_factor(A, *, hermitian=False, out=None):
    """Factors of a symmetric or Hermitian matrix, in LAPACK's form."""
    LD, pivots, _ = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return all_written(out, linalg_ldl_factor(LD, pivots))


def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """x with A x = B, from A's ldl_factor."""
    need_matrices("torch.linalg.ldl_solve", LD, "LD", square=True)
    need_matrices("torch.linalg.ldl_solve", B, "B")
    need_same_dtype("torch.linalg.ldl_solve", LD, B)
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(f"linalg.ldl_solve: Incompatible shapes of A and B for the equation AX = B ({tuple(LD.shape)} and "
                           f"{tuple(B.shape)})")  # fmt: skip
    LD, B = broadcast_batch("torch.linalg.ldl_solve", LD, B)
    pivots = pivots.to(_weft.int32).expand(*LD.shape[:-1])
    return written(out, columns(_weft.ldl_solve(LD, pivots, B, hermitian)))


# ---- QR ----
@_autocast.float32
def qr(A, mode="reduced", *, out=None):
    """Q with orthonormal columns and upper triangular R with A = Q R."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    need_matrices("linalg.qr", A)
    Q, R = _weft.qr(A, mode == "complete")
    Q = _weft.empty(0, dtype=A.dtype) if mode == "r" else columns(Q)
    return all_written(out, linalg_qr(Q, columns(R)))


@_autocast.float32
def geqrf(input, *, out=None):
    """R, below it the vectors of the reflections that Q is made of, and their factors."""
    need_matrices("geqrf", input, "input")
    a, tau = _weft.geqrf(input)
    return all_written(out, geqrf_factors(columns(a), tau))


@_autocast.float32
def householder_product(input, tau, *, out=None):
    """The first columns of the product of reflections: Q, from geqrf's results."""
    function = "torch.linalg.householder_product"
    need_matrices(function, input, "input")
    need_tensor(function, tau, "tau", 2)
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{function}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.ndim != input.ndim - 1 or input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{function}: input.shape[-1] must be greater than or equal to tau.shape[-1], and tau must have one "
                           f"dimension less than input, got {tuple(input.shape)} and {tuple(tau.shape)}")  # fmt: skip
    if tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(f"{function}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                           f"{tuple(tau.shape)}")  # fmt: skip
    need_same_dtype(function, input, tau, "tau")
    return written(out, columns(_weft.householder_product(input, tau)), own_dtype=False)


@_autocast.float32
def orgqr(input, input2, *, out=None):
    """torch.orgqr: linalg.householder_product."""
    return householder_product(input, input2, out=out)


@_autocast.float32
def ormqr(input, tau, other, left=True, transpose=False, *, out=None):
    """The product of `other` with the whole Q of geqrf's results, or its adjoint."""
    need_matrices("torch.ormqr", input, "input")
    need_matrices("torch.ormqr", other, "other")
    need_tensor("torch.ormqr", tau, "tau", 2)
    m, count = other.shape[-2 if left else -1], tau.shape[-1]
    if input.shape[-2] != m or input.shape[-1] < count or count > m:
        raise RuntimeError(f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], got "
                           f"{tuple(other.shape)} and {tuple(input.shape)}")  # fmt: skip
    vectors = input[..., :count]
    if count < m:
        vectors = _weft.cat([vectors, _weft.zeros(*input.shape[:-2], m, m - count, dtype=input.dtype)], -1)
    Q = _weft.householder_product(vectors, tau)
    Q = adjoint_of(Q) if transpose else Q
    return written(out, columns(_weft.matmul(Q, other) if left else _weft.matmul(other, Q)))


# ---- what PyTorch has removed ----
def _removed(name, instead):
    def function(*args, **kwargs):
        raise RuntimeError(
            f"torch.{name}: this function was removed from PyTorch; use torch.linalg.{instead}"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises RuntimeError: PyTorch has torch.linalg.{instead} in its place."
    return function


removed_cholesky = _removed("cholesky", "cholesky")
removed_eig = _removed("eig", "eig")
removed_lstsq = _removed("lstsq", "lstsq")
removed_matrix_rank = _removed("matrix_rank", "matrix_rank")
removed_qr = _removed("qr", "qr")
removed_solve = _removed("solve", "solve")
removed_symeig = _removed("symeig", "eigh")
