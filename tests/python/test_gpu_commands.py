"""`--device cuda` of the commands, on the emulated device (docs/GPU.md)."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import pytest
import serving

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
    monkeypatch.setenv("WEFT_DEVICE_EMULATE", "1")


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
    archive = ("serve", "--archive", "x.pt", "--device", "cuda")
    assert "--device requires --model" in weft(*archive, status=2).stderr
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
        ("bench", "llm", "--shape", "tiny", "--random-weights"),
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
