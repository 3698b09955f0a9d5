"""torch.ao.nn.intrinsic.quantized: fused modules over quantized tensors."""

from ..... import _absent
from ...quantized.activation import BNReLU2d, BNReLU3d  # noqa: F401
from ...quantized.conv import ConvReLU1d, ConvReLU2d, ConvReLU3d  # noqa: F401
from ...quantized.linear import LinearReLU  # noqa: F401

__getattr__ = _absent.names(__name__)
