"""Norms, distances, condition, rank and pseudo-inverses of tensors and matrices."""

import math

import weft as _weft
from weft import _autocast
from weft._composed import matrices, statistics
from weft._composed.matrices import pinverse  # noqa: F401

from ._numeric import (
    COMPLEX,
    HALF,
    adjoint_of,
    all_written,
    is_inexact,
    named,
    need_matrices,
    need_tensor,
    real_dtype,
    written,
)

linalg_polar = named("linalg_polar", "U H")


def _dims(function, x, dim):
    """Dimensions counted from the front, once each."""
    rank = max(x.ndim, 1)
    dims = [dim] if isinstance(dim, int) else list(dim)
    for each in dims:
        if not -rank <= each < rank:
            raise IndexError(
                f"{function}: Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {each})"
            )
    dims = [each % rank for each in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{function}: dim {dim} appears multiple times in the list of dims")
    return dims


def _converted(function, x, dtype):
    if not is_inexact(x):
        raise NotImplementedError(
            f"{function}: Expected a floating point or complex tensor as input. Got {x.dtype}"
        )
    if dtype is None:
        return x
    if (dtype in COMPLEX) != x.is_complex():
        raise RuntimeError(
            f"{function}: dtype should be {'complex' if x.is_complex() else 'real'} for {x.dtype} inputs, but got {dtype}"
        )
    return x.to(dtype)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of |x|**ord to the power 1 / ord; the extremes of |x| for infinite orders, the count of x != 0 for 0."""
    need_tensor("linalg.vector_norm", x, "x")
    if isinstance(ord, (str, bool)) or ord is None:
        raise TypeError(
            f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}"
        )
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    x = _converted("linalg.vector_norm", x, dtype)
    dims = [] if dim is None else _dims("linalg.vector_norm", x, dim)
    ord = float(ord)
    if (ord < 0 or ord == math.inf) and x.numel() == 0:
        over = dims or range(x.ndim)
        if x.ndim == 0 or any(x.shape[each] == 0 for each in over):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have "
                "an identity"
            )
    if x.ndim == 0:
        magnitude = _weft.abs(x)
        return written(out, (x != 0).to(real_dtype(x.dtype)) if ord == 0 else magnitude)
    return written(out, _weft.vector_norm(x, ord, dims or None, keepdim))


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The Frobenius or nuclear norm, the norms 1 and inf of sums, and 2 of singular values, or their negatives."""
    need_tensor("linalg.matrix_norm", A, "A")
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    rows, cols = (each % A.ndim for each in _dims_in_range(A, dim))
    if rows == cols:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({rows}, {cols})")
    x = _converted("linalg.matrix_norm", A, dtype)
    if isinstance(ord, str):
        if ord == "fro":
            return written(out, _weft.vector_norm(x, 2.0, [rows, cols], keepdim))
        if ord != "nuc":
            raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
        return written(out, _of_singular_values(x, rows, cols, keepdim, lambda s: s.sum(-1)))
    size = abs(float(ord))
    if size not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if x.numel() == 0 and ord > 0 and (x.shape[rows] == 0 or x.shape[cols] == 0):
        return written(out, _weft.vector_norm(x, 1.0, [rows, cols], keepdim))
    extreme = _weft.amax if ord > 0 else _weft.amin
    if size == 2:
        return written(out, _of_singular_values(x, rows, cols, keepdim, lambda s: extreme(s, [-1])))
    first, second = (rows, cols) if size == 1 else (cols, rows)
    sums = _weft.vector_norm(x, 1.0, [first], True)
    result = extreme(sums, [second], True)
    if not keepdim:
        result = result.squeeze(max(rows, cols)).squeeze(min(rows, cols))
    return written(out, result)


def _dims_in_range(A, dim):
    for each in dim:
        if not -A.ndim <= each < A.ndim:
            raise IndexError(
                f"linalg.matrix_norm: Dimension out of range (expected to be in range of [{-A.ndim}, {A.ndim - 1}], but got {each})"
            )
    return dim


def _of_singular_values(x, rows, cols, keepdim, reduce):
    if x.dtype in HALF:
        raise NotImplementedError(f"linalg.svd: Low precision dtypes not supported. Got {x.dtype}")
    result = reduce(_weft.svdvals(_weft.movedim(x, [rows, cols], [-2, -1])))
    if keepdim:
        result = result.unsqueeze(min(rows, cols)).unsqueeze(max(rows, cols))
    return result


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """A vector's norm, or a matrix' where `dim` has two dimensions or the tensor has."""
    need_tensor("linalg.norm", A, "A")
    if dim is not None and not isinstance(dim, int) and len(dim) not in (1, 2):
        if ord is not None:
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}")
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype, out=out)
    if dim is None:
        if A.ndim not in (1, 2) and not (A.ndim == 0 and not isinstance(ord, str)):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
            )
        dim = tuple(range(A.ndim)) if A.ndim else None
    count = 1 if dim is None or isinstance(dim, int) else len(dim)
    if count == 2:
        return matrix_norm(A, ord, dim, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: If ord is a string, dim must be two dimensions, got {dim}")
    return vector_norm(A, ord, dim, keepdim, dtype=dtype, out=out)


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
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return vector_norm(input, 2, dims or None, keepdim, out=out)


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of singular values."""
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    if not isinstance(dim, int) and len(dim) != 2:
        raise RuntimeError(f"nuclear norm requires a 'dim' argument of size 2, got {dim}")
    return matrix_norm(input, "nuc", dim, keepdim, out=out)


def dist(input, other, p=2):
    """The norm of input - other."""
    need_tensor("dist", input)
    need_tensor("dist", other, "other", 2)
    difference = input - other
    if not is_inexact(difference):
        raise NotImplementedError(
            f"norm(): input dtype should be either floating point or complex. Got {difference.dtype} instead."
        )
    return vector_norm(difference, p)


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
    need_matrices("linalg.cond", A)
    if p is None or p in (2, -2):
        if A.numel() == 0:
            return written(out, _weft.zeros(tuple(A.shape[:-2]), dtype=real_dtype(A.dtype)), own_dtype=False)
        s = _weft.svdvals(A)
        large, small = s[..., 0], s[..., -1]
        return written(out, small / large if p == -2 else large / small, own_dtype=False)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise ValueError(f"linalg.cond got an invalid norm type: {p}")
    if not isinstance(p, str) and abs(p) not in (1, math.inf):
        raise ValueError(f"linalg.cond got an invalid norm type: {p}")
    need_matrices(f"linalg.cond(ord={p})", A, square=True)
    if A.numel() == 0:
        return written(out, _weft.zeros(tuple(A.shape[:-2]), dtype=real_dtype(A.dtype)), own_dtype=False)
    LU, pivots, info = _weft.lu_factor(A)
    eye = _weft.eye(A.shape[-1], dtype=A.dtype).expand(*A.shape)
    inverse = _weft.lu_solve(LU, pivots, eye)
    result = matrix_norm(A, p) * matrix_norm(inverse, p)
    return written(out, _weft.where(info != 0, _weft.full_like(result, math.inf), result), own_dtype=False)


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
