"""torch.fft over weft: discrete Fourier transforms along one or several dimensions."""

from weft import Tensor, _autocast  # noqa: F401
from weft._composed import transforms

from ._functions._numeric import written


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _listed(values):
    """One number or several as a list; None."""
    if values is None:
        return None
    listed = [values] if isinstance(values, int) else list(values)
    for value in listed:
        if not _is_integer(value):
            raise TypeError(f"argument 'dim' must be int, not {type(value).__name__}")
    return listed


def _stored(out, result):
    """Complex results are cast to wider dtypes, real ones are not."""
    return written(out, result, own_dtype=not result.is_complex())


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return _autocast.float32(function)


def _of_line(transform):
    name = transform.__name__

    def function(input, n=None, dim=-1, norm=None, *, out=None):
        if not _is_integer(dim):
            raise TypeError(f"fft_{name}(): argument 'dim' must be int, not {type(dim).__name__}")
        if n is not None and isinstance(n, (bool, float, str, tuple, list)):
            raise TypeError(f"fft_{name}(): argument 'n' must be int, not {type(n).__name__}")
        return _stored(out, transform(input, n, dim, norm))

    return _named(function, name, transform.__doc__)


fft, ifft, rfft = _of_line(transforms.fft), _of_line(transforms.ifft), _of_line(transforms.rfft)
irfft, hfft, ihfft = _of_line(transforms.irfft), _of_line(transforms.hfft), _of_line(transforms.ihfft)


def _of_space(transform):
    def function(input, s=None, dim=None, norm=None, *, out=None):
        return _stored(out, transform(input, _listed(s), _listed(dim), norm))

    return _named(function, transform.__name__, transform.__doc__)


fftn, ifftn, rfftn = _of_space(transforms.fftn), _of_space(transforms.ifftn), _of_space(transforms.rfftn)
irfftn, hfftn = _of_space(transforms.irfftn), _of_space(transforms.hfftn)
ihfftn = _of_space(transforms.ihfftn)


def _of_plane(transform):
    def function(input, s=None, dim=(-2, -1), norm=None, *, out=None):
        return transform(input, s, dim, norm, out=out)

    return _named(function, transform.__name__[:-1] + "2", f"{transform.__name__} along two dimensions.")


fft2, ifft2, rfft2 = _of_plane(fftn), _of_plane(ifftn), _of_plane(rfftn)
irfft2, hfft2, ihfft2 = _of_plane(irfftn), _of_plane(hfftn), _of_plane(ihfftn)


def _frequencies(name, of, n, d, dtype, out):
    if not _is_integer(n):
        raise TypeError(f"fft_{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    return written(out, of(n, d, dtype=out.dtype if dtype is None and out is not None else dtype))


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that fft's results belong to, for samples at a distance of d."""
    return _frequencies("fftfreq", transforms.fftfreq, n, d, dtype, out)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that rfft's results belong to."""
    return _frequencies("rfftfreq", transforms.rfftfreq, n, d, dtype, out)


def fftshift(input, dim=None):
    """Frequencies from fft's order to ascending order."""
    return transforms.fftshift(input, _listed(dim))


def ifftshift(input, dim=None):
    """The inverse of fftshift."""
    return transforms.ifftshift(input, _listed(dim))
