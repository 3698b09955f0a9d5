"""torch.nn.modules.batchnorm: batch normalization."""

from .lazy import LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d
from .lazy import _LazyNorm as _LazyNormBase
from .normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm, _BatchNorm, _NormBase

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm",
           "_BatchNorm", "_LazyNormBase", "_NormBase"]  # fmt: skip
