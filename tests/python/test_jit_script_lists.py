"""Lists in scripts: sorting objects, and what an empty list stands for."""

import pytest
import weft


@weft.jit.script
class Ranked:
    def __init__(self, key: int, place: int):
        self.key = key
        self.place = place

    def __lt__(self, other: "Ranked") -> bool:
        assert self.key >= 0, "negative"
        return self.key < other.key


def ranking(keys: list[int], reverse: bool) -> list[int]:
    items = [Ranked(key, place) for place, key in enumerate(keys)]
    items.sort(reverse)
    return [item.place for item in items]


@pytest.mark.parametrize("reverse", [False, True])
def test_objects_are_sorted_stably(reverse):
    keys = [3, 1, 2, 1, 3, 0, 2, 1] * 5
    expected = sorted(range(len(keys)), key=lambda place: keys[place], reverse=reverse)
    assert weft.jit.script(ranking)(keys, reverse) == expected


def test_an_error_of_a_comparison_is_the_sorts():
    with pytest.raises(weft.jit.Error, match="negative"):
        weft.jit.script(ranking)([1, -1], False)


def whole_numbers(x: list[int]) -> int:
    x.append(1)
    return len(x)


def passes_a_literal() -> int:
    return whole_numbers([])


def passes_a_name() -> int:
    x = []
    return whole_numbers(x)


def passes_another_list() -> int:
    x: list[float] = []
    x.append(1.0)
    return whole_numbers(x)


def passes_a_comprehension() -> int:
    return whole_numbers([float(i) for i in range(3)])


def test_only_empty_literals_are_lists_of_any_type():
    assert weft.jit.script(passes_a_literal)() == 1
    for function, type in [
        (passes_a_name, "Tensor"),
        (passes_another_list, "float"),
        (passes_a_comprehension, "float"),
    ]:
        with pytest.raises(weft.jit.Error, match=rf"argument 'x': expected List\[int\], got List\[{type}\]"):
            weft.jit.script(function)
