"""Discrete Fourier transforms: weft's operators along each axis; NumPy's functions for what is an error."""

import numpy

import weft

from ._convert import array, axes_of, kind, on_cpu, through_numpy, to_dtype

# The norm attribute of weft's operators: n to the power of -norm / 2.
_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_INVERSE = {None: 2, "backward": 2, "ortho": 1, "forward": 0}
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _run(operator, x, n, axis, norm, *attributes):
    """The operator on x. Without a factor NumPy's loops are those of double precision."""
    complex_operand = operator is not weft.fft_r2c
    single = x.dtype in (weft.float32, weft.complex64)
    precise = not single or norm == 0
    dtype = (weft.float64 if precise else weft.float32, weft.complex128 if precise else weft.complex64)[
        complex_operand
    ]
    result = operator(x.to(dtype), n, axis, norm, *attributes)
    if single and precise:
        result = result.to(weft.float32 if operator is weft.fft_c2r else weft.complex64)
    return result


def _forward(x, n, axis, norm):
    if kind(x) == "c":
        return _run(weft.fft_c2c, x, n, axis, _FORWARD[norm], False)
    return _run(weft.fft_r2c, x, n, axis, _FORWARD[norm], False)


def _inverse(x, n, axis, norm):
    return _run(weft.fft_c2c, x, n, axis, _INVERSE[norm], True)


def _real(x, n, axis, norm):
    return _run(weft.fft_r2c, x, n, axis, _FORWARD[norm], True)


def _to_real(x, n, axis, norm):
    return _run(weft.fft_c2r, x, n, axis, _INVERSE[norm])


def _hermitian(x, n, axis, norm):
    return _to_real(weft.conj(x) if kind(x) == "c" else x, n, axis, _SWAPPED[norm])


def _inverse_hermitian(x, n, axis, norm):
    return weft.conj(_real(x, n, axis, _SWAPPED[norm]))


def _valid(x, sizes, axes, norm, real):
    return (
        x.dtype != weft.float16
        and not (real and kind(x) == "c")
        and len(sizes) > 0
        and all(isinstance(n, int) and n >= 1 for n in sizes)
        and all(isinstance(axis, int) and -x.ndim <= axis < x.ndim for axis in axes)
        and norm in _FORWARD
    )


def _documented(function, name):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy.fft.{name} on arrays."
    return function


def _along_one(name, step, real=False, half=False):
    theirs = through_numpy(getattr(numpy.fft, name))

    def function(x, /, n=None, axis=-1, norm="backward"):
        x = array(x)
        in_range = isinstance(axis, int) and -x.ndim <= axis < x.ndim
        size = n if n is not None or not in_range else 2 * (x.shape[axis] - 1) if half else x.shape[axis]
        return (
            step(x, size, axis, norm) if _valid(x, [size], [axis], norm, real) else theirs(x, n, axis, norm)
        )

    return _documented(function, name)


def _along_several(name, first, rest, axes=None, half=False):
    """`first` along the last axis, `rest` along the others: before it where the result is real, else after it."""
    theirs, default = through_numpy(getattr(numpy.fft, name)), axes

    def function(x, /, s=None, axes=default, norm="backward"):
        x = array(x)
        chosen = list(range(-x.ndim, 0)) if axes is None and s is None else list(axes or [])
        usable = all(isinstance(axis, int) and -x.ndim <= axis < x.ndim for axis in chosen)
        sizes = [x.shape[axis] for axis in chosen] if usable else []
        if s is not None and len(s) == len(sizes):
            sizes = [size if given == -1 else given for given, size in zip(s, sizes)]
        elif s is not None:
            sizes = []
        elif half and sizes:
            sizes[-1] = 2 * (sizes[-1] - 1)
        if not _valid(x, sizes, chosen, norm, first is _real):
            return theirs(x, s, axes, norm)
        steps = [(rest, *pair) for pair in zip(sizes[:-1], chosen[:-1])]
        last = (first, sizes[-1], chosen[-1])
        for step, size, axis in [*steps, last] if half else [last, *reversed(steps)]:
            x = step(x, size, axis, norm)
        return x

    return _documented(function, name)


fft, ifft = _along_one("fft", _forward), _along_one("ifft", _inverse)
rfft, irfft = _along_one("rfft", _real, real=True), _along_one("irfft", _to_real, half=True)
hfft = _along_one("hfft", _hermitian, half=True)
ihfft = _along_one("ihfft", _inverse_hermitian, real=True)
fftn, fft2 = (
    _along_several(name, _forward, _forward, axes) for name, axes in (("fftn", None), ("fft2", (-2, -1)))
)
ifftn, ifft2 = (
    _along_several(name, _inverse, _inverse, axes) for name, axes in (("ifftn", None), ("ifft2", (-2, -1)))
)
rfftn, rfft2 = (
    _along_several(name, _real, _forward, axes) for name, axes in (("rfftn", None), ("rfft2", (-2, -1)))
)
irfftn, irfft2 = (
    _along_several(name, _to_real, _inverse, axes, half=True)
    for name, axes in (("irfftn", None), ("irfft2", (-2, -1)))
)


def _shift(name, steps):
    def function(x, /, *, axes=None):
        x = array(x)
        along = axes_of(axes, x.ndim)
        return weft.roll(x, [steps(x.shape[axis]) for axis in along], along)

    return _documented(function, name)


fftshift = _shift("fftshift", lambda size: size // 2)
ifftshift = _shift("ifftshift", lambda size: -(size // 2))


def _frequencies(function, n, d, dtype, device):
    on_cpu(device)
    result = through_numpy(function)(n, d)
    return result if dtype is None else result.to(to_dtype(dtype))


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    return _frequencies(numpy.fft.fftfreq, n, d, dtype, device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    return _frequencies(numpy.fft.rfftfreq, n, d, dtype, device)
