"""A Llama in Python over weft.nn, compiled: gpt.py FOLDER [--prompt TEXT] [--tokens N] [--quantize SCHEME] [--no-compile]

FOLDER holds config.json, model.safetensors and a tokenizer, as Hugging Face writes them. The decode step is compiled
as one graph with `mode="reduce-overhead"`; the prefill is compiled separately, with a dynamic number of tokens.
`--quantize int8` and `int4-g32` (g64, g128, g256) make the linear layers' weights smaller, which is what decoding reads.
`weft generate` does the same from C++, with speculation; this file shows how it is done.
"""

import argparse
import json
import pathlib
import sys
import time

import weft
from weft import nn


class Config:
    """The sizes of a model, from its config.json."""

    def __init__(self, folder):
        fields = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.vocab_size = fields["vocab_size"]
        self.hidden_size = fields["hidden_size"]
        self.intermediate_size = fields["intermediate_size"]
        self.num_layers = fields["num_hidden_layers"]
        self.num_heads = fields["num_attention_heads"]
        self.num_kv_heads = fields.get("num_key_value_heads", self.num_heads)
        self.head_dim = fields.get("head_dim", self.hidden_size // self.num_heads)
        self.norm_eps = fields.get("rms_norm_eps", 1e-5)
        rope = fields.get("rope_parameters") or fields.get("rope_scaling") or {}  # transformers 5, and 4
        self.rope_theta = rope.get("rope_theta", fields.get("rope_theta", 10000.0))
        self.max_positions = min(fields.get("max_position_embeddings", 2048), 2048)
        self.tied = fields.get("tie_word_embeddings", False)
        self.qkv_bias = fields.get("model_type") == "qwen2"
        # weft.models.Llama has these; an example that left them out would write another text.
        is_plain = rope.get("rope_type", rope.get("type", "default")) == "default"
        if not is_plain or fields.get("model_type", "llama") not in ("llama", "qwen2"):
            raise ValueError("this example is a Llama or a Qwen2 without scaling of positions")
        if fields.get("attention_bias") or fields.get("mlp_bias") or fields.get("use_sliding_window"):
            raise ValueError("this example has neither attention_bias, mlp_bias nor use_sliding_window")


def rope_table(config):
    """cos and sin of every position's angles: [positions, head_dim / 2, 2]."""
    exponents = weft.arange(0, config.head_dim, 2, dtype=weft.float64) / config.head_dim
    frequencies = weft.pow(weft.tensor(config.rope_theta, dtype=weft.float64), -exponents)  # [head_dim / 2]
    positions = weft.arange(config.max_positions, dtype=weft.float64)  # [positions]
    angles = positions.unsqueeze(1) * frequencies
    return weft.stack([weft.cos(angles), weft.sin(angles)], 2).to(weft.float32)


class Attention(nn.Module):
    def __init__(self, config, rope):
        super().__init__()
        query, kv = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        self.qkv_proj = nn.Linear(config.hidden_size, query + 2 * kv, bias=config.qkv_bias)
        self.o_proj = nn.Linear(query, config.hidden_size, bias=False)
        shape = (config.num_kv_heads, config.max_positions, config.head_dim)
        self.register_buffer("rope", rope, persistent=False)
        self.register_buffer("k_cache", weft.zeros(shape), persistent=False)  # allocated once
        self.register_buffer("v_cache", weft.zeros(shape), persistent=False)

    def forward(self, x, position):
        qkv = self.qkv_proj(x)  # [tokens, (heads + 2 kv_heads) head_dim]
        # Rotates queries and keys, writes the cache at the tokens' positions, and attends to all positions up to them.
        attended = weft.attention_with_kv_cache(qkv, self.k_cache, self.v_cache, position, self.rope)
        return self.o_proj(attended)  # [tokens, hidden]


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))  # [tokens, hidden]


class Layer(nn.Module):
    def __init__(self, config, rope):
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.norm_eps)
        self.self_attn = Attention(config, rope)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.norm_eps)
        self.mlp = MLP(config)

    def forward(self, x, position):
        x = x + self.self_attn(self.input_layernorm(x), position)
        return x + self.mlp(self.post_attention_layernorm(x))


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        rope = rope_table(config)
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([Layer(config, rope) for _ in range(config.num_layers)])
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, tokens, position):
        """tokens: int64 [tokens]; position: int64 [], that of the first. Logits of the last token: [vocab]."""
        x = self.embed_tokens(tokens)  # [tokens, hidden]
        for layer in self.layers:
            x = layer(x, position)
        return self.lm_head(self.norm(x[-1]))  # [vocab]


class QuantizedLinear(nn.Module):
    """An nn.Linear whose weights are int8 with a scale per output, or int4 with a scale and zero per group of inputs."""

    def __init__(self, linear, scheme):
        super().__init__()
        self.group_size = 0 if scheme == "int8" else int(scheme.removeprefix("int4-g"))
        weight, scales = (
            weft.quantize_int4(linear.weight, self.group_size)
            if self.group_size
            else weft.quantize_int8(linear.weight)
        )
        self.register_buffer("weight", weight)
        self.register_buffer("scales", scales)
        self.register_buffer("bias", linear.bias)

    def forward(self, x):
        return weft.linear_packed(x, self.weight, self.scales, self.bias, group_size=self.group_size)

    def dequantized(self):
        """What the weights stand for, float32 [out, in]."""
        if self.group_size:
            return weft.dequantize_int4(self.weight, self.scales, self.group_size)
        return weft.dequantize_int8(self.weight, self.scales)


def quantize(module, scheme):
    """Replaces the linear layers inside `module`: 'int8', or 'int4-g32' and its like."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, QuantizedLinear(child, scheme))
        else:
            quantize(child, scheme)
    return module


def load(folder):
    """The model of a Hugging Face folder, weights as float32."""
    config = Config(folder)
    model = Transformer(config).eval()
    found = {
        name.removeprefix("model."): tensor
        for name, tensor in weft.models.load_safetensors(f"{folder}/model.safetensors").items()
    }
    state = {name: tensor.to(weft.float32) for name, tensor in found.items()}
    for i in range(config.num_layers):  # query, key and value in one product
        for kind in ("weight", "bias")[: 2 if config.qkv_bias else 1]:
            parts = [state.pop(f"layers.{i}.self_attn.{part}_proj.{kind}") for part in "qkv"]
            state[f"layers.{i}.self_attn.qkv_proj.{kind}"] = weft.cat(parts)
    if config.tied:
        state["lm_head.weight"] = state["embed_tokens.weight"]
    model.load_state_dict(state, assign=True)
    return model


def prefill(model, tokens, position):
    """The token after a prompt."""
    return weft.argmax(model(tokens, position), keepdim=True)  # [1]


def decode_one_token(model, token, position):
    return weft.argmax(model(token, position), keepdim=True)  # [1]


def generate(model, prompt, count, prefill=prefill, decode_one_token=decode_one_token):
    """Greedy ids after `prompt`, one by one."""
    token = prefill(model, weft.tensor(prompt), weft.tensor(0))
    yield int(token)
    position = weft.tensor(len(prompt))
    for _ in range(min(count, model.config.max_positions - len(prompt)) - 1):
        token = decode_one_token(model, token, position)
        yield int(token)
        position += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--prompt", default="")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument(
        "--quantize", metavar="SCHEME", choices=("int8", *(f"int4-g{size}" for size in (32, 64, 128, 256)))
    )
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    options = parser.parse_args()
    model, tokenizer = load(options.folder), weft.models.Tokenizer.open(options.folder)
    if options.quantize:
        quantize(model, options.quantize)
    functions = {}
    if options.compile:
        functions = {
            "prefill": weft.compile(prefill, fullgraph=True, dynamic=True),
            "decode_one_token": weft.compile(decode_one_token, mode="reduce-overhead", fullgraph=True),
        }
    prompt = tokenizer.encode(options.prompt)
    ids, times = [], [time.perf_counter()]
    for token in generate(model, prompt, options.tokens, **functions):
        times.append(time.perf_counter())
        if token in tokenizer.eos_ids or token == tokenizer.bos_id:
            break
        ids.append(token)
    print(options.prompt + tokenizer.decode(ids))
    steps = sorted(after - before for before, after in zip(times[2:], times[3:]))
    if steps:
        print(
            f"first token {times[1] - times[0]:.3f} s, then {1 / steps[len(steps) // 2]:.0f} tokens/s (median)",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
