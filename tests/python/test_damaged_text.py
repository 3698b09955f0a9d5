"""Bytes that are no UTF-8 in files, wherever they are echoed: a weft error with printable text, never Python's own
UnicodeDecodeError (which is a ValueError, so that a test for ValueError alone does not see it)."""

import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess
import zipfile

import pytest
import weft
import weft.models

DATA = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "../shared/data"))
STORIES = DATA / "stories260k"
needs_data = pytest.mark.skipif(not STORIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
COMMAND = pathlib.Path(weft.__file__).parent / "bin" / "weft"
BYTES = [b"\xff", b"\x80", b"\xc3", b"\xed\xa0\x80", b"\x1b[31m", b"\x00"]
LONGEST = 8000  # characters of a message


def check_message(call, what):
    """A call that may fail: with an error of weft's, in text that can be printed."""
    try:
        call()
    except UnicodeError as error:
        pytest.fail(f"{what}: {type(error).__name__}: {error}")
    except (ValueError, RuntimeError, TypeError, IndexError, OSError, NotImplementedError) as error:
        text = str(error)
        text.encode()
        assert len(text) < LONGEST, f"{what}: a message of {len(text)} characters"


def positions(text, count=40):
    """Places of printable characters, spread over the text."""
    found = [i for i, byte in enumerate(text) if 0x20 < byte < 0x7F]
    return found[:: max(1, len(found) // count)]


def damaged(text):
    """The text with each of BYTES in place of a character, at places spread over it, and inserted."""
    for at in positions(text):
        for bad in BYTES[:3]:
            yield f"byte {at} is {bad!r}", text[:at] + bad + text[at + 1 :]
    for at in positions(text, 10):
        for bad in BYTES[3:]:
            yield f"{bad!r} before byte {at}", text[:at] + bad + text[at:]


def entries_of(path):
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def write_zip(path, entries):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)


CODE = """class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  w : Tensor
  word : str
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    if torch.eq(self.word, "abc"):
      ops.prim.RaiseException("a text", "builtins.ValueError")
    return torch.add(x, self.w)
"""


def module_archive(tmp_path):
    class M(weft.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = weft.nn.Parameter(weft.ones(2))
            self.word = "some text"

        def forward(self, x):
            if self.word == "abc":
                raise ValueError("a text")
            return x + self.w

    weft.jit.save(weft.jit.script(M()), str(tmp_path / "m.pt"))
    return tmp_path / "m.pt"


def use(module):
    """What shows the names and texts of a module."""
    repr(module), module.code, module.graph, list(module.state_dict()), getattr(module, "word", None)
    module(weft.ones(2))


def test_script_archives(tmp_path):
    entries = entries_of(module_archive(tmp_path))
    path = tmp_path / "damaged.pt"
    for name, text in entries.items():
        if not name.endswith((".py", ".pkl", "version", "byteorder")):
            continue
        for what, bad in damaged(text):
            write_zip(path, entries | {name: bad})
            check_message(lambda: use(weft.jit.load(str(path))), f"{name}: {what}")


def test_saved_values(tmp_path):
    weft.save({"weight": weft.ones(2), "name": "a text", "list": ["x", 1.5]}, str(tmp_path / "v.pt"))
    entries = entries_of(tmp_path / "v.pt")
    path = tmp_path / "damaged.pt"
    for name, text in entries.items():
        if name.endswith((".pkl", "version", "byteorder")):
            for what, bad in damaged(text):
                write_zip(path, entries | {name: bad})
                check_message(lambda: repr(weft.load(str(path))), f"{name}: {what}")


def test_names_of_entries(tmp_path):
    whole = module_archive(tmp_path).read_bytes()
    path = tmp_path / "damaged.pt"
    for word in (b"data.pkl", b"code/__torch__", b"constants.pkl", b"version"):
        for bad in (b"\xff", b"\x80", b"\x1b"):
            text = whole.replace(word, bad + word[1:])  # in the entry and in the directory
            path.write_bytes(text)
            check_message(lambda: use(weft.jit.load(str(path))), f"{word!r} with {bad!r}")


def safetensors(header, data=b"\0" * 8):
    return struct.pack("<Q", len(header)) + header + data


def test_safetensors(tmp_path):
    header = json.dumps(
        {
            "__metadata__": {"weft.quantization": "none"},
            "some.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        }
    ).encode()
    path = tmp_path / "a.safetensors"
    long = b'"' + b"x" * 100_000 + b'"'
    for what, bad in [
        *damaged(header),
        ("long", header.replace(b'"some.weight"', long).replace(b"F32", b"F33")),
    ]:
        path.write_bytes(safetensors(bad))
        check_message(lambda: weft.models.load_safetensors(str(path)), what)


def test_arrays(tmp_path):
    import numpy as np

    np.savez(tmp_path / "x.npz", **{"some name": np.ones(2), "other": np.array("text")})
    entries = entries_of(tmp_path / "x.npz")
    model = module_archive(tmp_path)
    (tmp_path / "damaged.npz").write_bytes(b"")
    for name, text in list(entries.items())[:1]:
        for i, (what, bad) in enumerate(damaged(text)):
            if i % 9 == 0:  # each is a process
                write_zip(tmp_path / "damaged.npz", entries | {name: bad})
                done = subprocess.run(
                    [COMMAND, "run", model, "--input", tmp_path / "damaged.npz"], capture_output=True
                )
                error = done.stderr.decode()
                assert done.returncode == 1 and error.startswith("weft: ") and "\x1b" not in error, what


@needs_data
@pytest.mark.parametrize("file", ["config.json", "params.json", "model.safetensors.index.json"])
def test_model_folders(file, tmp_path):
    for name in ("config.json", "params.json", "consolidated.00.pth", "model.safetensors"):
        if (STORIES / name).exists():
            shutil.copy(STORIES / name, tmp_path / name)
    if file == "params.json":
        (tmp_path / "config.json").unlink()
    if file.endswith("index.json"):
        (tmp_path / file).write_text(json.dumps({"weight_map": {"model.norm.weight": "model.safetensors"}}))
    text = (tmp_path / file).read_bytes()
    for what, bad in damaged(text):
        (tmp_path / file).write_bytes(bad)
        check_message(lambda: weft.models.Llama.from_pretrained(tmp_path), what)


TOKENIZER = {
    "version": "1.0",
    "added_tokens": [{"id": 4, "content": "<s>", "special": True}],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": ["a b"]},
}


def test_tokenizer_json(tmp_path):
    path = tmp_path / "tokenizer.json"
    text = json.dumps(TOKENIZER).encode()
    path.write_bytes(text)
    assert weft.models.Tokenizer.open(str(path)).encode("ab")
    for what, bad in damaged(text):
        path.write_bytes(bad)
        check_message(lambda: weft.models.Tokenizer.open(str(path)).encode("abc <s>"), what)
    for key, value in [("type", "Nothing\u0001" * 1000), ("behavior", "x" * 100_000)]:
        path.write_text(json.dumps(TOKENIZER | {"pre_tokenizer": TOKENIZER["pre_tokenizer"] | {key: value}}))
        check_message(lambda: weft.models.Tokenizer.open(str(path)), key)


def test_tiktoken(tmp_path):
    path = tmp_path / "tokenizer.model"
    text = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))
    path.write_bytes(text)
    assert weft.models.Tokenizer.open(str(path)).encode("ab")
    for what, bad in damaged(text):
        path.write_bytes(bad)
        check_message(lambda: weft.models.Tokenizer.open(str(path)).encode("ab"), what)


@needs_data
def test_sentencepiece(tmp_path):
    path = tmp_path / "tokenizer.model"
    text = (STORIES / "tokenizer.model").read_bytes()
    for what, bad in damaged(text):
        path.write_bytes(bad)
        check_message(lambda: weft.models.Tokenizer.open(str(path)).encode("Once upon"), what)


def test_texts_of_callers():
    """Text that is no UTF-8 (a lone surrogate) among the arguments."""
    for call in (
        lambda: weft.ones(2).to("\udcff"),
        lambda: weft.device("\udcff"),
        lambda: weft.load("\udcff"),
        lambda: weft.jit.load("\udcff"),
        lambda: weft.models.Llama.random("\udcff"),
    ):
        with pytest.raises((ValueError, TypeError, OSError)) as raised:
            call()
        assert not isinstance(raised.value, UnicodeDecodeError)
