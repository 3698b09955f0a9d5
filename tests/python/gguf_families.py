"""Families whose checkpoints differ from Llama's by more than names, as llama.cpp's converter writes them.

source: convert_hf_to_gguf.py of llama.cpp; names of keys and tensors: the package gguf 0.19.
"""

import numpy as np

ARCHITECTURES = {
    "gpt2": "gpt2",
    "falcon": "falcon",
    "gpt_oss": "gpt-oss",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "lfm2": "lfm2",
    "llama4_text": "llama4",
    "bloom": "bloom",
    "mpt": "mpt",
}
USUAL_KEYS = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_positions": "max_position_embeddings",
    "ffn_hidden_size": "intermediate_size",
    "layer_norm_epsilon": "norm_epsilon",
    "norm_eps": "rms_norm_eps",
    "num_kv_heads": "num_key_value_heads",
    "d_model": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "max_seq_len": "max_position_embeddings",
    "seq_length": "max_position_embeddings",
}
WHOLE_NAMES = {
    "transformer.wte": "token_embd",
    "transformer.wpe": "position_embd",
    "transformer.ln_f": "output_norm",
    "transformer.word_embeddings": "token_embd",
    "transformer.word_embeddings_layernorm": "token_embd_norm",
    "transformer.norm_f": "output_norm",
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.embedding_norm": "token_embd_norm",
    "lm_head": "output",
}
LAYER_NAMES = {
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
    "attn.Wqkv": "attn_qkv",
    "attn.out_proj": "attn_output",
    "ffn.up_proj": "ffn_up",
    "ffn.down_proj": "ffn_down",
    "norm_1": "attn_norm",
    "norm_2": "ffn_norm",
    "ln_1": "attn_norm",
    "ln_2": "ffn_norm",
    "self_attention.query_key_value": "attn_qkv",
    "self_attention.dense": "attn_output",
    "mlp.dense_h_to_4h": "ffn_up",
    "mlp.dense_4h_to_h": "ffn_down",
    "ln_attn": "attn_norm_2",
    "ln_mlp": "attn_norm",
    "input_layernorm": "attn_norm",
    "operator_norm": "attn_norm",
    "ffn_norm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.out_proj": "attn_output",
    "self_attn.q_layernorm": "attn_q_norm",
    "self_attn.k_layernorm": "attn_k_norm",
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "mlp.router": "ffn_gate_inp",
    "mlp.gate": "ffn_gate_inp",
    "feed_forward.router": "ffn_gate_inp",
    "conv.conv": "shortconv.conv",
    "conv.in_proj": "shortconv.in_proj",
    "conv.out_proj": "shortconv.out_proj",
    "feed_forward.w1": "ffn_gate",
    "feed_forward.w2": "ffn_down",
    "feed_forward.w3": "ffn_up",
}
for _part in ("gate", "up", "down"):
    for _place in ("mlp", "feed_forward"):
        LAYER_NAMES[f"{_place}.{_part}_proj"] = f"ffn_{_part}"
    LAYER_NAMES[f"mlp.shared_experts.{_part}_proj"] = f"ffn_{_part}_shexp"
    LAYER_NAMES[f"feed_forward.shared_expert.{_part}_proj"] = f"ffn_{_part}_shexp"


def usual(config):
    config = config | {USUAL_KEYS[key]: value for key, value in config.items() if key in USUAL_KEYS}
    config.setdefault("intermediate_size", 4 * config["hidden_size"])
    if config["model_type"] == "falcon" and config["multi_query"] and not config["new_decoder_architecture"]:
        config["num_key_value_heads"] = 1
    return config


def keys_of(config):
    """Beside those that all families have."""
    kind = config["model_type"]
    if kind == "falcon":
        return {"tensor_data_layout": "jploski"}
    if kind == "mpt":
        attention = config["attn_config"]
        return {
            "attention.max_alibi_bias": float(attention["alibi_bias_max"]),
            "attention.clamp_kqv": float(attention["clip_qkv"]),
        }
    if kind == "gpt_oss":
        rope = config["rope_parameters"]
        return {
            "attention.sliding_window": config["sliding_window"],
            "expert_feed_forward_length": config["intermediate_size"],
            "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
        }
    if kind == "lfm2":
        types, size = config.get("layer_types") or [], config["intermediate_size"]
        if config["block_auto_adjust_ff_dim"]:
            size = int(config["block_ffn_dim_multiplier"] * int(2 * size / 3))
            size = -(-size // config["block_multiple_of"]) * config["block_multiple_of"]
        return {
            "feed_forward_length": size,
            "attention.head_count_kv": [
                config["num_key_value_heads"] if t == "full_attention" else 0 for t in types
            ],
            "shortconv.l_cache": config["conv_L_cache"],
        }
    if kind == "llama4_text":
        return {
            "interleave_moe_layer_step": config["interleave_moe_layer_step"],
            "feed_forward_length": config["intermediate_size_mlp"],
            "expert_feed_forward_length": config["intermediate_size"],
        }
    if kind.startswith("deepseek"):
        rank, turning = config["kv_lora_rank"], config["qk_rope_head_dim"]
        keys = {
            "leading_dense_block_count": config["first_k_dense_replace"],
            "attention.kv_lora_rank": rank,
            "attention.head_count_kv": 1,
            "attention.key_length": rank + turning,
            "attention.value_length": rank,
            "attention.key_length_mla": config["qk_nope_head_dim"] + turning,
            "attention.value_length_mla": config["v_head_dim"],
            "rope.dimension_count": turning,
            "expert_count": config["n_routed_experts"],
            "expert_shared_count": config["n_shared_experts"],
            "expert_weights_scale": float(config["routed_scaling_factor"]),
            "expert_weights_norm": bool(config["norm_topk_prob"]),
            "expert_gating_func": 2 if kind == "deepseek_v3" else 1,
        }
        if config.get("q_lora_rank"):
            keys["attention.q_lora_rank"] = config["q_lora_rank"]
        rope = config.get("rope_parameters") or {}
        if rope.get("rope_type") == "yarn":
            keys["rope.scaling.original_context_length"] = rope["original_max_position_embeddings"]
            keys["rope.scaling.yarn_log_multiplier"] = 0.1 * rope["mscale_all_dim"]
        if (config.get("n_group") or 1) > 1:
            keys |= {
                "expert_group_count": config["n_group"],
                "expert_group_used_count": config["topk_group"],
            }
        return keys
    return {}


def reordered(array, config):
    """Queries of all groups of heads, then keys, then values."""
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads", heads)
    dim = config["hidden_size"] // heads
    parts = array.reshape(kv_heads, heads // kv_heads + 2, dim, *array.shape[1:])
    cut = (parts[:, :-2], parts[:, -2], parts[:, -1])
    return np.concatenate([part.reshape(-1, *array.shape[1:]) for part in cut])


def experts_of(rest, array, config):
    """{name: array} of tensors that hold all experts: of gpt-oss, gates and the other halves take turns."""
    is_oss = config["model_type"] == "gpt_oss"
    suffix = "bias" if rest.endswith("_bias") else "weight"
    flat = array if suffix == "bias" else array.swapaxes(-1, -2)  # [experts, out, in]
    if "down_proj" in rest:
        return {f"ffn_down_exps.{suffix}": flat}
    half = flat.shape[1] // 2
    gate, up = (flat[:, ::2], flat[:, 1::2]) if is_oss else (flat[:, :half], flat[:, half:])
    return {f"ffn_gate_exps.{suffix}": gate, f"ffn_up_exps.{suffix}": up}


def converted(config, tensors):
    kind, config = config["model_type"], usual(config)
    result, lists = {}, {}
    for name, array in tensors.items():
        base, _, suffix = name.rpartition(".")
        if base in WHOLE_NAMES:
            if base != "lm_head" or not config.get("tie_word_embeddings"):
                result[f"{WHOLE_NAMES[base]}.{suffix}"] = array
            continue
        parts = name.split(".")
        at = next(i for i, part in enumerate(parts) if part.isdigit())
        if int(parts[at]) >= config["num_hidden_layers"]:
            continue  # of further predictions
        layer, rest = f"blk.{parts[at]}.", ".".join(parts[at + 1 :])
        base = rest.rpartition(".")[0]
        if rest.endswith("sinks"):
            result[layer + "attn_sinks.weight"] = array
        elif rest.endswith("e_score_correction_bias"):
            result[layer + "exp_probs_b.bias"] = array
        elif ".experts." in rest and parts[-2] != "experts":
            role = parts[-2].removesuffix("_proj")
            lists.setdefault(f"{layer}ffn_{role}_exps.weight", {})[int(parts[-3])] = array
        elif ".experts." in rest:
            result |= {layer + own: part for own, part in experts_of(rest, array, config).items()}
        elif base == "self_attn.kv_b_proj":
            heads, plain = config["num_attention_heads"], config["qk_nope_head_dim"]
            both = array.reshape(heads, plain + config["v_head_dim"], config["kv_lora_rank"])
            result[layer + "attn_k_b.weight"] = both[:, :plain].swapaxes(1, 2)
            result[layer + "attn_v_b.weight"] = both[:, plain:]
        else:
            if base == "post_attention_layernorm":
                own = "post_attention_norm" if kind == "gpt_oss" else "ffn_norm"
            else:
                own = LAYER_NAMES[base]
            if kind == "gpt2" and suffix == "weight" and array.ndim == 2:
                array = array.T
            if kind in ("falcon", "bloom") and own == "attn_qkv":
                array = reordered(array, config)
            result[f"{layer}{own}.{suffix}"] = array.squeeze(1) if own == "shortconv.conv" else array
    for name, arrays in lists.items():
        result[name] = np.stack([arrays[i] for i in range(len(arrays))])
    return {name: np.ascontiguousarray(array) for name, array in result.items()}


# ---- what the shared checkpoints do not have ------------------------------------------------------
def random_like(shape, seed):
    return (0.15 * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def with_convolutions(config, tensors):
    """An LFM2 whose even layers are convolutions."""
    types = ["conv", "full_attention"] * (config["num_hidden_layers"] // 2)
    hidden, size = config["hidden_size"], config["conv_L_cache"]
    for i, kind in enumerate(types):
        if kind == "conv":
            tensors = {name: a for name, a in tensors.items() if f"layers.{i}.self_attn." not in name}
            for name, shape in (
                ("conv", (hidden, 1, size)),
                ("in_proj", (3 * hidden, hidden)),
                ("out_proj", (hidden, hidden)),
            ):
                tensors[f"model.layers.{i}.conv.{name}.weight"] = random_like(shape, i + len(name))
    return config | {"layer_types": types, "full_attn_idxs": None}, tensors


def with_long_chunks(config, tensors):
    """A Llama 4 as its files have no keys for another."""
    return config | {"attention_chunk_size": 8192, "floor_scale": 8192, "attn_scale": 0.1}, tensors


def with_groups_of_heads(config, tensors):
    """A Falcon of the newer kind: groups of heads, and a norm before each of both branches."""
    dim = config["hidden_size"] // config["num_attention_heads"]
    result = {}
    for name, array in tensors.items():
        if "input_layernorm" in name:
            result[name.replace("input_layernorm", "ln_attn")] = array
            result[name.replace("input_layernorm", "ln_mlp")] = array + random_like(array.shape, 7)
        elif "query_key_value" in name:
            result[name] = random_like((8 * dim, config["hidden_size"]), 11)
        else:
            result[name] = array
    return config | {"new_decoder_architecture": True, "num_kv_heads": 2}, result


def with_softmax_gates(config, tensors):
    """A DeepSeek V2 whose texts are stretched by YaRN."""
    rope = {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 32,
        "mscale": 0.707,
        "mscale_all_dim": 0.707,
    }
    changes = {
        "model_type": "deepseek_v2",
        "norm_topk_prob": False,
        "topk_method": "group_limited_greedy",
        "scoring_func": "softmax",
        "rope_parameters": rope,
        "num_nextn_predict_layers": 0,
    }
    keep = {
        name: a
        for name, a in tensors.items()
        if "correction" not in name and f"layers.{config['num_hidden_layers']}." not in name
    }
    return {k: v for k, v in config.items() if k != "rope_interleave"} | changes, keep


def random_tensors(shapes):
    return {
        name: random_like(shape, i) + (len(shape) == 1 and name.endswith("weight"))
        for i, (name, shape) in enumerate(sorted(shapes.items()))
    }


def as_bloom(config, tensors):
    """Scores fall with the distance; embeddings are normalized. Six heads are no power of two."""
    hidden, layers = 96, 2
    shapes = {"transformer.word_embeddings.weight": (config["vocab_size"], hidden)}
    for norm in ("word_embeddings_layernorm", "ln_f"):
        shapes |= {f"transformer.{norm}.{part}": (hidden,) for part in ("weight", "bias")}
    for i in range(layers):
        prefix = f"transformer.h.{i}."
        for name, size in (
            ("self_attention.query_key_value", (3 * hidden, hidden)),
            ("self_attention.dense", (hidden, hidden)),
            ("mlp.dense_h_to_4h", (4 * hidden, hidden)),
            ("mlp.dense_4h_to_h", (hidden, 4 * hidden)),
        ):
            shapes |= {f"{prefix}{name}.weight": size, f"{prefix}{name}.bias": size[:1]}
        for norm in ("input_layernorm", "post_attention_layernorm"):
            shapes |= {f"{prefix}{norm}.{part}": (hidden,) for part in ("weight", "bias")}
    changes = {
        "model_type": "bloom",
        "hidden_size": hidden,
        "n_layer": layers,
        "n_head": 6,
        "seq_length": 128,
    }
    keep = {key: config[key] for key in ("vocab_size", "bos_token_id", "eos_token_id")}
    return keep | changes | {"layer_norm_epsilon": 1e-5}, random_tensors(shapes)


def as_mpt(config, tensors):
    hidden, layers = 96, 2
    shapes = {
        "transformer.wte.weight": (config["vocab_size"], hidden),
        "transformer.norm_f.weight": (hidden,),
    }
    for i in range(layers):
        prefix = f"transformer.blocks.{i}."
        shapes |= {
            f"{prefix}attn.Wqkv.weight": (3 * hidden, hidden),
            f"{prefix}attn.out_proj.weight": (hidden, hidden),
            f"{prefix}ffn.up_proj.weight": (4 * hidden, hidden),
            f"{prefix}ffn.down_proj.weight": (hidden, 4 * hidden),
            f"{prefix}norm_1.weight": (hidden,),
            f"{prefix}norm_2.weight": (hidden,),
        }
    changes = {"model_type": "mpt", "d_model": hidden, "n_layers": layers, "n_heads": 6, "max_seq_len": 128}
    attention = {"alibi": True, "alibi_bias_max": 4, "clip_qkv": 0.5}
    keep = {key: config[key] for key in ("vocab_size", "bos_token_id", "eos_token_id")}
    return keep | changes | {"layer_norm_epsilon": 1e-5, "attn_config": attention}, random_tensors(shapes)


VARIANTS = {
    "bloom": ("gpt2", as_bloom),
    "mpt": ("gpt2", as_mpt),
    "convolutions": ("lfm2", with_convolutions),
    "long_chunks": ("llama4_text", with_long_chunks),
    "groups_of_heads": ("falcon", with_groups_of_heads),
    "softmax_gates": ("deepseek_v3", with_softmax_gates),
}
