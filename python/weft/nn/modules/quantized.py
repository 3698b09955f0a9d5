"""Linear layers with int8 and int4 weights, as weft.quantization.quantize_ puts them in the place of Linear."""

from typing import Optional

import weft
from weft import Tensor
from weft.nn import functional as F

from .module import Module


class QuantizedLinear(Module):
    """What the layers have in common: quantized `weight` and `scales` as buffers, a floating `bias` or none."""

    __constants__ = ["in_features", "out_features", "group_size"]
    __jit_ignored_attributes__ = ["_weft_exact_scales"]
    in_features: int
    out_features: int
    group_size: int
    weight: Tensor
    scales: Tensor
    bias: Optional[Tensor]

    def __init__(self, weight, bias, group_size=0):
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.group_size = group_size
        values, scales = self.quantized(weight.detach().contiguous(), group_size)
        self.register_buffer("weight", values)
        self.register_buffer("scales", scales)
        self._weft_exact_scales = (scales,)
        self.register_buffer("bias", None if bias is None else bias.detach())

    @staticmethod
    def quantized(weight, group_size):
        return weft.quantize_int8(weight)

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        # The scales' dtype belongs to the scheme, whatever that of the activations.
        if self.scales.dtype == self._weft_exact_scales[0].dtype:
            self._weft_exact_scales = (self.scales,)
        else:
            self._buffers["scales"] = self._weft_exact_scales[0]
        return self

    def extra_repr(self):
        group = f", group_size={self.group_size}" if self.group_size else ""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}{group}"


class DynamicInt8Linear(QuantizedLinear):
    """int8 weights by output, inputs quantized to int8 row by row."""

    def forward(self, input: Tensor) -> Tensor:
        return F._linear_dynamic_int8(input, self.weight, self.scales, self.bias)


class Int8Linear(QuantizedLinear):
    """int8 weights by output."""

    def forward(self, input: Tensor) -> Tensor:
        return F._linear_int8_weight(input, self.weight, self.scales, self.bias)


class Int4Linear(QuantizedLinear):
    """int4 weights by groups of inputs."""

    @staticmethod
    def quantized(weight, group_size):
        return weft.quantize_int4(weight, group_size)

    def forward(self, input: Tensor) -> Tensor:
        return F._linear_int4_weight(input, self.weight, self.scales, self.bias, self.group_size)
