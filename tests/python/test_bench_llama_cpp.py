"""`weft bench llm --llama-cpp` and bench/llm_peers.py with it, over a program that prints what llama-bench does."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).parents[2]
SHARED = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", TOP / ".." / "shared" / "data"))
MODEL = str(SHARED / "gguf" / "stories260k-q8_0.gguf")
pytestmark = pytest.mark.skipif(not pathlib.Path(MODEL).is_file(), reason="no shared data (WEFT_SHARED_DATA)")

# A row per test as llama-bench -o json prints it, and something of its log on stderr.
PROGRAM = """#!{python}
import json, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print("loading", options["-m"], file=sys.stderr)
sizes = lambda key: [int(size) for size in options[key].split(",") if int(size) > 0]
tests = [(n, 0) for n in sizes("-p")] + [(0, n) for n in sizes("-n")]
rows = [
    {{
        "build_commit": "abcdef0",
        "build_number": 4321,
        "cpu_info": "a processor",
        "model_filename": options["-m"],
        "model_type": "llama",
        "n_threads": int(options["-t"]),
        "n_gpu_layers": int(options["-ngl"]),
        "n_prompt": prompt,
        "n_gen": generated,
        "n_depth": int(options.get("-d", 0)),
        "avg_ns": 1000,
        "stddev_ns": 10,
        "avg_ts": 100.0 + prompt + int(options.get("-d", 0)),
        "stddev_ts": 1.5,
        {more}
    }}
    for prompt, generated in tests
]
{then}
"""


def build(folder, more="", then="print(json.dumps(rows, indent=2))", place="build/bin"):
    """A directory with such a program."""
    (folder / place).mkdir(parents=True)
    program = folder / place / "llama-bench"
    program.write_text(PROGRAM.format(python=sys.executable, more=more, then=then))
    program.chmod(0o755)
    return str(folder)


def bench(*arguments, status=0):
    command = [sys.executable, "-m", "weft", "bench", "llm", "--tg", "4", "-r", "1", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stderr
    return done


@pytest.mark.parametrize("place", ["build/bin", "bin", "."])
def test_rows_beside_weft(tmp_path, place):
    plain = build(tmp_path / "a", place=place)
    other = build(tmp_path / "b", more='"mla_attn": 0,', place=place)
    done = bench("-m", MODEL, "--pp", "8", "--llama-cpp", plain, "--llama-cpp", other, "-o", "json")
    tests = json.loads(done.stdout)["tests"]
    assert [test["test"] for test in tests] == ["pp8", "tg4"] * 3
    assert [test["execution"] for test in tests[2:]] == ["llama.cpp 4321 (abcdef0)"] * 2 + [
        "ik_llama.cpp 4321 (abcdef0)"
    ] * 2
    own, theirs = tests[:2], tests[2:4]
    assert [test["tokens_per_second"] for test in theirs] == [108.0, 100.0]
    assert all(test["deviation"] == 1.5 for test in theirs)
    for ours, test in zip(own, theirs):  # the same bytes and operations
        assert test["gb_per_token"] == ours["gb_per_token"]
        share = "share_of_read" if test["test"] == "tg4" else "gflops"
        ratio = test["tokens_per_second"] / ours["tokens_per_second"]
        assert test[share] == pytest.approx(ours[share] * ratio)
    assert "loading" in done.stderr
    assert (
        "| llama.cpp 4321 (abcdef0) | tg4 |" in bench("-m", MODEL, "--pp", "0", "--llama-cpp", plain).stdout
    )


def test_tokens_in_the_cache(tmp_path):
    done = bench("-m", MODEL, "--pp", "0", "--depth", "5", "--llama-cpp", build(tmp_path / "a"), "-o", "json")
    assert json.loads(done.stdout)["tests"][1]["tokens_per_second"] == 105.0


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("sys.exit(3)", "llama-bench' ended with status 3"),
        ("print('hello')", "llama-bench' prints"),
        ("print('{}')", "llama-bench' prints no list of tests"),
        ("print('[5]')", "llama-bench' prints no number 'n_prompt'"),
        ("print(json.dumps([rows[0] | {'avg_ts': 'fast'}]))", "llama-bench' prints no number 'avg_ts'"),
    ],
)
def test_programs_that_fail(tmp_path, then, message):
    done = bench("-m", MODEL, "--pp", "0", "--llama-cpp", build(tmp_path / "a", then=then), status=1)
    assert message in done.stderr


def test_where_there_is_none(tmp_path):
    done = bench("-m", MODEL, "--pp", "0", "--llama-cpp", str(tmp_path), status=1)
    assert f"--llama-cpp: no program {tmp_path}/llama-bench, {tmp_path}/bin/llama-bench" in done.stderr


def test_peers(tmp_path):
    """One shape, in GGUF files that weft and the build have."""
    command = [sys.executable, str(TOP / "bench" / "llm_peers.py"), "--shape", "tiny", "--peers", ""]
    command += ["--prompt", "8", "--generated", "4", "--repetitions", "1", "--schemes", "float32"]
    command += [
        "--gguf",
        "q8_0,q4_0",
        "--llama-cpp",
        build(tmp_path / "a"),
        "--weft",
        f"{sys.executable} -m weft",
    ]
    command += ["--output", str(tmp_path / "report")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "report" / "llm-peers.json").read_text())["rows"]
    assert [(row["peer"], row["weights"]) for row in rows] == [
        ("weft", "float32"),
        ("weft", "q8_0, GGUF"),
        ("llama.cpp 4321 (abcdef0)", "q8_0, GGUF"),
        ("weft", "q4_0, GGUF"),
        ("llama.cpp 4321 (abcdef0)", "q4_0, GGUF"),
    ]
    assert [row["decode"] for row in rows if row["peer"] != "weft"] == [100.0, 100.0]
