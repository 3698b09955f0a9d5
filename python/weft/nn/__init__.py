"""Neural networks: `weft.nn.functional` has PyTorch's functions over weft's operators."""

from . import functional

__all__ = ["functional"]
