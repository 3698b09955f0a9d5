"""`weft serve`: /v1/embeddings and /v1/responses."""

import base64
import json
import pathlib
import shutil

import numpy as np
import pytest
import serving
import weft.models
from test_serve_tools import QUESTION, STORIES, TEMPLATE, WEATHER, ask, pytestmark  # noqa: F401

FUNCTION = {"type": "function"} | WEATHER["function"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    file = tmp_path_factory.mktemp("template") / "chat.jinja"
    file.write_text(TEMPLATE)
    with serving.serving("-m", STORIES, "--name", "stories", "--chat-template", str(file)) as server:
        yield server


# ---- embeddings ----------------------------------------------------------------------------------
def embed(server, **body):
    status, answer = ask(server, "/v1/embeddings", **body)
    assert status == 200, answer
    assert answer["object"] == "list" and answer["model"] == "stories"
    assert [entry["index"] for entry in answer["data"]] == list(range(len(answer["data"])))
    return answer, np.array([entry["embedding"] for entry in answer["data"]])


def unit(x):
    return x / np.linalg.norm(x)


def states_of(text):
    """What the last norm gives, by solving the head's equations: logits = head @ states."""
    tensors = serving_tensors()
    model = weft.models.CausalModel.from_pretrained(STORIES, cache_dtype="float32", activations="float32")
    ids = model.tokenizer.encode(text)
    logits = model(ids, model.make_cache(), all_logits=True).numpy()
    return np.linalg.lstsq(tensors, logits.T.astype(np.float64), rcond=None)[0].T


def serving_tensors():
    file = weft.models.load_safetensors(STORIES + "/model.safetensors")
    head = file["lm_head.weight"] if "lm_head.weight" in file else file["model.embed_tokens.weight"]
    return head.numpy().astype(np.float64)


def test_pooling(server):
    text = "Once upon a time, there was a little girl named Lily."
    states = states_of(text)
    for pooling, expected in (("mean", states.mean(0)), ("last", states[-1]), ("cls", states[0])):
        answer, [got] = embed(server, input=text, pooling=pooling)
        np.testing.assert_allclose(got, unit(expected), atol=2e-3)
        assert answer["usage"] == {"prompt_tokens": len(states), "total_tokens": len(states)}
    assert np.array_equal(embed(server, input=text)[1], embed(server, input=text, pooling="mean")[1])


def test_a_text_has_one_embedding(server):
    """Whatever is beside it, in pieces or whole, after a text that begins as it does."""
    texts = ["Once upon a time", "The cat", "A", "Once upon a time, there was a little dog. " * 20]
    for pooling in ("mean", "last", "cls"):
        alone = [embed(server, input=text, pooling=pooling)[1][0] for text in texts]
        _, many = embed(server, input=texts * 10, pooling=pooling)
        for i, row in enumerate(many):
            np.testing.assert_allclose(row, alone[i % len(texts)], atol=1e-6)
    tokens = ask(server, "/tokenize", prompt=texts[0])[1]["tokens"]
    assert np.array_equal(embed(server, input=tokens)[1], embed(server, input=texts[0])[1])
    assert embed(server, input=[tokens, tokens[:2]])[1].shape[0] == 2


def test_forms_of_embeddings(server):
    _, plain = embed(server, input="Once upon", encoding_format="float")
    assert abs(np.linalg.norm(plain) - 1) < 1e-6
    answer = ask(server, "/v1/embeddings", input="Once upon", encoding_format="base64", user="me")[1]
    packed = np.frombuffer(base64.b64decode(answer["data"][0]["embedding"]), "<f4")
    np.testing.assert_allclose(packed, plain[0], atol=1e-7)
    _, short = embed(server, input="Once upon", dimensions=7)
    np.testing.assert_allclose(short[0], unit(plain[0, :7]), atol=1e-6)
    _, [own] = embed(server, input="Once upon", normalize=False)
    assert abs(np.linalg.norm(own) - 1) > 0.01
    np.testing.assert_allclose(unit(own), plain[0], atol=1e-6)


def pooling_of(*modes):
    names = (
        "cls_token",
        "mean_tokens",
        "max_tokens",
        "mean_sqrt_len_tokens",
        "weightedmean_tokens",
        "lasttoken",
    )
    config = {"word_embedding_dimension": 64, "include_prompt": True}
    return config | {f"pooling_mode_{name}": name in modes for name in names}


def module(index, kind, path):
    return {
        "idx": index,
        "name": str(index),
        "path": path,
        "type": f"sentence_transformers.models.{kind}",
    }


def folder_of(tmp_path, modules, pooling, path="1_Pooling"):
    """The model with sentence-transformers' files beside it."""
    folder = tmp_path / "stories"
    shutil.copytree(STORIES, folder)
    (folder / path).mkdir()
    (folder / path / "config.json").write_text(json.dumps(pooling))
    if modules is not None:
        (folder / "modules.json").write_text(json.dumps(modules))
    return str(folder)


WHOLE = [module(0, "Transformer", ""), module(1, "Pooling", "1_Pooling")]


@pytest.mark.parametrize(
    ("modules", "mode", "normalized", "index"),
    [
        ([*WHOLE, module(2, "Normalize", "2_Normalize")], "lasttoken", True, -1),
        (WHOLE, "cls_token", False, 0),
        (None, "cls_token", True, 0),
    ],
)
def test_files_of_sentence_transformers(tmp_path, modules, mode, normalized, index):
    text = "Once upon a time, there was a dog."
    expected = states_of(text)
    with serving.serving("-m", folder_of(tmp_path, modules, pooling_of(mode))) as own:
        _, [got] = embed(own, input=text)
        np.testing.assert_allclose(unit(got), unit(expected[index]), atol=2e-3)
        assert (abs(np.linalg.norm(got) - 1) < 1e-5) == normalized
        _, [mean] = embed(own, input=text, pooling="mean")
        np.testing.assert_allclose(unit(mean), unit(expected.mean(0)), atol=2e-3)


PROMPTS = {"prompts": {"query": "Find: ", "document": ""}, "default_prompt_name": None, "__version__": {}}


def folder_with_prompts(tmp_path, prompts, **pooling):
    folder = folder_of(tmp_path, WHOLE, pooling_of("mean_tokens") | pooling)
    (pathlib.Path(folder) / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


@pytest.mark.parametrize("default", [None, "query"])
def test_prompts_of_sentence_transformers(tmp_path, default):
    text = "Once upon a time"
    with serving.serving(
        "-m", folder_with_prompts(tmp_path, PROMPTS | {"default_prompt_name": default})
    ) as own:
        for body, whole in (
            ({"prompt_name": "query"}, "Find: " + text),
            ({"prompt_name": "document"}, text),
            ({}, "Find: " + text if default else text),
        ):
            _, [got] = embed(own, input=text, **body)
            np.testing.assert_allclose(got, states_of(whole).mean(0), atol=2e-2)
        status, answer = ask(own, "/v1/embeddings", input=text, prompt_name="passage")
        assert status == 400 and "one of the model's prompts: document, query" in answer["error"]["message"]
        status, answer = ask(own, "/v1/embeddings", input=[1, 2], prompt_name="query")
        assert status == 400 and "is for texts" in answer["error"]["message"]
        assert ask(own, "/v1/embeddings", input=[1, 2])[0] == 200


def test_prompts_that_the_mean_leaves_out_are_refused(tmp_path):
    folder = folder_with_prompts(tmp_path, PROMPTS, include_prompt=False)
    with serving.serving("-m", folder) as own:
        status, answer = ask(own, "/v1/embeddings", input="a")
        assert status == 400 and "leaves prompts out of the mean" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("prompts", "part"),
    [
        (
            PROMPTS | {"default_prompt_name": "passage"},
            "default_prompt_name 'passage' is none of its prompts",
        ),
        ({"prompts": ["a"]}, "prompts must be an object of texts by name"),
        ({"prompts": {"query": 5}}, "the prompt 'query' must be a text"),
        (PROMPTS | {"more": 1}, "unknown key 'more'"),
    ],
)
def test_damaged_prompts_of_sentence_transformers(tmp_path, prompts, part):
    result = serving.run("-m", folder_with_prompts(tmp_path, prompts), "--port", "0")
    assert result.returncode == 1 and part in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("modules", "modes", "part"),
    [
        (WHOLE, ("max_tokens",), "pools by max; weft has cls, mean and lasttoken"),
        (WHOLE, ("mean_tokens", "lasttoken"), "pools by several modes"),
        ([*WHOLE, module(2, "Dense", "2_Dense")], ("mean_tokens",), "has a module 'Dense'"),
    ],
)
def test_files_of_sentence_transformers_that_are_refused(tmp_path, modules, modes, part):
    with serving.serving("-m", folder_of(tmp_path, modules, pooling_of(*modes))) as own:
        status, answer = ask(own, "/v1/embeddings", input="a")
        assert status == 400 and part in answer["error"]["message"]
        assert own.complete(prompt="Once", max_tokens=2)["choices"]  # texts are written as ever


@pytest.mark.parametrize(
    ("modules", "pooling", "part"),
    [
        ([module(0, "Pooling", "../1_Pooling")], pooling_of("mean_tokens"), "leads out of the folder"),
        ({"idx": 0}, pooling_of("mean_tokens"), "must be a list of modules"),
        ([5], pooling_of("mean_tokens"), "modules.json'"),
        (WHOLE, pooling_of("mean_tokens") | {"more": 1}, "unknown key 'more'"),
        (WHOLE, pooling_of("mean_tokens") | {"pooling_mode_lasttoken": 5}, "pooling_mode_lasttoken"),
    ],
)
def test_damaged_files_of_sentence_transformers(tmp_path, modules, pooling, part):
    result = serving.run("-m", folder_of(tmp_path, modules, pooling), "--port", "0")
    assert result.returncode == 1 and part in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": ["a", 5]}, "input"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "a", "pooling": "max"}, "pooling"),
        ({"input": "a", "dimensions": 0}, "dimensions"),
        ({"input": "a", "dimensions": 65}, "dimensions"),
        ({"input": "a", "task": "search"}, "task"),
        ({"input": "a", "prompt_name": "query"}, "prompt_name"),
        ({"input": [[1, 99999]]}, None),
        ({"input": "a " * 5000}, None),
        ({"input": ["a"] * 40 + ["a " * 5000]}, None),
    ],
)
def test_embeddings_that_are_refused(server, body, parameter):
    status, answer = ask(server, "/v1/embeddings", **body)
    assert status == 400 and answer["error"]["param"] == parameter, answer
    assert ask(server, "/v1/embeddings", input="a", model="other")[0] == 404
    server.wait_for(running=0, waiting=0)


# ---- responses -----------------------------------------------------------------------------------
def respond(server, **body):
    status, answer = ask(server, "/v1/responses", **body)
    assert status == 200, answer
    assert answer["object"] == "response" and answer["id"].startswith("resp_")
    return answer


def events_of(server, **body):
    status, _, text = server.ask("POST", "/v1/responses", body | {"stream": True})
    assert status == 200, text
    events = []
    for block in text.strip().split("\n\n"):
        kind, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert kind == "event: " + event["type"] and event["sequence_number"] == len(events)
        events.append(event)
    return events


def without_ids(value):
    if isinstance(value, dict):
        ids = ("id", "call_id", "item_id", "created_at", "sequence_number")
        return {key: without_ids(item) for key, item in value.items() if key not in ids}
    return [without_ids(item) for item in value] if isinstance(value, list) else value


def test_a_text(server):
    answer = respond(server, input="Weather?", max_output_tokens=12, temperature=0)
    [item] = answer["output"]
    [part] = item["content"]
    chat = server.complete(serving.CHAT, messages=QUESTION, max_tokens=12, temperature=0)
    assert part["type"] == "output_text" and part["text"] == chat["choices"][0]["message"]["content"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "incomplete")
    assert answer["status"] == "incomplete"
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}
    usage = chat["usage"]
    assert answer["usage"]["input_tokens"] == usage["prompt_tokens"]
    assert answer["usage"]["output_tokens"] == usage["completion_tokens"] == 12
    assert answer["usage"]["total_tokens"] == usage["total_tokens"]
    assert answer["max_output_tokens"] == 12 and answer["temperature"] == 0 and answer["model"] == "stories"
    listed = [{"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]}]
    same = respond(server, input=listed, max_output_tokens=12, temperature=0)
    assert without_ids(same) == without_ids(answer)


def test_events_of_a_text(server):
    body = {"input": "Weather?", "max_output_tokens": 12, "temperature": 0}
    events = events_of(server, **body)
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[:4] == ["created", "in_progress", "output_item.added", "content_part.added"]
    assert kinds[-4:] == ["output_text.done", "content_part.done", "output_item.done", "incomplete"]
    assert set(kinds[4:-4]) == {"output_text.delta"}
    text = "".join(event["delta"] for event in events[4:-4])
    assert text == events[-4]["text"] == events[-3]["part"]["text"]
    assert without_ids(events[-1]["response"]) == without_ids(respond(server, **body))
    assert events[0]["response"]["output"] == [] and events[0]["response"]["status"] == "in_progress"
    ids = {event["item_id"] for event in events if "item_id" in event}
    assert ids == {events[-1]["response"]["output"][0]["id"]}


def test_calls(server):
    body = {"input": "Weather?", "tools": [FUNCTION], "tool_choice": "required", "max_output_tokens": 200}
    several = respond(server, **body, temperature=0)["output"]
    assert {item["type"] for item in several} == {"function_call"}
    assert len({item["call_id"] for item in several}) == len(several)
    body["parallel_tool_calls"] = False
    answer = respond(server, **body, temperature=0)
    [call] = answer["output"]
    assert (call["type"], call["name"], call["status"]) == ("function_call", "weather", "completed")
    assert isinstance(json.loads(call["arguments"]), dict)
    assert answer["status"] == "completed" and answer["tools"] == [FUNCTION]
    named = respond(server, **body | {"tool_choice": {"type": "function", "name": "weather"}}, temperature=0)
    assert without_ids(named["output"]) == without_ids(answer["output"])
    events = events_of(server, **body, temperature=0)
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[2] == "output_item.added" and events[2]["item"]["name"] == "weather"
    assert kinds[-3:] == ["function_call_arguments.done", "output_item.done", "completed"]
    deltas = "".join(e["delta"] for e in events if e["type"].endswith("arguments.delta"))
    assert deltas == events[-3]["arguments"] == call["arguments"]
    # The call and its output are sent back.
    history = [
        {"role": "user", "content": "Weather?"},
        call,
        {"type": "function_call_output", "call_id": call["call_id"], "output": "21"},
    ]
    assert respond(server, input=history, tools=[FUNCTION], max_output_tokens=2)["status"] == "incomplete"


def test_what_the_model_is_given(server):
    """As the same chat: the instructions, messages, calls and their outputs."""
    call = {
        "type": "function_call",
        "call_id": "123456789",
        "name": "weather",
        "arguments": '{"city":"Paris"}',
    }
    items = [
        {"type": "message", "role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Well,", "annotations": []}],
            "id": "m",
        },
        call,
        {
            "type": "function_call_output",
            "call_id": "123456789",
            "output": [{"type": "input_text", "text": "21"}],
        },
    ]
    function = {"name": "weather", "arguments": '{"city":"Paris"}'}
    messages = [
        {"role": "system", "content": "Be brief."},
        *QUESTION,
        {
            "role": "assistant",
            "content": "Well,",
            "tool_calls": [{"id": "123456789", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "123456789", "content": "21"},
    ]
    answer = respond(
        server,
        input=items,
        instructions="Be brief.",
        tools=[FUNCTION],
        tool_choice="none",
        max_output_tokens=3,
    )
    chat = server.complete(serving.CHAT, messages=messages, tools=[WEATHER], tool_choice="none", max_tokens=3)
    assert answer["usage"]["input_tokens"] == chat["usage"]["prompt_tokens"]
    assert answer["instructions"] == "Be brief."


def test_formats(server):
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
    form = {"type": "json_schema", "name": "x", "schema": schema, "strict": True}
    answer = respond(server, input="Weather?", text={"format": form}, temperature=0)
    assert json.loads(answer["output"][0]["content"][0]["text"])["a"] in (1, 2)
    assert answer["status"] == "completed" and answer["text"] == {"format": form}
    written = respond(server, input="Weather?", text={"format": {"type": "text"}}, max_output_tokens=2)
    assert written["status"] == "incomplete"


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": [5]}, "input[0]"),
        ({"input": [{"role": "user", "content": "a"}, {"role": "king", "content": "a"}]}, "input[1].role"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}], "instructions": "a"},
            "input[0].content",
        ),
        ({"input": [{"type": "reasoning", "summary": []}]}, "input[0].type"),
        ({"input": [{"type": "function_call", "call_id": "1"}]}, "input[0].name"),
        ({"input": "a", "tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"input": "a", "tool_choice": "required"}, "tool_choice"),
        ({"input": "a", "text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"input": "a", "text": {"format": {"type": "json_schema"}}}, "text.format"),
        ({"input": "a", "text": {"verbosity": "low"}}, "text.verbosity"),
        ({"input": "a", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": "a", "background": True}, "background"),
        ({"input": "a", "truncation": "auto"}, "truncation"),
        ({"input": "a", "include": ["reasoning.encrypted_content"]}, "include"),
        ({"input": "a", "reasoning": {"summary": "auto"}}, "reasoning.summary"),
        ({"input": "a", "temperature": -1}, "temperature"),
        ({"input": "a", "max_output_tokens": 0}, "max_output_tokens"),
    ],
)
def test_responses_that_are_refused(server, body, parameter):
    status, answer = ask(server, "/v1/responses", **body)
    assert status == 400 and answer["error"]["param"] == parameter, answer
    assert parameter in answer["error"]["message"]
