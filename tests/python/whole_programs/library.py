# ruff: noqa: C408, C409
"""The standard library's functions on known values; recursion."""

import bisect
import cmath
import heapq
import math
import statistics

from .program import X, program


@program(X)
def maths(x):
    return (
        x * math.sqrt(2) + math.pi,
        math.hypot(3, 4),
        math.gcd(12, 18),
        math.comb(5, 2),
        math.log(8, 2),
        math.fsum([0.1, 0.2]),
        math.dist((0, 0), (3, 4)),
        math.prod([2, 3]),
        math.inf,
        math.isclose(1, 1.0),
        math.floor(2.5),
        math.lcm(4, 6),
        math.perm(4, 2),
        math.frexp(8.0),
        math.modf(2.5),
        math.ldexp(1, 3),
    )


@program(X)
def cmaths(x):
    return x * abs(cmath.exp(1j * math.pi)), cmath.phase(-1), cmath.sqrt(-1), cmath.polar(1j)


@program(X)
def stats(x):
    return (
        x * statistics.mean([1, 2, 3]),
        statistics.median([3, 1, 2]),
        statistics.stdev([1, 2, 3, 4]),
        statistics.pstdev([1.0, 2.0]),
    )


@program(X)
def bisects(x):
    a = [1, 3, 5]
    bisect.insort(a, 4)
    return x * bisect.bisect_left(a, 3) + bisect.bisect(a, 3), a


@program(X)
def heaps(x):
    h = []
    for v in (5, 1, 4):
        heapq.heappush(h, v)
    a = heapq.heappop(h)
    heapq.heapify(h)
    return x * a, heapq.nlargest(2, [1, 5, 3]), heapq.nsmallest(1, [4, 2]), h


@program(X)
def dijkstra(x):
    g = {0: [(1, 4), (2, 1)], 2: [(1, 2)], 1: []}
    dist = {0: 0}
    q = [(0, 0)]
    while q:
        d, u = heapq.heappop(q)
        if d > dist[u]:
            continue
        for v, w in g[u]:
            if d + w < dist.get(v, math.inf):
                dist[v] = d + w
                heapq.heappush(q, (d + w, v))
    return x * dist[1], dist


@program(X)
def builtins_(x):
    return (
        sorted([3, 1, 2], reverse=True),
        list(reversed([1, 2])),
        max([1, 5], key=lambda v: -v),
        min(3, 1),
        sum([1.5, 2]),
        round(2.567, 1),
        divmod(7, 3),
        pow(2, 10, 1000),
        abs(-3),
        any([0, 1]),
        list(map(str, [1])),
        list(filter(None, [0, 1])),
        x,
        bool([]),
        int("7"),
        float("1.5"),
        complex(1, 2),
        list(enumerate("ab", 1)),
        len("abc"),
        hash(3),
        id(x) == id(x),
        tuple([1]),
        dict(a=1),
        list(zip([1], [2])),
        sum(x.shape),
    )


@program(X)
def dict_methods(x):
    d = {"a": 1}
    d.setdefault("b", []).append(2)
    d.update(c=3)
    d |= {"z": 1}
    p = d.pop("a")
    e = d | {"q": 0}
    return (
        x * p,
        list(d.items()),
        d.get("no", 9),
        "b" in d,
        list(e),
        dict.fromkeys("ab", 0),
        d.popitem(),
        {**d},
    )


@program(X)
def list_methods(x):
    a = [3, 1, 2]
    a.sort()
    a.insert(0, 9)
    a.remove(3)
    b = a.index(9) + a.count(1)
    a += [4]
    a.reverse()
    c = a.pop(0)
    return x * b + c, a, a[:], a[::-1], [0] * 3, [1] + [2], a == [2, 1, 9], [1, 2] < [1, 3], (1, 2) > (1,)


def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)


@program(X)
def recursion(x):
    return x * fact(6)


def depth(x, n):
    return x if n == 0 else depth(x + 1, n - 1)


@program(X)
def recursion_arrays(x):
    return depth(x, 20)


def qsort(a):
    return (
        a
        if len(a) <= 1
        else qsort([b for b in a[1:] if b < a[0]]) + [a[0]] + qsort([b for b in a[1:] if b >= a[0]])
    )


@program(X)
def quicksort(x):
    return x, qsort([3, 1, 4, 1, 5])


def pmap(f, t):
    return (
        {k: pmap(f, v) for k, v in t.items()}
        if isinstance(t, dict)
        else [pmap(f, v) for v in t]
        if isinstance(t, list)
        else f(t)
    )


@program(X)
def pytree(x):
    return pmap(lambda v: v * 2, {"a": x, "b": [x, {"c": x}]})


@program(X)
def memo_dict(x):
    memo = {}

    def f(n):
        if n in memo:
            return memo[n]
        memo[n] = n if n < 2 else f(n - 1) + f(n - 2)
        return memo[n]

    return x * f(12)
