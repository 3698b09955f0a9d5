#!/usr/bin/env python3
"""Benchmarks of weft beside NumPy and other peers: pins threads, repeats, prints a table, writes JSON.

Every implementation of a case is timed in turn, round after round, so that a drifting clock or a noisy neighbour
meets all of them alike; figures are medians. GB/s counts the bytes that must move (cases.py) and is also given
as a percentage of the ceiling measured in the same run. Results go to build/bench/.
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

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
PEERS_PYTHON = TOP / ".venv-peers/bin/python"
PEERS = ["torch", "numba", "jax", "numexpr"]


def usable_cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def environment(threads: int) -> dict[str, str]:
    pinned = {
        name: str(threads)
        for name in (
            "OMP_NUM_THREADS",
            "MKL_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "NUMBA_NUM_THREADS",
            "NUMEXPR_MAX_THREADS",
        )
    }
    # XLA has no thread setting; it sees the cores of the affinity mask.
    return {**os.environ, **pinned, "BENCH_THREADS": str(threads)}


@contextlib.contextmanager
def pinned(threads: int):
    """The calling process, and so those it starts, on the first `threads` cores."""
    before = usable_cores()
    os.sched_setaffinity(0, before[:threads])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Worker:
    def __init__(self, python: Path, implementations: list[str], threads: int):
        with pinned(threads):
            self.process = subprocess.Popen(
                [python, HERE / "worker.py"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**environment(threads), "BENCH_IMPLEMENTATIONS": ",".join(implementations)},
            )
        self.versions = self.ask(do="hello")["versions"]

    def ask(self, **request) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: a worker ended on {request} with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"bench: {request}: {answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(case, workers: list[Worker], seconds: float, scale: float) -> tuple[dict, dict]:
    """Median seconds by implementation, and what failed."""
    owner, errors = {}, {}
    for worker in workers:
        answer = worker.ask(do="case", name=case.name, scale=scale)
        owner.update(dict.fromkeys(answer["implementations"], worker))
        errors.update(answer["errors"])
    samples = {name: [] for name in owner}
    spent = dict.fromkeys(owner, 0.0)
    # Slow ones stop after three rounds, quick ones go on until each has had its share of time.
    while active := [
        n for n in owner if len(samples[n]) < 3 or (spent[n] < seconds and len(samples[n]) < 101)
    ]:
        for name in active:
            taken = owner[name].ask(do="time", implementation=name)["seconds"]
            samples[name].append(taken)
            spent[name] += taken * case.calls
    return {name: statistics.median(times) for name, times in samples.items()}, errors


def ceilings(threads: int) -> dict:
    """The machine's measured limits: GB/s and GFLOP/s by name."""
    with pinned(threads):
        text = subprocess.run(
            [TOP / ".venv/bin/weft", "bench", "ceilings", "--json", "--threads", str(threads)],
            env=environment(threads),
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return json.loads(text)


def fresh_process(code: str, repeats: int, **env: str) -> float:
    """Median of the seconds that `code` prints on its last line, each time in a new process."""
    taken = []
    for _ in range(repeats):
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **env},
            check=True,
            capture_output=True,
            text=True,
        )
        taken.append(float(result.stdout.splitlines()[-1]))
    return statistics.median(taken)


def startup(repeats: int) -> dict[str, float]:
    """Milliseconds that a fresh process spends before results come."""
    timed_import = "import time; a = time.perf_counter(); import {}; print(time.perf_counter() - a)"
    after_numpy = "import numpy, time; a = time.perf_counter(); import weft; print(time.perf_counter() - a)"
    first_call = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "import time, numpy as np, weft, cases\n"
        "case = next(c for c in cases.all_cases(0.001) if c.name == {name!r})\n"
        "arguments = case.inputs(np.random.default_rng(0))\n"
        "a = time.perf_counter(); weft.compile(case.numpy)(*arguments); print(time.perf_counter() - a)"
    )
    result = {
        "import numpy": fresh_process(timed_import.format("numpy"), repeats),
        "import weft, after numpy": fresh_process(after_numpy, repeats),
    }
    for name in ("kmeans f64", "softmax f32"):
        code = first_call.format(name=name)
        cold = []
        with tempfile.TemporaryDirectory() as root:
            for i in range(repeats):
                cold.append(fresh_process(code, 1, WEFT_CACHE_DIR=f"{root}/{i}"))
            warm = fresh_process(code, repeats, WEFT_CACHE_DIR=f"{root}/0")
        result[f"first call, nothing cached: {name}"] = statistics.median(cold)
        result[f"first call, disk cache: {name}"] = warm
    return {name: seconds * 1e3 for name, seconds in result.items()}


def quantity(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.2f} us"


def print_table(header: list[str], rows: list[list[str]]):
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * w for w in widths], *rows]:
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=False))
        ]
        print("  ".join(cells).rstrip())


def ceiling_of(case, limits: dict) -> float:
    """Seconds that the case's bytes take at the measured bandwidth: reads alone, or reads with streamed writes.

    The non-temporal copy moves one byte in for each byte out; further reads go at the read bandwidth.
    """
    copied = min(case.bytes_read, case.bytes_written)
    return 2 * copied / limits["copy_nt_gbs"] / 1e9 + (case.bytes_read - copied) / limits["read_gbs"] / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peers", action="store_true", help="also run what .venv-peers has (bench/setup_peers)"
    )
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose name contains TEXT")
    parser.add_argument(
        "--threads", default="", metavar="N,...", help="thread counts (default: 1 and all cores)"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each implementation of a case")
    parser.add_argument("--scale", type=float, default=1.0, help="shrinks the arrays: 0.1 for a quick look")
    parser.add_argument("--no-startup", action="store_true", help="skip the import and first-call times")
    parser.add_argument(
        "--json", type=Path, default=None, help="where to write (default: build/bench/NAME.json)"
    )
    options = parser.parse_args()

    sys.path.insert(0, str(HERE))
    from cases import all_cases

    cases = [c for c in all_cases(options.scale) if options.filter in c.name]
    if not cases:
        parser.error(
            f"no case contains {options.filter!r}; there are: "
            + ", ".join(c.name for c in all_cases(options.scale))
        )
    if options.peers and not PEERS_PYTHON.exists():
        parser.error("no .venv-peers: run bench/setup_peers (or make bench-peers)")
    all_threads = len(usable_cores())
    counts = [int(t) for t in options.threads.split(",")] if options.threads else sorted({1, all_threads})

    report = {
        "machine": platform.processor() or platform.machine(),
        "cores": all_threads,
        "python": platform.python_version(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "scale": options.scale,
        "ceilings": {},
        "results": [],
    }
    for threads in counts:
        limits = report["ceilings"][threads] = ceilings(threads)
        print(
            f"\n{threads} thread{'s' if threads > 1 else ''}: read {limits['read_gbs']:.1f} GB/s, "
            f"non-temporal copy {limits['copy_nt_gbs']:.1f} GB/s, f32 {limits['float32_gflops']:.0f} GFLOP/s"
        )
        workers = [Worker(Path(sys.executable), ["numpy", "weft"], threads)]
        if options.peers:
            workers.append(Worker(PEERS_PYTHON, PEERS, threads))
        report["versions"] = {name: v for w in workers for name, v in w.versions.items()}
        names = list(report["versions"])
        rows = []
        for case in cases:
            if sys.stderr.isatty():
                print(f"\r\033[K{case.name} ...", end="", file=sys.stderr, flush=True)
            medians, errors = measure(case, workers, options.seconds, options.scale)
            entry = {"case": case.name, "threads": threads, "seconds": medians, "errors": errors}
            row = [case.name]
            for name in names:
                row.append(
                    quantity(medians[name]) if name in medians else "failed" if name in errors else "-"
                )
            best_peer = min((t for name, t in medians.items() if name != "weft"), default=None)
            if "weft" in medians:
                row.append(f"{best_peer / medians['weft']:.2f}x" if best_peer else "-")
                if case.bound == "stream":
                    entry["gbs"] = (case.bytes_read + case.bytes_written) / medians["weft"] / 1e9
                    entry["percent_of_ceiling"] = 100 * ceiling_of(case, limits) / medians["weft"]
                    row += [f"{entry['gbs']:.1f}", f"{entry['percent_of_ceiling']:.0f}%"]
                else:
                    row += ["-", "-"]
            else:
                row += ["-", "-", "-"]
            rows.append(row)
            report["results"].append(entry)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        print_table(["case", *names, "best other / weft", "weft GB/s", "of ceiling"], rows)
        for entry in report["results"]:
            if entry["threads"] == threads:
                for name, error in entry["errors"].items():
                    print(f"{entry['case']}: {name} failed: {error}")
        for worker in workers:
            worker.close()

    if not options.no_startup:
        report["startup_ms"] = startup(5)
        print()
        print_table(
            ["in a fresh process", "ms"], [[n, f"{ms:.1f}"] for n, ms in report["startup_ms"].items()]
        )

    path = options.json or TOP / "build/bench" / ("peers.json" if options.peers else "bench.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
