"""Special tokens that are written in prompts: text or tokens, of the command, in Python and of the server."""

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
STORIES = str(SHARED / "stories260k")
QWEN2 = str(SHARED / "causal_lms" / "qwen2")
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir() or not pathlib.Path(QWEN2).is_dir(),
    reason="no shared data (WEFT_SHARED_DATA)",
)


def generate(*arguments):
    command = [sys.executable, "-m", "weft", "generate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "folder, text, plain",
    [
        (QWEN2, "<|user|>Once<|assistant|>", "Once"),
        (STORIES, "Once upon</s><s>Once upon", "Once uponOnce upon"),
    ],
    ids=["byte-pair", "sentencepiece"],
)
def test_special_tokens(folder, text, plain):
    def prompt_tokens(*arguments):
        done = generate("-m", folder, "-n", "2", "--json", "-p", text, *arguments)
        return json.loads(done.stdout)["prompt_tokens"]

    tokenizer = weft.models.Tokenizer.open(folder)
    ids = tokenizer.encode(text, special=True)
    assert sum(tokenizer.is_special(id) for id in ids) == 2 + (
        tokenizer.bos_id in ids[:1] and folder == STORIES
    )
    assert tokenizer.decode(ids).replace(" ", "") == plain.replace(" ", "")
    assert prompt_tokens() == len(tokenizer.encode(text)) > len(ids) == prompt_tokens("--special")
    assert not any(tokenizer.is_special(id) for id in tokenizer.encode(text, add_bos=False))
    model = weft.models.Llama.from_pretrained(folder)
    for special in (False, True):
        stream = model.stream(text, max_new_tokens=1, special=special)
        list(stream)
        assert stream.stats["prompt_tokens"] == len(tokenizer.encode(text, special=special))


def test_special_tokens_are_no_matter_of_chats():
    done = generate("-m", STORIES, "--chat", "--special", "-p", "x")
    assert done.returncode != 0 and "--special is for prompts without --chat" in done.stderr


TEXT = "<|user|>Once<|assistant|> upon"


def test_special_tokens_of_completions():
    tokenizer = weft.models.Tokenizer.open(QWEN2)
    ids = tokenizer.encode(TEXT, special=True)
    assert ids[0] == 3 and 4 in ids and len(ids) < len(tokenizer.encode(TEXT))
    with serving.serving("-m", QWEN2) as server:
        body = {"max_tokens": 8, "temperature": 0, "ignore_eos": True}
        expected = server.complete(prompt=ids, **body)
        found = server.complete(prompt=TEXT, **body)
        assert found["choices"][0]["text"] == expected["choices"][0]["text"]
        assert found["usage"] == expected["usage"]
        # What a user writes in a chat is text.
        message = {"messages": [{"role": "user", "content": TEXT}], "max_tokens": 1}
        plain = {"messages": [{"role": "user", "content": "Once upon"}], "max_tokens": 1}
        more = [server.complete(serving.CHAT, **chat)["usage"]["prompt_tokens"] for chat in (message, plain)]
        assert more[0] - more[1] > len(tokenizer.encode("<|user|><|assistant|>")) - 3


def test_add_special_tokens():
    with serving.serving("-m", STORIES) as server:
        count = {}
        for add in (None, True, False):
            body = {"prompt": "Once upon", "max_tokens": 1, "add_special_tokens": add}
            count[add] = server.complete(**body)["usage"]["prompt_tokens"]
        assert count[None] == count[True] == count[False] + 1
        # What stands in the text stays.
        body = {"prompt": "<s>Once upon", "max_tokens": 1, "add_special_tokens": False}
        assert server.complete(**body)["usage"]["prompt_tokens"] == count[True]
        for wrong in (1, "no", []):
            status, _, answer = server.ask("POST", serving.COMPLETIONS, body | {"add_special_tokens": wrong})
            assert status == 400 and answer["error"]["param"] == "add_special_tokens"
        chat = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
        assert server.ask("POST", serving.CHAT, chat | {"add_special_tokens": False})[0] == 200
        status, _, answer = server.ask("POST", serving.CHAT, chat | {"add_special_tokens": True})
        assert status == 400 and answer["error"]["param"] == "add_special_tokens"
