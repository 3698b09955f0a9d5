"""Convolution layers."""

from typing import List, Optional

from weft import Tensor
from weft.nn import functional as F

from ._shared import empty, init_weight, tuple_of
from .module import Module


class _ConvNd(Module):
    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
                     "kernel_size"]  # fmt: skip
    _reversed_padding_repeated_twice: List[int]
    weight: Tensor
    bias: Optional[Tensor]
    _weft_rank = 0
    _weft_modes = ("zeros", "reflect", "replicate", "circular")

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups,
                 bias, padding_mode, device=None, dtype=None):  # fmt: skip
        super().__init__()
        owner, rank = type(self).__name__, self._weft_rank
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{owner}: in_channels {in_channels} and out_channels {out_channels} must be divisible by groups {groups}"
            )
        if padding_mode not in self._weft_modes:
            raise ValueError(
                f"{owner}: padding_mode must be one of {', '.join(self._weft_modes)}, got '{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = tuple_of(kernel_size, rank, owner)
        self.stride = tuple_of(stride, rank, owner, or_one=True)
        self.padding = padding if isinstance(padding, str) else tuple_of(padding, rank, owner, or_one=True)
        self.dilation = tuple_of(dilation, rank, owner, or_one=True)
        self.transposed = transposed
        self.output_padding = tuple_of(output_padding, rank, owner, or_one=True)
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _padding_around(self)
        channels = (
            (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        )
        self.weight = empty(*channels, *self.kernel_size, dtype=dtype, device=device)
        self.register_parameter("bias", empty(out_channels, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        init_weight(self.weight, self.bias)

    def extra_repr(self):
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        text += f", padding={self.padding}" if self.padding != (0,) * len(self.padding) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1,) * len(self.dilation) else ""
        others = self.output_padding
        text += f", output_padding={others}" if others != (0,) * len(others) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += ", bias=False" if self.bias is None else ""
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


def _padding_around(module):
    """As F.pad takes it: before and after, the last dimension first."""
    owner = type(module).__name__
    if not isinstance(module.padding, str):
        return [each for each in reversed(module.padding) for _ in range(2)]
    if module.padding not in ("same", "valid"):
        raise ValueError(f"{owner}: padding must be numbers, 'same' or 'valid', got '{module.padding}'")
    if module.padding == "valid":
        return [0] * (2 * module._weft_rank)
    if any(step != 1 for step in module.stride):
        raise ValueError(f"{owner}: padding='same' needs stride 1, got {module.stride}")
    totals = [step * (size - 1) for step, size in zip(module.dilation, module.kernel_size)]
    return [part for total in reversed(totals) for part in (total // 2, total - total // 2)]


class _Conv(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias,
                         padding_mode, device, dtype)  # fmt: skip


class Conv1d(_Conv):
    """input[N, in_channels, L] or [in_channels, L], with weight[out_channels, in_channels / groups, K]."""

    _weft_rank = 1

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return F.conv1d(padded, weight, bias, self.stride, 0, self.dilation, self.groups)
        return F.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_Conv):
    """input[N, in_channels, H, W] or [in_channels, H, W], with weight[out_channels, in_channels / groups, KH, KW]."""

    _weft_rank = 2

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return F.conv2d(padded, weight, bias, self.stride, 0, self.dilation, self.groups)
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_Conv):
    """input[N, in_channels, D, H, W] or [in_channels, D, H, W], with weight[out_channels, in_channels / groups, KD, KH, KW]."""

    _weft_rank = 3

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return F.conv3d(padded, weight, bias, self.stride, 0, self.dilation, self.groups)
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """output_size, where forward gets it, chooses among the sizes that the layer's convolution would bring to the input's;
    without it output_padding does."""

    _weft_modes = ("zeros",)

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias,
                         padding_mode, device, dtype)  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Optional[List[int]], stride: List[int], padding: List[int],
                        kernel_size: List[int], num_spatial_dims: int, dilation: List[int],
                        output_padding: List[int]) -> List[int]:  # fmt: skip
        result: List[int] = []
        if output_size is None:
            for each in output_padding:
                result.append(each)
            return result
        leading = input.dim() - num_spatial_dims
        given = len(output_size)
        if given != num_spatial_dims and given != input.dim():
            raise ValueError(
                f"output_size: expected {num_spatial_dims} or {input.dim()} numbers, got {given}"
            )
        for d in range(num_spatial_dims):
            least = (
                (input.size(d + leading) - 1) * stride[d]
                - 2 * padding[d]
                + dilation[d] * (kernel_size[d] - 1)
                + 1
            )
            wanted = output_size[given - num_spatial_dims + d]
            if wanted < least or wanted >= least + stride[d]:
                raise ValueError(
                    f"output_size: dimension {d} can be {least} to {least + stride[d] - 1}, got {wanted}"
                )
            result.append(wanted - least)
        return result


class ConvTranspose1d(_ConvTransposeNd):
    """input[N, in_channels, L] with weight[in_channels, out_channels / groups, K]."""

    _weft_rank = 1

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        extra = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            1,
            self.dilation,
            self.output_padding,
        )
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTransposeNd):
    """input[N, in_channels, H, W] with weight[in_channels, out_channels / groups, KH, KW]."""

    _weft_rank = 2

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        extra = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            2,
            self.dilation,
            self.output_padding,
        )
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTransposeNd):
    """input[N, in_channels, D, H, W] with weight[in_channels, out_channels / groups, KD, KH, KW]."""

    _weft_rank = 3

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        extra = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            3,
            self.dilation,
            self.output_padding,
        )
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
