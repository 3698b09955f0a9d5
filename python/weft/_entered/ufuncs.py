"""Element by element: NumPy's functions over ufuncs."""

import numpy as np

from ._core import axis_of, before, is_number, laid_out_like, plainly, replaces, sized


@replaces("numpy.angle")
def angle(z, deg=False):
    z = np.asarray(z)
    value = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return value * (180 / np.pi) if deg else value


@replaces("numpy.isscalar")
def isscalar(element):
    if isinstance(element, np.generic | int | float | complex | str | bytes):
        return True
    if element is None or isinstance(element, np.ndarray | list | tuple | dict):
        return False
    return plainly(np.isscalar, element)  # a number of another class


@replaces("numpy.real")
def real(val):
    return (
        val.real if isinstance(val, np.ndarray | np.generic | int | float | complex) else np.asarray(val).real
    )


@replaces("numpy.imag")
def imag(val):
    return (
        val.imag if isinstance(val, np.ndarray | np.generic | int | float | complex) else np.asarray(val).imag
    )


@replaces("numpy.iscomplexobj")
def iscomplexobj(x):
    return np.asarray(x).dtype.kind == "c"


@replaces("numpy.isrealobj")
def isrealobj(x):
    return np.asarray(x).dtype.kind != "c"


@replaces("numpy.iscomplex")
def iscomplex(x):
    x = np.asarray(x)
    return x.imag != 0 if x.dtype.kind == "c" else np.zeros(x.shape, bool)[()]


@replaces("numpy.isreal")
def isreal(x):
    return np.imag(x) == 0


@replaces("numpy.real_if_close")
def real_if_close(a, tol=100):
    a = np.asarray(a)
    return sized(np.real_if_close, a, tol) if a.dtype.kind == "c" else a


@replaces("numpy.isneginf")
def isneginf(x, out=None):
    x = np.asarray(x)
    if out is not None or x.dtype.kind == "c":
        return plainly(np.isneginf, x, out)
    return np.logical_and(np.isinf(x), np.signbit(x))


@replaces("numpy.isposinf")
def isposinf(x, out=None):
    x = np.asarray(x)
    if out is not None or x.dtype.kind == "c":
        return plainly(np.isposinf, x, out)
    return np.logical_and(np.isinf(x), ~np.signbit(x))


def _is_pythons(value):
    return isinstance(value, int | float | complex) and not isinstance(value, np.generic)


@replaces("numpy.isclose")
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    if not (is_number(rtol) and is_number(atol) and -np.inf < rtol < np.inf and -np.inf < atol < np.inf):
        return plainly(np.isclose, a, b, rtol, atol, equal_nan)
    # Python's numbers are as wide as what they are compared with.
    a = a if _is_pythons(a) and isinstance(b, np.ndarray | np.generic) else np.asarray(a)
    b = b if _is_pythons(b) and isinstance(a, np.ndarray | np.generic) else np.asarray(b)
    if isinstance(b, int):
        b = float(b)
    elif not _is_pythons(b) and b.dtype.kind in "iub":
        b = b.astype(np.float64)
    near = (np.abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    if equal_nan:
        near = near | np.isnan(a) & np.isnan(b)
    return near


@replaces("numpy.allclose")
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).all().item()


@replaces("numpy.array_equal")
def array_equal(a1, a2, equal_nan=False):
    a1, a2 = np.asarray(a1), np.asarray(a2)
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    if equal_nan:
        same = same | (a1 != a1) & (a2 != a2)
    return same.all().item()


@replaces("numpy.array_equiv")
def array_equiv(a1, a2):
    a1, a2 = np.asarray(a1), np.asarray(a2)
    for one, other in zip(a1.shape[::-1], a2.shape[::-1]):
        if one != other and one != 1 and other != 1:
            return False
    return (a1 == a2).all().item()


@replaces("numpy.clip", "nd.clip")
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    low, high = a_min if min is None else min, a_max if max is None else max
    if out is None or (low is None and high is None) or np.asarray(a).dtype.kind != "f":
        return plainly(np.clip, a, low, high, out=out)
    if low is None:
        return np.minimum(a, high, out=out)
    if high is None:
        return np.maximum(a, low, out=out)
    return np.minimum(np.maximum(a, low), high, out=out)


@replaces("numpy.fix")
def fix(x, out=None):
    return np.trunc(x) if out is None else np.trunc(x, out=out)


@replaces("numpy.float_power")
def float_power(x1, x2, **kwargs):
    x1, x2 = np.asarray(x1), np.asarray(x2)
    if kwargs or x1.dtype.kind == "c" or x2.dtype.kind == "c":
        return plainly(np.float_power, x1, x2, **kwargs)
    return np.power(x1.astype(np.float64), x2.astype(np.float64))


@replaces("numpy.spacing")
def spacing(x, **kwargs):
    x = np.asarray(x)
    if kwargs or x.dtype.char not in "fd":
        return plainly(np.spacing, x, **kwargs)
    size = np.abs(x)
    step = np.nextafter(size, np.full((), np.inf, x.dtype)) - size
    return np.where(np.isinf(x), np.full((), np.nan, x.dtype), np.where(x < 0, -step, step))[()]


@replaces("numpy.bitwise_count")
def bitwise_count(x, **kwargs):
    x = np.asarray(x)
    if kwargs or x.dtype.kind not in "iu":
        return plainly(np.bitwise_count, x, **kwargs)
    bits = (x if x.dtype.kind == "u" else np.abs(x.astype(np.int64))).astype(np.uint64)
    ones, pairs, nibbles = (
        np.uint64(0x5555555555555555),
        np.uint64(0x3333333333333333),
        np.uint64(0x0F0F0F0F0F0F0F0F),
    )
    bits = bits - ((bits >> np.uint64(1)) & ones)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & nibbles
    return ((bits * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.uint8)


@replaces("numpy.vecdot", "numpy.linalg.vecdot")
def vecdot(x1, x2, /, *, axis=-1):
    x1, x2 = np.asarray(x1), np.asarray(x2)
    if axis_of(axis, x1.ndim) is None or axis_of(axis, x2.ndim) is None or x1.shape[axis] != x2.shape[axis]:
        return plainly(np.vecdot, x1, x2, axis=axis)
    if axis != -1:
        x1, x2 = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    return (np.conjugate(x1) * x2).sum(axis=-1, dtype=np.result_type(x1, x2))


@replaces("numpy.matvec")
def matvec(x1, x2, /):
    x1, x2 = np.asarray(x1), np.asarray(x2)
    if x1.ndim < 2 or x2.ndim < 1 or x1.shape[-1] != x2.shape[-1]:
        return plainly(np.matvec, x1, x2)
    return np.matmul(x1, x2[..., None])[..., 0]


@replaces("numpy.vecmat")
def vecmat(x1, x2, /):
    x1, x2 = np.asarray(x1), np.asarray(x2)
    if x1.ndim < 1 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-2]:
        return plainly(np.vecmat, x1, x2)
    x1 = np.conjugate(x1) if x1.dtype.kind == "c" else x1
    return np.matmul(x1[..., None, :], x2)[..., 0, :]


@replaces("numpy.unwrap")
def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    p = np.asarray(p)
    given, axis = axis, axis_of(axis, p.ndim)
    if axis is None or p.dtype.kind != "f" or not isinstance(period, float):
        return plainly(np.unwrap, p, discont, given, period=period)
    step = np.diff(p, axis=axis)
    if discont is None:
        discont = period / 2
    half = period / 2
    wrapped = np.mod(step + half, period) - half
    wrapped = np.where((wrapped == -half) & (step > 0), half, wrapped)
    correction = np.where(np.abs(step) < discont, 0.0, wrapped - step)
    lead = before(axis)
    rest = p[lead + (slice(1, None),)] + correction.cumsum(axis)
    return laid_out_like(np.concatenate([p[lead + (slice(None, 1),)], rest], axis=axis), p)


@replaces("nd.is_integer")
def is_integer(x):
    if x.dtype.kind == "f":
        return (np.isfinite(x) & (np.floor(x) == x)).item()
    return True if isinstance(x, np.integer) else plainly(getattr(x, "is_integer"))


@replaces("nd.bit_count")
def bit_count(x):
    return np.bitwise_count(x).item() if isinstance(x, np.integer) else plainly(getattr(x, "bit_count"))
