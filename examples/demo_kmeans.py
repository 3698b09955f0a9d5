#!/usr/bin/env python3
"""k-means' assignment step on 20 million points: NumPy beside weft, in one table and one picture.

The function is plain NumPy; weft.compile turns it into one loop that reads each point once and writes each label
once. Labels are compared with NumPy's, all of them. Writes build/demo/kmeans.png and build/demo/kmeans.json.
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

import numpy as np

TOP = Path(__file__).resolve().parent.parent


def kmeans(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def make_points(count):
    """Two clusters of equal size around (5, 5) and (10, 10), and the two means."""
    rng = np.random.default_rng(0)
    X = np.repeat([[5, 5], [10, 10]], [count // 2, count // 2], axis=0)
    X = X + rng.standard_normal(X.shape)
    return X, np.array([[5, 5], [10, 10]])


def progress(text):
    if sys.stdout.isatty():
        print(f"  {text}", flush=True)


def seconds(function, repeats):
    """Median time of a call. The result is dropped before the next call, which then reuses its memory."""
    function()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        taken.append(time.perf_counter() - start)
        del result
    return statistics.median(taken)


def first_call(count):
    """What a fresh process spends on its first call; run by fresh_process()."""
    X, means = make_points(count)
    start = time.perf_counter()
    import weft

    imported = time.perf_counter()
    explanation = weft.compiler.explain(kmeans)(X, means)
    total = time.perf_counter() - imported
    print(
        json.dumps(
            {
                "import": imported - start,
                "total": total,
                "capture": explanation.capture_ms / 1e3,
                "compile": explanation.compile_ms / 1e3,
                "run": explanation.run_ms / 1e3,
            }
        )
    )


def fresh_process(count, cache_dir):
    """first_call() in a new process whose compiled kernels go to, and come from, `cache_dir`."""
    result = subprocess.run(
        [sys.executable, __file__, "--points", str(count), "--first-call"],
        env={**os.environ, "WEFT_CACHE_DIR": cache_dir},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(result.stdout)


def stream_seconds(count, threads):
    """Time to read 16 bytes and write 8 per point, and do nothing else, on that many threads."""
    program = TOP / "build/release/bin/weft_stream"
    if not program.exists():
        sys.exit(f"error: {program} is not built; run `make build` first")
    result = subprocess.run(
        [program, str(16 * count), str(8 * count), str(threads)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(result.stdout)["seconds"]


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print(
            "  "
            + row[0].ljust(widths[0])
            + "".join("  " + c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=False))
        )
        if number == 0:
            print("  " + "-" * (sum(widths) + 2 * (len(widths) - 1)))


def draw(path, X, labels, means, bars, caption):
    """The clusters on the left, points per second on the right. `bars`: (name, seconds, colour)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {"font.size": 11, "font.family": "DejaVu Sans", "axes.spines.top": False, "axes.spines.right": False}
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), width_ratios=[1, 1.35])
    colours = np.array(["#3b6fb6", "#e07b39"])
    sample = np.random.default_rng(1).choice(len(X), min(12_000, len(X)), replace=False)
    left.scatter(*X[sample].T, c=colours[labels[sample]], s=3, alpha=0.35, linewidths=0, rasterized=True)
    left.scatter(*means.T, marker="X", s=170, c="white", edgecolors="black", linewidths=1.4, zorder=3)
    left.set(xlabel="x", ylabel="y")
    left.set_aspect("equal", adjustable="datalim")
    left.set_title(f"{len(X):,} points, nearest of two means", fontsize=12, loc="left")

    names, times, shades = zip(*bars, strict=False)
    rates = [len(X) / t / 1e9 for t in times]
    places = np.arange(len(bars))[::-1]
    right.barh(places, rates, color=shades, height=0.62)
    right.set_yticks(places, names)
    right.tick_params(axis="y", length=0)
    right.set_xlim(0, max(rates) * 1.3)
    right.set_xlabel("billion points per second")
    for name, place, rate, taken in zip(names, places, rates, times, strict=False):
        speed = f" — {times[0] / taken:.0f} × NumPy" if name.startswith("weft") else ""
        right.annotate(
            f"{taken * 1e3:,.{0 if taken > 0.1 else 1}f} ms{speed}",
            (rate, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
        )
    right.set_title(caption, fontsize=12, loc="left")
    figure.tight_layout(w_pad=3)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000_000, help="an even number (default: 20 million)")
    parser.add_argument("--output", type=Path, default=TOP / "build/demo", help="folder for the picture")
    parser.add_argument("--first-call", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    count = options.points // 2 * 2
    if options.first_call:
        return first_call(count)

    import weft

    options.output.mkdir(parents=True, exist_ok=True)
    print(f"k-means assignment step, {count:,} points, float64, two means\n")

    progress("first call in a fresh process, nothing cached, then again from the disk cache ...")
    with tempfile.TemporaryDirectory() as cache_dir:
        cold = fresh_process(count, cache_dir)
        warm = fresh_process(count, cache_dir)

    progress("making the points ...")
    X, means = make_points(count)
    threads = weft.get_num_threads()
    compiled = weft.compile(kmeans)

    progress("NumPy ...")
    expected = kmeans(X, means)
    numpy_time = seconds(lambda: kmeans(X, means), 3)
    progress("comparing every label ...")
    labels = compiled(X, means)
    if not np.array_equal(labels, expected):
        differing = np.count_nonzero(labels != expected)
        sys.exit(f"error: {differing} of {count} labels differ from NumPy's; this is a bug in weft")

    measured = {}
    for n in sorted({1, threads}):
        progress(f"weft and plain streaming, {n} thread{'s' if n > 1 else ''} ...")
        weft.set_num_threads(n)
        measured[n] = (seconds(lambda: compiled(X, means), 15), stream_seconds(count, n))
    weft.set_num_threads(threads)

    explanation = weft.compiler.explain(kmeans)(X, means)
    print("The loop that weft generated:\n")
    for kernel in explanation.kernels:
        print("\n".join("    " + line for line in kernel["source"].strip().splitlines()), end="\n\n")

    rows = [
        ["", "time", "against NumPy", "against streaming"],
        ["NumPy", f"{numpy_time * 1e3:.0f} ms", "1", ""],
    ]
    for n, (weft_time, stream_time) in measured.items():
        label = f"{n} thread{'s' if n > 1 else ''}"
        rows.append(
            [
                f"weft, {label}",
                f"{weft_time * 1e3:.1f} ms",
                f"{numpy_time / weft_time:.0f} times faster",
                f"{weft_time / stream_time:.2f} times",
            ]
        )
        rows.append([f"streaming the same bytes, {label}", f"{stream_time * 1e3:.1f} ms", "", "1"])
    for name, run in (("first call, nothing cached", cold), ("first call of a second process", warm)):
        named = ("capture", "compile", "run")
        parts = " + ".join(f"{part} {run[part] * 1e3:.1f}" for part in named)
        parts += f" + imports {1e3 * (run['total'] - sum(run[part] for part in named)):.1f}"
        rows.append([name, f"{run['total'] * 1e3:.0f} ms", "", ""])
        rows.append([f"    {parts}", "", "", ""])
    print_table(rows)
    print(f"\nAll {count:,} labels are identical to NumPy's.")

    most = max(measured)
    bars = [("NumPy", numpy_time, "#9a9a9a"), ("weft, 1 thread", measured[1][0], "#7fb3a6")]
    if most > 1:
        bars.append((f"weft, {most} threads", measured[most][0], "#1b7f6b"))
    bars.append((f"streaming the\nsame bytes,\n{most} threads", measured[most][1], "#d9d9d9"))
    picture = options.output / "kmeans.png"
    draw(picture, X, labels, means, bars, "One fused loop in place of a dozen passes over memory")
    (options.output / "kmeans.json").write_text(
        json.dumps(
            {
                "points": count,
                "numpy": numpy_time,
                "first_call": cold,
                "second_process": warm,
                "threads": {n: {"weft": t, "stream": s} for n, (t, s) in measured.items()},
            },
            indent=1,
        )
        + "\n"
    )
    print(f"Picture: {picture}")


if __name__ == "__main__":
    main()
