"""What fuzzed programs find in their module: functions and classes as users write them around arrays."""

import contextlib
import dataclasses
import functools

import numpy as np


def helper(value, width=2):
    if value > width:
        return value - width
    return value * width


def pause(value=None):
    """What no graph holds: its caller's function goes on in another one."""
    return id(object()) and value


def square(x, n=3, shift=99):
    """A well-conditioned matrix of numbers from x: its condition is below 4 for n up to 4."""
    wide = x if x.dtype.kind in "fc" and x.dtype.itemsize > 2 else x.astype(np.float64)
    return np.resize(np.clip(np.nan_to_num(wide), -9, 9), (n, n)) + shift * np.eye(n, dtype=wide.dtype)


class Account:
    """Arrays as attributes, replaced and updated in place."""

    kinds = ("plain", "scaled")

    def __init__(self, total, scale=2):
        self.total, self.scale, self.count = total, scale, 0

    def add(self, value):
        self.total = self.total + value * self.scale
        self.count += 1
        return self

    def change(self, value):
        self.total += value
        self.count += 1

    def __len__(self):
        return self.count

    def __getitem__(self, key):
        return self.total[key]

    def __setitem__(self, key, value):
        self.total[key] = value

    def __call__(self, value):
        return self.total - value

    @property
    def first(self):
        return self.total[:1]

    @staticmethod
    def twice(value):
        return value + value

    @classmethod
    def of(cls, value):
        return cls(value, 1)


class Scaled(Account):
    def __init__(self, total):
        super().__init__(total, 3)
        self.kind = self.kinds[1]

    def add(self, value):
        super().add(value)
        return self.total


@dataclasses.dataclass
class Pair:
    first: object
    second: object = 1

    def swap(self):
        self.first, self.second = self.second, self.first

    def sum(self):
        return self.first + self.second


def rows(x, step=1):
    for i in range(0, len(x), step):
        yield x[i]


def running(x):
    total = 0
    for row in x:
        total = total + row
        yield total
    return total


def both(x, y):
    yield from rows(x, 2)
    yield y


def countdown(n, value):
    """Recursion."""
    return value if n <= 0 else countdown(n - 1, value + n)


def adder(amount):
    """A closure whose variable is bound again."""

    def add(value):
        nonlocal amount
        amount = amount + 1
        return value + amount

    return add


def checked(x):
    if x.size % 2:
        raise ValueError(f"odd: {x.shape}")
    return x * 2


@contextlib.contextmanager
def doubled(box):
    box["value"] = box["value"] * 2
    try:
        yield box
    finally:
        box["left"] = True


def logged(function):
    @functools.wraps(function)
    def call(*arguments, **keywords):
        return function(*arguments, **keywords) + 1

    return call


@logged
def decorated(value, factor=2):
    return value * factor


NAMES = {
    value.__name__: value
    for value in (
        helper, pause, square, Account, Scaled, Pair, rows, running, both, countdown, adder, checked, doubled, decorated
    )
}  # fmt: skip
