"""`weft serve`, as clients of OpenAI's interface use it: over http.client, and over bare sockets."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest
import serving
from serving import CHAT, COMPLETIONS

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)


def Server(*arguments):
    return serving.Server("-m", STORIES, *arguments)


def serve(*arguments):
    return serving.serving("-m", STORIES, *arguments)


@pytest.fixture(scope="module")
def server():
    with serve("--name", "stories", "--max-queue", "64") as server:
        yield server


def pieces(text):
    """The events of a stream, and whether it ended as it has to."""
    data = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert data[-1] == "[DONE]"
    return [json.loads(event) for event in data[:-1]]


def test_completions(server):
    answer = server.complete(prompt="Once upon", max_tokens=10, temperature=0)
    assert answer["object"] == "text_completion" and answer["model"] == "stories"
    [choice] = answer["choices"]
    assert choice["text"] == " a time, there was a little girl named"[: len(choice["text"])]
    assert choice["finish_reason"] == "length" and choice["logprobs"] is None
    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15} or (
        answer["usage"]["completion_tokens"] == 10
    )
    assert len(server.complete(prompt="Once upon")["choices"][0]["text"]) > 0  # 16 tokens, sampled
    stopped = server.complete(prompt="Once upon", max_tokens=50, temperature=0, stop=["girl"], echo=True)
    assert stopped["choices"][0]["text"] == "Once upon a time, there was a little "
    assert stopped["choices"][0]["finish_reason"] == "stop"


def test_streams(server):
    body = {"prompt": "Once upon", "max_tokens": 40, "temperature": 0}
    whole = server.complete(**body)["choices"][0]
    status, headers, text = server.ask(
        "POST", COMPLETIONS, {**body, "stream": True, "stream_options": {"include_usage": True}}
    )
    assert status == 200 and headers["Content-Type"] == "text/event-stream"
    *events, usage = pieces(text)
    assert "".join(event["choices"][0]["text"] for event in events) == whole["text"]
    assert [event["choices"][0]["finish_reason"] for event in events][-1] == whole["finish_reason"]
    assert len(events) > 20 and len({event["id"] for event in events}) == 1
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] == 40


def test_chat(server):
    body = {"messages": [{"role": "user", "content": "Tell me a story"}], "temperature": 0, "max_tokens": 20}
    answer = server.complete(CHAT, **body)
    message = answer["choices"][0]["message"]
    assert answer["object"] == "chat.completion" and message["role"] == "assistant" and message["content"]
    events = pieces(server.ask("POST", CHAT, {**body, "stream": True})[2])
    deltas = [event["choices"][0]["delta"] for event in events]
    assert deltas[0]["role"] == "assistant" and all("role" not in delta for delta in deltas[1:])
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"]
    assert {event["object"] for event in events} == {"chat.completion.chunk"}
    likely = server.complete(CHAT, **body, logprobs=True, top_logprobs=2)["choices"][0]["logprobs"]["content"]
    assert len(likely) == 20 and all(len(token["top_logprobs"]) == 2 for token in likely)
    assert "".join(bytes(token["bytes"]).decode() for token in likely).strip() == message["content"].strip()


def test_seeds_and_choices(server):
    body = {"prompt": "Once upon", "max_tokens": 30, "temperature": 1}
    one, same, other = (server.complete(**body, seed=seed)["choices"][0]["text"] for seed in (1, 1, 2))
    assert one == same != other
    several = server.complete(**body, seed=1, n=3)["choices"]
    assert [choice["index"] for choice in several] == [0, 1, 2]
    assert several[0]["text"] == one and several[1]["text"] == other
    assert len({server.complete(**body)["choices"][0]["text"] for _ in range(3)}) > 1
    prompts = ["Once upon", [1, 403, 407]]
    both = server.complete(prompt=prompts, max_tokens=5, temperature=0, n=2)
    assert [choice["index"] for choice in both["choices"]] == [0, 1, 2, 3]
    for i, prompt in enumerate(prompts):
        alone = server.complete(prompt=prompt, max_tokens=5, temperature=0)
        assert both["choices"][2 * i]["text"] == alone["choices"][0]["text"]


def test_the_same_text_under_load(server):
    prompts = [
        "Once upon",
        "Tom and Lily",
        "One day, a boy",
        "The big dog ran to the park with a ball",
        "A",
        "",
    ]
    bodies = [{"prompt": p, "max_tokens": 20 + 7 * i, "temperature": 0} for i, p in enumerate(prompts)]
    alone = [server.complete(**body)["choices"][0]["text"] for body in bodies]

    def ask(i):
        if i % 2:
            return server.complete(**bodies[i % len(bodies)])["choices"][0]["text"]
        text = server.ask("POST", COMPLETIONS, {**bodies[i % len(bodies)], "stream": True})[2]
        return "".join(event["choices"][0]["text"] for event in pieces(text))

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        texts = list(pool.map(ask, range(48)))
    assert texts == [alone[i % len(alone)] for i in range(48)]
    server.wait_for(held=0, running=0)


def test_what_is_there(server):
    assert server.ask("GET", "/health")[2] == {"status": "ok"}
    models = server.ask("GET", "/v1/models")[2]
    assert models["object"] == "list" and [model["id"] for model in models["data"]] == ["stories"]
    assert server.ask("GET", "/v1/models/stories")[2] == models["data"][0]
    status, headers, page = server.ask("GET", "/")
    assert status == 200 and "<title>weft serve</title>" in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, headers, text = server.ask("HEAD", "/health?x=1")
    assert status == 200 and text == "" and headers["Content-Length"] == "15"
    figures = server.figures()
    assert figures["weft_steps_total"] > 0 and figures["weft_model_bandwidth_utilization"] > 0
    assert figures["weft_cache_bytes"] > 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "parameter"),
    [
        ("POST", COMPLETIONS, "{", 400, None),
        ("POST", COMPLETIONS, "", 400, None),
        ("POST", COMPLETIONS, "[" * 100000, 400, None),
        ("POST", COMPLETIONS, '{"prompt": "\\ud800"}', 400, None),
        ("POST", COMPLETIONS, {}, 400, "prompt"),
        ("POST", COMPLETIONS, {"prompt": "a", "max_tokens": -1}, 400, "max_tokens"),
        ("POST", COMPLETIONS, {"prompt": "a", "n": 17}, 400, None),
        ("POST", COMPLETIONS, {"prompt": [511, 512]}, 400, None),
        ("POST", COMPLETIONS, {"prompt": "word " * 1000}, 400, None),
        ("POST", COMPLETIONS, {"prompt": "a", "model": "gpt-4"}, 404, "model"),
        ("POST", CHAT, {"messages": [{"role": "assistant", "content": "a"}]}, 400, None),
        ("GET", COMPLETIONS, None, 405, None),
        ("POST", "/health", "{}", 405, None),
        ("GET", "/v1/models/other", None, 404, "model"),
        ("GET", "/nothing", None, 404, None),
    ],
)
def test_errors(server, method, path, body, status, parameter):
    got, headers, answer = server.ask(method, path, body)
    assert got == status and headers["Content-Type"] == "application/json", answer
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert answer["error"]["param"] == parameter and answer["error"]["message"]


def test_content_type(server):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert server.ask("POST", COMPLETIONS, '{"prompt": "a"}', Content_Type=kind)[0] == 415
    assert (
        server.ask("POST", COMPLETIONS, '{"prompt": "a"}', Content_Type="Application/JSON; charset=utf-8")[0]
        == 200
    )


def test_one_connection_serves_many_requests(server):
    connection = server.connect()
    for i in range(4):
        body = json.dumps({"prompt": "Once", "max_tokens": 3, "stream": i % 2 == 0})
        connection.request("POST", COMPLETIONS, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    connection.close()


def raw(server, data, timeout=60):
    """What a connection is answered until the server closes it."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        connection.sendall(data)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer.decode()


def test_what_is_no_http(server):
    assert raw(server, b"\x16\x03\x01\x02\x00 hello\r\n\r\n").startswith("HTTP/1.1 400 ")
    assert raw(server, b"GET /health HTTP/1.1\r\nA: " + b"b" * 100000 + b"\r\n\r\n").startswith(
        "HTTP/1.1 431 "
    )
    assert raw(server, b"GET /health HTTP/1.0\r\n\r\n").startswith("HTTP/1.1 200 ")
    body = b'{"prompt": "Once", "max_tokens": 3, "stream": true}'
    head = f"POST {COMPLETIONS} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = raw(server, head.encode() + body)
    assert "chunked" not in answer and answer.endswith("data: [DONE]\n\n")
    expecting = head.replace("1.0", "1.1").replace(
        "\r\n\r\n", "\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n"
    )
    assert raw(server, expecting.encode() + body).startswith(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
    )


def test_oversized_bodies():
    with serve("--max-body-kib", "16") as server:
        for size in (17 << 10, 3 << 20):
            status, _, answer = server.ask("POST", COMPLETIONS, json.dumps({"prompt": "a" * size}))
            assert status == 413 and "more than 16384 bytes" in answer["error"]["message"]
        chunks = b"".join(b"1000\r\n" + b"a" * 4096 + b"\r\n" for _ in range(8)) + b"0\r\n\r\n"
        head = f"POST {COMPLETIONS} HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert raw(server, head.encode() + chunks).startswith("HTTP/1.1 413 ")
        assert server.complete(prompt="Once", max_tokens=2)


def test_api_key(tmp_path):
    (tmp_path / "key").write_text("secret\nrest\n")
    with serve("--api-key-file", str(tmp_path / "key")) as server:
        for path in (COMPLETIONS, CHAT):
            for wrong in ({}, {"Authorization": "Bearer secreT"}, {"Authorization": "secret"}):
                status, headers, answer = server.ask("POST", path, "{", **wrong)
                assert status == 401 and answer["error"]["code"] == "invalid_api_key"
                assert headers["WWW-Authenticate"] == "Bearer"
        assert server.ask("GET", "/metrics")[0] == server.ask("GET", "/v1/models")[0] == 401
        assert server.ask("GET", "/health")[0] == server.ask("GET", "/")[0] == 200
        assert server.ask("GET", "/v1/models", Authorization="Bearer secret")[0] == 200
        body = {"prompt": "Once", "max_tokens": 2}
        assert server.ask("POST", COMPLETIONS, body, Authorization="Bearer secret")[0] == 200


def begin_stream(server, **body):
    connection = server.connect()
    body = json.dumps({"prompt": "Once", "temperature": 0, "ignore_eos": True, **body, "stream": True})
    connection.request("POST", COMPLETIONS, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.readline()
    return connection, response


def abandon(connection):
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()


def test_cancelled_clients(server):
    before = server.figures()['weft_requests_total{outcome="cancelled"}']
    # Streams and whole answers, in the batch and in the queue.
    for _ in range(4):
        connection, response = begin_stream(server, max_tokens=500, n=8)
        response.close()
        abandon(connection)
    whole = server.connect()
    body = json.dumps({"prompt": "Once", "max_tokens": 500, "n": 16, "ignore_eos": True})
    whole.request("POST", COMPLETIONS, body, {"Content-Type": "application/json"})
    abandon(whole)
    server.wait_for(held=0, running=0, waiting=0)
    assert server.figures()['weft_requests_total{outcome="cancelled"}'] > before


def test_slow_clients():
    limits = (
        "--read-timeout",
        "0.3",
        "--write-timeout",
        "0.3",
        "--request-timeout",
        "3",
        "--max-connections",
        "8",
    )
    with serve(*limits) as server:
        # A request that never ends, one that says nothing, and one that comes byte by byte.
        head = f"POST {COMPLETIONS} HTTP/1.1\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n"
        assert raw(server, head.encode() + b"{") == raw(server, b"") == ""
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.settimeout(60)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for byte in head.encode():
                    connection.sendall(bytes([byte]))
                    time.sleep(0.02)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(100) == b""
        # More connections than there may be.
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
        assert raw(server, b"GET /health HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 503 ")
        for connection in idle:
            connection.close()
        server.wait_for(held=0, running=0, waiting=0)
        assert server.complete(prompt="Once", max_tokens=2)


def test_answers_that_take_too_long():
    with serve("--request-timeout", "0.01", "--max-batch", "64") as server:
        body = {"prompt": "Once", "max_tokens": 500, "n": 64, "ignore_eos": True}
        status, _, answer = server.ask("POST", COMPLETIONS, body)
        assert status == 504 and "too long" in answer["error"]["message"]
        text = server.ask("POST", COMPLETIONS, {**body, "stream": True})[2]
        assert pieces(text)[-1]["error"]["type"] == "server_error"
        server.wait_for(held=0, running=0, waiting=0)


def test_full_queues():
    with serve("--max-batch", "1", "--max-queue", "2") as server:
        streams = [begin_stream(server, max_tokens=500)]
        connections = []
        for _ in range(2):
            connection = server.connect()
            body = json.dumps({"prompt": "Once", "max_tokens": 500, "ignore_eos": True})
            connection.request("POST", COMPLETIONS, body, {"Content-Type": "application/json"})
            connections.append(connection)
        server.wait_for(running=1, waiting=2)
        status, headers, answer = server.ask("POST", COMPLETIONS, {"prompt": "Once"})
        assert status == 429 and answer["error"]["code"] == "queue_full" and headers["Retry-After"] == "1"
        for connection in connections:
            assert connection.getresponse().status == 200
            connection.close()
        streams[0][0].close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping(number):
    server = Server("--max-batch", "4")
    connection, response = begin_stream(server, max_tokens=500, n=4)
    idle = server.connect()
    idle.request("GET", "/health")
    assert idle.getresponse().read()
    status, out, error = server.stop(number)
    assert (status, out, error) == (0, "stopped\n", "")
    rest = response.read().decode()
    assert rest.endswith("data: [DONE]\n\n")
    connection.close()


def test_wrong_calls(tmp_path):
    def fail(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "weft", "serve", *arguments], capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stderr

    assert fail()[0] == 2 and "--model" in fail()[1]
    status, error = fail("-m", STORIES, "--host", "nowhere.example")
    assert status == 1 and "no address of a network interface" in error
    status, error = fail("-m", STORIES, "--context", "100000")
    assert status == 1 and "512" in error
    (tmp_path / "key").write_text("\n")
    assert "has no key in its first line" in fail("-m", STORIES, "--api-key-file", str(tmp_path / "key"))[1]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, error = fail("-m", STORIES, "--port", str(taken.getsockname()[1]))
        assert status == 1 and "cannot listen on 127.0.0.1" in error
