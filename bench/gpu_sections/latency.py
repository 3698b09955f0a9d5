"""Time of the host: the first call of a compiled function with an empty cache, and what a later call costs before it returns."""

import os
import statistics
import subprocess
import tempfile
import time

import numpy as np

from .kmeans import kmeans


def first_call(side):
    """Of k-means, in this process, whose cache is empty. The device's context is there before."""
    torch = side.torch
    x = torch.from_numpy(np.linspace(0, 1, 20000).reshape(-1, 2)).to(side.device)
    means = torch.from_numpy(np.array([[0.2, 0.2], [0.7, 0.7]])).to(side.device)
    side.wait()
    compiled = side.compile(lambda a, b: kmeans(a, b, torch))
    start = time.perf_counter()
    compiled(x, means)
    side.wait()
    return time.perf_counter() - start


def of_processes(side):
    """first_call in processes of their own."""
    taken = []
    for _ in range(side.size(3, 1) if side.is_weft else 1):  # PyTorch's takes seconds
        with tempfile.TemporaryDirectory() as caches:
            caches_of = {"WEFT_CACHE_DIR": f"{caches}/weft", "TORCHINDUCTOR_CACHE_DIR": f"{caches}/torch",
                         "TRITON_CACHE_DIR": f"{caches}/triton"}  # fmt: skip
            done = subprocess.run(
                [*side.command, "--measure", "first"],
                env={**os.environ, **caches_of},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            taken.append(float(done.stdout.splitlines()[-1]))
    return {"seconds": statistics.median(taken), "most_seconds": 0.250}


def short(x):
    return x.exp() * x + 1


def steps(x, w):
    for _ in range(8):
        x = (x @ w).tanh()
    return x


def cached(side, compiled):
    x = side.uniform((1024,), "float32")
    call = side.compile(short) if compiled else short
    return {"seconds": side.host_seconds(lambda: call(x)), "most_seconds": 10e-6}


def recorded(side):
    x, w = side.uniform((64, 64), "float32"), side.uniform((64, 64), "float32", seed=2)
    call = side.compile(steps, mode="reduce-overhead")
    return {"seconds": side.host_seconds(lambda: call(x, w)), "most_seconds": 5e-6}


def cases(side):
    way = side.ways()[-1][0]
    yield "first call of k-means, empty cache", way, lambda: of_processes(side)
    yield "host: a cached call of one kernel", way, lambda: cached(side, True)
    yield "host: a recorded step of 16 kernels", way, lambda: recorded(side)
