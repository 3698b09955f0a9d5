"""Attention over several heads, from products of matrices and softmax."""

import math
from typing import Optional, Tuple

from weft import Tensor
from weft.ops import aten


def _projected(query: Tensor, key: Tensor, value: Tensor, q_weight: Tensor, k_weight: Tensor, v_weight: Tensor,
               bias: Optional[Tensor]) -> Tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if bias is None:
        return aten.linear(query, q_weight), aten.linear(key, k_weight), aten.linear(value, v_weight)
    biases = aten.chunk(bias, 3)
    return (
        aten.linear(query, q_weight, biases[0]),
        aten.linear(key, k_weight, biases[1]),
        aten.linear(value, v_weight, biases[2]),
    )


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as numbers to add: minus infinity where a bool one is true."""
    if aten.is_floating_point(mask):
        return mask
    return aten.masked_fill(aten.zeros_like(mask, dtype=like.dtype), mask, -math.inf)


def _widened(mask: Optional[Tensor]) -> Optional[Tensor]:
    """A mask with one key more, which takes part."""
    if mask is None:
        return None
    return aten.pad(mask, [0, 1])


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Optional[Tensor],
    in_proj_bias: Optional[Tensor],
    bias_k: Optional[Tensor],
    bias_v: Optional[Tensor],
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Optional[Tensor],
    training: bool = True,
    key_padding_mask: Optional[Tensor] = None,
    need_weights: bool = True,
    attn_mask: Optional[Tensor] = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Optional[Tensor] = None,
    k_proj_weight: Optional[Tensor] = None,
    v_proj_weight: Optional[Tensor] = None,
    static_k: Optional[Tensor] = None,
    static_v: Optional[Tensor] = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Tuple[Tensor, Optional[Tensor]]:
    single = query.dim() == 2
    if single:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, size = query.size(0), query.size(1), query.size(2)
    if size != embed_dim_to_check:
        raise ValueError(
            f"multi_head_attention_forward: expected an embedding of size {embed_dim_to_check}, got {size}"
        )
    head = size // num_heads
    if head * num_heads != size:
        raise ValueError(
            f"multi_head_attention_forward: the number of heads must divide embed_dim: got {num_heads} heads for {size}"
        )
    if is_causal and attn_mask is None:
        raise ValueError(
            "multi_head_attention_forward: is_causal says of attn_mask that it is causal; it is missing"
        )
    if (
        use_separate_proj_weight
        and q_proj_weight is not None
        and k_proj_weight is not None
        and v_proj_weight is not None
    ):
        q, k, v = _projected(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias)
    elif not use_separate_proj_weight and in_proj_weight is not None:
        parts = aten.chunk(in_proj_weight, 3)
        q, k, v = _projected(query, key, value, parts[0], parts[1], parts[2], in_proj_bias)
    else:
        raise TypeError("multi_head_attention_forward: in_proj_weight is missing, or with use_separate_proj_weight one of "
                        "q_proj_weight, k_proj_weight and v_proj_weight")  # fmt: skip
    mask: Optional[Tensor] = None
    if attn_mask is not None:
        mask = _added(attn_mask, q)
    padding: Optional[Tensor] = None
    if key_padding_mask is not None:
        padding = _added(key_padding_mask, q)
    if bias_k is not None and bias_v is not None:
        k = aten.cat([k, aten.repeat(bias_k, [1, batch, 1])])
        v = aten.cat([v, aten.repeat(bias_v, [1, batch, 1])])
        mask, padding = _widened(mask), _widened(padding)
    heads = batch * num_heads
    q = aten.transpose(aten.reshape(q, [length, heads, head]), 0, 1)
    if static_k is None:
        k = aten.transpose(aten.reshape(k, [-1, heads, head]), 0, 1)
    else:
        k = static_k
    if static_v is None:
        v = aten.transpose(aten.reshape(v, [-1, heads, head]), 0, 1)
    else:
        v = static_v
    if add_zero_attn:
        zeros = aten.zeros([heads, 1, head], dtype=q.dtype, device=q.device)
        k, v = aten.cat([k, zeros], 1), aten.cat([v, zeros], 1)
        mask, padding = _widened(mask), _widened(padding)
    keys = k.size(1)
    scores = aten.bmm(q / math.sqrt(float(head)), aten.transpose(k, 1, 2))
    if mask is not None:
        scores = scores + mask
    if padding is not None:
        scores = aten.reshape(scores, [batch, num_heads, length, keys]) + padding.unsqueeze(1).unsqueeze(2)
        scores = aten.reshape(scores, [heads, length, keys])
    weights = aten.softmax(scores, -1)
    if dropout_p > 0.0 and training:
        weights = aten.dropout(weights, dropout_p, True)
    output = aten.reshape(aten.transpose(aten.bmm(weights, v), 0, 1), [length * batch, size])
    output = aten.reshape(
        aten.linear(output, out_proj_weight, out_proj_bias), [length, batch, out_proj_weight.size(0)]
    )
    if single:
        output = output.squeeze(1)
    if not need_weights:
        return output, None
    weights = aten.reshape(weights, [batch, num_heads, length, keys])
    if average_attn_weights:
        weights = aten.mean(weights, [1])
    if single:
        weights = weights.squeeze(0)
    return output, weights
