"""Decode and prefill speed of one peer on random weights, in its own environment; bench/llm_peers.py starts it.

    llm_worker.py PEER SHAPE LAYERS PROMPT GENERATED REPETITIONS THREADS
prints one JSON object per scheme of weights: {"peer", "weights", "bytes_per_weight", "prefill", "decode"}, tokens per
second, each the median of the repetitions after one that does not count.
"""

from __future__ import annotations

import json
import math
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from llm_shapes import SHAPES, Shape


def speeds(prefill, decode, prompt: int, generated: int, repetitions: int) -> dict[str, float]:
    """Tokens per second of two functions: one takes the prompt, the other generates after it."""
    taken = {"prefill": [], "decode": []}
    for _ in range(repetitions + 1):
        for name, function in (("prefill", prefill), ("decode", decode)):
            start = time.perf_counter()
            function()
            taken[name].append(time.perf_counter() - start)
    return {
        "prefill": prompt / statistics.median(taken["prefill"][1:]),
        "decode": generated / statistics.median(taken["decode"][1:]),
    }


# ---- torch: a static cache and torch.compile of one step ----------------------------------------------------
def torch_model(shape: Shape, positions: int, int8: bool):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Int8Linear(nn.Module):
        def __init__(self, columns, rows):
            super().__init__()
            self.register_buffer("weight", torch.randint(-127, 128, (rows, columns), dtype=torch.int8))
            self.register_buffer("scales", torch.full((rows,), 1e-4, dtype=torch.bfloat16))

        def forward(self, x):  # [..., columns] -> [..., rows]
            return F.linear(x, self.weight.to(dtype=x.dtype)) * self.scales

    def linear(columns, rows):
        return (
            Int8Linear(columns, rows) if int8 else nn.Linear(columns, rows, bias=False, dtype=torch.bfloat16)
        )

    def turn(x, cos, sin):  # [t, heads, head_dim], pairs of the two halves
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            m = shape.matrices()
            self.qkv = linear(shape.hidden, m["q"][0] + m["k"][0] + m["v"][0])
            self.o = linear(m["o"][1], m["o"][0])
            self.gate, self.up = linear(shape.hidden, m["gate"][0]), linear(shape.hidden, m["up"][0])
            self.down = linear(m["down"][1], m["down"][0])
            self.before_attention = nn.RMSNorm(shape.hidden, eps=1e-5, dtype=torch.bfloat16)
            self.before_mlp = nn.RMSNorm(shape.hidden, eps=1e-5, dtype=torch.bfloat16)
            cache = torch.zeros(shape.kv_heads, positions, shape.head_dim, dtype=torch.bfloat16)
            self.register_buffer("keys", cache)
            self.register_buffer("values", cache.clone())

        def forward(self, x, cos, sin, mask, at):  # x: [t, hidden]
            t = x.shape[0]
            sizes = [n * shape.head_dim for n in (shape.heads, shape.kv_heads, shape.kv_heads)]
            q, k, v = self.qkv(self.before_attention(x)).split(sizes, dim=-1)
            q = turn(q.view(t, shape.heads, shape.head_dim), cos, sin).transpose(0, 1)
            k = turn(k.view(t, shape.kv_heads, shape.head_dim), cos, sin).transpose(0, 1)
            self.keys[:, at] = k
            self.values[:, at] = v.view(t, shape.kv_heads, shape.head_dim).transpose(0, 1)
            groups = shape.heads // shape.kv_heads
            keys = self.keys.repeat_interleave(groups, dim=0)
            values = self.values.repeat_interleave(groups, dim=0)
            y = F.scaled_dot_product_attention(q[None], keys[None], values[None], attn_mask=mask)[0]
            x = x + self.o(y.transpose(0, 1).reshape(t, -1))
            y = self.before_mlp(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(shape.vocabulary, shape.hidden, dtype=torch.bfloat16)
            self.layers = nn.ModuleList(Layer() for _ in range(shape.layers))
            self.norm = nn.RMSNorm(shape.hidden, eps=1e-5, dtype=torch.bfloat16)
            self.output = linear(shape.hidden, shape.vocabulary)
            half = shape.head_dim // 2
            angles = torch.arange(positions)[:, None] * shape.rope_base ** (-torch.arange(half) / half)
            self.register_buffer("cos", angles.cos().to(torch.bfloat16)[:, None])
            self.register_buffer("sin", angles.sin().to(torch.bfloat16)[:, None])
            self.register_buffer("mask", torch.ones(positions, positions, dtype=torch.bool).tril())

        def forward(self, tokens, at):  # [t], [t] -> [1, vocabulary]
            x = self.embedding(tokens)
            for layer in self.layers:
                x = layer(x, self.cos[at], self.sin[at], self.mask[at], at)
            return self.output(self.norm(x[-1:]))

    return Llama().eval()


def run_torch(shape: Shape, prompt: int, generated: int, repetitions: int, threads: int):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    for weights, size in (("bfloat16", 2), ("int8", 1)):
        with torch.inference_mode():
            model = torch_model(shape, prompt + generated + 1, weights == "int8")

            def one_token(token, at, model=model):
                return model(token, at).argmax(dim=-1)

            compiled = torch.compile(one_token, mode="reduce-overhead", fullgraph=True)
            tokens = torch.randint(0, shape.vocabulary, (prompt,))
            compiled_prefill = torch.compile(one_token, fullgraph=True)

            def prefill(run=compiled_prefill, tokens=tokens):
                return run(tokens, torch.arange(prompt))

            def decode(run=compiled, tokens=tokens):
                token = tokens[-1:]
                for i in range(generated):
                    token = run(token, torch.tensor([prompt + i])).clone()

            yield {
                "weights": weights,
                "bytes_per_weight": size,
                **speeds(prefill, decode, prompt, generated, repetitions),
            }


# ---- CTranslate2 ---------------------------------------------------------------------------------------------
def ctranslate2_folder(shape: Shape, folder: str, quantization: str):
    from ctranslate2.specs import TransformerDecoderModelSpec, common_spec

    rng = np.random.default_rng(0)

    def matrix(rows, columns):
        return rng.standard_normal((rows, columns), dtype=np.float32) / np.float32(math.sqrt(columns))

    spec = TransformerDecoderModelSpec.from_config(
        shape.layers,
        shape.heads,
        activation=common_spec.Activation.SWISH,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=0,
        rotary_interleave=False,
        rotary_base=shape.rope_base,
        num_heads_kv=shape.kv_heads,
    )
    ones = np.ones(shape.hidden, np.float32)
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = matrix(shape.vocabulary, shape.hidden)
    decoder.projection.weight = (
        decoder.embeddings.weight if shape.tied else matrix(shape.vocabulary, shape.hidden)
    )
    decoder.layer_norm.gamma = ones
    sizes = shape.matrices()
    for layer in decoder.layer:
        layer.self_attention.layer_norm.gamma = layer.ffn.layer_norm.gamma = ones
        layer.self_attention.linear[0].weight = np.concatenate([matrix(*sizes[name]) for name in "qkv"])
        layer.self_attention.linear[1].weight = matrix(*sizes["o"])
        layer.ffn.linear_0.weight = matrix(*sizes["gate"])
        layer.ffn.linear_0_noact.weight = matrix(*sizes["up"])
        layer.ffn.linear_1.weight = matrix(*sizes["down"])
    spec.register_vocabulary([f"t{i}" for i in range(shape.vocabulary)])
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "t0", "t1", "t2"
    spec.config.layer_norm_epsilon = 1e-5
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(folder)


def run_ctranslate2(shape: Shape, prompt: int, generated: int, repetitions: int, threads: int):
    import ctranslate2

    # Products of 16-bit numbers need a GPU there, or an instruction set that few CPUs have.
    for weights, size in (("int8", 1), ("float32", 4)):
        with tempfile.TemporaryDirectory() as folder:
            ctranslate2_folder(shape, folder, weights)
            model = ctranslate2.Generator(folder, device="cpu", compute_type=weights, intra_threads=threads)
            tokens = [f"t{3 + i * 7 % (shape.vocabulary - 3)}" for i in range(prompt)]

            def generate(first, count, model=model):
                result = model.generate_batch(
                    [first],
                    max_length=count,
                    min_length=count,
                    include_prompt_in_result=False,
                    sampling_topk=1,
                )
                if len(result[0].sequences_ids[0]) != count:
                    raise SystemExit("ctranslate2 generated another number of tokens than it was asked for")

            yield {
                "weights": weights,
                "bytes_per_weight": size,
                **speeds(
                    lambda generate=generate, tokens=tokens: generate(tokens, 1),
                    lambda generate=generate: generate(["t0"], generated),
                    prompt,
                    generated,
                    repetitions,
                ),
            }


# ---- llama.cpp -----------------------------------------------------------------------------------------------
# ggml's types: number, bytes of a block of 32 weights, and how a block is made. BF16 has no blocks.
GGML_F32 = 0
GGML_TYPES = {"bfloat16": (30, 64), "q8_0": (8, 34), "q4_0": (2, 18)}


def random_blocks(rng, count: int, weights: str) -> np.ndarray:
    """`count` blocks of 32 weights: a scale of 16 bits and the quantized numbers, or 32 BF16 numbers."""
    size = GGML_TYPES[weights][1]
    if weights == "bfloat16":
        numbers = rng.standard_normal((count, 32), dtype=np.float32) / 32
        return (numbers.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    blocks[:, :2] = np.array([2e-4 if weights == "q8_0" else 4e-3], np.float16).view(np.uint8)
    return blocks


def gguf_value(value) -> bytes:
    """A metadata value with its type: uint32, float32, string, or an array of int32, float32 or strings."""
    if isinstance(value, np.ndarray):
        return struct.pack("<IIQ", 9, {"i": 5, "f": 6}[value.dtype.kind], value.size) + value.tobytes()
    if isinstance(value, list):
        texts = b"".join(struct.pack("<Q", len(text)) + text.encode() for text in value)
        return struct.pack("<IIQ", 9, 8, len(value)) + texts
    if isinstance(value, str):
        return struct.pack("<IQ", 8, len(value)) + value.encode()
    return struct.pack("<II", 4, value) if isinstance(value, int) else struct.pack("<If", 6, value)


def gguf_vocabulary(size: int) -> dict:
    """A SentencePiece vocabulary: an unknown token, two control tokens, all bytes, and words."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, 3, 3, *[6] * 256]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens + [f"t{i}" for i in range(len(tokens), size)],
        "tokenizer.ggml.scores": -np.arange(size, dtype=np.float32),
        "tokenizer.ggml.token_type": np.array(kinds + [1] * (size - len(kinds)), np.int32),
    }


def write_gguf(path: Path, shape: Shape, weights: str, positions: int):
    """A model file of random weights, after the GGUF specification, version 3."""
    metadata = {
        "general.architecture": "llama",
        "llama.context_length": positions,
        "llama.embedding_length": shape.hidden,
        "llama.block_count": shape.layers,
        "llama.feed_forward_length": shape.intermediate,
        "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.kv_heads,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": shape.head_dim,
        "llama.rope.freq_base": shape.rope_base,
        "llama.vocab_size": shape.vocabulary,
        **gguf_vocabulary(shape.vocabulary),
    }
    names = {
        "q": "attn_q",
        "k": "attn_k",
        "v": "attn_v",
        "o": "attn_output",
        "gate": "ffn_gate",
        "up": "ffn_up",
        "down": "ffn_down",
    }
    tensors = [
        ("token_embd.weight", (shape.vocabulary, shape.hidden)),
        ("output_norm.weight", (shape.hidden,)),
    ]
    if not shape.tied:
        tensors.append(("output.weight", (shape.vocabulary, shape.hidden)))
    for i in range(shape.layers):
        tensors += [(f"blk.{i}.{norm}.weight", (shape.hidden,)) for norm in ("attn_norm", "ffn_norm")]
        tensors += [(f"blk.{i}.{names[name]}.weight", size) for name, size in shape.matrices().items()]

    number, block_bytes = GGML_TYPES[weights]
    alignment, offset = 32, 0
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        header += struct.pack("<Q", len(key)) + key.encode() + gguf_value(value)
    lengths = []
    for name, size in tensors:
        is_norm = len(size) == 1
        header += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", len(size))
        header += struct.pack(f"<{len(size)}Q", *reversed(size))
        header += struct.pack("<IQ", GGML_F32 if is_norm else number, offset)
        lengths.append(4 * size[0] if is_norm else size[0] * size[1] // 32 * block_bytes)
        offset += -(-lengths[-1] // alignment) * alignment
    rng = np.random.default_rng(0)
    with open(path, "wb") as file:
        file.write(header + bytes(-len(header) % alignment))
        for (_, size), length in zip(tensors, lengths):
            if len(size) == 1:
                file.write(np.ones(size, np.float32).tobytes())
            else:
                rows = max(1, 2**22 // size[1])
                for first in range(0, size[0], rows):
                    file.write(
                        random_blocks(rng, min(rows, size[0] - first) * size[1] // 32, weights).tobytes()
                    )
            file.write(bytes(-length % alignment))


def run_llama_cpp(shape: Shape, prompt: int, generated: int, repetitions: int, threads: int):
    import xllamacpp

    for weights, (_, block_bytes) in GGML_TYPES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "random.gguf"
            positions = prompt + generated + 8
            write_gguf(path, shape, weights, positions)
            parameters = xllamacpp.CommonParams()
            parameters.model.path = str(path)
            parameters.n_ctx = positions
            parameters.n_batch = parameters.n_ubatch = max(prompt, 32)
            parameters.n_parallel = 1
            for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
                cpu.n_threads = threads
            server = xllamacpp.Server(parameters)

            def generate(tokens, count, server=server):
                request = {
                    "prompt": tokens,
                    "n_predict": count,
                    "ignore_eos": True,
                    "temperature": 0.0,
                    "cache_prompt": False,
                }
                answer = server.handle_completions(request)
                timings = answer["timings"]
                if timings["predicted_n"] != count or timings["prompt_n"] != len(tokens):
                    raise SystemExit("llama.cpp computed another number of tokens than it was asked for")

            tokens = [300 + i * 7 % (shape.vocabulary - 300) for i in range(prompt)]
            yield {
                "weights": weights,
                "bytes_per_weight": block_bytes / 32,
                **speeds(
                    lambda generate=generate, tokens=tokens: generate(tokens, 1),
                    lambda generate=generate, tokens=tokens: generate(tokens[:1], generated),
                    prompt,
                    generated,
                    repetitions,
                ),
            }
            del generate, server


PEERS = {"torch": run_torch, "ctranslate2": run_ctranslate2, "llama_cpp": run_llama_cpp}


def main():
    peer, shape, layers, *numbers = sys.argv[1:]
    for result in PEERS[peer](SHAPES[shape].with_layers(int(layers)), *map(int, numbers)):
        print(json.dumps({"peer": peer, **result}), flush=True)


if __name__ == "__main__":
    main()
