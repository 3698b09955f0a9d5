"""torch.nn.utils.weight_norm."""

from .reparametrization import WeightNorm, remove_weight_norm, weight_norm

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
