"""Native loops over lists of numbers that they both read and change: stacks, queues, tables."""

import copy
import random
import signal
import threading

import numpy as np
import pytest
import weft
from loop_checks import check, identical, located_outcome

# ---- programs ----


def reach(indptr, indices, start, seen):
    stack = [start]
    seen[start] = True
    count = 0
    while stack:
        u = stack.pop()
        count += 1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if not seen[v]:
                seen[v] = True
                stack.append(v)
    return count


def distances(indptr, indices, start, n):
    dist = np.full(n, -1)
    dist[start] = 0
    queue = [start]
    head = 0
    while head < len(queue):
        u = queue[head]
        head += 1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist, queue


def next_greater(x):
    result = np.full(len(x), -1)
    stack = []
    for i in range(len(x)):
        while stack and x[stack[-1]] < x[i]:
            result[stack.pop()] = i
        stack.append(i)
    return result, stack


def largest_rectangle(heights):
    stack = []
    best = 0
    for i in range(len(heights) + 1):
        now = heights[i] if i < len(heights) else 0
        while stack and heights[stack[-1]] >= now:
            h = heights[stack.pop()]
            width = i if not stack else i - stack[-1] - 1
            best = max(best, int(h * width))
        stack.append(i)
    return best


def heap_sort(x):
    heap = []
    for v in x:
        heap.append(v)
        i = len(heap) - 1
        while i > 0 and heap[(i - 1) // 2] > heap[i]:
            heap[i], heap[(i - 1) // 2] = heap[(i - 1) // 2], heap[i]
            i = (i - 1) // 2
    out = []
    while heap:
        last = heap.pop()
        if not heap:
            out.append(last)
            break
        out.append(heap[0])
        heap[0] = last
        i = 0
        while True:
            child = 2 * i + 1
            if child >= len(heap):
                break
            if child + 1 < len(heap) and heap[child + 1] < heap[child]:
                child += 1
            if heap[i] <= heap[child]:
                break
            heap[i], heap[child] = heap[child], heap[i]
            i = child
    return out


def longest_increasing(x):
    tails = []
    for i in range(len(x)):
        low, high = 0, len(tails)
        while low < high:
            middle = (low + high) // 2
            if tails[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        if low == len(tails):
            tails.append(x[i])
        else:
            tails[low] = x[i]
    return tails


def polish(tokens, values):
    stack = []
    for i in range(len(tokens)):
        if tokens[i] == 0:
            stack.append(values[i])
        else:
            b = stack.pop()
            a = stack.pop()
            if tokens[i] == 1:
                stack.append(a + b)
            elif tokens[i] == 2:
                stack.append(a - b)
            else:
                stack.append(a * b)
    return stack


def flood(grid, i, j):
    todo = [(i, j)]
    size = 0
    while todo:
        i, j = todo.pop()
        if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or grid[i, j]:
            continue
        grid[i, j] = True
        size += 1
        todo.append((i + 1, j))
        todo.append((i - 1, j))
        todo.append((i, j + 1))
        todo.append((i, j - 1))
    return size


def quicksort(x):
    todo = [(0, len(x) - 1)]
    while todo:
        low, high = todo.pop()
        if low >= high:
            continue
        pivot = x[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                t = x[i]
                x[i] = x[j]
                x[j] = t
                i += 1
                j -= 1
        todo.append((low, j))
        todo.append((i, high))
    return x


def fibonacci(n, table):
    while len(table) < n:
        table.append(table[-1] + table[-2])
    return table[n - 1]


def drain(values, keep):
    total = 0
    while len(values) > keep:
        total += values.pop()
    return total


def drain_front(values):
    total = 0
    while values:
        total = total * 3 % 1000 + values.pop(0)
        if len(values) > 3:
            total += values.pop(1) - values.pop(-2)
    return total


def too_many_pops(values, n):
    total = 0
    for i in range(n):
        total += values.pop()
        if i == 2:
            values.append(total)
    return total


def pops_beyond(values, n):
    for i in range(n):
        values.append(i)
        values.pop(n - 3 * i)
    return values


def reads_beyond(values, n):
    total = 0
    for i in range(n):
        if i % 7 == 6:
            values.pop()
        total += values[i]
    return total


def reads_beyond_back(values, n):
    total = 0
    for i in range(n):
        if i % 2:
            values.pop()
        total += values[-i - 1]
    return total


def sets_beyond(values, n):
    for i in range(n):
        if i % 4 == 3:
            values.pop()
        values[i] = i * i
    return values


def grows_beyond_words(values, n):
    for _ in range(n):
        values.append(values[-1] * 3 + 1)
        if len(values) > 8:
            values.pop(0)
    return values


def two_names(values, n):
    other = values
    for i in range(n):
        values.append(i)
        if len(other) > 5:
            other[0] = other[-1] - other.pop(1)
        if other[-1] % 4 == 0:
            values.pop()
    return values is other, values


def appended_to_by_one_name(values, n):
    other = values
    total = 0
    for i in range(n):
        values.append(i)
        total += other[i] + len(other)
    return total


def mixed(x, n):
    values = [1, 2.5, True]
    for i in range(n):
        values.append(x[i % len(x)])
        if i % 3 == 0:
            values.append(values[i] + i)
        if i % 5 == 0:
            values[i % 3] = values.pop()
    return values


def mixed_floats(x):
    values = []
    for i in range(len(x)):
        values.append(max(0.0, x[i]))
        if len(values) > 2 and values[-2] > 0.7:
            values.append(values.pop() * 2)
    return values


def truths(n):
    flags = [False]
    states = []
    for i in range(n):
        is_empty = not flags
        some = bool(len(flags))
        if flags and flags[-1]:
            flags.pop()
            flags.append(i % 3 == 0)
        elif i % 4 == 0:
            flags.append(True)
        elif flags:
            flags.pop()
        states.append((is_empty, some, len(flags)))
    return states, flags


def cleared(n):
    values = []
    rounds = 0
    for i in range(n):
        values.append(i * 0.5)
        if len(values) == 7:
            values.clear()
            rounds += 1
    return rounds, values


def order_of_visits(indptr, indices, start, n):
    seen = [False] * n
    seen[start] = True
    parent = [-1] * n
    queue = [start]
    for u in queue:
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if not seen[v]:
                seen[v] = True
                parent[v] = u
                queue.append(v)
    return queue, parent, seen


def levels(indptr, indices, start, n):
    dist = [-1] * n
    dist[start] = 0
    queue = [start]
    head = 0
    while head < len(queue):
        u = queue[head]
        head += 1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


def shrinks_while_iterated(values, n):
    seen = []
    for v in values:
        seen.append(v)
        if len(values) > n:
            values.pop()
        if v == 5:
            values.pop()
            values.pop()
    return seen, values


def shrinks_and_grows(values, big):
    seen = []
    for v in values:
        seen.append(v)
        if v == 9:
            for _ in range(6):
                values.pop()
            values.append(big * big)
            for i in range(6):
                values.append(i)
    return seen, values


def grows_while_iterated(values, n):
    total = 0
    for v in values:
        total += v
        if len(values) < n:
            values.append(v * 2)
            values.append(v + 0.5)
    return total


def iterates_inside(values, n):
    totals = []
    for i in range(n):
        values.append(i)
        total = 0
        for v in values:
            total += v
            if v == 3:
                break
        totals.append(total)
        if len(values) > 12:
            values.pop(i % 5)
    return totals


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i in range(len(a)):
        before = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            cost = before + (a[i] != b[j])
            before = row[j + 1]
            row[j + 1] = min(row[j] + 1, before + 1, cost)
    return row


def running(table, x):
    for i in range(len(x)):
        table[i % len(table)] += x[i]
    return table


def primes(n):
    is_prime = [True] * (n + 1)
    count = 0
    for p in range(2, n + 1):
        if is_prime[p]:
            count += 1
            for q in range(p * p, n + 1, p):
                is_prime[q] = False
    return count, is_prime


def reads_or_not(values, n):
    total = 0
    for i in range(n):
        if values and i % 2:
            total += values[i % len(values)]
    return total if values else -1


def holds_other_things(x, n):
    values = [None, "text"]
    for i in range(n):
        values.append(i)
        if i % 2:
            values.pop()
    return values


def gets_other_things(values, n):
    for i in range(n):
        values.append(i)
        if i == n - 2:
            values.append("text")
        if i % 3 == 0:
            values.pop()
    return values


def large_ints(values, n):
    for i in range(n):
        values.append(values[-1] + i)
        values[0] = values.pop() - 1
    return values


class Machine:
    def __init__(self):
        self.stack = [3]
        self.steps = 0


def with_attribute(n):
    machine = Machine()
    while machine.steps < n:
        machine.steps += 1
        if machine.stack and machine.stack[-1] % 3 == 0:
            machine.stack.append(machine.stack.pop() + 1)
        else:
            machine.stack.append(machine.steps)
    return machine.stack, machine.steps


def push(values, value):
    values.append(value)


def with_function(n):
    values = [n]
    total = 0
    while values:
        v = values.pop()
        total += v
        if v > 0:
            push(values, v - 1)
            if v % 5 == 0:
                push(values, v // 5)
    return total


def closure(n):
    stack = [n]

    def push(value):
        stack.append(value)

    total = 0
    while stack:
        v = stack.pop()
        total += v
        if v > 0:
            push(v - 1)
            if v % 5 == 0:
                push(v // 5)
    return total


def random_graph(nodes, edges, seed=0, dtype=np.int64):
    r = np.random.default_rng(seed)
    sources = np.sort(r.integers(0, nodes, edges))
    indptr = np.zeros(nodes + 1, dtype)
    np.add.at(indptr, sources + 1, 1)
    return np.cumsum(indptr, dtype=dtype), r.integers(0, nodes, edges).astype(dtype)


def seeded(seed=0):
    return np.random.default_rng(seed)


GRAPH = random_graph(60, 150)
SMALL = random_graph(60, 150, 3, np.int32)
TOKENS = np.array([0, 0, 1, 0, 0, 2, 3, 0, 1])


@pytest.mark.parametrize("start", [0, np.int64(7), np.int32(3), np.uint8(5)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("graph", [GRAPH, SMALL], ids=["int64", "int32"])
def test_graphs(graph, start):
    check(reach, (*graph, start, np.zeros(60, bool)))
    check(distances, (*graph, start, 60))


@pytest.mark.parametrize(
    "program, calls",
    [
        (next_greater, [(seeded(1).integers(0, 50, 80),), (seeded(2).random(70),), (np.zeros(0),)]),
        (largest_rectangle, [(seeded(3).integers(0, 9, 90),), (np.array([5]),)]),
        (heap_sort, [(seeded(4).integers(0, 99, 120),), (seeded(5).random(100),)]),
        (longest_increasing, [(seeded(6).integers(0, 99, 150),), (seeded(7).random(50).astype(np.float32),)]),
        (
            polish,
            [(TOKENS, seeded(8).random(9)), (TOKENS, np.arange(9)), (np.tile(TOKENS, 5), np.arange(45.0))],
        ),
        (polish, [(np.array([0, 0, 1, 2, 0]), np.arange(5))]),
        (flood, [(seeded(9).random((12, 15)) < 0.3, 5, 5), (np.zeros((5, 4), bool), 0, 0)]),
        (quicksort, [(seeded(10).random(100),), (np.array([3, 1, 2]),), (np.zeros(0),)]),
        (fibonacci, [(80, [1, 1]), (50, [1.5, 2.5]), (40, [1, 2.5]), (200, [1, 1])]),
        (
            drain,
            [(list(range(50)), 3), ([0.5] * 20, 0), ([np.int16(3)] * 9, 2), ([1, 2.5, np.float32(3)] * 9, 2)],
        ),
        (drain_front, [(list(range(70)),), ([0.5, 1, 2.5, 7] * 6,)]),
        (too_many_pops, [(list(range(30)), 20), (list(range(20)), 40), ([], 3), ([1.5] * 7, 9)]),
        (pops_beyond, [(list(range(9)), 30)]),
        (reads_beyond, [(list(range(40)), 30), (list(range(40)), 60)]),
        (reads_beyond_back, [(list(range(40)), 20), (list(range(40)), 60)]),
        (sets_beyond, [(list(range(40)), 20), (list(range(40)), 60), ([0.5] * 30, 60)]),
        (grows_beyond_words, [([1], 30), ([1, 2, 3], 300)]),
        (two_names, [([], 40), ([7, 8, 9], 50)]),
        (appended_to_by_one_name, [([5, 6], 40), ([], 30)]),
        (mixed, [(np.arange(7), 40), (np.arange(5.0), 33), (np.arange(4, dtype=np.uint16), 30)]),
        (mixed_floats, [(seeded(11).normal(size=60),)]),
        (truths, [(60,)]),
        (cleared, [(60,)]),
        (large_ints, [([1 << 62], 30), ([1 << 70], 30), ([-(1 << 63)], 3)]),
        (order_of_visits, [(*GRAPH, 0, 60), (*SMALL, np.int64(4), 60)]),
        (levels, [(*GRAPH, 0, 60), (*SMALL, 3, 60)]),
        (shrinks_while_iterated, [(list(range(40)), 25), (list(range(30)), 0)]),
        (shrinks_and_grows, [(list(range(10)), 3), (list(range(20)), 1 << 40), (list(range(12)), 1 << 40)]),
        (grows_while_iterated, [([1], 50), ([1, 2.5], 30), ([np.int32(3)], 40), ([], 3)]),
        (iterates_inside, [([], 60), ([0.5, 3], 40)]),
        (knapsack, [(np.array([3, 4, 7]), np.array([4, 5, 10]), 60), ([3, 4, 7], [4.5, 5.0, 10.0], 60)]),
        (edit_distance, [(seeded(1).integers(0, 4, 30), seeded(2).integers(0, 4, 25))]),
        (running, [([0] * 5, np.arange(40)), ([0.5] * 7, np.arange(30.0)), ([1, 2.5, True], np.arange(20))]),
        (running, [([0] * 9000, np.arange(20000)), ([1], np.arange(5))]),
        (primes, [(20000,)]),
        (reads_or_not, [([4, 5, 7], 30), ([0.5], 20)]),
        (with_attribute, [(60,)]),
        (with_function, [(40,)]),
        (closure, [(40,)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_does_what_python_does(program, calls):
    native = program not in (large_ints, with_attribute, closure)
    check(program, *calls, native=native and located_outcome(program, copy.deepcopy(calls[-1]))[1] is None)


@pytest.mark.parametrize("program", [holds_other_things, gets_other_things], ids=lambda p: p.__name__)
def test_lists_of_other_things_are_left_to_python(program):
    check(program, ([None, 1.5, "text"], 40), ([], 50), ([2], 30), native=False)


def no_breaks(program, *args):
    breaks = weft.compiler.explain(program)(*args).breaks
    assert not breaks, [str(found) for found in breaks]


def test_python_performs_nothing():
    no_breaks(reach, *GRAPH, 0, np.zeros(60, bool))
    no_breaks(distances, *GRAPH, 0, 60)
    no_breaks(next_greater, seeded(1).integers(0, 50, 80))
    no_breaks(longest_increasing, seeded(6).integers(0, 99, 150))
    no_breaks(flood, seeded(9).random((12, 15)) < 0.3, 5, 5)
    no_breaks(polish, TOKENS, seeded(8).random(9))


OPERATIONS = [
    "total += values == [1]",
    "total += i in values",
    "total += len(values * 2)",
    "total += len(values + [1])",
    "values += [i]",
    "if i == 3: values *= 2",
    "total += min(values) + sum(values)",
    "total += len(str(values))",
    "total += len(values[1:3])",
    "values[1:2] = [i]",
    "del values[0]",
    "a, b, *c = values; total += a",
    "total += np.array(values).sum()",
    "values.sort()",
    "values.reverse()",
    "values.insert(1, i)",
    "values.extend([i, 2.5])",
    "values.remove(values[1])",
    "values = values.copy()",
    "values = list(values)",
    "values = [3, 2, i]",
    "total += max(*values)",
    "for v in values: total += v",
    "for k, v in enumerate(values): total += k * v",
    "for a, b in zip(values, x): total += a * b",
    "total += sum(v for v in values)",
    "total += sum([v for v in values])",
    "total += np.sum(values)",
    "total += x[values[:2]].sum()",
    "total += len(tuple(values))",
    "total += isinstance(values, list)",
    "total += values is x",
    "total += (values or [4])[0]",
    "total += (values and x)[1]",
    "x[:2] = values[:2]",
    "total += values[True]",
    "total += values[np.int8(1)] + values[np.int64(-1)] + values[np.uint64(0)]",
    "total += values[x[0]]",
    "values[0] = x",
    "values.append(x)",
    "values.append('text')",
    "values.append(None)",
    "values.append((i, 1))",
    "values.append(1 + 2j)",
    "values.append(np.complex128(2j))",
    "values[0] = values",
    "total += values.index(values[0]) + values.count(1)",
    "total += -len(values)",
    "if values > [2]: total += 1",
    "add = values.append; add(i)",
    "values.pop(i)",
    "values.pop(True)",
    "values.pop(0.5)",
    "values[0.5] = 1",
    "values['a']",
    "values.append()",
    "values.append(1, 2)",
    "values.pop(1, 2)",
    "values.push(2)",
    "global_list.append(values)",
    "other = values; other.append(i); other[0] += 1",
    "pair = (values, i); pair[0].append(i)",
    "values.append(max(0.5, x[1] * 0.5))",
    "values.append((i, max(0.5, x[1] * 0.5)))",
    "values.append(values.append(i))",
    "values[i % 2], values[0] = values.pop(), values[1]",
    "values[len(values) - 1] -= 1",
    "total += values[values.pop() > 0]",
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_beside_other_operations(operation, tmp_path):
    text = f"""def program(x, n):
    values = [1, 2, 3]
    total = 0
    for i in range(n):
        values.append(i)
        {operation}
        if len(values) > 6: values.pop()
        if len(values) > 6: values.pop()
    return values, total
"""
    path = tmp_path / "operation_program.py"
    path.write_text(text)
    names = {"np": np, "global_list": []}
    exec(compile(text, str(path), "exec"), names)
    if "values[0] = values" in operation:
        compiled, got = weft.compile(names["program"]), names["program"](np.arange(4), 30)
        assert str(compiled(np.arange(4), 30)) == str(got)
    else:
        check(names["program"], (np.arange(4), 30), native=False)


# ---- objects ----


def test_the_list_is_the_same_object():
    def grow(values, n):
        for i in range(n):
            values.append(values[-1] + i)
        return values

    compiled = weft.compile(grow)
    for start in ([5], [0.5]):
        values = list(start)
        alias = [values]
        assert compiled(values, 50) is values and alias[0] is values
        assert values == grow(list(start), 50)


def test_items_that_stay_are_the_same_objects():
    def churn(values, n):
        for i in range(n):
            values.append(i)
            values[1] = values.pop()
        return values

    values = [float("nan"), 1, 10**6 + 7, np.float64(2.5)]
    items = list(values)
    weft.compile(churn)(values, 40)
    assert len(values) == 4
    for k in (0, 2, 3):
        assert values[k] is items[k]
    assert type(values[1]) is int


# ---- leaving in the middle ----


def count_down(values, n):
    for i in range(n):
        values.append(i)
        if len(values) > 10:
            values.pop(3)
    return values


def test_interrupted():
    def forever(values):
        while True:
            values.append(len(values))
            if len(values) > 5:
                values.pop()

    values = [7]
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        weft.compile(forever)(values)
    timer.join()
    assert values[0] == 7 and 1 <= len(values) <= 6
    assert values[1:] == list(range(1, len(values)))


def test_beside_other_threads():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        identical(weft.compile(count_down)([1, 2], 2_000_000), count_down([1, 2], 2_000_000))
    finally:
        done.set()
        thread.join()


def test_inner_loops_over_a_long_list():
    def visible(heights, queries):
        answers = []
        for q in range(len(queries)):
            while heights[-1] < queries[q]:
                heights.pop()
            answers.append(len(heights))
            repr(answers)
        return answers

    heights = list(range(5000, 0, -1))
    queries = np.sort(seeded().integers(1, 4000, 60))
    mine, theirs = list(heights), list(heights)
    identical(weft.compile(visible)(mine, queries), visible(theirs, queries))
    identical(mine, theirs)


# ---- random programs ----

STATEMENTS = [
    "values.append({item})",
    "values.append({item})",
    "values.append({item})",
    "if values: values.pop()",
    "if len(values) > 3: total += values.pop(-1)",
    "if len(values) > 2: values[{index}] = {item}",
    "if values: total += values[{index} % len(values)]",
    "if values and values[-1] > 3: values[-1] = values[0]",
    "if len(values) > 4: values.append(values[{index}] + values.pop({index}))",
    "other.append(len(values))",
    "if len(other) > 6: other.pop()",
    "if i == 31: total += values[i + 9]",
    "if i == 37: values.pop(i)",
    "if len(values) > 20: values.clear()",
]
ITEMS = [
    "i",
    "x[i % 8]",
    "y[i % 8]",
    "total",
    "0.5 * i",
    "i % 3 == 0",
    "len(other)",
    "float(x[i % 8])",
    "int(y[i % 8])",
]


def random_program(seed):
    r = random.Random(seed)
    kinds = r.sample(ITEMS, r.choice([1, 1, 2, 3]))
    body = []
    for _ in range(r.randint(3, 7)):
        statement = r.choice(STATEMENTS)
        body.append(
            statement.format(item=r.choice(kinds), index=r.choice(["0", "1", "-1", "-2", "i", "i % 3"]))
        )
    first = r.choice(["[]", "[1]", "[0.5, 2.5]", "[start]", "[x[0], y[1]]"])
    lines = [
        "def program(x, y, start, n):",
        f"    values = {first}",
        "    other = [2]",
        "    total = 0",
        "    i = 0",
    ]
    lines += ["    while i < n:", "        i += 1"] + [f"        {line}" for line in body]
    lines += ["    return values, other, total"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed, tmp_path):
    text = random_program(seed)
    path = tmp_path / f"stack_program_{seed}.py"
    path.write_text(text)
    names = {}
    exec(compile(text, str(path), "exec"), names)
    program = names["program"]
    x, y = seeded(seed).integers(0, 9, 8), seeded(seed + 1).random(8) * 6
    for n in (30, 50):
        check(program, (x, y, 3, n), (x, y, np.int64(4), n), native=False)
