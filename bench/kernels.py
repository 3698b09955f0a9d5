"""The attention of docs/KERNELS.md, written as a weft.kernel, beside the same formula over operators.

    python bench/kernels.py [--side 64] [--heads 12] [--channels 64] [--repeats 7]

Alternates them in one run; prints medians, and what each does of 4·heads·keys²·channels operations in a second.
"""

import argparse
import pathlib
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "python"))
import test_kernel
import weft


def by_operators(q, k, v, rh, rw, scale):
    heads, count, _ = q.shape
    side = rh.shape[-1]
    bias = (rh[:, :, :, None] + rw[:, :, None, :]).reshape(heads, count, side * rw.shape[-1])
    return weft.softmax(weft.matmul(q * scale, k) + bias, -1).matmul(v)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    count, scale = given.side**2, np.float32(given.channels**-0.5)
    q, k, v = (test_kernel.array(given.heads, count, given.channels) for _ in range(3))
    keys = np.ascontiguousarray(k.transpose(0, 2, 1))
    rh, rw = (test_kernel.array(given.heads, count, given.side) for _ in range(2))
    out = np.empty_like(q)
    tensors = [weft.from_numpy(one) for one in (q, keys, v, rh, rw)]
    compiled = weft.compile(by_operators)
    ways = {
        "weft.kernel": lambda: test_kernel.attention[given.heads, count // given.rows](
            q, keys, v, rh, rw, out, given.rows, scale
        ),
        "operators, compiled": lambda: compiled(*tensors, float(scale)),
    }
    times = {name: [] for name in ways}
    for repeat in range(given.repeats + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if repeat:
                times[name].append(time.perf_counter() - start)
    difference = np.abs(out - compiled(*tensors, float(scale)).numpy()).max()
    operations = 4 * given.heads * count**2 * given.channels
    print(
        f"{given.heads} heads, {count} keys, {given.channels} channels, {weft.get_num_threads()} threads; difference {difference:.1e}"
    )
    for name, measured in times.items():
        median = statistics.median(measured)
        print(f"  {name:22} {median * 1e3:9.1f} ms  {operations / median / 1e9:7.1f} GFLOP/s")


if __name__ == "__main__":
    main()
