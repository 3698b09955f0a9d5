"""Windows."""

from weft._composed import windows


def _length(name, length):
    if isinstance(length, (bool, float, str)):
        raise TypeError(
            f"{name}(): argument 'window_length' (position 1) must be int, not {type(length).__name__}"
        )
    return length


def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """alpha - beta * cos(2 pi k / n)."""
    return windows.hamming_window(
        _length("hamming_window", window_length), periodic, alpha, beta, dtype=dtype, device=device
    )


def hann_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):  # fmt: skip
    """sin(pi k / n)**2."""
    return windows.hann_window(_length("hann_window", window_length), periodic, dtype=dtype, device=device)


def bartlett_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):  # fmt: skip
    """A triangle from 0 to 1 and back."""
    return windows.bartlett_window(
        _length("bartlett_window", window_length), periodic, dtype=dtype, device=device
    )


def blackman_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):  # fmt: skip
    """0.42 - 0.5 * cos(2 pi k / n) + 0.08 * cos(4 pi k / n)."""
    return windows.blackman_window(
        _length("blackman_window", window_length), periodic, dtype=dtype, device=device
    )


def kaiser_window(
    window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """i0(beta * sqrt(1 - (2 k / n - 1)**2)) / i0(beta)."""
    return windows.kaiser_window(
        _length("kaiser_window", window_length), periodic, beta, dtype=dtype, device=device
    )
