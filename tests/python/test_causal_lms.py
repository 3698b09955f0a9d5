"""Small models of 28 families as transformers 5 writes them give its logits and tokens, on every execution."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import serving
import weft
import weft.models
from causal_lm_reference import Reference, load
from support.tiers import long_but
from test_distributed import command, needs_mpi

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
FAMILIES = SHARED / "causal_lms"
pytestmark = pytest.mark.skipif(not FAMILIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
FOLDERS = sorted(folder for folder in FAMILIES.iterdir()) if FAMILIES.is_dir() else []


def config_of(folder):
    return json.loads((folder / "config.json").read_text())


# Those that the NumPy model beside these tests computes as well.
LLAMAS = [folder for folder in FOLDERS if config_of(folder)["model_type"] in ("llama", "mistral", "qwen2")]
EDGES = [FAMILIES / name for name in ("gemma2", "gpt_oss", "llama4_text", "deepseek_v3", "falcon")]
by_name = {"ids": lambda folder: folder.name}


def test_there_are_both():
    assert [folder.name for folder in LLAMAS] == ["llama3_rope", "llama_bias", "mistral_window", "qwen2"]
    assert len(FOLDERS) == 28


def calls_of(folder):
    return json.loads((folder / "expected.json").read_text())["calls"]


def greedy(model, ids, count):
    stream = model.stream(ids, max_new_tokens=count, ignore_eos=True)
    for _ in stream:
        pass
    return stream.tokens[len(ids) :]


@pytest.mark.parametrize("execution", ["eager", "static", "compiled"])
@pytest.mark.parametrize("folder", FOLDERS, **by_name)
def test_the_tokens_of_transformers(folder, execution):
    model = weft.models.CausalModel.from_pretrained(folder, execution=execution)
    for call in calls_of(folder):
        ids = call["ids"]
        assert model.tokenizer.encode(call["prompt"]) == ids
        logits = model(ids, model.make_cache(), all_logits=True).numpy()
        assert logits.argmax(-1).tolist() == call["argmax"]
        np.testing.assert_allclose(logits[-1], call["logits_last"], rtol=1e-4, atol=1e-4)
        assert greedy(model, ids, 24) == call["greedy"]
        for count in (1, 5):
            assert greedy(model, ids[:count], 1) == call["argmax"][count - 1 : count]
    whole = ids + call["greedy"]
    assert greedy(model, whole[:40], len(whole) - 40) == whole[40:]
    rows = model(whole, model.make_cache(), all_logits=True).numpy()
    cache = model.make_cache()  # in pieces, of many tokens behind few and the other way round
    edges = ((0, 3), (3, 30), (30, 31), (31, 45))
    pieces = [model(whole[first:last], cache, all_logits=True).numpy() for first, last in edges]
    np.testing.assert_allclose(np.concatenate(pieces), rows, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("folder", FOLDERS, **by_name)
def test_speculation_writes_the_same(folder):
    model = weft.models.CausalModel.from_pretrained(folder)
    call = calls_of(folder)[1]
    for draft in ("prompt-lookup", weft.models.CausalModel.from_pretrained(folder, quantize="int8")):
        stream = model.stream(call["ids"], max_new_tokens=24, ignore_eos=True, draft=draft)
        for _ in stream:
            pass
        assert stream.tokens[len(call["ids"]) :] == call["greedy"]
    assert stream.stats["accepted"] > 0


@pytest.mark.parametrize("scheme, bound", [("int8", 0.1), ("int4-g32", 1.0)])
@pytest.mark.parametrize("folder", FOLDERS, **by_name)
def test_quantized_weights_on_every_execution(folder, scheme, bound):
    ids = calls_of(folder)[1]["ids"]
    if (folder.name, scheme) == ("deepseek_v3", "int4-g32"):
        with pytest.raises(ValueError, match="groups of 32 weights are longer than the model's rows of 16"):
            weft.models.CausalModel.from_pretrained(folder, quantize=scheme)
        return
    exact = weft.models.CausalModel.from_pretrained(folder)
    expected = exact(ids, exact.make_cache(), all_logits=True).numpy()
    logits = []
    for execution in ("eager", "compiled"):
        model = weft.models.CausalModel.from_pretrained(
            folder, quantize=scheme, execution=execution, activations="float32"
        )
        logits.append(model(ids, model.make_cache(), all_logits=True).numpy())
    np.testing.assert_allclose(logits[0], logits[1], rtol=1e-3, atol=1e-3)
    # Of the row in the middle: one whose expert has become another is another.
    errors = np.sqrt(np.mean((logits[0] - expected) ** 2, -1) / np.mean(expected**2, -1))
    assert np.median(errors) < bound


@pytest.mark.parametrize("folder", long_but(FOLDERS, *EDGES, LLAMAS[0]), **by_name)
def test_the_server_writes_the_same(folder):
    with serving.serving("-m", str(folder)) as server:
        for call in calls_of(folder):
            decoded = weft.models.Tokenizer.open(str(folder)).decode(call["greedy"])
            for prompt in (call["prompt"], call["ids"]):
                body = {"prompt": prompt, "max_tokens": 24, "temperature": 0, "ignore_eos": True}
                assert server.complete(**body)["choices"][0]["text"] == decoded


# One key of all heads is not divided.
WITH_RANKS = [folder for folder in FOLDERS if folder.name != "falcon"]


@needs_mpi
@pytest.mark.parametrize(
    "folder", long_but(WITH_RANKS, *WITH_RANKS[:1], FAMILIES / "deepseek_v3", FAMILIES / "olmoe"), **by_name
)
def test_two_ranks_write_the_same(folder):
    for call in calls_of(folder):
        arguments = [
            "generate",
            "-m",
            str(folder),
            "-p",
            call["prompt"],
            "-n",
            "24",
            "--ignore-eos",
            "--json",
        ]
        decoded = weft.models.Tokenizer.open(str(folder)).decode(call["greedy"])
        assert json.loads(command(2, *arguments).stdout)["text"] == decoded


# ---- configurations of other makes, beside a model in NumPy ------------------------------------------------
def copy_of(folder, target, changes, dtype=None):
    """The folder with another configuration: keys that are None are taken away."""
    target.mkdir()
    for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(folder / file, target / file)
    config = {key: value for key, value in (config_of(folder) | changes).items() if value is not None}
    (target / "config.json").write_text(json.dumps(config))
    tensors = load(folder / "model.safetensors")
    if dtype:
        tensors = {name: tensor.astype(dtype) for name, tensor in tensors.items()}
    weft.models.save_safetensors(
        str(target / "model.safetensors"), {name: weft.from_numpy(t.copy()) for name, t in tensors.items()}
    )
    return target


def test_other_families_are_refused_by_name(tmp_path):
    folder = copy_of(FAMILIES / "qwen2", tmp_path / "model", {"model_type": "gemma4"})
    with pytest.raises(
        ValueError, match=r"config.json': architecture 'gemma4' is not supported; weft has .*gemma2"
    ):
        weft.models.CausalModel.from_pretrained(folder)


def reference_of(folder, windows, rope):
    return Reference(config_of(folder), load(folder / "model.safetensors"), windows, rope)


@pytest.mark.parametrize("folder", LLAMAS, **by_name)
def test_the_reference_is_one(folder):
    config = config_of(folder)
    model = reference_of(folder, [config.get("sliding_window")] * 4, config["rope_parameters"])
    for call in calls_of(folder):
        np.testing.assert_allclose(model.logits(call["ids"])[-1], call["logits_last"], rtol=1e-4, atol=1e-4)
        assert model.greedy(call["ids"], 24)[0] == call["greedy"]


DEFAULT = {"rope_type": "default", "rope_theta": 10000.0}
LINEAR = {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
    "rope_theta": 5000.0,
}


def version_4(rope):
    """The same as transformers 4 writes it."""
    scaling = {key: value for key, value in rope.items() if key != "rope_theta"}
    if rope["rope_type"] == "default":
        scaling = None
    return {"rope_parameters": None, "rope_theta": rope["rope_theta"], "rope_scaling": scaling}


def version_4_old(rope):
    changes = version_4(rope)
    if changes["rope_scaling"]:
        changes["rope_scaling"]["type"] = changes["rope_scaling"].pop("rope_type")
    return changes


TYPES = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
WINDOW = {"use_sliding_window": True, "sliding_window": 6}
OF_OTHER_MAKES = [
    ("qwen2", WINDOW | {"layer_types": None, "max_window_layers": 0}, [6, 6, 6, 6], DEFAULT),
    ("qwen2", WINDOW | {"layer_types": None, "max_window_layers": 3}, [None, None, None, 6], DEFAULT),
    ("qwen2", WINDOW | {"layer_types": None}, [None] * 4, DEFAULT),
    ("qwen2", WINDOW | {"layer_types": TYPES}, [None, 6, 6, None], DEFAULT),
    (
        "qwen2",
        {"use_sliding_window": False, "sliding_window": 6, "max_window_layers": 0},
        [None] * 4,
        DEFAULT,
    ),
    ("mistral_window", {"layer_types": TYPES}, [None, 8, 8, None], DEFAULT),
    ("mistral_window", {"sliding_window": None}, [4096] * 4, DEFAULT),
] + [
    (folder, form(rope), [8 if folder == "mistral_window" else None] * 4, rope)
    for folder in ("llama3_rope", "mistral_window", "qwen2")
    for rope in (DEFAULT, LINEAR, LLAMA3)
    for form in (lambda rope: {"rope_parameters": rope}, version_4, version_4_old)
]


@pytest.mark.parametrize("name, changes, windows, rope", OF_OTHER_MAKES, ids=range(len(OF_OTHER_MAKES)))
def test_other_configurations(name, changes, windows, rope, tmp_path):
    folder = copy_of(FAMILIES / name, tmp_path / "model", changes)
    reference = reference_of(FAMILIES / name, windows, rope)
    ids = calls_of(FAMILIES / name)[1]["ids"]
    expected, margin = reference.greedy(ids, 24)
    assert margin > 1e-4  # what rounding does not change
    for execution in ("eager", "static", "compiled"):
        model = weft.models.Llama.from_pretrained(folder, execution=execution)
        logits = model(ids, model.make_cache(), all_logits=True).numpy()
        np.testing.assert_allclose(logits, reference.logits(ids), rtol=1e-3, atol=1e-3)
        assert greedy(model, ids, 24) == expected


@pytest.mark.parametrize("folder", FOLDERS, **by_name)
def test_the_example_reads_them_or_refuses(folder, tmp_path):
    """examples/gpt.py has its own reader, and less."""
    path = pathlib.Path(__file__).parents[2] / "examples" / "gpt.py"
    specification = importlib.util.spec_from_file_location("gpt", path)
    gpt = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(gpt)
    if folder.name == "qwen2":
        call = calls_of(folder)[1]
        assert list(gpt.generate(gpt.load(folder), call["ids"], 24)) == call["greedy"]
    else:
        with pytest.raises((ValueError, KeyError)):
            gpt.load(folder)
    if folder.name == "llama3_rope":
        rope = {"rope_type": "default", "rope_theta": 777.0}
        plain = copy_of(folder, tmp_path / "model", {"rope_parameters": rope})
        expected, _ = reference_of(folder, [None] * 4, rope).greedy(calls_of(folder)[1]["ids"], 24)
        assert list(gpt.generate(gpt.load(plain), calls_of(folder)[1]["ids"], 24)) == expected


def test_a_model_saved_without_its_head(tmp_path):
    """Names without what stands before them, as the first GPT-2 has them."""
    folder = copy_of(FAMILIES / "gpt2", tmp_path / "model", {})
    tensors = {
        name.removeprefix("transformer."): weft.from_numpy(tensor.copy())
        for name, tensor in load(FAMILIES / "gpt2" / "model.safetensors").items()
    }
    weft.models.save_safetensors(str(folder / "model.safetensors"), tensors)
    call = calls_of(FAMILIES / "gpt2")[0]
    assert greedy(weft.models.CausalModel.from_pretrained(folder), call["ids"], 24) == call["greedy"]


def test_long_texts_turn_by_other_frequencies(tmp_path):
    """LongRope: a text that becomes long while it is written is what it is where it is long from the start."""
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0 + 0.1 * i for i in range(8)],
        "long_factor": [1.5 + 0.3 * i for i in range(8)],
        "original_max_position_embeddings": 16,
    }
    changes = {"rope_parameters": rope, "original_max_position_embeddings": 16}
    folder = copy_of(FAMILIES / "phi3", tmp_path / "model", changes)
    model = weft.models.CausalModel.from_pretrained(folder)
    ids = calls_of(FAMILIES / "phi3")[1]["ids"]
    context = weft.models.Context()
    for count in (6, 15, 16, 17):
        for draft in (None, "prompt-lookup"):
            stream = model.stream(
                ids[:count], max_new_tokens=24, ignore_eos=True, draft=draft, context=context
            )
            for _ in stream:
                pass
            tokens = stream.tokens
            for length in range(count, len(tokens)):
                row = model(tokens[:length], model.make_cache()).numpy()[0]
                assert row.argmax() == tokens[length]


def quantized_folder_says_the_same(folder, target):
    ids = calls_of(FAMILIES / "qwen2")[1]["ids"]
    command = [sys.executable, "-m", "weft", "quantize", str(folder), str(target), "--scheme", "int8"]
    subprocess.run(command, check=True, capture_output=True)
    written = weft.models.Llama.from_pretrained(target)
    loaded = weft.models.Llama.from_pretrained(folder, quantize="int8")
    assert written.config == loaded.config
    logits = [model(ids, model.make_cache(), all_logits=True).numpy() for model in (written, loaded)]
    assert np.array_equal(*logits)
    assert greedy(written, ids, 24) == greedy(loaded, ids, 24)


LIE_ON_THEIR_SIDE = ("gpt2", "gpt_oss", "llama4_text")


@pytest.mark.parametrize(
    "folder", [folder for folder in FOLDERS if folder.name not in LIE_ON_THEIR_SIDE], **by_name
)
def test_quantized_folders(folder, tmp_path):
    """What `weft quantize` writes is read as what it was made from."""
    quantized_folder_says_the_same(folder, tmp_path / "quantized")


@pytest.mark.parametrize("name, changes, windows, rope", OF_OTHER_MAKES[:11], ids=range(11))
def test_quantized_folders_of_other_configurations(name, changes, windows, rope, tmp_path):
    folder = copy_of(FAMILIES / name, tmp_path / "model", changes)
    quantized_folder_says_the_same(folder, tmp_path / "quantized")


WITHOUT_GPTQ = {"deepseek_v3", "gpt_oss", "llama4_text", "mixtral", "olmoe", "qwen3_moe"}


@pytest.mark.parametrize(
    "folder",
    [f for f in FOLDERS if f.name not in LIE_ON_THEIR_SIDE and f.name not in WITHOUT_GPTQ],
    **by_name,
)
def test_gptq(folder, tmp_path):
    """Outputs of the text that it was given are closer than those of weights rounded to nearest."""
    text = "the cat sat on the mat and the dog said again that the train was late " * 8
    (tmp_path / "text").write_text(text)
    options = ["--scheme", "int4-g32", "--gptq", "--calibration", tmp_path / "text"]
    command = [sys.executable, "-m", "weft", "quantize", folder, tmp_path / "quantized", *options]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    load_model = weft.models.CausalModel.from_pretrained
    exact, rounded = load_model(folder), load_model(folder, quantize="int4-g32", activations="float32")
    quantized = load_model(tmp_path / "quantized", activations="float32")
    ids = exact.tokenizer.encode(text)[:60]
    logits = [
        model(ids, model.make_cache(), all_logits=True).numpy() for model in (exact, rounded, quantized)
    ]
    assert np.square(logits[2] - logits[0]).mean() < np.square(logits[1] - logits[0]).mean()


@pytest.mark.parametrize("name", ["mixtral", "olmoe", "qwen3_moe"])
def test_gptq_is_not_for_experts(name, tmp_path):
    (tmp_path / "text").write_text("the cat sat")
    options = ["--scheme", "int4-g32", "--gptq", "--calibration", tmp_path / "text"]
    command = [sys.executable, "-m", "weft", "quantize", FAMILIES / name, tmp_path / "quantized", *options]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert result.returncode != 0 and "GPTQ is for models of attention and an MLP" in result.stderr


# ---- what the generation's configuration adds --------------------------------------------------------------
def test_end_tokens_of_the_generation_config(tmp_path):
    folder = copy_of(FAMILIES / "qwen2", tmp_path / "model", {"eos_token_id": None})
    call = calls_of(FAMILIES / "qwen2")[1]
    ids, expected = call["ids"], call["greedy"]
    for end, count in ((expected[1], 1), ([expected[2], expected[1]], 1), ([expected[2]], 2), (300, 24)):
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": end}))
        model = weft.models.Llama.from_pretrained(folder)
        assert model.config["eos_token_id"] == (end if isinstance(end, list) else [end])
        stream = model.stream(ids, max_new_tokens=24)
        list(stream)
        assert stream.stats["generated_tokens"] == count
        assert stream.finish_reason == ("end_token" if count < 24 else "length")
    (folder / "generation_config.json").write_text('{"eos_token_id": 300, "suppress_tokens": [4]}')
    with pytest.raises(ValueError, match=r"generation_config.json': 'suppress_tokens' with the value \[4\]"):
        weft.models.Llama.from_pretrained(folder)
