"""Checksums of archives: weft inspect --verify, and on request when a file is loaded."""

import io
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import weft
from support.tiers import long_but

STORIES = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "")) / "stories260k"
needs_stories = pytest.mark.skipif(not STORIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "weft", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


class Network(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = weft.nn.Linear(8, 16), weft.nn.Linear(16, 4)

    def forward(self, x):
        return self.second(weft.nn.functional.relu(self.first(x)))


@pytest.fixture(scope="module")
def module_bytes():
    buffer = io.BytesIO()
    weft.jit.save(weft.jit.script(Network()), buffer, _extra_files={"note.txt": "hello"})
    return buffer.getvalue()


@pytest.fixture(scope="module")
def values_bytes():
    buffer = io.BytesIO()
    weft.save({"a": weft.arange(100), "b": [weft.ones((3,)), "text"]}, buffer)
    return buffer.getvalue()


def entries(contents):
    """(name below the top folder, where its bytes begin, their number) of all that have bytes."""
    found = []
    for info in zipfile.ZipFile(io.BytesIO(contents)).infolist():
        name_length, extra_length = struct.unpack_from("<HH", contents, info.header_offset + 26)
        start = info.header_offset + 30 + name_length + extra_length
        if info.compress_size:
            found.append((info.filename.partition("/")[2], start, info.compress_size))
    return found


def damaged(contents, start, size, where):
    """With one bit of an entry flipped, in its first, middle or last byte: the lowest, which deflate uses up to its end."""
    at = start + {"first": 0, "middle": size // 2, "last": size - 1}[where]
    return contents[:at] + bytes([contents[at] ^ 1]) + contents[at + 1 :]


def load_module(source):
    return weft.jit.load(source, verify=True)


def load_values(source):
    return weft.load(io.BytesIO(source) if isinstance(source, bytes) else source, verify=True)


CASES = [("module_bytes", load_module), ("values_bytes", load_values)]


@pytest.mark.parametrize("kind, load", CASES)
def test_good_files_load(request, tmp_path, kind, load):
    contents = request.getfixturevalue(kind)
    (tmp_path / "m.pt").write_bytes(contents)
    assert load(contents) is not None and load(tmp_path / "m.pt") is not None


@pytest.mark.parametrize("where", long_but(["first", "middle", "last"], "last"))
@pytest.mark.parametrize("kind, load", CASES)
def test_every_damaged_entry_is_named(request, tmp_path, kind, load, where):
    contents = request.getfixturevalue(kind)
    assert any(name.startswith("data/") for name, _, _ in entries(contents))
    for name, start, size in entries(contents):
        wrong = damaged(contents, start, size, where)
        (tmp_path / "m.pt").write_bytes(wrong)
        for source in (wrong, tmp_path / "m.pt"):
            with pytest.raises(ValueError, match=f"'{name}'"):
                load(source)
        for arguments in ([], ["--json"]):
            done = command("inspect", "--verify", *arguments, tmp_path / "m.pt")
            assert done.returncode == 1
            assert done.stderr.startswith("weft: archive") and f"'{name}'" in done.stderr
            assert len(done.stderr.splitlines()) == 1
            if arguments and name not in ("version", ".data/version"):  # else it cannot be opened
                assert json.loads(done.stdout)["verified"]["damaged"] == [name]


@pytest.mark.parametrize("kind, load", CASES)
def test_all_damaged_entries_are_named(request, tmp_path, kind, load):
    contents = request.getfixturevalue(kind)
    tensors = [entry for entry in entries(contents) if entry[0].startswith("data/")]
    for _, start, size in tensors:
        contents = damaged(contents, start, size, "middle")
    (tmp_path / "m.pt").write_bytes(contents)
    names = sorted(name for name, _, _ in tensors)
    with pytest.raises(ValueError) as error:
        load(contents)
    assert all(f"'{name}'" in str(error.value) for name in names) and len(names) > 1
    done = command("inspect", "--verify", "--json", tmp_path / "m.pt")
    assert json.loads(done.stdout)["verified"]["damaged"] == names


def test_mapped_tensors_are_not_compared_unless_asked(tmp_path, module_bytes):
    """What is documented: a file is mapped, not read."""
    name, start, size = next(entry for entry in entries(module_bytes) if entry[0].startswith("data/"))
    (tmp_path / "m.pt").write_bytes(damaged(module_bytes, start, size, "first"))
    assert weft.jit.load(tmp_path / "m.pt") is not None
    assert command("inspect", tmp_path / "m.pt").returncode == 0


def test_the_command_says_what_it_compared(tmp_path, module_bytes):
    (tmp_path / "m.pt").write_bytes(module_bytes)
    done = command("inspect", "--verify", tmp_path / "m.pt")
    assert done.returncode == 0, done.stderr
    assert "verified: the checksums (CRC-32) of all" in done.stdout
    shown = json.loads(command("inspect", "--verify", "--json", tmp_path / "m.pt").stdout)
    assert shown["verified"]["damaged"] == [] and shown["verified"]["entries"] >= 6
    assert shown["verified"]["bytes"] > 4 * (8 * 16 + 16 * 4)
    assert "verified" not in json.loads(command("inspect", "--json", tmp_path / "m.pt").stdout)


def test_safetensors_have_no_checksums(tmp_path):
    path = tmp_path / "m.safetensors"
    weft.models.save_safetensors(str(path), {"a": weft.ones((3,))})
    done = command("inspect", "--verify", path)
    assert done.returncode == 1 and "safetensors files hold no checksums to verify" in done.stderr
    assert "no archive" in command("inspect", path).stderr


@needs_stories
def test_checkpoints(tmp_path):
    with pytest.raises(ValueError, match="safetensors files hold no checksums"):
        weft.models.Llama.from_pretrained(STORIES, verify=True)
    for name in ("params.json", "consolidated.00.pth", "tokenizer.model"):
        shutil.copy(STORIES / name, tmp_path / name)
    path = tmp_path / "consolidated.00.pth"
    path.chmod(0o644)
    assert command("inspect", "--verify", path).returncode == 0
    model = weft.models.Llama.from_pretrained(tmp_path, verify=True)
    assert model.config["num_hidden_layers"] > 0
    contents = path.read_bytes()
    name, start, size = max(entries(contents), key=lambda entry: entry[2])
    path.write_bytes(damaged(contents, start, size, "middle"))
    with pytest.raises(ValueError, match=f"consolidated.00.pth.*'{name}'"):
        weft.models.Llama.from_pretrained(tmp_path, verify=True)
    assert np.isfinite(np.asarray(weft.load(path)["tok_embeddings.weight"])).size > 0
