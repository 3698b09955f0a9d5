# ruff: noqa: C416, F841, UP028
"""Classes, dataclasses and named tuples; match statements."""

import dataclasses
import enum
import typing

import numpy as np

from .program import V, X, program


def kind(v):
    match v:
        case 0:
            return "zero"
        case int() | float():
            return "num"
        case [a, b]:
            return ("two", a, b)
        case [a, *rest]:
            return ("many", len(rest))
        case {"k": k, **rest}:
            return ("map", k, len(rest))
        case str() as s if s.startswith("a"):
            return s
        case None:
            return "none"
        case _:
            return "other"


@program(X)
def matching(x):
    return [kind(v) for v in (0, 3, 2.5, [1, 2], (1, 2, 3), {"k": 4, "z": 1}, "abc", "zzz", None)], x * 2


class Shape:
    __match_args__ = ("w", "h")

    def __init__(self, w, h):
        self.w = w
        self.h = h


@program(X)
def match_class(x):
    match Shape(2, 3):
        case Shape(2, h):
            return x * h
        case Shape(w=w):
            return x


@program(X)
def match_dataclass(x):
    match Vec(x, 2.0):
        case Vec(a, y=2.0):
            return a + 1
    return x


class Color(enum.Enum):
    RED = 1
    BLUE = "b"

    @property
    def pretty(self):
        return self.name.lower()


@program(X)
def match_enum(x):
    c = Color.BLUE
    match c:
        case Color.RED:
            return x
        case Color.BLUE:
            return x * 2


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def total(self):
        return self.a + self.b


@program(X)
def slots(x):
    s = Slotted(x, 2)
    s.b = 5
    return s.total()


class Account:
    rate = 2.0
    count = 0

    def __init__(self, v):
        self._v = v

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, n):
        self._v = n * self.rate

    @classmethod
    def make(cls, v):
        return cls(v + 1)

    @staticmethod
    def twice(v):
        return v * 2


@program(X)
def properties(x):
    a = Account.make(x)
    a.v = x
    return a.v + Account.twice(x) + a.twice(1)


class Base:
    def __init__(self, k):
        self.k = k

    def f(self, x):
        return x * self.k

    def g(self, x):
        return self.f(x) + 1


class Derived(Base):
    def __init__(self, k, m):
        super().__init__(k)
        self.m = m

    def f(self, x):
        return super().f(x) + self.m


class Mix:
    def g(self, x):
        return super().g(x) * 10


class Multi(Mix, Derived):
    pass


@program(X)
def inherit(x):
    return Derived(2, 3).g(x), Multi(2, 3).g(x), isinstance(Multi(1, 2), Base)


class Callable_:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x @ self.w


@program(X)
def call_obj(x):
    return Callable_(np.ones((4, 2)))(x)


class Container:
    def __init__(self, items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, v):
        self.items[i] = v

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, v):
        return v in self.items

    def __bool__(self):
        return True

    def __eq__(self, o):
        return self.items == o.items

    def __hash__(self):
        return 1

    def __delitem__(self, i):
        del self.items[i]


@program(X)
def container(x):
    c = Container([1, 2, 3])
    c[0] = 9
    del c[1]
    return x * len(c) + sum(c) + c[1] + (9 in c) + (c == Container([9, 3])) + bool(c), [i for i in c], list(c)


class It:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


@program(X)
def iter_protocol(x):
    for i in It(3):
        x = x + i
    return x, list(It(3)), sum(It(4))


class GenIter:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        for r in self.x:
            yield r


@program(X)
def iter_gen(x):
    return sum(GenIter(x)), [r.sum() for r in GenIter(x)]


class Vec2:
    __array_priority__ = 1000
    __array_ufunc__ = None

    def __init__(self, d):
        self.d = d

    def __add__(self, o):
        return Vec2(self.d + (o.d if isinstance(o, Vec2) else o))

    __radd__ = __add__

    def __mul__(self, o):
        return Vec2(self.d * o)

    def __rmul__(self, o):
        return Vec2(o * self.d)

    def __matmul__(self, o):
        return self.d @ o.d

    def __neg__(self):
        return Vec2(-self.d)

    def __sub__(self, o):
        return Vec2(self.d - o.d)

    def __truediv__(self, o):
        return Vec2(self.d / o)

    def __pow__(self, n):
        return Vec2(self.d**n)

    def __iadd__(self, o):
        self.d = self.d + o
        return self

    def __abs__(self):
        return Vec2(abs(self.d))

    def __lt__(self, o):
        return True

    def __repr__(self):
        return "Vec2"


@program(V)
def operators(x):
    a, b = Vec2(x), Vec2(x + 1)
    c = a + b
    d = 2 + a
    e = 3 * b
    f = -a
    g = a @ b
    h = (a - b) / 2
    i = a**2
    a += 5
    j = abs(f)
    return c.d, d.d, e.d, f.d, g, h.d, i.d, a.d, j.d


@program(V)
def array_op_obj(x):
    a = Vec2(x)
    return (x + a).d, (x * a).d


@program(V)
def sum_objs(x):
    return sum([Vec2(x), Vec2(x)], Vec2(x * 0)).d, sum([Vec2(x), Vec2(x)]).d


class Desc:
    def __set_name__(self, o, n):
        self.n = "_" + n

    def __get__(self, o, t=None):
        return getattr(o, self.n)

    def __set__(self, o, v):
        setattr(o, self.n, v * 2)


class HasDesc:
    v = Desc()

    def __init__(self, v):
        self.v = v


@program(X)
def descriptor(x):
    return HasDesc(x).v


@dataclasses.dataclass
class Vec:
    x: object
    y: float = 1.0
    tags: list = dataclasses.field(default_factory=list)

    def norm(self):
        return self.x * self.y


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: int = 2


@dataclasses.dataclass
class Post:
    n: int
    m: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.m = self.n * 2


@program(X)
def dc(x):
    v = Vec(x)
    v.tags.append(1)
    w = dataclasses.replace(v, y=3.0)
    return v.norm() + w.norm(), w.tags, len(v.tags)


@program(X)
def dc_frozen(x):
    f = Frozen(1)
    g = dataclasses.replace(f, b=5)
    try:
        f.a = 3
    except dataclasses.FrozenInstanceError:
        r = 1
    return x * g.b + r, f == Frozen(1), f < g, {f: 1}[Frozen(1)]


@program(X)
def dc_asdict(x):
    return (
        dataclasses.asdict(Frozen(3)),
        dataclasses.astuple(Frozen(3)),
        [f.name for f in dataclasses.fields(Frozen)],
        x + 1,
    )


@program(X)
def dc_post(x):
    return x * Post(2).m


@program(X)
def dc_repr(x):
    return repr(Frozen(1)), x


class NT(typing.NamedTuple):
    a: object
    b: int = 3

    def prod(self):
        return self.a * self.b


@program(X)
def typing_nt(x):
    return NT(x).prod(), NT(1, b=2), NT(x, 2)._replace(b=4).prod()


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Flag(enum.Flag):
    A = 1
    B = 2


@program(X)
def enums(x):
    return (
        x * Level.HIGH + Level(1),
        Color["RED"].value,
        Color.BLUE.pretty,
        [c.name for c in Color],
        Color.RED is Color(1),
        Level.LOW < Level.HIGH,
        len(Color),
    )


@program(X)
def enum_dict(x):
    t = {Color.RED: 2.0, Color.BLUE: 3.0}
    return x * t[Color.BLUE]


@program(X, Color.RED)
def enum_arg(x, c):
    return x * 2 if c is Color.RED else x


@program(X)
def flags(x):
    f = Flag.A | Flag.B
    return x * (Flag.A in f) + f.value


@program(X)
def local_class(x):
    class L:
        k = 3

        def f(self, y):
            return y * self.k

    return L().f(x)


@program(X)
def metaclass_like(x):
    reg = {}

    def register(f):
        reg[f.__name__] = f
        return f

    @register
    def double(v):
        return v * 2

    return reg["double"](x)
