"""Fourier transforms, and complex elements seen as pairs of real ones."""

from .._trace_registry import operator_rule
from .._tracer import aten


def _of_size(x, dim, n):
    """x with n elements along dim: cut, or continued by zeros."""
    size = x.shape[dim]
    if size == n:
        return x
    if size > n:
        return aten.slice(x, dim, 0, n, 1)
    behind = x.ndim - 1 - dim % x.ndim
    return aten.constant_pad_nd(x, [0, 0] * behind + [0, n - size], 0)


# What weft's norm is, the power of 1 / sqrt(n), PyTorch's normalization is as well.
@operator_rule()
def fft_c2c(x, n, dim, norm, inverse):
    return aten._fft_c2c(_of_size(x, dim, n), [dim], norm, not inverse)


@operator_rule()
def fft_r2c(x, n, dim, norm, onesided):
    return aten._fft_r2c(_of_size(x, dim, n), [dim], norm, onesided)


@operator_rule()
def fft_c2r(x, n, dim, norm):
    return aten._fft_c2r(_of_size(x, dim, n // 2 + 1), [dim], norm, n)


@operator_rule()
def bitcast(x, dtype):
    if x.dtype.is_complex and dtype == x.real.dtype:
        return aten.flatten(aten.view_as_real(x), -2, -1)
    if dtype.is_complex and not x.dtype.is_complex and x.dtype.itemsize * 2 == dtype.itemsize:
        return aten.view_as_complex(aten.unflatten(x, -1, [-1, 2]))
    return NotImplemented  # view(dtype) is no call of TorchScript: PyTorch takes the dtype for a size
