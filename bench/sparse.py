"""Linear layers with a 2:4 sparse weight beside the dense one, alternating in one run: processor time of one thread, the least of
several.

    python bench/sparse.py [--rows 1 2 4 8 16 32] [--size 4096]
"""

import argparse
import time

import numpy as np
import weft


def least(ways, repeats):
    times = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.thread_time()
            way()
            times[name].append(time.thread_time() - start)
    return {name: min(measured) for name, measured in times.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    weft.set_num_threads(1)
    random = np.random.default_rng(0)

    def tensor(*shape):
        return weft.from_numpy(random.standard_normal(shape, dtype=np.float32))

    for dtype in (weft.float32, weft.bfloat16):
        dense = weft.sparse.prune(tensor(given.size, given.size).to(dtype))
        sparse = weft.sparse.to_sparse_semi_structured(dense)
        for rows in given.rows:
            x = tensor(rows, given.size).to(dtype)
            found = least(
                {"dense": lambda: weft.linear(x, dense), "2:4": lambda: sparse.linear(x)},  # noqa: B023
                given.repeats,
            )
            print(
                f"{str(dtype):14} {rows:4} rows  dense {found['dense'] * 1e3:8.2f} ms   2:4 {found['2:4'] * 1e3:8.2f} ms   "
                f"{found['dense'] / found['2:4']:5.2f}x"
            )


if __name__ == "__main__":
    main()
