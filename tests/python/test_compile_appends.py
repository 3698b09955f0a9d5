"""weft.compile: lists of the outside that a program appends to, with and without looking at them."""

import copy

import numpy as np
import pytest
import weft
from support.compare import outcome


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def only_appends(x, items):
    for i in range(3):
        items.append(x[i] * i)
    items.append("end")
    return x + 1


def appends_and_looks(x, items):
    items.append(x.sum())
    return x * len(items), items[-1]


def reads_what_was_there(x, items):
    items.append(x[0])
    return [item for item in items if isinstance(item, int)], items


def looks_first(x, items):
    first = len(items)
    items.append(first)
    return x + first


def extends_in_between(x, items):
    append = items.append
    append(x.max())
    items.extend([1, 2])
    append(items)
    return items[-1] is items


def assigns_afterwards(x, items):
    items.append(x.min())
    items[0] = "first"
    return items.index("first")


def raises_afterwards(x, items):
    items.append(x.sum())
    raise ValueError("after", items[-1].shape)


def breaks_between(x, items):
    items.append(x.sum())
    print(len(items), end="")
    items.append(x * 2)
    return x


def appends_nothing(x, items):
    try:
        items.append()
    except TypeError as error:
        return str(error)
    return x


def keeps_the_method(x, items):
    items.append(1)
    return items.append.__self__ is items, items.append


PROGRAMS = [
    only_appends,
    appends_and_looks,
    reads_what_was_there,
    looks_first,
    extends_in_between,
    assigns_afterwards,
    raises_afterwards,
    breaks_between,
    appends_nothing,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_plain_python(program):
    compiled = weft.compile(program)
    plain_items, items = [], []
    for i in range(11):
        x = np.arange(4.0) + i
        assert repr(outcome(compiled, x, items)) == repr(outcome(program, x, plain_items))
        assert repr(items) == repr(plain_items)


def test_other_objects_in_the_place_of_the_list():
    class Listed(list):
        def append(self, item):
            super().append(("listed", item))

    class Sink:
        def append(self, item):
            self.item = item

    compiled = weft.compile(only_appends)
    x = np.arange(4.0)
    for make in (list, Listed, Sink, dict, lambda: (1, 2), lambda: [1, 2], lambda: None):
        for _ in range(3):
            items, plain_items = make(), make()
            assert repr(outcome(compiled, x, items)) == repr(outcome(only_appends, x, plain_items))
            assert repr(vars(items) if make is Sink else items) == repr(
                vars(plain_items) if make is Sink else plain_items
            )


def test_the_method_is_the_lists():
    items = []
    is_same, append = weft.compile(keeps_the_method)(np.arange(4.0), items)
    append(2)
    assert is_same and items == [1, 2]


@pytest.mark.parametrize("second_looks", [False, True])
def test_two_names_for_one_list(second_looks):
    def program(x, a, b):
        a.append(x.sum())
        if second_looks:
            return x * len(b)
        b.append(2)
        return x

    compiled = weft.compile(program)
    for shared in (False, True, False, True):
        a, plain_a = [0], [0]
        b, plain_b = (a, plain_a) if shared else ([], [])
        x = np.arange(3.0)
        assert repr(compiled(x, a, b)) == repr(program(x, plain_a, plain_b))
        assert (a, b) == (plain_a, plain_b)


def test_collecting_needs_one_capture():
    """A list that grows from call to call, and one that a loop with a break in each round fills."""
    outputs = []

    def collects(x):
        outputs.append(x.sum())
        return x * 2

    compiled = weft.compile(collects)
    for i in range(12):
        compiled(np.arange(3.0) + i)
    assert outputs == [3.0 + 3 * i for i in range(12)]
    assert weft.compiler.stats()["captures"] == 1

    def sampled(x, steps):
        results = []
        for _ in range(steps):
            x = x * 0.5
            results.append(x + 1)
            print(end="")
        return results

    weft.compiler.reset()
    expected = sampled(np.arange(3.0), 12)
    np.testing.assert_array_equal(weft.compile(sampled)(np.arange(3.0), 12), expected)
    assert weft.compiler.stats()["captures"] <= 5


def test_copies_of_what_was_appended_to():
    def program(x, items):
        items.append(x.sum())
        return copy.copy(items), list(items), items == [x.sum()], bool(items), x

    compiled = weft.compile(program)
    for _ in range(3):
        items, plain_items = [], []
        assert repr(compiled(np.arange(3.0), items)) == repr(program(np.arange(3.0), plain_items))
        assert items == plain_items
