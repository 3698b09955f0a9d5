"""Pooling."""

from typing import List, Optional, Tuple

from weft import Tensor
from weft.nn._types import BroadcastingList1, BroadcastingList2, BroadcastingList3
from weft.ops import aten


# ---- maxima --------------------------------------------------------------------------------------------------
def max_pool1d(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None,
               padding: BroadcastingList1[int] = 0, dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None,
               padding: BroadcastingList2[int] = 0, dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None,
               padding: BroadcastingList3[int] = 0, dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None,
                            padding: BroadcastingList1[int] = 0, dilation: BroadcastingList1[int] = 1,
                            ceil_mode: bool = False) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None,
                            padding: BroadcastingList2[int] = 0, dilation: BroadcastingList2[int] = 1,
                            ceil_mode: bool = False) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None,
                            padding: BroadcastingList3[int] = 0, dilation: BroadcastingList3[int] = 1,
                            ceil_mode: bool = False) -> Tuple[Tensor, Tensor]:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _unpooled_size(input: Tensor, kernel_size: List[int], stride: List[int], padding: List[int],
                   output_size: Optional[List[int]]) -> List[int]:  # fmt: skip
    """The sizes of the planes that were pooled: what is given, or the smallest that fits."""
    rank = len(kernel_size)
    size: List[int] = []
    for d in range(rank):
        if output_size is not None:
            size.append(output_size[len(output_size) - rank + d])
        else:
            length = input.size(input.dim() - rank + d)
            size.append((length - 1) * stride[d] + kernel_size[d] - 2 * padding[d])
    return size


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None,
                 padding: BroadcastingList1[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    size = _unpooled_size(input, kernel_size, stride, padding, output_size)
    size.append(1)
    return aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None,
                 padding: BroadcastingList2[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.max_unpool2d(input, indices, _unpooled_size(input, kernel_size, stride, padding, output_size))


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None,
                 padding: BroadcastingList3[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    size = _unpooled_size(input, kernel_size, stride, padding, output_size)
    return aten.max_unpool3d(input, indices, size, stride, padding)


def adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int]) -> Tensor:
    return aten.adaptive_max_pool1d(input, output_size)[0]


def adaptive_max_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return aten.adaptive_max_pool2d(input, output_size)[0]


def adaptive_max_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    return aten.adaptive_max_pool3d(input, output_size)[0]


# ---- means ---------------------------------------------------------------------------------------------------
def avg_pool1d(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None,
               padding: BroadcastingList1[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None,
               padding: BroadcastingList2[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: Optional[int] = None) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None,
               padding: BroadcastingList3[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: Optional[int] = None) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    return aten.avg_pool3d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _power_of_sum(mean: Tensor, count: int, norm_type: float) -> Tensor:
    """The norm of a window of `count` numbers by the mean of their powers; 0 where that is negative."""
    return aten.pow(aten.relu(aten.abs(mean)) * aten.sign(mean) * count, 1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: BroadcastingList1[int],
              stride: Optional[BroadcastingList1[int]] = None, ceil_mode: bool = False) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    mean = aten.avg_pool1d(aten.pow(input, norm_type), kernel_size, stride, [0], ceil_mode)
    return _power_of_sum(mean, kernel_size[0], norm_type)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: BroadcastingList2[int],
              stride: Optional[BroadcastingList2[int]] = None, ceil_mode: bool = False) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    mean = aten.avg_pool2d(aten.pow(input, norm_type), kernel_size, stride, [0, 0], ceil_mode)
    return _power_of_sum(mean, kernel_size[0] * kernel_size[1], norm_type)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: BroadcastingList3[int],
              stride: Optional[BroadcastingList3[int]] = None, ceil_mode: bool = False) -> Tensor:  # fmt: skip
    if stride is None:
        stride = kernel_size
    mean = aten.avg_pool3d(aten.pow(input, norm_type), kernel_size, stride, [0, 0, 0], ceil_mode)
    return _power_of_sum(mean, kernel_size[0] * kernel_size[1] * kernel_size[2], norm_type)
