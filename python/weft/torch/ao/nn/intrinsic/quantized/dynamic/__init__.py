"""torch.ao.nn.intrinsic.quantized.dynamic."""

from ....quantized.dynamic.linear import LinearReLU  # noqa: F401
