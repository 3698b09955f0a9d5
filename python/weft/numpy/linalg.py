"""The standard's linear algebra: weft's operators where there is one, else NumPy on the tensors' memory."""

import numpy
from numpy.linalg import _linalg

import weft

from ._convert import array, axes_of, inexact, kind, numpy_dtype, promoted, through_numpy, to_dtype
from ._reductions import over_axes, summed_dtype


def matmul(x1, x2, /):
    return weft.matmul(*promoted(x1, x2))


def matrix_transpose(x, /):
    x = array(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least two dimensions, got shape {tuple(x.shape)}")
    return x.swapaxes(-1, -2)


def tensordot(x1, x2, /, *, axes=2):
    x1, x2 = promoted(x1, x2)
    if isinstance(axes, int):
        return weft.tensordot(x1, x2, axes)
    return weft.tensordot(x1, x2, dims_x=_listed(axes[0]), dims_y=_listed(axes[1]))


def _listed(axes):
    return [axes] if isinstance(axes, int) else list(axes)


def _last(x, axis):
    """A view with the axis at the end."""
    (axis,) = axes_of(axis, x.ndim)
    return weft.moveaxis(x, axis, -1)


def vecdot(x1, x2, /, *, axis=-1):
    x1, x2 = (_last(x, axis) for x in promoted(x1, x2))
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(
            f"vecdot: expected vectors of one length along axis {axis}, got {x1.shape[-1]} and {x2.shape[-1]}"
        )
    product = weft.mul(weft.conj(x1) if kind(x1) == "c" else x1, x2)
    if kind(product) == "b":
        return weft.any(product, [-1])
    return weft.sum(product, [-1], dtype=product.dtype)


def outer(x1, x2, /):
    x1, x2 = promoted(x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: expected vectors, got shapes {tuple(x1.shape)} and {tuple(x2.shape)}")
    return weft.outer(x1, x2)


def cross(x1, x2, /, *, axis=-1):
    x1, x2 = (_last(x, axis) for x in promoted(x1, x2))
    if x1.shape[-1] != 3 or x2.shape[-1] != 3:
        raise ValueError(
            f"cross: expected vectors of three elements along axis {axis}, got {x1.shape[-1]} and {x2.shape[-1]}"
        )
    shape = list(numpy.broadcast_shapes(tuple(x1.shape), tuple(x2.shape)))
    product = weft.cross(weft.broadcast_to(x1, shape), weft.broadcast_to(x2, shape), -1)
    return weft.moveaxis(product, -1, axis)


def diagonal(x, /, *, offset=0):
    return weft.diagonal(array(x), offset, -2, -1)


def trace(x, /, *, offset=0, dtype=None):
    x = diagonal(x, offset=offset)
    dtype = to_dtype(dtype) or summed_dtype(x)
    return weft.sum(x.to(dtype), [-1], dtype=dtype)


def _usable(x, square=True):
    """Matrices with elements, of a dtype that weft's operators take."""
    fits = x.ndim >= 2 and x.numel() > 0 and kind(x) in "fc" and x.dtype != weft.float16
    return fits and (not square or x.shape[-1] == x.shape[-2])


def _or_numpys(ours, theirs, *operands):
    """weft's result; the error is NumPy's."""
    try:
        return ours(*operands)
    except RuntimeError:
        return theirs(*operands)


def _operator(name, result=None, square=True):
    """weft's operator on matrices; NumPy's function on what is an error, or empty."""
    ours, theirs = getattr(weft, name), through_numpy(getattr(numpy.linalg, name))

    def function(x, /):
        x = inexact(x)
        if not _usable(x, square):
            return theirs(x)
        found = _or_numpys(ours, theirs, x)
        return found if result is None else result(*found)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy.linalg.{name} on tensors."
    return function


det, inv, svdvals = _operator("det"), _operator("inv"), _operator("svdvals", square=False)
slogdet = _operator("slogdet", _linalg.SlogdetResult)
eigvalsh, eigh = _operator("eigvalsh"), _operator("eigh", _linalg.EighResult)


def svd(x, /, *, full_matrices=True):
    x = inexact(x)
    if not _usable(x, square=False):
        return through_numpy(numpy.linalg.svd)(x, full_matrices=full_matrices)
    return _linalg.SVDResult(*weft.svd(x, full_matrices))


def qr(x, /, *, mode="reduced"):
    x = inexact(x)
    if not _usable(x, square=False) or mode not in ("reduced", "complete"):
        return through_numpy(numpy.linalg.qr)(x, mode=mode)
    return _linalg.QRResult(*weft.qr(x, mode == "complete"))


def cholesky(x, /, *, upper=False):
    x = inexact(x)
    if not _usable(x):
        return through_numpy(numpy.linalg.cholesky)(x, upper=upper)
    theirs = through_numpy(numpy.linalg.cholesky)
    if not upper:
        return _or_numpys(weft.cholesky, theirs, x)
    return _conjugate_transpose(_or_numpys(weft.cholesky, theirs, _conjugate_transpose(x)))


def _conjugate_transpose(x):
    x = matrix_transpose(x)
    return weft.conj(x) if kind(x) == "c" else x


def solve(x1, x2, /):
    x1, x2 = (inexact(x) for x in promoted(x1, x2))
    theirs = through_numpy(numpy.linalg.solve)
    return _or_numpys(weft.solve, theirs, x1, x2) if _usable(x1) and x2.numel() > 0 else theirs(x1, x2)


def matrix_power(x, n, /):
    x = array(x)
    return weft.matrix_power(x, n) if n > 0 else through_numpy(numpy.linalg.matrix_power)(x, n)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = inexact(x)
    axes = axes_of(axis, x.ndim)
    if kind(x) == "c":
        x = weft.abs(x)

    def norm(x, axes, keepdim):
        return weft.vector_norm(x, float(ord), axes, keepdim)

    if len(axes) < 2 or ord == 2:
        return over_axes(norm, x, axes, keepdims)
    others = [d for d in range(x.ndim) if d not in axes]
    flat = x.permute(others + axes).reshape([x.shape[d] for d in others] + [-1])
    norms = norm(flat, [-1], False)
    return norms.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdims else norms


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    x = inexact(x)
    largest, axes = (weft.amax if ord in (1, 2, numpy.inf) else weft.amin), [x.ndim - 2, x.ndim - 1]
    if not _usable(x, square=False) or ord not in ("fro", "nuc", 1, -1, 2, -2, numpy.inf, -numpy.inf):
        return through_numpy(numpy.linalg.matrix_norm)(x, keepdims=keepdims, ord=ord)
    if ord == "fro":
        return vector_norm(x, axis=tuple(axes), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = weft.svdvals(x)
        norms = weft.sum(values, [-1]) if ord == "nuc" else largest(values, [-1])
    else:
        sums = weft.sum(weft.abs(x), [-2 if ord in (1, -1) else -1])
        norms = largest(sums, [-1])
    return norms.reshape([*norms.shape, 1, 1]) if keepdims else norms


def matrix_rank(x, /, *, rtol=None):
    x = inexact(x)
    if not _usable(x, square=False):
        return through_numpy(numpy.linalg.matrix_rank)(x, rtol=rtol)
    values = weft.svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(numpy.finfo(numpy_dtype(values.dtype)).eps)
    limit = weft.amax(values, [-1], True) * (
        array(rtol).reshape([*rtol.shape, 1]) if isinstance(rtol, weft.Tensor) else rtol
    )
    return weft.sum((values > limit).to(weft.int64), [-1])


def pinv(x, /, *, rtol=None):
    x = inexact(x)
    if not _usable(x, square=False) or isinstance(rtol, weft.Tensor):
        return through_numpy(numpy.linalg.pinv)(x, rtol=rtol)
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(numpy.finfo(numpy_dtype(x.dtype)).eps)
    u, values, vh = weft.svd(x, False)
    kept = values > weft.amax(values, [-1], True) * rtol
    inverse = weft.where(kept, 1 / values, weft.zeros_like(values))
    scaled = _conjugate_transpose(u) * inverse.reshape([*inverse.shape, 1])
    return weft.matmul(_conjugate_transpose(vh), scaled)


def __getattr__(name):
    if name.startswith("_") or name not in numpy.linalg.__all__:
        raise AttributeError(f"module 'weft.numpy.linalg' has no attribute '{name}'")
    function = getattr(numpy.linalg, name)
    return function if isinstance(function, type) else through_numpy(function)
