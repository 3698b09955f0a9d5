# ruff: noqa: UP033
"""Functions that functools makes, context managers and what they suppress."""

import contextlib
import functools
import operator

import numpy as np

from .program import X, program


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@program(X)
def lru(x):
    return x * fib(10)


@functools.cache
def weights(n):
    return tuple(1 / (k + 1) for k in range(n))


@program(X)
def cached(x):
    return x @ np.array(weights(4))


@functools.lru_cache
def cached_array(n):
    return np.arange(n * 1.0)


@program(X)
def lru_array(x):
    return x + cached_array(4)


@program(X)
def reduced(x):
    return functools.reduce(lambda a, b: a * b, [x, x + 1, 2.0]), functools.reduce(operator.add, [1, 2], 5)


@program(X)
def partials(x):
    f = functools.partial(np.sum, axis=0, keepdims=True)
    g = functools.partial(lambda a, b, c: a * b - c, 2.0, c=1)
    return f(x) + g(x)


class PM:
    def scale(self, x, k):
        return x * k

    double = functools.partialmethod(scale, k=2)


@program(X)
def partial_method(x):
    return PM().double(x)


class CP:
    def __init__(self, x):
        self.x = x
        self.calls = 0

    @functools.cached_property
    def norm(self):
        self.calls += 1
        return np.sqrt((self.x**2).sum())


@program(X)
def cachedprop(x):
    c = CP(x)
    return x / c.norm + c.norm, c.calls


@functools.singledispatch
def area(s):
    return 0


@area.register
def _(s: int):
    return s * 2


@area.register(list)
def _(s):
    return len(s)


@program(X)
def single_dispatch(x):
    return x * area(3) + area([1, 2]) + area("x")


def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k) * 2

    return w


@deco
def base(x, y=1):
    return x + y


@program(X)
def decorated(x):
    return base(x) + base(x, y=3)


@program(X)
def total(x):
    @functools.lru_cache(None)
    def f(n):
        return 1 if n == 0 else n * f(n - 1)

    return x * f(5)


@program(X)
def cmp_key(x):
    items = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))
    return x * items[0], items


@contextlib.contextmanager
def scaled(x, k):
    try:
        yield x * k
    finally:
        pass


@program(X)
def ctx(x):
    with scaled(x, 3) as y:
        z = y + 1
    return z


class Ctx:
    def __init__(self):
        self.log = []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, t, v, tb):
        self.log.append(t.__name__ if t else "out")
        return t is ValueError


@program(X)
def ctx_class(x):
    c = Ctx()
    with c as d:
        x = x * 2
    with c:
        raise ValueError("x")
    return x, c.log, d is c


@program(X)
def exit_stack(x):
    with contextlib.ExitStack() as s:
        a = s.enter_context(scaled(x, 2))
        b = s.enter_context(scaled(x, 3))
        return a + b


@program(X)
def exit_callback(x):
    log = []
    with contextlib.ExitStack() as s:
        s.callback(log.append, 1)
        s.callback(log.append, 2)
    return x * len(log), log


@program(X)
def null(x):
    with contextlib.nullcontext(x * 2) as y:
        return y + 1


@program(X)
def suppressed(x):
    with contextlib.suppress(KeyError, ValueError):
        x = x + 1
        {}["k"]
        x = x + 100
    return x


@program(X)
def ctx_two(x):
    with scaled(x, 2) as a, contextlib.nullcontext(5) as b:
        return a * b


@program(X)
def ctx_exc(x):
    try:
        with scaled(x, 2) as a:
            raise RuntimeError("boom")
    except RuntimeError as e:
        return a, str(e)
