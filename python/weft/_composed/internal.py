"""Operators that PyTorch's decompositions name, and users' programs hardly do."""

from typing import List, Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten
from .layers import native_batch_norm


@aten("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor")
def copy(input: Tensor, source: Tensor, non_blocking: bool) -> Tensor:
    """The source with the input's shape and dtype."""
    return source.to(input.dtype).expand(input.shape).clone()


@aten("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor")
def chunk_cat(tensors: List[Tensor], dim: int, num_chunks: int) -> Tensor:
    """The tensors, each continued by zeros along dim and cut into num_chunks, beside each other."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if len(tensors) == 0:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    parts: List[Tensor] = []
    for tensor in tensors:
        if tensor.numel() == 0:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        first = dim % tensor.dim()
        short = -tensor.shape[first] % num_chunks
        pad = [0, 0] * (tensor.dim() - 1 - first) + [0, short]
        shape = list(tensor.shape)[:first] + [num_chunks, -1]
        parts.append(_weft.pad(tensor, pad).reshape(shape))
    return _weft.cat(parts, dim % tensors[0].dim() + 1)


# ---- batch normalization -------------------------------------------------------------------------------------
@aten(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, "
    "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
)
def native_batch_norm_legit(
    input: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Tuple[Tensor, Tensor, Tensor]:
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@aten(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> "
    "(Tensor, Tensor, Tensor)"
)
def native_batch_norm_of_batch(
    input: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    training: bool,
    momentum: float,
    eps: float,
) -> Tuple[Tensor, Tensor, Tensor]:
    return native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


@aten(
    "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, "
    "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
def native_batch_norm_functional(
    input: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    mean, variance = running_mean.clone(), running_var.clone()
    result, saved_mean, saved_deviation = native_batch_norm(
        input, weight, bias, mean, variance, training, momentum, eps
    )
    return result, saved_mean, saved_deviation, mean, variance


# ---- losses and others with what steps backwards would need --------------------------------------------------
@aten("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)")
def log_sigmoid_forward(input: Tensor) -> Tuple[Tensor, Tensor]:
    result = _weft.clamp(input, max=0) - _weft.log1p(_weft.exp(-input.abs()))
    return result, _weft.empty([0], dtype=input.dtype)


@aten("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)")
def weight_norm_interface(v: Tensor, g: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    """v with the norms g along every dimension but dim, and the norms that it has."""
    others = [each for each in range(v.dim()) if each != dim % v.dim()]
    norms = _weft.vector_norm(v, 2.0, others, keepdim=True)
    return v * (g / norms), norms


# ---- steps backwards that programs call by name --------------------------------------------------------------
@aten("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor")
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """grad_output where mask holds, times the scale."""
    return grad_output * mask * scale


@aten(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, "
    "int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor"
)
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    input: Tensor,
    kernel_size: List[int],
    stride: List[int],
    padding: List[int],
    dilation: List[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """The gradient of max_pool2d's input: each element at the place that its index names."""
    flat = _weft.zeros_like(input).flatten(-2)
    return _weft.scatter_add(flat, -1, indices.flatten(-2), grad_output.flatten(-2)).reshape(input.shape)


# ---- checks --------------------------------------------------------------------------
@aten("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()")
def linalg_check_errors(info: Tensor, api_name: str, is_matrix: bool) -> None:
    if bool((info != 0).any()):
        raise RuntimeError(
            f"{api_name}: The algorithm failed: the input matrix is singular, or not positive-definite."
        )
