"""The commands for language models, as a user runs them."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from weft import models

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
STORIES = str(SHARED / "stories260k")
pytestmark = pytest.mark.skipif(
    not pathlib.Path(STORIES).is_dir(), reason="no shared data (WEFT_SHARED_DATA)"
)


def weft(*arguments, status=0, **options):
    done = subprocess.run(
        [sys.executable, "-m", "weft", *arguments], capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == status, done.stderr
    return done


def test_generate():
    done = weft("generate", "-m", STORIES, "-n", "12", "-p", "Once upon")
    assert done.stdout.startswith("Once upon a time, there was a little girl named")
    assert "decode   11 tokens" in done.stderr and "of the" in done.stderr and "\033" not in done.stderr
    result = json.loads(
        weft("generate", "-m", STORIES, "-n", "12", "--json", "--stop", " girl", "-p", "").stdout
    )
    assert result["text"] == "Once upon a time, there was a little"


def test_generated_tokens_by_their_ids():
    arguments = ("generate", "-m", STORIES, "-n", "12", "-p", "Once upon", "--json")
    result = json.loads(weft(*arguments).stdout)
    model = models.CausalModel.from_pretrained(STORIES)
    stream = model.stream("Once upon", max_new_tokens=12)
    assert "".join(stream) == result["text"]
    assert result["token_ids"] == stream.tokens[-12:]
    assert len(result["token_ids"]) == result["generated_tokens"] == 12


def test_inspect_describes_a_model():
    text = weft("inspect", STORIES).stdout
    assert text.startswith("language model, quantization none\n")
    lines = dict(line.split(None, 1) for line in text.splitlines() if line.startswith("  "))
    assert lines["family"] == "llama" and lines["heads"] == "8 of 8, 4 for keys and values"
    assert lines["layers"] == "5 of 64" and lines["vocabulary"] == "512, tied"
    result = json.loads(weft("inspect", STORIES, "--json").stdout)
    assert result["kind"] == "language model" and result["quantization"] == "none"
    assert {entry["name"]: entry["value"] for entry in result["description"]}[
        "MLP"
    ] == "172 columns, gated by silu"
    assert "it has no code" in weft("inspect", STORIES, "--code", status=1).stderr
    assert "no model here" in weft("inspect", str(SHARED), status=1).stderr


def test_sampling_repeats_with_a_seed():
    texts = [
        weft("generate", "-m", STORIES, "-n", "30", "--temperature", "1", "--seed", seed, "-p", "").stdout
        for seed in ("1", "1", "2")
    ]
    assert texts[0] == texts[1] != texts[2]


def test_interactive():
    arguments = ("generate", "-m", STORIES, "--interactive")
    done = weft(*arguments, "-n", "5", input="Hello\nBye\n")
    assert len(done.stdout.strip().splitlines()) >= 2
    result = json.loads(weft(*arguments, "-n", "5", "--json", input="Hello\nBye\nHello\n").stdout)
    assert 0.4 < result["kept_tokens"] / result["prompt_tokens"] < 1 and result["finish_reason"] == "length"
    one = json.loads(weft(*arguments, "-n", "5", "--json", input="Hello\n").stdout)["text"]
    assert (
        json.loads(weft(*arguments, "-n", "5", "--json", input="Hello\n/new\nHello\n").stdout)["text"]
        == 2 * one
    )
    full = weft(*arguments, "--max-positions", "60", input="Hello\nBye\n", status=1)
    assert "the context of 60 tokens is full" in full.stderr and "has no room for an answer" in full.stderr


def test_interrupted(tmp_path):
    """Ctrl-C ends the text with the summary, and the status is what shells expect."""
    for file in pathlib.Path(STORIES).iterdir():
        (tmp_path / file.name).symlink_to(file.resolve())
    config = json.loads((tmp_path / "config.json").read_text()) | {"max_position_embeddings": 100_000}
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps(config))
    arguments = [
        sys.executable,
        "-m",
        "weft",
        "generate",
        "-m",
        str(tmp_path),
        "--prompt",
        "",
        "-n",
        "100000",
        "--ignore-eos",
    ]
    arguments += ["--max-positions", "100000", "--temperature", "1", "--threads", "1"]  # minutes of text
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, summary = process.communicate(timeout=60)
    assert process.returncode == 130 and "decode" in summary


def test_quantize_then_generate(tmp_path):
    for scheme in ("int8", "int4-g32"):
        done = weft("quantize", STORIES, str(tmp_path / scheme), "--scheme", scheme)
        assert "times smaller" in done.stdout
        assert (
            len([line for line in done.stdout.splitlines() if line[:1].isdigit()]) == 6
        )  # five layers and the total
        text = weft("generate", "-m", str(tmp_path / scheme), "-n", "30", "-p", "").stdout
        assert text == weft("generate", "-m", STORIES, "--quantize", scheme, "-n", "30", "-p", "").stdout
        assert text.startswith("Once upon a time")
    assert "is there already" in weft("quantize", STORIES, str(tmp_path / "int8"), status=1).stderr


def test_gptq_loses_less(tmp_path):
    """Perplexity of text that the model wrote itself, other than what was calibrated with."""
    model = models.Llama.from_pretrained(STORIES)
    for name, seeds in (("calibration", range(20)), ("held_out", range(100, 110))):
        texts = [model.generate([1], max_new_tokens=250, temperature=1.0, seed=seed) for seed in seeds]
        (tmp_path / name).write_text("\n".join(texts))
    calibration = ["--gptq", "--calibration", str(tmp_path / "calibration")]
    perplexities = []
    for folder, options in (("nearest", []), ("gptq", calibration)):
        weft("quantize", STORIES, str(tmp_path / folder), "--scheme", "int4-g64", *options)
        done = weft(
            "eval", "perplexity", "-m", str(tmp_path / folder), "--text", str(tmp_path / "held_out"), "--json"
        )
        perplexities.append(json.loads(done.stdout)["perplexity"])
    assert perplexities[1] < 0.98 * perplexities[0]


def test_perplexity(tmp_path):
    story = tmp_path / "story.txt"
    story.write_text(json.loads((pathlib.Path(STORIES) / "expected.json").read_text())["greedy_text"])
    result = json.loads(weft("eval", "perplexity", "-m", STORIES, "--text", str(story), "--json").stdout)
    assert 1 < result["perplexity"] < 3 and 0 < result["error"] < result["perplexity"]


def test_bench():
    done = weft(
        "bench",
        "llm",
        "--shape",
        "tiny",
        "--random-weights",
        "--schemes",
        "bfloat16,int8",
        "--pp",
        "8",
        "--tg",
        "4",
        "-r",
        "2",
        "-o",
        "json",
    )
    tests = json.loads(done.stdout)["tests"]
    assert [test["test"] for test in tests] == ["pp8", "tg4"] * 2 and all(
        test["tokens_per_second"] > 0 for test in tests
    )
    assert (
        "| tiny | int4-g32 | "
        in weft(
            "bench", "llm", "--shape", "tiny", "--random-weights", "--ladder", "--tg", "24", "-r", "1"
        ).stdout
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["generate", "-m", "/nope", "-p", "x"], "'/nope': not a folder"),
        (["generate", "-m", STORIES, "-p", "word " * 600], "the model's context 512 leaves no room"),
        (
            ["generate", "-m", STORIES, "-p", "x", "--max-positions", "9999"],
            "max_positions 9999 is more than the model's 512",
        ),
        (
            ["quantize", STORIES, "/tmp/never", "--scheme", "int4-g32", "--gptq", "--calibration", "/nope"],
            "'/nope': cannot be read",
        ),
        (["eval", "perplexity", "-m", STORIES, "--text", "/nope"], "'/nope': cannot be read"),
        (["eval", "perplexity", "-m", STORIES, "--text", sys.executable], "not valid UTF-8"),
        (
            ["bench", "llm", "-m", STORIES, "--pp", "600"],
            "--pp 600 after --depth 0 does not fit into the context of 512",
        ),
    ],
)
def test_mistakes(arguments, message):
    assert message in weft(*arguments, status=1).stderr
