# ruff: noqa: C402
"""Generators, and the iterators of itertools."""

import itertools
import operator
import sys

from .program import X, program


def rows(x):
    for r in x:
        yield r * 2


def both(x):
    yield from rows(x)
    yield x[0]
    return 5


@program(X)
def yield_from(x):
    return sum(both(x))


def result_of(x):
    r = yield from both(x)
    yield r


@program(X)
def yield_from_result(x):
    return list(result_of(x))[-1] * x


@program(X)
def genexp(x):
    return sum(r.sum() * i for i, r in enumerate(x)), max(len(r) for r in x)


@program(X)
def gen_next(x):
    g = rows(x)
    a = next(g)
    b = next(g)
    return a - b, next(iter([]), 7)


def echo():
    got = []
    while True:
        v = yield len(got)
        if v is None:
            return
        got.append(v)


@program(X)
def gen_send(x):
    g = echo()
    next(g)
    n = g.send(x)
    m = g.send(x)
    g.close()
    return x * n + m


@program(X)
def gen_zip(x):
    return [a + b for a, b in zip(rows(x), both(x))]


def tree(n):
    if n:
        yield from tree(n - 1)
        yield n
        yield from tree(n - 1)


@program(X)
def gen_recursive(x):
    return x * sum(tree(4)), list(tree(3))


@program(X)
def gen_fin(x):
    log = []

    def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    for v in g():
        x = x * v
        break
    return x, len(log) >= 0


@program(X)
def gen_unpack(x):
    a, *b = rows(x)
    c = [*rows(x)]
    return a, b[0], c[1]


@program(X)
def gen_any(x):
    return any(i > 2 for i in range(5)), all(r.ndim == 1 for r in x), x


@program(X)
def gen_dict(x):
    d = dict((i, r) for i, r in enumerate(rows(x)))
    return d[1]


@program(X)
def gen_join(x):
    return ",".join(str(i) for i in range(3)), x + 1


def countdown(n):
    while n > 0:
        yield n
        n -= 1


@program(X)
def gen_while(x):
    for n in countdown(4):
        x = x + n
    return x


@program(X)
def gen_kwargs(x):
    def g(a, *, k=1):
        yield a * k
        yield a

    return list(g(x, k=3))


@program(X)
def it_product(x):
    for i, j in itertools.product(range(2), repeat=2):
        x = x + i * j
    return x, list(itertools.product("ab", [1, 2]))


@program(X)
def it_perm(x):
    return list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations("abc", 2)), x


@program(X)
def it_acc(x):
    return list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([x, x, x], operator.mul))


@program(X)
def it_chain(x):
    return (
        list(itertools.chain([1], (2, 3))),
        list(itertools.chain.from_iterable([[1], [2]])),
        list(itertools.islice(itertools.count(3, 2), 3)),
        x,
    )


@program(X)
def it_groupby(x):
    return (
        [(k, list(g)) for k, g in itertools.groupby([1, 1, 2, 3, 3])],
        {k: len(list(g)) for k, g in itertools.groupby("aabbb", key=lambda c: c)},
        x * 2,
    )


@program(X)
def it_pair(x):
    return (
        [b - a for a, b in itertools.pairwise([1, 4, 9])],
        list(itertools.starmap(pow, [(2, 3), (3, 2)])),
        list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])),
        x,
    )


@program(X)
def it_zip_longest(x):
    return (
        list(itertools.zip_longest([1, 2, 3], "a", fillvalue=0)),
        list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])),
        x,
    )


@program(X)
def it_cycle(x):
    return [a * b for a, b in zip([1, 2, 3], itertools.cycle([1, -1]))], x


@program(X)
def it_tee(x):
    a, b = itertools.tee([1, 2, 3])
    next(b)
    return list(zip(a, b)), x


@program(X)
def it_cycle_next(x):
    c = itertools.cycle([x, x + 1])
    return next(c) + next(c) + next(c)


if sys.version_info >= (3, 12):

    @program(X)
    def it_batched(x):
        return list(itertools.batched(range(5), 2)), x


@program(X)
def op_getters(x):
    d = [{"a": 2, "b": x}, {"a": 1, "b": x + 1}]
    d.sort(key=operator.itemgetter("a"))
    return (
        d[0]["b"],
        operator.attrgetter("shape")(x),
        operator.methodcaller("sum", axis=0)(x),
        [operator.itemgetter(1, 0)((3, 4))],
    )


def averages():
    total, count = 0.0, 0
    while True:
        value = yield total / max(count, 1)
        if value is None:
            return total
        total = total + value
        count += 1


@program(X)
def sent_values(x):
    means = averages()
    next(means)
    found = [means.send(row) for row in x]
    try:
        next(means)
    except StopIteration as end:
        return found, end.value
