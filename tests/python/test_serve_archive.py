"""`weft serve --archive`: a TorchScript method behind JSON and .npz bodies."""

import concurrent.futures
import http.client
import io
import json
import os
import pathlib
import re
import struct
import zipfile

import numpy as np
import pytest
import serving
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
RUN, NPZ = "/v1/run", "application/x-npz"


class Model(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = weft.nn.Linear(3, 2)

    def forward(self, x: weft.Tensor, scale: float = 1.0):
        return self.linear(x) * scale


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    module = weft.jit.script(Model().eval())
    path = tmp_path_factory.mktemp("archive") / "model.pt"
    weft.jit.save(module, str(path))
    return module, str(path)


@pytest.fixture(scope="module")
def server(model):
    with serving.serving("--archive", model[1], "--name", "small", "--batch-window-ms", "20") as server:
        yield server


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def ask_bytes(server, body, type=NPZ, accept="*/*", path=RUN):
    """Status, type and bytes of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", path, body, {"Content-Type": type, "Accept": accept})
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    return response.status, response.headers["Content-Type"], answer


def ask(server, **body):
    status, _, answer = server.ask("POST", RUN, body)
    assert status == 200, answer
    return {
        name: np.array(o["data"], o["dtype"]).reshape(o["shape"]) for name, o in answer["outputs"].items()
    }


def test_json(server, model):
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    expected = model[0](weft.from_numpy(x)).numpy()
    np.testing.assert_allclose(ask(server, inputs={"x": x.tolist()})["out"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ask(server, inputs=[x.tolist(), 3])["out"], 3 * expected, rtol=1e-5, atol=1e-6)
    described = {"dtype": "float32", "shape": [4, 3], "data": x.ravel().tolist()}
    answer = server.ask("POST", RUN, {"inputs": {"x": described}, "model": "small"})[2]
    assert answer["model"] == "small" and answer["outputs"]["out"]["dtype"] == "float32"
    np.testing.assert_allclose(answer["outputs"]["out"]["data"], expected, rtol=1e-5, atol=1e-6)


def test_npz(server, model):
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
    expected = model[0](weft.from_numpy(x)).numpy()
    for body in (npz(x=x), npz(x=np.asfortranarray(x)), npz(x=x.astype(">f4")), npz(arr_0=x, scale=1.0)):
        status, type, answer = ask_bytes(server, body)
        assert status == 200 and type == NPZ
        np.testing.assert_allclose(np.load(io.BytesIO(answer))["out"], expected, rtol=1e-5, atol=1e-6)
    status, type, answer = ask_bytes(server, npz(x=x), accept="application/json")
    assert type == "application/json" and json.loads(answer)["outputs"]["out"]["shape"] == [2, 2]
    body = json.dumps({"inputs": [x.tolist()]})
    status, type, answer = ask_bytes(server, body, "application/json", NPZ)
    assert (status, type) == (200, NPZ) and np.load(io.BytesIO(answer))["out"].shape == (2, 2)
    packed = io.BytesIO()
    np.savez_compressed(packed, x=x)
    assert ask_bytes(server, packed.getvalue(), "application/zip")[0] == 200


def test_calls_are_joined(server, model):
    x = np.random.default_rng(2).standard_normal((64, 3)).astype(np.float32)
    expected = model[0](weft.from_numpy(x)).numpy()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for _ in range(4):
            answers = list(
                pool.map(lambda i: ask(server, inputs={"x": x[i : i + 1].tolist()})["out"], range(64))
            )
            np.testing.assert_allclose(np.concatenate(answers), expected, rtol=1e-5, atol=1e-6)
    figures = server.figures()
    assert figures["weft_joined_calls_total"] > 4
    assert figures["weft_kinds_apart_total"] == 0
    assert figures["weft_joined_calls_total"] > figures["weft_compared_calls_total"] >= 4


def test_one_wrong_call_among_many(server, model):
    right = np.ones((1, 3), np.float32).tolist()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        bodies = [{"inputs": [right if i % 4 else [[1.0, 2.0]]]} for i in range(32)]
        answers = list(pool.map(lambda body: server.ask("POST", RUN, body), bodies))
    assert [status for status, _, _ in answers] == [200 if i % 4 else 400 for i in range(32)]


def test_models_and_errors(server):
    [entry] = server.ask("GET", "/v1/models")[2]["data"]
    assert entry["id"] == "small"
    assert entry["arguments"] == [
        {"name": "x", "type": "Tensor", "optional": False},
        {"name": "scale", "type": "float", "optional": True},
    ]
    assert server.ask("GET", "/health")[2] == {"status": "ok"}
    assert server.ask("GET", "/")[0] == 404 and server.ask("GET", RUN)[0] == 405
    assert server.ask("POST", serving.COMPLETIONS, {})[0] == 404
    for body, status, message in (
        ({"inputs": {"y": 1}}, 400, "the array 'y' is no argument"),
        ({"inputs": []}, 400, "the argument 'x' (Tensor) is missing"),
        ({"inputs": [[[1.0, 2.0]]]}, 400, "3"),
        ({"inputs": [[1.0], "a"]}, 400, "scale"),
        ({"inputs": [[[1.0, 2.0, 3.0]]], "model": "large"}, 404, "no model 'large'"),
        ("{", 400, "body"),
        ({}, 400, "'inputs' is missing"),
    ):
        found, _, answer = server.ask("POST", RUN, body)
        assert found == status and message in answer["error"]["message"], answer
    assert server.ask("POST", RUN, "{}", Content_Type="text/plain")[0] == 415


def test_hostile_npz(server):
    good = npz(x=np.ones((1, 3), np.float32))
    for length in [*range(0, len(good), 7), len(good) - 1]:
        status, _, answer = ask_bytes(server, good[:length])
        assert status == 400 and json.loads(answer)["error"]["message"], length
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(good)
        damaged[rng.integers(len(good))] = rng.integers(256)
        assert ask_bytes(server, bytes(damaged))[0] in (200, 400)
    # Sizes that lie, objects, names that are none of NumPy's.
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"
    huge = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    empty_texts = huge.replace(b"<f4", b"<U0")
    for entry, bytes_ in (
        ("x.npy", huge),
        ("x.npy", empty_texts),
        ("x.txt", good),
        ("../x.npy", good),
        ("x.npy", b""),
    ):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(entry, bytes_)
        assert ask_bytes(server, file.getvalue())[0] == 400
    objects = io.BytesIO()
    np.savez(objects, x=np.array([{}], dtype=object))
    status, _, answer = ask_bytes(server, objects.getvalue())
    assert status == 400 and "never unpickled" in json.loads(answer)["error"]["message"]
    assert ask_bytes(server, good)[0] == 200


def test_limits(model):
    with serving.serving("--archive", model[1], "--max-input-mib", "1", "--max-body-kib", "8192") as server:
        # A few bytes that would be many.
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for i in range(64):
                archive.writestr(f"{i}.npy", bytes(1 << 20))
        status, _, answer = ask_bytes(server, file.getvalue())
        assert status == 400 and "more than 1048576 bytes" in json.loads(answer)["error"]["message"]
        assert server.ask("POST", RUN, {"inputs": [[0] * 200_000]})[0] == 413
        status, headers, answer = server.ask("POST", RUN, {"inputs": [[0] * 131_000, "a" * 5000]})
        assert status in (400, 429)
        assert ask_bytes(server, npz(x=np.ones((1, 3), np.float32)))[0] == 200
    with serving.serving("--archive", model[1], "--api-key", "secret", "--max-batch", "1") as server:
        assert server.ask("POST", RUN, {"inputs": []})[0] == 401
        body = {"inputs": [[[1.0, 2.0, 3.0]]]}
        assert server.ask("POST", RUN, body, Authorization="Bearer secret")[0] == 200


@pytest.mark.skipif(not (SHARED / "torchscript").is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
@pytest.mark.parametrize("name", ["cnn_scripted", "lstm", "text", "attention"])
@pytest.mark.parametrize("options", [(), ("--optimize",)], ids=["plain", "optimized"])
def test_recorded_archives(name, options):
    """What PyTorch gave for these archives, from the arrays that `weft run` takes."""
    expected = dict(np.load(SHARED / "torchscript" / f"{name}.npz"))
    with serving.serving("--archive", str(SHARED / "torchscript" / f"{name}.pt"), *options) as server:
        status, _, answer = ask_bytes(server, npz(**expected))  # names that begin with in. are the arguments
        assert status == 200, answer
        found = np.load(io.BytesIO(answer))
    results = [key for key in expected if re.match(r"out(\.|$)", key)]
    assert sorted(found.files) == sorted(results)
    for key in results:
        if expected[key].dtype.kind == "f":
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(found[key], expected[key])


def test_wrong_calls(model):
    def fail(*arguments):
        done = serving.run("--archive", *arguments)
        return done.returncode, done.stderr

    status, error = fail(model[1], "--method", "absent")
    assert status == 1 and "absent" in error
    status, error = fail(model[1], "--quantize", "int8")
    assert status == 2 and "--model" in error
    assert fail(model[1], "-m", "x")[0] == 2
    done = serving.run("--method", "forward")
    assert done.returncode == 2 and "--archive" in done.stderr
