"""Activations and norms over quantized tensors: what the float modules compute, with a scale of their own."""

import weft
import weft.torch as torch
from weft import nn
from weft.ops import quantized as _ops

from ..intrinsic import _fused
from ._weights import output_scale


class ReLU6(nn.ReLU):
    """Between zero and six."""

    def __init__(self, inplace=False):
        super().__init__(inplace)

    def forward(self, input):
        return _ops.relu6(input, self.inplace)

    def _get_name(self):
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        return ReLU6(mod.inplace)


class _ScaledBuffers:
    """The scale and zero point as buffers."""

    def _set_scale(self, scale, zero_point):
        self.register_buffer("scale", weft.tensor(scale))
        self.register_buffer("zero_point", weft.tensor(zero_point))

    def _get_scale(self):
        return float(self.scale), int(self.zero_point)


class Hardswish(_ScaledBuffers, nn.Hardswish):
    """torch.nn.Hardswish over quantized tensors."""

    def __init__(self, scale, zero_point, device=None, dtype=None):
        super().__init__()
        self._set_scale(scale, zero_point)

    def forward(self, input):
        return _ops.hardswish(input, *self._get_scale())

    def _get_name(self):
        return "QuantizedHardswish"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(*output_scale(mod))


class ELU(nn.ELU):
    """torch.nn.ELU over quantized tensors."""

    def __init__(self, scale, zero_point, alpha=1.0):
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input):
        return _ops.elu(input, self.scale, self.zero_point, self.alpha)

    def _get_name(self):
        return "QuantizedELU"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(*output_scale(mod), mod.alpha)


class LeakyReLU(_ScaledBuffers, nn.LeakyReLU):
    """torch.nn.LeakyReLU over quantized tensors."""

    def __init__(self, scale, zero_point, negative_slope=1e-2, inplace=False, device=None, dtype=None):
        super().__init__(negative_slope, inplace)
        self._set_scale(scale, zero_point)

    def forward(self, input):
        return _ops.leaky_relu(input, self.negative_slope, self.inplace, *self._get_scale())

    def _get_name(self):
        return "QuantizedLeakyReLU"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(*output_scale(mod), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """torch.nn.Sigmoid over quantized tensors."""

    def __init__(self, output_scale, output_zero_point):
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input):
        return _ops.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(*output_scale(mod))


class Softmax(nn.Softmax):
    """torch.nn.Softmax over quantized tensors."""

    def __init__(self, dim=None, scale=1.0, zero_point=0):
        super().__init__(dim)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input):
        dim = (0 if input.ndim in (0, 1, 3) else 1) if self.dim is None else self.dim
        return _ops.softmax(input, dim, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedSoftmax"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(mod.dim, *output_scale(mod))


class PReLU(nn.Module):
    """torch.nn.PReLU over quantized tensors."""

    def __init__(self, output_scale, output_zero_point, num_parameters=1):
        super().__init__()
        self.num_parameters, self.scale, self.zero_point = num_parameters, output_scale, output_zero_point
        self.set_weight(torch.quantize_per_tensor(weft.full([num_parameters], 0.25), 1.0, 0, torch.quint8))

    def set_weight(self, w):
        self.weight = w

    def forward(self, input):
        return _ops.prelu(input, self.weight, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedPReLU"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        made = cls(*output_scale(mod), mod.num_parameters)
        observer = mod.qconfig.weight()
        observer(mod.weight)
        scale, zero_point = observer.calculate_qparams()
        made.set_weight(
            torch.quantize_per_tensor(
                mod.weight.detach().to(weft.float32), float(scale), int(zero_point), torch.quint8
            )
        )
        return made


class Dropout(nn.Dropout):
    """Nothing: quantized models are not trained."""

    def forward(self, input):
        return input

    def _get_name(self):
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(mod.p, mod.inplace)


# ---- norms -----------------------------------------------------------------------------------------------------------


class _BatchNorm(_ScaledBuffers):
    _weft_relu = False

    def __init__(self, num_features, eps=1e-5, momentum=0.1, device=None, dtype=None):
        super().__init__(num_features, eps, momentum)
        self._set_scale(1.0, 0)

    def forward(self, input):
        dimensions = 3 if isinstance(self, nn.BatchNorm3d) else 2
        norm = getattr(_ops, f"batch_norm{dimensions}d" + ("_relu" if self._weft_relu else ""))
        return norm(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, *self._get_scale()
        )

    def _get_name(self):
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        inner = mod[0] if isinstance(mod, _fused._FusedModule) else mod
        made = cls(inner.num_features, inner.eps)
        made.weight, made.bias = inner.weight, inner.bias
        made.running_mean, made.running_var = inner.running_mean, inner.running_var
        made.scale, made.zero_point = scale, zero_point
        return made


class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """torch.nn.BatchNorm2d over quantized tensors."""


class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """torch.nn.BatchNorm3d over quantized tensors."""


class BNReLU2d(BatchNorm2d):
    """A batch norm and a ReLU."""

    _weft_relu = True


class BNReLU3d(BatchNorm3d):
    """A batch norm and a ReLU."""

    _weft_relu = True


class _Norm(_ScaledBuffers):
    def _get_name(self):
        return f"Quantized{type(self).__name__}"

    def _take(self, weight, bias, scale, zero_point):
        self.weight, self.bias = weight, bias
        self._set_scale(scale, zero_point)


class LayerNorm(_Norm, nn.LayerNorm):
    """torch.nn.LayerNorm over quantized tensors."""

    def __init__(
        self, normalized_shape, weight, bias, scale, zero_point, eps=1e-5, elementwise_affine=True, **kwargs
    ):
        super().__init__(normalized_shape, eps=eps, elementwise_affine=elementwise_affine)
        self._take(weight, bias, scale, zero_point)

    def forward(self, input):
        return _ops.layer_norm(
            input, list(self.normalized_shape), self.weight, self.bias, self.eps, *self._get_scale()
        )

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(
            mod.normalized_shape, mod.weight, mod.bias, *output_scale(mod), mod.eps, mod.elementwise_affine
        )


class GroupNorm(_Norm, nn.GroupNorm):
    """torch.nn.GroupNorm over quantized tensors."""

    def __init__(
        self, num_groups, num_channels, weight, bias, scale, zero_point, eps=1e-5, affine=True, **kwargs
    ):
        super().__init__(num_groups, num_channels, eps, affine)
        self._take(weight, bias, scale, zero_point)

    def forward(self, input):
        return _ops.group_norm(input, self.num_groups, self.weight, self.bias, self.eps, *self._get_scale())

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(
            mod.num_groups, mod.num_channels, mod.weight, mod.bias, *output_scale(mod), mod.eps, mod.affine
        )


class _InstanceNorm(_Norm):
    def __init__(
        self,
        num_features,
        weight,
        bias,
        scale,
        zero_point,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        **kwargs,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self._take(weight, bias, scale, zero_point)

    def forward(self, input):
        return _ops.instance_norm(input, self.weight, self.bias, self.eps, *self._get_scale())

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(mod.num_features, mod.weight, mod.bias, *output_scale(mod), mod.eps, affine=mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """torch.nn.InstanceNorm1d over quantized tensors."""


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """torch.nn.InstanceNorm2d over quantized tensors."""


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """torch.nn.InstanceNorm3d over quantized tensors."""
