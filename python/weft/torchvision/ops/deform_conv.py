"""torchvision.ops.deform_conv: convolutions that read their input at learned offsets.

source: Dai et al., Deformable Convolutional Networks (2017); Zhu et al., version 2 (2019) for the mask.
"""

import weft
from weft.nn import Module, Parameter, init
from weft.nn import functional as F

__all__ = ["DeformConv2d", "deform_conv2d"]


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def deform_conv2d(
    input, offset, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), mask=None
):
    """input[N, C, H, W] with weight[O, C / groups, KH, KW], each element of a window read at offset[N, 2 * G * KH * KW,
    OH, OW] (y, x) from its place, for G groups of channels, and times mask[N, G * KH * KW, OH, OW]."""
    (sy, sx), (py, px), (dy, dx) = _pair(stride), _pair(padding), _pair(dilation)
    batch, channels, height, width = input.shape
    out_channels, _, kh, kw = weight.shape
    oh = (height + 2 * py - (dy * (kh - 1) + 1)) // sy + 1
    ow = (width + 2 * px - (dx * (kw - 1) + 1)) // sx + 1
    groups = offset.shape[1] // (2 * kh * kw)
    if groups == 0:
        raise RuntimeError(
            f"deform_conv2d: offset.shape[1] must be a multiple of 2 * {kh} * {kw}, got {offset.shape[1]}"
        )
    moved = offset.reshape((batch, groups, kh * kw, 2, oh, ow))
    steps_y = (weft.arange(oh) * sy - py).reshape((1, 1, 1, -1, 1))
    steps_x = (weft.arange(ow) * sx - px).reshape((1, 1, 1, 1, -1))
    taps_y = (weft.arange(kh) * dy).reshape((-1, 1)).expand(kh, kw).reshape((1, 1, -1, 1, 1))
    taps_x = (weft.arange(kw) * dx).reshape((1, -1)).expand(kh, kw).reshape((1, 1, -1, 1, 1))
    y = moved[:, :, :, 0] + (steps_y + taps_y).to(input.dtype)
    x = moved[:, :, :, 1] + (steps_x + taps_x).to(input.dtype)
    # grid_sample reads zeros outside, as a convolution does.
    grid = weft.stack(((2 * x + 1) / width - 1, (2 * y + 1) / height - 1), -1)
    grid = grid.reshape((batch * groups, kh * kw * oh, ow, 2))
    planes = input.reshape((batch * groups, channels // groups, height, width))
    read = F.grid_sample(planes, grid, "bilinear", "zeros", False)
    read = read.reshape((batch, groups, channels // groups, kh * kw, oh, ow))
    if mask is not None:
        read = read * mask.reshape((batch, groups, 1, kh * kw, oh, ow))
    columns = read.reshape((batch, channels, kh * kw, oh * ow))
    parts = channels // weight.shape[1]
    columns = columns.reshape((batch, parts, weight.shape[1] * kh * kw, oh * ow))
    matrix = weight.reshape((1, parts, out_channels // parts, -1))
    result = weft.matmul(matrix, columns).reshape((batch, out_channels, oh, ow))
    return result if bias is None else result + bias.reshape((1, -1, 1, 1))


class DeformConv2d(Module):
    """See deform_conv2d."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True
    ):
        super().__init__()
        if in_channels % groups != 0 or out_channels % groups != 0:
            raise ValueError("DeformConv2d: in_channels and out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        self.weight = Parameter(weft.empty((out_channels, in_channels // groups, *self.kernel_size)))
        self.register_parameter("bias", Parameter(weft.empty((out_channels,))) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=5**0.5)
        if self.bias is not None:
            bound = 1 / (self.weight.numel() / self.out_channels) ** 0.5
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input, offset, mask=None):
        return deform_conv2d(
            input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask
        )

    def __repr__(self):
        text = (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        )
        text += f", stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0, 0) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1, 1) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False)" if self.bias is None else ")")
