"""torch.nn.utils.init."""

from .parameters import skip_init

__all__ = ["skip_init"]
