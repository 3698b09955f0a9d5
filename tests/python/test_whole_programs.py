"""Whole Python programs under weft.compile: each gives what Python gives, twice, and prints what it prints; those that
leave the graph somewhere are listed."""

import contextlib
import copy
import functools
import io
import random
import sys
import traceback

import numpy as np
import pytest
import weft
from support.compare import assert_same
from whole_programs import PROGRAMS

# Performed by Python in part.
BREAKING = set(
    """set_argument lru_array partial_method partial_methods single_dispatch exit_stack exit_callback ctx_exc shape_error
    fstring_array attrs dc_frozen dc_repr local_class op_getters
    builtins_ dict_methods printing bytes_ generic dict_subclass list_subclass cfg_global set_of_tuples
    list_methods real_shape real_then_more real_reraised abstract
    copy_own copy_cycle copy_set
    cmp_key compare_key""".split()
)
# One of two generators is under way when the other has ended; from Python 3.12 on that is an end like any other's.
if sys.version_info >= (3, 12):
    BREAKING.add("gen_zip")


def run(function, arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        result = function(*copy.deepcopy(arguments))
    return result, output.getvalue()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, monkeypatch):
    monkeypatch.setenv("WEFT_INTERPRET", "1")  # capture is what is tested
    function, arguments = PROGRAMS[name]
    expected, printed = run(function, arguments)
    compiled = weft.compile(function)
    for _ in range(2):
        result, output = run(compiled, arguments)
        assert_same(result, expected, rtol=1e-12)
        assert output == printed
    report = weft._C._report(compiled)
    if name not in BREAKING:
        assert report and all(entry["returns"] for entry in report), [entry["reason"] for entry in report]


def test_generators_with_keyword_arguments():
    def steps(x, *, scale=1, **more):
        yield x * scale
        yield x + more["shift"]

    def function(x):
        return list(steps(x, scale=3, shift=2)), next(steps(x=x, shift=1))

    x = np.arange(3.0)
    (first, second), third = weft.compile(function)(x)
    np.testing.assert_array_equal([first, second, third], [x * 3, x + 2, x])


def fails(x, how):
    if how == "index":
        return x[10]
    if how == "zero":
        return x * (1 // 0)
    if how == "shape":
        return x + np.ones(7)
    if how == "key":
        return {}["k"]
    if how == "assert":
        assert x.ndim == 3, "ndim"
    if how == "raise":
        raise ValueError("mine")
    if how == "inside":
        return helper(x)
    return x.no_such_attribute


def helper(x):
    return x.reshape(5, 5)


@pytest.mark.parametrize(
    "how, kind, line",
    [
        ("index", IndexError, "return x[10]"),
        ("zero", ZeroDivisionError, "return x * (1 // 0)"),
        ("shape", ValueError, "return x + np.ones(7)"),
        ("key", KeyError, 'return {}["k"]'),
        ("assert", AssertionError, 'assert x.ndim == 3, "ndim"'),
        ("raise", ValueError, 'raise ValueError("mine")'),
        ("inside", ValueError, "return x.reshape(5, 5)"),
        ("attribute", AttributeError, "return x.no_such_attribute"),
    ],
)
def test_exceptions_show_the_line_of_the_program(how, kind, line):
    with pytest.raises(kind) as caught:
        weft.compile(fails)(np.arange(3.0), how)
    with pytest.raises(kind) as plain:
        fails(np.arange(3.0), how)
    assert str(caught.value) == str(plain.value)
    assert line in "".join(traceback.format_exception(caught.value))


def test_functions_that_change_while_they_are_used():
    def first(x):
        return x + 1

    def second(x):
        return x * 10

    def function(x):
        return first(x)

    x = np.arange(3.0)
    compiled = weft.compile(function)
    np.testing.assert_array_equal(compiled(x), x + 1)
    first.__code__ = second.__code__
    np.testing.assert_array_equal(compiled(x), x * 10)
    first.__code__ = (lambda x: x - 1).__code__
    np.testing.assert_array_equal(compiled(x), x - 1)


def test_endless_recursion_is_an_error():
    def endless(x):
        return endless(x + 1)

    with pytest.raises(RecursionError):
        weft.compile(endless)(np.arange(3.0))


def test_standard_classes_keep_their_types():
    import collections

    def function(x):
        return (
            collections.deque([x], maxlen=2),
            collections.Counter("aab"),
            collections.defaultdict(list, {1: [x]}),
        )

    queue, counts, groups = weft.compile(function)(np.arange(3.0))
    assert type(queue) is collections.deque and queue.maxlen == 2
    assert counts == collections.Counter("aab") and type(counts) is collections.Counter
    assert type(groups) is collections.defaultdict and groups[5] == []


def test_collections_of_computed_values():
    import collections
    import heapq

    def function(x):
        counts = collections.Counter(x.tolist())
        heap = []
        for value in x[:5]:
            heapq.heappush(heap, value)
        groups = collections.defaultdict(int)
        for value in x:
            groups[value] += 1
        return counts, heapq.heappop(heap), dict(groups), x * 2

    x = np.array([3.0, 1.0, 2.0, 1.0, 3.0])
    assert_same(weft.compile(function)(x), function(x))


def test_results_of_cached_functions_are_made_once():
    calls = []

    @functools.lru_cache
    def slow(n):
        calls.append(n)
        return n * 2

    compiled = weft.compile(lambda x: x * slow(3))
    x = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), x * 6)
    assert calls == [3]


def sets_of(items, more, a):
    made, merged = set(items), set(items).union(more)
    copied = made.copy()
    copied.update(more)
    of_dict = set(dict.fromkeys(items))
    return (
        made,
        merged,
        copied,
        of_dict,
        frozenset(more),
        [x for x in frozenset(items)],
        list(of_dict),
        a + len(merged),
    )


@pytest.mark.parametrize("seed", range(12))
def test_sets_have_the_order_that_they_have_in_python(seed):
    rng = random.Random(seed)
    items, more = [rng.randrange(64) * 8 for _ in range(15)], [rng.randrange(10**6) for _ in range(9)]
    expected = sets_of(items, more, np.ones(2))
    found = weft.compile(sets_of)(items, more, np.ones(2))
    for one, other in zip(found, expected):
        assert type(one) is type(other) and list(one) == list(other)
