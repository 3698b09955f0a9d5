"""Graphs: shortest paths, ranks, components, breadth-first search, counting."""

import numpy as np

from .registry import peer, prange, program


def weights_inputs(rng, n):
    return (rng.integers(1, 100, (n, n)).astype(np.float64),)


@program(weights_inputs, size={"n": 200}, small={"n": 8}, loops=True)
def floyd_warshall(distance):
    for k in range(distance.shape[0]):
        distance[:] = np.minimum(distance, np.add.outer(distance[:, k], distance[k, :]))
    return distance


@peer("numba", floyd_warshall)
def floyd_warshall_numba(distance):
    n = distance.shape[0]
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                distance[i, j] = min(distance[i, j], distance[i, k] + distance[k, j])
    return distance


@program(weights_inputs, size={"n": 70}, small={"n": 7}, loops=True)
def floyd_warshall_in_loops(distance):
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = distance[i, k] + distance[k, j]
                if through < distance[i, j]:
                    distance[i, j] = through
    return distance


def links_inputs(rng, n, steps):
    return (rng.random((n, n)) < 0.1).astype(np.float64), 0.85, steps


@program(links_inputs, size={"n": 800, "steps": 20}, small={"n": 9, "steps": 4}, rtol=1e-12, loops=True)
def page_rank(links, damping, steps):
    n = links.shape[0]
    degree = links.sum(axis=1)
    spread = links / np.where(degree == 0, 1.0, degree)[:, None]
    rank = np.full(n, 1.0 / n)
    for _ in range(steps):
        rank = (1.0 - damping) / n + damping * (rank @ spread)
    return rank


def edges_inputs(rng, nodes, edges):
    return rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), rng.random(edges), nodes


@program(edges_inputs, size={"nodes": 300, "edges": 4000}, small={"nodes": 8, "edges": 20}, loops=True)
def bellman_ford(source, target, weight, nodes):
    distance = np.full(nodes, np.inf)
    distance[0] = 0.0
    for _ in range(20):
        changed = False
        for e in range(source.size):
            through = distance[source[e]] + weight[e]
            if through < distance[target[e]]:
                distance[target[e]] = through
                changed = True
        if not changed:
            break
    return distance


@program(edges_inputs, size={"nodes": 5000, "edges": 200_000}, small={"nodes": 9, "edges": 20}, loops=True)
def connected_components(source, target, weight, nodes):
    label = np.arange(nodes)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, target, label[source])
        np.minimum.at(lowest, source, label[target])
        if np.array_equal(lowest, label):
            return label
        label = lowest


@peer("numba", connected_components)
def connected_components_numba(source, target, weight, nodes):
    label = np.arange(nodes)
    while True:
        lowest = label.copy()
        for e in range(source.size):
            lowest[target[e]] = min(lowest[target[e]], label[source[e]])
        for e in range(source.size):
            lowest[source[e]] = min(lowest[source[e]], label[target[e]])
        if (lowest == label).all():
            return label
        label = lowest


@program(edges_inputs, size={"nodes": 5000, "edges": 500_000}, small={"nodes": 9, "edges": 20}, rtol=1e-12)
def weighted_degrees(source, target, weight, nodes):
    leaving = np.bincount(source, weights=weight, minlength=nodes)
    arriving = np.bincount(target, weights=weight, minlength=nodes)
    return leaving, arriving, np.argmax(leaving + arriving)


def adjacency_inputs(rng, n):
    upper = np.triu(rng.random((n, n)) < 0.1, 1)
    return ((upper | upper.T).astype(np.float64),)


@program(adjacency_inputs, size={"n": 500}, small={"n": 9}, rtol=1e-12)
def triangle_count(adjacency):
    return np.sum(adjacency @ adjacency * adjacency) / 6.0


def rows_inputs(rng, nodes, degree):
    return np.arange(0, (nodes + 1) * degree, degree), rng.integers(0, nodes, nodes * degree), nodes


@program(rows_inputs, size={"nodes": 20_000, "degree": 5}, small={"nodes": 9, "degree": 2}, loops=True)
def breadth_first_levels(starts, neighbours, nodes):
    level = np.full(nodes, -1)
    queue = np.empty(nodes, dtype=np.int64)
    queue[0] = 0
    level[0] = 0
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        for e in range(starts[node], starts[node + 1]):
            other = neighbours[e]
            if level[other] < 0:
                level[other] = level[node] + 1
                queue[tail] = other
                tail += 1
    return level


def sparse_inputs(rng, n, degree):
    return (
        np.arange(0, (n + 1) * degree, degree),
        rng.integers(0, n, n * degree),
        rng.random(n * degree),
        rng.random(n),
    )


@program(sparse_inputs, size={"n": 20_000, "degree": 8}, small={"n": 9, "degree": 3}, rtol=1e-12, loops=True)
def sparse_matvec(starts, columns, values, x):
    y = np.empty(starts.size - 1)
    for i in range(y.size):
        low, high = starts[i], starts[i + 1]
        y[i] = values[low:high] @ x[columns[low:high]]
    return y


@peer("numba", sparse_matvec)
def sparse_matvec_numba(starts, columns, values, x):
    y = np.empty(starts.size - 1)
    for i in prange(y.size):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * x[columns[e]]
        y[i] = total
    return y
