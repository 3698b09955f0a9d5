"""Linear layers over quantized tensors."""

import weft
import weft.torch as torch
from weft import nn
from weft.ops import quantized as _ops

from ..intrinsic import _fused
from ._weights import (
    WeightedQuantizedModule,
    check_float,
    observed_weight,
    output_scale,
    without_packed,
)


class LinearPackedParams(nn.Module):
    """The weight and bias of a layer, packed: of int8, or of float16."""

    _version = 3

    def __init__(self, dtype=torch.qint8):
        super().__init__()
        self.dtype = dtype
        empty = torch._empty_affine_quantized([1, 1], scale=1.0, zero_point=0, dtype=torch.qint8)
        self.set_weight_bias(weft.zeros([1, 1]) if dtype == torch.float16 else empty, None)

    def _check(self):
        if self.dtype not in (torch.qint8, torch.float16):
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return self.dtype == torch.float16

    def set_weight_bias(self, weight, bias):
        prepack = _ops.linear_prepack_fp16 if self._check() else _ops.linear_prepack
        self._packed_params = prepack(weight, bias)

    def _weight_bias(self):
        unpack = _ops.linear_unpack_fp16 if self._check() else _ops.linear_unpack
        return unpack(self._packed_params)

    def forward(self, x):
        return x

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *args):
        version = local_metadata.get("version", None) or 1
        self.dtype = torch.qint8 if version < 2 else state_dict.pop(prefix + "dtype")
        if version < 3:
            self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        else:
            self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)

    def __repr__(self):
        return repr(self._weight_bias())


class Linear(WeightedQuantizedModule):
    """x times the weight's rows, of integers; the result has the scale and zero point of the module."""

    _version = 3
    _FLOAT_MODULE = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        if dtype == torch.qint8:
            weight = torch._empty_affine_quantized(
                [out_features, in_features], scale=1.0, zero_point=0, dtype=torch.qint8
            )
        elif dtype == torch.float16:
            weight = weft.zeros([out_features, in_features])
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, weft.zeros([out_features]) if bias_ else None)

    def _get_name(self):
        return "QuantizedLinear"

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self):
        return without_packed(self, LinearPackedParams)

    def forward(self, x):
        return _ops.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        if local_metadata.get("version", None) in (None, 1):
            for name in ("weight", "bias"):
                state_dict[f"{prefix}_packed_params.{name}"] = state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def _weight_bias(self):
        return self._packed_params._weight_bias()

    def weight(self):
        return self._weight_bias()[0]

    def bias(self):
        return self._weight_bias()[1]

    def set_weight_bias(self, w, b):
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Of a float module that was observed."""
        check_float(cls, mod)
        scale, zero_point = output_scale(mod)
        inner = mod[0] if isinstance(mod, _fused.LinearReLU) else mod
        if not hasattr(inner, "qconfig"):
            inner.qconfig = mod.qconfig
        weight, observer = observed_weight(inner)
        if observer.dtype != torch.qint8:
            raise AssertionError(f"Weight observer must have dtype torch.qint8, got {observer.dtype}")
        made = cls(inner.in_features, inner.out_features, dtype=torch.qint8)
        made.set_weight_bias(weight, inner.bias)
        made.scale, made.zero_point = scale, zero_point
        return made


class LinearReLU(Linear):
    """A linear layer and a ReLU."""

    _FLOAT_MODULE = _fused.LinearReLU

    def forward(self, x):
        return _ops.linear_relu(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedLinearReLU"
