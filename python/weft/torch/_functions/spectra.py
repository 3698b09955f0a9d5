"""Eigenvalues, singular values, least squares, determinants, and approximations of low rank."""

import math

import weft as _weft

from ._numeric import (
    all_written,
    broadcast_batch,
    columns,
    named,
    need_matrices,
    need_same_dtype,
    need_tensor,
    real_dtype,
    written,
)

linalg_eig = named("linalg_eig", "eigenvalues eigenvectors")
linalg_eigh = named("linalg_eigh", "eigenvalues eigenvectors")
linalg_svd = named("linalg_svd", "U S Vh")
linalg_slogdet = named("linalg_slogdet", "sign logabsdet")
linalg_lstsq = named("linalg_lstsq", "solution residuals rank singular_values")
old_svd_result = named("svd", "U S V")
slogdet_result = named("slogdet", "sign logabsdet")


def eig(A, *, out=None):
    """Eigenvalues and eigenvectors, complex."""
    values, vectors = _weft.eig(need_matrices("linalg.eig", A, square=True))
    return all_written(out, linalg_eig(values, columns(vectors)))


def eigvals(A, *, out=None):
    """Eigenvalues, complex."""
    return written(out, _weft.eigvals(need_matrices("linalg.eigvals", A, square=True)))


def _upper(UPLO):
    if not isinstance(UPLO, str):
        raise TypeError(f"argument 'UPLO' must be str, not {type(UPLO).__name__}")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


def eigh(A, UPLO="L", *, out=None):
    """Ascending eigenvalues, and eigenvectors, of symmetric or Hermitian matrices."""
    values, vectors = _weft.eigh(need_matrices("linalg.eigh", A, square=True), _upper(UPLO))
    return all_written(out, linalg_eigh(values, columns(vectors)))


def eigvalsh(A, UPLO="L", *, out=None):
    """Ascending eigenvalues of symmetric or Hermitian matrices."""
    return written(out, _weft.eigvalsh(need_matrices("linalg.eigvalsh", A, square=True), _upper(UPLO)))


def _no_driver(function, driver):
    if driver is not None:
        raise RuntimeError(f"torch.{function}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


def svd(A, full_matrices=True, *, driver=None, out=None):
    """U, the singular values, and V^H."""
    _no_driver("linalg.svd", driver)
    U, S, Vh = _weft.svd(need_matrices("linalg.svd", A), full_matrices)
    return all_written(out, linalg_svd(columns(U), S, columns(Vh)))


def svdvals(A, *, driver=None, out=None):
    """Singular values, descending."""
    _no_driver("linalg.svd", driver)
    return written(out, _weft.svdvals(need_matrices("linalg.svdvals", A)))


def old_svd(input, some=True, compute_uv=True, *, out=None):
    """torch.svd: U, the singular values, and V; zeros for U and V unless `compute_uv`."""
    need_matrices("linalg.svd", input, "A")
    if not compute_uv:
        m, n = input.shape[-2], input.shape[-1]
        U = _weft.zeros(*input.shape[:-2], m, m, dtype=input.dtype)
        V = _weft.zeros(*input.shape[:-2], n, n, dtype=input.dtype)
        return all_written(out, old_svd_result(U, _weft.svdvals(input), V))
    U, S, Vh = _weft.svd(input, not some)
    return all_written(out, old_svd_result(columns(U), S, _weft.conj(columns(Vh)).mT))


# ---- determinants ----
def det(A, *, out=None):
    """Determinants."""
    return written(out, _weft.det(need_matrices("linalg.det", A, square=True)))


def slogdet(A, *, out=None):
    """The sign of the determinant and the logarithm of its size."""
    return all_written(out, linalg_slogdet(*_weft.slogdet(need_matrices("linalg.slogdet", A, square=True))))


def old_slogdet(input, *, out=None):
    """torch.slogdet: linalg.slogdet."""
    return all_written(out, slogdet_result(*_weft.slogdet(need_matrices("linalg.slogdet", input, square=True))))


def logdet(input):
    """The logarithm of the determinant: -inf where it is zero, NaN where it is negative."""
    sign, size = _weft.slogdet(need_matrices("logdet", input, square=True))
    if input.is_complex():
        return _weft.log(sign) + size
    return _weft.where(sign == -1, _weft.full_like(size, math.nan), size)


# ---- least squares ----
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq(A, B, rcond=None, *, driver=None):
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
    batch = tuple(a.shape[:-2])
    real = real_dtype(A.dtype)
    bound = _weft.tensor(max(m, n) * (2.0**-52 if real == _weft.float64 else 2.0**-23) if rcond is None else float(rcond), dtype=real)
    parts = [
        _weft.lstsq(each, right, bound)
        for each, right in zip(a.reshape(math.prod(batch), m, n).unbind(0), b.reshape(math.prod(batch), m, k).unbind(0))
    ]

    def stacked(index, *shape, dtype=None):
        if not parts:
            return _weft.empty(*batch, *shape, dtype=dtype)
        return _weft.stack([part[index] for part in parts], 0).reshape(*batch, *shape)

    solution = columns(stacked(0, n, k, dtype=A.dtype))
    nothing = _weft.empty(0, dtype=real)
    rank = stacked(2, dtype=_weft.int32).to(_weft.int64) if driver != "gels" else _weft.empty(0, dtype=_weft.int64)
    values = stacked(3, min(m, n), dtype=real) if driver in ("gelsd", "gelss") else nothing
    residuals = nothing
    if m > n and driver != "gelsy":
        full = driver == "gels" or bool((rank == n).all())
        residuals = stacked(1, k, dtype=real) if full else nothing
    if vector:
        solution = solution.squeeze(-1)
    return linalg_lstsq(solution, residuals, rank, values)


# ---- low rank ----
def get_approximate_basis(A, q, niter=2, M=None):
    """Orthonormal columns that span about what A's q largest singular values do, by subspace iteration."""
    R = _weft_randn(A.shape[-1], q, A.dtype)
    X = _weft.matmul(A, R)
    if M is not None:
        X = X - _weft.matmul(M, R)
    Q = _weft.qr(X)[0]
    adjoint = _weft.conj(A).mT
    for _ in range(niter):
        X = _weft.matmul(adjoint, Q)
        if M is not None:
            X = X - _weft.matmul(_weft.conj(M).mT, Q)
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
        A, M = _weft.conj(A).mT, None if M is None else _weft.conj(M).mT
    Q = get_approximate_basis(A, q, niter, M)
    B = _weft.matmul(_weft.conj(Q).mT, A)
    if M is not None:
        B = B - _weft.matmul(_weft.conj(Q).mT, M)
    U, S, Vh = _weft.svd(B, False)
    V = _weft.conj(Vh).mT
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
        matrix = _weft.solve_triangular(L, inner.mT, False).mT
    values, vectors = _weft.eigh(matrix)
    if B is not None:
        vectors = _weft.solve_triangular(_weft.conj(L).mT, vectors, True)
    if largest is None or largest:
        return _weft.flip(values, [-1])[..., :k], _weft.flip(vectors, [-1])[..., :k]
    return values[..., :k], vectors[..., :k]

