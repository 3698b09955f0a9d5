"""weft.models: folders, text, and what is refused."""

import importlib.util
import json
import os
import pathlib

import numpy as np
import pytest
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)


@pytest.fixture(scope="module")
def stories():
    if not (SHARED / "stories260k").is_dir():
        pytest.skip("no shared data (WEFT_SHARED_DATA)")
    return str(SHARED / "stories260k")


@pytest.fixture(scope="module")
def model(stories):
    return weft.models.Llama.from_pretrained(stories)


def test_greedy_text(model, stories):
    expected = json.loads((pathlib.Path(stories) / "expected.json").read_text())
    stream = model.stream([1], max_new_tokens=len(expected["greedy_ids"]) - 1)
    text = "".join(stream)
    assert stream.tokens == expected["greedy_ids"]
    assert text == expected["greedy_text"]
    assert stream.stats["decode_tokens"] == len(expected["greedy_ids"]) - 2


@pytest.mark.parametrize("execution", ["eager", "static"])
def test_executions_agree(model, stories, execution):
    other = weft.models.Llama.from_pretrained(stories, execution=execution)
    options = {"max_new_tokens": 60, "repetition_penalty": 1.1}
    assert other.generate("Tom had", **options) == model.generate("Tom had", **options)


def test_formula(model, stories):
    """The logits of two tokens against NumPy in float64."""
    weights = {
        n: t.numpy().astype(np.float64)
        for n, t in weft.models.load_safetensors(f"{stories}/model.safetensors").items()
    }
    config, tokens = model.config, [1, 403]
    heads, groups, dim = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"]) * weights[name]

    def rope(x):  # [tokens, n, dim]
        angle = np.arange(len(tokens))[:, None] * config["rope_theta"] ** (-np.arange(0, dim, 2) / dim)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        a, b = x[..., : dim // 2], x[..., dim // 2 :]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    x = weights["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        w = {n.split(".", 3)[3]: t for n, t in weights.items() if n.startswith(f"model.layers.{layer}.")}
        h = norm(x, f"model.layers.{layer}.input_layernorm.weight")
        q, k, v = ((h @ w[f"self_attn.{n}_proj.weight"].T).reshape(len(tokens), -1, dim) for n in "qkv")
        q, k = rope(q), rope(k)
        k, v = (np.repeat(t, heads // groups, 1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(dim)
        scores = np.where(np.tri(len(tokens), dtype=bool), scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        attended = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v).reshape(len(tokens), -1)
        x = x + attended @ w["self_attn.o_proj.weight"].T
        h = norm(x, f"model.layers.{layer}.post_attention_layernorm.weight")
        gate = h @ w["mlp.gate_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w["mlp.up_proj.weight"].T)) @ w["mlp.down_proj.weight"].T
    expected = norm(x, "model.norm.weight") @ weights["model.embed_tokens.weight"].T
    np.testing.assert_allclose(
        model.forward(tokens, model.make_cache(), all_logits=True).numpy(), expected, rtol=1e-4, atol=1e-4
    )


def test_quantized_text_is_close(stories):
    text = weft.models.Llama.from_pretrained(stories, quantize="int8").generate([1], max_new_tokens=30)
    assert text.startswith("Once upon a time, there was a little girl")


def test_speculation_is_greedy(model):
    options = {"max_new_tokens": 120}
    assert model.generate("Tom had", draft="prompt-lookup", **options) == model.generate("Tom had", **options)
    assert model.generate("Tom had", draft=model, speculate_k=2, **options) == model.generate(
        "Tom had", **options
    )


def test_conversation(model):
    """Each turn is computed once, and the answers are those of whole prompts."""
    context, ids = weft.models.Context(), model.tokenizer.encode("Lily had a ball.")
    before = 0
    for said in (" It was red.", " She was sad.", " Then Tom came."):
        ids += model.tokenizer.encode(said, add_bos=False)
        stream = model.stream(ids, max_new_tokens=20, context=context)
        assert "".join(stream) == model.generate(ids, max_new_tokens=20)
        assert stream.stats["kept_tokens"] == before
        before = len(context.tokens)
        ids = stream.tokens
        assert ids[:before] == context.tokens and len(ids) - before <= 1

    earlier, later = (model.stream("Tom", max_new_tokens=5, context=context) for _ in range(2))
    with pytest.raises(ValueError, match="another text was begun in the same context"):
        next(earlier)
    assert "".join(later) == model.generate("Tom", max_new_tokens=5)
    with pytest.raises(TypeError, match="Context"):
        model.generate("Tom", context=model.make_cache())


def test_safetensors_round_trip(tmp_path):
    tensors = {"a": weft.tensor([[1.0, 2.0]]), "b": weft.tensor([1, 2, 3])}
    weft.models.save_safetensors(str(tmp_path / "x.safetensors"), tensors)
    back = weft.models.load_safetensors(str(tmp_path / "x.safetensors"))
    assert back["a"].tolist() == [[1.0, 2.0]] and back["b"].tolist() == [1, 2, 3]


def test_mistakes(model, stories, tmp_path):
    with pytest.raises(RuntimeError, match="no model here"):
        weft.models.Llama.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="unknown quantization scheme 'int5'"):
        weft.models.Llama.from_pretrained(stories, quantize="int5")
    with pytest.raises(ValueError, match="execution must be"):
        weft.models.Llama.from_pretrained(stories, execution="fast")
    with pytest.raises(ValueError, match="the prompt has no tokens"):
        model.generate([])
    with pytest.raises(IndexError, match="token id 512 is outside the vocabulary of 512"):
        model.generate([512])
    with pytest.raises(ValueError, match="top_p must be above 0"):
        model.generate("a", top_p=0.0)
    with pytest.raises(ValueError, match="draft must be a CausalModel"):
        model.generate("a", draft="magic")
    with pytest.raises(ValueError, match="temperature must be at least 0"):
        model.generate("a", temperature=-1.0)


@pytest.fixture(scope="module")
def gpt():
    specification = importlib.util.spec_from_file_location(
        "gpt", pathlib.Path(__file__).parents[2] / "examples" / "gpt.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_gpt_example(gpt, stories):
    """The example's compiled functions are one graph each and give the model's ids."""
    expected = json.loads((pathlib.Path(stories) / "expected.json").read_text())["greedy_ids"]
    model = gpt.load(stories)
    prefill = weft.compile(gpt.prefill, fullgraph=True, dynamic=True)
    decode = weft.compile(gpt.decode_one_token, mode="reduce-overhead", fullgraph=True)
    assert list(gpt.generate(model, expected[:1], 100, prefill, decode)) == expected[1:101]
    assert list(gpt.generate(model, expected[:7], 20, prefill, decode)) == expected[7:27]
    assert list(gpt.generate(model, expected[:5], 20)) == expected[5:25]


@pytest.mark.parametrize("scheme", ["int8", "int4-g32"])
def test_gpt_example_quantized(gpt, stories, scheme):
    """Compiled, the quantized model is one graph and gives its own ids; its logits are those of what its weights stand for."""
    model = gpt.quantize(gpt.load(stories), scheme)
    prefill = weft.compile(gpt.prefill, fullgraph=True, dynamic=True)
    decode = weft.compile(gpt.decode_one_token, mode="reduce-overhead", fullgraph=True)
    prompt = [1, 403, 407]
    assert list(gpt.generate(model, prompt, 60, prefill, decode)) == list(gpt.generate(model, prompt, 60))

    reference = gpt.load(stories)
    for name, layer in model.named_modules():
        if isinstance(layer, gpt.QuantizedLinear):
            reference.get_submodule(name).weight = weft.nn.Parameter(layer.dequantized())
    logits, expected = (m(weft.tensor(prompt), weft.tensor(0)).numpy() for m in (model, reference))
    np.testing.assert_allclose(
        logits, expected, atol=2e-3
    )  # inputs of products are rounded to 2^-16 of their group's largest


def test_cache_writes_stay_in_order_when_compiled():
    """attention_with_kv_cache writes: what reads the caches before and after it sees them before and after."""

    def step(qkv, keys, values, rope):
        before, kept = keys.sum(), keys * 2
        weft.attention_with_kv_cache(qkv, keys, values, weft.tensor(0), rope)  # the result is not used
        again = weft.attention_with_kv_cache(qkv + 1, keys, values, weft.tensor(2), rope)
        return before, keys.sum(), kept + 1, keys * 2 + 1, again

    def run(function):
        qkv = weft.arange(24, dtype=weft.float32).reshape(2, 12)
        caches = [weft.zeros(1, 4, 4), weft.zeros(1, 4, 4)]
        results = function(qkv, *caches, weft.ones(4, 2, 2))
        return [x.numpy() for x in (*results, *caches)]

    for expected, compiled in zip(run(step), run(weft.compile(step, fullgraph=True))):
        np.testing.assert_array_equal(compiled, expected)
