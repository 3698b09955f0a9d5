"""torch.sparse's names for 2:4 sparse weights, over weft.sparse: they work on the CPU, where PyTorch has none."""

import warnings

from weft import sparse as _sparse
from weft.sparse import SparseSemiStructuredTensor  # noqa: F401


def to_sparse_semi_structured(original_tensor, transposed=False):
    """The 2:4 sparse weight of a dense one, which is held beside it for the products in which it is faster."""
    if transposed:
        warnings.warn(
            "Setting transpose from `to_sparse_semi_structured` is deprecated and will be removed in a future release. "
            "`SparseSemiStructuredTensor` only support contiguous input tensors.",
            FutureWarning,
            stacklevel=2,
        )
    return _sparse.to_sparse_semi_structured(original_tensor.detach(), keep_dense=True)
