"""torch.ao: pruning, and quantization in eager mode."""

from .. import _absent

__getattr__ = _absent.names(__name__)
