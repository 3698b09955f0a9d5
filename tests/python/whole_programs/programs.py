# ruff: noqa: E741, UP012
"""Programs as people write them: networks, filters, pipelines, containers of their own."""

import abc
import collections
import collections.abc
import itertools
import math
import operator
import types
import typing

import numpy as np

from .program import X, program


class Layer:
    def __init__(self, i, o):
        self.w = np.ones((i, o))
        self.b = np.zeros(o)

    def __call__(self, x):
        return np.maximum(x @ self.w + self.b, 0)


class Net:
    def __init__(self, *sizes):
        self.layers = [Layer(i, o) for i, o in itertools.pairwise(sizes)]

    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x


NET = Net(4, 3, 2)


@program(X)
def network(x):
    return NET.forward(x), Net(4, 2).forward(x)


@program(X)
def kalman(x):
    state = {"m": np.zeros(4), "P": np.eye(4)}
    for z in x:
        K = state["P"] @ np.linalg.inv(state["P"] + np.eye(4))
        state = {"m": state["m"] + K @ (z - state["m"]), "P": (np.eye(4) - K) @ state["P"]}
    return state


@program(X)
def printing(x):
    print("hello", x.shape)
    y = x * 2
    print("sum", end="!\n")
    return y


@program(X)
def pipeline(x):
    steps = [("scale", lambda v: v * 2), ("shift", lambda v: v + 1), ("norm", lambda v: v / np.abs(v).max())]
    timing = {}
    for name, f in steps:
        x = f(x)
        timing[name] = x.shape
    return x, timing


@program(X)
def import_inside(x):
    import math as m
    from functools import reduce

    return x * m.pi, reduce(operator.mul, [1, 2, 3])


@program(X)
def type_hints(x: np.ndarray) -> np.ndarray:
    y: float = 2.0
    return x * y


@program(X)
def int_big(x):
    return x, 2**100, 10**20 // 3, -7 // 2, -7 % 3, 7 & 3, 1 << 5, ~5, 0.1 + 0.2, 5 / 2, True + 1


@program(X)
def bytes_(x):
    return x, b"ab"[0], bytes([1, 2]), bytearray(b"x") + b"y", memoryview(b"abc")[1]


@program(X)
def nested_def_default(x):
    def f(a, b=x.shape[0], *args, **kw):
        return a * b + len(args) + len(kw)

    return f(x), f(x, 2, 3, 4, z=1)


class Stack:
    def __init__(self):
        self._d = []

    def push(self, v):
        self._d.append(v)
        return self

    def pop(self):
        return self._d.pop()

    @property
    def top(self):
        return self._d[-1]

    def __len__(self):
        return len(self._d)


@program(X)
def stack_(x):
    s = Stack().push(x).push(x + 1)
    return s.top, s.pop() + s.pop(), len(s), not s


class LinkedList:
    class Node:
        __slots__ = ("v", "next")

        def __init__(self, v, next=None):
            self.v = v
            self.next = next

    def __init__(self, it=()):
        self.head = None
        for v in it:
            self.head = self.Node(v, self.head)

    def __iter__(self):
        n = self.head
        while n is not None:
            yield n.v
            n = n.next


@program(X)
def linked(x):
    return x * sum(LinkedList([1, 2, 3])), list(LinkedList("ab"))


class Matrix:
    def __init__(self, d):
        self.d = np.asarray(d)

    def __matmul__(self, o):
        return Matrix(self.d @ o.d)

    @property
    def T(self):
        return Matrix(self.d.T)

    def __getitem__(self, k):
        return self.d[k]

    def __eq__(self, o):
        return np.array_equal(self.d, o.d)

    def __len__(self):
        return len(self.d)

    def __str__(self):
        return f"Matrix{self.d.shape}"

    def __format__(self, s):
        return "M" + s


@program(X)
def matrix_class(x):
    m = Matrix(x)
    return (m @ m.T).d, m[0, 1:], len(m), str(m), f"{m:q}"


@program(X)
def abc_class(x):
    return Circle(2).area() * x, isinstance(Circle(1), collections.abc.Hashable)


class Shape_(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Circle(Shape_):
    def __init__(self, r):
        self.r = r

    def area(self):
        return math.pi * self.r**2


class Gen(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, v):
        self.v = v


@program(X)
def generic(x):
    return Gen(x).v * 2, Gen[int](x).v


class InitSub:
    reg = []

    def __init_subclass__(cls, **k):
        InitSub.reg.append(cls.__name__)


class Sub1(InitSub):
    def f(self, x):
        return x * len(self.reg)


@program(X)
def initsub(x):
    return Sub1().f(x)


class NewCls:
    def __new__(cls, *a):
        o = super().__new__(cls)
        o.k = 4
        return o

    def __init__(self, v):
        self.v = v


@program(X)
def newcls(x):
    return NewCls(x).v * NewCls(x).k


class DictSub(dict):
    def __getattr__(self, k):
        return self[k]


@program(X)
def dict_subclass(x):
    d = DictSub(a=2)
    return x * d.a, d


class ListSub(list):
    def total(self):
        return sum(self)


@program(X)
def list_subclass(x):
    l = ListSub([1, 2])
    l.append(3)
    return x * l.total(), len(l)


CFG = DictSub(lr=0.5, n=3)


@program(X)
def cfg_global(x):
    return x * CFG.lr * CFG["n"]


NS = types.SimpleNamespace(a=2, b=3)


@program(X)
def namespace(x):
    n = types.SimpleNamespace(k=x)
    n.j = 4
    return x * NS.a + n.k * n.j


@program(X)
def complex_unpack(x):
    (a, b), c = (1, 2), 3
    for i, (p, q) in enumerate(zip([1, 2], [3, 4])):
        x = x + i * p * q
    return x * a * b * c


@program(X)
def any_str(x):
    return (
        x,
        str(3.5),
        repr([1, "a"]),
        str((1, 2)),
        ascii("é"),
        format(3.14159, ".3f"),
        "a" * 3,
        "b" in "abc",
        "abc"[1:],
        "a" < "b",
        "é".encode("utf8"),
    )


@program(X)
def loops_mixed(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0.5:
                total += x[i, j]
    return total, x.sum()


@program(X)
def try_loop(x):
    out = []
    for k in range(4):
        try:
            out.append(x[k].sum())
        except IndexError:
            out.append(-1.0)
            break
    return out
