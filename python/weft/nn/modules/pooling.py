"""Pooling layers."""

from typing import List, Optional

from weft import Tensor
from weft.nn import functional as F

from ._shared import tuple_of
from .module import Module


# ---- maxima -----------------------------------------------------------------------------------------------------
class _MaxPoolNd(Module):
    """return_indices: (values, positions within each channel's plane). stride: None stands for kernel_size."""

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")  # fmt: skip


class MaxPool1d(_MaxPoolNd):
    """input[N, C, L] or [C, L]."""

    def forward(self, input: Tensor):
        if self.return_indices:
            return F.max_pool1d_with_indices(
                input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
            )
        else:
            return F.max_pool1d(
                input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
            )


class MaxPool2d(_MaxPoolNd):
    """input[N, C, H, W] or [C, H, W]."""

    def forward(self, input: Tensor):
        if self.return_indices:
            return F.max_pool2d_with_indices(
                input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
            )
        else:
            return F.max_pool2d(
                input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
            )


class MaxPool3d(_MaxPoolNd):
    """input[N, C, D, H, W] or [C, D, H, W]."""

    def forward(self, input: Tensor):
        if self.return_indices:
            return F.max_pool3d_with_indices(
                input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
            )
        else:
            return F.max_pool3d(
                input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
            )


class _MaxUnpoolNd(Module):
    """Puts the maxima back where `indices` of the pooling say; zeros elsewhere."""

    _weft_rank = 0

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        owner, rank = type(self).__name__, self._weft_rank
        self.kernel_size = tuple_of(kernel_size, rank, owner)
        self.stride = tuple_of(stride if stride is not None else kernel_size, rank, owner)
        self.padding = tuple_of(padding, rank, owner)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    _weft_rank = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    _weft_rank = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    _weft_rank = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


# ---- means ------------------------------------------------------------------------------------------------------
class AvgPool1d(Module):
    """input[N, C, L] or [C, L]."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    ceil_mode: bool
    count_include_pad: bool

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, 1, "AvgPool1d")
        self.stride = tuple_of(stride if stride is not None else kernel_size, 1, "AvgPool1d")
        self.padding = tuple_of(padding, 1, "AvgPool1d")
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    ceil_mode: bool
    count_include_pad: bool

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """input[N, C, H, W] or [C, H, W]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)  # fmt: skip


class AvgPool3d(_AvgPoolNd):
    """input[N, C, D, H, W] or [C, D, H, W]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)  # fmt: skip


# ---- power means ------------------------------------------------------------------------------------------------
class _LPPoolNd(Module):
    """(sum over the window of input ** norm_type) ** (1 / norm_type)."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    norm_type: float
    ceil_mode: bool

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self):
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")  # fmt: skip


class LPPool1d(_LPPoolNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


# ---- to a given size --------------------------------------------------------------------------------------------
class _AdaptiveAvgPoolNd(Module):
    """output_size: a number or one per dimension, None standing for the input's own."""

    __constants__ = ["output_size"]

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    """As the average's; return_indices: (values, positions within each channel's plane)."""

    __constants__ = ["output_size", "return_indices"]
    return_indices: bool

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    def forward(self, input: Tensor):
        if self.return_indices:
            return F.adaptive_max_pool1d_with_indices(input, self.output_size)
        else:
            return F.adaptive_max_pool1d(input, self.output_size)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    def forward(self, input: Tensor):
        if self.return_indices:
            return F.adaptive_max_pool2d_with_indices(input, self.output_size)
        else:
            return F.adaptive_max_pool2d(input, self.output_size)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    def forward(self, input: Tensor):
        if self.return_indices:
            return F.adaptive_max_pool3d_with_indices(input, self.output_size)
        else:
            return F.adaptive_max_pool3d(input, self.output_size)


# ---- at random places -------------------------------------------------------------------------------------------
class _FractionalMaxPoolNd(Module):
    """kernel_size windows at random places, as many as output_size says, or output_ratio of the input's size."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _weft_rank = 0

    def __init__(
        self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        super().__init__()
        owner = type(self).__name__
        self.kernel_size = tuple_of(kernel_size, self._weft_rank, owner)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else tuple_of(output_size, self._weft_rank, owner)
        self.output_ratio = None if output_ratio is None else tuple_of(output_ratio, self._weft_rank, owner)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{owner}: expected either output_size or output_ratio")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"{owner}: output_ratio must be between 0 and 1, got {output_ratio}")


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """input[N, C, H, W] or [C, H, W]."""

    _weft_rank = 2

    def forward(self, input):
        return F.fractional_max_pool2d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """input[N, C, D, H, W] or [C, D, H, W]."""

    _weft_rank = 3

    def forward(self, input):
        return F.fractional_max_pool3d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )
