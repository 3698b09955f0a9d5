"""Kernels whose time is that of moving bytes: k-means, chains of elementwise operators, reductions of rows."""

import time

import numpy as np


def kmeans(x, means, library):
    return library.argmin(library.sqrt(library.sum((x - means[:, None]) ** 2, 2)), 0)


def kmeans_numpy(x, means):
    return np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)


def polynomial(x, library):
    return library.exp(x) * x + library.sqrt(library.abs(x)) * 2 - 1


def total(x, library):
    return library.sum(x)


def sums_of_rows(x, library):
    return library.sum(x, 1)


def softmax(x, library):
    e = library.exp(x - library.amax(x, 1, True))
    return e / library.sum(e, 1, True)


def programs(points):
    """Name, function, NumPy's (None: not compared), arguments by dtype, bytes to be moved, targets."""
    rng = np.random.default_rng(0)
    share = {"share_of": "copy", "least_share": 0.9}
    for dtype in (np.float64, np.float32):
        bits, item = dtype().itemsize * 8, dtype().itemsize
        x = rng.standard_normal((points, 2)).astype(dtype)
        means = np.array([[5, 5], [10, 10]], dtype)
        rows = x.reshape(-1)[: max(1, points // 1000) * 2000].reshape(-1, 2000)
        of_kmeans = {
            "share_of": "copy",
            "least_share": 0.85,
            "least_ratio": {"numpy": 200, "torch_compile": 1},
        }
        yield f"k-means {points} f{bits}", kmeans, kmeans_numpy, (x, means), x.nbytes + 8 * points, of_kmeans
        yield f"fused elementwise f{bits}", polynomial, None, (x,), 2 * x.nbytes, share
        yield f"sums of rows f{bits}", sums_of_rows, None, (rows,), rows.nbytes + item * len(rows), share
        yield f"softmax of rows f{bits}", softmax, None, (rows,), 2 * rows.nbytes, share
        yield f"sum of all f{bits}", total, np.sum, (x,), x.nbytes, {"share_of": "copy"}


def on_device(side, function, arguments, compiled, moved, targets):
    torch = side.torch
    there = [torch.from_numpy(a).to(side.device) for a in arguments]

    def call(*a):
        return function(*a, torch)

    run = side.compile(call) if compiled else call
    return {"seconds": side.seconds(lambda: run(*there)), "bytes": moved, **targets}


def in_numpy(plain, arguments):
    start = time.perf_counter()
    plain(*arguments)
    return {"seconds": time.perf_counter() - start}


def cases(side):
    points = side.size(side.points, 2000)
    for case, function, plain, arguments, moved, targets in programs(points):
        for way, compiled in side.ways():
            yield (
                case,
                way,
                lambda a=(function, arguments, compiled, moved, targets): on_device(side, *a),
            )
        if plain and side.is_weft:
            yield case, "numpy", lambda a=(plain, arguments): in_numpy(*a)
