"""Pooling of torch.nn.functional."""

from typing import List, Optional

import weft as _weft
from weft import Tensor


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


# ---- means ---------------------------------------------------------------------------------------------------


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    return _weft.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    return _weft.avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    return _weft.avg_pool3d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _weft.lp_pool1d(input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _weft.lp_pool2d(input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
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


def adaptive_avg_pool2d(input, output_size):
    return _weft.adaptive_avg_pool2d(input, _sizes(output_size, input, 2))


def adaptive_avg_pool3d(input, output_size):
    return _weft.adaptive_avg_pool3d(input, _sizes(output_size, input, 3))
