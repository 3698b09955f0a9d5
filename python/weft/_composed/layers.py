"""Layers with what they compute on the way, padding, bags of embeddings."""

from typing import List, Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten, number
from .checks import is_half, need_tensor


# ---- normalization -------------------------------------------------------------------------------------------
@aten(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, "
    "Tensor)"
)
def native_layer_norm(
    input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float
) -> Tuple[Tensor, Tensor, Tensor]:
    """layer_norm, the mean, and one over the deviation of what is normalized."""
    axes = list(range(-len(normalized_shape), 0))
    wide = input.to(_weft.float32) if is_half(input) else input
    variance = _weft.var(wide, axes, unbiased=False, keepdim=True)
    mean = _weft.mean(wide, axes, keepdim=True)
    result = _weft.layer_norm(input, normalized_shape, weight, bias, eps)
    return result, mean.to(input.dtype), _weft.rsqrt(variance + eps).to(input.dtype)


@aten(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> "
    "(Tensor, Tensor, Tensor)"
)
def native_group_norm(
    input: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> Tuple[Tensor, Tensor, Tensor]:
    """group_norm, the mean, and one over the deviation of each group."""
    groups = input.reshape([N, group, (C // group) * HxW])
    deviation = _weft.rsqrt(_weft.var(groups, [2], unbiased=False) + eps)
    return _weft.group_norm(input, group, weight, bias, eps), _weft.mean(groups, [2]), deviation


@aten(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
    "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
)
def native_batch_norm(
    input: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    running_mean: Optional[Tensor],
    running_var: Optional[Tensor],
    training: bool,
    momentum: float,
    eps: float,
) -> Tuple[Tensor, Tensor, Tensor]:
    """batch_norm, the mean, and one over the deviation of each channel; of no training, two empty tensors."""
    result = _weft.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    nothing = _weft.zeros([0], dtype=input.dtype)
    if not training:
        return result, nothing, nothing
    axes = [axis for axis in range(input.dim()) if axis != 1]
    deviation = _weft.rsqrt(_weft.var(input, axes, unbiased=False) + eps)
    return result, _weft.mean(input, axes), deviation


# ---- padding -------------------------------------------------------------------------------------------------
@aten("constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor")
def constant_pad_nd(input: Tensor, pad: List[int], value: number) -> Tensor:
    """Dimensions, from the last on, made longer in front and behind, or shorter by negative numbers."""
    if len(pad) % 2 != 0:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} "
            f"while the input has {input.dim()} dimensions."
        )
    for at in range(0, len(pad), 2):
        size = input.shape[input.dim() - 1 - at // 2]
        if size + min(pad[at], 0) + min(pad[at + 1], 0) < 0:
            raise RuntimeError(
                f"The input size {size}, plus negative padding {pad[at]} and {pad[at + 1]}, resulted in a negative output size"
            )
    return _weft.pad(input, pad, "constant", value)


# ---- embeddings ----------------------------------------------------------------------------------------------
@aten(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
    "sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)"
)
@aten(
    "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool "
    "sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)"
)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Optional[Tensor] = None,
    include_last_offset: bool = False,
    padding_idx: Optional[int] = None,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (mode 0), means (1) or maxima (2) of rows, the bag of each index, and the bags' sizes and maxima."""
    need_tensor("embedding_bag", weight, "weight")
    if mode < 0 or mode > 2:
        raise RuntimeError(f"embedding_bag: mode: expected one of 0, 1, 2, got {mode}")
    padding: Optional[int] = padding_idx
    if padding_idx is not None and padding_idx < 0:
        padding = padding_idx + weight.shape[0]
    name = "sum" if mode == 0 else "mean" if mode == 1 else "max"
    result = _weft.embedding_bag(
        indices, weight, offsets, name, per_sample_weights, include_last_offset, padding
    )
    count = offsets.shape[0] - 1 if include_last_offset else offsets.shape[0]
    starts, ends = offsets[:count], offsets[1:]
    if not include_last_offset:
        last = _weft.full([min(count, 1)], indices.shape[0], dtype=offsets.dtype)
        ends = _weft.cat([ends, last], 0)
    sizes = ends - starts
    nothing = _weft.zeros([0], dtype=offsets.dtype)
    if mode == 2:
        return result, nothing, sizes, _weft.zeros([count, weight.shape[1]], dtype=offsets.dtype)
    if mode == 0:
        none = _weft.zeros([count], dtype=offsets.dtype)
        return result, nothing, none, none.clone()
    bags = _weft.searchsorted(starts, _weft.arange(indices.shape[0]), right=True) - 1
    return result, bags.to(offsets.dtype), sizes, sizes.clone()


@aten(
    "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, "
    "Tensor, Tensor, Tensor)"
)
@aten(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
    "sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, "
    "Tensor, Tensor, Tensor)"
)
def embedding_bag_but_padding(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Optional[Tensor],
    include_last_offset: bool,
    padding_idx: int,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    return embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
        None if padding_idx < 0 else padding_idx,
    )  # fmt: skip
