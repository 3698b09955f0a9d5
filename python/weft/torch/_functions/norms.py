"""Norms, distances, condition, rank and pseudo-inverses of tensors and matrices."""

import weft as _weft
from weft import _autocast
from weft._composed import matrices, norms, statistics
from weft._composed.matrices import pinverse  # noqa: F401
from weft._composed.norms import dist  # noqa: F401

from ._numeric import (
    adjoint_of,
    all_written,
    named,
    need_matrices,
    need_tensor,
    written,
)

linalg_polar = named("linalg_polar", "U H")


def _listed(dim):
    return None if dim is None else [dim] if isinstance(dim, int) else list(dim)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of |x|**ord to the power 1 / ord; the extremes of |x| for infinite orders, the count of x != 0 for 0."""
    need_tensor("linalg.vector_norm", x, "x")
    if isinstance(ord, (str, bool)) or ord is None:
        raise TypeError(
            f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}"
        )
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    return written(out, norms.vector_norm(x, ord, _listed(dim), keepdim, dtype))


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The Frobenius or nuclear norm, the norms 1 and inf of sums, and 2 of singular values, or their negatives."""
    need_tensor("linalg.matrix_norm", A, "A")
    of = norms.named_matrix_norm if isinstance(ord, str) else norms.matrix_norm
    return written(out, of(A, ord, _listed(dim), keepdim, dtype))


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """A vector's norm, or a matrix' where `dim` has two dimensions or the tensor has."""
    need_tensor("linalg.norm", A, "A")
    of = norms.named_norm if isinstance(ord, str) else norms.norm
    return written(out, of(A, ord, _listed(dim), keepdim, dtype))


# ---- torch.norm and its like ----
def old_norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """torch.norm: a vector's norm over all or some dimensions, or the nuclear one of matrices."""
    need_tensor("norm", input)
    if p == "nuc":
        if dim is None:
            dim = tuple(range(input.ndim))
        x = input if dtype is None else input.to(dtype)
        return matrix_norm(x, "nuc", dim, keepdim, out=out)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    if p is None or p == "fro":
        p = 2
    if isinstance(p, _weft.Tensor):
        p = p.item()
    if not isinstance(dim, (int, type(None))) and len(dim) == 0:
        dim = None
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def norm_of(self, p="fro", dim=None, keepdim=False, dtype=None):
    """torch.norm(self, p, dim, keepdim, dtype)."""
    return old_norm(self, p, dim, keepdim, dtype=dtype)


def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The square root of the sum of |x|**2 over dimensions."""
    return written(out, norms.frobenius_norm(input, _listed(dim), keepdim))


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of singular values."""
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    if not isinstance(dim, int) and len(dim) != 2:
        raise RuntimeError(f"nuclear norm requires a 'dim' argument of size 2, got {dim}")
    return matrix_norm(input, "nuc", dim, keepdim, out=out)


def renorm(input, p, dim, maxnorm, *, out=None):
    """The input with each slice along `dim` scaled down to the norm `maxnorm` where its own is larger."""
    need_tensor("renorm", input)
    if isinstance(p, complex):
        raise RuntimeError("renorm: non-positive-norm not supported")
    return written(out, statistics.renorm(input, p, dim, maxnorm))


def renorm_into(self, p, dim, maxnorm):
    """torch.renorm(self, p, dim, maxnorm), written into the tensor."""
    return self.copy_(renorm(self, p, dim, maxnorm))


# ---- of singular values ----
@_autocast.float32
def cond(A, p=None, *, out=None):
    """The condition number: the norm of A times that of its inverse; of the largest by the smallest singular value."""
    of = norms.named_cond if isinstance(p, str) else norms.cond
    return written(out, of(A, p), own_dtype=False)


def _tolerance(value, A):
    """As a tensor, where it is a number."""
    is_tensor = value is None or isinstance(value, _weft.Tensor)
    return value if is_tensor else matrices.tolerance(float(value), A)


@_autocast.float32
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """How many singular values are larger than max(atol, rtol * the largest)."""
    need_tensor("linalg.matrix_rank", A, "A")
    atol, rtol = (atol, rtol) if tol is None else (tol, 0.0)
    rank = matrices.matrix_rank(A, _tolerance(atol, A), _tolerance(rtol, A), bool(hermitian))
    return written(out, rank, own_dtype=False)


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as zero."""
    need_tensor("linalg.pinv", A, "A")
    rtol = rtol if rcond is None else rcond
    result = matrices.pinv(A, _tolerance(atol, A), _tolerance(rtol, A), bool(hermitian))
    return written(out, result, own_dtype=False)


@_autocast.float32
def matrix_sqrth(A):
    """The square root of a symmetric (Hermitian) positive-definite matrix, of which the lower half is read."""
    need_matrices("linalg.matrix_sqrth", A, square=True)
    values, vectors = _weft.eigh(A)
    root = _weft.sqrt(_weft.maximum(values, _weft.zeros_like(values))).unsqueeze(-2).to(vectors.dtype)
    return _weft.matmul(vectors * root, adjoint_of(vectors))


def polar(A, *, out=None):
    """U with orthonormal columns and positive-semidefinite H with A = U H."""
    need_matrices("linalg.polar", A)
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(
            f"linalg.polar: input must have at least as many rows as columns, but got {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    U, values, Vh = _weft.svd(A, False)
    adjoint = adjoint_of(Vh)
    H = _weft.matmul(adjoint * values.unsqueeze(-2).to(A.dtype), Vh)
    return all_written(out, linalg_polar(_weft.matmul(U, Vh), H))
