"""Dynamic programming: alignment, knapsack, hidden Markov models, folding."""

import numpy as np

from .registry import peer, prange, program


def words_inputs(rng, n, m):
    return rng.integers(0, 4, n), rng.integers(0, 4, m)


@program(words_inputs, size={"n": 300, "m": 300}, small={"n": 7, "m": 9}, loops=True)
def edit_distance(a, b):
    table = np.zeros((a.size + 1, b.size + 1), dtype=np.int64)
    table[:, 0] = np.arange(a.size + 1)
    table[0, :] = np.arange(b.size + 1)
    for i in range(1, a.size + 1):
        for j in range(1, b.size + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[a.size, b.size]


@program(words_inputs, size={"n": 300, "m": 300}, small={"n": 7, "m": 9}, loops=True)
def longest_common_subsequence(a, b):
    table = np.zeros((a.size + 1, b.size + 1), dtype=np.int64)
    for i in range(a.size):
        for j in range(b.size):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


@program(words_inputs, size={"n": 300, "m": 300}, small={"n": 7, "m": 9}, loops=True)
def smith_waterman(a, b):
    score = np.zeros((a.size + 1, b.size + 1))
    best = 0.0
    for i in range(1, a.size + 1):
        for j in range(1, b.size + 1):
            match = 2.0 if a[i - 1] == b[j - 1] else -1.0
            value = max(0.0, score[i - 1, j - 1] + match, score[i - 1, j] - 1.0, score[i, j - 1] - 1.0)
            score[i, j] = value
            if value > best:
                best = value
    return best, score


def items_inputs(rng, items, capacity):
    return rng.integers(1, 50, items), rng.integers(1, 100, items), capacity


@program(
    items_inputs, size={"items": 200, "capacity": 10_000}, small={"items": 6, "capacity": 60}, loops=True
)
def knapsack_by_slices(weight, value, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for item in range(weight.size):
        w = weight[item]
        best[w:] = np.maximum(best[w:], best[:-w] + value[item])
    return best[capacity]


@peer("numba", knapsack_by_slices)
def knapsack_by_slices_numba(weight, value, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for item in range(weight.size):
        w = weight[item]
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + value[item])
    return best[capacity]


@program(items_inputs, size={"items": 60, "capacity": 2000}, small={"items": 6, "capacity": 60}, loops=True)
def knapsack_in_loops(weight, value, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for item in range(weight.size):
        for room in range(capacity, weight[item] - 1, -1):
            candidate = best[room - weight[item]] + value[item]
            if candidate > best[room]:
                best[room] = candidate
    return best[capacity]


def markov_inputs(rng, states, steps):
    return (
        np.log(rng.random(states)),
        np.log(rng.random((states, states))),
        np.log(rng.random((states, 8))),
        rng.integers(0, 8, steps),
    )


@program(markov_inputs, size={"states": 100, "steps": 100}, small={"states": 4, "steps": 6}, loops=True)
def viterbi(start, transition, emission, observed):
    steps = observed.size
    states = start.size
    back = np.empty((steps, states), dtype=np.int64)
    score = start + emission[:, observed[0]]
    for t in range(1, steps):
        candidates = score[:, None] + transition
        back[t] = np.argmax(candidates, axis=0)
        score = np.max(candidates, axis=0) + emission[:, observed[t]]
    path = np.empty(steps, dtype=np.int64)
    path[-1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


@peer("numba", viterbi)
def viterbi_numba(start, transition, emission, observed):
    steps = observed.size
    states = start.size
    back = np.empty((steps, states), dtype=np.int64)
    score = start + emission[:, observed[0]]
    for t in range(1, steps):
        after = np.empty(states)
        for j in prange(states):
            best, index = -np.inf, 0
            for i in range(states):
                candidate = score[i] + transition[i, j]
                if candidate > best:
                    best, index = candidate, i
            back[t, j] = index
            after[j] = best + emission[j, observed[t]]
        score = after
    path = np.empty(steps, dtype=np.int64)
    path[-1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


@program(lambda rng, n: (rng.integers(0, 4, n),), size={"n": 60}, small={"n": 9}, loops=True)
def nussinov_folding(bases):
    n = bases.size
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            pairs = 1 if bases[i] + bases[j] == 3 else 0
            if i < j - 1:
                best = max(best, table[i + 1, j - 1] + pairs)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


@program(
    lambda rng, n: (rng.integers(-20, 21, n).astype(np.float64),),
    size={"n": 200_000},
    small={"n": 40},
    loops=True,
)
def largest_interval_sum(values):
    best = values[0]
    current = values[0]
    for i in range(1, values.size):
        current = max(values[i], current + values[i])
        best = max(best, current)
    return best


@program(
    lambda rng, n, m: (rng.random((n, m)),), size={"n": 800, "m": 1000}, small={"n": 6, "m": 8}, loops=True
)
def cheapest_seam(energy):
    cost = energy.copy()
    for i in range(1, cost.shape[0]):
        above = cost[i - 1]
        left = np.concatenate([above[:1], above[:-1]])
        right = np.concatenate([above[1:], above[-1:]])
        cost[i] += np.minimum(above, np.minimum(left, right))
    return cost[-1].min()
