"""Programs whose loops make lists."""

import numpy as np


def level_search(indptr, indices, start, n):
    level = np.full(n, -1)
    level[start] = 0
    frontier = [start]
    depth = 0
    while frontier:
        depth += 1
        reached = []
        for u in frontier:
            for k in range(indptr[u], indptr[u + 1]):
                v = indices[k]
                if level[v] < 0:
                    level[v] = depth
                    reached.append(v)
        frontier = reached
    return level, frontier, depth


def all_levels(indptr, indices, start, n):
    seen = np.zeros(n, dtype=bool)
    seen[start] = True
    frontier, levels = [start], []
    while len(frontier) > 0:
        levels.append(frontier)
        reached = []
        for u in frontier:
            for v in indices[indptr[u] : indptr[u + 1]]:
                if not seen[v]:
                    seen[v] = True
                    reached.append(int(v))
        frontier = reached
    return levels


def longest_chain(limit):
    best, chain = 0, []
    for n in range(1, limit):
        path = [n]
        while path[-1] != 1:
            k = path[-1]
            path.append(k // 2 if k % 2 == 0 else 3 * k + 1)
        if len(path) > best:
            best, chain = len(path), path
    return best, chain


def pascal(n):
    row = [1]
    total = 0
    for _ in range(n):
        below = [1]
        for i in range(len(row) - 1):
            below.append(row[i] + row[i + 1])
        below.append(1)
        row = below
        total += row[len(row) // 2]
    return row, total


def divisors(n):
    sums = np.zeros(n)
    for i in range(1, n):
        found = []
        for d in range(1, i + 1):
            if i % d == 0:
                found.append(d)
        for d in found:
            sums[i] += d
    return sums, found


def edit_rows(a, b):
    before = list(range(len(b) + 1))
    for i in range(len(a)):
        now = [i + 1] + [0] * len(b)
        for j in range(len(b)):
            now[j + 1] = min(before[j + 1] + 1, now[j] + 1, before[j] + (a[i] != b[j]))
        before = now
    return before


def zeros_per_round(x):
    totals = []
    for i in range(len(x)):
        counts = [0] * 4
        for j in range(i):
            counts[int(x[j]) % 4] += 1
        best = 0
        for k in range(4):
            if counts[k] > counts[best]:
                best = k
        totals.append(best)
    return totals


def floats_and_repeats(x, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        window = [0.0] * n
        window[i % n] = x[i]
        pair = [0.5, x[i]] * 2
        out[i] = window[i % n] + pair[3] + len(pair)
    return out, window, pair


def shared(x):
    a = []
    same = []
    for i in range(len(x)):
        a = b = [i]
        b.append(int(x[i]))
        c = a
        c.append(7)
        if i % 3 == 0:
            same = b
    return a, b, c, a is b, b is c, same


def copies(n):
    kept = []
    row = [0, 1]
    for i in range(n):
        other = row[:]
        other.append(i)
        third = other.copy()
        third.reverse()
        fourth = list(third)
        fourth[0] = -1
        kept.append(len(row) + len(other) + third[0] + fourth[0])
        row = other
    return kept, row, third, fourth


def pairs(x):
    result = []
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j]:
                result.append([i, j])
    return result


def kept_and_changed(n):
    kept = []
    for i in range(n):
        row = [i]
        kept.append(row)
        row.append(i * i)
        kept.append((i, row))
    return kept


def types_of_items(x):
    for i in range(len(x)):
        row = [1, 2.5]
        row.append(x[i])
        row.append(i > 2)
        total = 0.0
        for item in row:
            total += item
        row.append(total)
    return row


def empty_ones(n):
    count = 0
    for i in range(n):
        rest = []
        if rest:
            count += 100
        for _ in rest:
            count += 1000
        count += len(rest)
    return count, rest


def sometimes(n):
    last = None
    for i in range(n):
        if i % 5 == 3:
            last = [i]
    return last


def helper(x, i):
    near = []
    for j in range(max(0, i - 2), min(len(x), i + 3)):
        near.append(x[j])
    return near


def with_function(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        near = helper(x, i)
        for v in near:
            out[i] += v
        out[i] /= len(near)
    return out


def literal(i, j):
    return [i, j, i + j]


def with_literal(n):
    total = 0
    for i in range(n):
        total += literal(i, 2)[2]
    return total


def out_of_range(x):
    for i in range(len(x)):
        row = [1, 2, 3]
        row.append(row[i])
    return row


def pops_empty(n):
    for i in range(n):
        stack = [i]
        stack.pop()
        if i == 5:
            stack.pop()
    return stack


def grows_large(n):
    for i in range(n):
        row = [i]
        row.append(row[0] << 40 << (i // 2))
    return row


def hostile_repeat(n):
    for _ in range(3):
        row = [0] * n
    return row


def negative_repeat(n):
    rows = []
    for i in range(n):
        row = [i, i] * (2 - i)
        rows.append(len(row))
    return rows, row


class Queue:
    def __init__(self):
        self.items = [0]
        self.rounds = 0


def in_attributes(queue, n):
    while queue.rounds < n:
        later = []
        for item in queue.items:
            later.append(item + 1)
        later.append(queue.rounds)
        queue.items = later
        queue.rounds += 1
    return queue.items, queue.rounds


def in_cells(n):
    row = [1]

    def last():
        return row[-1]

    total = 0
    for i in range(n):
        row = [i, i * 2]
        total += last()
    return total, row


def in_tuples(n):
    state = (0, [1])
    for i in range(n):
        count, row = state
        fresh = []
        for v in row:
            fresh.append(v + i)
        fresh.append(count)
        state = (count + 1, fresh)
    return state


def iterated_and_left(n):
    for i in range(n):
        row = []
        for k in range(i):
            row.append(k * k)
        for v in row:
            if v > 40:
                return i, v, row
    return None


def comprehensions(n):
    total = 0
    for i in range(n):
        row = [k * i for k in range(5)]
        for v in row:
            total += v
    return total, row


def swapped(n):
    a, b = [0], [1]
    for i in range(n):
        a, b = b, [a[0] + b[0], i]
    return a, b


def many_live(n):
    a = b = c = d = e = f = g = h = k = [0]
    for i in range(n):
        a, b, c, d, e, f, g, h, k = [i], a, b, c, d, e, f, g, h
    return a, b, c, d, e, f, g, h, k


def joined(x, table):
    for i in range(len(x)):
        row = table + [i] + [x[i]]
        row += table
        row.extend(row)
        row.extend((i, i))
        other = list(table) + row
    return row, other, len(table)


def table_is_kept(table, n):
    kept = []
    for i in range(n):
        kept.append(table)
        table = table[:]
        table.append(i)
    return kept[0] is kept[1], [len(t) for t in kept], table
