"""Linear layers that quantize their inputs as they come."""

import weft
import weft.torch as torch
from weft import nn
from weft.ops import quantized as _ops

from ...intrinsic import _fused
from .._weights import observed_weight, without_packed
from ..linear import Linear as _Static
from ..linear import LinearPackedParams


class Linear(_Static):
    """x times the weight's rows, of integers or of float16; the result is floating."""

    _version = 4
    _FLOAT_MODULE = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version = 4

    def forward(self, x):
        packed = self._packed_params
        if packed.dtype == torch.qint8:
            reduce_range = self.version is not None and self.version >= 4
            y = self._weft_multiply("linear{}_dynamic")(x, packed._packed_params, reduce_range)
        elif packed.dtype == torch.float16:
            y = self._weft_multiply("linear{}_dynamic_fp16")(x, packed._packed_params)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return y.to(x.dtype)

    def _weft_multiply(self, name):
        return getattr(_ops, name.format(""))

    def _get_name(self):
        return "DynamicQuantizedLinear"

    def extra_repr(self):
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        if self._packed_params.dtype == torch.qint8:
            text += f", qscheme={self.weight().qscheme()}"
        return text

    def __repr__(self):
        return without_packed(self, LinearPackedParams)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        self.version = local_metadata.get("version", None)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Of a float module; its qconfig, if it has one, says how the weight is quantized."""
        kinds = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, tuple) else (cls._FLOAT_MODULE,)
        if type(mod) not in kinds:
            raise AssertionError(
                f"nn.quantized.dynamic.Linear.from_float only works for one of {kinds}, got {type(mod)}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        from weft.torch.ao.quantization.qconfig import default_dynamic_qconfig

        qconfig = mod.qconfig
        inner = mod[0] if isinstance(mod, _fused._FusedModule) else mod
        inner.qconfig = (
            qconfig if qconfig is not None and qconfig.weight is not None else default_dynamic_qconfig
        )
        dtype = inner.qconfig.weight().dtype
        if dtype == torch.qint8:
            weight, _ = observed_weight(inner)
        elif dtype == torch.float16:
            weight = inner.weight.detach().to(weft.float32)
        else:
            raise RuntimeError("Unsupported dtype specified for dynamic quantized Linear!")
        made = cls(inner.in_features, inner.out_features, dtype=dtype)
        made.set_weight_bias(weight, inner.bias)
        return made


class LinearReLU(Linear):
    """A linear layer and a ReLU."""

    _FLOAT_MODULE = _fused.LinearReLU

    def _weft_multiply(self, name):
        return getattr(_ops, name.format("_relu"))

    def _get_name(self):
        return "DynamicQuantizedLinearReLU"
