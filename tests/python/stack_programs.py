"""Programs with lists of numbers that their loops both read and change."""

import numpy as np


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


def extends(n):
    stack = [n]
    total = 0
    while stack:
        v = stack.pop()
        total += v
        if v > 1:
            stack.extend((v // 2, v // 3))
            stack += [v % 2]
            stack.extend([])
    return total


def extends_by_others(x, n):
    values = [1]
    for i in range(n):
        values.extend((i, x[i % len(x)], max(0.0, x[i % len(x)] * 0.5)))
        del values[0]
        if len(values) > 9:
            del values[-2]
            del values[i % 3]
    return values


def deletes_beyond(values, n):
    for i in range(n):
        values.append(i)
        del values[n - 2 * i]
    return values


def recaman(n):
    seen = [0]
    a = 0
    for i in range(1, n):
        a = a - i if a - i > 0 and (a - i) not in seen else a + i
        seen.append(a)
    return seen


def finds(values, x, n):
    found = []
    for i in range(n):
        found.append((i in values, x[i % len(x)] in values, (i % 2 == 0) in values))
        if i not in values:
            values.append(x[i % len(x)])
        if len(values) > 8:
            values.pop(0)
    return found


def finds_in_table(table, x):
    return sum([x[i] in table for i in range(len(x))])


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
