"""A Llama in PyTorch's words, for one sequence, after gpt-fast's recipe: static cache, a step that is compiled and recorded whole.

source: gpt-fast (PyTorch's blog, 2023): int8 weights as x @ w.to(x.dtype).T * scales, int4 through aten._weight_int4pack_mm.
"""

import math


def scheme_bytes(scheme):
    """Bytes of a weight; of int4 those of its group's scale and zero."""
    return {"bfloat16": 2, "int8": 1, "int4-g32": 0.5 + 4 / 32}[scheme]


def make_linear(side, scheme):
    """A class of linear layers without bias, whose weights mean nothing."""
    torch = side.torch
    F = torch.nn.functional

    class Linear(torch.nn.Module):
        def __init__(self, rows, columns):
            super().__init__()
            scale = math.sqrt(3 / columns)
            if scheme == "bfloat16":
                self.register_buffer("weight", side.uniform((rows, columns), scale=scale))
            elif scheme == "int8":
                self.register_buffer("weight", side.integers((rows, columns), "int8", -127, 128))
                dtype = torch.float32 if side.is_weft else torch.bfloat16
                self.register_buffer(
                    "scales", torch.full((rows,), scale / 127, dtype=dtype, device=side.device)
                )
            else:
                zeros = side.uniform((columns // 32, rows, 2), scale=scale / 8)
                self.register_buffer("scales", zeros.abs() + scale / 16)
                self.register_buffer("weight", self.packed(rows, columns))

        def packed(self, rows, columns):
            aten = torch.ops.aten
            if side.is_weft:
                return side.integers((rows, columns // 2), "uint8", 0, 256)
            if side.device == "cpu":
                return aten._convert_weight_to_int4pack_for_cpu(
                    side.integers((rows, columns), "int32", 0, 16), 2
                )
            return aten._convert_weight_to_int4pack(
                side.integers((rows, columns // 2), "uint8", 0, 256),
                # Tiles of columns that a warp takes: as many as the columns allow.
                next(tiles for tiles in (8, 4, 2) if columns % (tiles * 16) == 0),
            )

        def forward(self, x):
            if scheme == "bfloat16":
                return F.linear(x, self.weight)
            if side.is_weft:
                return self.of_weft(x)
            if scheme == "int8":
                return F.linear(x, self.weight.to(x.dtype)) * self.scales
            if side.device == "cpu":
                return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.weight, 32, self.scales)
            return torch.ops.aten._weight_int4pack_mm(x, self.weight, 32, self.scales)

        def of_weft(self, x):
            import weft

            return weft.linear_packed(
                x, self.weight, self.scales, group_size=32 if scheme.startswith("int4") else 0
            )

    return Linear


def make_llama(side, shape, scheme, capacity):
    """forward(tokens int64 [t], position int64 [1]) gives the most likely next token [1]; the tokens' keys and values are kept.
    Several tokens begin at position 0."""
    torch = side.torch
    F, Linear = torch.nn.functional, make_linear(side, scheme)
    sizes = [n * shape.head_dim for n in (shape.heads, shape.kv_heads, shape.kv_heads)]

    def norm():
        return torch.nn.RMSNorm(shape.hidden, eps=1e-5, dtype=torch.bfloat16, device=side.device)

    def turn(x, cos, sin):  # [t, heads, head_dim], pairs of the two halves
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.before_attention, self.before_mlp = norm(), norm()
            self.qkv = Linear(sum(sizes), shape.hidden)
            self.output = Linear(shape.hidden, sizes[0])
            self.gate = Linear(shape.intermediate, shape.hidden)
            self.up = Linear(shape.intermediate, shape.hidden)
            self.down = Linear(shape.hidden, shape.intermediate)
            for name in ("keys", "values"):
                self.register_buffer(
                    name,
                    torch.zeros(
                        shape.kv_heads,
                        capacity,
                        shape.head_dim,
                        dtype=torch.bfloat16,
                        device=side.device,
                    ),
                )

        def forward(self, x, position, rope):  # [t, hidden]
            x = x + self.output(self.attend(self.qkv(self.before_attention(x)), position, rope))
            y = self.before_mlp(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

        def attend(self, qkv, position, rope):
            tokens = qkv.shape[0]
            if side.is_weft and tokens == 1:
                import weft

                y = weft.attention_with_kv_cache(
                    qkv.to(torch.float32), self.keys, self.values, position, rope
                )
                return y.to(torch.bfloat16)
            at = position + torch.arange(tokens, device=side.device)
            cos, sin = (rope[at][:, None, :, part].to(torch.bfloat16) for part in (0, 1))
            q, k, v = (part.reshape(tokens, -1, shape.head_dim) for part in qkv.split(sizes, dim=-1))
            q, k, v = turn(q, cos, sin).transpose(0, 1), turn(k, cos, sin).transpose(0, 1), v.transpose(0, 1)
            self.keys[:, at] = k
            self.values[:, at] = v
            if tokens > 1:
                y = F.scaled_dot_product_attention(
                    q[None], k[None], v[None], is_causal=True, enable_gqa=shape.heads > shape.kv_heads
                )
            else:
                y = F.scaled_dot_product_attention(
                    q[None],
                    self.keys[None],
                    self.values[None],
                    attn_mask=(torch.arange(capacity, device=side.device) <= position)[None, None, None],
                    enable_gqa=shape.heads > shape.kv_heads,
                )
            return y[0].transpose(0, 1).reshape(tokens, -1)

    class Llama(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("embedding", side.uniform((shape.vocabulary, shape.hidden)))
            self.layers = torch.nn.ModuleList(Layer() for _ in range(shape.layers))
            self.norm, self.head = norm(), Linear(shape.vocabulary, shape.hidden)
            half = shape.head_dim // 2
            powers = torch.arange(half, device=side.device, dtype=torch.float32) * (-1 / half)
            angles = (
                torch.arange(capacity, device=side.device, dtype=torch.float32)[:, None]
                * shape.rope_base**powers
            )
            self.register_buffer("rope", torch.stack([angles.cos(), angles.sin()], dim=-1))

        def forward(self, tokens, position):
            x = F.embedding(tokens, self.embedding)
            for layer in self.layers:
                x = layer(x, position, self.rope)
            return self.head(self.norm(x[-1:])).argmax(dim=-1)

    return Llama().eval()


def bytes_per_token(shape, scheme, length):
    """Of weights, and of keys and values of `length` positions, that one step reads."""
    return (
        shape.weights_per_token() * scheme_bytes(scheme)
        + 2 * shape.layers * shape.kv_heads * shape.head_dim * 2 * length
    )


def prompt_flops(shape, tokens):
    """Of all layers; scores that a causal prompt does not need are not counted, and the head runs once."""
    head = shape.vocabulary * shape.hidden
    layers = 2 * (shape.weights_per_token() - head) * tokens
    attention = 4 * shape.layers * shape.heads * shape.head_dim * tokens * (tokens + 1) / 2
    return layers + attention + 2 * head
