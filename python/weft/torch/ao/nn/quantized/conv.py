"""Convolutions over quantized tensors."""

import weft
import weft.torch as torch
from weft import nn
from weft.nn import functional as F
from weft.ops import quantized as _ops

from ..intrinsic import _fused
from ._weights import WeightedQuantizedModule, check_float, observed_weight, output_scale


def _of_length(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


class _Conv(WeightedQuantizedModule):
    """What convolutions of 1, 2 and 3 dimensions have in common; `_weft_dimensions` says which."""

    _weft_dimensions = 0
    _weft_transposed = False
    _weft_relu = False
    _STATE = (
        "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "transposed", "output_padding",
        "groups", "padding_mode",
    )  # fmt: skip

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__()
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode
        )

    def _set_up(
        self, inputs, outputs, kernel, stride, padding, output_padding, dilation, groups, bias, padding_mode
    ):
        count = self._weft_dimensions
        if inputs % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if outputs % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect") or (padding_mode == "reflect" and count == 3):
            raise NotImplementedError(
                f"Currently quantized conv does not support padding_mode '{padding_mode}'"
            )
        if isinstance(padding, str):
            raise NotImplementedError(f"quantized convolution: expected padding in numbers, got '{padding}'")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            inputs,
            outputs,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride = _of_length(kernel, count), _of_length(stride, count)
        self.padding, self.dilation = _of_length(padding, count), _of_length(dilation, count)
        self.transposed, self.output_padding = self._weft_transposed, _of_length(output_padding, count)
        shape = [inputs, outputs // groups] if self.transposed else [outputs, inputs // groups]
        weight = torch._empty_affine_quantized(
            [*shape, *self.kernel_size], scale=1.0, zero_point=0, dtype=torch.qint8
        )
        self.set_weight_bias(weight, weft.zeros([outputs]) if bias else None)

    def _operator(self, what):
        return getattr(_ops, f"conv{'_transpose' if self.transposed else ''}{self._weft_dimensions}d{what}")

    def set_weight_bias(self, w, b):
        padding = self.padding if self.padding_mode == "zeros" else (0,) * self._weft_dimensions
        output_padding = [list(self.output_padding)] if self.transposed else []
        self._packed_params = self._operator("_prepack")(
            w, b, list(self.stride), list(padding), *output_padding, list(self.dilation), self.groups
        )

    def _weight_bias(self):
        return self._operator("_unpack")(self._packed_params)

    def weight(self):
        return self._weight_bias()[0]

    def bias(self):
        return self._weight_bias()[1]

    def forward(self, input):
        if input.ndim != self._weft_dimensions + 2:
            raise ValueError(
                f"Input shape must be of {self._weft_dimensions + 2} dimensions, got {input.ndim}"
            )
        if self.padding_mode != "zeros":
            around = [size for size in reversed(self.padding) for _ in range(2)]
            input = F.pad(input, around, mode=self.padding_mode)
        return self._operator("_relu" if self._weft_relu else "")(
            input, self._packed_params, self.scale, self.zero_point
        )

    def extra_repr(self):
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        text += f", scale={self.scale}, zero_point={self.zero_point}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * len(value):
                text += f", {name}={value}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text + (", bias=False" if self.bias() is None else "")

    # What PyTorch pickles.
    def __getstate__(self):
        sizes = [getattr(self, name) for name in self._STATE]
        return (*sizes, *self._weight_bias(), self.scale, self.zero_point, self.training)

    def __setstate__(self, state):
        nn.Module.__init__(self)
        for name, value in zip(self._STATE, state, strict=False):
            setattr(self, name, value)
        self.set_weight_bias(*state[10:12])
        self.scale, self.zero_point, self.training = state[12:15]

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *args):
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Of a float module that was observed."""
        check_float(cls, mod)
        scale, zero_point = output_scale(mod)
        inner = mod[0] if isinstance(mod, _fused._FusedModule) else mod
        if not hasattr(inner, "qconfig"):
            inner.qconfig = mod.qconfig
        weight, observer = observed_weight(inner)
        if observer.dtype != torch.qint8:
            raise AssertionError(f"Weight observer must have a dtype of qint8, got {observer.dtype}")
        sizes = [inner.in_channels, inner.out_channels, inner.kernel_size, inner.stride, inner.padding]
        if cls._weft_transposed:
            made = cls(
                *sizes,
                inner.output_padding,
                inner.groups,
                inner.bias is not None,
                inner.dilation,
                inner.padding_mode,
            )
        else:
            made = cls(*sizes, inner.dilation, inner.groups, inner.bias is not None, inner.padding_mode)
        made.set_weight_bias(weight, inner.bias)
        made.scale, made.zero_point = scale, zero_point
        return made


class _ConvTranspose(_Conv):
    _weft_transposed = True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        WeightedQuantizedModule.__init__(self)
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            bias,
            padding_mode,
        )


def _family(base, prefix, floats, dimensions, **more):
    """The class of each number of dimensions."""
    made = []
    for count, of in zip(dimensions, floats):
        name = f"{prefix}{count}d"
        attributes = {"_weft_dimensions": count, "_FLOAT_MODULE": of, "__module__": __name__, **more}
        attributes["__doc__"] = f"torch.nn.{name} over quantized tensors."
        attributes["_get_name"] = lambda self, name=name: f"Quantized{name}"
        made.append(type(name, (base,), attributes))
    return made


Conv1d, Conv2d, Conv3d = _family(_Conv, "Conv", (nn.Conv1d, nn.Conv2d, nn.Conv3d), (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = _family(
    _ConvTranspose, "ConvTranspose", (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), (1, 2, 3)
)
ConvReLU1d, ConvReLU2d, ConvReLU3d = _family(
    _Conv, "ConvReLU", (_fused.ConvReLU1d, _fused.ConvReLU2d, _fused.ConvReLU3d), (1, 2, 3), _weft_relu=True
)
