"""torch.fft over weft: discrete Fourier transforms along one or several dimensions."""

import math

import weft as _weft
from weft import Tensor, _autocast  # noqa: F401

from ._functions._numeric import COMPLEX, FLOATS, HALF, complex_dtype, need_tensor, written

# Powers of 1 / sqrt(n) by the name of the norm, for transforms forward and back.
_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_BACK = {None: 2, "backward": 2, "ortho": 1, "forward": 0}


def _power(norms, norm):
    if norm not in norms:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norms[norm]


def _operand(name, input, as_complex):
    need_tensor(f"fft_{name}", input)
    if input.dtype in HALF:
        raise NotImplementedError(f"Unsupported dtype {input.dtype}")
    x = input if input.is_floating_point() or input.is_complex() else input * 1.0
    return x.to(complex_dtype(x.dtype)) if as_complex else x


def _real(name, input):
    need_tensor(f"fft_{name}", input)
    if input.is_complex():
        raise TypeError(f"{name} expects a real input tensor, but got {input.dtype}")
    return _operand(name, input, False)


def _dimension(x, dim):
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    rank = max(x.ndim, 1)
    if not -rank <= dim < rank or x.ndim == 0:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
        )
    return dim % rank


def _points(n, otherwise):
    points = otherwise if n is None else n
    if points < 1:
        raise RuntimeError(f"Invalid number of data points ({points}) specified")
    return points


# Each of these transforms along one dimension, counted from the front.
def _fft(x, n, dim, norm):
    power, n = _power(_FORWARD, norm), _points(n, x.shape[dim])
    return _weft.fft_c2c(x, n, dim, power) if x.is_complex() else _weft.fft_r2c(x, n, dim, power, False)


def _ifft(x, n, dim, norm):
    return _weft.fft_c2c(x, _points(n, x.shape[dim]), dim, _power(_BACK, norm), True)


def _rfft(x, n, dim, norm):
    return _weft.fft_r2c(x, _points(n, x.shape[dim]), dim, _power(_FORWARD, norm))


def _irfft(x, n, dim, norm):
    return _weft.fft_c2r(x, _points(n, 2 * (x.shape[dim] - 1)), dim, _power(_BACK, norm))


def _hfft(x, n, dim, norm):
    return _weft.fft_c2r(_weft.conj(x), _points(n, 2 * (x.shape[dim] - 1)), dim, _power(_FORWARD, norm))


def _ihfft(x, n, dim, norm):
    return _weft.conj(_weft.fft_r2c(x, _points(n, x.shape[dim]), dim, _power(_BACK, norm)))


def _transformed(x, dims, transforms, points, norm):
    """Transforms along dimensions, one after the other; in memory these dimensions come last, as PyTorch has them."""
    last = sorted(dims)
    order = [each for each in range(x.ndim) if each not in last] + last
    moved = order != list(range(x.ndim))
    if moved:
        x = x.permute(order)
    for transform, dim, size in zip(transforms, dims, points):
        x = transform(x, size, order.index(dim), norm)
    return x.permute([order.index(each) for each in range(x.ndim)]) if moved else x


def _stored(out, result):
    """Complex results are cast to wider dtypes, real ones are not."""
    return written(out, result, own_dtype=not result.is_complex())


def _of_line(name, transform, doc, only_real=False, as_complex=False):
    def function(input, n=None, dim=-1, norm=None, *, out=None):
        x = _real(name, input) if only_real else _operand(name, input, as_complex)
        if n is not None and (isinstance(n, (bool, float, str, tuple, list))):
            raise TypeError(f"fft_{name}(): argument 'n' must be int, not {type(n).__name__}")
        return _stored(out, _transformed(x, [_dimension(x, dim)], [transform], [n], norm))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return _autocast.float32(function)


fft = _of_line("fft", _fft, "y[k] = the sum of x[j] * exp(-2 pi i j k / n) along a dimension.")
ifft = _of_line("ifft", _ifft, "The inverse of fft.", as_complex=True)
rfft = _of_line("rfft", _rfft, "fft of real numbers: the frequencies up to n // 2.", only_real=True)
irfft = _of_line(
    "irfft", _irfft, "The real numbers of which x has the frequencies up to n // 2.", as_complex=True
)
hfft = _of_line(
    "hfft", _hfft, "fft of numbers with Hermitian symmetry, given one half of them.", as_complex=True
)
ihfft = _of_line("ihfft", _ihfft, "The inverse of hfft.", only_real=True)


def _sizes(x, s, dim):
    """The dimensions of a transform, and how many points each has: None for all there are."""
    if isinstance(dim, int):
        dim = (dim,)
    if isinstance(s, int):
        s = (s,)
    if dim is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise RuntimeError(
                f"Got shape with {count} values but input tensor only has {x.ndim} dimensions."
            )
        dims = list(range(x.ndim - count, x.ndim))
    else:
        dims = [_dimension(x, each) for each in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    points = [None] * len(dims) if s is None else [None if size == -1 else size for size in s]
    for each, size in zip(dims, points):
        _points(size, x.shape[each])
    return dims, points


def _of_space(name, last, others, doc, only_real=False, last_first=False, apart=False):
    """`last` along the last of the dimensions, before (at a time of its own: `apart`) or after `others` along the others."""

    def function(input, s=None, dim=None, norm=None, *, out=None):
        _power(_FORWARD, norm)
        x = _real(name, input) if only_real else _operand(name, input, True)
        dims, points = _sizes(x, s, dim)
        if not dims and last is not others:
            raise RuntimeError(f"{name} must transform at least one axis")
        if apart:
            x = _transformed(x, dims[-1:], [last], points[-1:], norm)
            return _stored(
                out,
                _transformed(x, dims[:-1], [others] * (len(dims) - 1), points[:-1], norm) if dims[:-1] else x,
            )
        transforms = [others] * (len(dims) - 1) + [last]
        order = slice(None, None, -1) if last_first else slice(None)
        return _stored(
            out, _transformed(x, dims[order], transforms[order], points[order], norm) if dims else x
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return _autocast.float32(function)


fftn = _of_space("fftn", _fft, _fft, "fft along several dimensions: all, the last len(s), or `dim`.")
ifftn = _of_space("ifftn", _ifft, _ifft, "The inverse of fftn.")
irfftn = _of_space(
    "irfftn", _irfft, _ifft, "The inverse of rfftn; the last dimension has 2 * (m - 1) points."
)
hfftn = _of_space("hfftn", _hfft, _fft, "hfft along the last of several dimensions, fft along the others.")
rfftn = _of_space(
    "rfftn",
    _rfft,
    _fft,
    "rfft along the last of several dimensions, fft along the others.",
    only_real=True,
    last_first=True,
)
ihfftn = _of_space(
    "ihfftn",
    _ihfft,
    _ifft,
    "ihfft along the last of several dimensions, ifft along the others.",
    only_real=True,
    apart=True,
)


def _of_plane(name, transform):
    def function(input, s=None, dim=(-2, -1), norm=None, *, out=None):
        return transform(input, s, dim, norm, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{transform.__name__} along two dimensions."
    return _autocast.float32(function)


fft2 = _of_plane("fft2", fftn)
ifft2 = _of_plane("ifft2", ifftn)
rfft2 = _of_plane("rfft2", rfftn)
irfft2 = _of_plane("irfft2", irfftn)
hfft2 = _of_plane("hfft2", hfftn)
ihfft2 = _of_plane("ihfft2", ihfftn)


def _frequencies(name, n, count, wrap, d, dtype, out):
    """k / (n d) of `count` positions k, those from `wrap` on less n."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"fft_{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if count < 0:
        raise RuntimeError(f"fft_{name}: Trying to create tensor with negative dimension {count}")
    dtype = dtype or (out.dtype if out is not None else _weft.zeros(0).dtype)
    if dtype not in FLOATS and dtype not in COMPLEX:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    position = _weft.arange(count)
    position = (position - (position >= wrap).to(position.dtype) * n).to(dtype)
    return written(out, position * (1.0 / (n * d) if n else math.inf))


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that fft's results belong to, for samples at a distance of d."""
    whole = n if isinstance(n, int) else 0
    return _frequencies("fftfreq", n, whole, (whole + 1) // 2, d, dtype, out)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that rfft's results belong to."""
    whole = n if isinstance(n, int) else 0
    return _frequencies("rfftfreq", n, whole // 2 + 1, whole + 1, d, dtype, out)


def _rolled(name, input, dim, back):
    x = need_tensor(f"fft_{name}", input)
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [_dimension(x, each) for each in dims]
    if not dims:
        raise RuntimeError(f"fft_{name}: expected at least one dimension to shift along")
    return _weft.roll(x, [(x.shape[each] + 1) // 2 if back else x.shape[each] // 2 for each in dims], dims)


def fftshift(input, dim=None):
    """Frequencies from fft's order to ascending order."""
    return _rolled("fftshift", input, dim, False)


def ifftshift(input, dim=None):
    """The inverse of fftshift."""
    return _rolled("ifftshift", input, dim, True)
