"""torch.nested's names: weft.nested, with PyTorch's default, the strided layout."""

from weft import nested as _nested
from weft.nested import (  # noqa: F401
    NestedTensor,
    masked_select,
    narrow,
    nested_tensor_from_jagged,
    to_padded_tensor,
)

__all__ = (
    "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor".split()
)


def nested_tensor(
    tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """weft.nested.nested_tensor; layout: torch.strided, the default, or torch.jagged."""
    return _nested.nested_tensor(
        tensor_list,
        dtype=dtype,
        layout=_nested.strided if layout is None else layout,
        device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """weft.nested.as_nested_tensor; layout: torch.strided, the default, or torch.jagged."""
    return _nested.as_nested_tensor(ts, dtype, device, _nested.strided if layout is None else layout)
