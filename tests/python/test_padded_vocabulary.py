"""Vocabularies that are larger than the tokenizer's: rows that pad them are never written, and mean nothing."""

import json
import os
import pathlib

import pytest
import serving
import weft.models

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
QWEN2 = SHARED / "causal_lms" / "qwen2"
pytestmark = pytest.mark.skipif(not QWEN2.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")


@pytest.fixture(scope="module")
def padded(tmp_path_factory):
    """Qwen2 as it is published: 320 rows, and 300 tokens."""
    folder = tmp_path_factory.mktemp("padded")
    for file in QWEN2.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    model = tokenizer["model"]
    model["vocab"] = {token: id for token, id in model["vocab"].items() if id < 300}
    model["merges"] = [pair for pair in model["merges"] if "".join(pair) in model["vocab"]]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.fixture(scope="module")
def server(padded):
    with serving.serving("-m", str(padded)) as server:
        yield server


PADDING = [300, 319, 301]
SAMPLING = [
    {"temperature": 0},
    {"temperature": 1},
    {"temperature": 100},
    {"temperature": 100, "top_k": 310},
    {"temperature": 100, "top_p": 0.999},
    {"temperature": 100, "min_p": 0.001},
    {"temperature": 0, "repetition_penalty": 1.5},
]


@pytest.mark.parametrize("sampling", SAMPLING, ids=str)
def test_padding_is_never_written(padded, server, sampling):
    model = weft.models.Llama.from_pretrained(padded)
    for draft in (None, "prompt-lookup", model):
        stream = model.stream(
            [64, *PADDING, 65, *PADDING, 64], max_new_tokens=60, ignore_eos=True, draft=draft, **sampling
        )
        text = "".join(stream)
        assert max(stream.tokens[9:]) < 300
        assert text == model.tokenizer.decode(stream.tokens[9:])
    for chat in (False, True):
        path = serving.CHAT if chat else serving.COMPLETIONS
        body = {"messages": [{"role": "user", "content": "Once"}]} if chat else {"prompt": PADDING}
        body |= {"logprobs": True, "top_logprobs": 20} if chat else {"logprobs": 20}
        body |= {"max_tokens": 60, "seed": 3, "ignore_eos": True} | sampling
        found = server.complete(path, **body)["choices"][0]["logprobs"]
        assert len(found["content"] if chat else found["tokens"]) == 60
    assert server.ask("GET", "/health")[0] == 200


def test_padding_is_read_as_nothing(server):
    body = {"prompt": [64, *PADDING, 65], "max_tokens": 1, "echo": True, "temperature": 0}
    assert server.complete(**body)["choices"][0]["text"][:2] == weft.models.Tokenizer.open(str(QWEN2)).decode(
        [64, 65]
    )
    assert server.ask("POST", serving.COMPLETIONS, {"prompt": [320]})[0] == 400
