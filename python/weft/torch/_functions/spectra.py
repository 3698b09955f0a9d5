"""Eigenvalues, singular values, least squares, determinants, and approximations of low rank."""

import math

import weft as _weft
from weft import _autocast

from ._numeric import (
    adjoint_of,
    all_written,
    broadcast_batch,
    columns,
    named,
    need_matrices,
    need_same_dtype,
    need_tensor,
    real_dtype,
    transposed,
    written,
)

linalg_eig = named("linalg_eig", "eigenvalues eigenvectors")
linalg_eigh = named("linalg_eigh", "eigenvalues eigenvectors")
linalg_svd = named("linalg_svd", "U S Vh")
linalg_slogdet = named("linalg_slogdet", "sign logabsdet")
linalg_lstsq = named("linalg_lstsq", "solution residuals rank singular_values")
old_svd_result = named("svd", "U S V")
slogdet_result = named("slogdet", "sign logabsdet")


@_autocast.float32
def eig(A, *, out=None):
    """Eigenvalues and eigenvectors, complex."""
    values, vectors = _weft.eig(need_matrices("linalg.eig", A, square=True))
    return all_written(out, linalg_eig(values, columns(vectors)))


@_autocast.float32
def eigvals(A, *, out=None):
    """Eigenvalues, complex."""
    return written(out, _weft.eigvals(need_matrices("linalg.eigvals", A, square=True)), own_dtype=False)


def _upper(UPLO):
    if not isinstance(UPLO, str):
        raise TypeError(f"argument 'UPLO' must be str, not {type(UPLO).__name__}")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


@_autocast.float32
def eigh(A, UPLO="L", *, out=None):
    """Ascending eigenvalues, and eigenvectors, of symmetric or Hermitian matrices."""
    values, vectors = _weft.eigh(need_matrices("linalg.eigh", A, square=True), _upper(UPLO))
    return all_written(out, linalg_eigh(values, columns(vectors)))


@_autocast.float32
def eigvalsh(A, UPLO="L", *, out=None):
    """Ascending eigenvalues of symmetric or Hermitian matrices."""
    return written(out, _weft.eigvalsh(need_matrices("linalg.eigvalsh", A, square=True), _upper(UPLO)))


def _no_driver(function, driver):
    if driver is not None:
        raise RuntimeError(
            f"torch.{function}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@_autocast.float32
def svd(A, full_matrices=True, *, driver=None, out=None):
    """U, the singular values, and V^H."""
    _no_driver("linalg.svd", driver)
    U, S, Vh = _weft.svd(need_matrices("linalg.svd", A), full_matrices)
    return all_written(out, linalg_svd(columns(U), S, columns(Vh)))


@_autocast.float32
def svdvals(A, *, driver=None, out=None):
    """Singular values, descending."""
    _no_driver("linalg.svd", driver)
    return written(out, _weft.svdvals(need_matrices("linalg.svdvals", A)))


@_autocast.float32
def old_svd(input, some=True, compute_uv=True, *, out=None):
    """torch.svd: U, the singular values, and V; zeros for U and V unless `compute_uv`."""
    need_matrices("linalg.svd", input, "A")
    if not compute_uv:
        m, n = input.shape[-2], input.shape[-1]
        U = _weft.zeros(*input.shape[:-2], m, m, dtype=input.dtype)
        V = transposed(_weft.zeros(*input.shape[:-2], n, n, dtype=input.dtype))
        return all_written(out, old_svd_result(U, _weft.svdvals(input), V))
    U, S, Vh = _weft.svd(input, not some)
    return all_written(out, old_svd_result(columns(U), S, adjoint_of(Vh).contiguous()))


# ---- determinants ----
def det(A, *, out=None):
    """Determinants."""
    return written(out, _weft.det(need_matrices("linalg.det", A, square=True)))


def slogdet(A, *, out=None):
    """The sign of the determinant and the logarithm of its size."""
    return all_written(out, linalg_slogdet(*_weft.slogdet(need_matrices("linalg.slogdet", A, square=True))))


def old_slogdet(input, *, out=None):
    """torch.slogdet: linalg.slogdet."""
    return all_written(
        out, slogdet_result(*_weft.slogdet(need_matrices("linalg.slogdet", input, square=True)))
    )


def logdet(input):
    """The logarithm of the determinant: -inf where it is zero, NaN where it is negative."""
    sign, size = _weft.slogdet(need_matrices("logdet", input, square=True))
    if input.is_complex():
        return _weft.log(sign) + size
    return _weft.where(sign == -1, _weft.full_like(size, math.nan), size)


# ---- least squares ----
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@_autocast.float32
def lstsq(A, B, rcond=None, *, driver=None, out=None):
    """The x of least norm that minimizes the norm of A x - B; residuals, rank and singular values as the driver has them."""
    need_matrices("torch.linalg.lstsq", A, "input")
    need_tensor("torch.linalg.lstsq", B, "other", 2)
    if B.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    need_same_dtype("torch.linalg.lstsq", A, B, "other")
    driver = driver or "gelsy"
    vector = A.ndim - 1 == B.ndim and tuple(A.shape[:-1]) == tuple(B.shape)
    b = B.unsqueeze(-1) if vector else B
    if not vector and (B.ndim not in (A.ndim, A.ndim - 1) and B.ndim < 2 or b.shape[-2] != A.shape[-2]):
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    m, n, k = A.shape[-2], A.shape[-1], b.shape[-1]
    a, b = broadcast_batch("torch.linalg.lstsq", A, b)
    real = real_dtype(A.dtype)
    epsilon = 2.0**-52 if real == _weft.float64 else 2.0**-23
    bound = max(m, n) * epsilon if rcond is None else float(rcond)
    nothing, values, residuals = _weft.empty(0, dtype=real), None, None
    if driver in ("gels", "gelsy"):
        solution, rank = _weft.lstsq_qr(a, b, bound if driver == "gelsy" else 0.0)
    else:
        solution, rank, values = _by_singular_values(a, b, bound)
    if m > n and driver != "gelsy":
        difference = _weft.abs(b - _weft.matmul(a, solution))
        residuals = (difference * difference).sum(-2)
        if driver != "gels" and not bool((rank == n).all()):
            residuals = None
    if m > n:
        # In memory the solution is the upper part of what took the place of the right sides.
        rest = _weft.zeros(*solution.shape[:-2], m - n, k, dtype=A.dtype)
        solution = columns(_weft.cat([solution, rest], -2))[..., :n, :]
    else:
        solution = columns(solution)
    rank = _weft.empty(0, dtype=_weft.int64) if driver == "gels" else rank.to(_weft.int64)
    if vector:
        solution = solution.squeeze(-1)
    return all_written(
        out,
        linalg_lstsq(
            solution, nothing if residuals is None else residuals, rank, nothing if values is None else values
        ),
    )


def _by_singular_values(a, b, bound):
    """Solutions, ranks and singular values of a batch of systems."""
    batch, m, n, k = tuple(a.shape[:-2]), a.shape[-2], a.shape[-1], b.shape[-1]
    real = real_dtype(a.dtype)
    flat_a, flat_b = a.reshape((math.prod(batch), m, n)), b.reshape((math.prod(batch), m, k))
    limit = _weft.full((), bound, dtype=real)
    parts = [_weft.lstsq(each, right, limit) for each, right in zip(flat_a.unbind(0), flat_b.unbind(0))]

    def stacked(index, *shape, dtype):
        if not parts:
            return _weft.empty(batch + shape, dtype=dtype)
        return _weft.stack([part[index] for part in parts], 0).reshape(batch + shape)

    return stacked(0, n, k, dtype=a.dtype), stacked(2, dtype=_weft.int32), stacked(3, min(m, n), dtype=real)


# ---- low rank ----
def get_approximate_basis(A, q, niter=2, M=None):
    """Orthonormal columns that span about what A's q largest singular values do, by subspace iteration."""
    R = _weft_randn(A.shape[-1], q, A.dtype)
    X = _weft.matmul(A, R)
    if M is not None:
        X = X - _weft.matmul(M, R)
    Q = _weft.qr(X)[0]
    adjoint = adjoint_of(A)
    for _ in range(niter):
        X = _weft.matmul(adjoint, Q)
        if M is not None:
            X = X - _weft.matmul(adjoint_of(M), Q)
        Q = _weft.qr(X)[0]
        X = _weft.matmul(A, Q)
        if M is not None:
            X = X - _weft.matmul(M, Q)
        Q = _weft.qr(X)[0]
    return Q


def _weft_randn(rows, count, dtype):
    import weft.torch as torch

    return torch.randn(rows, count, dtype=dtype)


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S and V of about the q largest singular values of A - M."""
    need_matrices("svd_lowrank", A, half=True)
    if M is not None:
        M = M.expand(*A.shape)
    m, n = A.shape[-2:]
    if m < n:
        A, M = adjoint_of(A), None if M is None else adjoint_of(M)
    Q = get_approximate_basis(A, q, niter, M)
    B = _weft.matmul(adjoint_of(Q), A)
    if M is not None:
        B = B - _weft.matmul(adjoint_of(Q), M)
    U, S, Vh = _weft.svd(B, False)
    V = adjoint_of(Vh)
    U = _weft.matmul(Q, U)
    return (V, S, U) if m < n else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """svd_lowrank of A, whose columns' means are taken away with `center`."""
    need_matrices("pca_lowrank", A, half=True)
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """The k largest (or smallest) eigenvalues of A x = value * B x for symmetric A, and eigenvectors as columns.

    They are found by a whole decomposition, not by iteration.
    """
    need_matrices("lobpcg", A, square=True)
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    if m < 3 * k:
        raise ValueError(f"LPBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number"
                         f" of requested eigenpairs (={k})")  # fmt: skip
    matrix = A
    if B is not None:
        L = _weft.cholesky(B)
        inner = _weft.solve_triangular(L, A, False)
        matrix = transposed(_weft.solve_triangular(L, transposed(inner), False))
    values, vectors = _weft.eigh(matrix)
    if B is not None:
        vectors = _weft.solve_triangular(adjoint_of(L), vectors, True)
    if largest is None or largest:
        return _weft.flip(values, [-1])[..., :k], _weft.flip(vectors, [-1])[..., :k]
    return values[..., :k], vectors[..., :k]
