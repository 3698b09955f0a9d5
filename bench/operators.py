"""Times eager operators: weft's beside PyTorch's, in one run, in turns (bench/operator_cases.py has the calls).

python bench/operators.py [--torch PATH/python] [--threads 1] [--group NAME] [--json FILE] [NAME ...]

PATH/python is a Python that has PyTorch; without it weft alone is measured. Microseconds: the sides take turns, and the
least of their turns' medians counts, so that what else runs on the machine does not. --group: those whose names
contain it ("512x1024 float32" is the first), or "all".
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from operator_cases import GROUPS, operands


def measure(group, threads):
    """Runs in each process: answers each name read from standard input with the median of one turn, in microseconds."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    scope = {**operands(torch, group), "torch": torch, "F": F}
    calls = GROUPS[group][2]
    with torch.no_grad():
        for line in sys.stdin:
            try:
                # Short calls several at a time: reading the clock takes a tenth of a microsecond. Each result goes before the
                # next call: kept ones would not fit into the caches.
                code = {}
                for count in (1, 20):
                    exec(f"def call():\n for _ in range({count}): {calls[line.strip()]}", scope)
                    code[count] = scope["call"]
                start = time.perf_counter()
                code[1](), code[1]()
                count = 20 if time.perf_counter() - start < 1e-4 else 1
                times = []
                end = time.perf_counter() + 0.03
                while len(times) < 3 or time.perf_counter() < end:
                    start = time.perf_counter()
                    code[count]()
                    times.append((time.perf_counter() - start) / count)
                print(json.dumps(statistics.median(times) * 1e6), flush=True)
            except Exception as error:
                print(json.dumps(f"{type(error).__name__}: {error}"[:100]), flush=True)


def compare(group, names, sides, options):
    """Prints a group's table, and gives its times."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(options.threads),
        "MKL_NUM_THREADS": str(options.threads),
    }
    workers = {
        side: subprocess.Popen(
            [*command, __file__, "--measure", "--group", group, "--threads", str(options.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for side, command in sides.items()
    }
    print(f"{group}, {options.threads} thread{'s' if options.threads > 1 else ''}")
    found, ratios = {}, []
    for name in names:
        turns = {side: [] for side in workers}
        for _ in range(options.turns):
            for side, worker in workers.items():
                worker.stdin.write(name + "\n")
                worker.stdin.flush()
                turns[side].append(json.loads(worker.stdout.readline() or '"stopped"'))
        row = found[name] = {
            side: min(times) if all(isinstance(t, float) for t in times) else str(times[-1])
            for side, times in turns.items()
        }
        line = f"{name:<22}" + "".join(
            f"{side} {t:>10.2f} us  " if isinstance(t, float) else f"{side}: {t}  " for side, t in row.items()
        )
        if len(row) == 2 and all(isinstance(t, float) for t in row.values()):
            ratios.append(row["weft"] / row["torch"])
            line += f"{ratios[-1]:>7.2f}{'  *' if ratios[-1] > 1.2 else ''}"
        print(line, flush=True)
    if ratios:
        print(
            f"{len(ratios)} calls, weft's time / PyTorch's: geometric mean {statistics.geometric_mean(ratios):.2f}, "
            f"largest {max(ratios):.2f}, {sum(ratio > 1.2 for ratio in ratios)} above 1.2\n"
        )
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of calls; all of the group's")
    parser.add_argument("--torch", help="a Python that has PyTorch; without it weft alone is measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--group", default=next(iter(GROUPS)))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.group, options.threads)
    sides = {"weft": [sys.executable, "-m", "weft.torch"]}
    if options.torch:
        sides["torch"] = [options.torch]
    found = {}
    for group, (_, _, calls) in GROUPS.items():
        if options.group != "all" and options.group not in group:
            continue
        names = [name for name in calls if not options.names or name in options.names]
        if names:
            found[group] = compare(group, names, sides, options)
    if options.json:
        Path(options.json).write_text(
            json.dumps({"threads": options.threads, "microseconds": found}, indent=1)
        )


if __name__ == "__main__":
    main()
