"""torch._functorch: PyTorch's own compiler. Its settings can be made."""

from .. import _absent

__getattr__ = _absent.names(__name__)
