"""torch.nn.modules.flatten: layers of `shapes`."""

from .shapes import Flatten, Unflatten

__all__ = ["Flatten", "Unflatten"]
