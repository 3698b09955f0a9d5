"""What functions refuse, in PyTorch's words."""

import weft as _weft
from weft import Tensor


class DTypeError(TypeError, NotImplementedError):
    """A dtype that a function does not take: PyTorch raises the one or the other."""


def need_tensor(function: str, value: Tensor, name: str = "input", position: int = 1) -> Tensor:
    """The value, which TorchScript knows for a tensor."""
    if not isinstance(value, Tensor):
        if not hasattr(type(value), "__weft_operator__"):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
            )
    return value


def is_inexact(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def is_half(tensor: Tensor) -> bool:
    return tensor.dtype == _weft.float16 or tensor.dtype == _weft.bfloat16


def need_floating(function: str, tensor: Tensor) -> None:
    """floating or complex"""
    if not is_inexact(tensor):
        raise DTypeError(
            f"{function}(): Expected a floating point or complex tensor as input. Got {tensor.dtype}"
        )


def refuse_complex(function: str, tensor: Tensor) -> None:
    if tensor.is_complex():
        raise DTypeError(
            f"{function}(): complex numbers have no order: expected real operands, got {tensor.dtype}"
        )


def refuse_bool(function: str, tensor: Tensor) -> None:
    if tensor.dtype == _weft.bool:
        raise DTypeError(f"{function}(): bool is not supported")


def dimension(function: str, dim: int, rank: int) -> int:
    """`dim` counted from the front; a tensor without dimensions has one, as PyTorch sees it."""
    size = max(rank, 1)
    if dim < -size or dim >= size:
        raise IndexError(
            f"{function}: Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})"
        )
    return dim % size


def refuse_empty(function: str, input: Tensor, dim: int) -> None:
    if input.dim() > 0 and input.shape[dim] == 0:
        raise IndexError(f"{function}(): Expected reduction dim {dim} to have non-zero size.")


def refuse_nothing(function: str, input: Tensor) -> None:
    if input.numel() == 0:
        raise RuntimeError(
            f"{function}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
