"""Native loops that make lists: of their own, per round, kept, shared, copied."""

import resource

import made_list_programs as programs
import pytest
import weft
from stack_programs import random_graph, seeded
from support.compare import assert_same, check_loop


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


NATIVE = [
    (programs.level_search, *random_graph(300, 1200), 0, 300),
    (programs.level_search, *random_graph(300, 200), 5, 300),
    (programs.all_levels, *random_graph(200, 700), 0, 200),
    (programs.longest_chain, 300),
    (programs.pascal, 40),
    (programs.divisors, 80),
    (programs.edit_rows, seeded(1).integers(0, 4, 30), seeded(2).integers(0, 4, 25)),
    (programs.zeros_per_round, seeded().random(40) * 9),
    (programs.floats_and_repeats, seeded().random(40), 7),
    (programs.shared, seeded().random(40) * 9),
    (programs.copies, 30),
    (programs.pairs, seeded().random(40)),
    (programs.kept_and_changed, 30),
    (programs.types_of_items, seeded().random(40)),
    (programs.empty_ones, 30),
    (programs.sometimes, 60),
    (programs.with_function, seeded().random(50)),
    (programs.with_literal, 60),
    (programs.negative_repeat, 6),
    (programs.in_cells, 40),
    (programs.in_tuples, 40),
    (programs.iterated_and_left, 40),
    (programs.swapped, 40),
    (programs.many_live, 60),
    (programs.joined, seeded().random(40), [1, 2, 3]),
    (programs.joined, seeded().integers(0, 5, 40), [1.5, 2.0]),
    (programs.joined, seeded().random(40), [True, False]),
    (programs.joined, seeded().random(40), []),
    (programs.table_is_kept, [4, 5], 50),
]
RAISING = [
    (programs.out_of_range, seeded().random(40)),
    (programs.pops_empty, 40),
    (programs.grows_large, 60),
    (programs.hostile_repeat, 3),
    (programs.hostile_repeat, -3),
]


@pytest.mark.parametrize("program, arguments", [(c[0], c[1:]) for c in NATIVE])
def test_native(program, arguments):
    check_loop(program, arguments)


@pytest.mark.parametrize("program, arguments", [(c[0], c[1:]) for c in RAISING])
def test_what_python_does(program, arguments):
    check_loop(program, arguments, native=False)


def test_no_part_of_them_is_left_to_python():
    for program, *arguments in NATIVE:
        weft.compiler.reset()
        explained = weft.compiler.explain(program)(*arguments)
        assert not explained.breaks, (program.__name__, explained.breaks)


def test_attributes():
    queue, expected = programs.Queue(), programs.Queue()
    assert_same(weft.compile(programs.in_attributes)(queue, 50), programs.in_attributes(expected, 50))
    assert_same(queue.items, expected.items)


def test_memory_of_lists_that_nothing_refers_to():
    def sums(n, size):
        total = 0
        for i in range(n):
            row = [i] * size
            row.append(1)
            total += row[-1] + row[0]
        return total

    compiled = weft.compile(sums)
    assert compiled(50, 10) == sums(50, 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert compiled(2000, 1 << 17) == sum(range(2000)) + 2000  # 1 MiB each
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB


def test_lists_of_three_constants():
    def read(n):
        total = 0
        for i in range(n):
            for value in [1, 2, 3]:
                total += value * i
            total += [4, 5, 6][i % 3] + max([1, 2, 3, i])
        return total

    def added_to(n):
        found = []
        for i in range(n):
            items = [1, 2, 3]
            items.append(i)
            items[0] += i
            found.append(items[i % 4])
        return found

    check_loop(read, (300,), (0,))
    check_loop(added_to, (300,), (1,))
