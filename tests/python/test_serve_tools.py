"""`weft serve`: tools, sampling options, tokens. What a text model of stories writes is no call: calls are begun for it."""

import json
import os
import pathlib
import re

import pytest
import serving
from serving import CHAT

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)

TEMPLATE = """{% if tools %}<tools>{% for t in tools %}{{ t | tojson }}{% endfor %}</tools> <tool_call>{% endif %}
{%- for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ '\\n' }}{% endfor %}{% if add_generation_prompt %}assistant:{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}{% endif %}"""
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
QUESTION = [{"role": "user", "content": "Weather?"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    file = tmp_path_factory.mktemp("template") / "chat.jinja"
    file.write_text(TEMPLATE)
    with serving.serving("-m", STORIES, "--name", "stories", "--chat-template", str(file)) as server:
        yield server


def ask(server, path, **body):
    status, _, answer = server.ask("POST", path, body)
    return status, answer


def prompt_tokens(server, **body):
    status, answer = ask(server, "/tokenize", **body)
    assert status == 200, answer
    assert answer["count"] == len(answer["tokens"])
    return answer["tokens"]


def test_tokens(server):
    tokens = prompt_tokens(server, prompt="Once upon")
    assert tokens[0] == 1
    assert prompt_tokens(server, prompt="Once upon", add_special_tokens=False) == tokens[1:]
    assert prompt_tokens(server, content="Once upon") == tokens[1:]
    status, answer = ask(server, "/detokenize", tokens=tokens)
    assert status == 200 and answer == {"prompt": "Once upon", "content": "Once upon"}
    for body in ({}, {"tokens": 5}, {"tokens": [99999]}, {"tokens": [-1]}, {"tokens": ["a"]}):
        status, answer = ask(server, "/detokenize", **body)
        assert status == 400 and answer["error"]["param"] == "tokens"
    assert ask(server, "/tokenize")[1]["error"]["param"] == "prompt"


def test_what_the_template_is_given(server):
    def text(**body):
        tokens = prompt_tokens(server, messages=QUESTION, **body)
        return ask(server, "/detokenize", tokens=tokens)[1]["prompt"]

    assert text() == "user: Weather?\nassistant:"
    assert text(chat_template_kwargs={"enable_thinking": False}).endswith("assistant:<think></think>")
    assert text(tools=[WEATHER]).startswith(
        '<tools>{"type": "function", "function": {"name": "weather", "parameters"'
    )
    assert text(tools=[WEATHER], tool_choice="none") == text()
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}}
    tokens = prompt_tokens(
        server,
        messages=[*QUESTION, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "21"}],
    )
    assert 'assistant: {"city": "Paris"}\ntool: 21' in ask(server, "/detokenize", tokens=tokens)[1]["prompt"]


def test_a_call_that_is_asked_for(server):
    choice = {"type": "function", "function": {"name": "weather"}}
    body = {
        "messages": QUESTION,
        "tools": [WEATHER],
        "tool_choice": choice,
        "max_tokens": 5,
        "temperature": 0,
    }
    status, answer = ask(server, CHAT, **body)
    assert status == 200
    [chosen] = answer["choices"]
    assert chosen["message"]["content"] is None
    [call] = chosen["message"]["tool_calls"]
    assert (
        call["type"] == "function"
        and call["function"]["name"] == "weather"
        and re.fullmatch("[0-9a-f]{9}", call["id"])
    )
    status, _, text = server.ask("POST", CHAT, body | {"stream": True})
    events = [
        json.loads(line.removeprefix("data: "))
        for line in text.split("\n\n")
        if line and "[DONE]" not in line
    ]
    deltas = [delta for event in events for delta in event["choices"][0]["delta"].get("tool_calls", [])]
    assert deltas[0]["function"] == {"name": "weather", "arguments": ""} and deltas[0]["index"] == 0
    assert "".join(delta["function"]["arguments"] for delta in deltas) == call["function"]["arguments"]
    assert all("content" not in event["choices"][0]["delta"] for event in events)


def test_wrong_tools(server):
    for body, parameter in [
        (
            {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "other"}}},
            "tool_choice",
        ),
        ({"tools": [WEATHER], "tool_choice": "maybe"}, "tool_choice"),
        ({"tools": [{"type": "code_interpreter"}]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": 5}}]},
            "tools[0].function.parameters",
        ),
    ]:
        status, answer = ask(server, CHAT, messages=QUESTION, **body)
        assert status == 400 and answer["error"]["param"] == parameter, body


def test_templates_without_tools():
    with serving.serving("-m", STORIES) as server:
        status, answer = ask(server, CHAT, messages=QUESTION, tools=[WEATHER])
        assert status == 400 and "its chat template has no tools" in answer["error"]["message"]
        status, answer = ask(server, CHAT, messages=[{"role": "assistant", "content": "a"}])
        assert status == 400 and "message 0 must be of the user" in answer["error"]["message"]


def written(server, **options):
    """Eight tokens of the likeliest."""
    body = {"prompt": "Once upon", "max_tokens": 8, "temperature": 0, "logprobs": 0}
    return server.complete(**body, **options)["choices"][0]["logprobs"]["tokens"]


def test_biases(server):
    plain = written(server)
    [token] = [
        i
        for i in range(512)
        if ask(server, "/detokenize", tokens=[1, 300, i])[1]["prompt"].endswith(plain[0])
    ][:1]
    assert written(server, logit_bias={}) == plain
    assert written(server, logit_bias={str(token): -100})[0] != plain[0]
    assert len(set(written(server, logit_bias={str(token): 100}))) == 1
    status, answer = ask(server, "/v1/completions", prompt="a", logit_bias={"99999": 1})
    assert status == 400 and "vocabulary" in answer["error"]["message"]


@pytest.mark.parametrize("penalty", ["presence_penalty", "frequency_penalty"])
def test_penalties(server, penalty):
    """With the least bias that repeats the first token, it leads by less than 1 somewhere: a penalty of 2 ends that, one
    of -2 does what is missing with 1 less."""
    [token] = prompt_tokens(server, content="Once upon" + written(server)[0])[-1:]
    repeated = [written(server)[0]] * 8
    least = next(bias for bias in range(100) if written(server, logit_bias={str(token): bias}) == repeated)
    assert least > 0
    assert written(server, logit_bias={str(token): least}, **{penalty: 0.0}) == repeated
    assert written(server, logit_bias={str(token): least}, **{penalty: 2}) != repeated
    assert written(server, logit_bias={str(token): least - 1}) != repeated
    assert written(server, logit_bias={str(token): least - 1}, **{penalty: -2}) == repeated


def test_a_frequency_counts(server):
    """20 tokens of one kind: 2 for each is more than 2 once, and than what a bias of 30 is above all others."""
    [token] = prompt_tokens(server, content="Once upon" + written(server)[0])[-1:]
    body = {
        "prompt": "Once upon",
        "max_tokens": 40,
        "temperature": 0,
        "logprobs": 0,
        "logit_bias": {str(token): 30},
    }

    def kinds(**options):
        return set(server.complete(**body, **options)["choices"][0]["logprobs"]["tokens"])

    assert len(kinds()) == len(kinds(presence_penalty=2)) == 1
    assert len(kinds(frequency_penalty=2)) > 1


def test_fields_that_are_not_known(server):
    for path, body, parameter in [
        ("/tokenize", {"prompt": "a", "content": "b"}, "prompt"),
        ("/tokenize", {"prompt": "a", "with_pieces": True}, "with_pieces"),
        ("/tokenize", {"messages": QUESTION, "add_generation_prompt": False}, "add_generation_prompt"),
        ("/detokenize", {"tokens": [1], "more": 1}, "more"),
        ("/v1/completions", {"prompt": "a", "guided_json": {"type": "object"}}, "guided_json"),
        (CHAT, {"messages": QUESTION, "guided_json": {"type": "object"}}, "guided_json"),
    ]:
        status, answer = ask(server, path, **body)
        assert status == 400 and answer["error"]["param"] == parameter, body
    assert ask(server, "/tokenize", prompt="a", model="other")[0] == 404
    assert ask(server, "/detokenize", tokens=[1], model="other")[0] == 404
    assert prompt_tokens(server, prompt="a", model="stories", more=None)


def test_keys():
    with serving.serving("-m", STORIES, "--api-key", "secret") as server:
        for path in ("/tokenize", "/detokenize"):
            assert ask(server, path, prompt="a")[0] == 401


def test_a_call_of_one_function_that_is_required(server):
    body = {
        "messages": QUESTION,
        "tools": [WEATHER],
        "tool_choice": "required",
        "max_tokens": 5,
        "temperature": 0,
    }
    status, answer = ask(server, CHAT, **body)
    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert status == 200 and call["function"]["name"] == "weather"
    tokens = prompt_tokens(server, messages=QUESTION, tools=[WEATHER], tool_choice="required")
    assert len(tokens) == answer["usage"]["prompt_tokens"]
    # Of several the model writes the name, whatever it is.
    other = {"type": "function", "function": {"name": "time"}}
    tokens = prompt_tokens(server, messages=QUESTION, tools=[WEATHER, other], tool_choice="required")
    assert ask(server, "/detokenize", tokens=tokens)[1]["prompt"].endswith('<tool_call>\n{"name": "')


def test_calls_of_an_unknown_kind(tmp_path):
    file = tmp_path / "chat.jinja"
    file.write_text(TEMPLATE.replace("<tool_call>", "<function=f>"))
    with serving.serving("-m", STORIES, "--chat-template", str(file)) as server:
        status, answer = ask(server, CHAT, messages=QUESTION, tools=[WEATHER])
        assert status == 400 and "does not know how" in answer["error"]["message"]
        assert (
            ask(server, CHAT, messages=QUESTION, tools=[WEATHER], tool_choice="none", max_tokens=2)[0] == 200
        )
