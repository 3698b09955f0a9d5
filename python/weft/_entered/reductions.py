"""Sums, means, variances, and their forms that leave NaN out."""

import numpy as np

from ._core import axis_of, before, into, is_in_c_order, laid_out_like, plainly, replaces, require


@replaces("numpy.average")
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    a = np.asarray(a)
    if weights is None:
        mean = a.mean(axis=axis, keepdims=keepdims)
        scale = np.asarray(mean).dtype.type(a.size / np.size(mean)) if returned else None
    else:
        weights = np.asarray(weights)
        dtype = (
            np.result_type(a.dtype, weights.dtype, np.float64)
            if a.dtype.kind in "iub"
            else np.result_type(a, weights)
        )
        if a.shape != weights.shape:
            if not isinstance(axis, int) or weights.ndim != 1 or weights.shape[0] != a.shape[axis]:
                return plainly(np.average, a, axis, weights, returned, keepdims=keepdims)
            shape = [1] * a.ndim
            shape[axis] = weights.shape[0]
            weights = weights.reshape(tuple(shape))
        scale = np.sum(weights, axis=axis, dtype=dtype, keepdims=keepdims)
        scale = require(scale, scale != 0)
        mean = np.multiply(a, weights, dtype=dtype).sum(axis=axis, keepdims=keepdims) / scale
    if not returned:
        return mean
    return mean, scale if np.shape(scale) == np.shape(mean) else np.broadcast_to(scale, np.shape(mean)).copy()


def _where_count(a, axis, where, keepdims):
    return np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=keepdims)


@replaces("numpy.mean", "nd.mean")
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    a = np.asarray(a)
    if where is True or dtype is not None or out is not None or a.dtype.char not in "fdlqi?":
        return plainly(np.mean, a, axis, dtype, out, keepdims, where=where)
    count = _where_count(a, axis, where, keepdims)
    count = require(count, count > 0)
    wide = a if a.dtype.kind == "f" else a.astype(np.float64)
    return (np.sum(wide, axis=axis, keepdims=keepdims, where=where) / count).astype(wide.dtype)


def _variance(a, axis, dtype, ddof, keepdims, where, mean, correction):
    a = np.asarray(a)
    usual = dtype is None and a.dtype.char in "fdFDlqi?e" and a.ndim > 0 and a.size > 0
    if not usual or not isinstance(ddof, int | float) or isinstance(axis, tuple):
        return None
    if correction is not None:
        if ddof != 0:
            return None
        ddof = correction
    result = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    wide = a.astype(np.float32) if a.dtype.char == "e" else a.astype(result)
    if where is True:
        count = a.size if axis is None else a.shape[axis]
        if count - ddof <= 0:
            return None
    else:
        count = _where_count(a, axis, where, True)
        count = require(count, count > ddof)
    if mean is None:
        mean = np.sum(wide, axis=axis, keepdims=True, where=where) / count
        if wide.dtype != np.float64 and wide.dtype != np.complex128:
            mean = mean.astype(wide.dtype)
    offset = wide - mean
    squares = offset.real**2 + offset.imag**2 if offset.dtype.kind == "c" else offset * offset
    total = np.sum(squares, axis=axis, keepdims=keepdims, where=where)
    if where is not True:
        count = _where_count(a, axis, where, keepdims)
    return (total / (count - ddof)).astype(np.empty(0, result).real.dtype)


def _given(where, mean, correction):
    """Keywords of numpy.var, whose defaults are no values."""
    keywords = {"where": where}
    if mean is not None:
        keywords["mean"] = mean
    if correction is not None:
        keywords["correction"] = correction
    return keywords


@replaces("numpy.var", "nd.var")
def var(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None
):
    value = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    if value is not None:
        return into(out, value, np.var, (a, axis))
    return plainly(np.var, a, axis, dtype, out, ddof, keepdims, **_given(where, mean, correction))


@replaces("numpy.std", "nd.std")
def std(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None
):
    value = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    if value is not None:
        return into(out, np.sqrt(value), np.std, (a, axis))
    return plainly(np.std, a, axis, dtype, out, ddof, keepdims, **_given(where, mean, correction))


def _without_nan(a, filler):
    return np.where(np.isnan(a), filler, a) if a.dtype.kind in "fc" else a


@replaces("numpy.nansum")
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True):
    a = _without_nan(np.asarray(a), 0)
    return np.sum(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


@replaces("numpy.nanprod")
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True):
    a = _without_nan(np.asarray(a), 1)
    return np.prod(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


@replaces("numpy.nancumsum")
def nancumsum(a, axis=None, dtype=None, out=None):
    a = np.asarray(a)
    return np.cumsum(
        laid_out_like(np.where(np.isnan(a), 0, a), a) if a.dtype.kind == "f" else a,
        axis=axis,
        dtype=dtype,
        out=out,
    )


@replaces("numpy.nancumprod")
def nancumprod(a, axis=None, dtype=None, out=None):
    a = np.asarray(a)
    return np.cumprod(
        laid_out_like(np.where(np.isnan(a), 1, a), a) if a.dtype.kind == "f" else a,
        axis=axis,
        dtype=dtype,
        out=out,
    )


@replaces("numpy.nanmean")
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    a = np.asarray(a)
    if a.dtype.kind in "iub":
        return np.mean(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
    if dtype is not None or a.dtype.char not in "fdFD":
        return plainly(np.nanmean, a, axis, dtype, out, keepdims, where=where)
    counted = ~np.isnan(a)
    count = np.sum(counted, axis=axis, keepdims=keepdims, where=where)
    total = np.sum(np.where(counted, a, 0), axis=axis, keepdims=keepdims, where=where)
    return into(out, (total / count).astype(a.dtype), np.nanmean, (a, axis))


def _nan_variance(a, axis, dtype, ddof, keepdims, where, mean, correction):
    """None for what NumPy does."""
    a = np.asarray(a)
    if dtype is not None or a.dtype.char not in "fd" or not isinstance(ddof, int | float):
        return None
    if correction is not None:
        if ddof != 0:
            return None
        ddof = correction
    missing = np.isnan(a)
    if where is not True:
        missing = missing | ~np.broadcast_to(where, a.shape)
    count = np.sum(~missing, axis=axis, keepdims=True)
    if mean is None:
        mean = (np.sum(np.where(missing, 0, a), axis=axis, keepdims=True) / count).astype(a.dtype)
    offset = np.where(missing, 0, a - mean)
    total = np.sum(offset * offset, axis=axis, keepdims=keepdims)
    freedom = np.sum(~missing, axis=axis, keepdims=keepdims) - ddof
    return (total / require(freedom, freedom > 0)).astype(
        a.dtype
    )  # NumPy warns of slices of too few elements


@replaces("numpy.nanvar")
def nanvar(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None
):
    if np.asarray(a).dtype.kind in "iub":
        return np.var(a, axis, dtype, out, ddof, keepdims, **_given(where, mean, correction))
    value = _nan_variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    if value is not None:
        return into(out, value, np.nanvar, (a, axis))
    return plainly(np.nanvar, a, axis, dtype, out, ddof, keepdims, **_given(where, mean, correction))


@replaces("numpy.nanstd")
def nanstd(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None
):
    if np.asarray(a).dtype.kind in "iub":
        return np.std(a, axis, dtype, out, ddof, keepdims, **_given(where, mean, correction))
    value = _nan_variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    if value is not None:
        return into(out, np.sqrt(value), np.nanstd, (a, axis))
    return plainly(np.nanstd, a, axis, dtype, out, ddof, keepdims, **_given(where, mean, correction))


def _nan_extreme(function, a, axis, out, keepdims, initial, where):
    a, is_max = np.asarray(a), function is np.nanmax
    plain = np.max if is_max else np.min
    if a.dtype.kind not in "fiub" or a.size == 0 or (initial is None and where is not True):
        return plainly(function, a, axis, out, keepdims, initial, where)
    options = {"axis": axis, "keepdims": keepdims, "where": where}
    if initial is not None:
        options["initial"] = initial
    if a.dtype.kind != "f":
        return into(out, plain(a, **options), function, (a, axis))
    missing = np.isnan(a)
    value = plain(np.where(missing, -np.inf if is_max else np.inf, a), **options)
    if initial is None:
        value = require(value, ~missing.all(axis=axis, keepdims=keepdims))  # NumPy warns of slices of nothing
    return into(out, value, function, (a, axis))


@replaces("numpy.nanmax")
def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    return _nan_extreme(np.nanmax, a, axis, out, keepdims, initial, where)


@replaces("numpy.nanmin")
def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    return _nan_extreme(np.nanmin, a, axis, out, keepdims, initial, where)


def _nan_position(function, a, axis, out, keepdims, filler):
    a = np.asarray(a)
    if a.dtype.kind not in "fiub" or a.size == 0:
        return plainly(function, a, axis, out, keepdims=keepdims)
    find = np.argmax if filler < 0 else np.argmin
    if a.dtype.kind != "f":
        return find(a, axis=axis, out=out, keepdims=keepdims)
    missing = np.isnan(a)
    position = find(np.where(missing, filler, a), axis=axis, keepdims=keepdims)
    return into(out, require(position, ~missing.all(axis=axis, keepdims=keepdims)), function, (a, axis))


@replaces("numpy.argmax", "nd.argmax")
def argmax(a, axis=None, out=None, *, keepdims=False):
    if out is None:
        return plainly(np.argmax, a, axis, keepdims=keepdims)
    return into(out, np.argmax(a, axis, keepdims=keepdims), np.argmax, (a, axis))


@replaces("numpy.argmin", "nd.argmin")
def argmin(a, axis=None, out=None, *, keepdims=False):
    if out is None:
        return plainly(np.argmin, a, axis, keepdims=keepdims)
    return into(out, np.argmin(a, axis, keepdims=keepdims), np.argmin, (a, axis))


@replaces("numpy.nanargmax")
def nanargmax(a, axis=None, out=None, *, keepdims=False):
    return _nan_position(np.nanargmax, a, axis, out, keepdims, -np.inf)


@replaces("numpy.nanargmin")
def nanargmin(a, axis=None, out=None, *, keepdims=False):
    return _nan_position(np.nanargmin, a, axis, out, keepdims, np.inf)


def _cumulative(function, x, axis, dtype, out, include_initial, initial):
    x = np.asarray(x)
    if axis is None:
        if x.ndim != 1:
            return plainly(np.cumulative_sum, x)
        axis = 0
    result = function(x, axis=axis, dtype=dtype)
    if include_initial:
        shape = list(result.shape)
        shape[axis] = 1
        result = np.concatenate([np.full(tuple(shape), initial, result.dtype), result], axis=axis)
    if out is None:
        return result
    out[...] = result
    return out


@replaces("numpy.cumulative_sum")
def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    return _cumulative(np.cumsum, x, axis, dtype, out, include_initial, 0)


@replaces("numpy.cumulative_prod")
def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    return _cumulative(np.cumprod, x, axis, dtype, out, include_initial, 1)


@replaces("numpy.cumsum", "nd.cumsum")
def cumsum(a, axis=None, dtype=None, out=None):
    if out is None:
        return plainly(np.cumsum, a, axis, dtype)
    return into(out, np.cumsum(a, axis, dtype), np.cumsum, (a, axis, dtype))


@replaces("numpy.cumprod", "nd.cumprod")
def cumprod(a, axis=None, dtype=None, out=None):
    if out is None:
        return plainly(np.cumprod, a, axis, dtype)
    return into(out, np.cumprod(a, axis, dtype), np.cumprod, (a, axis, dtype))


@replaces("numpy.dot", "nd.dot")
def dot(a, b, out=None):
    if out is not None and not is_in_c_order(out):
        return plainly(np.dot, a, b, out)
    if out is not None:
        result = into(out, np.dot(a, b), np.dot, (a, b))
        return result[()] if result.ndim == 0 else result
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        return np.dot(np.asarray(a), np.asarray(b))
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim < 1 or b.ndim < 3:
        return plainly(np.dot, a, b)
    return np.tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 2]))


@replaces("numpy.matmul")
def matmul(x1, x2, /, out=None, **kwargs):
    if out is None or kwargs:
        return plainly(np.matmul, x1, x2, **kwargs)
    return into(out, np.matmul(x1, x2), np.matmul, (x1, x2))


@replaces("numpy.diff")
def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    a = np.asarray(a)
    given, axis = axis, axis_of(axis, a.ndim)
    if axis is None or not isinstance(n, int) or n <= 0:
        return plainly(np.diff, a, n, given, prepend, append)
    shape = list(a.shape)
    shape[axis] = 1
    parts = [a]
    if prepend is not np._NoValue:
        parts.insert(
            0, np.broadcast_to(prepend, tuple(shape)) if np.ndim(prepend) == 0 else np.asarray(prepend)
        )
    if append is not np._NoValue:
        parts.append(np.broadcast_to(append, tuple(shape)) if np.ndim(append) == 0 else np.asarray(append))
    if len(parts) > 1:
        a = np.concatenate(parts, axis=axis)
    lead = before(axis)
    for _ in range(n):
        later, earlier = a[lead + (slice(1, None),)], a[lead + (slice(None, -1),)]
        a = later != earlier if a.dtype.kind == "b" else later - earlier
    return a


@replaces("numpy.ediff1d")
def ediff1d(ary, to_end=None, to_begin=None):
    ary = np.ravel(ary)
    parts = [ary[1:] - ary[:-1]]
    if to_begin is not None:
        parts.insert(0, np.ravel(to_begin))
    if to_end is not None:
        parts.append(np.ravel(to_end))
    if ary.dtype.kind != "f":
        return plainly(np.ediff1d, ary, to_end, to_begin)
    return np.concatenate([part.astype(ary.dtype) for part in parts])


@replaces("numpy.trapezoid")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = np.asarray(y)
    given, axis = axis, axis_of(axis, y.ndim)
    if axis is None:
        return plainly(np.trapezoid, y, x, dx, given)
    if x is None:
        width = dx
    else:
        x = np.asarray(x)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = x.shape[0] - 1
            width = np.diff(x).reshape(tuple(shape))
        else:
            width = np.diff(x, axis=axis)
    lead = before(axis)
    return (width * (y[lead + (slice(1, None),)] + y[lead + (slice(None, -1),)]) / 2.0).sum(axis)


@replaces("numpy.cross", "numpy.linalg.cross")
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    a, b = np.asarray(a), np.asarray(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    if (
        axis_of(axisa, a.ndim) is None
        or axis_of(axisb, b.ndim) is None
        or a.shape[axisa] != 3
        or b.shape[axisb] != 3
    ):
        return plainly(np.cross, a, b, axisa, axisb, axisc)
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return np.moveaxis(
        np.asarray(np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1), order="C"),
        -1,
        axisc,
    )


def _observation_weights(fweights, aweights, count):
    """The product of both kinds of weights; None where NumPy refuses one of them."""
    product = None
    for weights, kinds in ((fweights, "iu"), (aweights, "iuf")):
        if weights is None:
            continue
        weights = np.asarray(weights)
        if weights.dtype.kind not in kinds or weights.ndim != 1 or weights.shape[0] != count:
            return None
        weights = require(weights, weights >= 0).astype(np.float64)
        product = weights if product is None else product * weights
    return product


@replaces("numpy.cov")
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    m = np.asarray(m)
    if not isinstance(ddof, int | None) or m.ndim > 2 or m.ndim < 1 or m.size == 0:
        return plainly(np.cov, m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)
    parts = [m] if y is None else [m, np.asarray(y)]
    dtype = np.result_type(np.float64, *parts) if dtype is None else np.dtype(dtype)
    x = np.atleast_2d(m).astype(dtype)
    if not rowvar and m.ndim != 1:
        x = x.T
    if y is not None:
        y = np.atleast_2d(parts[1]).astype(dtype)
        x = np.concatenate([x, y.T if not rowvar and y.shape[0] != 1 else y], axis=0)
    freedom = (0 if bias else 1) if ddof is None else ddof
    weighted = fweights is not None or aweights is not None
    weights = _observation_weights(fweights, aweights, x.shape[1]) if weighted else None
    if (weighted and weights is None) or dtype.kind not in "fc" or (not weighted and x.shape[1] <= freedom):
        return plainly(np.cov, m, y, rowvar, bias, ddof, fweights, aweights)
    if not weighted:
        x = x - np.mean(x, axis=1)[:, None]
        return (np.dot(x, np.conjugate(x.T)) * (1 / (x.shape[1] - freedom))).squeeze()
    total = weights.sum()
    fact = total - freedom
    if freedom != 0 and aweights is not None:
        fact = total - freedom * np.sum(weights * np.asarray(aweights)) / total
    fact = require(fact, fact > 0)
    x = x - np.average(x, axis=1, weights=weights)[:, None]
    return (np.dot(x, np.conjugate((x * weights).T)) * (1 / fact)).squeeze()


@replaces("numpy.corrcoef")
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = np.cov(x, y, rowvar, dtype=dtype)
    if c.dtype.kind == "c":
        return plainly(np.corrcoef, x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.diag(c))
    return np.clip(c / deviation[:, None] / deviation[None, :], -1, 1)


@replaces("numpy.gradient")
def gradient(f, *varargs, axis=None, edge_order=1):
    f = np.asarray(f)
    axes = tuple(range(f.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = [axis_of(one, f.ndim) for one in axes]
    if None in axes:
        return plainly(np.gradient, f, *varargs, axis=axis, edge_order=edge_order)
    spacings = (
        [1.0] * len(axes) if len(varargs) == 0 else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    )
    usual = len(spacings) == len(axes) and edge_order in (1, 2) and f.dtype.kind in "fiuc"
    for spacing, one in zip(spacings, axes):
        usual = usual and f.shape[one] > edge_order and np.ndim(spacing) <= 1
        usual = usual and (np.ndim(spacing) == 0 or np.shape(spacing)[0] == f.shape[one])
    if not usual or len(varargs) == 1 and np.ndim(varargs[0]) > 0 and len(axes) > 1:
        return plainly(np.gradient, f, *varargs, axis=axis, edge_order=edge_order)
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    results = [_derivative(f, spacing, one, edge_order) for spacing, one in zip(spacings, axes)]
    return results[0] if len(axes) == 1 else tuple(results)


def _derivative(f, spacing, axis, edge_order):
    lead = before(axis)

    def part(start, stop):
        return f[lead + (slice(start, stop),)]

    if np.ndim(spacing) == 0:
        inner = (part(2, None) - part(None, -2)) / (2.0 * spacing)
        first, last = spacing, spacing
        if edge_order == 2:
            ends = [
                (-1.5 / spacing, 2.0 / spacing, -0.5 / spacing),
                (0.5 / spacing, -2.0 / spacing, 1.5 / spacing),
            ]
    else:
        places = np.asarray(spacing)
        steps = np.diff(places.astype(np.float64) if places.dtype.kind in "iu" else places)
        shape = [1] * f.ndim
        shape[axis] = steps.shape[0] - 1
        left, right = steps[:-1].reshape(tuple(shape)), steps[1:].reshape(tuple(shape))
        inner = (
            -right / (left * (left + right)) * part(None, -2)
            + (right - left) / (left * right) * part(1, -1)
            + left / (right * (left + right)) * part(2, None)
        )
        first, last = steps[0], steps[-1]
        if edge_order == 2:
            a, b = steps[0], steps[1]
            c, d = steps[-2], steps[-1]
            ends = [
                (-(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))),
                (d / (c * (c + d)), -(d + c) / (c * d), (2.0 * d + c) / (d * (c + d))),
            ]
    if edge_order == 1:
        front, back = (part(1, 2) - part(0, 1)) / first, (part(-1, None) - part(-2, -1)) / last
    else:
        front = ends[0][0] * part(0, 1) + ends[0][1] * part(1, 2) + ends[0][2] * part(2, 3)
        back = ends[1][0] * part(-3, -2) + ends[1][1] * part(-2, -1) + ends[1][2] * part(-1, None)
    return laid_out_like(np.concatenate([front, inner, back], axis=axis).astype(f.dtype), f)
