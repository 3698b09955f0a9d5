"""torch.nested's names: weft.nested, with the jagged layout (the strided one, PyTorch's default, is not there)."""

from weft.nested import (  # noqa: F401
    NestedTensor,
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)

__all__ = (
    "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor".split()
)
