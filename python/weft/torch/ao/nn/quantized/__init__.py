"""torch.ao.nn.quantized: modules over quantized tensors."""

import weft
import weft.torch as torch
from weft import nn
from weft.nn import MaxPool2d  # noqa: F401

from .... import _absent
from .activation import (  # noqa: F401
    ELU,
    BatchNorm2d,
    BatchNorm3d,
    Dropout,
    GroupNorm,
    Hardswish,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LeakyReLU,
    PReLU,
    ReLU6,
    Sigmoid,
    Softmax,
)
from .conv import (  # noqa: F401
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from .embedding_ops import Embedding, EmbeddingBag  # noqa: F401
from .functional_modules import FloatFunctional, FXFloatFunctional, QFunctional  # noqa: F401
from .linear import Linear  # noqa: F401


class Quantize(nn.Module):
    """Rounds its input to a scale and a zero point."""

    def __init__(self, scale, zero_point, dtype, factory_kwargs=None):
        super().__init__()
        self.register_buffer("scale", weft.tensor([scale], dtype=weft.float32))
        self.register_buffer("zero_point", weft.tensor([zero_point], dtype=weft.int64))
        self.dtype = dtype

    def forward(self, X):
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return Quantize(float(scale), int(zero_point), mod.activation_post_process.dtype)

    def extra_repr(self):
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(nn.Module):
    """The numbers of its input."""

    def forward(self, Xq):
        return Xq.dequantize()

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        return DeQuantize()


__getattr__ = _absent.names(__name__)
