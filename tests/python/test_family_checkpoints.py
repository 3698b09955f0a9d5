"""Small random checkpoints of families that the shared data does not have, named as transformers names their tensors.

Every execution reads each tensor and computes the same; with transformers the logits were compared when a family was
added. tests/models/families_test.cc compares rows over pages.
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import weft
import weft.models

LIST = pathlib.Path(__file__).with_name("family_checkpoints.txt")


def numbers_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last) + 1) if last else [int(number) for number in text.split(",")]


def each_name(pattern):
    parts = re.split(r"{([^}]*)}", pattern)
    choices = [[part] if i % 2 == 0 else map(str, numbers_of(part)) for i, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def families():
    """{name: (configuration, {tensor: shape})}"""
    table = {}
    for section in re.split(r"\n(?=\[)", LIST.read_text())[1:]:
        head, config, *lines = section.strip().splitlines()
        shapes = {}
        for line in lines:
            pattern, *shape = line.split()
            shapes |= {name: tuple(map(int, shape)) for name in each_name(pattern)}
        table[head.strip("[]")] = (json.loads(config), shapes)
    return table


FAMILIES = families()
TOKENS = [(7 + 29 * i) % 300 for i in range(40)]


def write_checkpoint(folder, config, shapes):
    generator = np.random.default_rng(len(shapes))
    tensors = {}
    for name, shape in shapes.items():
        values = generator.standard_normal(shape, np.float32)
        is_matrix = len(shape) > 1 and not name.endswith("correction_bias")
        tensors[name] = weft.from_numpy(0.15 * values if is_matrix else 0.1 * values + ("norm" in name))
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    weft.models.save_safetensors(str(folder / "model.safetensors"), tensors)
    return folder


def logits_of(folder, **options):
    model = weft.models.CausalModel.from_pretrained(folder, **options)
    return model(TOKENS, model.make_cache(), all_logits=True).numpy()


@pytest.mark.parametrize("name", FAMILIES)
def test_executions_compute_the_same(name, tmp_path):
    folder = write_checkpoint(tmp_path / "model", *FAMILIES[name])
    expected = logits_of(folder, execution="eager")
    assert np.isfinite(expected).all()
    for execution in ("static", "compiled"):
        np.testing.assert_allclose(logits_of(folder, execution=execution), expected, rtol=1e-3, atol=1e-3)
    model = weft.models.CausalModel.from_pretrained(folder)
    cache = model.make_cache()  # past a window's edge and on both sides of 16 tokens
    edges = ((0, 1), (1, 6), (6, 23), (23, 40))
    pieces = [model(TOKENS[first:last], cache, all_logits=True).numpy() for first, last in edges]
    np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=1e-3, atol=1e-3)
    rounded = [
        logits_of(folder, quantize="int8", execution=e, activations="float32") for e in ("eager", "compiled")
    ]
    np.testing.assert_allclose(rounded[0], rounded[1], rtol=1e-3, atol=1e-3)
    errors = np.sqrt(np.mean((rounded[0] - expected) ** 2, -1) / np.mean(expected**2, -1))
    # A row for which another expert is chosen is another, and so are those behind it: of mixtures, the nearest.
    is_mixture = any("experts" in tensor or "moe" in tensor for tensor in FAMILIES[name][1])
    assert (np.min(errors) if is_mixture else np.median(errors)) < 0.1


@pytest.mark.parametrize("name", FAMILIES)
def test_each_tensor_is_read(name, tmp_path):
    """Without one of a layer's, or with one more, the checkpoint is another model's."""
    config, shapes = FAMILIES[name]
    missing = [key for key in shapes if re.search(r"\.1\.", key)][-1]
    folder = write_checkpoint(tmp_path / "less", config, {k: v for k, v in shapes.items() if k != missing})
    with pytest.raises(ValueError, match=f"the checkpoint has no tensor '{re.escape(missing)}'"):
        weft.models.CausalModel.from_pretrained(folder)
    layer = missing[: missing.index(".1.") + 3]
    folder = write_checkpoint(tmp_path / "more", config, shapes | {layer + "other.weight": (4,)})
    with pytest.raises(ValueError, match=f"has no tensor '{re.escape(layer)}other.weight'"):
        weft.models.CausalModel.from_pretrained(folder)


def quantized(folder, output):
    command = [sys.executable, "-m", "weft", "quantize", str(folder), str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["dots1", "gpt_bigcode", "olmo_clip", "opt", "phi_qk", "stablelm_qk"])
def test_quantized_folders(name, tmp_path):
    folder = write_checkpoint(tmp_path / "model", *FAMILIES[name])
    result = quantized(folder, tmp_path / "int8")
    assert result.returncode == 0, result.stderr
    assert np.array_equal(logits_of(tmp_path / "int8"), logits_of(folder, quantize="int8"))


def test_folders_with_experts_in_one_tensor_are_not_quantized(tmp_path):
    folder = write_checkpoint(tmp_path / "model", *FAMILIES["granitemoe"])
    result = quantized(folder, tmp_path / "int8")
    assert result.returncode == 1 and "load the model with --quantize" in result.stderr
