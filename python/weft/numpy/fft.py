"""Discrete Fourier transforms: NumPy's, on the tensors' memory."""

import numpy

from ._convert import on_cpu, through_numpy, to_dtype

fft, ifft, fftn, ifftn, fft2, ifft2 = (
    through_numpy(getattr(numpy.fft, name)) for name in "fft ifft fftn ifftn fft2 ifft2".split()
)
rfft, irfft, rfftn, irfftn, rfft2, irfft2, hfft, ihfft = (
    through_numpy(getattr(numpy.fft, name))
    for name in "rfft irfft rfftn irfftn rfft2 irfft2 hfft ihfft".split()
)
fftshift, ifftshift = through_numpy(numpy.fft.fftshift), through_numpy(numpy.fft.ifftshift)


def _frequencies(function, n, d, dtype, device):
    on_cpu(device)
    result = through_numpy(function)(n, d)
    return result if dtype is None else result.to(to_dtype(dtype))


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    return _frequencies(numpy.fft.fftfreq, n, d, dtype, device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    return _frequencies(numpy.fft.rfftfreq, n, d, dtype, device)
