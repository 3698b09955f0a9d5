"""A Llama, Mistral or Qwen2 in NumPy, from a folder as transformers 5 writes it: what weft's are compared with."""

import json
import pathlib
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16}


def load(path):
    """{name: array} of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def frequencies(rope, head_dim):
    """Of a dictionary that says rope_type, rope_theta and what belongs to the type."""
    inverse = rope["rope_theta"] ** -(np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    if rope["rope_type"] == "linear":
        return inverse / rope["factor"]
    if rope["rope_type"] == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        wavelength = 2 * np.pi / inverse
        smooth = (rope["original_max_position_embeddings"] / wavelength - low) / (high - low)
        smooth = np.clip(smooth, 0, 1)
        return (1 - smooth) * inverse / rope["factor"] + smooth * inverse
    assert rope["rope_type"] == "default"
    return inverse


class Reference:
    def __init__(self, config, tensors, windows, rope):
        """windows: of each layer, the tokens that a position sees, or None; rope: as frequencies() takes it."""
        self.config, self.windows = config, windows
        self.tensors = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
        self.head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        self.frequencies = frequencies(rope, self.head_dim).astype(np.float32)

    def linear(self, name, x):
        bias = self.tensors.get(name + ".bias")
        y = x @ self.tensors[name + ".weight"].T
        return y if bias is None else y + bias

    def norm(self, name, x):
        scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + self.config["rms_norm_eps"])
        return x * scale * self.tensors[name + ".weight"]

    def rotate(self, x):  # [heads, tokens, head_dim]
        angles = np.arange(x.shape[1], dtype=np.float32)[:, None] * self.frequencies
        cosine, sine = np.cos(np.tile(angles, 2)), np.sin(np.tile(angles, 2))
        a, b = np.split(x, 2, axis=-1)
        return x * cosine + np.concatenate([-b, a], axis=-1) * sine

    def attention(self, layer, x):
        heads, kv_heads = self.config["num_attention_heads"], self.config["num_key_value_heads"]
        prefix, tokens = f"model.layers.{layer}.self_attn.", len(x)

        def split(name, count):
            return self.linear(prefix + name, x).reshape(tokens, count, self.head_dim).transpose(1, 0, 2)

        query, key = self.rotate(split("q_proj", heads)), self.rotate(split("k_proj", kv_heads))
        key, value = (np.repeat(t, heads // kv_heads, axis=0) for t in (key, split("v_proj", kv_heads)))
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(self.head_dim))
        distance = np.arange(tokens)[:, None] - np.arange(tokens)
        hidden = (distance < 0) | (distance >= (self.windows[layer] or tokens))
        scores = np.where(hidden, -np.inf, scores)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ value
        return self.linear(prefix + "o_proj", mixed.transpose(1, 0, 2).reshape(tokens, -1))

    def mlp(self, layer, x):
        prefix = f"model.layers.{layer}.mlp."
        gate = self.linear(prefix + "gate_proj", x)
        return self.linear(
            prefix + "down_proj", gate / (1 + np.exp(-gate)) * self.linear(prefix + "up_proj", x)
        )

    def logits(self, ids):
        embedding = self.tensors["model.embed_tokens.weight"]
        x = embedding[np.asarray(ids)]
        for layer in range(self.config["num_hidden_layers"]):
            prefix = f"model.layers.{layer}."
            x = x + self.attention(layer, self.norm(prefix + "input_layernorm", x))
            x = x + self.mlp(layer, self.norm(prefix + "post_attention_layernorm", x))
        return self.norm("model.norm", x) @ self.tensors.get("lm_head.weight", embedding).T

    def greedy(self, ids, count):
        """The tokens, and the least margin between the first and the second of one place."""
        ids, margin = list(ids), np.inf
        for _ in range(count):
            logits = self.logits(ids)[-1]
            second, first = np.sort(logits)[-2:]
            margin = min(margin, first - second)
            ids.append(int(logits.argmax()))
        return ids[-count:], margin
