"""numpy.linalg."""

import numpy as np

from ._core import axis_of, operator, plainly, product_of, replaces


@replaces("numpy.linalg.diagonal")
def diagonal(x, /, *, offset=0):
    return np.diagonal(x, offset, -2, -1)


@replaces("numpy.linalg.matmul")
def matmul(x1, x2, /):
    return np.matmul(x1, x2)


@replaces("numpy.linalg.multi_dot")
def multi_dot(arrays, *, out=None):
    arrays = [np.asarray(array) for array in arrays]
    if out is not None or len(arrays) != 3:
        return plainly(np.linalg.multi_dot, arrays, out=out)
    a, b, c = arrays
    if a.ndim != 2 or b.ndim != 2 or c.ndim != 2:
        return plainly(np.linalg.multi_dot, arrays)
    first = a.shape[0] * b.shape[1] * (a.shape[1] + c.shape[1])
    second = a.shape[1] * c.shape[1] * (a.shape[0] + b.shape[1])
    return (a @ b) @ c if first < second else a @ (b @ c)


@replaces("numpy.linalg.matrix_norm")
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


@replaces("numpy.linalg.vector_norm")
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = np.asarray(x)
    if axis is None:
        value = np.linalg.norm(x.ravel(), ord)
        return np.reshape(value, (1,) * x.ndim) if keepdims else value
    if isinstance(axis, tuple):
        return plainly(np.linalg.vector_norm, x, axis=axis, keepdims=keepdims, ord=ord)
    return np.linalg.norm(x, ord, axis, keepdims)


@replaces("numpy.linalg.norm")
def norm(x, ord=None, axis=None, keepdims=False):
    x = np.asarray(x)
    if x.dtype.kind == "c" and (axis is None or isinstance(axis, int)):
        return np.linalg.norm(np.sqrt(x.real**2 + x.imag**2), ord, axis, keepdims)
    axes = (0, 1) if axis is None and x.ndim == 2 else axis
    if x.dtype.kind == "c" or not isinstance(axes, tuple) or len(axes) != 2:
        return plainly(np.linalg.norm, x, ord, axis, keepdims)
    row, column = axis_of(axes[0], x.ndim), axis_of(axes[1], x.ndim)
    if row is None or column is None or row == column:
        return plainly(np.linalg.norm, x, ord, axis, keepdims)
    if x.size == 0:
        return plainly(np.linalg.norm, x, ord, axis, keepdims)
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    if not isinstance(ord, str) and ord in (1, -1, np.inf, -np.inf):
        inner, outer = (row, column) if abs(ord) == 1 else (column, row)
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        value = (
            np.max(sums, axis=outer, keepdims=True) if ord > 0 else np.min(sums, axis=outer, keepdims=True)
        )
    elif ord in (2, -2, "nuc"):
        values = np.linalg.svdvals(np.moveaxis(x, (row, column), (-2, -1)))
        if ord == "nuc":
            value = np.sum(values, axis=-1)
        else:
            value = np.max(values, axis=-1) if ord == 2 else np.min(values, axis=-1)
        if not keepdims:
            return value
        return np.expand_dims(value, (min(row, column), max(row, column)))
    else:
        return plainly(np.linalg.norm, x, ord, axis, keepdims)
    return value if keepdims else np.squeeze(value, axis=(row, column))[()]


def _matrices(a):
    """Square matrices of a dtype that LAPACK has; None for what NumPy does."""
    a = np.asarray(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.dtype.char not in "fdlqi?" or a.size == 0:
        return None
    return a if a.dtype.kind == "f" else a.astype(np.float64)


@replaces("numpy.linalg.inv")
def inv(a):
    x = _matrices(a)
    return plainly(np.linalg.inv, a) if x is None else operator("inv", x)


@replaces("numpy.linalg.solve")
def solve(a, b):
    x, y = _matrices(a), np.asarray(b)
    usual = x is not None and y.ndim >= 1 and y.dtype.char in "fdlqi?" and y.size > 0
    if not usual or y.shape[0 if y.ndim == 1 else -2] != x.shape[-1]:
        return plainly(np.linalg.solve, a, b)
    dtype = np.result_type(x, y) if y.dtype.kind == "f" else np.result_type(x, np.float64)
    return operator("solve", x.astype(dtype), y.astype(dtype))


@replaces("numpy.linalg.cholesky")
def cholesky(a, /, *, upper=False):
    x = _matrices(a)
    if x is None:
        return plainly(np.linalg.cholesky, a, upper=upper)
    return operator("cholesky", x.mT).mT.copy() if upper else operator("cholesky", x)


@replaces("numpy.linalg.eigvalsh")
def eigvalsh(a, UPLO="L"):
    x = _matrices(a)
    if x is None or UPLO not in ("L", "U"):
        return plainly(np.linalg.eigvalsh, a, UPLO)
    return operator("eigvalsh", x if UPLO == "L" else x.mT)


@replaces("numpy.linalg.svdvals")
def svdvals(x, /):
    x = np.asarray(x)
    if x.ndim < 2 or x.dtype.char not in "fdlqi?" or x.size == 0:
        return plainly(np.linalg.svdvals, x)
    return operator("svdvals", x if x.dtype.kind == "f" else x.astype(np.float64))


@replaces("numpy.linalg.tensorsolve")
def tensorsolve(a, b, axes=None):
    a, b = np.asarray(a), np.asarray(b)
    shape = a.shape[b.ndim :]
    count = product_of(shape)
    if axes is not None or count * count != a.size:
        return plainly(np.linalg.tensorsolve, a, b, axes)
    return np.linalg.solve(a.reshape(-1, count), b.ravel()).reshape(shape)


@replaces("numpy.linalg.tensorinv")
def tensorinv(a, ind=2):
    a = np.asarray(a)
    if not 0 < ind < a.ndim or product_of(a.shape[ind:]) ** 2 != a.size:
        return plainly(np.linalg.tensorinv, a, ind)
    return np.linalg.inv(a.reshape(product_of(a.shape[ind:]), -1)).reshape(a.shape[ind:] + a.shape[:ind])


@replaces("numpy.linalg.matrix_power")
def matrix_power(a, n):
    x = np.asarray(a)
    if not isinstance(n, int) or x.ndim != 2 or x.shape[0] != x.shape[1] or n > 0:
        return plainly(np.linalg.matrix_power, a, n)
    if n == 0:
        return np.eye(x.shape[0], dtype=x.dtype)
    return np.linalg.matrix_power(np.linalg.inv(x), -n) if n < -1 else np.linalg.inv(x)


@replaces("numpy.linalg.cond")
def cond(x, p=None):
    x = np.asarray(x)
    if x.ndim != 2 or x.dtype.char not in "fd":
        return plainly(np.linalg.cond, x, p)
    if p is None or p == 2 or p == -2:
        values = np.linalg.svdvals(x)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return np.linalg.norm(x, p) * np.linalg.norm(np.linalg.inv(x), p)
