"""Classes and their operators, generators, and the standard library's iterators in compiled functions: how far they run, what
leaves the function, and what they raise."""

import dataclasses
import functools
import itertools
import operator

import numpy as np
import pytest
import weft

x = np.linspace(0.1, 1, 12).reshape(3, 4)


@dataclasses.dataclass
class P:
    a: np.ndarray
    k: float = 2.0

    def scaled(self):
        return self.a * self.k


@dataclasses.dataclass(frozen=True)
class Q:
    a: object


class Base:
    def f(self, x):
        return x + 1


class Der(Base):
    def __init__(self, s):
        self.s = s

    def f(self, x):
        return super().f(x) * self.s

    @property
    def twice(self):
        return self.s * 2

    @staticmethod
    def st(x):
        return x - 1

    @classmethod
    def make(cls, s):
        return cls(s)

    def __call__(self, x):
        return x / self.s

    def __add__(self, o):
        return Der(self.s + o.s)

    def __getitem__(self, i):
        return self.s * i

    def __len__(self):
        return 3

    def __enter__(self):
        return self

    def __exit__(self, *a):
        return False

    def __iter__(self):
        return iter([1, 2, 3])

    def __eq__(self, o):
        return self.s == o.s


def dataclass(x):
    return P(x, 3.0).scaled()


def frozen(x):
    return Q(x).a + 1


def replace(x):
    return dataclasses.replace(P(x), k=4.0).scaled()


def inherit(x):
    d = Der(2.0)
    return d.f(x) + d.twice + Der.st(x)


def classm(x):
    return Der.make(3.0)(x)


def opover(x):
    return (Der(1.0) + Der(2.0)).s * x + Der(2.0)[3] + len(Der(1.0))


def ctx(x):
    with Der(2.0) as d:
        return d.f(x)


def eqm(x):
    return x if Der(1.0) == Der(1.0) else -x


@pytest.mark.parametrize("function", [dataclass, frozen, replace, inherit, classm, opover, ctx, eqm])
def test_classes_are_one_graph(function):
    explained = weft.compiler.explain(function)(x)
    np.testing.assert_allclose(explained.result, function(x), rtol=1e-13)
    assert not explained.breaks, [str(b) for b in explained.breaks]


def steps(n, x):
    for i in range(n):
        yield x * i


def stops_early(x):
    log = []

    def values():
        for i in range(3):
            log.append(i)
            yield x * i

    for _ in values():
        break
    return len(log)


def reads_what_changes(x):
    scale, total = [1], 0

    def values():
        for _ in range(3):
            yield x * scale[0]

    for value in values():
        scale[0] += 1
        total = total + value
    return total


def taken_in_turns(x):
    values = steps(4, x)
    first, second = next(values), next(values)
    return first + second * sum(values) + next(values, 10)


def breaks_in_between(x):
    values, total = steps(4, x), 0
    next(values)
    print(end="")
    for value in values:
        print(end="")
        total = total + value
    return total


def breaks_inside(x):
    def values():
        for i in range(3):
            print(end="")
            yield x * i

    return sum(values()) + x


def nested(x):
    def inner():
        yield x
        yield x + 1

    def outer():
        for value in inner():
            yield value * 2
        yield x * 10

    return sum(outer())


def paired(x):
    return sum(a * b for a, b in zip(steps(3, x), steps(4, x + 1))) + sum(
        i * v for i, v in enumerate(steps(3, x))
    )


def maps_lazily(x):
    log = []

    def noted(value):
        log.append(1)
        return value + 1

    for value in map(noted, x):
        if len(log) == 2:
            return value * len(log)


def islice_leaves_the_rest(x):
    values = iter([x, x + 1, x + 2])
    return sum(itertools.islice(values, 2)) * next(values)


@pytest.mark.parametrize(
    "function",
    [
        stops_early,
        reads_what_changes,
        taken_in_turns,
        breaks_in_between,
        breaks_inside,
        nested,
        paired,
        maps_lazily,
        islice_leaves_the_rest,
    ],
)
def test_generators_run_as_far_as_they_are_asked(function):
    for _ in range(2):
        np.testing.assert_array_equal(weft.compile(function)(x), function(x))


class Vector:
    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        return Vector(self.a + (other.a if isinstance(other, Vector) else other))

    def __radd__(self, other):
        return Vector(other - self.a)

    def __imul__(self, factor):
        self.a = self.a * factor
        return self

    def __lt__(self, other):
        return self.a < other.a

    def __neg__(self):
        return Vector(-self.a)

    def __getitem__(self, key):
        return self.a[key]


class Cautious(Vector):
    def __sub__(self, other):
        return NotImplemented if isinstance(other, Vector) else Vector(self.a - other)

    def __rsub__(self, other):
        return Vector(self.a * 100)

    def __radd__(self, other):
        return Vector(self.a * 10)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    k: float = 2.0


def arithmetic(x):
    v = Vector(x) + Vector(x) + 1.0
    v *= 3.0
    return (2 + v).a + (-v)[0] + (Vector(x) < v) + v[1:2]


def subclass_goes_first(x):
    return (Vector(x) + Cautious(x)).a


def undecided(x):
    return (Cautious(x) - 1.0).a + (Vector(x) + 1.0).a


def frozen_fields(x):
    f = Frozen(x)
    g = dataclasses.replace(f, k=3.0)
    return f.a * f.k + g.a * g.k


@pytest.mark.parametrize("function", [arithmetic, subclass_goes_first, undecided, frozen_fields])
def test_operators_of_classes(function):
    np.testing.assert_array_equal(weft.compile(function)(x), function(x))


def test_operators_of_classes_are_part_of_the_graph():
    for function in (arithmetic, frozen_fields):
        assert not weft.compiler.explain(function)(x).breaks


def test_frozen_stays_frozen():
    def change(f, x):
        f.k = 3.0
        return x

    with pytest.raises(dataclasses.FrozenInstanceError):
        weft.compile(change)(Frozen(x), x)
    given = Frozen(x)
    assert weft.compile(lambda f: Frozen(f.a + 1, f.k))(given).k == 2.0


def test_what_leaves_the_function_is_the_librarys():
    assert type(weft.compile(lambda x: map(len, [x]))(x)) is map
    assert type(weft.compile(lambda x: itertools.chain(x, x))(x)) is itertools.chain
    assert type(weft.compile(lambda x: functools.partial(np.add, x))(x)) is functools.partial
    assert type(weft.compile(lambda x: operator.itemgetter(0))(x)) is operator.itemgetter
    values = weft.compile(lambda x: steps(3, x))(x)
    np.testing.assert_array_equal(list(values), list(steps(3, x)))


def test_errors_of_the_library():
    with pytest.raises(ValueError, match="zip"):
        weft.compile(lambda x: sum(a * b for a, b in zip(x, x[:2], strict=True)))(x)
    with pytest.raises(ValueError, match="empty"):
        weft.compile(lambda x: max([], key=len))(x)
