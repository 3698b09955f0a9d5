"""torch.signal.windows over weft. `sym`: symmetric windows, for filters; else periodic ones, for spectral analysis."""

import math

import weft as _weft

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _made(name, M, sym, dtype, layout, make):
    """make(positions from 0, the last position) of M points; ones for a single point."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and "strided" not in str(layout):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = dtype or _weft.get_default_dtype()
    if dtype not in (_weft.float32, _weft.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M == 0:
        return _weft.empty(0, dtype=dtype)
    return make(_weft.arange(M).to(dtype), M - 1 if sym else M)


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The sum of a[i] * (-1)**i * cos(2 pi i k / n)."""
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    coefficients = list(a)
    if not coefficients:
        raise ValueError("Coefficients cannot be empty")
    return _cosines("general_cosine", M, coefficients, sym, dtype, layout)


def _cosines(name, M, coefficients, sym, dtype, layout):
    def make(k, last):
        if M == 1:
            return k + 1
        total = k * 0
        for i, a in enumerate(coefficients):
            total = total + a * (-1) ** i * _weft.cos(k * (2 * math.pi * i / last))
        return total

    return _made("general_cosine", M, sym, dtype, layout, make)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - (1 - alpha) * cos(2 pi k / n)."""
    return _cosines("general_hamming", M, [alpha, 1 - alpha], sym, dtype, layout)


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_hamming with alpha = 0.54."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_hamming with alpha = 0.5."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout)


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_cosine with 0.42, 0.5, 0.08."""
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, dtype, layout)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """general_cosine with Nuttall's four coefficients."""
    return _cosines("nuttall", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym, dtype, layout)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A triangle from 0 to 1 and back."""

    def make(k, last):
        return k + 1 if M == 1 else 1 - _weft.abs(k * (2 / last) - 1)

    return _made("bartlett", M, sym, dtype, layout, make)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """sin(pi (k + 1/2) / n): half a wave."""
    return _made(
        "cosine",
        M,
        sym,
        dtype,
        layout,
        lambda k, last: k + 1 if M == 1 else _weft.sin((k + 0.5) * (math.pi / (M if sym else M + 1))),
    )


def exponential(
    M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False
):
    """exp(-|k - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def make(k, last):
        middle = last / 2 if center is None else center
        return k * 0 + 1 if M == 1 else _weft.exp(-_weft.abs(k - middle) / tau)

    return _made("exponential", M, sym, dtype, layout, make)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-((k - n / 2) / std)**2 / 2)."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def make(k, last):
        distance = (k - last / 2) / std
        return k + 1 if M == 1 else _weft.exp(distance * distance * -0.5)

    return _made("gaussian", M, sym, dtype, layout, make)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """i0(beta * sqrt(1 - (2 k / n - 1)**2)) / i0(beta)."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def make(k, last):
        if M == 1:
            return k + 1
        distance = k * (2 / last) - 1
        root = _weft.sqrt(_weft.maximum(1 - distance * distance, _weft.zeros_like(distance)))
        return _weft.i0(beta * root) / _weft.i0(k * 0 + beta)

    return _made("kaiser", M, sym, dtype, layout, make)
