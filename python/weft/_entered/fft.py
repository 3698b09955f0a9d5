"""numpy.fft: each transform is one node per axis."""

import numpy as np

from ._core import laid_out_like, operator, plainly, replaces

# The norm attribute of weft's operators: n to the power of -norm / 2.
_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_INVERSE = {None: 2, "backward": 2, "ortho": 1, "forward": 0}
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _usable(x, n, axis, norm):
    """Whether numpy.fft makes no error of these, and graphs can hold them."""
    return (
        x.dtype.char in "fdFDlqibhBHILQ?"
        and isinstance(axis, int)
        and -x.ndim <= axis < x.ndim
        and isinstance(n, int)
        and n >= 1
        and (norm is None or norm in ("backward", "ortho", "forward"))
    )


def _transformed(name, x, n, axis, norm, **attributes):
    """The operator on x. Without a factor NumPy's loops are those of double precision."""
    single = x.dtype.char in "fF" and norm == 0
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) if single else x
    result = operator(name, wide, n=n, dim=axis, norm=norm, **attributes)
    if single:
        result = result.astype(np.float32 if name == "fft_c2r" else np.complex64)
    return laid_out_like(result, x)


def _complex_of(x):
    return x if x.dtype.kind == "c" else x.astype(np.complex64 if x.dtype.char == "f" else np.complex128)


def _real_of(x):
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _forward(x, n, axis, norm):
    if x.dtype.kind == "c":
        return _transformed("fft_c2c", x, n, axis, _FORWARD[norm], inverse=False)
    return _transformed("fft_r2c", _real_of(x), n, axis, _FORWARD[norm], onesided=False)


def _inverse(x, n, axis, norm):
    return _transformed("fft_c2c", _complex_of(x), n, axis, _INVERSE[norm], inverse=True)


def _real(x, n, axis, norm):
    return _transformed("fft_r2c", _real_of(x), n, axis, _FORWARD[norm], onesided=True)


def _to_real(x, n, axis, norm):
    return _transformed("fft_c2r", _complex_of(x), n, axis, _INVERSE[norm])


def _along(x, n, axis):
    return x.shape[axis] if n is None and isinstance(axis, int) and -x.ndim <= axis < x.ndim else n


def _fits(out, result):
    return isinstance(out, np.ndarray) and out.dtype == result.dtype and out.shape == result.shape


def _given(result, out, function, a, size, axis, norm):
    """The result as out= wants it; NumPy's own call where it does not fit."""
    if out is None:
        return result
    if not _fits(out, result):
        return plainly(function, a, size, axis, norm, out)
    out[...] = result
    return out


@replaces("numpy.fft.fft")
def fft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    size = _along(x, n, axis)
    if not _usable(x, size, axis, norm):
        return plainly(np.fft.fft, a, n, axis, norm, out)
    result = _forward(x, size, axis, norm)
    return _given(result, out, np.fft.fft, a, n, axis, norm)


@replaces("numpy.fft.ifft")
def ifft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    size = _along(x, n, axis)
    if not _usable(x, size, axis, norm):
        return plainly(np.fft.ifft, a, n, axis, norm, out)
    result = _inverse(x, size, axis, norm)
    return _given(result, out, np.fft.ifft, a, n, axis, norm)


@replaces("numpy.fft.rfft")
def rfft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    size = _along(x, n, axis)
    if not _usable(x, size, axis, norm) or x.dtype.kind == "c":
        return plainly(np.fft.rfft, a, n, axis, norm, out)
    result = _real(x, size, axis, norm)
    return _given(result, out, np.fft.rfft, a, n, axis, norm)


def _real_size(x, n, axis):
    size = _along(x, n, axis)
    return (size - 1) * 2 if n is None and size is not None else size


@replaces("numpy.fft.irfft")
def irfft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    size = _real_size(x, n, axis)
    if not _usable(x, size, axis, norm):
        return plainly(np.fft.irfft, a, n, axis, norm, out)
    result = _to_real(x, size, axis, norm)
    return _given(result, out, np.fft.irfft, a, n, axis, norm)


@replaces("numpy.fft.hfft")
def hfft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    size = _real_size(x, n, axis)
    if not _usable(x, size, axis, norm):
        return plainly(np.fft.hfft, a, n, axis, norm, out)
    return _to_real(np.conjugate(x), size, axis, _SWAPPED[norm])  # NumPy does not write to out


@replaces("numpy.fft.ihfft")
def ihfft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    size = _along(x, n, axis)
    if not _usable(x, size, axis, norm) or x.dtype.kind == "c":
        return plainly(np.fft.ihfft, a, n, axis, norm, out)
    result = np.conjugate(_real(x, size, axis, _SWAPPED[norm]))
    return _given(result, out, np.fft.ihfft, a, n, axis, norm)


def _sizes(x, s, axes, real_result=False):
    """Pairs of size and axis, in NumPy's order; None for what it makes an error or a warning of."""
    if axes is None:
        if s is not None:
            return None
        axes = tuple(range(-x.ndim, 0))
    if not isinstance(axes, tuple | list) or len(axes) == 0 or (s is not None and len(s) != len(axes)):
        return None
    pairs = []
    for place in range(len(axes)):
        axis = axes[place]
        if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
            return None
        size = x.shape[axis]
        if s is None:
            if real_result and place == len(axes) - 1:
                size = (size - 1) * 2
        elif not isinstance(s[place], int):
            return None
        elif s[place] != -1:
            size = s[place]
        if size < 1:
            return None
        pairs.append((size, axis))
    return pairs


def _usable_all(x, pairs, norm):
    return pairs is not None and _usable(x, pairs[0][0], pairs[0][1], norm)


def _several(function, step, a, s, axes, norm, out):
    x = np.asarray(a)
    pairs = _sizes(x, s, axes)
    if not _usable_all(x, pairs, norm):
        return plainly(function, a, s, axes, norm, out)
    result = x
    for size, axis in pairs[::-1]:
        result = step(result, size, axis, norm)
    return _given(result, out, function, a, s, axes, norm)


@replaces("numpy.fft.fftn")
def fftn(a, s=None, axes=None, norm=None, out=None):
    return _several(np.fft.fftn, _forward, a, s, axes, norm, out)


@replaces("numpy.fft.ifftn")
def ifftn(a, s=None, axes=None, norm=None, out=None):
    return _several(np.fft.ifftn, _inverse, a, s, axes, norm, out)


@replaces("numpy.fft.fft2")
def fft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return _several(np.fft.fft2, _forward, a, s, axes, norm, out)


@replaces("numpy.fft.ifft2")
def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return _several(np.fft.ifft2, _inverse, a, s, axes, norm, None)  # NumPy does not write to out


def _several_real(function, a, s, axes, norm, out):
    x = np.asarray(a)
    pairs = _sizes(x, s, axes)
    if not _usable_all(x, pairs, norm) or x.dtype.kind == "c":
        return plainly(function, a, s, axes, norm, out)
    result = _real(x, pairs[-1][0], pairs[-1][1], norm)
    for size, axis in pairs[-2::-1]:
        result = _forward(result, size, axis, norm)
    return _given(result, out, function, a, s, axes, norm)


@replaces("numpy.fft.rfftn")
def rfftn(a, s=None, axes=None, norm=None, out=None):
    return _several_real(np.fft.rfftn, a, s, axes, norm, out)


@replaces("numpy.fft.rfft2")
def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return _several_real(np.fft.rfft2, a, s, axes, norm, out)


def _several_to_real(function, a, s, axes, norm, out):
    x = np.asarray(a)
    pairs = _sizes(x, s, axes, True)
    if not _usable_all(x, pairs, norm):
        return plainly(function, a, s, axes, norm, out)
    result = x
    for size, axis in pairs[:-1]:
        result = _inverse(result, size, axis, norm)
    result = _to_real(result, pairs[-1][0], pairs[-1][1], norm)
    return _given(result, out, function, a, s, axes, norm)


@replaces("numpy.fft.irfftn")
def irfftn(a, s=None, axes=None, norm=None, out=None):
    return _several_to_real(np.fft.irfftn, a, s, axes, norm, out)


@replaces("numpy.fft.irfft2")
def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return _several_to_real(np.fft.irfft2, a, s, axes, norm, None)  # NumPy does not write to out


def _shift_axes(x, axes):
    if axes is None:
        return tuple(range(x.ndim))
    return (axes,) if isinstance(axes, int) else tuple(axes)


def _shifted(function, x, axes, sign):
    array = np.asarray(x)
    if not isinstance(x, np.ndarray):
        return plainly(function, x, axes)
    places = _shift_axes(array, axes)
    for axis in places:
        if not isinstance(axis, int) or not -array.ndim <= axis < array.ndim:
            return plainly(function, x, axes)
    return np.roll(array, tuple([sign * (array.shape[axis] // 2) for axis in places]), places)


@replaces("numpy.fft.fftshift")
def fftshift(x, axes=None):
    return _shifted(np.fft.fftshift, x, axes, 1)


@replaces("numpy.fft.ifftshift")
def ifftshift(x, axes=None):
    return _shifted(np.fft.ifftshift, x, axes, -1)
