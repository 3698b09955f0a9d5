"""Sums and the like, with NumPy's dtypes."""

import builtins

import weft

from ._convert import array, axes_of, inexact, kind, to_dtype


def summed_dtype(x):
    letter = kind(x)
    return weft.uint64 if letter == "u" else weft.int64 if letter in "ib" else x.dtype


def over_axes(operator, x, axis, keepdims, **options):
    """operator(x, axes, keepdims) over one, several or all axes. axis=(): each element by itself."""
    axes = axes_of(axis, x.ndim)
    if axes:
        return operator(x, axes, keepdim=keepdims, **options)
    return operator(weft.unsqueeze(x, x.ndim), [x.ndim], keepdim=False, **options)


def sum(x, /, axis=None, dtype=None, *, keepdims=False):
    x = array(x)
    dtype = to_dtype(dtype) or summed_dtype(x)
    return over_axes(weft.sum, x.to(dtype), axis, keepdims, dtype=dtype)


def prod(x, /, axis=None, dtype=None, *, keepdims=False):
    x = array(x)
    dtype = to_dtype(dtype) or summed_dtype(x)
    return over_axes(weft.prod, x.to(dtype), axis, keepdims, dtype=dtype)


def _floating(x):
    x = array(x)
    return x if kind(x) in "fc" else x.to(weft.float64)


def mean(x, /, axis=None, *, keepdims=False):
    return over_axes(weft.mean, _floating(x), axis, keepdims)


def var(x, /, axis=None, *, correction=0.0, keepdims=False):
    return over_axes(weft.var, _floating(x), axis, keepdims, correction=correction)


def std(x, /, axis=None, *, correction=0.0, keepdims=False):
    return weft.sqrt(inexact(var(x, axis=axis, correction=correction, keepdims=keepdims)))


def _extreme(operator, x, axis, keepdims, which):
    x = array(x)
    if x.numel() == 0 and axis is None:
        raise ValueError(f"{which}: an empty array has no such element")
    return over_axes(operator, x, axis, keepdims)


def max(x, /, axis=None, *, keepdims=False):
    return _extreme(weft.amax, x, axis, keepdims, "max")


def min(x, /, axis=None, *, keepdims=False):
    return _extreme(weft.amin, x, axis, keepdims, "min")


def all(x, /, axis=None, *, keepdims=False):
    return over_axes(weft.all, array(x).to(weft.bool), axis, keepdims)


def any(x, /, axis=None, *, keepdims=False):
    return over_axes(weft.any, array(x).to(weft.bool), axis, keepdims)


def count_nonzero(x, /, axis=None, *, keepdims=False):
    return sum(array(x).to(weft.bool), axis=axis, keepdims=keepdims)


def _position(operator, x, axis, keepdims):
    x = array(x)
    if axis is None:
        result = operator(x.reshape([-1]), 0)
        return result.reshape([1] * x.ndim) if keepdims else result
    return operator(x, axes_of(axis, x.ndim)[0], keepdims)


def argmax(x, /, axis=None, *, keepdims=False):
    return _position(weft.argmax, x, axis, keepdims)


def argmin(x, /, axis=None, *, keepdims=False):
    return _position(weft.argmin, x, axis, keepdims)


def _cumulative(operator, name, x, axis, dtype, include_initial, initial):
    x = array(x)
    if x.ndim == 0:
        x = x.reshape([1])
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name}: expected axis= for an array of {x.ndim} dimensions")
    (axis,) = axes_of(0 if axis is None else axis, x.ndim)
    dtype = to_dtype(dtype) or summed_dtype(x)
    result = operator(x.to(dtype), axis, dtype=dtype)
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return weft.concatenate([weft.full(shape, initial, dtype=dtype), result], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(weft.cumsum, "cumulative_sum", x, axis, dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(weft.cumprod, "cumulative_prod", x, axis, dtype, include_initial, 1)


def diff(x, /, n=1, axis=-1, *, prepend=None, append=None):
    parts = [array(part) for part in (prepend, x, append) if part is not None]
    whole = weft.concatenate(parts, axis) if builtins.len(parts) > 1 else parts[0]
    return weft.diff(whole, n, axis)
