#!/usr/bin/env python3
"""Tensor parallelism on this machine, and a model of its cost: what `weft bench llm` decodes with several ranks beside one process,
what collectives of a layer's size take, and what follows for more ranks, machines and GPUs (docs/DISTRIBUTED.md).

    bench/tensor_parallel.py --shape llama-1b --scheme int8 --ranks 2 --rounds 5

One process has as many threads as there are ranks, and each rank one thread. They are measured in turn, round after round; figures
are medians. Everything is also written to build/bench/tensor_parallel.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent

# Of the published configurations: hidden, intermediate, layers, heads, key-value heads, head dimension, vocabulary; the head apart.
SHAPES = {
    "llama-1b": (2048, 8192, 16, 32, 8, 64, 128256),
    "llama-7b": (4096, 11008, 32, 32, 32, 128, 32000),
    "llama3-8b": (4096, 14336, 32, 32, 8, 128, 128256),
    "llama3-70b": (8192, 28672, 80, 64, 8, 128, 128256),
    "llama2-70b": (8192, 28672, 80, 64, 8, 128, 32000),
}
BYTES = {"bfloat16": 2.0, "int8": 1.0, "int4-g32": 0.625}
# Sizes of collectives that are timed, in float32 elements.
COUNTS = (1, 256, 2048, 4096, 8192, 32768, 131072)


def weight_bytes(shape, scheme, layers=0):
    """Bytes of all weights that one token reads, and how many layers."""
    hidden, intermediate, all_layers, heads, kv_heads, head_dim, vocab = SHAPES[shape]
    layers = layers or all_layers
    per_layer = hidden * head_dim * (2 * heads + 2 * kv_heads) + 3 * hidden * intermediate
    return (layers * per_layer + vocab * hidden) * BYTES[scheme], layers


def all_reduce_seconds(count, ranks, alpha, beta):
    """Recursive doubling for short operands, a ring's bytes for long ones: alpha seconds per message, beta per byte.
    source: Thakur, Rabenseifner and Gropp 2005, Optimization of collective communication operations in MPICH."""
    if ranks == 1:
        return 0.0
    bytes_ = 4 * count
    steps = math.ceil(math.log2(ranks))
    short = steps * (alpha + beta * bytes_)
    long = 2 * steps * alpha + 2 * (ranks - 1) / ranks * beta * bytes_
    return min(short, long)


def all_gather_seconds(count, ranks, alpha, beta):
    """`count` elements of all ranks together."""
    if ranks == 1:
        return 0.0
    return math.ceil(math.log2(ranks)) * alpha + (ranks - 1) / ranks * 4 * count * beta


def token_seconds(shape, scheme, ranks, read_bytes_per_second, fixed, alpha, beta, layers=0):
    """One decoded token: weights of a rank at its bandwidth, what does not divide, two sums per layer, the logits."""
    size, layers = weight_bytes(shape, scheme, layers)
    hidden, vocab = SHAPES[shape][0], SHAPES[shape][6]
    sums = 2 * layers * all_reduce_seconds(hidden, ranks, alpha, beta)
    return size / ranks / read_bytes_per_second + fixed + sums + all_gather_seconds(vocab, ranks, alpha, beta)


def measure_collectives():
    """Run by the ranks: seconds of one all-reduce in place by its number of float32 elements, as the model makes it."""
    import weft
    import weft.distributed as dist

    dist.init_process_group("mpi", check=False)
    found = {}
    for count in COUNTS:
        x = weft.zeros(count)
        times = []
        repeats = 100 if count <= 8192 else 20
        for _ in range(9):
            dist.barrier()
            dist.statistics(reset=True)
            for _ in range(repeats):
                dist.functional.all_reduce(x)
            times.append(dist.statistics()["seconds"] / repeats)
        found[count] = statistics.median(times)
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def environment(ranks, transport):
    result = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMP_NUM_THREADS": "1" if ranks > 1 else str(os.cpu_count()),
    }
    if transport:
        result["OMPI_MCA_btl"] = transport
    return result


def run(ranks, arguments, transport="", threads=0, realtime=False):
    launcher = ["chrt", "-f", "10"] if realtime else []
    launcher += ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    variables = environment(ranks, transport)
    if threads:
        variables["OMP_NUM_THREADS"] = str(threads)
    done = subprocess.run([*launcher, *arguments], env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}\n{done.stderr}")
    return json.loads(done.stdout)


def fit(times):
    """alpha and beta: the shortest operand's time, and the slope up to the longest."""
    counts = sorted(int(count) for count in times)
    alpha = times[str(counts[0])]
    beta = (times[str(counts[-1])] - alpha) / (4 * counts[-1])
    return alpha, max(beta, 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="llama-1b", choices=[s for s in SHAPES if not s.endswith("70b")])
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--scheme", default="int8", choices=list(BYTES))
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--realtime", action="store_true", help="before all other programs, as root")
    parser.add_argument("--measure-collectives", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_collectives:
        return measure_collectives()

    result = {"shape": options.shape, "scheme": options.scheme, "layers": options.layers, "collectives": {}}
    own = [sys.executable, __file__, "--measure-collectives"]
    for transport in ("", "tcp,self"):
        for ranks in options.ranks:
            times = run(ranks, own, transport, realtime=options.realtime)
            result["collectives"][f"{ranks} {transport or 'shared memory'}"] = times
            cells = "  ".join(
                f"{int(count) * 4} B: {seconds * 1e6:.1f} µs" for count, seconds in times.items()
            )
            print(f"all_reduce, {ranks} ranks, {transport or 'shared memory'}:  {cells}", flush=True)

    bench = [sys.executable, "-m", "weft", "bench", "llm", "--shape", options.shape, "--random-weights", "--schemes",
             options.scheme, "--pp", "0", "--tg", str(options.tokens), "-r", "2", "-o", "json"]  # fmt: skip
    if options.layers:
        bench += ["--layers", str(options.layers)]
    rates, details = {}, {}
    start = time.time()
    for _ in range(options.rounds):
        for ranks in options.ranks:
            for kind, count in (("threads", 1), ("ranks", ranks)):
                found = run(
                    count, bench, threads=ranks if kind == "threads" else 0, realtime=options.realtime
                )
                rates.setdefault((kind, ranks), []).append(found["tests"][0]["tokens_per_second"])
                details[(kind, ranks)] = found
    result["seconds"] = time.time() - start
    for ranks in options.ranks:
        alone, shared = (statistics.median(rates[(kind, ranks)]) for kind in ("threads", "ranks"))
        each = details[("ranks", ranks)]["tests"][0]["ranks"]
        alpha, beta = fit(result["collectives"][f"{ranks} shared memory"])
        steps = math.ceil(math.log2(ranks))
        # What the process of as many threads takes divides; the collectives come on top.
        size, layers = weight_bytes(options.shape, options.scheme, options.layers)
        hidden, vocab = SHAPES[options.shape][0], SHAPES[options.shape][6]
        sums = 2 * layers * all_reduce_seconds(hidden, ranks, alpha / steps, beta / steps)
        predicted = 1 / (1 / alone + sums + all_gather_seconds(vocab, ranks, alpha / steps, beta / steps))
        print(
            f"{options.shape} {options.scheme}: {ranks} threads {alone:.2f} tokens/s, {ranks} ranks {shared:.2f} ({shared / alone - 1:+.1%}), "
            f"predicted {predicted:.2f} ({predicted / shared - 1:+.1%}); in collectives "
            + ", ".join(
                f"{rank['share_in_collectives']:.1%} ({rank['seconds_per_collective'] * 1e6:.0f} µs each)"
                for rank in each
            )
        )
        result[f"{ranks} ranks"] = {"threads": rates[("threads", ranks)], "ranks": rates[("ranks", ranks)],
                                    "predicted": predicted, "each": each}  # fmt: skip
    out = TOP / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "tensor_parallel.json").write_text(json.dumps(result, indent=2))
    predict()


# (name, bytes per second that one rank reads, seconds that do not divide, alpha, beta)
MACHINES = (
    ("one core each at 12.5 GB/s, shared memory as measured", 12.5e9, 1e-4, 2.7e-6, 4e-10),
    ("servers at 200 GB/s each, TCP as measured on one host", 200e9, 3e-4, 18e-6, 5.1e-10),
    ("servers at 200 GB/s each, 100 Gbit/s RDMA (3 µs)", 200e9, 3e-4, 3e-6, 0.8e-10),
    ("GPUs at 1.4 TB/s each, NVLink (assumed: 10 µs per message, 200 GB/s)", 1.4e12, 1e-3, 10e-6, 5e-12),
)


def predict():
    """Tokens per second by ranks; *: more ranks than key-value heads, which weft refuses."""
    counts = (1, 2, 4, 8, 16, 32, 64)
    print("\n| machine | model | " + " | ".join(map(str, counts)) + " |")
    print("|---|---|" + "--:|" * len(counts))
    for machine, read, fixed, alpha, beta in MACHINES:
        for shape, scheme in (("llama-7b", "int8"), ("llama2-70b", "int8")):
            cells = []
            for ranks in counts:
                refused = "*" if SHAPES[shape][4] % ranks else ""
                cells.append(
                    f"{1 / token_seconds(shape, scheme, ranks, read, fixed, alpha, beta):.1f}{refused}"
                )
            print(f"| {machine} | {shape} {scheme} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
