"""Rounding, parts of numbers, and functions of complex numbers made from those of their parts."""

import numpy as np

from ._core import complex_of, given_out, laid_out_by, operator, plainly, replaces, require

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453


@replaces("numpy.round", "numpy.around", "nd.round")
def round(a, decimals=0, out=None):
    array = np.asarray(a)
    if out is not None and (out.dtype != array.dtype or out.shape != array.shape):
        return plainly(np.round, a, decimals, out)
    if array.dtype.kind == "c":
        result = complex_of(np.round(array.real, decimals), np.round(array.imag, decimals))[()]
    elif array.dtype.kind in "iu" and decimals < 0:
        power = 10.0**-decimals
        result = (np.rint(array / power) * power).astype(array.dtype)
    elif out is None:
        return plainly(np.round, array, decimals)
    else:
        result = np.round(array, decimals)
    return given_out(out, result)


def _float_of(x):
    """The floating-point type in which NumPy computes with the numbers."""
    return np.sqrt(np.empty(0, x.dtype)).dtype


def _scaled(x, n):
    """x * 2**n of float64 numbers, rounded once. n: float64 whole numbers."""
    n = np.clip(n, -2200.0, 2200.0)
    for _ in range(2):
        up, down = n > 1023, n < -1022
        x = x * np.where(up, 2.0**1023, np.where(down, 2.0**-969, 1.0))
        n = n - np.where(up, 1023.0, np.where(down, -969.0, 0.0))
    return x * np.exp2(np.clip(n, -1022.0, 1023.0))


@replaces("numpy.ldexp")
def ldexp(x1, x2, /, out=None, **kwargs):
    first, second = np.asarray(x1), np.asarray(x2)
    if kwargs or first.dtype.kind not in "fiub" or second.dtype.kind not in "ib":
        return plainly(np.ldexp, x1, x2, out, **kwargs)
    dtype = _float_of(first)
    result = _scaled(first.astype(np.float64), second.astype(np.float64)).astype(dtype)
    target = out[0] if isinstance(out, tuple) else out
    if target is not None and (target.dtype != dtype or target.shape != result.shape):
        return plainly(np.ldexp, x1, x2, out)
    return given_out(target, result)


def _pair_out(function, x, out, results):
    """Two results, or the two arrays that take them."""
    if out == ():
        return results
    if not isinstance(out, tuple) or len(out) != 2:
        return plainly(function, *x, out=out)
    for target, result in zip(out, results):
        if target is None or target.dtype != result.dtype or target.shape != result.shape:
            return plainly(function, *x, out=out)
    for target, result in zip(out, results):
        target[...] = result
    return out[0], out[1]


@replaces("numpy.frexp")
def frexp(x, /, *, out=(), **kwargs):
    array = np.asarray(x)
    if kwargs or array.dtype.kind not in "fiub":
        return plainly(np.frexp, x, out=out, **kwargs)
    wide = array.astype(np.float64)
    size = np.abs(wide)
    usual = (size > 0) & np.isfinite(size)
    # Away from both ends of the range, where powers of two are no ordinary numbers.
    shift = np.where(size < 2.0**-900, -100.0, np.where(size > 2.0**900, 100.0, 0.0))
    size = np.where(usual, size * np.exp2(-shift), 0.5)
    exponent = np.floor(np.log2(size)) + 1
    fraction = size * np.exp2(-exponent)
    large, small = fraction >= 1, fraction < 0.5
    fraction = np.where(large, fraction / 2, np.where(small, fraction * 2, fraction))
    exponent = exponent + shift + np.where(large, 1.0, np.where(small, -1.0, 0.0))
    fraction = np.where(usual, np.copysign(fraction, wide), wide).astype(_float_of(array))
    return _pair_out(np.frexp, (x,), out, (fraction[()], np.where(usual, exponent, 0.0).astype(np.int32)[()]))


@replaces("numpy.modf")
def modf(x, /, *, out=(), **kwargs):
    array = np.asarray(x)
    if kwargs or array.dtype.kind not in "fiub":
        return plainly(np.modf, x, out=out, **kwargs)
    dtype = _float_of(array)
    if dtype == np.float16:
        fraction, whole = np.modf(array.astype(np.float32))
        fraction, whole = fraction.astype(dtype), whole.astype(dtype)
    else:
        fraction, whole = np.modf(array.astype(dtype))
    return _pair_out(np.modf, (x,), out, (fraction, whole))


@replaces("numpy.divmod")
def divmod(x1, x2, /, *, out=(), **kwargs):
    if kwargs:
        return plainly(np.divmod, x1, x2, out=out, **kwargs)
    return _pair_out(np.divmod, (x1, x2), out, (np.floor_divide(x1, x2), np.remainder(x1, x2)))


def _is_plain_complex(x, kwargs):
    return not kwargs and isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "c"


@replaces("numpy.sign")
def sign(x, /, **kwargs):
    if not _is_plain_complex(x, kwargs):
        return plainly(np.sign, x, **kwargs)
    real, imag, size = x.real, x.imag, np.abs(x)
    one, zero, nan = [np.full((), number, real.dtype) for number in (1, 0, np.nan)]
    divisor = np.where((size == 0) | np.isinf(size), one, size)
    to_real, to_imag = real / divisor, imag / divisor
    wide, high = np.isinf(real), np.isinf(imag)
    to_real = np.where(wide, np.copysign(one, real), np.where(high, zero, to_real))
    to_imag = np.where(high, np.copysign(one, imag), np.where(wide, zero, to_imag))
    lost = np.isnan(size) | (wide & high)
    to_real = np.where(lost, nan, np.where(size == 0, zero, to_real))
    to_imag = np.where(lost, nan, np.where(size == 0, zero, to_imag))
    return complex_of(to_real, to_imag)[()]


@replaces("numpy.exp2")
def exp2(x, /, **kwargs):
    if not _is_plain_complex(x, kwargs):
        return plainly(np.exp2, x, **kwargs)
    return np.exp(complex_of(x.real * LN_2, x.imag * LN_2)[()])


@replaces("numpy.expm1")
def expm1(x, /, **kwargs):
    if not _is_plain_complex(x, kwargs):
        return plainly(np.expm1, x, **kwargs)
    real, imag = x.real, x.imag
    half = np.sin(imag / 2)
    return complex_of(np.expm1(real) * np.cos(imag) - 2 * half * half, np.exp(real) * np.sin(imag))[()]


@replaces("numpy.log2")
def log2(x, /, **kwargs):
    if not _is_plain_complex(x, kwargs):
        return plainly(np.log2, x, **kwargs)
    value = np.log(x)
    return complex_of(value.real * LOG2_E, value.imag * LOG2_E)[()]


@replaces("numpy.log1p")
def log1p(x, /, **kwargs):
    if not _is_plain_complex(x, kwargs):
        return plainly(np.log1p, x, **kwargs)
    real = x.real + 1
    return complex_of(np.log(np.hypot(real, x.imag)), np.arctan2(x.imag, real))[()]


def _complex_reciprocal(z):
    """By the larger of both parts, as NumPy divides: of zero it is NaN, of infinities as well."""
    real, imag = z.real, z.imag
    by_real = np.abs(imag) <= np.abs(real)
    ratio = np.where(by_real, imag, real) / np.where(by_real, real, imag)
    scale = np.where(by_real, real + imag * ratio, real * ratio + imag)
    one = np.ones((), scale.dtype)
    real, imag = np.where(by_real, one, ratio) / scale, np.where(by_real, -ratio, -one) / scale
    return laid_out_by(operator("complex", real, imag), z)


@replaces("numpy.reciprocal")
def reciprocal(x, /, *out, **kwargs):
    array = np.asarray(x)
    if array.dtype.kind == "c":
        return plainly(np.reciprocal, x, *out, **kwargs) if out or kwargs else _complex_reciprocal(array)[()]
    if array.dtype.kind == "f" and not out and not kwargs:
        return 1.0 / array
    if array.dtype.kind == "f":
        return np.divide(np.ones(array.shape, array.dtype), array, *out, **kwargs)
    if array.dtype.kind not in "iu" or out or kwargs:
        return plainly(np.reciprocal, x, *out, **kwargs)
    one = np.ones((), array.dtype)
    array = require(array, array != 0)
    if array.dtype.kind == "u":
        return np.where(array == 1, one, one - one)[()]
    return (np.where(array == 1, one, one - one) - np.where(array == -one, one, one - one))[()]


@replaces("numpy.nan_to_num")
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not copy:
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
            return plainly(np.nan_to_num, x, copy, nan, posinf, neginf)
        x[...] = np.nan_to_num(x, True, nan, posinf, neginf)
        return x
    array = np.asarray(x)
    if array.dtype.kind != "c":
        return plainly(np.nan_to_num, x, copy, nan, posinf, neginf)
    real = np.nan_to_num(array.real, nan=nan, posinf=posinf, neginf=neginf)
    return complex_of(real, np.nan_to_num(array.imag, nan=nan, posinf=posinf, neginf=neginf))[()]
