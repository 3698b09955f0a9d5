# ruff: noqa: B009, C400, C417, E741, F841, UP003, UP038
"""Python's own constructs and standard library in compiled functions: each program is one graph, or listed as one that
breaks; either way the result is Python's."""

import collections
import contextlib
import functools
import itertools
import math
import operator

import numpy as np
import pytest
import weft

x = np.linspace(0.1, 1, 12).reshape(3, 4)
PROGRAMS = {}
# Performed by Python in part: sets, collections, containers that are classes of C, numbers behind caches.
BREAKING = {
    "ndenum",
}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def gen(x):
    def g():
        for i in range(3):
            yield x * i

    s = 0
    for v in g():
        s = s + v
    return s


@program
def genexpr(x):
    return sum(v * 2 for v in x)


@program
def genlist(x):
    return np.stack(list(v + 1 for v in x))


@program
def comp(x):
    return np.array([v.sum() for v in x])


@program
def dictcomp(x):
    d = {i: x[i] for i in range(3)}
    return sum(d.values())


@program
def setuse(x):
    s = {1, 2, 3}
    return x * len(s) if 2 in s else x


@program
def setcomp(x):
    return x * len({i % 2 for i in range(5)})


@program
def partial_(x):
    return functools.partial(np.clip, a_min=0.2, a_max=0.5)(x)


@program
def reduce_(x):
    return functools.reduce(np.add, [x, x * 2, x * 3])


@program
def reduce2(x):
    return functools.reduce(lambda a, b: a * b, x)


@program
def iter_product(x):
    s = 0
    for i, j in itertools.product(range(2), range(3)):
        s = s + x[i, j]
    return s


@program
def iter_chain(x):
    return sum(itertools.chain(x, x * 2))


@program
def iter_acc(x):
    return np.array(list(itertools.accumulate([1, 2, 3]))) * x[0, 0]


@program
def iter_comb(x):
    return sum(x[i] * x[j] for i, j in itertools.combinations(range(3), 2))


@program
def iter_perm(x):
    return sum(x[i] * x[j] for i, j in itertools.permutations(range(3), 2))


@program
def iter_islice(x):
    return sum(itertools.islice(x, 2))


@program
def iter_ziplong(x):
    return sum(a + b for a, b in itertools.zip_longest(x, x))


@program
def iter_repeat(x):
    return sum(itertools.repeat(x, 3))


@program
def iter_starmap(x):
    return sum(itertools.starmap(np.multiply, [(x, x), (x, 2)]))


@program
def iter_pair(x):
    return sum(a * b for a, b in itertools.pairwise(x))


@program
def iter_count(x):
    s = 0
    for i, v in zip(itertools.count(), x):
        s = s + i * v
    return s


@program
def mapf(x):
    return sum(map(lambda v: v * 2, x))


@program
def filt(x):
    return sum(x[i] for i in filter(lambda i: i % 2 == 0, range(3)))


@program
def mathf(x):
    return x * math.sqrt(2) + math.pi + math.floor(2.5) + math.comb(5, 2) + math.hypot(3, 4)


@program
def math_shape(x):
    return x / math.sqrt(x.shape[1])


@program
def oper(x):
    return operator.add(x, operator.mul(x, 2)) + operator.itemgetter(0)(x)


@program
def attrget(x):
    return operator.attrgetter("T")(x)


@program
def tryexc(x):
    try:
        y = x[:, 0] + 1
        raise ValueError("a")
    except ValueError as e:
        return y * 2
    finally:
        pass


@program
def tryindex(x):
    try:
        return x[10]
    except IndexError:
        return x[0]


@program
def trykey(x):
    d = {}
    try:
        return d["a"]
    except KeyError:
        return x


@program
def recursion(x):
    def f(n, v):
        return v if n == 0 else f(n - 1, v * 1.1)

    return f(5, x)


@program
def closure(x):
    c = 1

    def inc():
        nonlocal c
        c += 1
        return c

    inc()
    inc()
    return x * c


@program
def liststate(x):
    l = []
    for i in range(3):
        l.append(x[i])
    l.reverse()
    l.extend([x[0]])
    l.pop()
    l.insert(0, x[1])
    return np.concatenate(l)


@program
def dictstate(x):
    d = collections.defaultdict(list)
    for i in range(3):
        d[i % 2].append(x[i])
    return sum(d[0]) + sum(d[1])


@program
def counter(x):
    return x * collections.Counter("aab")["a"]


@program
def ntuple(x):
    Pt = collections.namedtuple("Pt", "a b")
    p = Pt(x, 2)
    return p.a * p.b


N = collections.namedtuple("N", "a b")


@program
def ntuple2(x):
    p = N(x, 2)
    a, b = p
    return p._replace(b=3).b * a


@program
def deque_(x):
    d = collections.deque(maxlen=2)
    for i in range(3):
        d.append(x[i])
    return d[0] + d[1]


@program
def star(x):
    a, *b = x
    return a + sum(b)


@program
def kw(x):
    def f(a, *args, b=1, **k):
        return a * b + k["c"] + args[0]

    return f(x, 2, b=3, c=x)


@program
def walrus(x):
    return y + 1 if (y := x * 2).ndim == 2 else x


@program
def match_(x):
    match x.shape:
        case (3, n):
            return x * n
        case _:
            return x


@program
def fstr(x):
    s = f"{x.ndim}d"
    return x * len(s)


@program
def strops(x):
    ops = "a,b".split(",")
    return x * len(ops) if "a" in ops else x


@program
def sortedk(x):
    return x * sorted([3, 1, 2], key=lambda v: -v)[0]


@program
def minmaxk(x):
    return x * min([3, 1], key=lambda v: v) + max(1, 2.5)


@program
def anyall(x):
    return x if any(i > 1 for i in range(3)) and all([True]) else -x


@program
def isinst(x):
    return x if isinstance(x, np.ndarray) and isinstance(2, (int, float)) else -x


@program
def gattr(x):
    return getattr(x, "T") + getattr(x, "nope", 1)


@program
def nullctx(x):
    with contextlib.nullcontext():
        return x + 1


@program
def suppress(x):
    with contextlib.suppress(ValueError):
        x = x + 1
    return x


@program
def errst(x):
    with np.errstate(divide="ignore"):
        return x / 0.0


@program
def assert_(x):
    assert x.ndim == 2, "no"
    return x


@program
def whileloop(x):
    n = 0
    while n < 5:
        x = x * 1.1
        n += 1
    return x


@program
def forelse(x):
    for i in range(3):
        if i == 5:
            break
    else:
        x = x + 1
    return x


@program
def lru(x):
    return cached(3) * x


@functools.lru_cache
def cached(n):
    return n * 2


def deco(f):
    @functools.wraps(f)
    def g(*a, **k):
        return f(*a, **k) * 2

    return g


@deco
def inner(x):
    return x + 1


@program
def decorated(x):
    return inner(x)


@program
def zipstrict(x):
    return sum(a * b for a, b in zip(x, x, strict=True))


@program
def revd(x):
    return sum(v * i for i, v in enumerate(reversed([x[0], x[1]]), 1))


@program
def nested_list(x):
    return np.array([[x[0, 0], x[0, 1]], [1.0, 2.0]])


@program
def slicing(x):
    s = slice(0, 2)
    return x[s, ..., None]


@program
def divmod_(x):
    a, b = divmod(7, 3)
    return x * a + b


@program
def intfl(x):
    return x * int(2.7) + float("1.5") + round(2.567, 1) + abs(-3) + pow(2, 3) + bool(1)


@program
def complexs(x):
    return x * complex(1, 2)


@program
def globalw(x):
    global G
    G = 3
    return x * G


@program
def lam(x):
    return (lambda *a: a[0] + a[1])(x, 1)


@program
def delv(x):
    y = x + 1
    del x
    return y


@program
def chaincmp(x):
    return x if 1 < x.ndim <= 2 else -x


@program
def tern(x):
    return np.where(x > 0.5, x, 0) if x.size else x


@program
def unp(x):
    return [*x][0] + {**{"a": 1}}["a"]


@program
def tolist(x):
    return np.array(x.tolist()) + 1


@program
def typ(x):
    return x.astype(type(1.0))


@program
def iterarr(x):
    s = np.zeros(4)
    for row in x:
        s += row
    return s


@program
def ndenum(x):
    return sum(v * i[0] for i, v in np.ndenumerate(x))


@program
def ndidx(x):
    return sum(x[i] for i in np.ndindex(2, 2))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function = PROGRAMS[name]
    expected = function(x)
    explained = weft.compiler.explain(function)(x)
    np.testing.assert_allclose(explained.result, expected, rtol=1e-13)
    assert bool(explained.breaks) == (name in BREAKING), [str(b) for b in explained.breaks]
