"""torch.ao.nn.intrinsic: modules in a row that quantization takes as one."""

from .... import _absent
from ._fused import (  # noqa: F401
    BNReLU2d,
    BNReLU3d,
    ConvBn1d,
    ConvBn2d,
    ConvBn3d,
    ConvBnReLU1d,
    ConvBnReLU2d,
    ConvBnReLU3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    LinearBn1d,
    LinearReLU,
    _FusedModule,
)

__getattr__ = _absent.names(__name__)
