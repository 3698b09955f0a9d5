"""Windows, and Fourier transforms of short stretches of a signal."""

import math

import weft as _weft
from weft import _autocast

from ._numeric import FLOATS, HALF, is_inexact, need_tensor, transposed


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


# ---- short-time Fourier transforms ----


def _framing(name, n_fft, hop_length, win_length, window):
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if hop_length <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and (window.ndim != 1 or window.shape[0] != win_length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, "
            f"but got window with size {tuple(window.shape)}"
        )
    return hop_length, win_length


def _whole_window(window, n_fft, win_length, dtype):
    """The window in the middle of n_fft points; None for ones throughout."""
    if window is None:
        if win_length == n_fft:
            return None
        window = _weft.ones(win_length, dtype=dtype)
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else _weft.pad(window, [left, n_fft - win_length - left])


@_autocast.float32
def stft(
    input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
    onesided=None, return_complex=None, align_to_window=None,
):  # fmt: skip
    """Fourier transforms of overlapping frames of a signal [*B, length]: [*B, frequencies, frames]."""
    x = need_tensor("stft", input)
    if return_complex is None:
        if not (x.is_complex() or (window is not None and window.is_complex())):
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
        return_complex = True
    if x.ndim not in (1, 2) or not is_inexact(x):
        kind = NotImplementedError if x.ndim in (1, 2) else RuntimeError
        raise kind(f"stft: expected a 1D or 2D tensor of floating point or complex values, got {x.dtype}")
    hop_length, win_length = _framing("stft", n_fft, hop_length, win_length, window)
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        batched = x.reshape((1,) * (3 - x.ndim) + tuple(x.shape))
        padded = _weft.pad(batched, [n_fft // 2, n_fft // 2], pad_mode)
        x = padded.reshape(tuple(x.shape[:-1]) + (padded.shape[-1],))
    if n_fft <= 0 or n_fft > x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, but got n_fft={n_fft}")
    if align_to_window and window is None:
        x = x[..., (n_fft - win_length) // 2 :]
    frames = x.unfold(x.ndim - 1, n_fft, hop_length)
    full = _whole_window(window, n_fft, win_length, x.dtype)
    if full is not None:
        frames = frames * full
    is_complex = frames.is_complex()
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if is_complex:
        result = _weft.fft_c2c(frames, n_fft, -1, int(bool(normalized)))
    else:
        result = _weft.fft_r2c(frames, n_fft, -1, int(bool(normalized)), bool(onesided))
    if return_complex:
        return transposed(result)
    return _weft.stack([_weft.real(result), _weft.imag(result)], -1).transpose(-3, -2)


def istft(
    input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
    return_complex=False,
):  # fmt: skip
    """The signal of which stft gives the input: frames added where they overlap, over the sum of squared windows."""
    x = need_tensor("istft", input)
    if not x.is_complex():
        raise TypeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    hop_length, win_length = _framing("istft", n_fft, hop_length, win_length, window)
    if x.numel() == 0 or x.ndim not in (2, 3):
        raise RuntimeError(
            f"istft: expected a non-empty tensor with 2 or 3 dimensions, but got {tuple(x.shape)}"
        )
    if hop_length > win_length:
        raise RuntimeError(f"istft: expected hop_length <= win_length, but got hop_length={hop_length}")
    frequencies, count = x.shape[-2], x.shape[-1]
    onesided = frequencies != n_fft if onesided is None else onesided
    if frequencies != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension to fit n_fft={n_fft}, but got {frequencies}"
        )
    if return_complex and onesided:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    frames = transposed(x)
    power = 1 if normalized else 2
    if return_complex:
        frames = _weft.fft_c2c(frames, n_fft, -1, power, True)
    else:
        half = frames if onesided else frames[..., : n_fft // 2 + 1]
        frames = _weft.fft_c2r(half, n_fft, -1, power)
    real = _weft.real(frames).dtype
    full = _whole_window(window, n_fft, win_length, real)
    if full is None:
        full = _weft.ones(n_fft, dtype=real)
    total = n_fft + hop_length * (count - 1)
    positions = (_weft.arange(count).reshape(count, 1) * hop_length + _weft.arange(n_fft)).reshape(-1)
    added = _overlapped(frames * full, positions, total)
    weights = _overlapped((full * full).expand(count, n_fft), positions, total)
    start = n_fft // 2 if center else 0
    end = total - n_fft // 2 if center else total
    if length is not None:
        end = min(total, start + length)
    added, weights = added[..., start:end], weights[start:end]
    inverted = "istft: window overlap add min is zero: the input cannot be inverted"
    result = added / _weft.require(weights, _weft.abs(weights) > 1e-11, error=inverted)
    if length is not None and length > result.shape[-1]:
        result = _weft.pad(result, [0, length - result.shape[-1]])
    return result


def _overlapped(frames, positions, total):
    """[*B, count, n] added up at positions of [*B, total]."""
    flat = frames.reshape(tuple(frames.shape[:-2]) + (frames.shape[-2] * frames.shape[-1],))
    target = _weft.zeros(tuple(flat.shape[:-1]) + (total,), dtype=flat.dtype)
    return _weft.index_add(target, flat.ndim - 1, positions, flat)
