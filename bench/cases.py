"""The benchmark cases: what is computed, in NumPy and in each peer, and how many bytes must move.

`bytes_read` and `bytes_written` count what a perfect implementation moves between memory and core, from which
the runner derives GB/s and the percentage of the machine's measured ceiling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Case:
    name: str
    numpy: Callable
    inputs: Callable[[np.random.Generator], tuple]
    bytes_read: int = 0
    bytes_written: int = 0
    # What sets the pace: "stream" (memory) or "latency" (the cost of a call).
    bound: str = "stream"
    # Peer implementations by name; None: the peer has none for this case.
    torch: Callable | None = None
    jax: Callable | None = None
    numexpr: Callable | None = None
    numba: Callable | None = None
    # Largest error against NumPy in float64, relative to the largest result; 0: identical to NumPy's own.
    tolerance: float = 0.0
    calls: int = 1  # timed together, for cases far below the clock's resolution


def normal(*shape, dtype):
    return lambda rng: tuple(
        rng.standard_normal(s, dtype=np.float32).astype(dtype, copy=False) for s in shape
    )


# ---- k-means: nearest of two means -------------------------------------------------------------------------
def kmeans(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def kmeans_torch(X, means):
    import torch

    return torch.argmin(torch.linalg.vector_norm(X - means[:, None], dim=2), dim=0)


def kmeans_jax(X, means):
    import jax.numpy as jnp

    return jnp.argmin(jnp.linalg.norm(X - means[:, None], axis=2), axis=0)


def kmeans_numba(X, means):
    return _kmeans_numba()(X, means)


def _kmeans_numba():
    import numba

    if "kmeans" not in _numba_cache:

        @numba.njit(parallel=True)
        def loop(X, means):
            labels = np.empty(X.shape[0], np.int64)
            for i in numba.prange(X.shape[0]):
                best, label = np.inf, 0
                for k in range(means.shape[0]):
                    distance = 0.0
                    for d in range(X.shape[1]):
                        distance += (X[i, d] - means[k, d]) ** 2
                    distance = np.sqrt(distance)
                    if distance < best:
                        best, label = distance, k
                labels[i] = label
            return labels

        _numba_cache["kmeans"] = loop
    return _numba_cache["kmeans"]


_numba_cache: dict[str, Callable] = {}


def points(n, dtype):
    def make(rng):
        X = np.repeat([[5, 5], [10, 10]], [n // 2, n // 2], axis=0) + rng.standard_normal((n, 2))
        return X.astype(dtype, copy=False), np.array([[5, 5], [10, 10]], dtype=dtype)

    return make


# ---- elementwise chains ------------------------------------------------------------------------------------
def blend(x, y):
    return (x * 0.75 + y * 0.25 - 0.5) * (x + 1.0)


def magnitude(x, y):
    return np.sqrt(x * x + y * y) + 1.0


def magnitude_torch(x, y):
    import torch

    return torch.sqrt(x * x + y * y) + 1.0


def magnitude_jax(x, y):
    import jax.numpy as jnp

    return jnp.sqrt(x * x + y * y) + 1.0


def blend_numexpr(x, y):
    import numexpr

    return numexpr.evaluate("(x * 0.75 + y * 0.25 - 0.5) * (x + 1.0)", {"x": x, "y": y})


def magnitude_numexpr(x, y):
    import numexpr

    return numexpr.evaluate("sqrt(x * x + y * y) + 1.0", {"x": x, "y": y})


def gaussian(x, y):
    return np.exp(-0.5 * (x - y) ** 2) * np.tanh(x)


def gaussian_torch(x, y):
    import torch

    return torch.exp(-0.5 * (x - y) ** 2) * torch.tanh(x)


def gaussian_jax(x, y):
    import jax.numpy as jnp

    return jnp.exp(-0.5 * (x - y) ** 2) * jnp.tanh(x)


def gaussian_numexpr(x, y):
    import numexpr

    return numexpr.evaluate("exp(-0.5 * (x - y) ** 2) * tanh(x)", {"x": x, "y": y})


# ---- rows --------------------------------------------------------------------------------------------------
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_torch(x):
    import torch

    return torch.softmax(x, dim=1)


def softmax_jax(x):
    import jax

    return jax.nn.softmax(x, axis=1)


def layer_norm(x):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def layer_norm_torch(x):
    import torch

    return torch.nn.functional.layer_norm(x, x.shape[1:])


def layer_norm_jax(x):
    import jax.numpy as jnp

    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5)


# ---- reductions --------------------------------------------------------------------------------------------
def total(x):
    return np.sum(x)


def mean(x):
    return np.mean(x)


def variance(x):
    return np.var(x)


def sum_rows(x):
    return np.sum(x, axis=1)


def sum_columns(x):
    return np.sum(x, axis=0)


def argmax_rows(x):
    return np.argmax(x, axis=1)


def tiny(x, y):
    return x * 2.0 + y


def method(name, **arguments):
    """The reduction as the method that torch tensors and jax arrays both have."""
    return lambda x: getattr(x, name)(**arguments)


def all_cases(scale: float = 1.0) -> list[Case]:
    """Every case; `scale` < 1 shrinks the arrays, for a quick look."""
    n_points = int(20_000_000 * scale) // 2 * 2
    n = int(64 * 2**20 * scale)
    n_rows = int(16384 * scale)
    rows = (n_rows, 4096)
    n_matrix = n_rows * 4096
    f32 = np.float32
    elementwise = {"inputs": normal(n, n, dtype=f32), "bytes_read": 8 * n, "bytes_written": 4 * n}
    by_row = {"inputs": normal(rows, dtype=f32), "bytes_read": 4 * n_matrix, "bytes_written": 4 * n_matrix}
    reduction = {"inputs": normal(rows, dtype=f32), "bytes_read": 4 * n_matrix}

    def reduce(name, function, tolerance, method_name, **arguments):
        peer = method(method_name, **arguments)
        # torch's default variance divides by n - 1.
        torch = method(method_name, **arguments, correction=0) if method_name == "var" else peer
        return Case(name, function, torch=torch, jax=peer, tolerance=tolerance, **reduction)

    return [
        Case(
            "kmeans f64",
            kmeans,
            points(n_points, np.float64),
            16 * n_points,
            8 * n_points,
            torch=kmeans_torch,
            jax=kmeans_jax,
            numba=kmeans_numba,
        ),
        Case(
            "kmeans f32",
            kmeans,
            points(n_points, f32),
            8 * n_points,
            8 * n_points,
            torch=kmeans_torch,
            jax=kmeans_jax,
            numba=kmeans_numba,
        ),
        Case(
            "blend f32", blend, torch=blend, jax=blend, numexpr=blend_numexpr, tolerance=1e-5, **elementwise
        ),
        Case(
            "magnitude f32",
            magnitude,
            torch=magnitude_torch,
            jax=magnitude_jax,
            numexpr=magnitude_numexpr,
            tolerance=1e-6,
            **elementwise,
        ),
        Case(
            "gaussian f32",
            gaussian,
            torch=gaussian_torch,
            jax=gaussian_jax,
            numexpr=gaussian_numexpr,
            tolerance=1e-5,
            **elementwise,
        ),
        Case("softmax f32", softmax, torch=softmax_torch, jax=softmax_jax, tolerance=1e-5, **by_row),
        Case(
            "layer_norm f32", layer_norm, torch=layer_norm_torch, jax=layer_norm_jax, tolerance=1e-4, **by_row
        ),
        reduce("sum f32", total, 1e-3, "sum"),
        reduce("mean f32", mean, 1e-3, "mean"),
        reduce("var f32", variance, 1e-4, "var"),
        reduce("sum f32 inner axis", sum_rows, 1e-3, "sum", axis=1),
        reduce("sum f32 outer axis", sum_columns, 1e-3, "sum", axis=0),
        reduce("argmax f32 inner axis", argmax_rows, 0, "argmax", axis=1),
        Case(
            "tiny call f64[4]",
            tiny,
            normal(4, 4, dtype=np.float64),
            bound="latency",
            torch=tiny,
            jax=tiny,
            calls=1000,
        ),
    ]
