"""Padding layers: widths before and after each dimension, the last dimension first; one number stands for all."""

from weft import Tensor
from weft.nn import functional as F

from ._shared import tuple_of
from .module import Module


class _PadNd(Module):
    __constants__ = ["padding"]
    _weft_rank = 0

    def __init__(self, padding):
        super().__init__()
        self.padding = tuple_of(padding, 2 * self._weft_rank, type(self).__name__)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    value: float

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class _ReplicationPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class _CircularPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "circular")


class ConstantPad1d(_ConstantPadNd):
    _weft_rank = 1


class ConstantPad2d(_ConstantPadNd):
    _weft_rank = 2


class ConstantPad3d(_ConstantPadNd):
    _weft_rank = 3


class ZeroPad1d(_ZeroPadNd):
    _weft_rank = 1


class ZeroPad2d(_ZeroPadNd):
    _weft_rank = 2


class ZeroPad3d(_ZeroPadNd):
    _weft_rank = 3


class ReflectionPad1d(_ReflectionPadNd):
    _weft_rank = 1


class ReflectionPad2d(_ReflectionPadNd):
    _weft_rank = 2


class ReflectionPad3d(_ReflectionPadNd):
    _weft_rank = 3


class ReplicationPad1d(_ReplicationPadNd):
    _weft_rank = 1


class ReplicationPad2d(_ReplicationPadNd):
    _weft_rank = 2


class ReplicationPad3d(_ReplicationPadNd):
    _weft_rank = 3


class CircularPad1d(_CircularPadNd):
    _weft_rank = 1


class CircularPad2d(_CircularPadNd):
    _weft_rank = 2


class CircularPad3d(_CircularPadNd):
    _weft_rank = 3
