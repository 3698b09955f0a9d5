"""bench/gpu.py in tiny sizes, on the emulated device: every line of it, and what it says of what fails."""

import argparse
import importlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from support.emulated import EMULATED

TOP = Path(__file__).resolve().parents[2]
TORCH = os.environ.get("WEFT_TORCH_PYTHON", str(TOP / ".venv-torch/bin/python"))
sys.path.append(str(TOP / "bench"))
gpu = importlib.import_module("gpu")
table, work = importlib.import_module("gpu_sections.table"), importlib.import_module("gpu_sections.work")
SECTIONS = list(gpu.SECTIONS)


def run(folder, *arguments):
    """What it prints, and its JSON."""
    output = folder / "results" / "gpu.json"
    done = subprocess.run(
        [sys.executable, TOP / "bench/gpu.py", "--tiny", "--output", output, *arguments],
        env={**os.environ, **EMULATED},
        capture_output=True,
        text=True,
    )
    log = output.with_suffix(".log")
    assert done.returncode == 0, done.stderr[-4000:]
    assert output.with_suffix(".txt").read_text() == done.stdout and done.stderr == ""
    return done.stdout, json.loads(output.read_text()), log.read_text()


def check_rows(found, ways):
    errors = [
        (row["case"], way["error"]) for row in found["rows"] for way in row["ways"].values() if "error" in way
    ]
    assert not errors
    assert list(dict.fromkeys(row["section"] for row in found["rows"])) == SECTIONS
    for row in found["rows"]:
        assert all(way["seconds"] > 0 for way in row["ways"].values())
        assert "weft" in row["ways"] or row["section"] == "sam"
    assert {way for row in found["rows"] for way in row["ways"]} == ways
    assert set(found["peaks"]) == {"copy", "read", "bfloat16 rate"}


@pytest.mark.long
def test_weft_alone(tmp_path):
    text, found, _ = run(tmp_path, "--torch", "")
    check_rows(found, {"weft", "numpy"})
    assert "tiny sizes: times mean nothing; no PyTorch" in text
    rows = {row["case"]: row for row in found["rows"]}
    assert [target["what"] for target in rows["k-means 2000 f64"]["targets"]] == [
        "share of copy", "times NumPy", "times compiled"]  # fmt: skip
    for scheme, least in (("bfloat16", 0.75), ("int8", 0.75), ("int4-g32", 0.6)):
        for case in (f"decode {scheme}", f"decode {scheme}, weft.models"):
            share, ratio = rows[case]["targets"]
            assert share["what"] == "share of read" and share["least"] == least
            assert ratio["met"] is None and rows[case]["ways"]["weft"]["tokens"] == 1
    steps = [case for case in rows if case.startswith("step '")]
    assert len(steps) == 8 and rows["fastest step of mask IoU >= 0.99"]["targets"][0]["least"] == 8.6
    assert rows["host: a recorded step of 16 kernels"]["targets"][0]["most"] == 5e-6
    assert text.count(" of read ") + text.count(" of copy ") >= 10 and "targets: " in text


def has_torch():
    try:
        return subprocess.run([TORCH, "-c", "import torch"], capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not has_torch(), reason="no PyTorch (WEFT_TORCH_PYTHON)")
def test_pytorch_beside(tmp_path):
    only = ["latency", "llm"]  # what is written for PyTorch; the rest is what weft runs
    options = gpu.parser().parse_args(
        ["--tiny", "--torch", TORCH, "--torch-device", "cpu", "--output", str(tmp_path / "gpu.json")]
    )
    bench = gpu.Bench(options, {"device": "none", "torch": "PyTorch"}, TORCH)
    for section in only:
        bench.section(section, "torch")
    log = (tmp_path / "gpu.log").read_text()
    rows = bench.table.rows()
    assert not [way for row in rows for way in row["ways"].values() if "error" in way], log[-4000:]
    assert {way for row in rows for way in row["ways"]} == {"torch", "torch_compile"}
    assert list(dict.fromkeys(row["section"] for row in rows)) == only
    decoded = [row for row in rows if row["case"].startswith("decode ")]
    assert len(decoded) == 3 and all(set(row["ways"]) == {"torch", "torch_compile"} for row in decoded)
    has_sam = [TORCH, "-c", "import segment_anything"]
    bench.section("sam", "torch")
    row = bench.table.rows()[-1]
    if subprocess.run(has_sam, capture_output=True).returncode == 0:
        assert set(row["ways"]) == {"torch", "torch_compile"} and row["ways"]["torch"]["seconds"] > 0
    else:
        assert "No module named 'segment_anything'" in row["ways"]["torch"]["error"]


def test_time_that_is_up(tmp_path):
    text, found, _ = run(tmp_path, "--torch", "", "--only", "llm", "--seconds", "1")
    rows = [(row["section"], row["ways"]) for row in found["rows"]]
    error = {"weft": {"error": "not measured: no time is left"}}
    assert rows == [("machine", error), ("llm", error)]
    assert text.count("weft: not measured: no time is left") == 2


@pytest.mark.parametrize(
    "code, why",
    [
        (
            "import time; time.sleep(60)",
            "stopped: kmeans may take 2 s on this side; what follows was not measured",
        ),
        ("import os; os.abort()", "the process ended with status -6; what follows was not measured"),
    ],
)
def test_process_that_does_not_end_well(tmp_path, code, why):
    """What it told before is kept, and where it was is named."""

    class Dying(gpu.Bench):
        def command(self, side):
            told = [{"begins": "first", "way": "weft"}, {"case": "first", "way": "weft", "seconds": 2.0},
                    {"begins": "second", "way": "weft"}]  # fmt: skip
            lines = "\n".join(json.dumps(line) for line in told)
            return [sys.executable, "-c", f"print({lines!r}, flush=True)\n{code}"]

    bench = Dying(argparse.Namespace(output=tmp_path / "gpu.json", seconds=100, tiny=True), {}, None)
    running = {"case": "all of kmeans", "way": "weft"}
    assert bench.measure("kmeans", "weft", running, 2) == why
    assert running == {"case": "second", "way": "weft"}
    assert bench.table.measured == {("kmeans", "first"): {"weft": {"seconds": 2.0}}}


def test_case_that_fails(monkeypatch, capsys):
    def cases(side):
        def fails():
            raise RuntimeError("a kernel\n  failed")

        yield "first", "weft", fails
        yield "second", "weft", lambda: {"seconds": 2.0}

    monkeypatch.setitem(sys.modules, "gpu_sections.fake", types.SimpleNamespace(cases=cases))
    work.run("fake", types.SimpleNamespace(active=lambda: open(os.devnull)))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told == [
        {"begins": "first", "way": "weft"},
        {"case": "first", "way": "weft", "error": "RuntimeError: a kernel failed"},
        {"begins": "second", "way": "weft"},
        {"case": "second", "way": "weft", "seconds": 2.0},
        {"ends": "fake"},
    ]


def test_targets():
    found = table.Table({"device": "a GPU", "torch": "PyTorch 2"})
    found.add("machine", {"case": "a copy", "way": "weft", "seconds": 1e-3, "bytes": 3e9, "peak": "copy"})
    found.add("machine", {"case": "a copy", "way": "torch", "seconds": 1e-3, "bytes": 4e9, "peak": "copy"})
    given = {"bytes": 4e6, "share_of": "copy", "least_share": 0.85,
             "least_ratio": {"numpy": 200, "torch_compile": 1}}  # fmt: skip
    found.add("kmeans", {"case": "k", "way": "weft", "seconds": 1.25e-6, **given})
    found.add("kmeans", {"case": "k", "way": "numpy", "seconds": 250e-6})
    found.add("kmeans", {"case": "k", "way": "torch_compile", "seconds": 1e-6})
    found.add("llm", {"case": "l", "way": "weft", "seconds": 2.0, "beside": "of torch", "tokens": 4,
                      "least_ratio": {"torch_compile": 1}})  # fmt: skip
    found.add("llm", {"case": "of torch", "way": "torch_compile", "seconds": 3.0})
    found.add("latency", {"case": "first", "way": "weft", "seconds": 0.25, "most_seconds": 0.25})
    found.add("kmeans", {"case": "all of kmeans", "way": "torch", "error": "stopped"})
    assert [row["section"] for row in found.rows()] == ["machine", *2 * ["kmeans"], *2 * ["llm"], "latency"]
    rows = {row["case"]: row for row in found.rows()}
    values, met = zip(*((target["value"], target["met"]) for target in rows["k"]["targets"]))
    assert values == pytest.approx((0.8, 200, 0.8)) and met == (False, True, False)
    assert [(t["value"], t["met"]) for t in rows["l"]["targets"]] == [(1.5, True)]
    assert rows["first"]["targets"][0]["met"] and rows["of torch"]["targets"] == []
    text = found.text()
    assert text.startswith("a GPU; copy 4 TB/s; PyTorch 2\n")
    assert "of copy 80.0% (>= 85.0%: NOT MET); times NumPy 200 (>= 200: met); times compiled 0.8" in text
    assert "PyTorch: stopped\n" in text
    assert "2 tokens/s; times compiled 1.5 (>= 1: met)" in text and "time 250 ms (<= 250 ms: met)" in text
    assert text.endswith("targets: 3 met, 2 not met, 0 without what they compare with; 1 measurements failed")


def test_what_is_wrong(tmp_path):
    def said(*arguments, status=2, **environment):
        done = subprocess.run([sys.executable, TOP / "bench/gpu.py", *arguments], capture_output=True, text=True,
                              env={**os.environ, **environment})  # fmt: skip
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    assert "unknown sections lmm; they are machine, kmeans" in said("--only", "kmeans,lmm")
    assert "--torch-device cpu is for --tiny" in said("--torch-device", "cpu")
    emulated = said(status=0, WEFT_DEVICE_EMULATE="1")
    assert "nothing is measured on the emulated device; --tiny" in emulated
    if "there is no NVIDIA driver" not in said(status=0, WEFT_DEVICE_EMULATE="0"):
        pytest.skip("there is a GPU")
