"""torch.ao: quantization, which weft has of its own."""

from . import _absent

__path__ = []
__getattr__ = _absent.names(__name__)
