"""Times products of bfloat16, float16 or int8: weft's beside PyTorch's, by turns in one run, and how far both are from what the machine can do.

python bench/products.py [--torch PATH/python] [--threads 1] [--rounds 5] [--dtype bfloat16] [--json FILE] [NAME ...]

PATH/python is a Python that has PyTorch; without it weft alone is measured. Medians over the rounds: G operations/s, the share of
the ceiling of `weft bench ceilings` (the fastest of float32's multiply-adds, bfloat16's pairs and tiles; int8: of its
fours and tiles), and for up to 16 rows GB/s of the weights, beside a read of memory. One thread is timed by its
processor's clock, several by the wall's. int8 products are torch._int_mm, exact in int32; there are none of batches.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# x @ y of (m, n, k); linear: with y as weights[n, k] and a bias; batched: so many of them.
SHAPES = {
    "square 64": ("matmul", 64, 64, 64),
    "square 128": ("matmul", 128, 128, 128),
    "square 256": ("matmul", 256, 256, 256),
    "square 512": ("matmul", 512, 512, 512),
    "square 1024": ("matmul", 1024, 1024, 1024),
    "square 1000": ("matmul", 1000, 1000, 1000),
    "square 1024 linear": ("linear", 1024, 1024, 1024),
    "square 2048 linear": ("linear", 2048, 2048, 2048),
    "tall 16384 x 64": ("matmul", 16384, 64, 64),
    "tall 8192 x 256": ("linear", 8192, 256, 256),
    "tall 10000 x 16": ("matmul", 10000, 16, 256),
    "thin k 16": ("matmul", 1024, 1024, 16),
    "thin n 32": ("linear", 2048, 32, 1024),
    "deep 64 x 64": ("matmul", 64, 64, 16384),
    "wide 64 x 8192": ("matmul", 64, 8192, 512),
    "odd 333 x 257 x 129": ("matmul", 333, 257, 129),
    "rows 1": ("linear", 1, 4096, 4096),
    "rows 1 matmul": ("matmul", 1, 4096, 4096),
    "rows 2": ("linear", 2, 4096, 4096),
    "rows 4": ("linear", 4, 4096, 4096),
    "rows 4 matmul": ("matmul", 4, 4096, 4096),
    "rows 8": ("linear", 8, 4096, 4096),
    "rows 16": ("linear", 16, 4096, 4096),
    "rows 16 matmul": ("matmul", 16, 4096, 4096),
    "rows 32": ("linear", 32, 4096, 4096),
    "ViT-B qkv": ("linear", 197, 2304, 768),
    "ViT-B projection": ("linear", 197, 768, 768),
    "ViT-B up": ("linear", 197, 3072, 768),
    "ViT-B down": ("linear", 197, 768, 3072),
    "ViT-B x 8 up": ("linear", 1576, 3072, 768),
    "ViT-B scores": ("batched", 197, 197, 64, 12),
    "ViT-B values": ("batched", 197, 64, 197, 12),
    "batched 16 x 128": ("batched", 128, 128, 128, 16),
    "batched 256 x 32": ("batched", 32, 32, 32, 256),
    "Llama 1B qkv": ("linear", 128, 3072, 2048),
    "Llama 1B up": ("linear", 128, 8192, 2048),
    "Llama 1B down": ("linear", 128, 2048, 8192),
    "Llama 7B output": ("linear", 64, 4096, 4096),
    "Llama 7B up": ("linear", 64, 11008, 4096),
    "Llama 7B down": ("linear", 64, 4096, 11008),
}


def floating_operations(shape):
    return 2 * shape[1] * shape[2] * shape[3] * (shape[4] if len(shape) > 4 else 1)


def measure(threads, dtype):
    """Runs in each process: answers each name read from standard input with its median in seconds."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    calls = {}

    def call_of(name):
        kind, m, n, k, *batch = SHAPES[name]
        if dtype == "int8":
            x, y = (torch.randint(-128, 128, shape).to(torch.int8) for shape in ((m, k), (k, n)))
            y = y.t().contiguous().t() if kind == "linear" else y
            product = importlib.import_module("weft" if "weft.torch" in sys.modules else "torch")._int_mm
            return lambda: product(x, y)

        def numbers(*shape):
            return torch.randn(*shape).to(getattr(torch, dtype))

        if kind == "linear":
            x, weight, bias = numbers(m, k), numbers(n, k), numbers(n)
            return lambda: F.linear(x, weight, bias)
        x, y = numbers(*batch, m, k), numbers(*batch, k, n)
        return lambda: x @ y

    with torch.no_grad():
        for line in sys.stdin:
            name = line.strip()
            if name not in calls:
                calls = {name: call_of(name)}
            run = calls[name]
            for _ in range(2):
                run()
            times = []
            end = time.perf_counter() + 0.1
            while len(times) < 5 or time.perf_counter() < end:
                start = clock()
                run()
                times.append(clock() - start)
            print(statistics.median(times), flush=True)


def ceilings(threads, dtype):
    command = [Path(sys.executable).parent / "weft", "bench", "ceilings", "--threads", str(threads), "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    keys = {
        "int8": ("int8_gops", "int8_tiles_gops"),
        "bfloat16": ("float32_gflops", "bfloat16_gflops", "bfloat16_tiles_gflops"),
    }
    arithmetic = max(found.get(key, 0) for key in keys.get(dtype, ("float32_gflops",)))
    return arithmetic, found.get("read_gbs", 0)


def line_of(name, row, most, dtype):
    shape = SHAPES[name]
    operations = floating_operations(shape)
    text = f"{name:<20}{operations / row['weft'] * 1e-9:>9.1f}{operations / row['weft'] * 1e-9 / most:>6.0%}"
    if "torch" in row:
        text += f"{operations / row['torch'] * 1e-9:>9.1f}{operations / row['torch'] * 1e-9 / most:>6.0%}"
        text += f"{row['torch'] / row['weft']:>8.2f}"
    if shape[1] <= 16:
        size = {"int8": 1, "float32": 4}.get(dtype, 2)
        text += f"{size * shape[2] * shape[3] / row['weft'] * 1e-9:>9.1f} GB/s"
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(SHAPES))
    parser.add_argument("--torch", help="a Python that has PyTorch; without it weft alone is measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32", "int8"))
    parser.add_argument("--json")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.threads, options.dtype)
    most, read = ceilings(options.threads, options.dtype)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(options.threads),
        "MKL_NUM_THREADS": str(options.threads),
    }
    sides = {"weft": [sys.executable, "-m", "weft.torch"]}
    if options.torch:
        sides["torch"] = [options.torch]
    arguments = ["--measure", "--threads", str(options.threads), "--dtype", options.dtype]
    workers = {
        side: subprocess.Popen(
            [*command, __file__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for side, command in sides.items()
    }
    print(
        f"{options.threads} threads, {options.dtype}, at most {most:.0f} G operations/s, reading {read:.1f} GB/s"
    )
    print(f"{'':<20}{'weft':>15}" + f"{'PyTorch':>15}{'ratio':>8}" * ("torch" in sides))
    found = {}
    names = [name for name in options.names if options.dtype != "int8" or SHAPES[name][0] != "batched"]
    for name in names:
        rounds = {side: [] for side in workers}
        for _ in range(options.rounds):
            for side, worker in workers.items():
                worker.stdin.write(name + "\n")
                worker.stdin.flush()
                rounds[side].append(float(worker.stdout.readline()))
        found[name] = {side: statistics.median(times) for side, times in rounds.items()}
        print(line_of(name, found[name], most, options.dtype), flush=True)
    if "torch" in sides:
        ratios = [row["torch"] / row["weft"] for row in found.values()]
        print(
            f"{len(ratios)} products, PyTorch's time / weft's: geometric mean {statistics.geometric_mean(ratios):.2f}, "
            f"least {min(ratios):.2f}, {sum(ratio < 1 for ratio in ratios)} below 1"
        )
    if options.json:
        report = {"threads": options.threads, "dtype": options.dtype, "most_gflops": most, "read_gbs": read}
        Path(options.json).write_text(json.dumps({**report, "seconds": found}, indent=1))


if __name__ == "__main__":
    main()
