"""Keys and values are kept in the weights' dtype, so that a float16 model's text is the one it was made for."""

import numpy as np
import pytest
import weft.models
from test_causal_lms import FAMILIES, LLAMAS, by_name, calls_of, config_of, copy_of, greedy, reference_of

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
