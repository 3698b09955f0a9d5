# ruff: noqa: C416
"""Enum classes."""

import dataclasses
import enum

import numpy as np

from .program import X, program


class Level(enum.IntEnum):
    LOW = 1
    MID = 3
    HIGH = 5


class Mode(enum.Enum):
    MEAN = "mean"
    SUM = "sum"

    @property
    def pretty(self):
        return self.name.lower()

    def apply(self, x):
        return x.mean() if self is Mode.MEAN else x.sum()

    @classmethod
    def default(cls):
        return cls.SUM

    @staticmethod
    def count():
        return 2


class Perm(enum.Flag):
    R = 1
    W = 2
    X = 4
    RW = R | W


class IPerm(enum.IntFlag):
    R = 1
    W = 2


class Planet(enum.Enum):
    EARTH = (5.97e24, 6.37e6)

    def __init__(self, m, r):
        self.m = m
        self.r = r

    @property
    def g(self):
        return 6.67e-11 * self.m / self.r**2


class Name(enum.StrEnum):
    A = enum.auto()
    B = enum.auto()


class Op(enum.Enum):
    ADD = "+"
    MUL = "*"

    def __call__(self, a, b):
        return a + b if self is Op.ADD else a * b

    def __lt__(self, o):
        return self.value < o.value


class Weekday(enum.IntEnum):
    MON = 0
    TUE = 1

    def __str__(self):
        return "day%d" % self.value

    def __add__(self, o):
        return Weekday((int(self) + o) % 2)


@program(X)
def int_enum_arith(x):
    return (
        x * Level.HIGH + Level.LOW,
        Level.HIGH - 1,
        x[Level.LOW],
        np.zeros(Level.MID),
        Level.LOW < Level.HIGH,
        Level.MID == 3,
        [i for i in range(Level.MID)],
    )


@program(X.astype(np.float32))
def int_enum_weak(x):
    return (
        x * Level.HIGH,
        x + Level.LOW,
        np.add(x, Level.LOW),
        np.full(2, Level.MID),
        np.array([Level.LOW, Level.HIGH]),
    )


@program(X)
def lookups(x):
    return (
        x * len(Mode),
        Mode("sum").pretty,
        Mode["MEAN"].value,
        [m.name for m in Mode],
        Mode.MEAN is Mode("mean"),
        Mode.MEAN == Mode.SUM,
        Mode.MEAN in Mode,
        Level(3).name,
        Mode.default().pretty,
        Mode.count(),
    )


@program(X)
def dispatch(x):
    t = {Mode.MEAN: lambda v: v - 1, Mode.SUM: lambda v: v * 3}
    out = {}
    for m in Mode:
        out[m] = t[m](x).sum()
    return [out[m] for m in out], Mode.SUM.apply(x), {Mode.MEAN: x}


@program(X)
def flag(x):
    f = Perm.R | Perm.W
    return (
        x * (Perm.W in f) + f.value,
        f == Perm.RW,
        bool(f & Perm.X),
        (f ^ Perm.R).name,
        ~Perm.R,
        (~f).value,
        Perm.X | f,
        IPerm.R | IPerm.W,
        x * (IPerm.R | IPerm.W),
    )


@program(X)
def planet(x):
    return x * Planet.EARTH.g, Planet.EARTH.m, Planet.EARTH.value


@program(X)
def strenum(x):
    return (
        x + 1,
        Name.A.upper(),
        f"{Name.B}",
        Name.A == "a",
        {"a": 1}[Name.A],
        str(Mode.SUM),
        repr(Level.LOW),
        f"{Level.LOW:03d}",
        f"{Mode.SUM}",
    )


@program(X)
def callenum(x):
    return Op.ADD(x, 2), Op.MUL(x, 3), Op.MUL < Op.ADD, sorted([Op.ADD, Op.MUL])[0]


@program(X)
def user_ops(x):
    return x + 1, str(Weekday.MON), Weekday.TUE + 1, Weekday.MON + 1, f"{Weekday.TUE}", x * Weekday.TUE


@program(X, Mode.SUM)
def argenum(x, m):
    match m:
        case Mode.SUM:
            return x.sum()
        case _:
            return x


@program(X)
def badvalue(x):
    try:
        Mode("zzz")
    except ValueError as e:
        return x, str(e)


@program(X)
def badkey(x):
    try:
        Mode["zzz"]
    except KeyError as e:
        return x, str(e)


@dataclasses.dataclass
class Conf:
    mode: Mode = Mode.SUM
    level: Level = Level.LOW


@program(X, Conf())
def conf(x, c):
    c.level = Level.HIGH
    return x * c.level if c.mode is Mode.SUM else x
