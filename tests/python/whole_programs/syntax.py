# ruff: noqa: B006, B009, B010, B023, C416, E731, UP012, UP032, UP038
"""Statements and expressions, one each."""

import numpy as np

from .program import X, program


@program(X)
def walrus(x):
    if (n := x.shape[0]) > 2:
        x = x * n
    ys = [y for i in range(4) if (y := i * i) > 1]
    return x, ys


@program(X)
def star(x):
    a, *b, c = range(6)
    f = lambda *p, k=1, **q: sum(p) * k + sum(q.values())
    return x * f(*b, k=2, z=3) + a + c, [*b, *"ab"], {**{"a": 1}, "b": 2}


def mutable(v, acc=[]):
    acc.append(v)
    return len(acc)


@program(X)
def mutable_default(x):
    return x, [1 for _ in range(2)]


def kwonly(x, /, y, *, scale=2, **more):
    return (x + y) * scale + len(more)


@program(X)
def kw_only(x):
    return kwonly(x, y=1, scale=3, a=1, b=2)


@program(X)
def nonlocal_(x):
    n = 0

    def bump():
        nonlocal n
        n += 1
        return n

    for _ in range(3):
        bump()
    return x * n


def make_counter():
    n = 0

    def c():
        nonlocal n
        n += 1
        return n

    return c


@program(X)
def closure_factory(x):
    c = make_counter()
    d = make_counter()
    c()
    c()
    d()
    return x * c() + d()


@program(X)
def lambda_late(x):
    fs = [lambda v: v * i for i in range(3)]
    return fs[0](x)


@program(X)
def del_stmt(x):
    a = [1, 2, 3]
    del a[0]
    d = {"p": 1, "q": 2}
    del d["p"]
    y = x * 2
    del y
    return x * len(a), d, a


@program(X)
def chained_cmp(x):
    return x * (1 < 2 < 3) + (3 > 2 > 2)


@program(X)
def ternary(x):
    return (x if x.ndim > 1 else -x) * (1 if [] else 2)


@program(X)
def nested_comp(x):
    return [[i * j for j in range(3)] for i in range(2)], {k: v for k, v in zip("ab", range(2))}, x


@program(X)
def while_else(x):
    n = 0
    while n < 3:
        n += 1
    else:
        x = x + n
    for i in range(3):
        if i == 9:
            break
    else:
        x = x * 2
    return x


@program(X)
def slices(x):
    a = list(range(10))
    a[2:4] = [7]
    a[::3] = [0] * len(a[::3])
    del a[-2:]
    return x, a


@program(X)
def strings(x):
    s = f"{3.14159:.2f}|{5:>4}|{'a'!r}|{x.shape}|{2**10:,}"
    return (
        x,
        s,
        "%d-%s" % (3, "q"),
        "{:03d} {k}".format(7, k=1),
        "a,b".split(","),
        "AbC".lower().title(),
        " x ".strip(),
    )


@program(X)
def fstring_array(x):
    return f"{x.sum():.6f}", x


@program(X)
def string_methods(x):
    return (
        x,
        "abc".replace("b", "z"),
        "abc".find("c"),
        "abc".upper()[::-1],
        "x".join(["1", "2"]),
        "abc".encode(),
        "a b".partition(" "),
        str(12),
        repr("q"),
        ord("a"),
        chr(98),
        hex(255),
        bin(5),
    )


@program(X)
def global_read(x):
    return x * GLOBAL_K


GLOBAL_K = 3
GSTATE = {"n": 0}


@program(X)
def isinstances(x):
    return (
        isinstance(x, np.ndarray),
        isinstance(3, (int, str)),
        issubclass(bool, int),
        isinstance([], list),
        x,
        callable(len),
        type(x) is np.ndarray,
    )


@program(X)
def attrs(x):
    class A:
        pass

    a = A()
    setattr(a, "k", x)
    a.z = 1
    return getattr(a, "k") * getattr(a, "no", 5), hasattr(a, "q"), hasattr(a, "z"), vars(a)["z"]


@program(X)
def global_effect(x):
    GSTATE["n"] = x.shape[0] * 2
    return x, GSTATE["n"]
