"""What Python 3.14 and 3.15 added, in compiled functions; as text, since earlier versions cannot read some of it."""

import sys
import textwrap

import numpy as np
import pytest
import weft
from support.compare import assert_same, outcome

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 14), reason="Python 3.14 and later have these instructions"
)

PROGRAMS = {
    "template": """
        def program(x):
            n = len(x)
            t = t"{n} of {x.shape!r} and {x.max():.2f}"
            return t.strings, [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations], x + 1
        """,
    "template_of_texts": """
        def program(x):
            t = t"no values"
            return t.strings, t.values, x * 2
        """,
    "constant_slices": """
        def program(x):
            y = np.zeros((6, 5))
            y[1:3, 2:] = 1
            y[..., ::2] += x[0]
            total = 0.0
            for i in range(3):
                total += y[i, 1:4].sum() + y[1:, i][0]
            return y[1:-1, 1:-1], total, (slice(1, 3), slice(None))
        """,
    "annotated_functions": """
        def program(x):
            def inner(a: "np.ndarray", b: float = 2.0) -> int:
                return a * b
            return inner(x), inner.__annotations__, inner.__defaults__
        """,
    "annotation_reads_a_local": """
        def program(x):
            kind = type(x)
            def inner(a: kind) -> kind:
                return a + 1
            return inner(x), inner, inner.__annotations__["return"].__name__
        """,
    "context_managers": """
        def program(x):
            total = 0.0
            with np.errstate(all="ignore") as outer, np.errstate(divide="raise"):
                for i in range(4):
                    with np.errstate(over="ignore"):
                        total += x[i] / 2
                        if i == 2:
                            break
            return total, outer
        """,
    "context_left_by_an_exception": """
        def program(x):
            seen = []
            class Manager:
                def __enter__(self):
                    seen.append("enter")
                    return self
                def __exit__(self, *what):
                    seen.append(what[0].__name__ if what[0] else None)
                    return what[0] is KeyError
            for raised in (KeyError, None):
                with Manager(), Manager() as one:
                    if raised:
                        raise raised("x")
            return seen, x + len(seen)
        """,
    "return_out_of_loops": """
        def program(x):
            for i in range(3):
                for j, v in enumerate(x):
                    with np.errstate(all="ignore"):
                        if v > 0.5 and i == 1:
                            return i, j, v
        """,
    "return_out_of_comprehension": """
        def program(x):
            for row in [[1, 2], [3, 4]]:
                values = [v * w for v in row for w in (1, 2) if v != w]
                named = {v: w for v in row for w in (1, 2)}
                if len(values) > 3:
                    return values, named, {v for v in row}, x + values[0]
        """,
    "tuple_any_all": """
        def program(x):
            values = tuple(v * 2 for v in (1, 2, 3))
            return values, any(v > 5 for v in values), all(v > 5 for v in values), x * values[0]
        """,
    "tuple_any_all_of_others": """
        def program(x):
            def any(values):
                return [v for v in values]
            return any(v > 1 for v in (1, 2)), x - 1
        """,
    "generator_of_no_iterable": """
        def program(x):
            try:
                made = (v for v in 5)
                return "made"
            except TypeError as error:
                return str(error), x + 1
        """,
    "generator_begins_late": """
        def program(x):
            values = [1, 2]
            made = (v + 1 for v in values)
            values.append(3)
            values = None
            return list(made), x + 1
        """,
    "generators_within_generators": """
        def inner(n):
            for i in range(n):
                got = yield i
            return "end"
        def outer(n):
            ended = yield from inner(n)
            yield ended
        def program(x):
            return list(outer(3)), [sum(y for y in x[:n]) for n in (1, 2)]
        """,
    "keywords_in_calls": """
        def program(x):
            def gather(*args, **keywords):
                return args, keywords
            some, more = [1, 2], {"b": 2}
            return gather(*some), gather(*some, **more), gather(a=1, **more), gather(*some, c=x[0])
        """,
    "match": """
        def program(x):
            found = []
            for what in ([1, 2, 3], {"a": 1, "b": 2}, (4, 5), 6, "t"):
                match what:
                    case [1, *rest]: found.append(rest)
                    case {"a": 1, **rest}: found.append(rest)
                    case [a, b]: found.append((a, b))
                    case int(n) if n > 5: found.append(n)
                    case _: found.append(None)
            return found, x + 1
        """,
    "finally_in_loops": """
        def program(x):
            order = []
            for i in range(3):
                try:
                    if i == 1:
                        continue
                    if i == 2:
                        break
                    order.append(i)
                finally:
                    order.append(-i)
            return order, x * 2
        """,
    "except_star": """
        def program(x):
            found = []
            try:
                raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])
            except* ValueError as group:
                found.append(len(group.exceptions))
            except* KeyError as group:
                found.append(str(group.exceptions[0]))
            return found, x + 1
        """,
    "small_and_common_constants": """
        def program(x):
            return x + 0, x + 255, x + 256, x - 1, None, True, (), [*(1, 2, 3)], {1, 2, 3}, "", x * -1
        """,
}


def functions_of(text):
    namespace = {"np": np}
    exec(compile(textwrap.dedent(text), "<program>", "exec"), namespace)
    return namespace["program"]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("interpret", ["1", "0"])
def test_program(name, interpret, monkeypatch):
    monkeypatch.setenv("WEFT_INTERPRET", interpret)
    function = functions_of(PROGRAMS[name])
    compiled = weft.compile(function)
    for size in (4, 4, 7):
        x = np.linspace(0.1, 1.0, size)
        expected, got = outcome(function, x), outcome(compiled, x)
        if name == "annotation_reads_a_local":
            assert got[1].__annotations__ == {"a": np.ndarray, "return": np.ndarray}
            got, expected = (got[0], *got[2:]), (expected[0], *expected[2:])
        assert_same(got, expected)


@pytest.mark.parametrize("name", ["constant_slices", "tuple_any_all", "keywords_in_calls"])
def test_program_is_one_graph(name):
    x = np.linspace(0.1, 1.0, 6)
    function = functions_of(PROGRAMS[name])
    assert_same(weft.compile(function, fullgraph=True)(x), function(x))
