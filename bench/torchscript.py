#!/usr/bin/env python3
"""TorchScript in weft beside PyTorch: latency, interpreter overhead, fork, application threads, load time, size.

Both run in child processes whose threads are pinned to as many cores, and take turns, round after round, so that a
noisy neighbour meets both alike; figures are medians. PyTorch's modules are frozen, optimized for inference and
called under inference_mode; weft's are optimized for inference. Writes build/bench/torchscript.md and .json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
OPERATORS = 10_000
NETWORKS = {"squeezenet1_1": "SqueezeNet 1.1", "mobilenet_v3_small": "MobileNet v3 small"}


class Worker:
    """A child process that runs one library with so many threads, on as many cores."""

    def __init__(
        self, options, name, threads: int, interop_threads: int = 1, cores: int | None = None,
        script="torchscript_worker.py", **variables,
    ):  # fmt: skip
        cores = cores or threads
        before = os.sched_getaffinity(0)
        pinned = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        environment = {**os.environ, **pinned, **variables}
        if name == "torch":
            environment.pop("PYTHONPATH", None)
        os.sched_setaffinity(0, sorted(before)[:cores])
        try:
            self.process = subprocess.Popen(
                [
                    options.torch_python if name == "torch" else sys.executable,
                    HERE / script,
                    name,
                    str(threads),
                    str(interop_threads),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        finally:
            os.sched_setaffinity(0, before)
        self.name = name
        self.version = self.ask("hello")["version"]

    def ask(self, do: str, **request) -> dict:
        self.process.stdin.write(json.dumps({"do": do, **request}, default=str) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: the worker ended on {do} with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"{self.name}: {do} {request}:\n{answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def pair(options, **settings):
    """One worker of each library."""
    workers = {name: Worker(options, name, **settings) for name in ("torch", "weft")}
    try:
        yield workers
    finally:
        for worker in workers.values():
            worker.close()


def prepare(workers: dict[str, Worker], model: Path, arrays: Path, tolerance: float = 1e-4):
    """Loads the model in each; their outputs must agree."""
    outputs = {
        name: worker.ask("prepare", model=model, arrays=arrays)["outputs"] for name, worker in workers.items()
    }
    if not np.allclose(outputs["torch"], outputs["weft"], rtol=tolerance, atol=tolerance):
        worst = np.abs(np.subtract(outputs["torch"], outputs["weft"])).max()
        raise SystemExit(
            f"{model.name}: weft's outputs differ from PyTorch's by up to {worst}; this is a bug in weft"
        )


def interleaved(workers: dict[str, Worker], options, **request) -> dict[str, float]:
    """Median seconds by library."""
    samples = {name: [] for name in workers}
    for _ in range(options.rounds):
        for name, worker in workers.items():
            samples[name] += worker.ask(**request)["seconds"]
    return {name: statistics.median(seconds) for name, seconds in samples.items()}


class Report:
    def __init__(self):
        self.rows = []

    def add(self, case: str, torch, weft, ratio: str, wanted: str, reached: bool | None, **raw):
        row = {
            "case": case,
            "torch": torch,
            "weft": weft,
            "ratio": ratio,
            "wanted": wanted,
            "reached": reached,
        }
        self.rows.append({**row, **raw})
        print(f"  {case}: PyTorch {torch}, weft {weft}; {ratio}", flush=True)

    def compare(self, case: str, seconds: dict[str, float], unit: float, name: str, wanted_ratio: float):
        ratio = seconds["torch"] / seconds["weft"]
        shown = {k: f"{v / unit:.2f} {name}" for k, v in seconds.items()}
        wanted = f"{wanted_ratio:g} times faster" if wanted_ratio < 3 else "a third of PyTorch's"
        self.add(
            case, shown["torch"], shown["weft"], f"{ratio:.2f} times faster", wanted, ratio >= wanted_ratio,
            seconds=seconds, factor=ratio,
        )  # fmt: skip

    def markdown(self, heading: str) -> str:
        lines = [heading, "", "| case | PyTorch | weft | result | wanted | |", "|---|---|---|---|---|---|"]
        for row in self.rows:
            mark = {True: "reached", False: "**missed**", None: ""}[row["reached"]]
            lines.append(
                f"| {row['case']} | {row['torch']} | {row['weft']} | {row['ratio']} | {row['wanted']} | {mark} |"
            )
        return "\n".join(lines) + "\n"


def latency(options, report: Report):
    for threads in (1, 2):
        with pair(options, threads=threads) as workers:
            for model, title in NETWORKS.items():
                prepare(workers, options.data / f"{model}.pt", options.data / f"{model}.npz")
                seconds = interleaved(workers, options, do="time", calls=5)
                report.compare(f"{title}, batch 1, {plural(threads, 'thread')}", seconds, 1e-3, "ms", 1.5)


def operators(options, report: Report, folder: Path):
    small = np.linspace(0.5, 1.5, 4, dtype=np.float32)
    np.savez(folder / "tiny_operators.npz", **{"in.0": small, "in.1": small, "in.2": OPERATORS})
    np.savez(folder / "tiny_integers.npz", **{"in.0": small, "in.1": OPERATORS})
    programs = {"tiny_operators": "tensors of 4 elements", "tiny_integers": "integers"}
    for compiled, models in (("0", list(programs)), ("1", ["tiny_operators"])):
        with pair(options, threads=1, WEFT_JIT_COMPILE=compiled) as workers:
            for model in models:
                prepare(workers, folder / f"{model}.pt", folder / f"{model}.npz")
                seconds = interleaved(workers, options, do="time", calls=3)
                each = {name: taken / OPERATORS for name, taken in seconds.items()}
                how = "compiled" if compiled == "1" else "interpreted"
                case = f"an operator of a loop of 10,000 on {programs[model]}, weft {how}"
                report.compare(case, each, 1e-9, "ns", 3.0)


def forks(options, report: Report, folder: Path):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 96, 96)).astype(np.float32) / 10
    np.savez(folder / "fork_many.npz", **{"in.0": x, "in.1": w})
    with contextlib.ExitStack() as stack:
        settings = {
            count: stack.enter_context(pair(options, threads=1, interop_threads=count, cores=2))
            for count in (1, 2)
        }
        for workers in settings.values():
            prepare(workers, folder / "fork_many.pt", folder / "fork_many.npz")
        flat = {(name, count): w for count, pair_ in settings.items() for name, w in pair_.items()}
        seconds = interleaved(flat, options, do="time", calls=3)
    scaling = {name: seconds[name, 1] / seconds[name, 2] for name in ("torch", "weft")}
    shown = {name: f"{seconds[name, 1] * 1e3:.1f} to {seconds[name, 2] * 1e3:.1f} ms" for name in scaling}
    report.add(
        "8 forked tasks, from 1 to 2 inter-op threads", shown["torch"], shown["weft"],
        f"{scaling['torch']:.2f} and {scaling['weft']:.2f} times faster", "weft 1.8 times", scaling["weft"] >= 1.8,
        scaling=scaling, seconds={f"{name}, {count}": taken for (name, count), taken in seconds.items()},
    )  # fmt: skip


def application_threads(options, report: Report):
    model = "mobilenet_v3_small"
    calls, alive = {}, {}
    with pair(options, threads=2, interop_threads=2) as workers:
        prepare(workers, options.data / f"{model}.pt", options.data / f"{model}.npz")
        for name in workers:
            for threads in (2, 8):
                calls[name, threads], alive[name, threads] = [], 0
        for _ in range(options.rounds // 4 + 1):
            for (name, threads), taken in calls.items():
                answer = workers[name].ask("serve", threads=threads, seconds=1.0)
                taken.append(answer["calls_per_second"])
                alive[name, threads] = max(alive[name, threads], answer["threads_alive"])
    rate = {key: statistics.median(taken) for key, taken in calls.items()}
    gain = {name: rate[name, 8] / rate[name, 2] for name in ("torch", "weft")}
    shown = {name: f"{rate[name, 2]:.0f} to {rate[name, 8]:.0f} calls/s" for name in gain}
    report.add(
        "MobileNet, 2 intra-op threads, from 2 to 8 application threads", shown["torch"], shown["weft"],
        f"{gain['torch']:.2f} and {gain['weft']:.2f} times the throughput", "weft 1 time", gain["weft"] >= 0.97,
        rate={f"{name}, {threads}": value for (name, threads), value in rate.items()},
    )  # fmt: skip
    limit = 8 + 1 + 2 + 2  # application threads, Python's main thread, intra-op, inter-op
    report.add(
        "threads alive meanwhile", str(alive["torch", 8]), str(alive["weft", 8]), "",
        f"at most {limit}: 9 of Python's, 2 intra-op, 2 inter-op", alive["weft", 8] <= limit,
    )  # fmt: skip


def load_time(options, report: Report):
    with pair(options, threads=1) as workers:
        seconds = interleaved(
            workers, options, do="load", model=options.data / "mobilenet_v3_small.pt", repeats=3
        )
    shown = {name: f"{taken * 1e3:.1f} ms" for name, taken in seconds.items()}
    report.add(
        "loading MobileNet's archive", shown["torch"], shown["weft"],
        f"{seconds['torch'] / seconds['weft']:.2f} times faster", "20 ms", seconds["weft"] <= 0.020, seconds=seconds,
    )  # fmt: skip


def library_size(options, report: Report, folder: Path):
    library = options.library
    if not library.exists():
        print(f"  {library} is not there: its size is left out")
        return
    subprocess.run(["strip", "-o", folder / "libweft.so", library], check=True)
    size = (folder / "libweft.so").stat().st_size
    find = "import glob, os, torch; print(max(map(os.path.getsize, glob.glob(os.path.dirname(torch.__file__) + '/lib/libtorch_cpu*'))))"
    torch = subprocess.run([options.torch_python, "-c", find], capture_output=True, text=True)
    shown = f"{int(torch.stdout) / 1e6:.0f} MB" if torch.returncode == 0 else ""
    report.add(
        "the library, stripped", shown, f"{size / 1e6:.1f} MB", "", "25 MB", size <= 25e6, bytes=size
    )  # fmt: skip


def plural(count: int, word: str) -> str:
    return f"{count} {word}" + ("s" if count > 1 else "")


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="turns of each library (default: 20)")
    parser.add_argument(
        "--only", default="", metavar="PART,...", help="latency, operators, forks, threads, load, size"
    )
    parser.add_argument("--output", type=Path, default=TOP / "build/bench", help="folder of the tables")
    parser.add_argument(
        "--library", type=Path, default=TOP / "build/release/lib/libweft.so", help="libweft.so, to be sized"
    )
    options = parser.parse_args()
    options.torch_python = os.environ.get("WEFT_TORCH_PYTHON", "/usr/bin/python3")
    options.data = Path(os.environ.get("WEFT_SHARED_DATA", TOP.parent / "shared/data")) / "torchscript"
    try:
        subprocess.run([options.torch_python, "-c", "import torch"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        parser.exit(
            1,
            f"{options.torch_python} has no PyTorch to compare with: `make setup-torch` installs Debian's python3-torch,\n"
            "or WEFT_TORCH_PYTHON names a Python that has it\n",
        )
    return options


def main():
    options = parse_options()
    parts = {
        "latency": (latency, True),
        "operators": (operators, False),
        "forks": (forks, False),
        "threads": (application_threads, True),
        "load": (load_time, True),
        "size": (library_size, False),
    }
    wanted = options.only.split(",") if options.only else list(parts)
    if unknown := set(wanted) - set(parts):
        sys.exit(f"--only: unknown part {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    report = Report()
    with tempfile.TemporaryDirectory() as name, pair(options, threads=1) as workers:
        folder = Path(name)
        versions = {library: worker.version for library, worker in workers.items()}
        workers["torch"].ask("make", folder=folder)
        for part in wanted:
            function, needs_data = parts[part]
            if needs_data and not options.data.is_dir():
                print(
                    f"  {part}: left out, the networks' archives are not in {options.data} (WEFT_SHARED_DATA)"
                )
                continue
            function(options, report) if needs_data else (function(options, report, folder))
    heading = (
        f"{cpu_name()}, {plural(len(os.sched_getaffinity(0)), 'core')}; weft {versions['weft']}, PyTorch {versions['torch']}; "
        f"`make bench-torchscript`, {time.strftime('%Y-%m-%d', time.gmtime())}"
    )
    table = report.markdown(heading)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "torchscript.md").write_text(table)
    (options.output / "torchscript.json").write_text(
        json.dumps({"heading": heading, "versions": versions, "rows": report.rows}, indent=1) + "\n"
    )
    print(f"\n{table}\nwritten: {options.output / 'torchscript.md'} and .json")


if __name__ == "__main__":
    main()
