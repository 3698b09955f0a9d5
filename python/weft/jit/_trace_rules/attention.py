"""Attention with several heads."""

import weft

from .._trace_registry import operator_rule
from .._tracer import aten


def _float_mask(mask, dtype):
    """Zero where it may be looked at, -inf where not; a mask of numbers as it is."""
    if mask is None or mask.dtype != weft.bool:
        return mask
    return aten.masked_fill(aten.zeros_like(mask, dtype=dtype), mask, float("-inf"))


def _in_projection(query, key, value, embed_dim, weight, bias, separate):
    if weight is None:
        weights = separate
    else:
        weights = aten.chunk(weight, 3, 0)
    biases = [None] * 3 if bias is None else aten.chunk(bias, 3, 0)
    return [aten.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


@operator_rule()
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training,
    key_padding_mask,
    need_weights,
    attn_mask,
    use_separate_proj_weight,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    static_k,
    static_v,
    average_attn_weights,
    is_causal,
):
    """[L, N, E] or [L, E]; softmax(q k^T / sqrt(d) + mask) v for every head."""
    is_batched = query.ndim == 3
    if not is_batched:
        query, key, value = (aten.unsqueeze(x, 1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = aten.unsqueeze(key_padding_mask, 0)
    length, batch, embed_dim = query.shape
    head = embed_dim_to_check // num_heads
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _in_projection(
        query,
        key,
        value,
        embed_dim_to_check,
        None if use_separate_proj_weight else in_proj_weight,
        in_proj_bias,
        separate,
    )
    attn_mask = _float_mask(attn_mask, query.dtype)
    padding = _float_mask(key_padding_mask, query.dtype)
    if bias_k is not None:
        k = aten.cat([k, aten.repeat(bias_k, [1, batch, 1])], 0)
        v = aten.cat([v, aten.repeat(bias_v, [1, batch, 1])], 0)
        attn_mask, padding = (
            mask if mask is None else aten.pad(mask, [0, 1]) for mask in (attn_mask, padding)
        )
    heads = batch * num_heads
    q = aten.transpose(aten.reshape(q, [length, heads, head]), 0, 1)
    k = aten.transpose(aten.reshape(k, [-1, heads, head]), 0, 1) if static_k is None else static_k
    v = aten.transpose(aten.reshape(v, [-1, heads, head]), 0, 1) if static_v is None else static_v
    if add_zero_attn:
        zeros = aten.zeros([heads, 1, head], dtype=query.dtype)
        k, v = aten.cat([k, zeros], 1), aten.cat([v, zeros], 1)
        attn_mask, padding = (
            mask if mask is None else aten.pad(mask, [0, 1]) for mask in (attn_mask, padding)
        )
    scores = aten.bmm(aten.div(q, head**0.5), aten.transpose(k, 1, 2))
    scores = aten.view(scores, [batch, num_heads, length, -1])
    if attn_mask is not None:
        mask = aten.view(attn_mask, [batch, num_heads, length, -1]) if attn_mask.ndim == 3 else attn_mask
        scores = aten.add(scores, mask)
    if padding is not None:
        scores = aten.add(scores, aten.unsqueeze(aten.unsqueeze(padding, 1), 1))
    weights = aten.softmax(scores, -1)
    mixed = aten.bmm(aten.view(weights, [heads, length, -1]), v)
    mixed = aten.reshape(aten.transpose(mixed, 0, 1), [length, batch, embed_dim_to_check])
    output = aten.linear(mixed, out_proj_weight, out_proj_bias)
    if average_attn_weights:
        weights = aten.mean(weights, [1])
    if not is_batched:
        output, weights = aten.squeeze(output, 1), aten.squeeze(weights, 0)
    return output, weights if need_weights else None
