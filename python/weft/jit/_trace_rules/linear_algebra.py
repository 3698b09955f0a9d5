"""Linear algebra: PyTorch's operators are those of torch.linalg."""

from .._trace_registry import operator_rule
from .._tracer import aten


@operator_rule()
def inv(x):
    return aten.linalg_inv(x)


@operator_rule()
def solve(a, b):
    # A stack of matrices that PyTorch would take for one of vectors has a dimension more.
    is_stack = b.ndim > 1 and b.ndim + 1 == a.ndim and tuple(b.shape) == tuple(a.shape[:-1])
    return aten.linalg_solve(a, aten.unsqueeze(b, 0) if is_stack else b)


@operator_rule()
def solve_triangular(a, b, upper, unitriangular):
    return aten.linalg_solve_triangular(a, b, upper=upper, unitriangular=unitriangular)


# ---- factors -------------------------------------------------------------------------------------------------
@operator_rule()
def cholesky(x):
    return aten.linalg_cholesky(x)


@operator_rule()
def cholesky_ex(x):
    return aten.linalg_cholesky_ex(x)


@operator_rule()
def qr(x, complete):
    return aten.linalg_qr(x, "complete" if complete else "reduced")


@operator_rule()
def householder_product(x, tau):
    return aten.linalg_householder_product(x, tau)


@operator_rule()
def lu_factor(x, check):
    return aten.linalg_lu_factor_ex(x, check_errors=check)


@operator_rule()
def lu_solve(factors, pivots, b, adjoint):
    return aten.linalg_lu_solve(factors, pivots, b, adjoint=adjoint)


@operator_rule()
def ldl_factor(x, hermitian, check):
    return aten.linalg_ldl_factor_ex(x, hermitian=hermitian, check_errors=check)


@operator_rule()
def ldl_solve(factors, pivots, b, hermitian):
    return aten.linalg_ldl_solve(factors, pivots, b, hermitian=hermitian)


# ---- eigenvalues, singular values ----------------------------------------------------------------------------
@operator_rule()
def eigh(x, upper=False):
    return aten.linalg_eigh(x, "U" if upper else "L")


@operator_rule()
def eigvalsh(x, upper=False):
    return aten.linalg_eigvalsh(x, "U" if upper else "L")


@operator_rule()
def eig(x):
    return aten.linalg_eig(x)


@operator_rule()
def eigvals(x):
    return aten.linalg_eigvals(x)


@operator_rule()
def svd(x, full_matrices):
    return aten.linalg_svd(x, full_matrices)


@operator_rule()
def svdvals(x):
    return aten.linalg_svdvals(x)


# ---- products ------------------------------------------------------------------------------------------------
@operator_rule()
def tensordot(x, y, dims, dims_x, dims_y):
    if dims_x is None:
        dims_x, dims_y = list(range(x.ndim - dims, x.ndim)), list(range(dims))
    return aten.tensordot(x, y, list(dims_x), list(dims_y))
