# ruff: noqa: F841
"""Sets, the classes of collections, and methods of lists and dicts."""

import collections
import collections.abc

import numpy as np

from .program import X, program

NUMBERS = frozenset({float, int, complex})


@program(X)
def set_literal(x):
    s = {1, 2, 3}
    return x * (2 in s) + (5 in s)


@program(X)
def set_methods(x):
    a = {1, 2, 3}
    b = {2, 3, 4}
    return (
        x * len(a | b) + len(a & b) - len(a - b) + len(a ^ b),
        a.issubset(b),
        a.isdisjoint({9}),
        sorted(a.union(b)),
    )


@program(X)
def frozenset_of_the_module(x):
    return x * (type(len(x)) in NUMBERS) + (str in NUMBERS), len(NUMBERS)


@program(X)
def set_mutation(x):
    s = set()
    for i in range(5):
        s.add(i % 3)
    s.discard(7)
    s.remove(0)
    s.update([8, 9])
    return x * len(s), s


@program(X)
def set_comp(x):
    s = {i * i % 7 for i in range(10)}
    return x + sum(s), s


@program(X)
def set_iteration(x):
    out = []
    for name in {"b", "a", "zz"}:
        out.append(name)
    return x, sorted(out)


@program(X)
def set_iter_ints(x):
    t = 0
    for i in {10, 3, 7}:
        x = x * 2 + i
    return x


@program(X)
def frozen(x):
    f = frozenset([1, 2, 2, 3])
    d = {f: 2.0}
    return x * d[frozenset([3, 2, 1])] + len(f)


@program(X)
def set_pop(x):
    s = {5}
    return x * s.pop() + len(s)


@program(X)
def set_ops_inplace(x):
    s = {1, 2}
    s |= {3}
    s &= {2, 3}
    s -= {2}
    s ^= {9}
    return x * sum(s), s


@program(X, {"a", "b"})
def set_argument(x, keys):
    return x * 2 if "a" in keys else x


@program(X)
def set_of_tuples(x):
    seen = set()
    for i in range(4):
        for j in range(4):
            key = (min(i, j), max(i, j))
            if key in seen:
                continue
            seen.add(key)
            x = x + i * j
    return x, len(seen)


@program(X)
def set_compare(x):
    return x * ({1, 2} == {2, 1}) + ({1} < {1, 2}) + ({1, 2} <= {1}) + (not set())


@program(X)
def dedupe(x):
    names = ["a", "b", "a", "c"]
    seen = set()
    unique = [n for n in names if not (n in seen or seen.add(n))]
    return x * len(unique), unique


@program(X)
def deque_fixed(x):
    d = collections.deque(maxlen=3)
    for i in range(5):
        d.append(x * i)
    return sum(d) / len(d)


@program(X)
def deque_bfs(x):
    graph = {0: [1, 2], 1: [3], 2: [3], 3: []}
    queue = collections.deque([0])
    seen = {0}
    order = []
    while queue:
        n = queue.popleft()
        order.append(n)
        for m in graph[n]:
            if m not in seen:
                seen.add(m)
                queue.append(m)
    return x * len(order), order


@program(X)
def deque_rotate(x):
    d = collections.deque([1, 2, 3, 4])
    d.rotate(1)
    d.appendleft(9)
    d.extend([7])
    d.extendleft([5, 6])
    return x * d[0] + d[-1], list(d), d.pop(), len(d)


@program(X)
def default_dict(x):
    groups = collections.defaultdict(list)
    for i, row in enumerate(x):
        groups[i % 2].append(row)
    return [np.sum(groups[k], axis=0) for k in sorted(groups)]


@program(X)
def default_dict_int(x):
    counts = collections.defaultdict(int)
    for c in "abracadabra":
        counts[c] += 1
    return x * counts["a"], dict(counts)


@program(X)
def default_dict_out(x):
    g = collections.defaultdict(float)
    for i in range(3):
        g[i] += i
    return g, x


@program(X)
def counter(x):
    c = collections.Counter("mississippi")
    return x * c["s"] + c["zzz"], c.most_common(2), sum(c.values())


@program(X)
def counter_ops(x):
    a = collections.Counter(a=3, b=1)
    b = collections.Counter(a=1, b=2)
    a.update(b)
    return x * a["a"], (a - b)["a"], sorted((a + b).items()), list(a.elements())


@program(X)
def ordered(x):
    o = collections.OrderedDict()
    o["b"] = 1
    o["a"] = 2
    o.move_to_end("b")
    first = o.popitem(last=False)
    return x * first[1], list(o)


Point = collections.namedtuple("Point", "x y")


@program(X)
def named(x):
    p = Point(x, 2)
    q = p._replace(y=5)
    a, b = q
    return a * b + p[1] + p.y, q._asdict()["y"], Point._fields


@program(X)
def chainmap(x):
    c = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    return x * c["a"] + c["b"], sorted(c)
