"""torch.ao.nn: quantized modules, and the fused ones that they are made of."""

from ... import _absent

__getattr__ = _absent.names(__name__)
