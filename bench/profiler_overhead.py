#!/usr/bin/env python3
"""What weft.profiler costs: ResNet-50 compiled and eager, and one small operator, with the profiler off and on.

    bench/profiler_overhead.py [--rounds 15] [--threads 1] [--size 224]

Each round runs every setting once, in turn; the table has medians of the CPU time, which other programs do not change much. What being off costs is seen between two builds:
`--small` prints the small operator's time alone.
"""

import argparse
import os
import statistics
import tempfile
import time

import weft
import weft.torch as torch
from weft.torch import nn


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu, self.downsample = nn.ReLU(), None
        if stride != 1 or channels != 4 * width:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet50():
    blocks, channels = [], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            blocks.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    stem = (nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
    return nn.Sequential(*stem, *blocks, *head).eval()


def milliseconds(run, repeat=1):
    start = time.process_time()
    for _ in range(repeat):
        run()
    return (time.process_time() - start) * 1e3 / repeat


class Trace:
    """A trace that is written meanwhile."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        weft.profiler.start(os.path.join(self.folder.name, "trace.json"))

    def __exit__(self, *error):
        weft.profiler.stop()
        self.folder.cleanup()


SETTINGS = {
    "off": None,
    "profile()": lambda: weft.profiler.profile(),
    "shapes": lambda: weft.profiler.profile(record_shapes=True),
    "shapes, memory": lambda: weft.profiler.profile(record_shapes=True, profile_memory=True),
    "shapes, memory, stacks": lambda: weft.profiler.profile(
        record_shapes=True, profile_memory=True, with_stack=True
    ),
    "trace": Trace,
}


def measure(run, rounds, repeat):
    times = {name: [] for name in SETTINGS}
    for _ in range(rounds):
        for name, make in SETTINGS.items():
            if make is None:
                times[name].append(milliseconds(run, repeat))
                continue
            with make():
                times[name].append(milliseconds(run, repeat))
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--small", action="store_true", help="the small operator alone, off")
    options = parser.parse_args()
    weft.set_num_threads(options.threads)
    small = torch.ones(8)
    if options.small:
        times = [milliseconds(lambda: small + small, 20000) * 1e6 for _ in range(options.rounds)]
        print(
            f"add of 8 numbers, profiler off: {min(times):.1f} ns at best, median {statistics.median(times):.1f} ns"
        )
        return
    model, image = resnet50(), torch.randn(1, 3, options.size, options.size)
    compiled = torch.compile(model)
    with torch.no_grad():
        for run in (compiled, compiled, model):
            run(image)
        rows = {
            "ResNet-50, compiled": measure(lambda: compiled(image), options.rounds, 1),
            "ResNet-50, eager": measure(lambda: model(image), options.rounds, 1),
            "add of 8 numbers": measure(lambda: small + small, options.rounds, 2000),
        }
    print(f"{'CPU ms, median of ' + str(options.rounds):26}" + "".join(f"{name:>24}" for name in SETTINGS))
    for name, times in rows.items():
        cells = (f"{time:.4g} ({100 * (time / times['off'] - 1):+.1f} %)" for time in times.values())
        print(f"{name:26}" + "".join(f"{cell:>24}" for cell in cells))


if __name__ == "__main__":
    main()
