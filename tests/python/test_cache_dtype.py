"""Keys and values are kept in the weights' dtype, so that a float16 model's text is the one it was made for."""

import numpy as np
import pytest
import serving
import weft.models
from test_causal_lms import (
    FAMILIES,
    FOLDERS,
    LLAMAS,
    by_name,
    calls_of,
    config_of,
    copy_of,
    greedy,
    reference_of,
)
from test_family_checkpoints import FAMILIES as FAMILY_CHECKPOINTS
from test_family_checkpoints import write_checkpoint

pytestmark = pytest.mark.skipif(not FAMILIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")


@pytest.mark.parametrize("folder", LLAMAS, **by_name)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_cache_has_the_weights_dtype(folder, dtype, tmp_path):
    folder = copy_of(folder, tmp_path / "model", {"dtype": dtype}, np.float16 if dtype == "float16" else None)
    ids = calls_of(FAMILIES / "qwen2")[1]["ids"]

    def logits(**options):
        model = weft.models.Llama.from_pretrained(folder, **options)
        cache = model.make_cache()
        model(ids[:-1], cache)
        return model(ids[-1:], cache).numpy()

    own = logits()
    for other in ("float16", "bfloat16", "float32"):
        assert np.array_equal(own, logits(cache_dtype=other)) == (other == dtype)


@pytest.mark.parametrize("folder", LLAMAS, **by_name)
def test_float16_gives_the_tokens_of_float32_arithmetic(folder, tmp_path):
    half = copy_of(folder, tmp_path / "model", {"dtype": "float16"}, np.float16)
    config = config_of(folder)
    reference = reference_of(half, [config.get("sliding_window")] * 4, config["rope_parameters"])
    model = weft.models.Llama.from_pretrained(half)
    for call in calls_of(folder):
        expected, margin = reference.greedy(call["ids"], 24)
        assert greedy(model, call["ids"], 24) == expected or margin < 2e-3


# ---- int8: a scale for each head's numbers at a position ---------------------------------------------------
INT8_BOUND = 0.03  # of the logits' root mean square


@pytest.mark.parametrize("folder", FOLDERS, **by_name)
def test_int8_is_near(folder):
    ids = calls_of(folder)[1]["ids"]
    ids = ids + calls_of(folder)[1]["greedy"]
    exact = weft.models.CausalModel.from_pretrained(folder)
    expected = exact(ids, exact.make_cache(), all_logits=True).numpy()
    for execution in ("eager", "static", "compiled"):
        model = weft.models.CausalModel.from_pretrained(folder, cache_dtype="int8", execution=execution)
        whole = model(ids, model.make_cache(), all_logits=True).numpy()
        cache = model.make_cache()  # few behind many, and many behind few
        edges = (0, 3, 20, 36, 37, len(ids))
        pieces = [model(ids[a:b], cache, all_logits=True).numpy() for a, b in zip(edges, edges[1:]) if a < b]
        for logits in (whole, np.concatenate(pieces)):
            errors = np.sqrt(np.mean((logits - expected) ** 2, -1) / np.mean(expected**2, -1))
            # A row whose expert has become another is another.
            assert np.median(errors) < INT8_BOUND


@pytest.mark.parametrize(
    "folder", [f for f in FOLDERS if f.name in ("mistral_window", "gemma2", "qwen3")], **by_name
)
def test_int8_with_speculation_and_prefixes(folder):
    model = weft.models.CausalModel.from_pretrained(folder, cache_dtype="int8")
    ids = calls_of(folder)[1]["ids"]
    expected = greedy(model, ids, 24)
    stream = model.stream(ids, max_new_tokens=24, ignore_eos=True, draft="prompt-lookup")
    for _ in stream:
        pass
    assert stream.tokens[len(ids) :] == expected
    context = weft.models.Context()
    for count in (5, 9):
        stream = model.stream(ids + expected[:count], max_new_tokens=4, ignore_eos=True, context=context)
        for _ in stream:
            pass
        assert stream.tokens[len(ids) + count :] == expected[count : count + 4]
    assert stream.stats["kept_tokens"] > 0


def test_int8_in_the_server():
    folder = FAMILIES / "qwen3"
    model = weft.models.CausalModel.from_pretrained(folder, cache_dtype="int8")
    config = config_of(folder)
    row = config["num_key_value_heads"] * (config["head_dim"] + 4)
    with serving.serving("-m", str(folder), "--cache-dtype", "int8") as server:
        assert f"tokens of {2 * config['num_hidden_layers'] * row} bytes;" in server.said
        for call in calls_of(folder):
            body = {"prompt": call["ids"], "max_tokens": 24, "temperature": 0, "ignore_eos": True}
            texts = {server.complete(**body)["choices"][0]["text"] for _ in range(2)}
            assert texts == {model.tokenizer.decode(greedy(model, call["ids"], 24))}
        assert server.figures()["weft_reused_tokens_total"] > 0


def test_int8_is_refused_beside_delta_rules(tmp_path):
    folder = write_checkpoint(tmp_path / "model", *FAMILY_CHECKPOINTS["qwen3_5"])
    with pytest.raises(
        ValueError, match="cache_dtype int8 is for keys and values, and layer 0 is a delta rule"
    ):
        weft.models.CausalModel.from_pretrained(folder, cache_dtype="int8")
