"""Times the compiled step of each program of tests/torch/programs: weft beside PyTorch, eager and compiled, in one run.

python bench/torch_programs.py --torch PATH/python [--threads 2] [--processor-time] [--json FILE]

PATH/python is a Python that has PyTorch; each side runs in a process of its own, one after another for each program.
Medians of repeated calls and the first call (which compiles, with weft's and PyTorch's caches on disk empty), in
milliseconds. --processor-time counts what all threads of the process spend on the repeated calls, not the time that passes: with
one thread a figure that a loaded machine disturbs less.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent.parent / "tests" / "torch" / "programs"
NAMES = "bert convnext detector diffusion graph llama mobilenet quantized sam speculative swin tagger text unet".split()


def measure(name, compiled, threads, processor_time):
    """What runs in each process: prints the median of the calls."""
    sys.path.insert(0, str(PROGRAMS))
    import importlib

    import torch

    torch.set_num_threads(threads)
    step, inputs = importlib.import_module(name).build()
    if compiled:
        step = torch.compile(step)
    times = []
    clock = time.process_time if processor_time else time.perf_counter
    with torch.no_grad():
        start = time.perf_counter()
        step(*inputs)
        first = time.perf_counter() - start
        for _ in range(4):
            step(*inputs)
        end = time.perf_counter() + 1.0
        while len(times) < 10 or (time.perf_counter() < end and len(times) < 1000):
            start = clock()
            step(*inputs)
            times.append(clock() - start)
    print(json.dumps({"ms": statistics.median(times) * 1e3, "first": first * 1e3, "calls": len(times)}))


def run(command, name, compiled, threads, processor_time, caches):
    """A tuple of what measure() printed, None if it failed, and why it failed."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "WEFT_NUM_THREADS": str(threads),
        "WEFT_CACHE_DIR": f"{caches}/weft-{name}",
        "TORCHINDUCTOR_CACHE_DIR": f"{caches}/torch-{name}",
    }
    ran = subprocess.run(
        [*command, __file__, "--measure", name, "--threads", str(threads)]
        + (["--compiled"] if compiled else [])
        + (["--processor-time"] if processor_time else []),
        capture_output=True,
        text=True,
        timeout=900,
        env=environment,
    )
    if ran.returncode:
        return None, (ran.stderr.strip().splitlines() or ["failed"])[-1][:90]
    return json.loads(ran.stdout.strip().splitlines()[-1]), None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="a Python that has PyTorch; without it weft alone is measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--json")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.compiled, options.threads, options.processor_time)
        return
    sides = {
        "weft eager": ([sys.executable, "-m", "weft.torch"], False),
        "weft": ([sys.executable, "-m", "weft.torch"], True),
    }
    if options.torch:
        sides |= {"torch eager": ([options.torch], False), "torch.compile": ([options.torch], True)}
    print(
        f"{'program':<12}"
        + "".join(f"{side:>16}" for side in sides)
        + f"{'ratio':>8}{'first: weft':>14}{'torch.compile':>15}{'ratio':>8}"
    )
    found = {}
    ratios, first_ratios = [], []
    with tempfile.TemporaryDirectory() as caches:
        for name in options.only:
            row = {
                side: run(command, name, compiled, options.threads, options.processor_time, caches)
                for side, (command, compiled) in sides.items()
            }
            found[name] = {side: ran for side, (ran, _) in row.items()}
            ms = {side: ran and ran["ms"] for side, ran in found[name].items()}
            first = {side: ran and ran["first"] for side, ran in found[name].items()}
            best = [ms[side] for side in ("torch eager", "torch.compile") if ms.get(side)]
            line = f"{name:<12}" + "".join(
                f"{each:>13.3f} ms" if each else f"{'-':>16}" for each in ms.values()
            )
            if best and ms["weft"]:
                ratios.append(min(best) / ms["weft"])
                line += f"{ratios[-1]:>8.2f}"
            if first.get("torch.compile") and first["weft"]:
                first_ratios.append(first["torch.compile"] / first["weft"])
                line += f"{first['weft'] / 1e3:>12.2f} s{first['torch.compile'] / 1e3:>13.2f} s{first_ratios[-1]:>8.1f}"
            print(line, flush=True)
            for side, (_, why) in row.items():
                if why:
                    print(f"    {side}: {why}")
    for title, each in (
        ("faster of PyTorch's / weft", ratios),
        ("first call, torch.compile / weft", first_ratios),
    ):
        if each:
            print(f"{title}: geometric mean {statistics.geometric_mean(each):.2f}, least {min(each):.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps({"threads": options.threads, "programs": found}, indent=1))


if __name__ == "__main__":
    main()
