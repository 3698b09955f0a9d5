"""Compiled functions that test_pickling.py sends to other processes: a module that these import."""

import functools

import numpy as np
import weft


@weft.compile
def decorated(x):
    """Doubles and adds one."""
    return x * 2 + 1


@weft.compile(dynamic=True, mode="max-autotune")
def with_options(x):
    return x * 3


def plain(x):
    return x * 4 - 1


wrapping = weft.compile(plain, fullgraph=True, dynamic=False)
again = weft.compile(decorated, mode="reduce-overhead")


def scaled(factor, x, offset=0.0):
    return x * factor + offset


of_partial = weft.compile(functools.partial(scaled, 2.0, offset=1.0))
partial_of = functools.partial(weft.compile(scaled), 3.0)


class Model:
    def __init__(self, factor):
        self.factor = factor

    @weft.compile
    def apply(self, x):
        return x * self.factor

    @staticmethod
    @weft.compile
    def halved(x):
        return x / 2

    @classmethod
    def make(cls):
        return cls(2.0)

    def uncompiled(self, x):
        return x + self.factor

    def __call__(self, x):
        return x - self.factor

    class Inner:
        @weft.compile
        def apply(self, x):
            return x + 10


class Network(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = weft.nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(x) * 2


def local_function():
    @weft.compile
    def inside(x):
        return x

    return inside


of_lambda = weft.compile(lambda x: x + 1)
ARRAY = np.arange(12.0).reshape(3, 4)
EXPECTED = {
    "decorated": ARRAY * 2 + 1,
    "with_options": ARRAY * 3,
    "wrapping": ARRAY * 4 - 1,
    "again": ARRAY * 2 + 1,
    "of_partial": ARRAY * 2 + 1,
    "partial_of": ARRAY * 3,
    "Model.halved": ARRAY / 2,
    "Model(5.0).apply": ARRAY * 5,
    "Model.Inner().apply": ARRAY + 10,
    "weft.compile(Model(5.0).uncompiled)": ARRAY + 5,
    "weft.compile(Model(5.0))": ARRAY - 5,
    "weft.compile(np.sin)": np.sin(ARRAY),
}


def call(function, x):
    """What a worker process runs."""
    return np.asarray(function(x))


def send(function, queue):
    queue.put((call(function, ARRAY), type(function).__name__))
