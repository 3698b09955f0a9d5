"""torch.nn.modules.fold: layers of `shapes`."""

from .shapes import Fold, Unfold

__all__ = ["Fold", "Unfold"]
