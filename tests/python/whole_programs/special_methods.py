# ruff: noqa: B018, E711, UP008
"""The special methods of classes, copies and the state of objects."""

import abc
import dataclasses
import functools
import math
import numbers
import statistics
import types

import numpy as np

from .program import X, program


class Attrs:
    def __init__(self, d):
        self.d = d

    def __getattr__(self, n):
        if n in self.d:
            return self.d[n]
        raise AttributeError(n)


GLOBAL = Attrs({"gain": 2.5})


@program(X)
def hook(x):
    g = Attrs({"k": 3, "a": x})
    try:
        g.missing
    except AttributeError as e:
        m = str(e)
    return (
        x * g.k + g.a * GLOBAL.gain,
        hasattr(g, "zz"),
        hasattr(g, "k"),
        getattr(g, "yy", 4),
        getattr(g, "k", 4),
        m,
    )


class Checked:
    def __init__(self, v):
        self.v = v
        self.log = []

    def __setattr__(self, n, v):
        if n == "v" and v is None:
            raise ValueError("no value")
        super().__setattr__(n, v)


@program(X)
def setattr_hook(x):
    c = Checked(x)
    c.v = c.v + 1
    c.extra = 2
    try:
        c.v = None
    except ValueError as e:
        return c.v * c.extra, str(e)


class Scale:
    made = 0

    def __new__(cls, k, *rest):
        o = super().__new__(cls)
        o.k = k
        return o

    def __init__(self, k, shift=0):
        self.shift = shift

    def __call__(self, x):
        return x * self.k + self.shift


class Double(Scale):
    def __new__(cls, shift=0):
        return super().__new__(cls, 2)

    def __init__(self, shift=0):
        super().__init__(2, shift)


class Other:
    def __new__(cls, x):
        return x * 2


@program(X)
def with_new(x):
    return (
        Scale(3)(x),
        Scale(3, 1)(x),
        Double(5)(x),
        Other(x),
        type(Double()).__name__,
        isinstance(Double(), Scale),
    )


class Base:
    @classmethod
    def create(cls, x):
        o = cls()
        o.x = x
        return o

    @staticmethod
    def twice(x):
        return x * 2


class Derived(Base):
    @classmethod
    def create(cls, x):
        o = super().create(x + 1)
        o.y = cls.twice(x)
        return o


@program(X)
def super_class(x):
    d = Derived.create(x)
    return d.x + d.y, type(d).__name__


class Named(Base):
    def __init__(self, x):
        super(Named, self).__init__()
        self.x = x

    @classmethod
    def create(cls, x):
        return super(Named, cls).twice(x)


@program(X)
def super_of_two(x):
    return Named(x).x, Named.create(x)


NS = types.SimpleNamespace(gain=2.0, names=["a", "b"])


@program(X)
def namespaces(x):
    n = types.SimpleNamespace(k=x, j=1)
    n.j += 3
    return x * NS.gain + n.k * n.j, NS.names, hasattr(n, "zz"), n.j


@program(X, types.SimpleNamespace(w=X, count=0))
def namespace_state(x, s):
    s.w = s.w + x
    s.count += 1
    return s.w.sum(), s.count


class Num:
    def __init__(self, v):
        self.v = v

    def __abs__(self):
        return Num(abs(self.v))

    def __round__(self, n=0):
        return np.round(self.v, n)

    def __floor__(self):
        return np.floor(self.v)

    def __float__(self):
        return 2.5

    def __int__(self):
        return 7

    def __hash__(self):
        return 3

    def __format__(self, spec):
        return "N" + spec

    def __divmod__(self, o):
        return self.v // o, self.v % o

    def __invert__(self):
        return Num(1 / self.v)

    def __reversed__(self):
        return iter([3, 2, 1])


@program(X)
def protocols(x):
    n = Num(-x)
    return abs(n).v, round(n, 1), math.floor(n), float(n), int(n), hash(n), format(n, "3"), f"{n:q}", (~n).v


class PM:
    def scale(self, x, k, shift=0):
        return x * k + shift

    double = functools.partialmethod(scale, k=2)
    more = functools.partialmethod(scale, shift=1)


@program(X)
def partial_methods(x):
    return PM().double(x), PM().more(x, 3), PM().double(x, shift=5)


@program(X)
def compare_key(x):
    items = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))
    words = ["bb", "a", "ccc"]
    words.sort(key=functools.cmp_to_key(lambda a, b: len(a) - len(b)))
    return x * items[0], items, words


@program(X)
def statistic(x):
    return (
        x * statistics.mean([1, 2, 3]),
        statistics.median([3, 1, 2]),
        statistics.stdev([1.0, 2.0, 4.0]),
        statistics.quantiles([1, 2, 3, 4]),
        statistics.mode("aab"),
        math.fsum([0.1] * 10),
        math.dist((0, 0), [3, 4]),
        math.prod([2, 3]),
    )


@program(X)
def comparisons(x):
    return (
        x,
        [1] == 0,
        {"a": 1} == None,
        {"a": [1]} == {"a": [1]},
        {"a": 1} != {"b": 1},
        (1,) == [1],
        [1, (2,)] == [1, (2,)],
        [x is None],
        "a" == [1],
    )


@program(X)
def dicts(x):
    d = {"a": 1}
    e = d | {"b": x}
    d |= {"z": 2}
    last = d.popitem()
    try:
        {}.popitem()
    except KeyError as err:
        m = str(err)
    f = dict(e)
    f.clear()
    return list(e), e["b"] * 2, d, last, m, f


@dataclasses.dataclass
class Params:
    lr: float = 0.5
    sizes: list = dataclasses.field(default_factory=lambda: [1, 2])


@program(X)
def dataclass_tools(x):
    p = Params()
    q = dataclasses.replace(p, lr=2.0)
    return (
        x * q.lr,
        [f.name for f in dataclasses.fields(q)],
        q.sizes is p.sizes,
        dataclasses.is_dataclass(q),
        q == Params(2.0),
    )


class Model(abc.ABC):
    @abc.abstractmethod
    def f(self, x): ...
    def run(self, x):
        return self.f(x) + self.bias

    @property
    @abc.abstractmethod
    def bias(self): ...


class Linear(Model):
    def __init__(self, w):
        self.w = w

    def f(self, x):
        return x @ self.w

    @property
    def bias(self):
        return 0.5


@program(X)
def abstract(x):
    m = Linear(np.ones((4, 2)))
    try:
        Model()
    except TypeError as e:
        t = "abstract" in str(e)
    return m.run(x), isinstance(m, Model), isinstance(3, numbers.Number), isinstance(x, numbers.Number), t
