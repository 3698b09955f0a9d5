#!/usr/bin/env python3
"""TorchScript without PyTorch: an archive is loaded, run, optimized for inference and timed.

The archive: the one named on the command line, else a SqueezeNet 1.1 that PyTorch saved, where there is one (in
../shared/data, or WEFT_SHARED_DATA), else a small network that weft traces and saves itself.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import weft
import weft.jit
import weft.nn as nn

TOP = Path(__file__).resolve().parent.parent
SAVED_BY_PYTORCH = (
    Path(os.environ.get("WEFT_SHARED_DATA", TOP.parent / "shared/data")) / "torchscript/squeezenet1_1.pt"
)


def save_small_network(path):
    """A convolutional network of random weights, as an archive that PyTorch loads too."""
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    ).eval()  # fmt: skip
    weft.jit.trace(network, weft.zeros(1, 3, 224, 224)).save(str(path))


def milliseconds(function, repeats=30):
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "archive", type=Path, nargs="?", help="a .pt whose forward takes images [1, 3, 224, 224]"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = options.archive or SAVED_BY_PYTORCH
        if options.archive is None and not archive.exists():
            archive = Path(folder) / "small.pt"
            save_small_network(archive)
        start = time.perf_counter()
        module = weft.jit.load(str(archive))
        loaded = (time.perf_counter() - start) * 1e3

        image = weft.from_numpy(np.random.default_rng(0).standard_normal((1, 3, 224, 224), dtype=np.float32))
        expected = module(image)
        optimized = weft.jit.optimize_for_inference(module.eval())
        difference = np.abs(optimized(image).numpy() - expected.numpy()).max()

        print(f"\nTorchScript: {archive.name}, loaded in {loaded:.1f} ms without PyTorch")
        print(f"  {len(list(module.parameters()))} parameters; forward gives {tuple(expected.shape)}")
        print(f"  as loaded               {milliseconds(lambda: module(image)):6.1f} ms a call")
        print(
            f"  optimized for inference {milliseconds(lambda: optimized(image)):6.1f} ms; largest difference {difference:.1e}"
        )


if __name__ == "__main__":
    main()
