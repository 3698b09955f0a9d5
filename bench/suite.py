#!/usr/bin/env python3
"""The suite of NumPy programs (bench/programs): weft beside NumPy and, with --peers, numba, jax, torch and numexpr.

Every implementation runs in a process of its own, pinned to the same cores; they are timed in turn, round after
round, and the figures are medians. A first call is timed in processes that have just started, with an empty disk
cache and with a filled one. Peak memory is that of one later call, its results included, after what is kept for the
next allocation was given back: code and the compiler's own memory are not in it. The table is also written as Markdown, and everything as
JSON, to build/bench.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import PEERS, PEERS_PYTHON, TOP, environment, pinned, quantity, usable_cores

HERE = Path(__file__).resolve().parent
MEBI = 2**20


class WorkerEnded(Exception):
    pass


class Worker:
    """One implementation in a process of its own, which is started again when it hangs or crashes.

    It is stopped while it has nothing to do: threads of some libraries spin for up to a tenth of a second after their
    last work, on the core that the next implementation's threads need.
    """

    def __init__(self, implementation: str, threads: int, limit: float):
        self.implementation, self.threads, self.limit = implementation, threads, limit
        self.process = None
        self.version = self.ask(do="hello")["version"]

    def start(self):
        python = sys.executable if self.implementation in ("numpy", "weft") else PEERS_PYTHON
        with pinned(self.threads):
            self.process = subprocess.Popen(
                [python, HERE / "suite_worker.py", self.implementation],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(self.threads),
            )
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def stop(self):
        """Returns when all of its threads are stopped: one that spins is so only at its next interruption."""
        self.process.send_signal(signal.SIGSTOP)
        for _ in range(100):
            stats = [stat.read_text() for stat in Path(f"/proc/{self.process.pid}/task").glob("*/stat")]
            if all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats):
                return
            time.sleep(1e-3)

    def ask(self, **request) -> dict:
        if self.process is None:
            self.start()
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        if not self.selector.select(self.limit):
            self.close()
            raise WorkerEnded(f"no answer in {self.limit:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.close()
            raise WorkerEnded(f"ended with status {status}")
        self.stop()
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerEnded(answer["error"])
        return answer

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


def start_workers(implementations, threads, limit) -> list[Worker]:
    workers = []
    for implementation in implementations:
        try:
            workers.append(Worker(implementation, threads, limit))
        except WorkerEnded as error:
            print(f"{implementation} is left out: {error}")
    return workers


def measure(name: str, workers: list[Worker], seconds: float) -> dict:
    """Median seconds and mode by implementation, and what failed."""
    ready, modes, failures = {}, {}, {}
    for worker in workers:
        try:
            answer = worker.ask(do="program", name=name)
            if "seconds" in answer:
                ready[worker.implementation], modes[worker.implementation] = worker, answer["mode"]
            elif answer["failed"]:
                failures[worker.implementation] = answer["failed"]
        except WorkerEnded as error:
            failures[worker.implementation] = str(error)
    samples = {implementation: [] for implementation in ready}
    while active := [
        i for i in ready if len(samples[i]) < 5 or (sum(samples[i]) < seconds and len(samples[i]) < 41)
    ]:
        for implementation in active:
            samples[implementation].append(ready[implementation].ask(do="time")["seconds"])
    return {
        "seconds": {i: statistics.median(times) for i, times in samples.items()},
        "modes": modes,
        "failures": failures,
    }


def fresh(implementation: str, name: str, threads: int, limit: float, **env: str) -> dict:
    """What suite_worker.fresh says of the program in a new process."""
    command = [sys.executable, HERE / "suite_worker.py", "fresh", implementation, name]
    try:
        with pinned(threads):
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, env={**environment(threads), **env}
            )
    except subprocess.TimeoutExpired:
        return {}
    return json.loads(result.stdout) if result.returncode == 0 else {}


def first_calls(name: str, threads: int, limit: float) -> dict:
    """Compile time with an empty and with a filled disk cache, breaks, and peak memory beside NumPy's."""
    with tempfile.TemporaryDirectory() as cache:
        cold = fresh("weft", name, threads, limit, WEFT_CACHE_DIR=cache)
        warm = fresh("weft", name, threads, limit, WEFT_CACHE_DIR=cache) if cold else {}
    plain = fresh("numpy", name, threads, limit)
    return {
        "cold_seconds": cold.get("compile_seconds"),
        "cached_seconds": warm.get("compile_seconds"),
        "breaks": warm.get("breaks"),
        "kernels": warm.get("kernels"),
        "peak_bytes": warm.get("peak_bytes"),
        "numpy_peak_bytes": plain.get("peak_bytes"),
    }


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def ratio(result: dict, of: str) -> float | None:
    seconds = result["seconds"]
    return seconds[of] / seconds["weft"] if of in seconds and "weft" in seconds else None


def best_peer(result: dict) -> str | None:
    peers = {i: t for i, t in result["seconds"].items() if i not in ("weft", "numpy")}
    return min(peers, key=peers.get, default=None)


def row_of(program, result: dict, first: dict) -> list[str]:
    seconds, peer = result["seconds"], best_peer(result)
    over_numpy, over_peer = ratio(result, "numpy"), ratio(result, peer)
    breaks = first.get("breaks")

    def optional(value, text):
        return "-" if value is None else text(value)

    return [
        program.name,
        "loops" if program.loops else "",
        optional(seconds.get("numpy"), quantity),
        quantity(seconds["weft"]) if "weft" in seconds else "failed",
        optional(over_numpy, lambda r: f"{r:.2f}x"),
        optional(peer, lambda p: f"{p} {quantity(seconds[p])}"),
        optional(over_peer, lambda r: f"{r:.2f}x"),
        optional(breaks, lambda b: str(len(b)) if b else ""),
        optional(first.get("cold_seconds"), lambda s: f"{s * 1e3:.0f}"),
        optional(first.get("cached_seconds"), lambda s: f"{s * 1e3:.1f}"),
        optional(first.get("peak_bytes"), lambda b: f"{b / MEBI:.1f}"),
        optional(first.get("numpy_peak_bytes"), lambda b: f"{b / MEBI:.1f}"),
    ]


HEADER = [
    "program", "", "NumPy", "weft", "NumPy / weft", "best peer", "peer / weft",
    "breaks", "cold ms", "cached ms", "peak MiB", "NumPy's",
]  # fmt: skip


def markdown(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|---" * 2 + "|---:" * (len(header) - 2) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def summary(programs, results: dict, firsts: dict) -> list[str]:
    """The figures that stand for the whole suite."""
    done = [results[p.name] for p in programs if "weft" in results[p.name]["seconds"]]
    over_numpy = {p.name: r for p in programs if (r := ratio(results[p.name], "numpy"))}
    over_peer = [r for result in done if (r := ratio(result, best_peer(result)))]
    lines = [f"- Ran and gave what NumPy gives: {len(done)} of {len(programs)}."]
    lines.append(f"- Geometric mean over NumPy: {geometric_mean(list(over_numpy.values())):.2f}x.")
    without = [over_numpy[p.name] for p in programs if not p.loops and p.name in over_numpy]
    lines.append(f"  Without explicit loops ({len(without)}): {geometric_mean(without):.2f}x.")
    slower = sorted(name for name, r in over_numpy.items() if r < 0.95)
    lines.append(
        f"- Slower than NumPy by more than 5%: {len(slower)}"
        + (f" ({', '.join(slower)})." if slower else ".")
    )
    for implementation in PEERS:
        ratios = [r for result in done if (r := ratio(result, implementation))]
        if ratios:
            lines.append(
                f"- Geometric mean over {implementation}, {len(ratios)} programs: {geometric_mean(ratios):.2f}x."
            )
    if over_peer:
        lines.append(
            f"- Geometric mean over the best peer, {len(over_peer)} programs: {geometric_mean(over_peer):.2f}x."
        )
    for label, key in (("Cold compile", "cold_seconds"), ("From the disk cache", "cached_seconds")):
        taken = [f[key] * 1e3 for f in firsts.values() if f.get(key) is not None]
        if taken:
            lines.append(f"- {label}: median {statistics.median(taken):.0f} ms, at most {max(taken):.0f} ms.")
    broken = [name for name, first in firsts.items() if first.get("breaks")]
    if firsts:
        lines.append(f"- With a break in a graph: {len(broken)} of {len(firsts)}.")
        # Below a megabyte the interpreter's own heap decides.
        larger = [
            name
            for name, f in firsts.items()
            if f.get("peak_bytes") is not None and f["peak_bytes"] > (f.get("numpy_peak_bytes") or 0) + MEBI
        ]
        lines.append(
            f"- Peak memory above NumPy's by more than 1 MiB: {len(larger)}"
            + (f" ({', '.join(larger)})." if larger else ".")
        )
    return lines


def failures(programs, results: dict, firsts: dict) -> list[str]:
    lines = []
    for program in programs:
        for implementation, failure in results[program.name]["failures"].items():
            lines.append(f"- {program.name}: {implementation}: {failure}")
        if reasons := firsts.get(program.name, {}).get("breaks"):
            lines.append(f"- {program.name}: weft: {len(reasons)} breaks, the first at {reasons[0]}")
    return lines


def run_suite(programs, implementations, threads: int, options, firsts: dict) -> tuple[dict, dict]:
    workers = start_workers(implementations, threads, options.limit)
    results = {}
    try:
        for program in programs:
            if sys.stderr.isatty():
                print(f"\r\033[K{program.name} ...", end="", file=sys.stderr, flush=True)
            results[program.name] = measure(program.name, workers, options.seconds)
            print("  ".join(row_of(program, results[program.name], firsts.get(program.name, {}))), flush=True)
    finally:  # a stopped process would stay
        for worker in workers:
            worker.close()
    return results, {worker.implementation: worker.version for worker in workers}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peers",
        nargs="?",
        const=",".join(PEERS),
        default="",
        metavar="NAME,...",
        help="also run these, or all, of .venv-peers (bench/setup_peers)",
    )
    parser.add_argument(
        "--filter", default="", metavar="TEXT", help="only programs whose field or name contains TEXT"
    )
    parser.add_argument(
        "--threads", default="", metavar="N,...", help="thread counts (default: 1 and all cores)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="time for each implementation of a program"
    )
    parser.add_argument(
        "--limit", type=float, default=60, help="seconds after which compiling a program is given up"
    )
    parser.add_argument(
        "--no-first-calls", action="store_true", help="skip compile times, breaks and peak memory"
    )
    options = parser.parse_args()

    from programs import all_programs

    programs = [p for p in all_programs() if options.filter in p.field or options.filter in p.name]
    if not programs:
        parser.error(
            f"no program contains {options.filter!r}; there are: {', '.join(p.name for p in all_programs())}"
        )
    if options.peers and not PEERS_PYTHON.exists():
        parser.error("no .venv-peers: run bench/setup_peers (or make bench-peers)")
    cores = len(usable_cores())
    counts = [int(t) for t in options.threads.split(",")] if options.threads else sorted({1, cores})
    peers = [name for name in options.peers.split(",") if name]
    if unknown := set(peers) - set(PEERS):
        parser.error(f"unknown peers: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    implementations = ["numpy", "weft", *peers]

    report = {
        "machine": platform.processor() or platform.machine(),
        "cores": cores,
        "python": platform.python_version(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "first_calls": {},
        "results": {},
    }
    if not options.no_first_calls:
        for program in programs:
            report["first_calls"][program.name] = first_calls(program.name, max(counts), options.limit)
    text = ["# NumPy programs", ""]
    for threads in counts:
        heading = f"{threads} thread{'s' if threads > 1 else ''}"
        print(f"\n{heading}, load average {os.getloadavg()[0]:.1f}")
        results, report["versions"] = run_suite(
            programs, implementations, threads, options, report["first_calls"]
        )
        report["results"][threads] = results
        rows = [row_of(p, results[p.name], report["first_calls"].get(p.name, {})) for p in programs]
        said = summary(programs, results, report["first_calls"])
        print("\n".join(said))
        text += [f"## {heading}", "", *said, "", *markdown(HEADER, rows), ""]
        text += ["What broke or failed:", "", *failures(programs, results, report["first_calls"]), ""]

    folder = TOP / "build/bench"
    folder.mkdir(parents=True, exist_ok=True)
    name = "suite-peers" if options.peers else "suite"
    (folder / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / f"{name}.md").write_text("\n".join(text))
    print(f"\nwritten: {folder / name}.md and .json")


if __name__ == "__main__":
    main()
