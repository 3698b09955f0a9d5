"""torch.nn.parallel.data_parallel."""

from weft.nn.modules.parallel import DataParallel

__all__ = ["DataParallel"]
