"""torch.nn.modules.adaptive: the loss for many classes."""

from .loss import AdaptiveLogSoftmaxWithLoss
from .loss import _AdaptiveResult as _ASMoutput

__all__ = ["AdaptiveLogSoftmaxWithLoss", "_ASMoutput"]
