"""scaled_dot_product_attention in bfloat16, beside PyTorch's: 32 heads of 128."""


def attention(side, queries, keys, is_causal):
    torch = side.torch
    heads, dim = side.size(32, 2), side.size(128, 16)
    q = side.uniform((1, heads, queries, dim))
    k, v = side.uniform((1, heads, keys, dim), seed=2), side.uniform((1, heads, keys, dim), seed=3)
    attend = torch.nn.functional.scaled_dot_product_attention
    figures = {"seconds": side.seconds(lambda: attend(q, k, v, is_causal=is_causal))}
    if queries == 1:
        return {**figures, "bytes": 2 * heads * keys * dim * 2, "share_of": "read"}
    return {**figures, "flops": 4 * heads * dim * queries * (queries + 1) / 2, "share_of": "bfloat16 rate"}


def cases(side):
    tokens, length = side.size(2048, 40), side.size(4096, 80)
    way = side.ways(compiled=False)[0][0]
    yield f"causal, {tokens} tokens", way, lambda: attention(side, tokens, tokens, True)
    yield f"one token over {length}", way, lambda: attention(side, 1, length, False)
