"""torchvision.ops.focal_loss."""

from .losses import sigmoid_focal_loss

__all__ = ["sigmoid_focal_loss"]
