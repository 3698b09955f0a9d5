"""k-means of more points than fit into memory: Dask makes the blocks and deals them out, weft computes them.

    python examples/kmeans_dask.py [--points N] [--block N] [--workers N]

Each block is drawn when it is needed and let go of, so that memory holds one block a worker. Prints the centers, and the time beside
plain NumPy's for the same blocks. Needs dask[array] and distributed.
"""

import argparse
import time

import numpy as np
import weft


def points(seed, count):
    """`count` points of three clusters in the plane, [count, 2] float64."""
    random = np.random.default_rng(seed)
    return random.normal(size=(count, 2)) + 6.0 * random.integers(0, 3, size=(count, 1))


def sums_of(X, centers):
    """Per center: the sums of its points' coordinates, and how many they are; [centers, 3]."""
    distances = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=1)
    result = np.empty((len(centers), 3))
    for k in range(len(centers)):
        mine = nearest == k
        result[k, 0] = np.where(mine, X[:, 0], 0.0).sum()
        result[k, 1] = np.where(mine, X[:, 1], 0.0).sum()
        result[k, 2] = mine.sum()
    return result


compiled_sums_of = weft.compile(sums_of)


def block_sums(seed, count, centers, function):
    return function(points(seed, count), centers)


def kmeans(client, count, block, function, rounds=5):
    centers = np.array([[0.0, 0.0], [5.0, 6.0], [11.0, 13.0]])
    for _ in range(rounds):
        futures = [
            client.submit(block_sums, seed, min(block, count - at), centers, function, pure=False)
            for seed, at in enumerate(range(0, count, block))
        ]
        total = sum(future.result() for future in futures)
        centers = total[:, :2] / total[:, 2:]
    return centers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000_000)
    parser.add_argument("--block", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        found = {}
        for name, function in (("weft", compiled_sums_of), ("NumPy", sums_of)):
            kmeans(client, options.block, options.block, function, rounds=1)
            start = time.perf_counter()
            found[name] = kmeans(client, options.points, options.block, function)
            print(f"{name:6} {time.perf_counter() - start:7.2f} s")
        np.testing.assert_allclose(found["weft"], found["NumPy"], rtol=1e-9)
        print(found["weft"])


if __name__ == "__main__":
    main()
