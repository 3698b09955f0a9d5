#!/usr/bin/env python3
"""Text generation beside peers: `weft bench llm`, then what .venv-peers has of torch, ctranslate2 and llama.cpp (xllamacpp).

All run on random weights of one shape, made here and thrown away, with the same prompt, length and threads. Decode
is also given as bytes of weights read per second, in percent of the read bandwidth that weft measured in this run.
--llama-cpp DIR: builds of llama.cpp or ik_llama.cpp for this processor, whose llama-bench measures the same GGUF files.
The table goes to build/bench/llm-peers.md, everything to llm-peers.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from llm_shapes import SHAPES
from llm_worker import GGML_TYPES, write_gguf
from run import PEERS_PYTHON, TOP, environment, pinned, print_table, usable_cores
from suite import markdown

HERE = Path(__file__).resolve().parent
PEERS = {"torch": "torch", "ctranslate2": "ctranslate2", "llama_cpp": "llama.cpp"}


def weft_report(options, layers: int, schemes: list[str], *more: str) -> dict:
    command = [
        *options.weft.split(),
        "bench",
        "llm",
        "--shape",
        options.shape,
        "--random-weights",
        "-o",
        "json",
    ]
    command += [
        "--layers",
        layers,
        "--pp",
        options.prompt,
        "--tg",
        options.generated,
        "-r",
        options.repetitions,
    ]
    command += ["--threads", options.threads, "--schemes", *schemes, *more]
    result = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def run_weft(options, layers: int) -> tuple[float, list[dict]]:
    """Read bandwidth in GB/s, and a row per scheme of weights.

    Quantized weights twice: with inputs of products rounded to 16 bits, as weft has it by default, and to 8, as
    ctranslate2 and ggml do.
    """
    schemes = options.schemes.split(",")
    runs = [("", weft_report(options, layers, schemes))]
    if quantized := [scheme for scheme in schemes if scheme.startswith("int")]:
        runs.append((", 8-bit inputs", weft_report(options, layers, quantized, "--activations", "int8")))
    rows: dict[str, dict] = {}
    for how, report in runs:
        for test in report["tests"]:
            weights = test["weights"] + how
            row = rows.setdefault(weights, {"peer": "weft", "weights": weights})
            row["gb_per_token"] = test["gb_per_token"]
            row["prefill" if test["test"].startswith("pp") else "decode"] = test["tokens_per_second"]
    return runs[0][1]["read_gb_per_second"], list(rows.values())


def run_gguf(options, layers: int) -> list[dict]:
    """weft and the builds of llama.cpp on one GGUF file of random weights after the other."""
    shape, rows = SHAPES[options.shape].with_layers(layers), {}
    for weights in options.gguf.split(","):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "random.gguf"
            write_gguf(path, shape, weights, options.prompt + options.generated + 8)
            command = [*options.weft.split(), "bench", "llm", "-m", path, "-o", "json"]
            command += ["--pp", options.prompt, "--tg", options.generated, "-r", options.repetitions]
            command += ["--threads", options.threads]
            for build in options.llama_cpp:
                command += ["--llama-cpp", build]
            result = subprocess.run(
                [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True
            )
        for test in json.loads(result.stdout)["tests"]:
            peer = test["execution"] if "llama.cpp" in test["execution"] else "weft"
            row = rows.setdefault((peer, weights), {"peer": peer, "weights": f"{weights}, GGUF"})
            row["gb_per_token"] = test["gb_per_token"]
            row["prefill" if test["test"].startswith("pp") else "decode"] = test["tokens_per_second"]
    return list(rows.values())


def run_peer(peer: str, options, layers: int, limit: float) -> tuple[list[dict], str]:
    """Its rows, and why there are no more."""
    numbers = (layers, options.prompt, options.generated, options.repetitions, options.threads)
    command = [PEERS_PYTHON, HERE / "llm_worker.py", peer, options.shape, *map(str, numbers)]
    with pinned(options.threads):
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(options.threads),
        )
    try:
        output, errors = process.communicate(timeout=limit)
        failure = "" if process.returncode == 0 else (errors.strip().splitlines() or ["no message"])[-1]
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        failure = f"stopped after {limit:.0f} s"
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    per_token = SHAPES[options.shape].with_layers(layers).weights_per_token()
    for row in rows:
        row["gb_per_token"] = per_token * row["bytes_per_weight"] / 1e9
    return rows, failure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="llama-1b", choices=list(SHAPES))
    parser.add_argument(
        "--layers", type=int, default=None, help="only so many layers of the shape, for a quick look"
    )
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--generated", type=int, default=64, help="tokens generated")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(usable_cores()))
    parser.add_argument("--schemes", default="bfloat16,int8,int4-g32", help="weft's schemes of weights")
    parser.add_argument("--peers", default=",".join(PEERS), help="which peers to run; '': none")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a peer is stopped")
    parser.add_argument("--weft", default=str(TOP / ".venv/bin/weft"), help="the command")
    parser.add_argument("--output", type=Path, default=TOP / "build/bench", help="the folder of the reports")
    parser.add_argument(
        "--llama-cpp", action="append", default=[], metavar="DIR", help="a build; may be repeated"
    )
    parser.add_argument("--gguf", default=",".join(GGML_TYPES), help="types of the GGUF files of --llama-cpp")
    options = parser.parse_args()
    if others := set(options.gguf.split(",")) - set(GGML_TYPES):
        parser.error(f"unknown types: {', '.join(sorted(others))}; there are {', '.join(GGML_TYPES)}")
    options.peers = [peer for peer in options.peers.split(",") if peer]
    unknown = set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"unknown peers: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    if options.peers and not PEERS_PYTHON.exists():
        parser.error("no .venv-peers: run bench/setup_peers (or make bench-peers)")

    layers = options.layers or SHAPES[options.shape].layers
    read, rows = run_weft(options, layers)
    failures = {}
    if options.llama_cpp:
        rows += run_gguf(options, layers)
    for peer in options.peers:
        print(f"{PEERS[peer]} ...", file=sys.stderr, flush=True)
        found, failure = run_peer(peer, options, layers, options.limit)
        rows += found
        if failure:
            failures[peer] = failure
    for row in rows:
        row["share_of_read"] = 100 * row["decode"] * row["gb_per_token"] / read
    title = f"{options.shape}, {layers} layers, {options.threads} threads, read bandwidth {read:.1f} GB/s"
    header = [
        "",
        "weights",
        "GB per token",
        f"pp{options.prompt} tok/s",
        f"tg{options.generated} tok/s",
        "of read bandwidth",
    ]
    table = [
        [
            PEERS.get(row["peer"], row["peer"]),
            row["weights"],
            f"{row['gb_per_token']:.3f}",
            f"{row['prefill']:.1f}",
            f"{row['decode']:.2f}",
            f"{row['share_of_read']:.0f}%",
        ]
        for row in rows
    ]
    print(title)
    print_table(header, table)
    failed = [f"- {PEERS[peer]} failed: {failure}" for peer, failure in failures.items()]
    print("\n".join(failed))
    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    report = {
        "shape": options.shape,
        "layers": layers,
        "threads": options.threads,
        "read_gb_per_second": read,
    }
    (folder / "llm-peers.json").write_text(
        json.dumps({**report, "rows": rows, "failures": failures}, indent=1) + "\n"
    )
    (folder / "llm-peers.md").write_text(
        "\n".join([f"# {title}", "", *markdown(header, table), "", *failed, ""])
    )


if __name__ == "__main__":
    main()
