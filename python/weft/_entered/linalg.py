"""numpy.linalg."""

import numpy as np
from numpy.linalg import _linalg

from ._core import axis_of, operator, plainly, product_of, replaces, require, sized


@replaces("numpy.linalg.diagonal")
def diagonal(x, /, *, offset=0):
    return np.diagonal(x, offset, -2, -1)


@replaces("numpy.linalg.outer")
def outer(x1, x2, /):
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        return plainly(np.linalg.outer, x1, x2)
    return np.outer(x1, x2)


@replaces("numpy.linalg.matmul")
def matmul(x1, x2, /):
    return np.matmul(x1, x2)


def _chain(arrays, order, first, last):
    if first == last:
        return arrays[first]
    cut = order[first][last]
    return _chain(arrays, order, first, cut) @ _chain(arrays, order, cut + 1, last)


def _chain_order(sizes, count):
    """Where to cut each product of a chain so that multiplications are fewest: NumPy's table, and its choice among equals."""
    costs = [[0] * count for _ in range(count)]
    order = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            best = None
            for cut in range(first, last):
                cost = (
                    costs[first][cut] + costs[cut + 1][last] + sizes[first] * sizes[cut + 1] * sizes[last + 1]
                )
                if best is None or cost < best:
                    best = cost
                    order[first][last] = cut
            costs[first][last] = best
    return order


@replaces("numpy.linalg.multi_dot")
def multi_dot(arrays, *, out=None):
    given, arrays = arrays, [np.asarray(array) for array in arrays]
    count = len(arrays)
    if out is not None or count < 2:
        return plainly(np.linalg.multi_dot, given, out=out)
    if count == 2:
        return np.dot(arrays[0], arrays[1])
    row, column = arrays[0].ndim == 1, arrays[-1].ndim == 1
    arrays[0] = arrays[0][None, :] if row else arrays[0]
    arrays[-1] = arrays[-1][:, None] if column else arrays[-1]
    sizes = []
    for array in arrays:
        if array.ndim != 2:
            return plainly(np.linalg.multi_dot, given)
        sizes.append(array.shape[0])
    sizes.append(arrays[-1].shape[1])
    if count == 3:
        a, b, c = arrays
        first = sizes[0] * sizes[2] * (sizes[1] + sizes[3])
        second = sizes[1] * sizes[3] * (sizes[0] + sizes[2])
        product = (a @ b) @ c if first < second else a @ (b @ c)
    else:
        product = _chain(arrays, _chain_order(sizes, count), 0, count - 1)
    if row and column:
        return product[0, 0]
    return product.ravel() if row or column else product


@replaces("numpy.linalg.matrix_norm")
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


@replaces("numpy.linalg.vector_norm")
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = np.asarray(x)
    if axis is None:
        value = np.linalg.norm(x.ravel(), ord)
        return np.reshape(value, (1,) * x.ndim) if keepdims else value
    if not isinstance(axis, tuple):
        return np.linalg.norm(x, ord, axis, keepdims)
    axes = [axis_of(one, x.ndim) for one in axis]
    if None in axes or any([axes[place] in axes[:place] for place in range(len(axes))]):
        return plainly(np.linalg.vector_norm, x, axis=axis, keepdims=keepdims, ord=ord)
    rest = [one for one in range(x.ndim) if one not in axes]
    flat = np.transpose(x, tuple(axes + rest)).reshape(
        (product_of([x.shape[one] for one in axes]), *[x.shape[one] for one in rest])
    )
    value = np.linalg.norm(flat, ord, 0)
    return np.expand_dims(value, tuple(axes)) if keepdims else value


def _euclidean(x, axis, keepdims):
    squares = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
    return np.sqrt(np.sum(squares, axis=axis, keepdims=keepdims))


def _matrix_norm(x, ord, row, column):
    """Of ord 1, -1, inf, -inf with both dimensions kept."""
    inner, outer = (row, column) if abs(ord) == 1 else (column, row)
    sums = np.sum(np.abs(x), axis=inner, keepdims=True)
    return np.max(sums, axis=outer, keepdims=True) if ord > 0 else np.min(sums, axis=outer, keepdims=True)


def _spectral_norm(x, ord, row, column):
    values = np.linalg.svdvals(np.moveaxis(x, (row, column), (-2, -1)))
    if ord == "nuc":
        return np.sum(values, axis=-1)
    return np.max(values, axis=-1) if ord == 2 else np.min(values, axis=-1)


@replaces("numpy.linalg.norm")
def norm(x, ord=None, axis=None, keepdims=False):
    x = np.asarray(x)
    if x.dtype.char not in _CODES or x.size == 0 or x.ndim == 0:
        return plainly(np.linalg.norm, x, ord, axis, keepdims)
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    is_name = isinstance(ord, str)
    if axis is None and (ord is None or (is_name and ord in ("f", "fro") and x.ndim == 2)):
        value = _euclidean(x.ravel(), None, False)
        return np.reshape(value, (1,) * x.ndim) if keepdims else value
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    if not isinstance(axes, tuple) or len(axes) > 2:
        return plainly(np.linalg.norm, x, ord, axis, keepdims)
    if len(axes) == 1:
        if x.dtype.kind != "c" or is_name or axis_of(axes[0], x.ndim) is None:
            return plainly(np.linalg.norm, x, ord, axis, keepdims)
        if ord is None or ord == 2:
            return _euclidean(x, axes[0], keepdims)
        return np.linalg.norm(np.abs(x), ord, axes[0], keepdims)
    row, column = axis_of(axes[0], x.ndim), axis_of(axes[1], x.ndim)
    if row is None or column is None or row == column:
        return plainly(np.linalg.norm, x, ord, axis, keepdims)
    if ord is None or (is_name and ord in ("f", "fro")):
        return _euclidean(x, (row, column), keepdims)
    if not is_name and ord in (1, -1, np.inf, -np.inf):
        value = _matrix_norm(x, ord, row, column)
        return value if keepdims else np.squeeze(value, axis=(row, column))[()]
    if ord == "nuc" if is_name else ord in (2, -2):
        value = _spectral_norm(x, ord, row, column)
        return np.expand_dims(value, (min(row, column), max(row, column))) if keepdims else value
    return plainly(np.linalg.norm, x, ord, axis, keepdims)


_CODES = "fdFDlqihbLQIHB?"


def _matrices(a, square=True):
    """As NumPy computes with them, in double precision; None for what is an error, or empty."""
    a = np.asarray(a)
    if a.ndim < 2 or a.dtype.char not in _CODES or a.size == 0 or (square and a.shape[-1] != a.shape[-2]):
        return None
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _result_dtype(*arrays):
    """Single precision where all operands have it."""
    dtype = np.result_type(*arrays)
    if dtype.kind != "f" and dtype.kind != "c":
        return np.dtype(np.float64)
    wide = [array for array in arrays if array.dtype.char not in "fF"]
    if not wide:
        return dtype
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def _real(dtype):
    return np.dtype(np.float32 if dtype.char in "fF" else np.float64)


def _as(x, dtype):
    return x if x.dtype == dtype else x.astype(dtype)


@replaces("numpy.linalg.det")
def det(a):
    x = _matrices(a)
    if x is None:
        return plainly(np.linalg.det, a)
    return _as(operator("det", x), _result_dtype(np.asarray(a)))[()]


@replaces("numpy.linalg.slogdet")
def slogdet(a):
    x = _matrices(a)
    if x is None:
        return plainly(np.linalg.slogdet, a)
    sign, logarithm = operator("slogdet", x)
    dtype = _result_dtype(np.asarray(a))
    return _linalg.SlogdetResult(_as(sign, dtype)[()], _as(logarithm, _real(dtype))[()])


@replaces("numpy.linalg.inv")
def inv(a):
    x = _matrices(a)
    return plainly(np.linalg.inv, a) if x is None else _as(operator("inv", x), _result_dtype(np.asarray(a)))


@replaces("numpy.linalg.solve")
def solve(a, b):
    x, y = _matrices(a), np.asarray(b)
    usual = x is not None and y.ndim >= 1 and y.dtype.char in _CODES and y.size > 0
    if not usual or y.shape[0 if y.ndim == 1 else -2] != x.shape[-1]:
        return plainly(np.linalg.solve, a, b)
    dtype = np.dtype(np.complex128 if x.dtype.kind == "c" or y.dtype.kind == "c" else np.float64)
    return _as(operator("solve", _as(x, dtype), _as(y, dtype)), _result_dtype(np.asarray(a), y))


@replaces("numpy.linalg.cholesky")
def cholesky(a, /, *, upper=False):
    x = _matrices(a)
    if x is None:
        return plainly(np.linalg.cholesky, a, upper=upper)
    dtype = _result_dtype(np.asarray(a))
    if upper:
        return _as(np.conjugate(operator("cholesky", np.conjugate(x.mT)).mT).copy(), dtype)
    return _as(operator("cholesky", x), dtype)


@replaces("numpy.linalg.eigvalsh")
def eigvalsh(a, UPLO="L"):
    x = _matrices(a)
    if x is None or UPLO not in ("L", "U", "l", "u"):
        return plainly(np.linalg.eigvalsh, a, UPLO)
    return _as(operator("eigvalsh", x, upper=UPLO in ("U", "u")), _real(_result_dtype(np.asarray(a))))


@replaces("numpy.linalg.eigh")
def eigh(a, UPLO="L"):
    x = _matrices(a)
    if x is None or UPLO not in ("L", "U", "l", "u"):
        return plainly(np.linalg.eigh, a, UPLO)
    values, vectors = operator("eigh", x, upper=UPLO in ("U", "u"))
    dtype = _result_dtype(np.asarray(a))
    return _linalg.EighResult(_as(values, _real(dtype)), _as(vectors, dtype))


def _in_precision(values, single):
    if values.dtype.kind == "c":
        return np.dtype(np.complex64 if single else np.complex128)
    return np.dtype(np.float32 if single else np.float64)


def _real_where_all_are(values, *others):
    """The arrays, real ones where no value has an imaginary part."""
    arrays = (values, *others)
    return tuple(array.real.copy() for array in arrays) if not values.imag.any() else arrays


@replaces("numpy.linalg.eigvals")
def eigvals(a):
    x = _matrices(a)
    if x is None:
        return plainly(np.linalg.eigvals, a)
    values = operator("eigvals", require(x, np.isfinite(x).all()))
    single = _result_dtype(np.asarray(a)).char in "fF"
    if x.dtype.kind == "f":
        (values,) = sized(_real_where_all_are, values)
    return _as(values, _in_precision(values, single))


@replaces("numpy.linalg.eig")
def eig(a):
    x = _matrices(a)
    if x is None:
        return plainly(np.linalg.eig, a)
    values, vectors = operator("eig", require(x, np.isfinite(x).all()))
    single = _result_dtype(np.asarray(a)).char in "fF"
    if x.dtype.kind == "f":
        values, vectors = sized(_real_where_all_are, values, vectors)
    dtype = _in_precision(values, single)
    return _linalg.EigResult(_as(values, dtype), _as(vectors, dtype))


@replaces("numpy.linalg.svd")
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    x = _matrices(a, square=False)
    if x is None or not isinstance(full_matrices, bool) or (hermitian and x.shape[-1] != x.shape[-2]):
        return plainly(np.linalg.svd, a, full_matrices, compute_uv, hermitian)
    if not compute_uv:
        return np.sort(np.abs(np.linalg.eigvalsh(a)))[..., ::-1] if hermitian else np.linalg.svdvals(a)
    if hermitian:
        values, vectors = np.linalg.eigh(a)
        signs, values = np.copysign(1.0, values), np.abs(values)
        order = np.argsort(values)[..., ::-1]
        signs, values = np.take_along_axis(signs, order, axis=-1), np.take_along_axis(values, order, axis=-1)
        vectors = np.take_along_axis(vectors, order[..., None, :], axis=-1)
        return _linalg.SVDResult(vectors, values, np.conjugate((vectors * signs[..., None, :]).mT))
    u, values, vh = operator("svd", x, full_matrices=full_matrices)
    dtype = _result_dtype(np.asarray(a))
    return _linalg.SVDResult(_as(u, dtype), _as(values, _real(dtype)), _as(vh, dtype))


@replaces("numpy.linalg.svdvals")
def svdvals(x, /):
    y = _matrices(x, square=False)
    return (
        plainly(np.linalg.svdvals, x)
        if y is None
        else _as(operator("svdvals", y), _real(_result_dtype(np.asarray(x))))
    )


@replaces("numpy.linalg.qr")
def qr(a, mode="reduced"):
    x = _matrices(a, square=False)
    if x is None or mode not in ("reduced", "complete", "r", "raw"):
        return plainly(np.linalg.qr, a, mode)
    dtype = _result_dtype(np.asarray(a))
    if mode == "r" or mode == "raw":
        factors, tau = operator("geqrf", x)
        if mode == "raw":
            return _as(np.transpose(factors), dtype), _as(tau, dtype)
        return _as(np.triu(factors[..., : min(x.shape[-2], x.shape[-1]), :]), dtype)
    q, r = operator("qr", x, complete=mode == "complete")
    return _linalg.QRResult(_as(q, dtype), _as(r, dtype))


def _of_full_rank(residuals, rank, columns):
    """The sums of squares; none where the matrix has no full rank."""
    return residuals if rank == columns else np.zeros(0)


@replaces("numpy.linalg.lstsq")
def lstsq(a, b, rcond=None):
    x, y = _matrices(a, square=False), np.asarray(b)
    usual = x is not None and x.ndim == 2 and 1 <= y.ndim <= 2 and y.dtype.char in _CODES and y.size > 0
    if not usual or y.shape[0] != x.shape[0] or not (rcond is None or isinstance(rcond, int | float)):
        return plainly(np.linalg.lstsq, a, b, rcond)
    rows, columns = x.shape
    if rcond is None:
        rcond = np.finfo(np.float64).eps * max(rows, columns)
    dtype, result = (
        np.dtype(np.complex128 if x.dtype.kind == "c" or y.dtype.kind == "c" else np.float64),
        _result_dtype(np.asarray(a), y),
    )
    right = _as(y[:, None] if y.ndim == 1 else y, dtype)
    solution, residuals, rank, values = operator(
        "lstsq", _as(x, dtype), right, np.asarray(rcond, dtype=np.float64)
    )
    solution, values = _as(solution[:, 0] if y.ndim == 1 else solution, result), _as(values, _real(result))
    residuals = np.zeros(0) if rows <= columns else sized(_of_full_rank, residuals, rank, columns)
    return solution, _as(residuals, _real(result)), rank[()], values


@replaces("numpy.linalg.pinv")
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    x = np.asarray(a)
    if (
        x.ndim < 2
        or x.dtype.char not in "fdFD"
        or x.size == 0
        or (rcond is not None and rtol is not np._NoValue)
        or isinstance(rcond, list | tuple)
    ):
        return plainly(np.linalg.pinv, a, rcond, hermitian, rtol=rtol)
    if rcond is None:
        rcond = rtol
        if rtol is np._NoValue:
            rcond = 1e-15
        elif rtol is None:
            rcond = max(x.shape[-2], x.shape[-1]) * np.finfo(x.dtype).eps
    rcond = np.asarray(rcond)
    u, values, vh = np.linalg.svd(np.conjugate(x), full_matrices=False, hermitian=hermitian)
    large = values > rcond[..., None] * np.max(values, axis=-1, keepdims=True)
    inverse = np.where(
        large, np.asarray(1, dtype=values.dtype) / np.where(large, values, values.dtype.type(1)), 0
    )
    return np.matmul(vh.mT, np.multiply(inverse.astype(values.dtype)[..., None], u.mT))


@replaces("numpy.linalg.matrix_rank")
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    x = np.asarray(A)
    if x.ndim < 2 or x.dtype.char not in _CODES or x.size == 0 or (tol is not None and rtol is not None):
        return plainly(np.linalg.matrix_rank, A, tol, hermitian, rtol=rtol)
    values = np.linalg.svd(x, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        tol = np.asarray(tol)[..., None]
    else:
        if rtol is None:
            rtol = max(x.shape[-2], x.shape[-1]) * np.finfo(values.dtype).eps
        else:
            rtol = np.asarray(rtol)[..., None]
        tol = np.max(values, axis=-1, keepdims=True) * rtol
    return np.count_nonzero(values > tol, axis=-1)


@replaces("numpy.linalg.tensorsolve")
def tensorsolve(a, b, axes=None):
    a, b = np.asarray(a), np.asarray(b)
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            if axis not in order:
                return plainly(np.linalg.tensorsolve, a, b, axes)
            order = [one for one in order if one != axis] + [axis]
        a = np.transpose(a, tuple(order))
    shape = a.shape[b.ndim :]
    count = product_of(shape)
    if count * count != a.size:
        return plainly(np.linalg.tensorsolve, a, b)
    return np.linalg.solve(a.reshape(count, count), b.ravel()).reshape(shape)


@replaces("numpy.linalg.tensorinv")
def tensorinv(a, ind=2):
    a = np.asarray(a)
    if not 0 < ind < a.ndim or product_of(a.shape[ind:]) ** 2 != a.size:
        return plainly(np.linalg.tensorinv, a, ind)
    return np.linalg.inv(a.reshape(product_of(a.shape[ind:]), -1)).reshape(a.shape[ind:] + a.shape[:ind])


@replaces("numpy.linalg.matrix_power")
def matrix_power(a, n):
    x = np.asarray(a)
    if not isinstance(n, int) or x.ndim < 2 or x.shape[-2] != x.shape[-1] or n > 0:
        return plainly(np.linalg.matrix_power, a, n)
    if n == 0:
        return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy()
    return np.linalg.matrix_power(np.linalg.inv(x), -n) if n < -1 else np.linalg.inv(x)


@replaces("numpy.linalg.cond")
def cond(x, p=None):
    x = np.asarray(x)
    if x.ndim < 2 or x.dtype.char not in _CODES or x.size == 0:
        return plainly(np.linalg.cond, x, p)
    if p is None or p == 2 or p == -2:
        values = np.linalg.svdvals(x)
        ratio = values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    elif x.shape[-2] != x.shape[-1]:
        return plainly(np.linalg.cond, x, p)
    else:
        ratio = np.linalg.norm(x, p, (-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, (-2, -1))
        ratio = _as(np.asarray(ratio), _real(_result_dtype(x)))
    # What is not a number counts as infinite, unless the matrix had one.
    return np.where(np.isnan(ratio) & ~np.isnan(x).any(axis=(-2, -1)), ratio.dtype.type(np.inf), ratio)[()]


@replaces("numpy.kron")
def kron(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    ndim = max(a.ndim, b.ndim)
    a, b = a[(None,) * (ndim - a.ndim)], b[(None,) * (ndim - b.ndim)]
    shape = tuple([size * other for size, other in zip(a.shape, b.shape)])
    a, b = np.expand_dims(a, tuple(range(1, 2 * ndim, 2))), np.expand_dims(b, tuple(range(0, 2 * ndim, 2)))
    return np.multiply(a, b).reshape(shape)
