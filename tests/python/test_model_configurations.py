"""Configurations that no model has are refused: the message names the file, the key, its value and what was expected."""

import json
import os
import pathlib
import shutil

import pytest
import weft
import weft.models

STORIES = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "../shared/data")) / "stories260k"
pytestmark = pytest.mark.skipif(not STORIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
MISSING = object()

CONFIG = [
    ({"rms_norm_eps": 1e18}, "rms_norm_eps must be above 0 and at most 0.1, got 1e+18"),
    ({"rms_norm_eps": 0}, "rms_norm_eps must be above 0 and at most 0.1, got 0"),
    ({"rms_norm_eps": -1e-5}, "rms_norm_eps must be above 0 and at most 0.1, got -1e-05"),
    ({"rms_norm_eps": "1e-5"}, "'rms_norm_eps' must be a number, got \"1e-5\""),
    ({"rope_theta": 0}, "rope_theta must be above 0 and at most 1000000000000, got 0"),
    ({"rope_theta": -10000.0}, "rope_theta must be above 0 and at most 1000000000000, got -10000"),
    ({"rope_theta": 1e300}, "rope_theta must be above 0 and at most 1000000000000, got 1e+300"),
    ({"rope_theta": float("nan")}, "not valid JSON"),
    ({"rope_theta": float("inf")}, "not valid JSON"),
    ({"rope_scaling": 5}, "rope_scaling"),
    ({"rope_scaling": {"type": "linear"}}, "no 'factor'"),
    ({"rope_scaling": {"type": "linear", "factor": 0}}, "the factor of rope_scaling must be above 0"),
    ({"rope_scaling": {"type": "linear", "factor": "2"}}, "'factor' must be a number"),
    (
        {"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1}},
        "high_freq_factor of rope_scaling must be above 4",
    ),
    (
        {"rope_scaling": {"type": "llama3", "factor": 8, "original_max_position_embeddings": 0}},
        "original_max_position_embeddings of rope_scaling must be between 1 and ",
    ),
    ({"bos_token_id": 512}, "bos_token_id must be an id of the vocabulary, between 0 and 511, got 512"),
    ({"bos_token_id": -1}, "bos_token_id must be an id of the vocabulary, between 0 and 511, got -1"),
    ({"eos_token_id": 100000}, "eos_token_id must be an id of the vocabulary, between 0 and 511, got 100000"),
    ({"eos_token_id": [2, -7]}, "eos_token_id must be an id of the vocabulary, between 0 and 511, got -7"),
    ({"eos_token_id": ["2"]}, "'eos_token_id' must be token ids, got [\"2\"]"),
    ({"eos_token_id": 2**64 - 1}, "'eos_token_id' must be token ids, got 18446744073709551615"),
    ({"num_hidden_layers": 3}, "model.safetensors': it has a tensor 'model.layers.3."),
    ({"num_hidden_layers": 6}, "the checkpoint has no tensor 'model.layers.5."),
    ({"num_hidden_layers": 0}, "num_hidden_layers must be between 1 and 16777216, got 0"),
    ({"num_hidden_layers": -5}, "num_hidden_layers must be between 1 and 16777216, got -5"),
    ({"num_hidden_layers": 2**63}, "'num_hidden_layers' must be an integer, got 9223372036854775808"),
    ({"num_hidden_layers": 5.0}, "'num_hidden_layers' must be an integer, got 5.0"),
    ({"num_hidden_layers": True}, "'num_hidden_layers' must be an integer, got true"),
    ({"num_hidden_layers": None}, "no 'num_hidden_layers'"),
    ({"num_hidden_layers": [5]}, "'num_hidden_layers' must be an integer, got [5]"),
    (
        {"num_attention_heads": 7},
        "hidden_size 64 is not a multiple of num_attention_heads 7, and there is no head_dim",
    ),
    ({"num_attention_heads": 64}, "head_dim must be even, got 1"),
    ({"num_attention_heads": 0}, "num_attention_heads must be positive, got 0"),
    ({"num_attention_heads": -8}, "num_attention_heads must be positive, got -8"),
    ({"num_key_value_heads": 3}, "num_attention_heads 8 is not a multiple of num_key_value_heads 3"),
    ({"num_key_value_heads": 0}, "num_key_value_heads must be between 1 and 16777216, got 0"),
    (
        {"num_key_value_heads": 8},
        "tensor 'model.layers.0.self_attn.k_proj.weight' has shape [32, 64], the configuration expects [64, 64]",
    ),
    ({"head_dim": 7}, "head_dim must be even, got 7"),
    ({"head_dim": 16}, "the configuration expects [128, 64]"),
    ({"hidden_size": 128}, "has shape [64], the configuration expects [128]"),
    ({"hidden_size": -64}, "hidden_size must be between 1 and 16777216, got -64"),
    ({"hidden_size": 2**40}, "hidden_size must be between 1 and 16777216, got 1099511627776"),
    ({"intermediate_size": 200}, "the configuration expects [200, 64]"),
    (
        {"vocab_size": 600},
        "tensor 'model.embed_tokens.weight' has shape [512, 64], the configuration expects [600, 64]",
    ),
    ({"vocab_size": 0}, "vocab_size must be between 1 and 16777216, got 0"),
    ({"max_position_embeddings": 0}, "max_position_embeddings must be between 1 and 16777216, got 0"),
    ({"sliding_window": 0, "model_type": "mistral"}, "sliding_window must be positive, got 0"),
    (
        {"torch_dtype": "float33"},
        "torch_dtype must be float32, bfloat16, float16, float64, got 'float33'; did you mean 'float32'?",
    ),
    ({"torch_dtype": 32}, "'torch_dtype' must be a text, got 32"),
    (
        {"hidden_act": "mish"},
        "hidden_act must be one of gelu, gelu_new, gelu_pytorch_tanh, relu, relu2, silu, swish, got mish",
    ),
    ({"model_type": "bert"}, "architecture 'bert' is not supported"),
    ({"model_type": 5}, "'model_type' must be a text, got 5"),
    ({"tie_word_embeddings": "no"}, "'tie_word_embeddings' must be true or false, got \"no\""),
]

PARAMS = [
    ({"dim": 0}, "dim and n_heads must be positive"),
    ({"n_heads": 7}, "dim 64 is not a multiple of n_heads 7"),
    ({"n_kv_heads": 3}, "n_heads 8 is not a multiple of n_kv_heads 3"),
    ({"n_layers": 3}, "it has a tensor 'model.layers.3."),
    ({"n_layers": 0}, "n_layers must be between 1 and 16777216, got 0"),
    ({"norm_eps": 1e18}, "norm_eps must be above 0 and at most 0.1, got 1e+18"),
    ({"rope_theta": -1}, "rope_theta must be above 0 and at most 1000000000000, got -1"),
    ({"multiple_of": 0}, "multiple_of must be between 1 and "),
    ({"multiple_of": 2**40}, "multiple_of must be between 1 and "),
    ({"hidden_dim": -4}, "hidden_dim must be between 1 and 16777216, got -4"),
    (
        {"hidden_dim": None, "ffn_dim_multiplier": 1e300},
        "ffn_dim_multiplier must be above 0 and at most 1000, got 1e+300",
    ),
    (
        {"hidden_dim": None, "ffn_dim_multiplier": -1},
        "ffn_dim_multiplier must be above 0 and at most 1000, got -1",
    ),
    ({"vocab_size": 600}, "the configuration expects [600, 64]"),
    ({"max_seq_len": 0}, "max_seq_len must be between 1 and 16777216, got 0"),
]


def change(folder, file, values):
    text = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(text | values))


def refused(folder, file, message):
    with pytest.raises(ValueError) as raised:
        weft.models.Llama.from_pretrained(folder)
    text = str(raised.value)
    assert message in text
    assert file in text or "model.safetensors" in text or "consolidated" in text or str(folder) in text


@pytest.mark.parametrize("values, message", CONFIG, ids=[str(values) for values, _ in CONFIG])
def test_config_json(values, message, tmp_path):
    for file in ("config.json", "model.safetensors", "tokenizer.model"):
        shutil.copy(STORIES / file, tmp_path / file)
    change(tmp_path, "config.json", values)
    refused(tmp_path, "config.json", message)


@pytest.mark.parametrize("values, message", PARAMS, ids=[str(values) for values, _ in PARAMS])
def test_params_json(values, message, tmp_path):
    for file in ("params.json", "consolidated.00.pth", "tokenizer.model"):
        shutil.copy(STORIES / file, tmp_path / file)
    change(tmp_path, "params.json", values)
    refused(tmp_path, "params.json", message)


def test_a_good_configuration_still_loads(tmp_path):
    for file in ("config.json", "model.safetensors", "tokenizer.model"):
        shutil.copy(STORIES / file, tmp_path / file)
    change(tmp_path, "config.json", {"eos_token_id": [2, 3], "rope_scaling": None, "torch_dtype": "bfloat16"})
    assert weft.models.Llama.from_pretrained(tmp_path).generate("Once", max_new_tokens=2)


def copy_tensors(folder, **changes):
    tensors = weft.models.load_safetensors(str(STORIES / "model.safetensors")) | changes
    shutil.copy(STORIES / "config.json", folder / "config.json")
    weft.models.save_safetensors(
        str(folder / "model.safetensors"), {name: t for name, t in tensors.items() if t is not MISSING}
    )


LAYER = "model.layers.0."


@pytest.mark.parametrize(
    "changes, message",
    [
        ({LAYER + "self_attn.q_proj.bias": weft.ones(64)}, "a llama model without attention_bias has no tensor"),
        ({LAYER + "mlp.extra.weight": weft.ones(64)}, f"a llama model has no tensor '{LAYER}mlp.extra.weight'"),
        ({LAYER + "mlp.up_proj.weight": weft.ones(172, 63)}, "has shape [172, 63], the configuration expects [172, 64]"),
        ({LAYER + "mlp.up_proj.weight": weft.ones(64)}, "has shape [64], the configuration expects [172, 64]"),
        ({LAYER + "mlp.up_proj.weight": MISSING}, f"the checkpoint has no tensor '{LAYER}mlp.up_proj.weight'"),
        ({"model.norm.weight": weft.ones(64, dtype=weft.int64)}, "tensor 'model.norm.weight' is int64, expected a floating dtype"),
        ({"model.layers.-1.x": weft.ones(1)}, "model.layers.-1.x"),
        ({"model.layers.99999999999999999999.x": weft.ones(1)}, "model.layers.99999999999999999999.x"),
    ],
    ids=range(8),
)  # fmt: skip
def test_tensors_of_another_model(changes, message, tmp_path):
    copy_tensors(tmp_path, **changes)
    with pytest.raises((ValueError, TypeError)) as raised:
        weft.models.Llama.from_pretrained(tmp_path)
    assert (
        message in str(raised.value)
        and "model.safetensors" in str(raised.value)
        or "no tensor" in str(raised.value)
    )


def test_buffers_of_old_checkpoints_are_no_weights(tmp_path):
    copy_tensors(tmp_path, **{LAYER + "self_attn.rotary_emb.inv_freq": weft.ones(4)})
    weft.models.Llama.from_pretrained(tmp_path)


def test_tokenizer_of_another_model(tmp_path):
    for file in ("config.json", "model.safetensors"):
        shutil.copy(STORIES / file, tmp_path / file)
    vocabulary = {chr(0x4E00 + i): i for i in range(5000)}
    tokenizer = {"model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ValueError, match="the tokenizer has 5000 tokens, and the model's vocab_size is 512"):
        weft.models.Llama.from_pretrained(tmp_path)
    model = weft.models.Llama.from_pretrained(STORIES)
    model.tokenizer = weft.models.Tokenizer.open(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ValueError, match="do not belong together"):
        model.generate([1])


def test_unknown_scheme_of_a_file(tmp_path):
    shutil.copy(STORIES / "config.json", tmp_path / "config.json")
    tensors = weft.models.load_safetensors(str(STORIES / "model.safetensors"))
    weft.models.save_safetensors(str(tmp_path / "model.safetensors"), tensors, {"weft.quantization": "int5"})
    with pytest.raises(ValueError, match="unknown quantization scheme 'int5'"):
        weft.models.Llama.from_pretrained(tmp_path)
