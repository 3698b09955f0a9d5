"""Sums and the like, with NumPy's dtypes."""

import builtins

import weft

from ._convert import axes_of, inexact, kind, tensor, to_dtype


def _summed_dtype(x):
    letter = kind(x)
    return weft.uint64 if letter == "u" else weft.int64 if letter in "ib" else x.dtype


def _reduced(operator, x, axis, keepdims):
    """Over one or several axes; a 0-d tensor is its own result."""
    if x.ndim == 0:
        axes_of(axis, 0)
        return x.clone()
    return operator(x, axes_of(axis, x.ndim), keepdims)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    x = tensor(x)
    return _reduced(weft.sum, x.to(to_dtype(dtype) or _summed_dtype(x)), axis, keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    x = tensor(x)
    x = x.to(to_dtype(dtype) or _summed_dtype(x))
    if x.ndim == 0:
        return x.clone()
    for one in sorted(axes_of(axis, x.ndim), reverse=True):
        x = weft.prod(x, one, True)
    return x if keepdims else _squeezed(x, axis)


def _squeezed(x, axis):
    gone = axes_of(axis, x.ndim)
    return x.reshape([size for place, size in enumerate(x.shape) if place not in gone])


def mean(x, /, *, axis=None, keepdims=False):
    x = tensor(x)
    x = x if kind(x) in "fc" else x.to(weft.float64)
    return _reduced(weft.mean, x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    x = tensor(x)
    x = x if kind(x) in "fc" else x.to(weft.float64)
    return weft.var(x, axes_of(axis, x.ndim), correction=correction, keepdim=keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return weft.sqrt(inexact(var(x, axis=axis, correction=correction, keepdims=keepdims)))


def max(x, /, *, axis=None, keepdims=False):
    x = tensor(x)
    if x.numel() == 0 and axis is None:
        raise ValueError("max: an empty array has no largest element")
    return _reduced(weft.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    x = tensor(x)
    if x.numel() == 0 and axis is None:
        raise ValueError("min: an empty array has no smallest element")
    return _reduced(weft.amin, x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    return _reduced(weft.all, tensor(x).to(weft.bool), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    return _reduced(weft.any, tensor(x).to(weft.bool), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return sum(tensor(x).to(weft.bool), axis=axis, keepdims=keepdims)


def _position(operator, x, axis, keepdims):
    x = tensor(x)
    if axis is None:
        result = operator(x.reshape([-1]), 0)
        return result.reshape([1] * x.ndim) if keepdims else result
    return operator(x, axes_of(axis, x.ndim)[0], keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    return _position(weft.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    return _position(weft.argmin, x, axis, keepdims)


def _cumulative(operator, x, axis, dtype, include_initial, initial):
    x = tensor(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"{operator.__name__}: expected axis= for an array of {x.ndim} dimensions")
    (axis,) = axes_of(0 if axis is None else axis, x.ndim)
    result = operator(x.to(to_dtype(dtype) or _summed_dtype(x)), axis)
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return weft.concatenate([weft.full(shape, initial, dtype=result.dtype), result], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(weft.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(weft.cumprod, x, axis, dtype, include_initial, 1)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    parts = [part for part in (prepend, x, append) if part is not None]
    whole = weft.concatenate(parts, axis) if builtins.len(parts) > 1 else x
    return weft.diff(whole, n, axis)
