"""GGUF files, written and read in NumPy: what weft's are compared with, and the models of other formats as llama.cpp's
converter writes them. source: docs/gguf.md of ggml, convert_hf_to_gguf.py of llama.cpp."""

import json
import struct

import gguf_families
import numpy as np
from causal_lm_reference import load

TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "BF16": 30}
ALIGNMENT = 32


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value(item):
    if isinstance(item, bool):
        return struct.pack("<I?", 7, item)
    if isinstance(item, int):
        return struct.pack("<IQ", 10, item) if item > 0xFFFFFFFF else struct.pack("<II", 4, item)
    if isinstance(item, float):
        return struct.pack("<If", 6, item)
    if isinstance(item, str | bytes):
        return struct.pack("<I", 8) + text(item)
    parts = [value(entry) for entry in item]
    return (
        struct.pack("<I", 9) + parts[0][:4] + struct.pack("<Q", len(parts)) + b"".join(p[4:] for p in parts)
    )


def blocks(array, kind):
    """Bytes of an array's rows in Q8_0 or Q4_0, with the values that they stand for.

    source: quantize_row_q8_0_ref and quantize_row_q4_0_ref of llama.cpp."""
    groups = array.reshape(-1, 32).astype(np.float32)
    most = np.take_along_axis(groups, np.abs(groups).argmax(1)[:, None], 1)[:, 0]
    exact = np.abs(most) / np.float32(127) if kind == "Q8_0" else most / np.float32(-8)
    inverse = np.where(exact != 0, np.float32(1) / np.where(exact != 0, exact, np.float32(1)), np.float32(0))
    scale, x = exact.astype(np.float16), groups * inverse[:, None]
    if kind == "Q8_0":
        q = np.trunc(x + np.copysign(np.float32(0.5), x)).astype(np.int8)
        data = np.concatenate([scale.view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1)
    else:
        q = np.minimum(15, (x + np.float32(8.5)).astype(np.int8)).astype(np.uint8)
        data = np.concatenate([scale.view(np.uint8).reshape(-1, 2), q[:, :16] | q[:, 16:] << 4], 1)
        q = q.astype(np.int32) - 8
    return data.tobytes(), (q * scale.astype(np.float32)[:, None]).astype(np.float32).reshape(array.shape)


def file_bytes(metadata, tensors, version=3):
    """tensors: {name: (array, type)}."""
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata))
    head += b"".join(text(key) + value(item) for key, item in metadata.items())
    data = b""
    for name, (array, kind) in tensors.items():
        shape = array.shape[::-1]
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, TYPES[kind], len(data))
        if kind == "F32":
            data += array.astype(np.float32).tobytes()
        elif kind == "F16":
            data += array.astype(np.float16).tobytes()
        else:
            data += blocks(array, kind)[0]
        data += bytes(-len(data) % ALIGNMENT)
    return head + bytes(-len(head) % ALIGNMENT) + data


def read(path):
    """(metadata, {name: (type, shape, bytes)}) of a file."""
    data = path.read_bytes()
    at = 8
    kinds = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def take(form):
        nonlocal at
        result = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return result if len(result) > 1 else result[0]

    def string():
        nonlocal at
        length = take("Q")
        at += length
        return data[at - length : at].decode()

    def item(kind):
        if kind == 8:
            return string()
        if kind == 9:
            of, count = take("IQ")
            return [item(of) for _ in range(count)]
        return take(kinds[kind])

    count, values = take("QQ")
    metadata = {}
    for _ in range(values):
        key = string()
        metadata[key] = item(take("I"))
    entries = []
    for _ in range(count):
        name = string()
        shape = [take("Q") for _ in range(take("I"))]
        entries.append((name, shape[::-1], *take("IQ")))
    start = -(-at // ALIGNMENT) * ALIGNMENT
    ends = [*(entry[3] for entry in entries[1:]), len(data) - start]
    return metadata, {
        name: (kind, shape, data[start + offset : start + end])
        for (name, shape, kind, offset), end in zip(entries, ends, strict=True)
    }


ARCHITECTURES = {
    "llama": "llama",
    "mixtral": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "phi": "phi2",
    "phi3": "phi3",
    "stablelm": "stablelm",
    "starcoder2": "starcoder2",
    "cohere": "command-r",
    "gpt_neox": "gptneox",
    "olmo2": "olmo2",
    "olmoe": "olmoe",
    "granite": "granite",
    "glm4": "glm4",
    "nemotron": "nemotron",
    "ernie4_5": "ernie4_5",
} | gguf_families.ARCHITECTURES
PERMUTED = ("llama", "granite", "smollm3")
NORM_OFFSET = ("gemma", "gemma2", "gemma3", "nemotron")

# A layer's names, in which the first that fits counts.
LAYER_NAMES = [
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.qkv_proj", "attn_qkv"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.dense", "attn_output"),
    ("attention.dense", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("mlp.gate_up_proj", "ffn_up"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("mlp.fc1", "ffn_up"),
    ("mlp.fc2", "ffn_down"),
    ("mlp.dense_h_to_4h", "ffn_up"),
    ("mlp.dense_4h_to_h", "ffn_down"),
    ("block_sparse_moe.gate", "ffn_gate_inp"),
    ("mlp.gate", "ffn_gate_inp"),
    ("input_layernorm", "attn_norm"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
    ("post_mlp_layernorm", "post_ffw_norm"),
    ("post_self_attn_layernorm", "post_attention_norm"),
]
WHOLE_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.final_layernorm": "output_norm",
    "lm_head": "output",
    "gpt_neox.embed_in": "token_embd",
    "gpt_neox.final_layer_norm": "output_norm",
    "embed_out": "output",
}


def rope_of(config):
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def tokenizer_metadata(folder, config):
    description = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = dict(description["model"]["vocab"])
    kinds = dict.fromkeys(vocabulary, 1)
    for token in description["added_tokens"]:
        vocabulary[token["content"]] = token["id"]
        kinds[token["content"]] = 3 if token["special"] else 4
    tokens = sorted(vocabulary, key=vocabulary.get)
    merges = [m if isinstance(m, str) else " ".join(m) for m in description["model"]["merges"]]
    ends = config.get("eos_token_id")
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [kinds[token] for token in tokens],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.add_bos_token": False,
    }
    if config.get("bos_token_id") is not None:
        metadata["tokenizer.ggml.bos_token_id"] = config["bos_token_id"]
    if ends is not None:
        metadata["tokenizer.ggml.eos_token_id"] = ends[0] if isinstance(ends, list) else ends
    return metadata


def model_metadata(config, tensors):
    architecture = ARCHITECTURES[config["model_type"]]
    if config["model_type"] in gguf_families.ARCHITECTURES:
        config = gguf_families.usual(config)
    rope = rope_of(config)
    rope = rope.get("full_attention", rope)
    heads = config["num_attention_heads"]
    dim = config.get("head_dim") or config["hidden_size"] // heads
    share = (
        rope.get("partial_rotary_factor")
        or config.get("partial_rotary_factor")
        or config.get("rotary_pct")
        or 1
    )
    eps = next(
        config[key] for key in ("rms_norm_eps", "layer_norm_eps", "norm_eps", "norm_epsilon") if key in config
    )
    is_rms = "rms_norm_eps" in config
    keys = {
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": heads,
        "attention.head_count_kv": config.get("num_key_value_heads") or heads,
        "attention.key_length": dim,
        "attention.value_length": dim,
        "rope.dimension_count": int(dim * share),
        "rope.freq_base": float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0),
        f"attention.layer_norm_{'rms_' if is_rms else ''}epsilon": float(eps),
    }
    if config["model_type"] in ("gemma2", "gemma3_text", "phi3") and config.get("sliding_window"):
        keys["attention.sliding_window"] = config["sliding_window"]
    for key, own in (
        ("num_experts_per_tok", "expert_used_count"),
        ("moe_intermediate_size", "expert_feed_forward_length"),
        ("attn_logit_softcapping", "attn_logit_softcapping"),
        ("final_logit_softcapping", "final_logit_softcapping"),
        ("logit_scale", "logit_scale"),
        ("logits_scaling", "logit_scale"),
        ("embedding_multiplier", "embedding_scale"),
        ("residual_multiplier", "residual_scale"),
        ("attention_multiplier", "attention.scale"),
    ):
        if config.get(key) is not None:
            keys[own] = config[key]
    for key in (
        "logit_scale",
        "attn_logit_softcapping",
        "final_logit_softcapping",
        "embedding_scale",
        "residual_scale",
    ):
        if key in keys:
            keys[key] = float(keys[key])
    count = config.get("num_local_experts") or config.get("num_experts")
    if count:
        keys["expert_count"] = count
    if config["model_type"] in ("gpt_neox", "stablelm"):
        keys["use_parallel_residual"] = bool(
            config.get("use_parallel_residual", config["model_type"] == "gpt_neox")
        )
    if config["model_type"] in gguf_families.ARCHITECTURES:
        keys |= gguf_families.keys_of(config)
    if rope.get("rope_type") in ("linear", "yarn"):
        keys["rope.scaling.type"] = rope["rope_type"]
        keys["rope.scaling.factor"] = float(rope["factor"])
    return {"general.architecture": architecture} | {
        f"{architecture}.{key}": item for key, item in keys.items()
    }


def permuted(array, heads):
    """Rows of heads, so that pairs of elements that turn lie side by side."""
    return array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def converted_tensors(config, tensors):
    kind = config["model_type"]
    if kind in gguf_families.ARCHITECTURES:
        return gguf_families.converted(config, tensors)
    architecture = ARCHITECTURES[kind]
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    dim = config.get("head_dim") or config["hidden_size"] // heads
    result, experts = {}, {}
    for name, array in tensors.items():
        base, _, suffix = name.rpartition(".")
        if base in WHOLE_NAMES:
            own = WHOLE_NAMES[base]
        else:
            parts = base.split(".")
            at = next(i for i, part in enumerate(parts) if part.isdigit())
            layer, rest = parts[at], ".".join(parts[at + 1 :])
            if ".experts." in base:
                number = int(parts[parts.index("experts") + 1])
                role = {"w1": "gate", "w2": "down", "w3": "up"}.get(
                    parts[-1], parts[-1].removesuffix("_proj")
                )
                experts.setdefault(f"blk.{layer}.ffn_{role}_exps.{suffix}", {})[number] = array
                continue
            if rest == "post_attention_layernorm":
                own = "post_attention_norm" if kind in ("gemma2", "gemma3_text", "olmo2") else "ffn_norm"
                own = "ffn_norm" if kind == "glm4" else own
            elif rest == "attention.query_key_value":
                parts = array.reshape(heads, 3, dim, *array.shape[1:])
                array = np.concatenate([parts[:, i].reshape(heads * dim, *array.shape[1:]) for i in range(3)])
                own = "attn_qkv"
            else:
                own = next(new for old, new in LAYER_NAMES if rest == old)
            own = f"blk.{layer}.{own}"
        if kind == "gemma2" and own.endswith("attn_q"):  # the format has no key for this scale
            array = array * np.float32((dim / config["query_pre_attn_scalar"]) ** 0.5)
        if architecture in PERMUTED and own.endswith(("attn_q", "attn_k")):
            array = permuted(array, heads if own.endswith("attn_q") else kv_heads)
        if architecture in NORM_OFFSET and own.endswith("norm") and suffix == "weight":
            array = array + np.float32(1)
        result[f"{own}.{suffix}"] = array
    for name, arrays in experts.items():
        result[name] = np.stack([arrays[i] for i in range(len(arrays))])
    return result


def convert(folder, path, kind="F32"):
    """Writes a checkpoint of transformers' as llama.cpp's converter does; matrices in `kind`."""
    config = json.loads((folder / "config.json").read_text())
    tensors = converted_tensors(config, load(folder / "model.safetensors"))
    metadata = model_metadata(config, tensors) | tokenizer_metadata(folder, config)
    rope = rope_of(config)
    if rope.get("rope_type") == "llama3":
        from causal_lm_reference import frequencies

        dim = metadata["llama.rope.dimension_count"]
        plain = frequencies(rope | {"rope_type": "default"}, dim)
        tensors["rope_freqs.weight"] = (plain / frequencies(rope, dim)).astype(np.float32)

    def type_of(name, array):
        is_matrix = array.ndim > 1 and array.shape[-1] % 32 == 0 and "ffn_gate_inp" not in name
        return kind if is_matrix and "norm" not in name else "F32"

    path.write_bytes(
        file_bytes(metadata, {name: (a, type_of(name, a)) for name, a in sorted(tensors.items())})
    )
