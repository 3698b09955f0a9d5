"""torch.nn.modules.distance: the distances of `loss`."""

from .loss import CosineSimilarity, PairwiseDistance

__all__ = ["CosineSimilarity", "PairwiseDistance"]
