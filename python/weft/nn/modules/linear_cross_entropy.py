"""torch.nn.modules.linear_cross_entropy: a loss."""

from .loss import LinearCrossEntropyLoss

__all__ = ["LinearCrossEntropyLoss"]
