#!/usr/bin/env python3
"""Draws a trace of weft's profiler: what each thread did, and when.

A trace comes from `WEFT_TRACE=trace.json program`, from weft.profiler.record("trace.json"), or from the C++ example
examples/cpp/timeline.cc. The picture goes to build/threads/timeline.png.
"""

import argparse
import json
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# Drawn in this order: name of the span, colour, height of its bar, legend.
KINDS = [
    ("inter-op task", "#b9cfe8", 0.9, "inter-op task"),
    ("wait", "#dddddd", 0.9, "waiting for a task"),
    ("parallel_for", "#1b7f6b", 0.5, "piece of an operation that all intra-op threads share"),
    ("parallel_for, one thread", "#e07b39", 0.5, "operation on one thread: small, or the others were busy"),
]
ORDER = ["main", "application", "inter-op", "intra-op"]


def read(path):
    """Spans by thread name: (begin and length in ms, name of the span)."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = {}
    for event in events:
        if event["ph"] == "X":
            spans.setdefault(names[event["tid"]], []).append(
                (event["ts"] / 1e3, event["dur"] / 1e3, event["name"])
            )

    def place(name):
        kind, _, number = name.partition(" ")
        return (ORDER.index(kind) if kind in ORDER else len(ORDER), int(number) if number.isdigit() else 0)

    return {name: spans[name] for name in sorted(spans, key=place)}


def print_table(spans):
    print(f"  {'thread':<20} {'spans':>6} {'busy, ms':>9}")
    for name, of_thread in spans.items():
        busy = sum(length for _, length, kind in of_thread if kind.startswith("parallel_for"))
        print(f"  {name:<20} {len(of_thread):6} {busy:9.2f}")


def draw(path, spans):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 1.4 + 0.55 * len(spans)))
    for kind, colour, height, label in KINDS:
        for row, of_thread in enumerate(spans.values()):
            bars = [(begin, length) for begin, length, name in of_thread if name == kind]
            axes.broken_barh(
                bars,
                (row - height / 2, height),
                color=colour,
                label=label if row == 0 else None,
                edgecolor="white",
                linewidth=0.3,
            )
    first = min(begin for of_thread in spans.values() for begin, _, _ in of_thread)
    last = max(begin + length for of_thread in spans.values() for begin, length, _ in of_thread)
    axes.set_xlim(first, last)
    axes.set_yticks(range(len(spans)), spans)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ms")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper center", ncols=2, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.55 / figure.get_figheight()))
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path, help="JSON of weft's profiler")
    parser.add_argument("--output", type=Path, default=TOP / "build/threads/timeline.png", help="the picture")
    options = parser.parse_args()
    spans = read(options.trace)
    if not spans:
        parser.exit(1, f"{options.trace}: nothing was recorded\n")
    print_table(spans)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    draw(options.output, spans)
    print(f"\nPicture: {options.output}")


if __name__ == "__main__":
    main()
