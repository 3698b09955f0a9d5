"""Fourier transforms of short stretches of a signal."""

from typing import Optional, Tuple

import weft as _weft
from weft import Tensor, _autocast

from . import aten
from .checks import is_inexact, need_tensor


def _framing(
    name: str, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor]
) -> Tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if length <= 0 or length > n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None:
        if window.dim() != 1 or window.shape[0] != length:
            raise RuntimeError(
                f"{name}: expected a 1D window tensor of size equal to win_length={length}, "
                f"but got window with size {list(window.shape)}"
            )
    return hop, length


def _padded_window(window: Tensor, n_fft: int) -> Tensor:
    """The window in the middle of n_fft points."""
    length = window.shape[0]
    left = (n_fft - length) // 2
    return window if length == n_fft else _weft.pad(window, [left, n_fft - length - left])


@aten(
    "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    'str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, '
    "bool? align_to_window=None) -> Tensor"
)
@_autocast.float32
def stft(
    input: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None,
    window: Optional[Tensor] = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: Optional[bool] = None, return_complex: Optional[bool] = None, align_to_window: Optional[bool] = None,
) -> Tensor:  # fmt: skip
    """Fourier transforms of overlapping frames of a signal [*B, length]: [*B, frequencies, frames]."""
    need_tensor("stft", input)
    if return_complex is None:
        if not (input.is_complex() or (window is not None and window.is_complex())):
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
    x = input
    if x.dim() != 1 and x.dim() != 2:
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, got {x.dim()} dimensions")
    if not is_inexact(x):
        raise NotImplementedError(f"stft: expected floating point or complex values, got {x.dtype}")
    hop, length = _framing("stft", n_fft, hop_length, win_length, window)
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        batched = x.reshape([1] * (3 - x.dim()) + list(x.shape))
        padded = _weft.pad(batched, [n_fft // 2, n_fft // 2], pad_mode)
        x = padded.reshape(list(x.shape[:-1]) + [padded.shape[-1]])
    if n_fft <= 0 or n_fft > x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, but got n_fft={n_fft}")
    if align_to_window is not None and align_to_window and window is None:
        start = (n_fft - length) // 2
        x = _weft.narrow(x, -1, start, x.shape[-1] - start)
    frames = x.unfold(x.dim() - 1, n_fft, hop)
    if window is not None:
        frames = frames * _padded_window(window, n_fft)
    elif length < n_fft:
        frames = frames * _padded_window(_weft.ones([length], dtype=x.dtype), n_fft)
    norm = 1 if normalized else 0
    half = not frames.is_complex() if onesided is None else onesided
    if frames.is_complex():
        if half:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        result = _weft.fft_c2c(frames, n_fft, -1, norm)
    else:
        result = _weft.fft_r2c(frames, n_fft, -1, norm, half)
    if return_complex is None or return_complex:
        return result.transpose(-2, -1)
    return _weft.stack([_weft.real(result), _weft.imag(result)], -1).transpose(-3, -2)


@aten(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, "
    "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"
)
def stft_of_frames(
    input: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor],
    normalized: bool, onesided: Optional[bool], return_complex: Optional[bool], align_to_window: Optional[bool],
) -> Tensor:  # fmt: skip
    """stft of a signal that nothing is put around."""
    return stft(
        input, n_fft, hop_length, win_length, window, False, "reflect", normalized, onesided, return_complex,
        align_to_window,
    )  # fmt: skip


@aten(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor"
)
def istft(
    input: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None,
    window: Optional[Tensor] = None, center: bool = True, normalized: bool = False, onesided: Optional[bool] = None,
    length: Optional[int] = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal of which stft gives the input: frames added where they overlap, over the sum of squared windows."""
    need_tensor("istft", input)
    if not input.is_complex():
        raise TypeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    hop, width = _framing("istft", n_fft, hop_length, win_length, window)
    if input.numel() == 0 or (input.dim() != 2 and input.dim() != 3):
        raise RuntimeError(
            f"istft: expected a non-empty tensor with 2 or 3 dimensions, but got {list(input.shape)}"
        )
    if hop > width:
        raise RuntimeError(f"istft: expected hop_length <= win_length, but got hop_length={hop}")
    frequencies, count = input.shape[-2], input.shape[-1]
    half = frequencies != n_fft if onesided is None else onesided
    if frequencies != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension to fit n_fft={n_fft}, but got {frequencies}"
        )
    if return_complex and half:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    frames = input.transpose(-2, -1)
    power = 1 if normalized else 2
    if return_complex:
        frames = _weft.fft_c2c(frames, n_fft, -1, power, True)
    else:
        lower = frames if half else _weft.narrow(frames, -1, 0, n_fft // 2 + 1)
        frames = _weft.fft_c2r(lower, n_fft, -1, power)
    real = _weft.real(frames).dtype
    full = _padded_window(_weft.ones([width], dtype=real) if window is None else window, n_fft)
    total = n_fft + hop * (count - 1)
    positions = (_weft.arange(count).reshape([count, 1]) * hop + _weft.arange(n_fft)).reshape([-1])
    added = _overlapped(frames * full, positions, total)
    weights = _overlapped((full * full).expand([count, n_fft]), positions, total)
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


def _overlapped(frames: Tensor, positions: Tensor, total: int) -> Tensor:
    """[*B, count, n] added up at positions of [*B, total]."""
    flat = frames.reshape(list(frames.shape[:-2]) + [frames.shape[-2] * frames.shape[-1]])
    target = _weft.zeros(list(flat.shape[:-1]) + [total], dtype=flat.dtype)
    return _weft.index_add(target, flat.dim() - 1, positions, flat)
