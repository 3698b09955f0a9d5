"""weft.compile: what one graph holds, what survives exceptions, threads and resets, and that nothing leaks."""

import contextlib
import functools
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import weft

x4 = np.arange(4.0)


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def one_graph(fn, *args):
    """The result, from a single graph."""
    compiled = weft.compile(fn, fullgraph=True)
    result = compiled(*args)
    again = compiled(*args)
    np.testing.assert_array_equal(result, fn(*args))
    np.testing.assert_array_equal(again, fn(*args))
    return result


def test_caught_exceptions_are_in_one_graph():
    def caught(x, table):
        try:
            value = table["missing"]
        except KeyError as error:
            value = len(error.args)
        finally:
            x = x + 1
        return x * value

    one_graph(caught, x4, {})

    def raised(x):
        try:
            if x.ndim == 1:
                raise ValueError("no", 3)
        except (TypeError, ValueError) as error:
            return x * error.args[1]
        return x

    one_graph(raised, x4)

    def through_a_call(x):
        def inner(items):
            return items[7]

        try:
            return inner([1, 2]) * x
        except IndexError:
            return x - 1

    one_graph(through_a_call, x4)

    def divides(x):
        try:
            return x / (1 // 0)
        except ZeroDivisionError:
            return -x

    one_graph(divides, x4)

    def again(x):
        try:
            try:
                raise KeyError("k")
            except KeyError:
                raise
        except LookupError:
            return x + 2

    one_graph(again, x4)


def test_handled_exception_is_visible_at_a_break():
    seen = []

    def handler(x):
        try:
            raise ValueError("v")
        except ValueError:
            seen.append(str(sys.exc_info()[1]))
            y = x + 1
        seen.append(sys.exc_info()[1])
        return y

    compiled = weft.compile(handler)
    for _ in range(3):
        seen.clear()
        np.testing.assert_array_equal(compiled(x4), x4 + 1)
        assert seen == ["v", None]


def test_uncaught_exception_has_the_users_line():
    def outer(x):
        return inner(x * 2)

    def inner(y):
        raise ValueError("from inner")

    compiled = weft.compile(outer)
    for _ in range(2):
        with pytest.raises(ValueError, match="from inner") as info:
            compiled(x4)
        names = [entry.name for entry in info.traceback]
        assert names[-2:] == ["outer", "inner"]


def test_generator_expressions_and_partial_are_entered():
    def fn(x):
        return (
            sum(k * x for k in (1, 2, 3))
            + max(k for k in [1, 5, 2])
            + functools.reduce(lambda a, b: a * b, [x, 2])
        )

    one_graph(fn, x4)
    assert weft.compile(functools.partial(lambda a, b, c=1: a + b * c, 1, c=3), fullgraph=True)(x4)[1] == 4
    assert any(v > 2 for v in weft.compile(lambda x: tuple(v for v in (1, 2, 3)))(x4))


def test_keyword_only_defaults_beside_star_arguments():
    def fn(x, *terms, scale=2.0, **rest):
        return x * scale + sum(terms) + len(rest)

    compiled = weft.compile(fn, fullgraph=True)
    for args, kwargs in (((x4,), {}), ((x4, 1, 2, 3), {}), ((x4, 1), {"scale": 3.0, "other": 1})):
        np.testing.assert_array_equal(compiled(*args, **kwargs), fn(*args, **kwargs))


class Base:
    def __init__(self, k):
        super().__init__()
        self.k = k

    def __call__(self, x):
        return x * self.k


class Child(Base):
    def __init__(self, k):
        super().__init__(k)
        self.offset = 1

    def __call__(self, x):
        return super().__call__(x) + self.offset


class Scope:
    def __enter__(self):
        return 2

    def __exit__(self, *error):
        return False


def test_classes_and_context_managers_are_in_one_graph():
    one_graph(lambda x: Child(3)(x), x4)

    def managed(x):
        with Scope() as k, contextlib.nullcontext(5) as m:
            y = x * k + m
        return y

    one_graph(managed, x4)
    child = Child(2)
    np.testing.assert_array_equal(weft.compile(child)(x4), child(x4))
    np.testing.assert_array_equal(weft.compile(child.__call__)(x4), child(x4))


def test_writes_to_outside_objects():
    class Counter:
        pass

    counter = Counter()
    counter.n = 0
    counter.log = []
    table = {"a": 1}

    def fn(x):
        counter.n += 1
        counter.last = x + 1
        counter.log.append(counter.n)
        table["b"] = x.sum()
        return counter.last

    compiled = weft.compile(fn)
    for i in range(1, 5):
        np.testing.assert_array_equal(compiled(x4), x4 + 1)
        assert counter.n == i
        assert counter.log == list(range(1, i + 1))
        assert list(table) == ["a", "b"] and table["b"] == 6.0


def test_same_object_twice():
    def fn(a, b):
        a[0] += 1
        return a + b

    compiled = weft.compile(fn)
    for _ in range(2):
        one, two = x4.copy(), x4.copy()
        np.testing.assert_array_equal(compiled(one, one), fn(two, two))
        np.testing.assert_array_equal(compiled(one, x4.copy()), fn(two, x4.copy()))


def test_equal_results_are_different_arrays():
    a, b = weft.compile(lambda x: (x + 1, x + 1))(np.arange(1000.0))
    a[0] = 7
    assert b[0] == 1
    x = np.arange(1000.0)
    y = weft.compile(lambda x: x.copy())(x)
    assert not np.shares_memory(x, y)
    y, z = weft.compile(lambda x: (lambda y: (y, y[1:]))(x + 1))(x)
    assert not np.shares_memory(x, y)


def test_no_references_leak():
    def fn(x, items, name):
        y = x + len(items)
        if y.sum() > 1e9:
            return y
        return {"y": y, name: [y, x], "f": lambda: y}

    compiled = weft.compile(fn)
    x, items, name = np.arange(3000.0), [1, 2], "n" * 10
    for _ in range(5):
        compiled(x, items, name)
    gc.collect()
    before = [sys.getrefcount(o) for o in (x, items, name, fn, None)], len(gc.get_objects())
    for _ in range(200):
        compiled(x, items, name)
    gc.collect()
    after = [sys.getrefcount(o) for o in (x, items, name, fn, None)], len(gc.get_objects())
    for one, other in zip(before[0], after[0]):
        assert abs(one - other) < 50
    assert abs(after[1] - before[1]) < 100


def test_exceptions_do_not_leak():
    def fn(x, y):
        return (x * 2) + y

    compiled = weft.compile(fn)
    x, bad = np.arange(3000.0), np.arange(7.0)
    for _ in range(3):
        with pytest.raises(ValueError):
            compiled(x, bad)
    before = sys.getrefcount(x)
    for _ in range(100):
        with pytest.raises(ValueError):
            compiled(x, bad)
    gc.collect()
    assert abs(sys.getrefcount(x) - before) < 20


def test_threads_and_reset():
    def fn(x, k):
        return np.exp(-np.abs(x)) * k + x.sum()

    compiled = weft.compile(fn)
    errors = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal(20000)
        for k in range(1, 20):
            if not np.allclose(compiled(x, k), fn(x, k)):
                errors.append(k)
            if k == 10 and seed == 0:
                weft.compiler.reset()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_compiled_functions_call_each_other():
    inner = weft.compile(lambda x: x + 1)

    def outer(x):
        return inner(x) * inner(x * 2)

    np.testing.assert_array_equal(weft.compile(outer)(x4), outer(x4))
    assert len(weft.compiler.explain(outer)(x4).graphs) == 1


def test_environment_switches_it_off_and_logs():
    program = (
        "import numpy as np, weft\n"
        "f = weft.compile(lambda x: x if x.sum() > 0 else -x)\n"
        "print(f(np.ones(2)), weft.compiler.stats()['captures'])\n"
    )
    run = functools.partial(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    off = run(env={**os.environ, "WEFT_DISABLE_COMPILE": "1"})
    assert off.stdout.split() == ["[1.", "1.]", "0"]
    logged = run(env={**os.environ, "WEFT_LOGS": "graph_breaks"})
    assert "depends on the values" in logged.stderr


def test_explain_is_readable():
    def fn(x):
        y = x * 2
        print(end="")
        return y + 1

    text = str(weft.compiler.explain(fn)(x4))
    assert 'print(end="")' in text
    assert "2 graphs, 1 breaks" in text


def test_bad_arguments_of_compile():
    with pytest.raises(TypeError, match="expected a callable"):
        weft.compile(3)
    with pytest.raises(ValueError, match="max-autotune"):
        weft.compile(len, mode="fast")
