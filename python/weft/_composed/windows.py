"""Windows of signals, as PyTorch computes them: in the window's dtype, 16 bits in float32."""

import math
from typing import Optional

import weft as _weft
from weft import Tensor

from . import Device, aten


def _kind(name: str, length: int, dtype: Optional[int]) -> int:
    """The window's dtype."""
    kind = _weft.zeros([0]).dtype if dtype is None else dtype
    if not _weft.zeros([0], dtype=kind).is_floating_point():
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    return kind


def _ramp(length: int, periodic: bool, factor: float, kind: int, device: Optional[Device]) -> Tensor:
    """From 0 to `factor` at the last point, of a periodic window the one after it."""
    places = _weft.arange(length, device=device)
    computed = places.to(_weft.float64) if kind == _weft.float64 else places.to(_weft.float32)
    return computed * (factor / (length if periodic else length - 1))


@aten(
    "hann_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "hann_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Optional[int] = None, device: Optional[Device] = None
) -> Tensor:
    """sin(pi k / n)**2."""
    kind = _kind("hann_window", window_length, dtype)
    if window_length <= 1:
        return _weft.ones([window_length], dtype=kind, device=device)
    return (0.5 - 0.5 * _weft.cos(_ramp(window_length, periodic, 2 * math.pi, kind, device))).to(kind)


@aten(
    "hamming_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "hamming_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Optional[int] = None,
    device: Optional[Device] = None,
) -> Tensor:
    """alpha - beta * cos(2 pi k / n)."""
    kind = _kind("hamming_window", window_length, dtype)
    if window_length <= 1:
        return _weft.ones([window_length], dtype=kind, device=device)
    return (alpha - beta * _weft.cos(_ramp(window_length, periodic, 2 * math.pi, kind, device))).to(kind)


@aten(
    "bartlett_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "bartlett_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Optional[int] = None, device: Optional[Device] = None
) -> Tensor:
    """A triangle from 0 to 1 and back."""
    kind = _kind("bartlett_window", window_length, dtype)
    if window_length <= 1:
        return _weft.ones([window_length], dtype=kind, device=device)
    return (1 - _weft.abs(_ramp(window_length, periodic, 2.0, kind, device) - 1)).to(kind)


@aten(
    "blackman_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "blackman_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Optional[int] = None, device: Optional[Device] = None
) -> Tensor:
    """0.42 - 0.5 * cos(2 pi k / n) + 0.08 * cos(4 pi k / n)."""
    kind = _kind("blackman_window", window_length, dtype)
    if window_length <= 1:
        return _weft.ones([window_length], dtype=kind, device=device)
    fast = 0.08 * _weft.cos(_ramp(window_length, periodic, 4 * math.pi, kind, device))
    return (fast - 0.5 * _weft.cos(_ramp(window_length, periodic, 2 * math.pi, kind, device)) + 0.42).to(kind)


@aten(
    "kaiser_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "kaiser_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
@aten(
    "kaiser_window.beta(int window_length, bool periodic, float beta, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Optional[int] = None,
    device: Optional[Device] = None,
) -> Tensor:
    """i0(beta * sqrt(1 - (2 k / n - 1)**2)) / i0(beta)."""
    kind = _kind("kaiser_window", window_length, dtype)
    if window_length <= 1:
        return _weft.ones([window_length], dtype=kind, device=device)
    distance = _ramp(window_length, periodic, 2.0, kind, device) - 1
    root = _weft.sqrt(_weft.maximum(1 - distance * distance, _weft.zeros_like(distance)))
    return (_weft.i0(beta * root) / _weft.i0(distance * 0 + beta)).to(kind)
