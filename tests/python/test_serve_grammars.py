"""`weft serve`: texts that a JSON Schema, a grammar or a required call describes, written by a small model of stories."""

import json
import re
import shutil
import threading

import pytest
from serving import CHAT, COMPLETIONS, serving
from test_serve_tools import QUESTION, SHARED, STORIES, WEATHER, ask, pytestmark, server  # noqa: F401

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
}


def schema_of(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def check_person(text):
    person = json.loads(text)
    assert list(person) == ["name", "age", "tags"]
    assert len(person["name"]) <= 8 and 0 <= person["age"] <= 120
    assert 1 <= len(person["tags"]) <= 2 and set(person["tags"]) <= {"a", "b"}


@pytest.mark.parametrize("temperature", [0, 1])
def test_schemas(server, temperature):
    body = {
        "messages": QUESTION,
        "response_format": schema_of(PERSON),
        "temperature": temperature,
        "seed": 5,
        "n": 4,
    }
    status, answer = ask(server, CHAT, **body)
    assert status == 200, answer
    for choice in answer["choices"]:
        assert choice["finish_reason"] == "stop"
        check_person(choice["message"]["content"])
    # A stream is the same text.
    status, _, text = server.ask("POST", CHAT, body | {"stream": True})
    pieces = ["", "", "", ""]
    for line in text.split("\n\n"):
        if line and "[DONE]" not in line:
            [choice] = json.loads(line.removeprefix("data: "))["choices"]
            pieces[choice["index"]] += choice["delta"].get("content", "")
    assert pieces == [choice["message"]["content"] for choice in answer["choices"]]


def test_completions_and_grammars(server):
    def text(**body):
        answer = server.complete(**{"prompt": "Once upon", "max_tokens": 60, "temperature": 0} | body)
        return answer["choices"][0]["text"], answer["choices"][0]["finish_reason"]

    assert text(grammar='root ::= "yes" | "no"')[1] == "stop"
    assert text(grammar='root ::= "yes" | "no"')[0] in ("yes", "no")
    assert re.fullmatch("( [a-z]{3}){4}", text(grammar='root ::= (" " [a-z]{3}){4}')[0])
    assert text(grammar='root ::= ""') == ("", "stop")
    assert text(grammar="root ::= [a-z ]*", max_tokens=3, ignore_eos=True)[1] == "length"
    # With a prompt that is a beginning token alone, the space before the first word stays.
    assert text(grammar='root ::= " a"', prompt="")[0] == " a"
    check_person(text(response_format=schema_of(PERSON))[0])
    # Strings to stop at are within the grammar's text, too.
    assert text(grammar='root ::= "abcdef"', stop=["d"])[0] == "abc"
    written = text(response_format={"type": "json_object"}, max_tokens=300, seed=1, temperature=1)
    assert written[0].startswith("{") and (written[1] == "length" or isinstance(json.loads(written[0]), dict))


def test_side_by_side(server):
    """Texts with grammars of their own beside others: each as it is alone."""
    bodies = [
        {"prompt": "Once upon", "grammar": f"root ::= [{chr(97 + i)}-z ]{{{5 + i}}}", "max_tokens": 40}
        for i in range(4)
    ]
    bodies += [
        {"prompt": "Once upon a", "max_tokens": 40},
        {"prompt": "x", "response_format": schema_of(PERSON)},
    ]
    bodies = [{"temperature": 0, "max_tokens": 60} | body for body in bodies]
    alone = [server.complete(**body)["choices"][0]["text"] for body in bodies]
    together = [None] * len(bodies)

    def run(i):
        together[i] = server.complete(**bodies[i])["choices"][0]["text"]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    check_person(alone[-1])


def test_calls_that_are_required(server):
    strict = {"type": "function", "function": WEATHER["function"] | {"strict": True, "parameters": PERSON}}
    other = {"type": "function", "function": {"name": "time"}}
    body = {"messages": QUESTION, "tool_choice": "required", "max_tokens": 400, "temperature": 1, "seed": 3}
    status, answer = ask(server, CHAT, tools=[strict], parallel_tool_calls=False, **body)
    assert status == 200, answer
    [choice] = answer["choices"]
    [call] = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and call["function"]["name"] == "weather"
    check_person(call["function"]["arguments"])
    # Of several, the name is one of theirs; one without parameters has no arguments. Further calls may follow.
    status, answer = ask(server, CHAT, tools=[strict, other], **body)
    assert status == 200, answer
    [choice] = answer["choices"]
    calls = choice["message"]["tool_calls"]
    for call in calls if choice["finish_reason"] == "tool_calls" else calls[:-1]:
        if call["function"]["name"] == "time":
            assert json.loads(call["function"]["arguments"]) == {}
        else:
            assert call["function"]["name"] == "weather"


def test_schemas_beside_tools(server):
    """The answer is what the schema describes, or a call."""
    status, answer = ask(
        server, CHAT, messages=QUESTION, tools=[WEATHER], response_format=schema_of(PERSON), temperature=0
    )
    assert status == 200, answer
    message = answer["choices"][0]["message"]
    if message.get("tool_calls"):
        assert message["tool_calls"][0]["function"]["name"] == "weather"
    else:
        check_person(message["content"])


def test_what_cannot_be(server):
    multiple = schema_of({"type": "integer", "multipleOf": 5})
    for path, body, part in [
        (COMPLETIONS, {"response_format": multiple}, "'multipleOf' is not supported"),
        (COMPLETIONS, {"response_format": {"type": "xml"}}, "text, json_object or json_schema"),
        (COMPLETIONS, {"response_format": {"type": "json_schema"}}, "json_schema"),
        (COMPLETIONS, {"response_format": schema_of(5)}, "must be an object"),
        (COMPLETIONS, {"response_format": {"type": "text", "more": 1}}, "more"),
        (COMPLETIONS, {"grammar": "root ::= root"}, "allows no text"),
        (COMPLETIONS, {"grammar": "root ::= a"}, "no rule 'a'"),
        (COMPLETIONS, {"grammar": 5}, "must be a string"),
        (COMPLETIONS, {"grammar": "root ::= [a]", "response_format": multiple}, "beside"),
        (CHAT, {"grammar": "root ::= [a]", "tools": [WEATHER]}, "beside tools"),
        (CHAT, {"response_format": multiple, "tools": [WEATHER], "tool_choice": "required"}, "required"),
    ]:
        prompt = {"messages": QUESTION} if path == CHAT else {"prompt": "a"}
        status, answer = ask(server, path, **prompt, **body)
        assert status == 400 and part in answer["error"]["message"], (body, answer)
    wrong = {"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 5}}}
    strict = {"type": "function", "function": {"name": "f", "strict": True, "parameters": wrong}}
    status, answer = ask(server, CHAT, messages=QUESTION, tools=[strict])
    assert status == 400 and "'multipleOf' at /properties/a" in answer["error"]["message"]


# ---- calls that the model makes of itself --------------------------------------------------------------------
FAMILY = SHARED / "causal_lms" / "qwen3"
needs_family = pytest.mark.skipif(not FAMILY.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
CALLING = """{% if tools %}{# <tool_call> #}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}"""
BEGIN, END = 3, 4


@pytest.fixture(scope="module")
def calling(tmp_path_factory):
    """A model of random weights whose tokens 3 and 4 begin and end calls."""
    folder = tmp_path_factory.mktemp("calling") / "model"
    shutil.copytree(FAMILY, folder, copy_function=shutil.copyfile)
    tokenizer = folder / "tokenizer.json"
    text = tokenizer.read_text().replace("<|user|>", "<tool_call>").replace("<|assistant|>", "</tool_call>")
    tokenizer.write_text(text)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 2048}))
    (folder / "chat.jinja").write_text(CALLING)
    with serving("-m", str(folder), "--chat-template", str(folder / "chat.jinja")) as server:
        yield server


def strict(name, parameters):
    return {"type": "function", "function": {"name": name, "strict": True, "parameters": parameters}}


def test_free_text_is_what_it_is_without_a_grammar(tmp_path):
    (tmp_path / "chat.jinja").write_text(CALLING)
    with serving("-m", STORIES, "--chat-template", str(tmp_path / "chat.jinja")) as server:
        for question in ("Once upon a time", "The cat", "<tool"):
            body = {"messages": [{"role": "user", "content": question}], "max_tokens": 60, "temperature": 0}
            texts = [
                ask(server, CHAT, **body, tools=tools)[1]["choices"][0]["message"]["content"]
                for tools in ([WEATHER], [strict("weather", PERSON)])
            ]
            assert texts[0] == texts[1] and texts[0]


@needs_family
@pytest.mark.parametrize("seed", range(6))
def test_strict_calls_that_the_model_makes(calling, seed):
    """The token that begins calls is made likely: whatever else the model writes is held to the functions."""
    tools = [strict("weather", PERSON), {"type": "function", "function": {"name": "time"}}]
    body = {"messages": QUESTION, "tools": tools, "max_tokens": 900, "temperature": 1, "seed": seed}
    status, answer = ask(calling, CHAT, **body, logit_bias={str(BEGIN): 12, str(END): 12})
    assert status == 200, answer
    [choice] = answer["choices"]
    calls = choice["message"]["tool_calls"]
    for call in calls if choice["finish_reason"] != "length" else calls[:-1]:
        if call["function"]["name"] == "weather":
            check_person(call["function"]["arguments"])
        else:  # not strict: any object
            assert call["function"]["name"] == "time"
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


@needs_family
def test_one_strict_call(calling):
    body = {"messages": QUESTION, "tools": [strict("weather", PERSON)], "max_tokens": 900}
    bias = {str(BEGIN): 100}
    status, answer = ask(calling, CHAT, **body, logit_bias=bias, parallel_tool_calls=False, temperature=0)
    assert status == 200, answer
    [choice] = answer["choices"]
    assert choice["finish_reason"] == "tool_calls" and not choice["message"]["content"]
    [call] = choice["message"]["tool_calls"]
    check_person(call["function"]["arguments"])
    # A stream gives the same call.
    body |= {"stream": True, "logit_bias": bias, "parallel_tool_calls": False, "temperature": 0}
    _, _, text = calling.ask("POST", CHAT, body)
    events = [
        json.loads(line.removeprefix("data: "))
        for line in text.split("\n\n")
        if line and "[DONE]" not in line
    ]
    deltas = [delta for event in events for delta in event["choices"][0]["delta"].get("tool_calls", [])]
    assert "".join(d["function"]["arguments"] for d in deltas) == call["function"]["arguments"]
