"""BLOOM, MPT, Falcon with alibi, HunYuan and Phi 3.5 MoE beside models in NumPy, written after transformers' classes."""

import math

import numpy as np
import pytest
import weft.models
from test_family_checkpoints import FAMILIES, write_checkpoint

erf = np.vectorize(math.erf)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def bfloat16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


class Model:
    def __init__(self, config, tensors):
        self.config, self.tensors = config, tensors

    def linear(self, name, x):
        return x @ self.tensors[name + ".weight"].T + self.tensors.get(name + ".bias", 0)

    def layer_norm(self, name, x, eps=1e-5):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        return x * self.tensors[name + ".weight"] + self.tensors.get(name + ".bias", 0)

    def rms_norm(self, name, x, eps=1e-5):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * self.tensors[name + ".weight"]


def heads_of(x, heads):
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)  # [heads, tokens, dim]


def attend(q, k, v, scale, bias=0.0):
    """[heads, tokens, dim]; keys and values of groups of heads are repeated. [tokens, hidden]"""
    k, v = (np.repeat(x, len(q) // len(x), 0) for x in (k, v))
    scores = q @ k.swapaxes(1, 2) * scale + bias
    tokens = scores.shape[-1]
    scores = np.where(np.tril(np.ones((tokens, tokens), bool)), scores, -np.inf)
    return (softmax(scores) @ v).swapaxes(0, 1).reshape(tokens, -1)


# ---- slopes: as BLOOM and Falcon make them, and as MPT does -------------------------------------------------
def slopes_of_two_bases(heads):
    power = 2 ** math.floor(math.log2(heads))
    slopes = [(2 ** -(2 ** -(math.log2(power) - 3))) ** i for i in range(1, power + 1)]
    extra = 2 ** -(2 ** -(math.log2(2 * power) - 3))
    slopes += [extra**i for i in range(1, 2 * min(power, heads - power) + 1, 2)]
    return np.array(slopes)


def slopes_in_turns(heads, most):
    power = 2 ** math.ceil(math.log2(heads))
    slopes = 1 / 2 ** (np.arange(1, power + 1) * (most / power))
    return slopes if power == heads else np.concatenate([slopes[1::2], slopes[::2]])[:heads]


def test_both_are_the_same():
    for heads in (1, 2, 4, 6, 8, 12, 20, 71, 112):
        np.testing.assert_allclose(slopes_of_two_bases(heads), slopes_in_turns(heads, 8), rtol=1e-12)


def bloom(model, ids):
    config, heads = model.config, model.config["n_head"]
    x = model.tensors["transformer.word_embeddings.weight"][ids]
    x = model.layer_norm("transformer.word_embeddings_layernorm", x)
    bias = slopes_of_two_bases(heads)[:, None, None] * np.arange(len(ids))
    for i in range(config["n_layer"]):
        layer = f"transformer.h.{i}."
        normed = model.layer_norm(layer + "input_layernorm", x)
        qkv = model.linear(layer + "self_attention.query_key_value", normed).reshape(len(ids), heads, 3, -1)
        q, k, v = (qkv[:, :, part].swapaxes(0, 1) for part in range(3))
        x = x + model.linear(layer + "self_attention.dense", attend(q, k, v, q.shape[-1] ** -0.5, bias))
        normed = model.layer_norm(layer + "post_attention_layernorm", x)
        between = gelu_tanh(model.linear(layer + "mlp.dense_h_to_4h", normed))
        x = x + model.linear(layer + "mlp.dense_4h_to_h", between)
    return model.layer_norm("transformer.ln_f", x) @ model.tensors["transformer.word_embeddings.weight"].T


def mpt(model, ids):
    config, heads = model.config, model.config["n_heads"]
    attention = config["attn_config"]
    slopes = slopes_in_turns(heads, attention["alibi_bias_max"])
    bias = slopes[:, None, None] * np.arange(1 - len(ids), 1)
    scale = attention["softmax_scale"] or (config["d_model"] / heads) ** -0.5
    most = attention["clip_qkv"] or np.inf
    x = model.tensors["transformer.wte.weight"][ids]
    for i in range(config["n_layers"]):
        layer = f"transformer.blocks.{i}."
        qkv = model.linear(layer + "attn.Wqkv", model.layer_norm(layer + "norm_1", x)).clip(-most, most)
        q, k, v = (heads_of(part, heads) for part in np.split(qkv, 3, -1))
        x = x + model.linear(layer + "attn.out_proj", attend(q, k, v, scale, bias))
        between = gelu(model.linear(layer + "ffn.up_proj", model.layer_norm(layer + "norm_2", x)))
        x = x + model.linear(layer + "ffn.down_proj", between)
    return model.layer_norm("transformer.norm_f", x) @ model.tensors["transformer.wte.weight"].T


def falcon(model, ids):
    """Slopes, positions and their products are bfloat16, and scaled as scores are."""
    config, heads = model.config, model.config["num_attention_heads"]
    is_new = config["new_decoder_architecture"]
    keys = config["num_kv_heads"] if is_new else 1 if config["multi_query"] else heads
    dim = config["hidden_size"] // heads
    positions = bfloat16(np.arange(len(ids), dtype=np.float32))
    bias = bfloat16(bfloat16(slopes_of_two_bases(heads))[:, None, None] * positions) / math.sqrt(dim)
    is_parallel = is_new or config["parallel_attn"]
    x = model.tensors["transformer.word_embeddings.weight"][ids]
    for i in range(config["num_hidden_layers"]):
        layer = f"transformer.h.{i}."
        normed = model.layer_norm(layer + ("ln_attn" if is_new else "input_layernorm"), x)
        qkv = model.linear(layer + "self_attention.query_key_value", normed)
        qkv = qkv.reshape(len(ids), keys, heads // keys + 2, dim)
        q = qkv[:, :, :-2].reshape(len(ids), heads, dim).swapaxes(0, 1)
        k, v = (qkv[:, :, part].swapaxes(0, 1) for part in (-2, -1))
        attended = model.linear(layer + "self_attention.dense", attend(q, k, v, dim**-0.5, bias))
        if is_new:
            normed = model.layer_norm(layer + "ln_mlp", x)
        elif not is_parallel:
            normed = model.layer_norm(layer + "post_attention_layernorm", x + attended)
        between = gelu(model.linear(layer + "mlp.dense_h_to_4h", normed))
        x = x + attended + model.linear(layer + "mlp.dense_4h_to_h", between)
    return model.layer_norm("transformer.ln_f", x) @ model.tensors["transformer.word_embeddings.weight"].T


# ---- heads that turn -----------------------------------------------------------------------------------------
def turned(x, frequencies, factor=1.0):
    """[heads, tokens, dim]"""
    angles = np.arange(x.shape[1])[:, None] * np.concatenate([frequencies, frequencies])
    a, b = np.split(x, 2, -1)
    return (x * np.cos(angles) + np.concatenate([-b, a], -1) * np.sin(angles)) * factor


def llama_attention(model, layer, normed, turn):
    config = model.config
    q = heads_of(model.linear(layer + "self_attn.q_proj", normed), config["num_attention_heads"])
    k, v = (
        heads_of(model.linear(f"{layer}self_attn.{name}_proj", normed), config["num_key_value_heads"])
        for name in "kv"
    )
    q, k = turn(q, "query"), turn(k, "key")
    return model.linear(layer + "self_attn.o_proj", attend(q, k, v, q.shape[-1] ** -0.5))


def hunyuan(model, ids):
    """Heads are normalized once they have turned; dynamic frequencies with alpha have another base."""
    config = model.config
    dim = config["head_dim"]
    base = config["rope_theta"] * config["rope_scaling"]["alpha"] ** (dim / (dim - 2))
    frequencies = 1 / base ** (np.arange(0, dim, 2) / dim)
    x = model.tensors["model.embed_tokens.weight"][ids]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."

        def turn(heads, name, layer=layer):
            return model.rms_norm(f"{layer}self_attn.{name}_layernorm", turned(heads, frequencies))

        x = x + llama_attention(model, layer, model.rms_norm(layer + "input_layernorm", x), turn)
        normed = model.rms_norm(layer + "post_attention_layernorm", x)
        between = silu(model.linear(layer + "mlp.gate_proj", normed))
        between = between * model.linear(layer + "mlp.up_proj", normed)
        x = x + model.linear(layer + "mlp.down_proj", between)
    return model.linear("lm_head", model.rms_norm("model.norm", x))


def sparse_mixer(scores, jitter):
    """[(expert, weight)] of one token: each by a softmax over the scores that are near the best that is left."""
    chosen, left = [], scores.copy()
    for _ in range(2):
        best = int(left.argmax())
        far = (left[best] - scores) / np.maximum(np.abs(scores), left[best]) > 2 * jitter
        chosen.append((best, softmax(np.where(far, -np.inf, left))[best]))
        left[best] = -np.inf
    return chosen


def phimoe(model, ids):
    config = model.config
    rope = config["rope_scaling"]
    is_long = len(ids) > config["original_max_position_embeddings"]
    factors = np.array(rope["long_factor" if is_long else "short_factor"])
    frequencies = 1 / (config["rope_theta"] ** (np.arange(0, 16, 2) / 16) * factors)
    factor = rope["long_mscale" if is_long else "short_mscale"]
    x = model.tensors["model.embed_tokens.weight"][ids]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        normed = model.layer_norm(layer + "input_layernorm", x)
        x = x + llama_attention(model, layer, normed, lambda heads, _: turned(heads, frequencies, factor))
        normed = model.layer_norm(layer + "post_attention_layernorm", x)
        scores = model.linear(layer + "block_sparse_moe.gate", normed)
        added = np.zeros_like(x)
        for row in range(len(ids)):
            for expert, weight in sparse_mixer(scores[row], config["router_jitter_noise"]):
                name = f"{layer}block_sparse_moe.experts.{expert}."
                between = silu(model.linear(name + "w1", normed[row])) * model.linear(
                    name + "w3", normed[row]
                )
                added[row] += weight * model.linear(name + "w2", between)
        x = x + added
    return model.linear("lm_head", model.layer_norm("model.norm", x))


REFERENCES = {"bloom": bloom, "mpt": mpt, "falcon": falcon, "hunyuan_v1_dense": hunyuan, "phimoe": phimoe}
NAMES = [name for name in FAMILIES if FAMILIES[name][0]["model_type"] in REFERENCES]
# Past 256 positions, which bfloat16 does not tell apart any more; past the edge of LongRope.
LENGTHS = {"bloom": 300, "mpt": 250, "falcon": 300, "hunyuan_v1_dense": 60, "phimoe": 60}


def loaded(folder):
    file = weft.models.load_safetensors(str(folder / "model.safetensors"))
    return {name: tensor.numpy().astype(np.float64) for name, tensor in file.items()}


def check(name, folder, changes, length):
    config, shapes = FAMILIES[name]
    config = config | changes
    write_checkpoint(folder, config, shapes)
    ids = [(7 + 29 * i) % 300 for i in range(length)]
    expected = REFERENCES[config["model_type"]](Model(config, loaded(folder)), ids)
    for execution in ("eager", "static", "compiled"):
        model = weft.models.CausalModel.from_pretrained(folder, execution=execution)
        got = model(ids, model.make_cache(), all_logits=True).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)
        assert (got.argmax(-1) == expected.argmax(-1)).mean() > 0.99


@pytest.mark.parametrize("name", NAMES)
def test_logits(name, tmp_path):
    check(name, tmp_path / "model", {}, LENGTHS[FAMILIES[name][0]["model_type"]])


def test_texts_that_are_long_for_longrope(tmp_path):
    original = {"original_max_position_embeddings": 16}
    rope = FAMILIES["phimoe"][0]["rope_scaling"] | original
    check("phimoe", tmp_path / "model", original | {"rope_scaling": rope}, 40)


def test_experts_far_below_the_best(tmp_path):
    """With little jitter only the best has a share; with much, all have."""
    for jitter in (0.0, 0.3, 10.0):
        check("phimoe", tmp_path / str(jitter), {"router_jitter_noise": jitter}, 20)
