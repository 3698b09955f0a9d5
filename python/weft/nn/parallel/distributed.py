"""torch.nn.parallel.distributed."""

from . import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
