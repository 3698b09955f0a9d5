"""The text part of a model of several kinds of input is read as a folder with it alone is."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import weft
import weft.models
from causal_lm_reference import load

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
FAMILIES = SHARED / "causal_lms"
pytestmark = pytest.mark.skipif(not FAMILIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")

OLD, NEW = ("language_model.", "vision_tower."), ("model.language_model.", "model.visual.")
PLAIN = ("", "visual.")  # only the picture's tensors have another name
# The whole model's type, the text part's own type where it differs from the folder's, and where its tensors stand.
WHOLE = {
    "mistral3": ("mistral_window", None, OLD),
    "llava": ("llama3_rope", None, OLD),
    "llama4": ("llama4_text", None, ("language_model.", "vision_model.")),
    "aya_vision": ("cohere", None, OLD),
    "internvl": ("qwen3", None, NEW),
    "qwen2_vl": ("qwen2", "qwen2_vl_text", PLAIN),
    "qwen2_5_vl": ("qwen2", "qwen2_5_vl_text", NEW),
    "qwen3_vl": ("qwen3", "qwen3_vl_text", NEW),
}


def wrapped(target, kind, changes=None, other_tensors=None, flat=False):
    name, own_type, (before, pictures) = WHOLE[kind]
    source = FAMILIES / name
    text = json.loads((source / "config.json").read_text())
    if own_type:
        text["model_type"] = own_type
        rope = text.pop("rope_parameters", None) or {"rope_theta": text.pop("rope_theta", 1e4)}
        text["rope_parameters"] = {"rope_type": "default", "mrope_section": [2, 1, 1]} | rope
    target.mkdir()
    for file in source.iterdir():
        if file.suffix == ".json" and file.name not in ("config.json", "model.safetensors.index.json"):
            shutil.copy(file, target)
    of_pictures = {"vision_config": {"depth": 2}, "image_token_id": 3, "model_type": kind}
    config = text | of_pictures if flat else of_pictures | {"text_config": text}
    (target / "config.json").write_text(json.dumps(config | (changes or {})))
    tensors = {}
    for tensor, array in load(source / "model.safetensors").items():
        inside = tensor.removeprefix("model.")
        own = before + (inside if before == "model.language_model." else tensor)
        own = tensor if tensor == "lm_head.weight" and before != "language_model." else own
        tensors[own] = weft.from_numpy(np.array(array))
    for other in other_tensors or (pictures + "blocks.0.weight", pictures + "patch.bias"):
        tensors[other] = weft.from_numpy(np.zeros((3, 4), np.float32))
    weft.models.save_safetensors(str(target / "model.safetensors"), tensors)
    return target


def check_calls(model, source):
    for call in json.loads((source / "expected.json").read_text())["calls"]:
        logits = model(call["ids"], model.make_cache(), all_logits=True).numpy()
        np.testing.assert_allclose(logits[-1], call["logits_last"], rtol=1e-4, atol=1e-4)
        stream = model.stream(call["ids"], max_new_tokens=24, ignore_eos=True)
        for _ in stream:
            pass
        assert stream.tokens[len(call["ids"]) :] == call["greedy"]


@pytest.mark.parametrize("kind", WHOLE)
def test_its_texts_are_those_of_transformers(kind, tmp_path):
    folder = wrapped(tmp_path / "model", kind)
    check_calls(weft.models.CausalModel.from_pretrained(folder), FAMILIES / WHOLE[kind][0])


@pytest.mark.parametrize("kind", ["qwen2_vl", "qwen2_5_vl"])
def test_configurations_without_text_config(kind, tmp_path):
    """As published before transformers had it; the type is that of a picture's positions."""
    folder = wrapped(tmp_path / "model", kind, flat=True)
    config = json.loads((folder / "config.json").read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope["rope_theta"]
    config["rope_scaling"] = {"type": "mrope", "mrope_section": [2, 1, 1]}
    (folder / "config.json").write_text(json.dumps(config))
    check_calls(weft.models.CausalModel.from_pretrained(folder), FAMILIES / WHOLE[kind][0])


def test_what_text_config_leaves_out(tmp_path):
    """It is the difference to the class of transformers: Gemma 3's published files do not say their heads."""
    text = {"model_type": "gemma3_text", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    (tmp_path / "config.json").write_text(
        json.dumps(
            {"model_type": "gemma3", "text_config": text, "vision_config": {}, "eos_token_id": [1, 106]}
        )
    )
    shapes = {"embed_tokens.weight": (262208, 32), "norm.weight": (32,)}
    for layer in ("layers.0.", "layers.1."):
        norms = ("input", "post_attention", "pre_feedforward", "post_feedforward")
        shapes |= {f"{layer}{norm}_layernorm.weight": (32,) for norm in norms}
        shapes |= {f"{layer}self_attn.{which}_norm.weight": (256,) for which in "qk"}
        shapes |= {f"{layer}self_attn.{which}_proj.weight": (1024, 32) for which in "kv"}
        shapes |= {
            f"{layer}self_attn.q_proj.weight": (2048, 32),
            f"{layer}self_attn.o_proj.weight": (32, 2048),
        }
        shapes |= {f"{layer}mlp.{which}_proj.weight": (48, 32) for which in ("gate", "up")}
        shapes[f"{layer}mlp.down_proj.weight"] = (32, 48)
    tensors = {
        f"language_model.model.{name}": weft.from_numpy(np.full(shape, 0.01, np.float32))
        for name, shape in shapes.items()
    }
    weft.models.save_safetensors(str(tmp_path / "model.safetensors"), tensors)
    model = weft.models.CausalModel.from_pretrained(tmp_path)
    assert model([5, 6], model.make_cache()).shape == (1, 262208)


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "weft", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_inspect_says_what_is_not_read(tmp_path):
    folder = wrapped(tmp_path / "model", "qwen3_vl")
    result = command("inspect", folder)
    assert result.returncode == 0, result.stderr
    assert "qwen3_vl_text, the text part of qwen3_vl" in result.stdout
    assert "2 tensors of visual" in result.stdout
    described = json.loads(command("inspect", folder, "--json").stdout)
    assert described["not_read"] == ["model.visual.blocks.0.weight", "model.visual.patch.bias"]


def test_quantized_folders(tmp_path):
    folder = wrapped(tmp_path / "model", "mistral3")
    result = command("quantize", folder, tmp_path / "int8")
    assert result.returncode == 0, result.stderr
    ids = list(range(3, 20))
    rows = []
    for model in (
        weft.models.CausalModel.from_pretrained(tmp_path / "int8"),
        weft.models.CausalModel.from_pretrained(folder, quantize="int8"),
    ):
        rows.append(model(ids, model.make_cache(), all_logits=True).numpy())
    assert np.array_equal(*rows)


def refusal(folder):
    with pytest.raises(ValueError) as error:
        weft.models.CausalModel.from_pretrained(folder)
    return str(error.value)


def test_what_is_refused(tmp_path):
    assert (
        "the text part of 'gemma3n' models is not supported; weft has that of aya_vision, gemma3"
        in refusal(wrapped(tmp_path / "type", "mistral3", {"model_type": "gemma3n"}))
    )
    assert "unknown key 'pictures_per_text'" in refusal(
        wrapped(tmp_path / "key", "mistral3", {"pictures_per_text": 3})
    )
    assert "tensor 'resampler.weight' is neither of the model's text part" in refusal(
        wrapped(tmp_path / "tensor", "mistral3", other_tensors=("resampler.weight",))
    )
    assert "text_config is not a JSON object" in refusal(
        wrapped(tmp_path / "list", "mistral3", {"text_config": [1]})
    )
    # What the whole model says beside its text part has to be the same.
    assert "unknown key 'hidden_size' with the value 7" in refusal(
        wrapped(tmp_path / "size", "mistral3", {"hidden_size": 7})
    )
    wrapped(tmp_path / "same", "mistral3", {"hidden_size": 64})
    weft.models.CausalModel.from_pretrained(tmp_path / "same")
