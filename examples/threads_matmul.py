#!/usr/bin/env python3
"""A matrix product's time against the number of intra-op threads, as a table and a picture.

Writes build/threads/matmul.png. Beyond the usable cores more threads cannot help; they show what is lost.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import weft

TOP = Path(__file__).resolve().parent.parent


def measure(size, counts, repeats):
    """Median seconds of a product of two float32 matrices for each number of threads.

    The numbers take turns, so that a disturbance from outside hits all of them alike.
    """
    rng = np.random.default_rng(0)
    x, y = (weft.from_numpy(rng.random((size, size), dtype=np.float32)) for _ in range(2))
    taken = {count: [] for count in counts}
    for repeat in range(repeats + 1):
        for count in counts:
            weft.set_num_threads(count)
            start = time.perf_counter()
            weft.matmul(x, y)
            if repeat > 0:  # the first one starts threads and takes memory
                taken[count].append(time.perf_counter() - start)
    return {count: statistics.median(times) for count, times in taken.items()}


def print_table(size, seconds):
    print(f"{size} x {size} float32 product\n\n  threads   time, ms   GFLOP/s   speed against one thread")
    for count, taken in seconds.items():
        print(
            f"  {count:7}   {taken * 1e3:8.1f}   {2 * size**3 / taken * 1e-9:7.0f}   {seconds[min(seconds)] / taken:8.2f}"
        )


def draw(path, size, seconds, cores):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    counts = list(seconds)
    times = [seconds[count] * 1e3 for count in counts]
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(counts, times, "o-", color="#1b7f6b", label="measured")
    ideal = [times[0] / min(count, cores) for count in counts]
    axes.plot(counts, ideal, "--", color="#9a9a9a", label="one thread's time shared evenly")
    axes.axvline(cores, color="#e07b39", linewidth=1, label=f"usable cores: {cores}")
    axes.set(xlabel="weft.set_num_threads", ylabel="time of a product, ms", xticks=counts)
    axes.set_ylim(bottom=0)
    axes.set_title(f"weft.matmul, {size} × {size} float32", loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    cores = weft.get_num_threads()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="rows and columns (default: 1024)")
    parser.add_argument(
        "--threads", type=int, nargs="+", help="numbers of threads (default: 1 to twice the default)"
    )
    parser.add_argument("--repeats", type=int, default=25, help="products per number (default: 25)")
    parser.add_argument("--output", type=Path, default=TOP / "build/threads/matmul.png", help="the picture")
    options = parser.parse_args()
    counts = sorted(set(options.threads or range(1, 2 * cores + 1)))

    seconds = measure(options.size, counts, options.repeats)
    print_table(options.size, seconds)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    draw(options.output, options.size, seconds, cores)
    print(f"\nPicture: {options.output}")


if __name__ == "__main__":
    main()
