"""torch.ao: pruning; quantization is weft's own."""

from .. import _absent

__getattr__ = _absent.names(__name__)
