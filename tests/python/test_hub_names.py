"""Models by their names on Hugging Face's hub, from the cache that huggingface_hub keeps (made here)."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import serving
import weft.models

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES, GGUF = SHARED / "stories260k", SHARED / "gguf"
pytestmark = pytest.mark.skipif(not STORIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")


def add(hub, name, files, revision="main"):
    """As huggingface_hub lays files out: blobs, and links to them in a snapshot that a reference names."""
    folder = hub / ("models--" + name.replace("/", "--"))
    snapshot = folder / "snapshots" / f"c0ffee-{revision}"
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / revision).write_text(snapshot.name)
    for file in files:
        (snapshot / file.name).symlink_to(file)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    hub = tmp_path / "hub"
    add(hub, "tiny/stories", list(STORIES.iterdir()))
    return hub


def generate(model, *more):
    command = [
        sys.executable,
        "-m",
        "weft",
        "generate",
        "-m",
        str(model),
        "-p",
        "Once",
        "--max-new-tokens",
        "6",
    ]
    return subprocess.run([*command, "--json", *more], capture_output=True, text=True, timeout=120)


def text(model, *more):
    run = generate(model, *more)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["text"]


@pytest.mark.parametrize("variable", [*VARIABLES, "HOME"])
def test_where_it_is_looked_for(variable, hub, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    place = {"HF_HOME": "", "XDG_CACHE_HOME": "huggingface", "HOME": ".cache/huggingface"}.get(variable)
    if place is None:
        monkeypatch.setenv(variable, str(hub))
    else:
        home = tmp_path / "other"
        (home / place).mkdir(parents=True)
        (home / place / "hub").symlink_to(hub)
        monkeypatch.setenv(variable, str(home))
    assert weft.models.Tokenizer.open("tiny/stories").encode("Once") == weft.models.Tokenizer.open(
        str(STORIES)
    ).encode("Once")


def test_the_first_variable_counts(hub, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    with pytest.raises(RuntimeError, match=f"cache '{tmp_path}/empty'.*does not download"):
        weft.models.Tokenizer.open("tiny/stories")
    monkeypatch.setenv("HF_HUB_CACHE", "")  # as if it were not set
    weft.models.Tokenizer.open("tiny/stories")
    monkeypatch.setenv("HF_HUB_CACHE", "~/hub")
    monkeypatch.setenv("HOME", str(tmp_path))
    weft.models.Tokenizer.open("tiny/stories")


def test_commands(hub):
    assert text("tiny/stories") == text(STORIES)
    with serving.serving("-m", "tiny/stories") as server:
        assert server.complete(prompt="Once", max_tokens=3)["model"] == "stories"


def test_revisions(hub):
    add(hub, "tiny/other", list(STORIES.iterdir()), "v2")
    assert text("tiny/other@v2") == text("tiny/other@c0ffee-v2") == text(STORIES)
    run = generate("tiny/other")
    assert run.returncode == 1 and "models--tiny--other' has no revision 'main'" in run.stderr


def test_gguf_files(hub):
    add(hub, "tiny/one", [GGUF / "stories260k-q8_0.gguf"])
    add(hub, "tiny/many", [GGUF / "stories260k-q8_0.gguf", GGUF / "stories260k-f32.gguf"])
    expected = text(GGUF / "stories260k-q8_0.gguf")
    assert text("tiny/one") == text("tiny/many/stories260k-q8_0.gguf") == expected
    run = generate("tiny/many")
    assert run.returncode == 1
    assert "several GGUF files: name one of stories260k-f32.gguf, stories260k-q8_0.gguf" in run.stderr
    run = generate("tiny/many/none.gguf")
    assert run.returncode == 1 and "has no such file" in run.stderr


@pytest.mark.parametrize(
    "name",
    ["../stories", "a/b/c", "/tiny/stories", "tiny/..", "tiny stories", "tiny/", "@v", ".", "tiny/stories@"],
)
def test_what_is_no_name(name, hub, monkeypatch):
    monkeypatch.chdir(hub)
    with pytest.raises(RuntimeError):
        weft.models.Tokenizer.open(name)


def test_a_folder_comes_first(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "stories").mkdir()
    with pytest.raises(RuntimeError, match="no tokenizer here"):
        weft.models.Tokenizer.open("tiny/stories")
