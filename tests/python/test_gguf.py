"""GGUF files give the logits and tokens that float32 arithmetic on their dequantized weights gives."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import gguf_families
import gguf_files
import numpy as np
import pytest
import weft
import weft.models

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
FILES = SHARED / "gguf"
FAMILIES = SHARED / "causal_lms"
needs_files = pytest.mark.skipif(not FILES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
EXPECTED = json.loads((FILES / "expected.json").read_text()) if FILES.is_dir() else {}
REFUSED = ["random-q2_k", "random-q3_k"]
NAMES = [name for name in EXPECTED if name not in REFUSED]
load = weft.models.CausalModel.from_pretrained


def open_tokenizer(path):
    return weft.models.Tokenizer.open(str(path))


def greedy(model, ids, count):
    stream = model.stream(ids, max_new_tokens=count, ignore_eos=True)
    for _ in stream:
        pass
    return stream.tokens[len(ids) :]


def logits_of(model, ids):
    return model(ids, model.make_cache(), all_logits=True).numpy()


@needs_files
@pytest.mark.parametrize("execution", ["eager", "static", "compiled"])
@pytest.mark.parametrize("name", NAMES)
def test_logits_and_tokens(name, execution):
    expected = EXPECTED[name]
    ids = expected["ids"]
    model = load(FILES / f"{name}.gguf", execution=execution, cache_dtype="float32")
    np.testing.assert_allclose(logits_of(model, ids)[-1], expected["logits_last"], rtol=1e-3, atol=1e-3)
    assert greedy(model, ids, 24) == expected["greedy"]


# Few rows, the most of those, and many: each has kernels of its own, and each kind of inputs.
@needs_files
@pytest.mark.parametrize("activations", ["float32", "int16", "auto", "int8"])
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_every_number(name, activations):
    ids = (EXPECTED[name]["ids"] * 4)[:24]
    exact = logits_of(
        load(FILES / f"{name}.gguf", activations="float32", cache_dtype="float32", execution="eager"), ids
    )
    model = load(FILES / f"{name}.gguf", activations=activations, cache_dtype="float32")
    for pieces in ([24], [1] * 24, [2, 3, 4, 5, 10], [8, 16], [9, 15]):
        if activations == "auto" and name.endswith("bf16") and max(pieces) > 16:
            continue  # rounded: the next test
        cache, rows, at = model.make_cache(), [], 0
        for count in pieces:
            rows.append(model(ids[at : at + count], cache, all_logits=True).numpy())
            at += count
        bound = 0.2 if activations == "int8" else 1e-3
        np.testing.assert_allclose(np.concatenate(rows), exact, rtol=bound, atol=bound)


@needs_files
@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("bf16")])
def test_many_rows_of_bfloat16_are_rounded(name):
    ids = (EXPECTED[name]["ids"] * 4)[:24]
    default, named, exact = (
        logits_of(load(FILES / f"{name}.gguf", activations=activations), ids)
        for activations in ("auto", "bfloat16", "float32")
    )
    assert np.array_equal(default, named)
    np.testing.assert_array_equal(default.argmax(-1), exact.argmax(-1))


ON_OTHER_VECTORS = """
import sys, json, numpy as np, weft.models
files, out = sys.argv[1:]
expected = json.load(open(files + "/expected.json"))
rows = {}
for name in [name for name in expected if name not in ("random-q2_k", "random-q3_k")]:
    ids = (expected[name]["ids"] * 4)[:24]
    for activations in ("float32", "int16", "int8"):
        model = weft.models.CausalModel.from_pretrained(f"{files}/{name}.gguf", activations=activations, cache_dtype="float32")
        cache = model.make_cache()
        parts = [model(ids[:3], cache, all_logits=True).numpy(), model(ids[3:], cache, all_logits=True).numpy()]
        rows[f"{name} {activations}"] = np.concatenate(parts)
np.savez(out, **rows)
"""


@needs_files
@pytest.mark.parametrize("vector_bytes", ["16", "32"])
def test_other_instruction_sets(vector_bytes, tmp_path):
    out = tmp_path / "rows.npz"
    environment = os.environ | {"WEFT_VECTOR_BYTES": vector_bytes}
    subprocess.run(
        [sys.executable, "-c", ON_OTHER_VECTORS, str(FILES), str(out)], env=environment, check=True
    )
    rows = np.load(out)
    for name in NAMES:
        ids = (EXPECTED[name]["ids"] * 4)[:24]
        exact = logits_of(load(FILES / f"{name}.gguf", activations="float32", cache_dtype="float32"), ids)
        for activations, bound in (("float32", 1e-4), ("int16", 1e-3), ("int8", 0.2)):
            np.testing.assert_allclose(rows[f"{name} {activations}"], exact, rtol=bound, atol=bound)


@needs_files
@pytest.mark.parametrize("name", NAMES)
def test_weights_are_not_widened(name):
    path = FILES / f"{name}.gguf"
    model = load(path)
    matrices = sum(
        len(data)
        for tensor, (_, shape, data) in gguf_files.read(path)[1].items()
        if len(shape) > 1 and tensor != "token_embd.weight"
    )
    head = gguf_files.read(path)[1].get("output.weight") is None
    embedding = len(gguf_files.read(path)[1]["token_embd.weight"][2]) if head else 0
    # Panels of 64 outputs are filled up: of small matrices that is a part.
    padding = 1.3 if "stories" in name or "qwen3" in name else 1.001
    assert model.bytes_per_token <= (matrices + embedding) * padding * 18 / 17


@needs_files
@pytest.mark.parametrize("name", REFUSED)
def test_other_types_are_named(name):
    kind = name.removeprefix("random-").upper()
    with pytest.raises(
        ValueError, match=f"elements of type {kind}, which weft does not compute with; it has F32, F16, Q4_0"
    ):
        load(FILES / f"{name}.gguf")


@needs_files
def test_tokenizers():
    stories = open_tokenizer(FILES / "stories260k-f32.gguf")
    folder = open_tokenizer(SHARED / "stories260k")
    for text in ("Once upon a time", " two  spaces", "Grüße, 漢\n", "", "<s> a </s>"):
        assert stories.encode(text) == folder.encode(text)
        assert stories.decode(stories.encode(text)) == folder.decode(folder.encode(text))
    assert (stories.bos_id, stories.eos_ids) == (folder.bos_id, folder.eos_ids)
    qwen = open_tokenizer(FILES / "qwen3-f32.gguf")
    family = open_tokenizer(FAMILIES / "qwen3")
    for text in ("Once upon a time", " two  spaces", "Grüße, 漢\n 1234", "", "<|user|>a"):
        assert qwen.encode(text, add_bos=False) == family.encode(text, add_bos=False)
        assert qwen.decode(family.encode(text)) == family.decode(family.encode(text))
    assert qwen.encode("a")[:1] != [0]  # add_bos_token is false


@needs_files
def test_commands():
    path = FILES / "stories260k-q8_0.gguf"
    run = [sys.executable, "-m", "weft"]
    arguments = ["-p", "Once upon a time", "-n", "12", "--json"]
    result = subprocess.run(
        [*run, "generate", "-m", path, *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    model = load(path)
    assert answer["token_ids"] == greedy(model, model.tokenizer.encode("Once upon a time"), 12)
    result = subprocess.run([*run, "inspect", path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "GGUF, Q8_0 (" in result.stdout and "5 of 64" in result.stdout


@needs_files
@pytest.mark.parametrize("quantize", ["int8", "int4-g32"])
def test_other_schemes_from_a_file(quantize):
    expected = EXPECTED["stories260k-f32"]
    model = load(FILES / "stories260k-q8_0.gguf", quantize=quantize)
    assert np.abs(logits_of(model, expected["ids"])[-1] - expected["logits_last"]).mean() < 0.6


CONVERTED = (
    sorted(
        folder
        for folder in FAMILIES.iterdir()
        if json.loads((folder / "config.json").read_text())["model_type"] in gguf_files.ARCHITECTURES
        and folder.name != "llama4_text"  # of chunks that no file can say: see VARIANTS
    )
    if FAMILIES.is_dir()
    else []
)


@needs_files
@pytest.mark.parametrize("folder", CONVERTED, ids=lambda folder: folder.name)
def test_families(folder, tmp_path):
    config = json.loads((folder / "config.json").read_text())
    path = tmp_path / "model.gguf"
    gguf_files.convert(folder, path)
    model, own = load(path), load(folder)
    for call in json.loads((folder / "expected.json").read_text())["calls"]:
        ids = call["ids"]
        assert model.tokenizer.encode(call["prompt"], add_bos=False) == own.tokenizer.encode(
            call["prompt"], add_bos=False
        )
        if config["model_type"] == "mistral" and len(ids) > 8:
            continue  # the writer leaves the window out, as llama.cpp's does
        np.testing.assert_allclose(logits_of(model, ids)[-1], call["logits_last"], rtol=1e-4, atol=1e-4)
        if config["model_type"] != "mistral":
            assert greedy(model, ids, 24) == call["greedy"]


def variant(name, target):
    """A folder of what the shared checkpoints do not have."""
    source, change = gguf_families.VARIANTS[name]
    source = FAMILIES / source
    config = json.loads((source / "config.json").read_text())
    config, tensors = change(config, gguf_files.load(source / "model.safetensors"))
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.safetensors", "expected.json"))
    (target / "config.json").chmod(0o644)
    (target / "config.json").write_text(json.dumps(config))
    weft.models.save_safetensors(
        str(target / "model.safetensors"), {n: weft.from_numpy(np.array(a)) for n, a in tensors.items()}
    )
    return target


@needs_files
@pytest.mark.parametrize("name", gguf_families.VARIANTS)
def test_variants_of_families(name, tmp_path):
    """Files of llama.cpp's kind and of weft's give what the folder gives."""
    folder = variant(name, tmp_path / "model")
    gguf_files.convert(folder, tmp_path / "model.gguf")
    result = quantize(folder, tmp_path / "written.gguf", "--scheme", "f32")
    assert result.returncode == 0, result.stderr
    own, ids = load(folder), list(range(3, 43))
    expected = logits_of(own, ids)
    for file in ("model.gguf", "written.gguf"):
        np.testing.assert_allclose(logits_of(load(tmp_path / file), ids), expected, rtol=1e-4, atol=1e-4)
    ours, theirs = (gguf_files.read(tmp_path / f)[1] for f in ("written.gguf", "model.gguf"))
    assert {n: tuple(shape) for n, (_, shape, _) in ours.items()} == {
        n: tuple(shape) for n, (_, shape, _) in theirs.items()
    }


@needs_files
def test_latent_keys_and_values_in_one_tensor(tmp_path):
    """As older files of DeepSeek's have them; and in blocks, apart, they are as exact as those allow."""
    folder = FAMILIES / "deepseek_v3"
    gguf_files.convert(folder, tmp_path / "apart.gguf")
    metadata, tensors = gguf_files.read(tmp_path / "apart.gguf")
    arrays = {n: np.frombuffer(d, np.float32).reshape(s) for n, (_, s, d) in tensors.items()}
    for name in [n for n in arrays if n.endswith("attn_k_b.weight")]:
        both = [arrays.pop(name).swapaxes(1, 2), arrays.pop(name.replace("k_b", "v_b"))]
        joined = np.concatenate(both, 1)
        arrays[name.replace("k_b", "kv_b")] = joined.reshape(-1, joined.shape[2])
    heads, dim = 4, 24
    metadata |= {"deepseek2.attention.head_count_kv": heads, "deepseek2.attention.key_length": dim}
    metadata["deepseek2.attention.value_length"] = metadata.pop("deepseek2.attention.value_length_mla")
    del metadata["deepseek2.attention.key_length_mla"]
    (tmp_path / "joined.gguf").write_bytes(
        gguf_files.file_bytes(metadata, {n: (a, "F32") for n, a in sorted(arrays.items())})
    )
    ids = list(range(3, 43))
    joined, apart = (logits_of(load(tmp_path / f"{name}.gguf"), ids) for name in ("joined", "apart"))
    assert np.array_equal(joined, apart)


@needs_files
@pytest.mark.parametrize("name", ["llama3_rope", "mixtral", "phi3", "gpt_neox", "gpt2", "gpt_oss"])
@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
def test_families_in_blocks(name, kind, tmp_path):
    gguf_files.convert(FAMILIES / name, tmp_path / "blocks.gguf", kind)
    config = json.loads((FAMILIES / name / "config.json").read_text())
    tensors = gguf_files.converted_tensors(config, gguf_files.load(FAMILIES / name / "model.safetensors"))
    plain = {
        tensor: (
            gguf_files.blocks(a, kind)[1]
            if a.ndim > 1 and a.shape[-1] % 32 == 0 and "gate_inp" not in tensor
            else a,
            "F32",
        )
        for tensor, a in sorted(tensors.items())
    }
    metadata = gguf_files.model_metadata(config, tensors) | gguf_files.tokenizer_metadata(
        FAMILIES / name, config
    )
    # Of experts, which are chosen may change where inputs are rounded.
    activations = "float32" if name == "mixtral" else "auto"
    if name != "llama3_rope":
        (tmp_path / "plain.gguf").write_bytes(gguf_files.file_bytes(metadata, plain))
        expected = logits_of(load(tmp_path / "plain.gguf"), list(range(3, 40)))
        got = logits_of(load(tmp_path / "blocks.gguf", activations=activations), list(range(3, 40)))
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)
    # A matrix of one format beside matrices of another.
    mixed = {t: (tensors[t], kind if "attn_v" in t or "ffn_up." in t else "F32") for t in sorted(tensors)}
    (tmp_path / "mixed.gguf").write_bytes(gguf_files.file_bytes(metadata, mixed))
    same = {t: (gguf_files.blocks(a, kind)[1] if k == kind else a, "F32") for t, (a, k) in mixed.items()}
    (tmp_path / "same.gguf").write_bytes(gguf_files.file_bytes(metadata, same))
    for execution in ("eager", "compiled"):
        model = load(tmp_path / "mixed.gguf", execution=execution, activations=activations)
        got = logits_of(model, list(range(3, 40)))
        expected = logits_of(load(tmp_path / "same.gguf"), list(range(3, 40)))
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


# ---- written files -------------------------------------------------------------------------------
def quantize(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "weft", "quantize", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@needs_files
@pytest.mark.parametrize("folder", CONVERTED, ids=lambda folder: folder.name)
def test_written_families(folder, tmp_path):
    path = tmp_path / "model.gguf"
    result = quantize(folder, path, "--scheme", "f32")
    assert result.returncode == 0, result.stderr
    model, own = load(path), load(folder)
    for call in json.loads((folder / "expected.json").read_text())["calls"]:
        ids = call["ids"]
        assert model.tokenizer.encode(call["prompt"]) == own.tokenizer.encode(call["prompt"])
        np.testing.assert_allclose(logits_of(model, ids)[-1], call["logits_last"], rtol=1e-4, atol=1e-4)
        assert greedy(model, ids, 24) == call["greedy"]


@needs_files
@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
def test_written_blocks(kind, tmp_path):
    """Byte for byte what llama.cpp's reference makes of the weights."""
    result = quantize(FAMILIES / "llama3_rope", tmp_path / "model.gguf", "--scheme", kind.lower())
    assert result.returncode == 0, result.stderr
    config = json.loads((FAMILIES / "llama3_rope" / "config.json").read_text())
    own = gguf_files.converted_tensors(
        config, gguf_files.load(FAMILIES / "llama3_rope" / "model.safetensors")
    )
    written = gguf_files.read(tmp_path / "model.gguf")[1]
    assert set(written) - {"rope_freqs.weight"} == set(own)
    for name, array in own.items():
        number, shape, data = written[name]
        assert tuple(shape) == array.shape
        is_matrix = array.ndim == 2
        assert number == gguf_files.TYPES[kind if is_matrix else "F32"]
        expected = gguf_files.blocks(array, kind)[0] if is_matrix else array.astype(np.float32).tobytes()
        assert data[: len(expected)] == expected


@needs_files
def test_a_written_sentencepiece_tokenizer(tmp_path):
    result = quantize(SHARED / "stories260k", tmp_path / "stories.gguf")
    assert result.returncode == 0, result.stderr
    written, given = (
        open_tokenizer(tmp_path / "stories.gguf"),
        open_tokenizer(FILES / "stories260k-q8_0.gguf"),
    )
    for text in ("Once upon a time", " two  spaces", "Grüße, 漢"):
        assert written.encode(text) == given.encode(text)
    expected = EXPECTED["stories260k-q8_0"]
    model = load(tmp_path / "stories.gguf", cache_dtype="float32")
    np.testing.assert_allclose(
        logits_of(model, expected["ids"])[-1], expected["logits_last"], rtol=2e-2, atol=2e-2
    )
    assert greedy(model, expected["ids"], 24) == expected["greedy"]


@needs_files
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((FAMILIES / "ministral", "x.gguf"), "weft writes no GGUF files of 'ministral' models"),
        ((FAMILIES / "llama4_text", "x.gguf"), "have no way to say the chunk of layer 0"),
        ((FAMILIES / "smollm3", "x.gguf"), "have no way to say how positions turn in layer 1"),
        (
            (FAMILIES / "qwen3", "x.gguf", "--scheme", "int8"),
            "unknown scheme 'int8' of GGUF files; they are bf16, f16",
        ),
        ((FAMILIES / "qwen3", "folder", "--scheme", "q8_0"), "unknown quantization scheme 'q8_0'"),
        ((FILES / "qwen3-f32.gguf", "x.gguf"), "weft quantize reads folders, and this is a GGUF file"),
        ((FAMILIES / "qwen3", "there.gguf"), "is there already"),
        ((FAMILIES / "qwen3", "x.gguf", "--gptq", "--calibration", "a"), "--gptq is for weft's own folders"),
    ],
)
def test_what_is_not_written(arguments, message, tmp_path):
    (tmp_path / "there.gguf").write_text("")
    source, target, *others = arguments
    result = quantize(source, tmp_path / target, *others)
    assert result.returncode != 0 and message in result.stderr
    assert not (tmp_path / "x.gguf").exists()


# ---- damaged files -------------------------------------------------------------------------------
def small(metadata=None, tensors=None, version=3):
    metadata = {"general.architecture": "llama"} if metadata is None else metadata
    tensors = {"a": (np.zeros((2, 32), np.float32), "F32")} if tensors is None else tensors
    return bytearray(gguf_files.file_bytes(metadata, tensors, version))


def changed(at, form, number):
    data = small()
    struct.pack_into("<" + form, data, at, number)
    return bytes(data)


def with_key(key, item):
    embedding = {"token_embd.weight": (np.zeros((2, 32)), "F32")}
    return bytes(small({"general.architecture": "llama", "llama." + key: item}, embedding))


TENSOR = 24 + 8 + len("general.architecture") + 4 + 8 + len("llama")  # where the first tensor's name begins
DAMAGED = {
    "empty": (b"GG", "ends within the first four bytes"),
    "magic": (b"GGML" + bytes(40), "does not begin with 'GGUF'"),
    "version 1": (changed(4, "I", 1), "version 1 is not supported; weft has 2 and 3"),
    "version 9": (changed(4, "I", 9), "version 9 is not supported"),
    "big-endian": (changed(4, ">I"[1:], 3 << 24), "big-endian"),
    "tensors": (changed(8, "Q", 1 << 60), "is said to have 1152921504606846976 tensors"),
    "values": (changed(16, "Q", 1 << 60), "is said to have 1152921504606846976 metadata values"),
    "key": (
        changed(24, "Q", 1 << 62),
        "the key of metadata value 0 is said to have 4611686018427387904 bytes",
    ),
    "kind": (changed(24 + 28, "I", 77), "'general.architecture' has values of kind 77"),
    "text": (changed(24 + 32, "Q", 10_000), "'general.architecture' is said to have 10000 bytes"),
    "name": (changed(TENSOR, "Q", 10_000), "the name of tensor 0 is said to have 10000 bytes"),
    "dims": (changed(TENSOR + 9, "I", 5), "tensor 'a' has 5 dimensions"),
    "no dims": (changed(TENSOR + 9, "I", 0), "tensor 'a' has 0 dimensions"),
    "zero": (changed(TENSOR + 13, "Q", 0), "more elements than a file can have, or none"),
    "huge": (changed(TENSOR + 13, "Q", 1 << 63), "more elements than a file can have, or none"),
    "many": (changed(TENSOR + 13, "Q", 1 << 40), "ends outside the file"),
    "type": (changed(TENSOR + 29, "I", 777), "elements of type 777, which weft does not know"),
    "gap in types": (changed(TENSOR + 29, "I", 4), "elements of type 4, which weft does not know"),
    "offset": (changed(TENSOR + 33, "Q", 7), "its offset 7 is not a multiple of the alignment 32"),
    "far": (changed(TENSOR + 33, "Q", 1 << 40), "ends outside the file"),
    "wrapping": (changed(TENSOR + 33, "Q", (1 << 64) - 32), "ends outside the file"),
    "rows": (
        changed(TENSOR + 13, "Q", 31)[: TENSOR + 29]
        + struct.pack("<I", 8)
        + changed(0, "I", 0x46554747)[TENSOR + 33 :],
        "rows of 31 are not whole blocks of 32 Q8_0",
    ),
    "cut": (bytes(small())[:-40], "ends outside the file"),
    "cut in the middle": (bytes(small())[: TENSOR + 20], "ends within tensor 'a'"),
    "alignment": (bytes(small({"general.alignment": 33})), "general.alignment must be a power of two"),
    "alignment of text": (
        bytes(small({"general.alignment": "a"})),
        "general.alignment must be a power of two",
    ),
    "not text": (bytes(small({b"\xff\xfe": 1})), "the key of metadata value 0 is not UTF-8"),
    "no architecture": (bytes(small({"a": 1})), "no 'general.architecture'"),
    "architecture": (
        bytes(small({"general.architecture": "lama"})),
        "architecture 'lama' is not supported; weft has .*did you mean 'llama'",
    ),
    "no embedding": (bytes(small()), "no tensor 'token_embd.weight'"),
    "another key": (with_key("rope.wings", 2), "weft does not understand 'llama.rope.wings'"),
    "an encoder": (with_key("attention.causal", False), "'llama.attention.causal' is not true"),
    "groups": (with_key("expert_group_count", 4), "'llama.expert_group_count' is 4"),
    "no sizes": (bytes(small(tensors={"token_embd.weight": (np.zeros((2, 32)), "F32")})), "no 'hidden_size'"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_files(what, tmp_path):
    data, message = DAMAGED[what]
    path = tmp_path / "damaged.gguf"
    path.write_bytes(data)
    if not data.startswith(b"GGUF"):
        with pytest.raises(RuntimeError, match="not a folder, and no GGUF file"):
            load(path)
        return
    with pytest.raises(ValueError, match=message) as error:
        load(path)
    assert str(path) in str(error.value)


@needs_files
def test_every_beginning_of_a_file_is_refused(tmp_path):
    data = (FILES / "qwen3-f32.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    for size in [*range(4, 400, 7), *range(400, 20_000, 997), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match="GGUF file"):
            load(path)


@needs_files
@pytest.mark.parametrize(
    ("key", "item", "message"),
    [
        ("tokenizer.ggml.model", "bert", "the tokenizer 'bert' is not supported; weft has llama and gpt2"),
        (
            "tokenizer.ggml.pre",
            "llama-bpee",
            "pre-tokenizer 'llama-bpee' is not supported; .*did you mean 'llama-bpe'",
        ),
        (
            "tokenizer.ggml.bos_token_id",
            5000,
            "'tokenizer.ggml.bos_token_id' is 5000, the vocabulary has 320",
        ),
        ("tokenizer.ggml.token_type", [1, 2], "'tokenizer.ggml.token_type' has 2 entries for 320 tokens"),
        ("tokenizer.ggml.tokens", "abc", "'tokenizer.ggml.tokens' is not a list of texts"),
        ("tokenizer.ggml.merges", ["a"], "merge 0 is not a pair"),
        ("tokenizer.ggml.add_bos_token", 3, "'tokenizer.ggml.add_bos_token' is not a boolean"),
    ],
)
def test_damaged_tokenizers(key, item, message, tmp_path):
    metadata, _ = gguf_files.read(FILES / "qwen3-f32.gguf")
    path = tmp_path / "tokenizer.gguf"
    path.write_bytes(
        gguf_files.file_bytes(metadata | {key: item}, {"a": (np.zeros((2, 32), np.float32), "F32")})
    )
    with pytest.raises(ValueError, match=message):
        open_tokenizer(path)
