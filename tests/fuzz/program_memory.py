"""Random programs that write into their arguments: any address, sizes around those from which on other code runs."""

from __future__ import annotations

import random
import re

import numpy as np
from program_values import CACHE_LINE, Argument, Program

DTYPES = "bool int8 uint8 int16 int32 uint32 int64 float16 float32 float64 complex64 complex128".split()
# Around lanes, cache lines, reductions in parallel, pieces of threads and NumPy's buffers.
THRESHOLDS = [1, 8, 16, 64, 128, 1024, 8192, 16384, 16666, 33333, 50000]
# x and y are arguments of one dtype, m is a mask, k a small number.
UPDATES = """x += y | x -= k | x[:] = y | x[...] = x - y | x[m] = k | x[m] = y[m] | x[1:] = y[:-1] | x[::2] = k | x[k:] += y[k:]
np.add(x, y, out=x) | np.add(x, y, x) | np.maximum(x, y, out=x) | np.copyto(x, y, where=m) | x[:] = np.where(m, x, y)
np.subtract(x[1:], y[:-1], out=x[1:]) | np.negative(x, out=x) | x.fill(k) | x[:] = x[::-1] | x[-k:] = x[:k] | np.add(x, k, out=x, where=m)
x -= y; y += k | x[:] = y; y[:] = k | np.clip(x.real, -k, k, out=x.real) | x[x == y] = k | x += y[0] | y[:] = x; x += y""".replace(
    "\n", " | "
).split(" | ")
RESULTS = (
    "x + y | x[1:] | m | np.where(m, x, y) | x.copy() | x[::-1] | x - k | y[m] | x == y | (x + y)[k:]".split(
        " | "
    )
)


def generate(seed):
    rng = random.Random(seed)
    size = max(0, rng.choice(THRESHOLDS) + rng.choice([-1, 0, 0, 1, 7]))
    dtype = rng.choice(DTYPES)

    def argument(kind):
        element = np.dtype(kind).itemsize
        offset = rng.randrange(0, CACHE_LINE, element) if rng.random() < 0.9 else 1
        return Argument(kind, (size,), "C", rng.random() < 0.2, rng.randrange(1 << 30), offset=offset)

    arguments = [argument(dtype), argument(dtype), argument("bool")]
    statements = []
    for _ in range(rng.randint(1, 4)):
        update = rng.choice(UPDATES)
        if dtype == "bool" and any(sign in update for sign in ("-", "+", "negative", "add", "clip")):
            update = "x ^= y"
        update = update.replace("k", str(rng.randint(1, 3)))
        if rng.random() < 0.3:
            update = re.sub(r"\b[xy]\b", lambda name: {"x": "y", "y": "x"}[name[0]], update)
        statements += update.split("; ")
    result = rng.choice(RESULTS).replace("k", "2")
    if dtype == "bool":
        result = result.replace("+", "|").replace("x - 2", "x & y")
    names = ["x, y, m = a0, a1, a2", *statements, f"r = {result}"]
    return Program(arguments, names, ["r"], exact=False)
