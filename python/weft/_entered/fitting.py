"""Interpolation, convolution, and functions of one variable."""

import numpy as np

from ._core import complex_of, is_number, laid_out_by, operator, plainly, replaces, require

WINDOW_TAPS = 256  # beside this many taps NumPy's sums of products are as fast


@replaces("numpy.interp")
def interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    if fp.dtype == np.complex128 and left is None and right is None and x.ndim > 0:
        parts = [
            np.interp(x, xp, part, period=period) for part in (operator("real", fp), operator("imag", fp))
        ]
        return complex_of(*parts)
    if (
        period is not None
        and is_number(period)
        and period != 0
        and xp.ndim == 1
        and xp.shape == fp.shape
        and xp.size > 0
    ):
        return _periodic(x, xp, fp, abs(period))
    if (
        period is not None
        or fp.dtype.kind not in "fiu"
        or x.dtype.kind == "c"
        or xp.dtype.kind == "c"
        or xp.ndim != 1
        or xp.shape != fp.shape
        or xp.shape[0] < 2
        or not (left is None or is_number(left))
        or not (right is None or is_number(right))
    ):
        return plainly(np.interp, x, xp, fp, left, right, period)
    x, xp, fp = x.astype(np.float64), xp.astype(np.float64), fp.astype(np.float64)
    size = xp.shape[0]
    xp = require(xp, xp[1:] >= xp[:-1])  # NumPy gives something for other positions, too
    place = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, size - 2)
    x0, x1, y0, y1 = xp[place], xp[place + 1], fp[place], fp[place + 1]
    slope = (y1 - y0) / (x1 - x0)
    value = slope * (x - x0) + y0
    other = slope * (x - x1) + y1
    value = np.where(np.isnan(value), np.where(np.isnan(other) & (y0 == y1), y0, other), value)
    value = np.where(x == x0, y0, value)
    value = np.where(x == xp[-1], fp[-1], value)
    value = np.where(x > xp[-1], fp[-1] if right is None else right, value)
    value = np.where(x < xp[0], fp[0] if left is None else left, value)
    return np.where(np.isnan(x), x, value)[()]


def _periodic(x, xp, fp, period):
    x, xp = x.astype(np.float64) % period, xp.astype(np.float64) % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate((xp[-1:] - period, xp, xp[0:1] + period))
    return np.interp(x, xp, np.concatenate((fp[-1:], fp, fp[0:1])))


def _sums_of_windows(a, v):
    """Results for which all of v lies over a."""
    windows = operator("unfold", a, dim=0, size=v.shape[0], step=1)
    return (windows * v[::-1]).sum(axis=1, dtype=a.dtype)


def _window_products(a, v, first, last):
    """Results first … last - 1 of the full convolution. Beyond the ends there is no product, not even of zero and infinity."""
    taps, size = v.shape[0], a.shape[0]
    places = np.arange(first, last)[:, None] + np.arange(1 - taps, 1)
    inside = (places >= 0) & (places < size)
    products = a[np.clip(places, 0, size - 1)] * v[::-1]
    return np.where(inside, products, np.zeros((), a.dtype)).sum(axis=1, dtype=a.dtype)


def _convolved(a, v, first, last):
    """_window_products, with the matrix of windows at the ends of a only."""
    taps, size = v.shape[0], a.shape[0]
    parts = [_sums_of_windows(a, v)]
    if first < taps - 1:
        parts = [_window_products(a, v, first, taps - 1), *parts]
    if size < last:
        parts = [*parts, _window_products(a, v, size, last)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@replaces("numpy.convolve")
def convolve(a, v, mode="full"):
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    usual = a.ndim == 1 and v.ndim == 1 and a.shape[0] > 0 and v.shape[0] > 0
    if not usual or mode not in ("full", "same", "valid") or a.dtype.kind == "b":
        return plainly(np.convolve, a, v, mode)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    dtype = np.result_type(a, v)
    a, v = a.astype(dtype), v.astype(dtype)
    taps, size = v.shape[0], a.shape[0]
    first, last = 0, size + taps - 1
    if mode == "valid":
        first, last = taps - 1, size
    elif mode == "same":
        first = (taps - 1) // 2
        last = first + size
    if taps <= WINDOW_TAPS and dtype.char != "e":
        return _convolved(a, v, first, last)
    if taps * size > 1 << 22:
        return plainly(np.convolve, a, v, mode)
    if mode == "valid":
        return np.matmul(a[np.arange(size - taps + 1)[:, None] + np.arange(taps)], v[::-1])
    return _window_products(a, v, first, last)


@replaces("numpy.correlate")
def correlate(a, v, mode="valid"):
    a, v = np.asarray(a), np.asarray(v)
    usual = a.ndim == 1 and v.ndim == 1 and v.size > 0
    if not usual or a.shape[0] < v.shape[0] or a.dtype.kind == "b":
        return plainly(np.correlate, a, v, mode)
    # The conjugate of truth values is int8.
    return np.convolve(a, np.conjugate(v[::-1]) if v.dtype.kind == "c" else v[::-1], mode)


@replaces("numpy.i0")
def i0(x):
    x = np.asarray(x)
    if x.ndim == 0 or x.dtype.kind == "c":
        return plainly(np.i0, x)
    return laid_out_by(operator("i0", x if x.dtype.kind == "f" else x.astype(np.float64)), x)


@replaces("numpy.sinc")
def sinc(x):
    x = np.pi * np.asarray(x)
    y = np.where(x, x, np.finfo(x.dtype).eps if x.dtype.kind == "f" else 1e-20)
    return np.sin(y) / y
