"""What a call takes from iterators and generators before it turns out not to compile is not lost."""

import numpy as np
import pytest
import weft


def compiled_as_plain(function, array):
    expected = function(array.copy())
    compiled = weft.compile(function)
    for _ in range(2):
        assert str(compiled(array.copy())) == str(expected)


A = np.array([3, 1, 2], np.int32)


def of_generator(x):
    return (
        sorted(float(v) for v in x),
        max(float(v) for v in x),
        min(v for v in x),
        set(float(v) for v in x),
        dict((float(v), v) for v in x),
        any(v > 2 for v in x),
        all(v > 2 for v in x),
    )


def rest_of_iterator(x):
    it = iter(x)
    return any(v > 0 for v in it), list(it)


def started(x):
    rows = enumerate(x)
    return next(rows), min(rows), list(rows)


def nested(x):
    return max(max(float(w) for w in (v, 2)) for v in x)


def with_effect(x):
    seen = []

    def values():
        for v in x:
            seen.append(v)
            yield v

    return max(values()), seen


def writes_at_its_end(x):
    def values():
        try:
            for v in x:
                yield v
        finally:
            x[0] = 7

    return max(values()), x.copy()


def handled(x):
    it = (v for v in x)
    try:
        return max(it, key=lambda v: v.nothing)
    except AttributeError:
        return list(it)


@pytest.mark.parametrize(
    "function", [of_generator, rest_of_iterator, started, nested, with_effect, writes_at_its_end, handled]
)
def test_what_is_taken_is_given_back(function):
    compiled_as_plain(function, A)


def test_quantifiers_stop_at_what_decides():
    def first(x):
        it = iter([1, 2, 3])
        return any(v > 1 for v in it), list(it)

    compiled_as_plain(first, A)
