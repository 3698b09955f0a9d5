"""Pooling of torch.nn.functional."""

from typing import List, Optional

import weft as _weft
from weft import Tensor, _autocast, _drawing
from weft.nn._results import into as _into


def _sizes(output_size, input, rank):
    """output_size as a list, None standing for the input's own size."""
    given = [output_size] * rank if output_size is None or isinstance(output_size, int) else list(output_size)
    return (
        [own if size is None else size for size, own in zip(given, input.shape[-rank:])]
        if len(given) == rank
        else given
    )


# ---- maxima --------------------------------------------------------------------------------------------------


def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    return _weft.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    return _weft.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    return _weft.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        return _weft.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _weft.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        return _weft.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _weft.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        return _weft.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _weft.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def _unpooled_size(input, kernel_size, stride, padding, output_size, rank):
    """output_size without leading dimensions; None where it is not given."""
    if output_size is None:
        return None
    return list(output_size)[-rank:]


def max_unpool1d(
    input, indices, kernel_size, stride=None, padding=0, output_size: Optional[List[int]] = None
) -> Tensor:
    size = _unpooled_size(input, kernel_size, stride, padding, output_size, 1)
    return _weft.max_unpool1d(input, indices, kernel_size, stride, padding, size)


def max_unpool2d(
    input, indices, kernel_size, stride=None, padding=0, output_size: Optional[List[int]] = None
) -> Tensor:
    size = _unpooled_size(input, kernel_size, stride, padding, output_size, 2)
    return _weft.max_unpool2d(input, indices, kernel_size, stride, padding, size)


def max_unpool3d(
    input, indices, kernel_size, stride=None, padding=0, output_size: Optional[List[int]] = None
) -> Tensor:
    size = _unpooled_size(input, kernel_size, stride, padding, output_size, 3)
    return _weft.max_unpool3d(input, indices, kernel_size, stride, padding, size)


# ---- at random places ---------------------------------------------------------------------------------------------


def _starts(samples, size, count, window):
    """int64[N, C, count]: where the windows of one dimension begin, by the random samples[N, C] in [0, 1)."""
    last = _weft.full((*samples.shape, 1), size - window, dtype=_weft.int64)
    if count == 1:
        return last
    alpha = (size - window) / (count - 1)
    steps = _weft.arange(count - 1).to(samples.dtype)
    shifted = samples.unsqueeze(-1)
    begun = ((steps + shifted) * alpha).to(_weft.int64) - (shifted * alpha).to(_weft.int64)
    return _weft.cat([begun, last], -1)


def _fractional(name, rank, input, kernel_size, output_size, output_ratio, samples):
    """(maxima, places in the input's planes). source: Graham, Fractional Max-Pooling (2014)."""
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}: expected output_size or output_ratio")
    spatial = input.shape[-rank:]
    windows = [kernel_size] * rank if isinstance(kernel_size, int) else list(kernel_size)
    if output_size is None:
        ratios = [output_ratio] * rank if isinstance(output_ratio, (int, float)) else list(output_ratio)
        output_size = [int(size * ratio) for size, ratio in zip(spatial, ratios)]
    counts = [output_size] * rank if isinstance(output_size, int) else list(output_size)
    if input.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}: expected an input of {rank + 1} or {rank + 2} dimensions, got {input.dim()}"
        )
    for size, window, count in zip(spatial, windows, counts):
        if count < 1 or count + window - 1 > size:
            raise RuntimeError(f"{name}: {count} windows of {window} do not fit into {size} elements")
    x = input if input.dim() == rank + 2 else input.unsqueeze(0)
    if samples is None:
        samples = _drawing.rand((x.shape[0], x.shape[1], rank), dtype=x.dtype)
    samples = samples[: x.shape[0]]  # those of an input without a batch may be of one
    order = range(rank) if rank == 3 else reversed(range(rank))  # two dimensions: of the width first
    starts = [_starts(samples[..., at], *each) for at, each in zip(order, zip(spatial, counts, windows))]
    # Places of all elements of all windows: [N, C, *counts, *windows].
    place = 0
    for d in range(rank):
        at = starts[d].unsqueeze(-1) + _weft.arange(windows[d])
        shape = [*x.shape[:2], *([1] * (2 * rank))]
        shape[2 + d], shape[2 + rank + d] = counts[d], windows[d]
        place = place * spatial[d] + at.reshape(shape)
    places = place.flatten(2 + rank)
    values = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)
    chosen = values.argmax(-1, keepdim=True)
    results = [each.gather(-1, chosen).squeeze(-1) for each in (values, places)]
    return tuple(each if input.dim() == rank + 2 else each.squeeze(0) for each in results)


@_autocast.float32
def fractional_max_pool2d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    return _fractional(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples
    )


@_autocast.float32
def fractional_max_pool3d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    return _fractional(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples
    )


@_autocast.float32
def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    both = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return both if return_indices else both[0]


@_autocast.float32
def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    both = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return both if return_indices else both[0]


# ---- means ---------------------------------------------------------------------------------------------------


def _mean_of_integers(function, input, *arguments):
    """Means of int64, rounded towards zero."""
    return function(input.double(), *arguments).to(_weft.int64)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    if input.dtype == _weft.int64:
        return _mean_of_integers(
            avg_pool1d, input, kernel_size, stride, padding, ceil_mode, count_include_pad
        )
    return _weft.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _average(function, operator, input, how):
    return _mean_of_integers(function, input, *how) if input.dtype == _weft.int64 else operator(input, *how)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *,
    out=None,
):  # fmt: skip
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _into(out, _average(avg_pool2d, _weft.avg_pool2d, input, how))


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *,
    out=None,
):  # fmt: skip
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _into(out, _average(avg_pool3d, _weft.avg_pool3d, input, how))


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    if norm_type == float("inf"):
        return max_pool1d(input.abs(), kernel_size, stride, ceil_mode=ceil_mode)
    return _weft.lp_pool1d(input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    if norm_type == float("inf"):
        return max_pool2d(input.abs(), kernel_size, stride, ceil_mode=ceil_mode)
    return _weft.lp_pool2d(input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    if norm_type == float("inf"):
        return max_pool3d(input.abs(), kernel_size, stride, ceil_mode=ceil_mode)
    return _weft.lp_pool3d(input, norm_type, kernel_size, stride, ceil_mode)


# ---- to a given size -----------------------------------------------------------------------------------------


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    return _weft.adaptive_max_pool1d_with_indices(input, _sizes(output_size, input, 1))


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    return _weft.adaptive_max_pool2d_with_indices(input, _sizes(output_size, input, 2))


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    return _weft.adaptive_max_pool3d_with_indices(input, _sizes(output_size, input, 3))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    if return_indices:
        return adaptive_max_pool1d_with_indices(input, output_size)
    return _weft.adaptive_max_pool1d(input, _sizes(output_size, input, 1))


def adaptive_max_pool2d(input, output_size, return_indices=False):
    if return_indices:
        return adaptive_max_pool2d_with_indices(input, output_size)
    return _weft.adaptive_max_pool2d(input, _sizes(output_size, input, 2))


def adaptive_max_pool3d(input, output_size, return_indices=False):
    if return_indices:
        return adaptive_max_pool3d_with_indices(input, output_size)
    return _weft.adaptive_max_pool3d(input, _sizes(output_size, input, 3))


def adaptive_avg_pool1d(input, output_size):
    return _weft.adaptive_avg_pool1d(input, _sizes(output_size, input, 1))


def _is_mean(sizes, input, rank):
    """One element is the mean of the whole plane, whatever is before it."""
    return (
        all(size == 1 for size in sizes) and input.dim() not in (rank + 1, rank + 2) and input.dim() >= rank
    )


def adaptive_avg_pool2d(input, output_size):
    sizes = _sizes(output_size, input, 2)
    if _is_mean(sizes, input, 2):
        return input.mean([-1, -2], keepdim=True)
    return _weft.adaptive_avg_pool2d(input, sizes)


def adaptive_avg_pool3d(input, output_size):
    sizes = _sizes(output_size, input, 3)
    if _is_mean(sizes, input, 3):
        return input.mean([-1, -2, -3], keepdim=True)
    return _weft.adaptive_avg_pool3d(input, sizes)
