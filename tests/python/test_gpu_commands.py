"""`--device cuda` of the commands, on the emulated device (docs/GPU.md)."""

import base64
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from typing import List

import numpy as np
import pytest
import serving
import weft as package
from support.emulated import EMULATED
from support.tiers import long_but
from weft.models.sam import rle_to_mask

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
CHECKPOINT, DOG = SHARED / "sam_tiny" / "sam_tiny.pth", SHARED / "images" / "dog.jpg"
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)
TEXT = " a time, there was a little girl named"


@pytest.fixture
def emulated(monkeypatch):
    for name, value in EMULATED.items():
        monkeypatch.setenv(name, value)


def weft(*arguments, status=0):
    path = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ["PATH"]]
    )  # whose Python `segment` runs
    done = subprocess.run(
        [sys.executable, "-m", "weft", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PATH": path},
    )
    assert done.returncode == status, done.stderr
    return done


def test_generate(emulated):
    done = weft("generate", "-m", STORIES, "-n", "12", "-p", "Once upon", "--device", "cuda")
    assert done.stdout.startswith("Once upon" + TEXT)
    assert "per token, on cuda:0: " in done.stderr and "measured here" not in done.stderr
    given = (
        "-m",
        STORIES,
        "-n",
        "12",
        "--json",
        "-p",
        "Once upon",
        "--quantize",
        "int8",
        "--device",
        "cuda:1",
    )
    result = json.loads(weft("generate", *given).stdout)
    assert result["text"] == json.loads(weft("generate", *given[:-2]).stdout)["text"]
    assert result["device"] == "cuda:1" and result["model_bandwidth_utilization"] == 0


def test_perplexity_is_the_hosts(emulated, tmp_path):
    story = tmp_path / "story.txt"
    story.write_text("Once upon" + TEXT + " Lily. She loved to play outside in the park.")
    given = ("eval", "perplexity", "-m", STORIES, "--text", story, "--json")
    here, there = (
        json.loads(weft(*given, "--device", device).stdout)["perplexity"] for device in ("cpu", "cuda")
    )
    assert abs(here - there) < 1e-3 * here


@pytest.mark.long
def test_bench(emulated):
    given = (
        "bench",
        "llm",
        "--shape",
        "tiny",
        "--random-weights",
        "--device",
        "cuda",
        "--pp",
        "8",
        "--tg",
        "4",
    )
    result = json.loads(weft(*given, "-r", "1", "-o", "json", "--schemes", "bfloat16,int8").stdout)
    assert result["device"] == "cuda:0" and result["read_gb_per_second"] == 0
    assert [test["test"] for test in result["tests"]] == ["pp8", "tg4"] * 2
    assert all(test["tokens_per_second"] > 0 and test["execution"] == "cuda:0" for test in result["tests"])
    text = weft(*given, "-r", "1").stdout
    assert text.startswith("cuda:0\n") and "of read" not in text
    wrong = weft(*given, "--ladder", status=2).stderr
    assert "--ladder compares what there is on the CPU alone" in wrong


def test_serve(emulated):
    with serving.serving(
        "-m", STORIES, "--device", "cuda", "--page-tokens", "4", "--prompt-tokens", "3"
    ) as server:
        assert "on cuda:0" in server.said
        prompts = ["Once upon", "Once upon a time, there was a", "Lily liked"] * 2
        with concurrent.futures.ThreadPoolExecutor(len(prompts)) as clients:
            answers = list(
                clients.map(
                    lambda prompt: server.complete(prompt=prompt, max_tokens=12, temperature=0), prompts
                )
            )
    texts = [answer["choices"][0]["text"] for answer in answers]
    assert texts[:3] == texts[3:] and texts[0].startswith(TEXT) and texts[1].startswith(" little girl named")
    assert texts[2] == weft("generate", "-m", STORIES, "-n", "12", "-p", "Lily liked").stdout[10:].rstrip(
        "\n"
    )


class Parts(package.nn.Module):
    """Takes tensors by themselves and in a list, and gives a tensor and numbers."""

    def __init__(self):
        super().__init__()
        self.linear = package.nn.Linear(3, 2)
        self.register_buffer("offset", package.tensor([0.5, -0.5]))

    def forward(self, x: package.Tensor, more: List[package.Tensor], scale: float = 1.0):
        y = package.relu(self.linear(x)) * scale + self.offset
        for part in more:
            y = y + part
        return {"out": y, "rows": package.tensor(y.shape[0])}


class Rows(package.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = package.nn.Sequential(
            package.nn.Linear(3, 8), package.nn.GELU(), package.nn.Linear(8, 2)
        )

    def forward(self, x: package.Tensor):
        return self.layers(x).softmax(-1)


def ask_arrays(server, **inputs):
    status, _, answer = server.ask("POST", "/v1/run", {"inputs": inputs})
    assert status == 200, answer
    return {
        name: np.array(found["data"], found["dtype"]).reshape(found["shape"])
        for name, found in answer["outputs"].items()
    }


@pytest.mark.parametrize("form", long_but(["plain", "optimized", "frozen"], "frozen"))
def test_serve_archive(emulated, tmp_path, form):
    """Calls beside each other are joined; a frozen archive's constants go to the device as well."""
    module = package.jit.script(Rows().eval())
    path = str(tmp_path / "rows.pt")
    package.jit.save(package.jit.freeze(module) if form == "frozen" else module, path)
    x = np.random.default_rng(2).standard_normal((24, 3)).astype(np.float32)
    expected = module(package.from_numpy(x)).numpy()
    options = ["--optimize"] if form == "optimized" else []
    with serving.serving(
        "--archive", path, "--device", "cuda", "--batch-window-ms", "20", *options
    ) as server:
        assert "within 20 ms, on cuda:0" in server.said
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            for _ in range(2):
                found = list(clients.map(lambda row: ask_arrays(server, x=[row.tolist()])["out"], x))
                np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-5, atol=1e-6)
        figures = server.figures()
        assert figures["weft_joined_calls_total"] > 0 and figures["weft_kinds_apart_total"] == 0
        wrong = server.ask("POST", "/v1/run", {"inputs": {"x": [[1.0, 2.0]]}})
        assert wrong[0] == 400 and "must match" in wrong[2]["error"]["message"]


def test_serve_archive_of_lists(emulated, tmp_path):
    module = package.jit.script(Parts().eval())
    path = str(tmp_path / "parts.pt")
    package.jit.save(module, path)
    x = np.random.default_rng(3).standard_normal((4, 3)).astype(np.float32)
    more = [np.ones((4, 2), np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)]
    numbered = {str(i): part.tolist() for i, part in enumerate(more)}
    expected = module(package.from_numpy(x), [package.from_numpy(part) for part in more], 2.0)
    with serving.serving("--archive", path, "--device", "cuda:1") as server:
        assert "on cuda:1" in server.said
        for _ in range(3):
            found = ask_arrays(server, x=x.tolist(), more=numbered, scale=2.0)
            np.testing.assert_allclose(found["out.out"], expected["out"].numpy(), rtol=1e-5, atol=1e-6)
            assert found["out.rows"] == 4


@pytest.mark.skipif(not CHECKPOINT.exists(), reason="no shared data (WEFT_SHARED_DATA)")
@pytest.mark.long
def test_serve_checkpoint(emulated):
    """The masks are the CPU's; the second request's embedding is on the device already."""
    pixels = np.random.default_rng(0).integers(0, 255, (64, 90, 3), np.uint8)
    pixels[10:40, 20:50] = (200, 40, 60)
    image = {"dtype": "uint8", "shape": [64, 90, 3], "base64": base64.b64encode(pixels.tobytes()).decode()}
    prompts = [
        {"points": [[30, 20]]},
        {"box": [5, 4, 60, 50]},
        {"points": [[30, 20, 1], [5, 40, 0]], "box": [5.5, 4, 60, 50]},
    ]
    answers = {}
    for device in ("cpu", "cuda"):
        with serving.serving(
            "--checkpoint", str(CHECKPOINT), "--decoder-heads", "4", "--device", device
        ) as server:
            assert ("on cuda:0" in server.said) == (device == "cuda")
            for _ in range(2):
                status, _, answer = server.ask("POST", "/v1/segment", {"image": image, "prompts": prompts})
                assert status == 200, answer
                masks = [mask for result in answer["results"] for mask in result["masks"]]
                answers.setdefault(device, []).append(masks)
            assert server.figures()["weft_reused_images_total"] == 1
    assert answers["cuda"][0] == answers["cuda"][1] and len(answers["cuda"][0]) == 3
    for here, there in zip(answers["cpu"][0], answers["cuda"][0]):
        assert abs(here["predicted_iou"] - there["predicted_iou"]) < 1e-4
        here, there = (rle_to_mask(mask["segmentation"]) for mask in (here, there))
        assert (here != there).mean() < 1e-3


@pytest.mark.skipif(not CHECKPOINT.exists(), reason="no shared data (WEFT_SHARED_DATA)")
def test_segment(emulated, tmp_path):
    pytest.importorskip("PIL.Image")
    given = ("segment", DOG, "--checkpoint", CHECKPOINT, "--point", "400,300")
    areas = []
    for device in ("cpu", "cuda"):
        weft(*given, "--device", device, "--output", tmp_path / device)
        areas.append(json.loads((tmp_path / device / "dog.json").read_text())["masks"][0]["area"])
    assert abs(areas[0] - areas[1]) <= 1e-3 * areas[0]


def test_what_is_wrong(emulated, tmp_path):
    for served in (("--archive", "x.pt"), ("--checkpoint", "x.pth")):
        assert (
            "expected cpu, cuda or cuda:1, got meta"
            in weft("serve", *served, "--device", "meta", status=1).stderr
        )
    given = ("generate", "-m", STORIES, "-p", "x", "--device")
    assert "there are 2 GPUs, cuda:0 to cuda:1, and no number 2" in weft(*given, "cuda:2", status=1).stderr
    assert "expected cpu, cuda or cuda:1, got meta" in weft(*given, "meta", status=1).stderr
    assert "or 'meta', got 'gpu'" in weft(*given, "gpu", status=1).stderr
    assert "expected cpu, cuda or cuda:1, got 'gpu'" in (
        weft("segment", DOG, "--checkpoint", CHECKPOINT, "--point", "1,1", "--output", tmp_path, "--device", "gpu",
             status=2).stderr
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", "-m", STORIES, "-p", "x"),
        ("serve", "-m", STORIES, "--port", "0"),
        ("serve", "--archive", "x.pt"),
        ("serve", "--checkpoint", "x.pth"),
        ("bench", "llm", "--shape", "tiny", "--random-weights"),
        ("bench", "sam"),
        ("segment", DOG, "--checkpoint", CHECKPOINT, "--point", "1,1", "--output", "never"),
    ],
)
def test_without_a_gpu(monkeypatch, arguments):
    monkeypatch.delenv("WEFT_DEVICE_EMULATE", raising=False)
    said = weft("info").stdout
    if "there is no NVIDIA driver" not in said:
        pytest.skip("there is a GPU")
    error = weft(*arguments, "--device", "cuda", status=1).stderr
    assert "device 'cuda:0' cannot be used: there is no NVIDIA driver" in error and error.count("\n") == 1
