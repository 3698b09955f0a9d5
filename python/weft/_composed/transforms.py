"""Discrete Fourier transforms along one or several dimensions."""

import math
from typing import List, Optional

import weft as _weft
from weft import Tensor

from . import aten
from .checks import is_half, is_inexact, need_tensor


def _power(norm: Optional[str], forward: bool) -> int:
    """What transforms are divided by, as a power of sqrt(n)."""
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "ortho":
        return 1
    if norm != "forward":
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return 2 if forward else 0


def _points(n: int, otherwise: int) -> int:
    points = otherwise if n == -1 else n
    if points < 1:
        raise RuntimeError(f"Invalid number of data points ({points}) specified")
    return points


def _along(kind: str, x: Tensor, n: int, dim: int, norm: Optional[str]) -> Tensor:
    """A transform along a dimension, counted from the front, of n points; of -1 as many as there are."""
    size = x.shape[dim]
    if kind == "fft":
        if x.is_complex():
            return _weft.fft_c2c(x, _points(n, size), dim, _power(norm, True))
        return _weft.fft_r2c(x, _points(n, size), dim, _power(norm, True), False)
    if kind == "ifft":
        return _weft.fft_c2c(x, _points(n, size), dim, _power(norm, False), True)
    if kind == "rfft":
        return _weft.fft_r2c(x, _points(n, size), dim, _power(norm, True))
    if kind == "irfft":
        return _weft.fft_c2r(x, _points(n, 2 * (size - 1)), dim, _power(norm, False))
    if kind == "hfft":
        return _weft.fft_c2r(_weft.conj(x), _points(n, 2 * (size - 1)), dim, _power(norm, True))
    return _weft.conj(_weft.fft_r2c(x, _points(n, size), dim, _power(norm, False)))


def _transformed(
    x: Tensor, kinds: List[str], dims: List[int], points: List[int], norm: Optional[str]
) -> Tensor:
    """Transforms along dimensions, one after the other; in memory these dimensions come last, as PyTorch has them."""
    last = sorted(dims)
    every = list(range(x.dim()))
    order = [each for each in every if each not in last] + last
    moved = order != every
    if moved:
        x = x.permute(order)
    for at, dim in enumerate(dims):
        x = _along(kinds[at], x, points[at], order.index(dim), norm)
    return x.permute([order.index(each) for each in every]) if moved else x


def _operand(kind: str, name: str, input: Tensor) -> Tensor:
    """Real numbers for the transforms of real ones, complex ones for those back; fft and fftn take both."""
    need_tensor(f"fft_{name}", input)
    is_of_reals = kind == "rfft" or kind == "ihfft"
    if is_of_reals and input.is_complex():
        raise TypeError(f"{name} expects a real input tensor, but got {input.dtype}")
    if is_half(input):
        raise NotImplementedError(f"Unsupported dtype {input.dtype}")
    x = input if is_inexact(input) else input * 1.0
    if is_of_reals or name == "fft" or x.is_complex():
        return x
    return x.to(_weft.complex128 if x.dtype == _weft.float64 else _weft.complex64)


def _axis(x: Tensor, dim: int) -> int:
    rank = max(x.dim(), 1)
    if dim < -rank or dim >= rank or x.dim() == 0:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
        )
    return dim % rank


# ---- along one dimension -------------------------------------------------------------------------------------
def _line(kind: str, input: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    x = _operand(kind, kind, input)
    if n is not None and n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return _transformed(x, [kind], [_axis(x, dim)], [-1 if n is None else n], norm)


@aten("fft_fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
def fft(input: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    """y[k] = the sum of x[j] * exp(-2 pi i j k / n) along a dimension."""
    return _line("fft", input, n, dim, norm)


@aten("fft_ifft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
def ifft(input: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    """The inverse of fft."""
    return _line("ifft", input, n, dim, norm)


@aten("fft_rfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
def rfft(input: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    """fft of real numbers: the frequencies up to n // 2."""
    return _line("rfft", input, n, dim, norm)


@aten("fft_irfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
def irfft(input: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    """The real numbers of which x has the frequencies up to n // 2."""
    return _line("irfft", input, n, dim, norm)


@aten("fft_hfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
def hfft(input: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    """fft of numbers with Hermitian symmetry, given one half of them."""
    return _line("hfft", input, n, dim, norm)


@aten("fft_ihfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
def ihfft(input: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    """The inverse of hfft."""
    return _line("ihfft", input, n, dim, norm)


# ---- along several -------------------------------------------------------------------------------------------
def _space(
    name: str,
    last: str,
    others: str,
    input: Tensor,
    s: Optional[List[int]],
    dim: Optional[List[int]],
    norm: Optional[str],
) -> Tensor:
    """`last` along the last of the dimensions, `others` along the others: before, but of real numbers after it."""
    _power(norm, True)
    x = _operand(last, name, input)
    if dim is None:
        count = x.dim() if s is None else len(s)
        if count > x.dim():
            raise RuntimeError(
                f"Got shape with {count} values but input tensor only has {x.dim()} dimensions."
            )
        dims = list(range(x.dim() - count, x.dim()))
    else:
        dims = [_axis(x, each) for each in dim]
        for at, each in enumerate(dims):
            if each in dims[:at]:
                raise RuntimeError("FFT dims must be unique")
    points = [-1 for _ in dims]
    if s is not None:
        if len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        points = s
    for at, each in enumerate(dims):
        _points(points[at], x.shape[each])
    count = len(dims)
    if count == 0:
        if last != others:
            raise RuntimeError(f"{name} must transform at least one axis")
        return x
    rest = [others for _ in range(count - 1)]
    if last == "ihfft":  # at a time of its own
        x = _transformed(x, [last], dims[count - 1 :], points[count - 1 :], norm)
        return _transformed(x, rest, dims[: count - 1], points[: count - 1], norm) if count > 1 else x
    if last == "rfft":
        backwards = list(range(count - 1, -1, -1))
        return _transformed(
            x, [last] + rest, [dims[at] for at in backwards], [points[at] for at in backwards], norm
        )
    return _transformed(x, rest + [last], dims, points, norm)


@aten("fft_fft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
@aten("fft_fftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
def fftn(input: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    """fft along several dimensions: all, the last len(s), or `dim`."""
    return _space("fftn", "fft", "fft", input, s, dim, norm)


@aten("fft_ifft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
@aten("fft_ifftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
def ifftn(input: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    """The inverse of fftn."""
    return _space("ifftn", "ifft", "ifft", input, s, dim, norm)


@aten("fft_rfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
@aten("fft_rfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
def rfftn(input: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    """rfft along the last of several dimensions, fft along the others."""
    return _space("rfftn", "rfft", "fft", input, s, dim, norm)


@aten("fft_irfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
@aten("fft_irfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
def irfftn(input: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    """The inverse of rfftn; the last dimension has 2 * (m - 1) points."""
    return _space("irfftn", "irfft", "ifft", input, s, dim, norm)


@aten("fft_hfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
@aten("fft_hfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
def hfftn(input: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    """hfft along the last of several dimensions, fft along the others."""
    return _space("hfftn", "hfft", "fft", input, s, dim, norm)


@aten("fft_ihfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
@aten("fft_ihfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
def ihfftn(input: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    """ihfft along the last of several dimensions, ifft along the others."""
    return _space("ihfftn", "ihfft", "ifft", input, s, dim, norm)


# What the transforms are made of: normalization is the power of sqrt(n) that results are divided by.
@aten("_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor")
def fft_c2c_over(x: Tensor, dim: List[int], normalization: int, forward: bool) -> Tensor:
    for each in dim:
        x = _weft.fft_c2c(x, x.shape[each], each, normalization, not forward)
    return x


@aten("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")
def fft_r2c_over(x: Tensor, dim: List[int], normalization: int, onesided: bool) -> Tensor:
    last = dim[len(dim) - 1]
    half = _weft.fft_r2c(x, x.shape[last], last, normalization, onesided)
    return fft_c2c_over(half, dim[: len(dim) - 1], normalization, True)


@aten("_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor")
def fft_c2r_over(x: Tensor, dim: List[int], normalization: int, last_dim_size: int) -> Tensor:
    rest = fft_c2c_over(x, dim[: len(dim) - 1], normalization, False)
    return _weft.fft_c2r(rest, last_dim_size, dim[len(dim) - 1], normalization)


# ---- frequencies ---------------------------------------------------------------------------------------------
def _frequencies(name: str, n: int, count: int, wrap: int, d: float, dtype: Optional[int]) -> Tensor:
    """k / (n d) of `count` positions k, those from `wrap` on less n."""
    if count < 0:
        raise RuntimeError(f"fft_{name}: Trying to create tensor with negative dimension {count}")
    kind = _weft.zeros([0]).dtype if dtype is None else dtype
    if not is_inexact(_weft.zeros([0], dtype=kind)):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    position = _weft.arange(count)
    position = (position - (position >= wrap).to(_weft.int64) * n).to(kind)
    return position * (1.0 / (n * d) if n != 0 else math.inf)


@aten(
    "fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor"
)
def fftfreq(n: int, d: float, *, dtype: Optional[int] = None) -> Tensor:
    """The frequencies that fft's results belong to, for samples at a distance of d."""
    return _frequencies("fftfreq", n, n, (n + 1) // 2, d, dtype)


@aten(
    "fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor"
)
def rfftfreq(n: int, d: float, *, dtype: Optional[int] = None) -> Tensor:
    """The frequencies that rfft's results belong to."""
    return _frequencies("rfftfreq", n, n // 2 + 1, n + 1, d, dtype)


def _rolled(name: str, x: Tensor, dim: Optional[List[int]], back: bool) -> Tensor:
    need_tensor(f"fft_{name}", x)
    dims = list(range(x.dim())) if dim is None else [_axis(x, each) for each in dim]
    if len(dims) == 0:
        raise RuntimeError(f"fft_{name}: expected at least one dimension to shift along")
    return _weft.roll(x, [(x.shape[each] + 1) // 2 if back else x.shape[each] // 2 for each in dims], dims)


@aten("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor")
def fftshift(input: Tensor, dim: Optional[List[int]]) -> Tensor:
    """Frequencies from fft's order to ascending order."""
    return _rolled("fftshift", input, dim, False)


@aten("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor")
def ifftshift(input: Tensor, dim: Optional[List[int]]) -> Tensor:
    """The inverse of fftshift."""
    return _rolled("ifftshift", input, dim, True)
