"""A model's files that are not what they should be, before it is loaded and while it is served."""

import os
import pathlib
import shutil
import signal

import pytest
import serving
import weft.models

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = SHARED / "stories260k"
QWEN2 = SHARED / "causal_lms" / "qwen2"
pytestmark = pytest.mark.skipif(
    not STORIES.is_dir() or not QWEN2.is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)
POINTER = (
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"
)


def copy(source, target, *files):
    target.mkdir(exist_ok=True)
    for file in files or [path.name for path in source.iterdir()]:
        (target / file).write_bytes((source / file).read_bytes())
    return target


@pytest.mark.parametrize(
    "source, file",
    [
        (QWEN2, file)
        for file in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json")
    ]
    + [(STORIES, file) for file in ("params.json", "consolidated.00.pth", "tokenizer.model")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_pointers_of_git_lfs(source, file, tmp_path):
    folder = copy(source, tmp_path / "model")
    if file in ("params.json", "consolidated.00.pth"):
        (folder / "config.json").unlink()
    (folder / file).write_text(POINTER)
    with pytest.raises(RuntimeError, match=f"{file}': this is a pointer that Git LFS left.*git lfs pull"):
        weft.models.Llama.from_pretrained(folder)


def test_a_server_whose_model_is_cut_off_names_the_file(tmp_path):
    folder = copy(QWEN2, tmp_path / "model")
    server = serving.Server("-m", str(folder), "--name", "cut")
    body = {"max_tokens": 4, "temperature": 0, "ignore_eos": True}
    assert server.complete(prompt="Once", **body)
    os.truncate(folder / "model.safetensors", 4096)
    with pytest.raises((ConnectionError, OSError, serving.http.client.HTTPException)):
        for token in range(320):
            server.complete(prompt=[token], **body)
    out, error = server.process.communicate(timeout=60)
    assert server.process.returncode == -signal.SIGBUS
    assert f"{folder}/model.safetensors': the file has become shorter while it was in use" in error


def test_a_server_whose_model_is_removed_goes_on(tmp_path):
    folder = copy(QWEN2, tmp_path / "model")
    with serving.serving("-m", str(folder)) as server:
        body = {"prompt": list(range(64, 96)), "max_tokens": 30, "temperature": 0, "ignore_eos": True}
        before = server.complete(**body)["choices"][0]["text"]
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "model.safetensors").write_text("another file")
        assert server.complete(**body)["choices"][0]["text"] == before
