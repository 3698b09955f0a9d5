"""Small random checkpoints of families that the shared data does not have, named as transformers names their tensors.

Every execution reads each tensor and computes the same; with transformers the logits were compared when a family was
added. tests/models/families_test.cc compares rows over pages.
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import serving
import weft
import weft.models

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
TOKENIZER = SHARED / "causal_lms" / "qwen3"
LISTS = sorted(pathlib.Path(__file__).parent.glob("family_checkpoints*.txt"))


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
    for section in (part for file in LISTS for part in re.split(r"\n(?=\[)", file.read_text())[1:]):
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


@pytest.mark.parametrize(
    "name",
    ["apertus", "dots1", "gpt_bigcode", "olmo_clip", "opt", "phi_qk", "qwen3_5", "qwen3_next", "stablelm_qk"],
)
def test_quantized_folders(name, tmp_path):
    folder = write_checkpoint(tmp_path / "model", *FAMILIES[name])
    result = quantized(folder, tmp_path / "int8")
    assert result.returncode == 0, result.stderr
    assert np.array_equal(logits_of(tmp_path / "int8"), logits_of(folder, quantize="int8"))


# ---- delta rules: texts have a state beside their pages --------------------------------------------
needs_tokenizer = pytest.mark.skipif(not TOKENIZER.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")


def with_tokenizer(name, folder):
    write_checkpoint(folder, *FAMILIES[name])
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / file, folder)
    return folder


@needs_tokenizer
@pytest.mark.parametrize("name", ["qwen3_5", "qwen3_next"])
def test_texts_with_states(name, tmp_path):
    folder = with_tokenizer(name, tmp_path / "model")
    model = weft.models.CausalModel.from_pretrained(folder)

    def greedy(ids, context=None, count=12):
        stream = model.stream(ids, max_new_tokens=count, ignore_eos=True, context=context)
        for _ in stream:
            pass
        return stream.tokens[len(ids) :]

    context = weft.models.Context()
    expected = greedy(TOKENS)
    assert greedy(TOKENS, context) == expected
    assert greedy(TOKENS + expected + [5], context) == greedy(TOKENS + expected + [5])  # it goes on
    assert greedy(TOKENS[:9], context) == greedy(TOKENS[:9])  # it begins anew
    for draft in ("prompt-lookup", model):
        with pytest.raises(ValueError, match="do not speculate: what their delta rules keep of a text"):
            model.stream(TOKENS, max_new_tokens=4, draft=draft)


@needs_tokenizer
def test_served_texts_with_states(tmp_path):
    folder = with_tokenizer("qwen3_5", tmp_path / "model")
    model = weft.models.CausalModel.from_pretrained(folder)
    prompts = [TOKENS[:1], TOKENS[:30], TOKENS, [*TOKENS[:30], 9, 8], TOKENS[5:20]]
    texts = []
    for ids in prompts:
        stream = model.stream(ids, max_new_tokens=20, ignore_eos=True)
        for _ in stream:
            pass
        texts.append(model.tokenizer.decode(stream.tokens[len(ids) :]))
    body = {"max_tokens": 20, "temperature": 0, "ignore_eos": True}
    options = ("--activations", "float32", "--max-batch", "3", "--cache-dtype", "float32")
    with serving.serving("-m", str(folder), *options) as server:
        for n in (1, 3):  # texts side by side, more than are written at once, and forks of one
            answer = server.complete(prompt=prompts, n=n, **body)
            assert [choice["text"] for choice in answer["choices"]] == [t for t in texts for _ in range(n)]
        assert server.figures()["weft_reused_tokens_total"] == 0


def test_folders_with_experts_in_one_tensor_are_not_quantized(tmp_path):
    folder = write_checkpoint(tmp_path / "model", *FAMILIES["granitemoe"])
    result = quantized(folder, tmp_path / "int8")
    assert result.returncode == 1 and "load the model with --quantize" in result.stderr
