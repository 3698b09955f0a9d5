"""weft.compile against the plain function: small programs, each run several times with varying arguments."""

import dataclasses
import functools
import math
import operator

import numpy as np
import pytest
import weft
from support.compare import assert_same, check

check_thrice = functools.partial(check, rounds=3, rtol=1e-13)


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def segments(fn, *args, **kwargs):
    return weft.compiler.explain(fn)(*args, **kwargs)


x4 = np.arange(4.0)
x34 = np.arange(12.0).reshape(3, 4)


def test_kmeans_is_one_graph():
    def kmeans(X, means):
        return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)

    X = np.random.default_rng(0).standard_normal((100, 2))
    means = np.array([[0, 0], [1, 1]])
    check_thrice(kmeans, (X, means))
    explanation = segments(kmeans, X, means)
    assert len(explanation.graphs) == 1
    assert explanation.breaks == []


def test_operators():
    check_thrice(
        lambda a, b: (a + b, a - b, a * b, a / b, -a, +a, abs(a), a < b, a == b, a**2, a**b), (x4, x4 + 1)
    )
    check_thrice(
        lambda a: (a + 1, 2 * a, a / 2, 1 - a, a // 2, a % 3, a > 1, a + 2.5),
        (x4,),
        (np.arange(5),),
        (x4.astype(np.float32),),
    )


def test_scalars_and_constants():
    check_thrice(lambda x, k: x * k + 1, (x4, 2), (x4, 3), (x4, 4), (x4, 5))
    check_thrice(lambda x, k: x * k + 1, (x4, 2.0), (x4, 3.5), (x4, 0.25))
    check_thrice(lambda x, k: k + 1 if x is None else x, (None, 3), (4, 3), (x4, 3))
    check_thrice(lambda n: [n * 2, n + 1, n - 3, -n, n // 2, n % 5, n > 3], (3,), (4,), (7,), (100,))


def test_reductions_give_numpy_scalars():
    check_thrice(
        lambda x: (
            x.sum(),
            x.max(),
            np.mean(x),
            x.min(axis=0),
            x.sum(axis=1, keepdims=True),
            x.any(),
            x.all(),
        ),
        (x34,),
    )
    check_thrice(lambda x: (np.std(x, axis=0), np.var(x), x.argmax(), x.argmin(axis=1), x.prod()), (x34 + 1,))
    check_thrice(lambda x: float(x.sum()), (x34,))
    check_thrice(lambda x: x.sum().item(), (np.arange(5),))


def test_running_sums_and_outer_products():
    check_thrice(
        lambda x: (np.cumsum(x), x.cumsum(axis=0), np.diff(x), np.cumprod(x, axis=1)),
        (x34,),
        (np.arange(6).reshape(2, 3),),
    )
    check_thrice(lambda x: np.outer(x, x + 1), (x4,))


def test_views_and_shapes():
    check_thrice(
        lambda x: (
            x[1],
            x[1:],
            x[:, 1],
            x[::2],
            x[None],
            x[..., 0],
            x[-1, -1],
            x.T,
            x.reshape(4, 3),
            x.ravel(),
        ),
        (x34,),
    )
    check_thrice(lambda x: (x.shape, x.ndim, x.size, len(x), x.dtype, x.reshape(-1, 2).shape), (x34,))
    check_thrice(lambda x: x[::-1], (x34,))


def test_view_of_argument_is_a_view():
    compiled = weft.compile(lambda x: x[1:])
    x = np.arange(4.0)
    view = compiled(x)
    assert np.shares_memory(view, x)
    assert view.base is x


def test_argument_itself_is_returned():
    compiled = weft.compile(lambda x: x)
    assert compiled(x4) is x4
    compiled = weft.compile(lambda x, y: (y, x, x + y))
    x, y = np.zeros(3), np.ones(3)
    result = compiled(x, y)
    assert result[0] is y and result[1] is x


def test_mutation():
    def update(x):
        x[1:] += 1
        x[0] = 5
        x *= 2
        return x.sum()

    check_thrice(update, (np.arange(4.0),), (np.arange(5),))

    def through_view(x):
        y = x[1:3]
        y[...] = 7
        return y, x

    check_thrice(through_view, (np.arange(5.0),))


def test_mutated_arguments_that_overlap():
    def shift(a, b):
        a[:] = b * 2
        return b + 1

    plain, compiled = np.arange(6.0), np.arange(6.0)
    fn = weft.compile(shift)
    for _ in range(2):
        expected = shift(plain[1:], plain[:-1])
        actual = fn(compiled[1:], compiled[:-1])
        np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(compiled, plain)
    fn(np.arange(3.0), np.arange(3.0))
    expected = shift(plain[1:], plain[:-1])
    np.testing.assert_array_equal(fn(compiled[1:], compiled[:-1]), expected)
    np.testing.assert_array_equal(compiled, plain)


def test_containers():
    def containers(x):
        a, *b, c = [x, x + 1, x + 2, 3]
        d = {"a": a, "c": c}
        d["b"] = b
        t = (a, c) + (1, 2)
        items = [k for k in d]
        pairs = {k: i for i, k in enumerate(items)}
        return d, t, items, pairs, [v for v in (1, 2, 3) if v > 1], t[1:], b[0]

    check_thrice(containers, (x4,))

    def lists(values, x):
        values.append(x.sum())
        values[0] = 9
        return len(values)

    check_thrice(lists, ([1, 2], x4))


def test_control_flow_on_known_values():
    def flow(x, n):
        total = x * 0
        for i in range(n):
            if i % 2:
                continue
            total = total + x * i
        while n > 0:
            n -= 1
            if n == 1:
                break
        else:
            total = total - 1
        return total, n

    check_thrice(flow, (x4, 3), (x4, 5), (x4, 0))


def test_long_loop():
    def loop(x):
        for i in range(1000):
            x = x + i
        return x

    check_thrice(loop, (x4,))


def test_branch_on_data():
    def branch(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    check_thrice(branch, (x4,), (-x4,))
    explanation = segments(branch, x4)
    assert len(explanation.breaks) == 1
    assert "y.sum() > 0" in explanation.breaks[0].source


def test_while_on_data_compiles_its_body_once():
    def halve(x):
        steps = 0
        while np.abs(x).max() > 1:
            x = x / 2
            steps += 1
        return x, steps

    check_thrice(halve, (x4 * 1000,), (x4 * 7,))
    weft.compiler.reset()
    compiled = weft.compile(halve)
    compiled(x4 * 1e9)
    before = weft.compiler.stats()["captures"]
    assert before <= 6
    compiled(x4 * 1e12)
    assert weft.compiler.stats()["captures"] == before


def test_calls_are_entered():
    def helper(x, *args, scale=2, **options):
        return x * scale + sum(args) + options.get("bias", 0)

    def outer(x):
        return helper(x, 1, 2, scale=3, bias=4) + helper(x, *(5,), **{"scale": 1})

    check_thrice(outer, (x4,))
    assert len(segments(outer, x4).graphs) == 1


def test_recursion():
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    check_thrice(power, (x4, 4))


def test_closures_and_defaults():
    bias = 3

    def outer(x, k=2):
        count = 0

        def inner(y, m=k):
            nonlocal count
            count += 1
            return y * m + bias

        return inner(x) + inner(x, 5), count

    check_thrice(outer, (x4,), (x4, 7))


def test_changed_closure_global_and_default_are_seen():
    state = {"k": 1}
    k = 1

    def closed(x):
        return x + k

    compiled = weft.compile(closed)
    np.testing.assert_array_equal(compiled(x4), x4 + 1)
    k = 10
    np.testing.assert_array_equal(compiled(x4), x4 + 10)

    namespace = {"np": np, "factor": 2}
    exec("def scaled(x, by=1):\n    return x * factor * by", namespace)
    scaled = namespace["scaled"]
    compiled = weft.compile(scaled)
    np.testing.assert_array_equal(compiled(x4), x4 * 2)
    namespace["factor"] = 5
    np.testing.assert_array_equal(compiled(x4), x4 * 5)
    scaled.__defaults__ = (3,)
    np.testing.assert_array_equal(compiled(x4), x4 * 15)

    def reads_dict(x):
        return x * state["k"]

    compiled = weft.compile(reads_dict)
    np.testing.assert_array_equal(compiled(x4), x4)
    state["k"] = 4
    np.testing.assert_array_equal(compiled(x4), x4 * 4)


class Model:
    factor = 2

    def __init__(self, weight):
        self.weight = weight
        self.calls = 0

    @property
    def doubled(self):
        return self.weight * 2

    @staticmethod
    def shift(x):
        return x + 1

    @classmethod
    def make(cls, weight):
        return cls(weight)

    def __call__(self, x):
        self.calls += 1
        return self.shift(x) * self.doubled * self.factor


class Derived(Model):
    def __init__(self, weight, bias):
        super().__init__(weight)
        self.bias = bias

    def __call__(self, x):
        return super().__call__(x) + self.bias


@dataclasses.dataclass
class Point:
    x: object
    y: object = 1


def test_plain_classes():
    model = Model(x4)

    def run(x):
        return model(x) + Model(3)(x) + Derived(2, x)(x) + Model.make(4)(x)

    compiled = weft.compile(run)
    plain = run(x4)
    calls = model.calls
    for i in range(3):
        assert_same(compiled(x4), plain, rtol=1e-13)
        assert model.calls == calls + i + 1
    model.weight = x4 * 2
    assert_same(compiled(x4), run(x4), rtol=1e-13)
    Model.factor = 7
    try:
        assert_same(compiled(x4), run(x4), rtol=1e-13)
    finally:
        Model.factor = 2
    check_thrice(lambda x: (lambda p: p.x + p.y)(Point(x)), (x4,))


def test_instances_are_returned():
    compiled = weft.compile(lambda x: Point(x + 1, [x]))
    point = compiled(x4)
    assert type(point) is Point
    assert_same(point.x, x4 + 1, rtol=1e-13)
    assert point.y[0] is x4


def test_strings_and_formats():
    check_thrice(
        lambda x, n: (f"{n}:{x.ndim:>3}|{'a'!r}", "%s-%d" % ("a", n), "-".join(["a", str(n)]), "abc".upper()),
        (x4, 2),
        (x34, 3),
    )


def test_builtins():
    def builtins(x, items):
        return (
            list(zip(items, range(3))),
            max(items),
            min(1, 2),
            sum([1, 2]),
            isinstance(x, np.ndarray),
            isinstance(items, (tuple, list)),
            type(items) is list,
            hasattr(x, "shape"),
            getattr(items, "nothing", 5),
            sorted(items),
            math.sqrt(4),
            operator.add(1, 2),
            divmod(7, 2),
            abs(-3),
            round(2.5),
            list(reversed(items)),
            all([True, False]),
            int("3"),
            bool(items),
        )

    check_thrice(builtins, (x4, [3, 1, 2]), (x4, [3, 1]))


def test_try_except():
    def caught(x, d):
        try:
            return x * d["k"]
        except KeyError as error:
            return x + len(error.args)
        finally:
            x = x + 1

    check_thrice(caught, (x4, {}), (x4, {"k": 3}))

    def raises(x):
        if x.ndim == 1:
            raise ValueError(f"bad {x.ndim}")
        return x

    check_thrice(raises, (x4,), (x34,))

    def nested(x):
        try:
            try:
                raise ValueError("a")
            except ValueError:
                raise KeyError("b")
        except KeyError as error:
            return x + 1, str(error), type(error.__context__).__name__

    check_thrice(nested, (x4,))


def test_with():
    events = []

    class Manager:
        def __enter__(self):
            events.append("enter")
            return 3

        def __exit__(self, *args):
            events.append("exit")

    def managed(x):
        with Manager() as k:
            y = x * k
        return y

    compiled = weft.compile(managed)
    for _ in range(3):
        events.clear()
        assert_same(compiled(x4), x4 * 3, rtol=1e-13)
        assert events == ["enter", "exit"]
    check_thrice(lambda x: _errstate(x), (x4,))


def _errstate(x):
    with np.errstate(divide="ignore"):
        return 1 / x


def test_side_effects_happen_once_and_in_order(capsys):
    seen = []

    def effects(x):
        seen.append("first")
        print("a")
        y = x + 1
        seen.append("second")
        print("b", y.shape)
        seen.append(float(y.sum()))
        return y * 2

    compiled = weft.compile(effects)
    for _ in range(3):
        seen.clear()
        assert_same(compiled(x4), (x4 + 1) * 2, rtol=1e-13)
        assert seen == ["first", "second", 10.0]
        assert capsys.readouterr().out == "a\nb (4,)\n"


def test_numpy_errors_are_numpys():
    def bad(x, y):
        return (x + 1) + y

    check_thrice(bad, (x4, np.arange(3.0)), (x4, x4))

    def missing(x):
        return x.nonsense

    check_thrice(missing, (x4,))
    check_thrice(lambda x: x[9], (x4,))


def test_wrong_calls_raise_type_errors():
    def two(a, b):
        return a + b

    compiled = weft.compile(two)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        compiled(1)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        compiled(1, 2, 3)


def test_fullgraph_shows_the_line():
    @weft.compile(fullgraph=True)
    def branch(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(RuntimeError, match=r"x\.sum\(\) > 0"):
        branch(x4)


def test_dynamic_sizes_do_not_recompile():
    def fn(x):
        return (x * 2).sum(axis=0) + x.shape[0]

    compiled = weft.compile(fn)
    for n in (5, 6, 7, 8, 9, 20):
        x = np.arange(n * 2.0).reshape(n, 2)
        assert_same(compiled(x), fn(x), rtol=1e-13)
    assert weft.compiler.stats()["captures"] <= 3


def test_too_many_variants_run_eagerly():
    def fn(x, name):
        return x + len(name)

    compiled = weft.compile(fn)
    for i in range(12):
        assert_same(compiled(x4, "a" * i), x4 + i, rtol=1e-13)


def test_generators_and_unknown_functions_are_called_as_they_are():
    def numbers(n):
        yield from range(n)

    assert list(weft.compile(numbers)(3)) == [0, 1, 2]
    assert weft.compile(len)([1, 2]) == 2
    check_thrice(lambda x: sum(v for v in [1, 2]) + x, (x4,))


def test_decorator_and_methods():
    class Holder:
        def __init__(self):
            self.k = 3

        @weft.compile
        def method(self, x):
            """Doc."""
            return x * self.k

    assert Holder.method.__name__ == "method"
    assert Holder.method.__doc__ == "Doc."
    assert_same(Holder().method(x4), x4 * 3, rtol=1e-13)


def test_partial_and_reduce():
    def reduce(x, scale):
        return functools.reduce(lambda a, b: a + b, [x, x * scale, x])

    check_thrice(functools.partial(reduce, scale=2), (x4,))


def test_odd_arrays():
    fn = lambda x: x + x  # noqa: E731
    check_thrice(
        fn, (x34.T,), (x34[::2],), (x34[:, ::-1],), (np.array(3.0),), (np.zeros((0, 3)),), (np.float32(3),)
    )
    check_thrice(fn, (np.array(["a", "b"], dtype=object),), (np.array([1, 2], dtype=">i4"),))
    frozen = np.arange(3.0)
    frozen.flags.writeable = False

    def write(x):
        x[0] = 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        weft.compile(write)(frozen)


def test_fortran_order_is_kept():
    fortran = np.asfortranarray(x34)
    for fn in (lambda x: x + 1, lambda x: x * x, lambda x: x.T + 1, lambda x: np.sqrt(x)):
        for x in (fortran, x34):
            expected, actual = fn(x), weft.compile(fn)(x)
            assert actual.flags.c_contiguous == expected.flags.c_contiguous
            assert actual.flags.f_contiguous == expected.flags.f_contiguous
            np.testing.assert_array_equal(actual, expected)
