"""Times the compiled step of each program of tests/torch/programs: weft beside PyTorch, eager and compiled, in one run.

python bench/torch_programs.py --torch PATH/python [--threads 2] [--json FILE]

PATH/python is a Python that has PyTorch; each side runs in a process of its own, one after another for each program.
Medians of repeated calls, in milliseconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent.parent / "tests" / "torch" / "programs"
NAMES = "bert convnext detector diffusion graph llama mobilenet sam swin tagger text unet".split()


def measure(name, compiled, threads):
    """What runs in each process: prints the median of the calls."""
    sys.path.insert(0, str(PROGRAMS))
    import importlib

    import torch

    torch.set_num_threads(threads)
    step, inputs = importlib.import_module(name).build()
    if compiled:
        step = torch.compile(step)
    times = []
    with torch.no_grad():
        for _ in range(5):
            step(*inputs)
        end = time.perf_counter() + 1.0
        while len(times) < 10 or (time.perf_counter() < end and len(times) < 1000):
            start = time.perf_counter()
            step(*inputs)
            times.append(time.perf_counter() - start)
    print(json.dumps({"ms": statistics.median(times) * 1e3, "calls": len(times)}))


def run(command, name, compiled, threads):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "WEFT_NUM_THREADS": str(threads)}
    ran = subprocess.run(
        [*command, __file__, "--measure", name, "--threads", str(threads)]
        + (["--compiled"] if compiled else []),
        capture_output=True,
        text=True,
        timeout=900,
        env=environment,
    )
    if ran.returncode:
        return None, (ran.stderr.strip().splitlines() or ["failed"])[-1][:90]
    return json.loads(ran.stdout.strip().splitlines()[-1])["ms"], None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="a Python that has PyTorch; without it weft alone is measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--json")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.compiled, options.threads)
        return
    sides = {
        "weft eager": ([sys.executable, "-m", "weft.torch"], False),
        "weft": ([sys.executable, "-m", "weft.torch"], True),
    }
    if options.torch:
        sides |= {"torch eager": ([options.torch], False), "torch.compile": ([options.torch], True)}
    print(f"{'program':<12}" + "".join(f"{side:>16}" for side in sides) + f"{'torch / weft':>16}")
    found = {}
    for name in options.only:
        row = {
            side: run(command, name, compiled, options.threads) for side, (command, compiled) in sides.items()
        }
        found[name] = {side: ms for side, (ms, _) in row.items()}
        times = found[name]
        best = [times.get(side) for side in ("torch eager", "torch.compile") if times.get(side)]
        ratio = f"{min(best) / times['weft']:.2f}" if best and times["weft"] else "-"
        print(
            f"{name:<12}"
            + "".join(f"{ms:>13.3f} ms" if ms else f"{'-':>16}" for ms in times.values())
            + f"{ratio:>16}",
            flush=True,
        )
        for side, (_, why) in row.items():
            if why:
                print(f"    {side}: {why}")
    if options.json:
        Path(options.json).write_text(json.dumps({"threads": options.threads, "ms": found}, indent=1))


if __name__ == "__main__":
    main()
