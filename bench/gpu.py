#!/usr/bin/env python3
"""weft on a GPU beside what the GPU can do, NumPy, and PyTorch's eager and compiled code: one table, each target and whether it is met.

    make bench-gpu          # or bench/gpu.py [--only kmeans,llm] [--torch PYTHON] [--seconds 470]

Needs NVIDIA's driver and no network; says so where there is none. Each section (bench/gpu_sections) runs in a process of its own on
each side, weft's first; what fails, or takes longer than it may, is a row, and the others go on. build/bench/gpu.json and gpu.txt are
written after each, gpu.log has what the processes said. --tiny runs everything in tiny sizes, on the emulated device too, whose times
mean nothing.
"""

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from gpu_sections import LIMITS, SECTIONS
from gpu_sections.table import Table

TOP = Path(__file__).resolve().parent.parent
FEWEST_SECONDS = 5  # no section is begun with less time left


def parser():
    result = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="sections: " + "; ".join(f"{name}: {what}" for name, what in SECTIONS.items()),
    )
    add = result.add_argument
    add(
        "--only",
        metavar="SECTIONS",
        help="some of them, with commas (default: all); machine is measured with any",
    )
    add("--points", type=int, default=20_000_000, help="of k-means (default: 20000000)")
    add(
        "--torch",
        metavar="PYTHON",
        help="a Python that has PyTorch, '' for none (default: this one, or .venv-torch's)",
    )
    add(
        "--torch-device",
        default="cuda",
        choices=["cuda", "cpu"],
        help="cpu: with --tiny alone (default: cuda)",
    )
    add("--seconds", type=float, default=470, help="for everything (default: 470)")
    add("--tiny", action="store_true", help="tiny sizes, each call once: whether everything runs")
    add("--output", type=Path, default=TOP / "build/bench/gpu.json")
    for name in ("--measure", "--side", "--device"):  # of the processes that measure
        add(name, help=argparse.SUPPRESS)
    return result


class Bench:
    def __init__(self, options, facts, torch):
        self.options, self.torch = options, torch
        self.table = Table(facts)
        self.started = time.monotonic()
        self.end = self.started + options.seconds
        self.process = None

    def command(self, side):
        options = self.options
        python = [sys.executable, "-m", "weft.torch"] if side == "weft" else [self.torch]
        device = "cuda" if side == "weft" else options.torch_device
        return [*python, str(Path(__file__).resolve()), "--side", side, "--device", device, "--points",
                str(options.points), *(["--tiny"] * options.tiny)]  # fmt: skip

    def run(self, sections):
        """weft's figures come first: they are there if time runs out. The machine's are what all shares are of."""
        sides = ["weft", "torch"] if self.torch else ["weft"]
        for side in sides:
            self.section("machine", side)
        for side in sides:
            for section in SECTIONS:
                if section in sections and section != "machine":
                    self.section(section, side)

    def section(self, section, side):
        limit = min(LIMITS[section][side == "torch"], self.end - time.monotonic())
        if self.options.tiny:
            limit = self.end - time.monotonic()
        running = {"case": f"all of {section}", "way": side}
        if limit < FEWEST_SECONDS:
            self.table.add(section, {**running, "error": "not measured: no time is left"})
        else:
            self.progress(f"{section}, {side}")
            why = self.measure(section, side, running, limit)
            if why:
                self.table.add(section, {**running, "error": why})
        self.write()

    def measure(self, section, side, running, limit):
        """Adds the lines that a section's process gives; `running` becomes the case that it is at. Why it ended before its end."""
        ends = time.monotonic() + limit
        with open(self.options.output.with_suffix(".log"), "a") as log:
            self.process = subprocess.Popen(
                [*self.command(side), "--measure", section],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        lines = queue.SimpleQueue()
        threading.Thread(target=read_lines, args=(self.process.stdout, lines), daemon=True).start()
        try:
            while (line := lines.get(timeout=max(0.01, ends - time.monotonic()))) is not None:
                told = json.loads(line)
                if "ends" in told:  # what the process has started may hold its output open
                    break
                if "begins" in told:
                    running.update(case=told["begins"], way=told["way"])
                    self.progress(f"{section}, {side}: {told['begins']}")
                else:
                    self.table.add(section, told)
                    running.update(case=f"after {told['case']}")
            status = self.process.wait(timeout=30)
        except (queue.Empty, subprocess.TimeoutExpired):
            return f"stopped: {section} may take {limit:.0f} s on this side; what follows was not measured"
        finally:
            self.stop()
        return f"the process ended with status {status}; what follows was not measured" if status else ""

    def stop(self):
        """Ends the process that measures, and those that it has started, where it has not come to its end."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def progress(self, text):
        if sys.stderr.isatty():
            print(f"[{time.monotonic() - self.started:4.0f} s] {text}", file=sys.stderr, flush=True)

    def write(self):
        path = self.options.output
        took = {"seconds": round(time.monotonic() - self.started, 1)}
        for to, text in (
            (path, json.dumps(self.table.json(**took), indent=1)),
            (path.with_suffix(".txt"), self.table.text() + "\n"),
        ):
            part = to.with_name(to.name + ".part")
            part.write_text(text)
            part.replace(to)


def read_lines(stream, lines):
    for line in stream:
        if line.startswith("{") and line.endswith("\n"):  # a process that is stopped leaves a part of one
            lines.put(line)
    lines.put(None)


def python_with_torch(given, device):
    """A Python whose PyTorch can use the device, and what is said of it; None and why there is none."""
    candidates = [given] if given is not None else [sys.executable, str(TOP / ".venv-torch/bin/python")]
    code = "import torch; print('PyTorch', torch.__version__, torch.cuda.is_available())"
    why = "no PyTorch"
    for python in filter(None, candidates):
        try:
            done = subprocess.run([python, "-c", code], capture_output=True, text=True)
        except OSError:
            continue
        if done.returncode == 0:
            said, _, has_gpu = done.stdout.strip().rpartition(" ")
            if device == "cpu" or has_gpu == "True":
                return python, said
            why = f"{said} finds no GPU"
    return None, why


def main():
    options = parser().parse_args()
    if options.measure:
        from gpu_sections import work

        command = [
            *([sys.executable, "-m", "weft.torch"] if options.side == "weft" else [sys.executable]),
            *sys.argv,
        ]
        return work.main(options, command[: command.index("--measure")])
    sections = options.only.split(",") if options.only else list(SECTIONS)
    if unknown := set(sections) - set(SECTIONS):
        parser().error(f"unknown sections {', '.join(sorted(unknown))}; they are {', '.join(SECTIONS)}")
    if options.torch_device == "cpu" and not options.tiny:
        parser().error("--torch-device cpu is for --tiny")
    import weft

    gpu = weft._C._gpu
    if why := gpu.why_unavailable():
        print(f"bench-gpu: nothing is measured: {why}")
        return 0
    if gpu.is_emulated() and not options.tiny:
        print("bench-gpu: nothing is measured on the emulated device; --tiny runs everything in tiny sizes")
        return 0
    facts = gpu.facts()
    torch, said = python_with_torch(options.torch, options.torch_device)
    names = {"device": f"{facts['name']}, sm_{facts['capability'][0]}{facts['capability'][1]}", "torch": said}
    if options.tiny:
        names["note"] = "tiny sizes: times mean nothing"
    options.output = options.output.resolve()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.with_suffix(".log").write_text("")
    bench = Bench(options, names, torch)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        bench.run(sections)
    finally:
        bench.write()
        print(bench.table.text(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
