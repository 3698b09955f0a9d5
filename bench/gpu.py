#!/usr/bin/env python3
"""Kernels on a GPU beside the measured copy bandwidth, NumPy and, where it is installed, PyTorch.

    make bench-gpu          # or bench/gpu.py [--points 20000000]

Needs NVIDIA's driver and no network; says so where there is none. Times are of calls whose arguments and results stay
on the GPU, several in a row before it is waited for. Writes build/bench/gpu.json. Nothing is measured on the emulated
device, whose times mean nothing.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import weft

TOP = Path(__file__).resolve().parent.parent
gpu = weft._C._gpu


def seconds(function, wait, repeats=9, calls=5):
    """Median time of a call, of `calls` in a row."""
    function(), wait()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        wait()
        taken.append((time.perf_counter() - start) / calls)
    return statistics.median(taken)


def kmeans(x, means, library):
    return library.argmin(library.sqrt(library.sum((x - means[:, None]) ** 2, 2)), 0)


def kmeans_numpy(x, means):
    return np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)


def polynomial(x, library):
    return library.exp(x) * x + library.sqrt(library.abs(x)) * 2 - 1


def softmax(x, library):
    e = library.exp(x - library.amax(x, 1, True))
    return e / library.sum(e, 1, True)


def cases(points):
    """Name, tensor function, NumPy's (None: not compared), arguments, bytes that must be moved."""
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        x = rng.standard_normal((points, 2)).astype(dtype)
        means = np.array([[5, 5], [10, 10]], dtype)
        bits = dtype().itemsize * 8
        yield f"k-means {points} f{bits}", kmeans, kmeans_numpy, (x, means), x.nbytes + 8 * points
        yield f"fused elementwise f{bits}", polynomial, None, (x,), 2 * x.nbytes
        yield f"sum of all f{bits}", lambda a, library: library.sum(a), np.sum, (x,), x.nbytes
        rows = rng.standard_normal((points // 1000, 2000)).astype(dtype)
        yield f"softmax of rows f{bits}", softmax, None, (rows,), 2 * rows.nbytes


def measured(name, function, plain, arguments, least, torch):
    """Times of one case; `least`: what copying as many bytes takes."""
    there = [weft.tensor(a).to("cuda") for a in arguments]
    compiled = weft.compile(lambda *a: function(*a, weft))
    with weft.device("cuda"):
        start = time.perf_counter()
        compiled(*there)
        gpu.synchronize()
        first = time.perf_counter() - start
        took = seconds(lambda: compiled(*there), gpu.synchronize)
    row = {"name": name, "seconds": took, "first_call": first, "of_copy": least / took}
    if plain:
        row["numpy"] = seconds(lambda: plain(*arguments), lambda: None, repeats=1, calls=1)
    if torch:
        of_torch = [torch.tensor(a, device="cuda") for a in arguments]
        row["torch"] = seconds(lambda: function(*of_torch, torch), torch.cuda.synchronize)
        compiled_torch = torch.compile(lambda *a: function(*a, torch))
        row["torch_compile"] = seconds(lambda: compiled_torch(*of_torch), torch.cuda.synchronize)
    return row


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--points", type=int, default=20_000_000)
    options.add_argument("--output", type=Path, default=TOP / "build/bench/gpu.json")
    given = options.parse_args()
    if why := gpu.why_unavailable():
        print(f"bench-gpu: nothing is measured: {why}")
        return 0
    if gpu.is_emulated():
        print("bench-gpu: nothing is measured on the emulated device")
        return 0
    try:
        import torch

        torch = torch if torch.cuda.is_available() else None
    except ImportError:
        torch = None
    facts = gpu.facts()
    block = weft.tensor(np.zeros(1 << 28, np.float32)).to("cuda")
    copy = 2 * 4 * (1 << 28) / seconds(block.clone, gpu.synchronize)
    del block
    print(
        f"{facts['name']}, sm_{facts['capability'][0]}{facts['capability'][1]}; a copy moves {copy / 1e12:.2f} TB/s"
    )
    print(f"{'':28} {'weft ms':>9} {'of copy':>8} {'NumPy ms':>10} {'PyTorch ms':>10} {'compiled':>9}")
    results = []
    for name, function, plain, arguments, moved in cases(given.points):
        row = measured(name, function, plain, arguments, moved / copy, torch) | {"device": facts["name"]}
        show = [f"{row[key] * 1e3:.3f}" if key in row else "-" for key in ("numpy", "torch", "torch_compile")]
        print(
            f"{name:28} {row['seconds'] * 1e3:9.3f} {row['of_copy']:8.1%} {show[0]:>10} {show[1]:>10} {show[2]:>9}",
            flush=True,
        )
        results.append(row)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps({"copy_bytes_per_second": copy, "results": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
