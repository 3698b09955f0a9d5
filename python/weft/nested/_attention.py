"""Attention of nested tensors."""

import weft
from weft._errors import ArgumentError, ArgumentTypeError

from ._operators import _operator, _same_offsets
from ._tensor import NestedTensor


@_operator()
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """Of [batch, heads, ragged, channels], each part by itself. Keys and values have the same offsets; the queries may have
    others. attn_mask: a tensor that is broadcast to [batch, heads, longest queries, longest keys], of which a part has the
    upper left. Of [batch, ragged, …, tokens, channels], where nothing ragged is attended to: each row by itself."""
    given = (query, key, value)
    if all(isinstance(one, NestedTensor) and one.ndim > 3 and one._ragged == 1 for one in given):
        return _attention_of_rows(given, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if not all(isinstance(one, NestedTensor) and one.ndim == 4 and one._ragged == 2 for one in given):
        raise ArgumentTypeError(
            "scaled_dot_product_attention: nested tensors [batch, heads, ragged, channels], as "
            f"x.unflatten(-1, [heads, channels]).transpose(1, 2); got {', '.join(str(tuple(one.shape)) for one in given)}"
        )
    if dropout_p:
        raise ArgumentTypeError("scaled_dot_product_attention: dropout of nested tensors")
    _same_offsets("scaled_dot_product_attention", key, value)
    if len(query) != len(key):
        raise ArgumentError(
            f"scaled_dot_product_attention: {len(query)} parts of queries, {len(key)} of keys"
        )
    if attn_mask is not None:
        attn_mask = _checked_mask(attn_mask, query, key, is_causal)
    if weft.compiler.is_compiling():
        return _padded_attention(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    parts = []
    for i, (q, k, v) in enumerate(zip(query._parts(), key._parts(), value._parts())):
        mask = None
        if attn_mask is not None:
            mask = attn_mask[i if attn_mask.shape[0] > 1 else 0][None]
            rows, columns = (
                one.shape[0] if size > 1 else 1 for one, size in zip((q, k), attn_mask.shape[2:])
            )
            mask = weft.expand(mask[:, :, :rows, :columns], [1, mask.shape[1], q.shape[0], k.shape[0]])
        one = weft.scaled_dot_product_attention(
            weft.transpose(q, 0, 1)[None],
            weft.transpose(k, 0, 1)[None],
            weft.transpose(v, 0, 1)[None],
            mask,
            is_causal=is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )
        parts.append(weft.transpose(one[0], 0, 1))
    return query._like(weft.cat(parts))


def _attention_of_rows(given, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    query, *others = given
    for one in others:
        _same_offsets("scaled_dot_product_attention", query, one)
    if isinstance(attn_mask, NestedTensor):
        _same_offsets("scaled_dot_product_attention", query, attn_mask)
        attn_mask = attn_mask._values
    return query._like(
        weft.nn.functional.scaled_dot_product_attention(
            *(one._values for one in given),
            attn_mask,
            dropout_p,
            is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )
    )


def _checked_mask(mask, query, key, is_causal):
    """The mask with four dimensions."""
    name = "scaled_dot_product_attention"
    if isinstance(mask, NestedTensor):
        raise ArgumentTypeError(f"{name}: attn_mask of nested tensors is a tensor as they are padded")
    if is_causal:
        raise ArgumentError(f"{name}: either attn_mask or is_causal")
    given = [int(size) for size in mask.shape]
    sizes = [1] * (4 - len(given)) + given
    wanted = [len(query), query.shape[1], query.longest(), key.longest()]
    if len(sizes) != 4 or any(size not in (1, most) for size, most in zip(sizes, wanted)):
        raise ArgumentError(f"{name}: attn_mask: expected what is broadcast to {wanted}, got {given}")
    return weft.reshape(mask, sizes)


def _padded_attention(query, key, value, attn_mask, is_causal, scale, enable_gqa):
    """The same as one call, for graphs: keys behind a part's end are masked."""
    rows, columns = query.longest(), key.longest()
    q, k, v = (
        weft.transpose(one._padded(0, length), 1, 2)
        for one, length in ((query, rows), (key, columns), (value, columns))
    )
    mask = weft.arange(columns) < weft.reshape(key._lengths(), [len(key), 1, 1, 1])
    if is_causal:
        mask = mask & (weft.arange(columns) <= weft.reshape(weft.arange(rows), [rows, 1]))
    heads = 1
    if attn_mask is not None:
        heads = int(attn_mask.shape[1])
        if attn_mask.dtype == weft.bool:
            mask = mask & attn_mask
        else:
            mask = weft.where(mask, attn_mask, float("-inf")).to(attn_mask.dtype)
    mask = weft.expand(mask, [len(key), heads, rows, columns])
    result = weft.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=enable_gqa)
    return query._like(query._unpadded(weft.transpose(result, 1, 2)))
