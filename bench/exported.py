#!/usr/bin/env python3
"""Exported programs (.pt2) in weft beside weft's own torch.compile, PyTorch's torch.compile and AOTInductor.

PyTorch exports ten models of torchvision (full size, random weights, one image); each way runs in a child process with one
thread on one core, and they take turns. Figures are medians of processor time per call (user and system). The results of all
ways are compared. Writes build/bench/exported.md and .json.

    bench/exported.py --torch .venv-torch/bin/python [--only resnet18 swin_t] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from torchscript import TOP, Worker, cpu_name

MODELS = [
    "resnet18", "resnet50", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0", "shufflenet_v2_x1_0", "densenet121",
    "convnext_tiny", "swin_t", "vit_b_16",
]  # fmt: skip
# What runs in which library's process.
WAYS = {
    "weft": "weft", "weft compile": "weft", "weft optimized": "weft", "torch.compile": "torch", "AOTInductor": "torch",
}  # fmt: skip
LIMIT = 1.03  # of the plain program beside the module that weft compiles
WANTED = 1.3  # geometric mean beside the faster of PyTorch's two


def measure(options, folder: Path, name: str) -> dict:
    workers = {way: Worker(options, library, 1, script="exported_worker.py") for way, library in WAYS.items()}
    try:
        workers["torch.compile"].ask("make", folder=folder, name=name)
        outputs = {
            way: worker.ask("prepare", folder=folder, name=name, way=way) for way, worker in workers.items()
        }
        expected = np.load(folder / f"{name}.npz")["y"]
        for way, answer in outputs.items():
            scale = np.abs(expected).max()
            if not scale > 0:
                raise SystemExit(f"{name}: PyTorch's results are all zero or no numbers")
            worst = np.abs(np.asarray(answer["outputs"], dtype=np.float32) - expected).max() / scale
            if not worst <= 1e-3:
                raise SystemExit(f"{name}: {way} differs from PyTorch by {worst} of the largest result")
        samples = {way: [] for way in workers}
        for _ in range(options.rounds):
            for way, worker in workers.items():
                samples[way] += worker.ask("time", seconds=options.seconds)["seconds"]
        found = {way: statistics.median(each) for way, each in samples.items()}
        found["load"] = statistics.median(workers["weft"].ask("load", folder=folder, name=name)["seconds"])
        return found
    finally:
        for worker in workers.values():
            worker.close()


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default=os.environ.get("WEFT_TORCH_PYTHON", str(TOP / ".venv-torch/bin/python")),
                        metavar="PYTHON", help="a Python that has PyTorch 2.15 and torchvision")  # fmt: skip
    parser.add_argument(
        "--only",
        nargs="+",
        choices=MODELS,
        default=MODELS,
        metavar="MODEL",
        help=f"some of {', '.join(MODELS)}",
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="processor time of a turn (default: 0.5)")
    parser.add_argument("--output", type=Path, default=TOP / "build/bench", help="folder of the tables")
    options = parser.parse_args()
    options.torch_python = options.torch
    return options


def table_of(found: dict, heading: str) -> str:
    lines = [
        heading, "", f"| model | {' | '.join(f'{way}, ms' for way in WAYS)} | plain beside weft compile | beside PyTorch's faster | loading, ms |",
        "|---" * (len(WAYS) + 4) + "|",
    ]  # fmt: skip
    for name, each in found.items():
        figures = " | ".join(f"{each[way] * 1e3:.2f}" for way in WAYS)
        lines.append(
            f"| {name} | {figures} | {own(each):.3f} | {gain(each):.2f} | {each['load'] * 1e3:.1f} |"
        )
    mean = math.exp(statistics.fmean(math.log(gain(each)) for each in found.values()))
    worst = max(map(own, found.values()))
    lines += ["", f"Geometric mean beside the faster of PyTorch's: {mean:.2f} times faster (wanted: {WANTED}). "
                  f"Plain beside weft compile: at most {worst:.3f} (wanted: {LIMIT})."]  # fmt: skip
    return "\n".join(lines) + "\n"


def own(each):
    return each["weft"] / each["weft compile"]


def gain(each):
    return min(each["torch.compile"], each["AOTInductor"]) / each["weft"]


def main():
    options = parse_options()
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for model in options.only:
            found[model] = measure(options, Path(name), model)
            shown = ", ".join(f"{way} {found[model][way] * 1e3:.2f} ms" for way in WAYS)
            print(f"  {model}: {shown}", flush=True)
    heading = f"{cpu_name()}, one thread, processor time per call; `bench/exported.py`, {time.strftime('%Y-%m-%d', time.gmtime())}"
    table = table_of(found, heading)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "exported.md").write_text(table)
    (options.output / "exported.json").write_text(
        json.dumps({"heading": heading, "seconds": found}, indent=1) + "\n"
    )
    print(f"\n{table}\nwritten: {options.output / 'exported.md'} and .json")


if __name__ == "__main__":
    main()
