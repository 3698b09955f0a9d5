"""Sorting, searching and order statistics."""

import math

import numpy as np

from ._core import (
    axis_of,
    before,
    in_numpys_order,
    into,
    is_number,
    laid_out_by,
    plainly,
    product_of,
    replaces,
    require,
)


@replaces("nd.sort")
def sort_in_place(a, axis=-1, kind=None, order=None, *, stable=None):
    if order is not None or axis is None:
        return plainly(np.ndarray.sort, a, axis, kind, order)
    a[...] = np.sort(a, axis=axis, kind=kind, stable=stable)


@replaces("numpy.partition")
def partition(a, kth, axis=-1, kind="introselect", order=None):
    return in_numpys_order(np.partition, a, kth, axis, kind, order)


@replaces("numpy.argpartition", "nd.argpartition")
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    return in_numpys_order(np.argpartition, a, kth, axis, kind, order)


@replaces("nd.partition")
def partition_in_place(a, kth, /, axis=-1, kind="introselect", order=None):
    if axis is None or order is not None:
        return plainly(np.ndarray.partition, a, kth, axis, kind, order)
    a[...] = in_numpys_order(np.partition, a, kth, axis, kind)


@replaces("numpy.sort_complex")
def sort_complex(a):
    a = np.sort(a)
    if a.dtype.kind == "c":
        return a
    return a.astype(np.complex64 if a.dtype.char in "bhBH" else np.complex128)


@replaces("numpy.argsort", "nd.argsort")
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Without kind="stable" NumPy leaves equal elements in no defined order: then NumPy itself runs."""
    a = np.asarray(a)
    if kind is not None or order is not None or stable is not None or a.ndim == 0:
        return plainly(np.argsort, a, axis, kind, order)
    if axis is None:
        a, axis = np.ravel(a), 0
    positions = np.argsort(a, axis=axis, kind="stable")
    ordered = np.take_along_axis(a, positions, axis=axis)
    lead = before(axis % a.ndim)
    distinct = ordered[lead + (slice(1, None),)] > ordered[lead + (slice(None, -1),)]
    return require(positions, distinct)


@replaces("numpy.searchsorted", "nd.searchsorted")
def searchsorted(a, v, side="left", sorter=None):
    if sorter is None:
        return plainly(np.searchsorted, a, v, side)
    a, order = np.asarray(a), np.asarray(sorter)
    if a.ndim != 1 or order.shape != a.shape or order.dtype.kind not in "iu":
        return plainly(np.searchsorted, a, v, side, sorter)
    return np.searchsorted(a[order], v, side)


@replaces("numpy.digitize")
def digitize(x, bins, right=False):
    x, bins = np.asarray(x), np.asarray(bins)
    if bins.ndim != 1 or bins.shape[0] < 1 or "c" in (x.dtype.kind, bins.dtype.kind):
        return plainly(np.digitize, x, bins, right)
    side = "left" if right else "right"
    up, down = (bins[1:] >= bins[:-1]).all(), (bins[1:] <= bins[:-1]).all()
    place = np.searchsorted(np.where(up, bins, bins[::-1]), x, side=side)
    return require(np.where(up, place, bins.shape[0] - place)[()], up | down)


@replaces("numpy.lexsort")
def lexsort(keys, axis=-1):
    keys = [np.asarray(key) for key in keys]
    place = axis_of(axis, keys[0].ndim) if len(keys) > 0 else None
    if place is None:
        return plainly(np.lexsort, keys, axis)
    order = np.argsort(keys[0], axis=place, kind="stable")
    for key in keys[1:]:
        sorted_key = np.take_along_axis(key, order, axis=place)
        order = np.take_along_axis(order, np.argsort(sorted_key, axis=place, kind="stable"), axis=place)
    return order


@replaces("numpy.isin")
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    element, tests = np.asarray(element), np.ravel(test_elements)
    if (
        kind not in (None, "sort")  # a table may be too large
        or tests.size == 0
        or element.dtype.kind == "c"
        or tests.dtype.kind == "c"
        # Signed and unsigned integers without a common dtype: which ones NumPy takes as floats depends on how many there are.
        or {element.dtype.kind, tests.dtype.kind} == {"i", "u"}
        and np.result_type(element, tests).kind == "f"
    ):
        return plainly(np.isin, element, tests, assume_unique, invert)
    ordered = np.sort(tests)
    places = np.minimum(np.searchsorted(ordered, element), tests.size - 1)
    found = ordered[places] == element
    return np.asarray(~found if invert else found)


def _axes_of(axis, ndim):
    """The axes from the front; None where they are no axes."""
    axes = [axis_of(one, ndim) for one in (axis if isinstance(axis, tuple) else (axis,))]
    distinct = None not in axes and all([axes[place] not in axes[:place] for place in range(len(axes))])
    return axes if distinct and axes else None


def _moved(a, axis):
    """The elements along the axes as the last dimension; None for what is done by NumPy."""
    if axis is None:
        return np.ravel(a)
    axes = _axes_of(axis, a.ndim)
    if axes is None:
        return None
    if len(axes) == 1:
        return np.moveaxis(a, axes[0], -1)
    rest = [one for one in range(a.ndim) if one not in axes]
    shape = [a.shape[one] for one in rest]
    return np.transpose(a, tuple(rest + axes)).reshape((*shape, product_of([a.shape[one] for one in axes])))


def _kept(result, a, axis, keepdims):
    if not keepdims:
        return result
    if axis is None:
        return np.reshape(result, (1,) * a.ndim)
    return np.expand_dims(result, tuple(_axes_of(axis, a.ndim)))


@replaces("numpy.median")
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a = np.asarray(a)
    moved = _moved(a, axis)
    if overwrite_input or moved is None or a.dtype.char not in "dflqihbBHIL" or moved.shape[-1] == 0:
        return plainly(np.median, a, axis, out, overwrite_input, keepdims)
    ordered = np.sort(moved, axis=-1)
    size = ordered.shape[-1]
    middle = ordered[..., (size - 1) // 2 : size // 2 + 1].mean(axis=-1)
    if a.dtype.kind == "f":
        last = ordered[..., -1]
        middle = np.where(np.isnan(last), last, middle)[()]
    return into(out, _kept(middle, a, axis, keepdims), np.median, (a, axis))


@replaces("numpy.nanmedian")
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a = np.asarray(a)
    if a.dtype.kind in "iub":
        return np.median(a, axis, out, overwrite_input, keepdims)
    moved = _moved(a, axis)
    if overwrite_input or moved is None or a.dtype.char not in "df" or moved.shape[-1] == 0:
        return plainly(np.nanmedian, a, axis, out, overwrite_input, keepdims)
    ordered = np.sort(moved, axis=-1)
    count = np.sum(~np.isnan(moved), axis=-1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum((count - 1) // 2, 0), axis=-1)
    high = np.take_along_axis(ordered, np.minimum(count // 2, moved.shape[-1] - 1), axis=-1)
    middle = np.where(count % 2 == 1, low, (low + high) / 2)[..., 0][()]
    middle = require(middle, count > 0)  # NumPy warns of slices of nothing
    middle = _kept(laid_out_by(middle, moved[..., 0]) if middle.ndim > 1 else middle, a, axis, keepdims)
    return into(out, middle, np.nanmedian, (a, axis))


# alpha and beta of Hyndman and Fan's family of interpolating quantiles.
_ALPHA_BETA = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "linear": (1.0, 1.0),
    "weibull": (0.0, 0.0),
    "hazen": (0.5, 0.5),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}


def _virtual_position(count, q, method):
    """Where between the order statistics of `count` elements the quantile lies, from 0."""
    if method == "linear":
        return (count - 1) * q
    alpha, beta = _ALPHA_BETA[method]
    return count * q + (alpha + q * (1 - alpha - beta)) - 1


def _between(ordered, q, method):
    count = ordered.shape[-1]
    if method in _STEPS:
        return _at_step(ordered, q, method)
    if method in ("lower", "higher", "midpoint"):
        place = (count - 1) * q
        low, high = math.floor(place), math.ceil(place)
        if method == "lower":
            return ordered[..., low]
        if method == "higher":
            return ordered[..., high]
        return _interpolated(ordered[..., low], ordered[..., high], 0.5 if low != high else 0.0)
    place = min(max(_virtual_position(count, q, method), 0.0), count - 1.0)
    low = math.floor(place)
    return _interpolated(ordered[..., low], ordered[..., min(low + 1, count - 1)], place - low)


_STEPS = ("nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def _at_step(ordered, q, method):
    """An order statistic, or the mean of two."""
    count = ordered.shape[-1]
    if method == "nearest":
        return ordered[..., round((count - 1) * q)]
    place = count * q - 1 - (0.5 if method == "closest_observation" else 0)
    low = math.floor(place)
    exact = place == low
    if method == "averaged_inverted_cdf":
        pair = [ordered[..., min(max(one, 0), count - 1)] for one in (low, low + 1)]
        return _interpolated(pair[0], pair[1], 0.5 if exact else 1.0)
    stays = exact and (method == "inverted_cdf" or low % 2 == 1)
    return ordered[..., min(max(low if stays else low + 1, 0), count - 1)]


def _interpolated(low, high, weight):
    step = high - low
    return high - step * (1 - weight) if weight >= 0.5 else low + step * weight


def _numbers_of(q, scale):
    """The quantiles as fractions and the shape that they are in; None where they are not known, or none."""
    if isinstance(q, list | tuple) and all([is_number(one) for one in q]):
        shape, listed = (len(q),), q
    elif isinstance(q, np.ndarray | np.generic | list | tuple):
        q = np.asarray(q)
        if q.ndim > 3 or q.size > 64 or q.dtype.kind not in "iuf":
            return None, ()
        shape, listed = q.shape, np.ravel(q).tolist()
    else:
        shape, listed = (), [q]
    for one in listed:
        if not is_number(one) or not 0 <= one <= scale:
            return None, ()
    return [one / scale for one in listed], shape


def _in_shape(results, shape):
    """Results of one quantile each, behind the axes of q."""
    if shape == ():
        return results[0]
    stacked = np.stack(results)
    return stacked if len(shape) == 1 else stacked.reshape(shape + stacked.shape[1:])


def _quantiles(a, q, axis, method, keepdims, scale):
    """None for what NumPy does."""
    a = np.asarray(a)
    moved = _moved(a, axis)
    fractions, shape = _numbers_of(q, scale)
    usual = (
        moved is not None and fractions is not None and a.dtype.char in "dlqif" and isinstance(method, str)
    )
    usual = usual and (method in _ALPHA_BETA or method in _STEPS or method in ("lower", "higher", "midpoint"))
    # NumPy computes with float32 numbers where q is one number of Python's.
    narrow = a.dtype.char == "f" and (scale == 100 or not is_number(q))
    if not usual or moved.shape[-1] == 0 or narrow:
        return None
    ordered = np.asarray(np.sort(moved, axis=-1), order="C")
    results = []
    for one in fractions:
        value = _between(ordered, one, method)
        if a.dtype.kind == "f":
            last = ordered[..., -1]
            value = np.where(np.isnan(last), last, value)[()]
        results.append(_kept(value[()], a, axis, keepdims))
    return _in_shape(results, shape)


def _given_quantiles(function, compute, a, q, axis, out, overwrite_input, method, keepdims, weights, scale):
    """The result, in `out` if there is one."""
    if weights is not None:
        return in_numpys_order(function, a, q, axis, out, overwrite_input, method, keepdims, weights=weights)
    value = None if overwrite_input else compute(a, q, axis, method, keepdims, scale)
    if value is None:
        return plainly(function, a, q, axis, out, overwrite_input, method, keepdims)
    return into(out, value, function, (a, q, axis))


@replaces("numpy.quantile")
def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    return _given_quantiles(
        np.quantile, _quantiles, a, q, axis, out, overwrite_input, method, keepdims, weights, 1
    )


@replaces("numpy.percentile")
def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    return _given_quantiles(
        np.percentile, _quantiles, a, q, axis, out, overwrite_input, method, keepdims, weights, 100
    )


def _position_among(count, q, method):
    """The two order statistics among `count` elements, an array, and the weight of the second."""
    last = np.maximum(count - 1, 0)
    if method in _ALPHA_BETA:
        place = np.clip(_virtual_position(count, q, method), 0.0, last)
        below = np.floor(place)
        return below.astype(np.int64), np.minimum(below.astype(np.int64) + 1, last), place - below
    if method in ("lower", "higher", "midpoint", "nearest"):
        place = (count - 1) * q
        below, above = np.floor(place), np.ceil(place)
        if method == "midpoint":
            return below.astype(np.int64), above.astype(np.int64), np.where(below != above, 0.5, 0.0)
        chosen = below if method == "lower" else above if method == "higher" else np.rint(place)
        return chosen.astype(np.int64), chosen.astype(np.int64), place * 0.0
    place = count * q - 1 - (0.5 if method == "closest_observation" else 0)
    below = np.floor(place)
    exact = place == below
    low = np.clip(below, 0, last).astype(np.int64)
    high = np.clip(below + 1, 0, last).astype(np.int64)
    if method == "averaged_inverted_cdf":
        return low, high, np.where(exact, 0.5, 1.0)
    stays = exact & (below % 2 == 1) if method == "closest_observation" else exact
    return low, high, np.where(stays, 0.0, 1.0)


def _nan_quantiles(a, q, axis, method, keepdims, scale):
    a = np.asarray(a)
    if a.dtype.kind in "iub":
        return _quantiles(a, q, axis, method, keepdims, scale)
    moved = _moved(a, axis)
    fractions, shape = _numbers_of(q, scale)
    usual = moved is not None and fractions is not None and a.dtype.char == "d" and isinstance(method, str)
    usual = usual and (method in _ALPHA_BETA or method in _STEPS or method in ("lower", "higher", "midpoint"))
    if not usual or moved.shape[-1] == 0:
        return None
    ordered = np.sort(moved, axis=-1)
    count = np.sum(~np.isnan(moved), axis=-1, keepdims=True)
    count = require(count, count > 0)  # NumPy warns of slices of nothing
    results = []
    for one in fractions:
        below, above, weight = _position_among(count, one, method)
        low = np.take_along_axis(ordered, below, axis=-1)
        high = np.take_along_axis(ordered, above, axis=-1)
        step = high - low
        value = np.where(weight >= 0.5, high - step * (1 - weight), low + step * weight)[..., 0][()]
        results.append(_kept(value, a, axis, keepdims))
    return _in_shape(results, shape) if len(shape) != 1 else np.moveaxis(np.stack(results, axis=-1), -1, 0)


@replaces("numpy.nanquantile")
def nanquantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    return _given_quantiles(
        np.nanquantile, _nan_quantiles, a, q, axis, out, overwrite_input, method, keepdims, weights, 1
    )


@replaces("numpy.nanpercentile")
def nanpercentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    return _given_quantiles(
        np.nanpercentile, _nan_quantiles, a, q, axis, out, overwrite_input, method, keepdims, weights, 100
    )
