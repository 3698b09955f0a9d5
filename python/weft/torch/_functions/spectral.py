"""Windows."""

import math

import weft as _weft

from ._numeric import FLOATS, HALF


def _default_dtype():
    return _weft.zeros(0).dtype


def _window(name, length, periodic, dtype, make):
    """make(positions of `length` points from 0, in floating point, the last position) in the dtype."""
    if isinstance(length, (bool, float, str)):
        raise TypeError(
            f"{name}(): argument 'window_length' (position 1) must be int, not {type(length).__name__}"
        )
    dtype = dtype or _default_dtype()
    if dtype not in FLOATS:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        return _weft.ones(length, dtype=dtype)
    computed = _weft.float32 if dtype in HALF else dtype
    points = length + 1 if periodic else length
    return make(_weft.arange(length).to(computed), points - 1).to(dtype)


def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """alpha - beta * cos(2 pi k / n)."""
    return _window(
        "hamming_window", window_length, periodic, dtype,
        lambda k, last: alpha - beta * _weft.cos(k * (2 * math.pi / last)),
    )  # fmt: skip


def hann_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """sin(pi k / n)**2."""
    return _window(
        "hann_window", window_length, periodic, dtype,
        lambda k, last: 0.5 - 0.5 * _weft.cos(k * (2 * math.pi / last)),
    )  # fmt: skip


def bartlett_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """A triangle from 0 to 1 and back."""
    return _window(
        "bartlett_window", window_length, periodic, dtype, lambda k, last: 1 - _weft.abs(k * (2 / last) - 1)
    )  # fmt: skip


def blackman_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """0.42 - 0.5 * cos(2 pi k / n) + 0.08 * cos(4 pi k / n)."""
    return _window(
        "blackman_window", window_length, periodic, dtype,
        lambda k, last: 0.08 * _weft.cos(k * (4 * math.pi / last)) - 0.5 * _weft.cos(k * (2 * math.pi / last)) + 0.42,
    )  # fmt: skip


def kaiser_window(
    window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """i0(beta * sqrt(1 - (2 k / n - 1)**2)) / i0(beta)."""

    def make(k, last):
        distance = k * (2 / last) - 1
        root = _weft.sqrt(_weft.maximum(1 - distance * distance, _weft.zeros_like(distance)))
        return _weft.i0(beta * root) / _weft.i0(k * 0 + beta)

    return _window("kaiser_window", window_length, periodic, dtype, make)
