"""Native loops over lists of numbers that they both read and change: stacks, queues, tables."""

import random
import signal
import threading

import numpy as np
import pytest
import weft
from stack_programs import (
    appended_to_by_one_name,
    cleared,
    closure,
    deletes_beyond,
    distances,
    drain,
    drain_front,
    edit_distance,
    extends,
    extends_by_others,
    fibonacci,
    finds,
    finds_in_table,
    flood,
    gets_other_things,
    grows_beyond_words,
    grows_while_iterated,
    heap_sort,
    holds_other_things,
    iterates_inside,
    knapsack,
    large_ints,
    largest_rectangle,
    levels,
    longest_increasing,
    mixed,
    mixed_floats,
    next_greater,
    order_of_visits,
    polish,
    pops_beyond,
    primes,
    quicksort,
    random_graph,
    reach,
    reads_beyond,
    reads_beyond_back,
    reads_or_not,
    recaman,
    running,
    seeded,
    sets_beyond,
    shrinks_and_grows,
    shrinks_while_iterated,
    too_many_pops,
    truths,
    two_names,
    with_attribute,
    with_function,
)
from support.compare import assert_same, check_loop

GRAPH = random_graph(60, 150)
SMALL = random_graph(60, 150, 3, np.int32)
TOKENS = np.array([0, 0, 1, 0, 0, 2, 3, 0, 1])


@pytest.mark.parametrize("start", [0, np.int64(7), np.int32(3), np.uint8(5)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("graph", [GRAPH, SMALL], ids=["int64", "int32"])
def test_graphs(graph, start):
    check_loop(reach, (*graph, start, np.zeros(60, bool)))
    check_loop(distances, (*graph, start, 60))


@pytest.mark.parametrize(
    "program, calls",
    [
        (next_greater, [(seeded(1).integers(0, 50, 80),), (seeded(2).random(70),), (np.zeros(0),)]),
        (largest_rectangle, [(seeded(3).integers(0, 9, 90),), (np.array([5]),)]),
        (heap_sort, [(seeded(4).integers(0, 99, 120),), (seeded(5).random(100),)]),
        (longest_increasing, [(seeded(6).integers(0, 99, 150),), (seeded(7).random(50).astype(np.float32),)]),
        (
            polish,
            [(TOKENS, seeded(8).random(9)), (TOKENS, np.arange(9)), (np.tile(TOKENS, 5), np.arange(45.0))],
        ),
        (polish, [(np.array([0, 0, 1, 2, 0]), np.arange(5))]),
        (flood, [(seeded(9).random((12, 15)) < 0.3, 5, 5), (np.zeros((5, 4), bool), 0, 0)]),
        (quicksort, [(seeded(10).random(100),), (np.array([3, 1, 2]),), (np.zeros(0),)]),
        (fibonacci, [(80, [1, 1]), (50, [1.5, 2.5]), (40, [1, 2.5]), (200, [1, 1])]),
        (
            drain,
            [(list(range(50)), 3), ([0.5] * 20, 0), ([np.int16(3)] * 9, 2), ([1, 2.5, np.float32(3)] * 9, 2)],
        ),
        (drain_front, [(list(range(70)),), ([0.5, 1, 2.5, 7] * 6,)]),
        (too_many_pops, [(list(range(30)), 20), (list(range(20)), 40), ([], 3), ([1.5] * 7, 9)]),
        (pops_beyond, [(list(range(9)), 30)]),
        (reads_beyond, [(list(range(40)), 30), (list(range(40)), 60)]),
        (reads_beyond_back, [(list(range(40)), 20), (list(range(40)), 60)]),
        (sets_beyond, [(list(range(40)), 20), (list(range(40)), 60), ([0.5] * 30, 60)]),
        (grows_beyond_words, [([1], 30), ([1, 2, 3], 300)]),
        (two_names, [([], 40), ([7, 8, 9], 50)]),
        (appended_to_by_one_name, [([5, 6], 40), ([], 30)]),
        (mixed, [(np.arange(7), 40), (np.arange(5.0), 33), (np.arange(4, dtype=np.uint16), 30)]),
        (mixed_floats, [(seeded(11).normal(size=60),)]),
        (truths, [(60,)]),
        (cleared, [(60,)]),
        (large_ints, [([1 << 62], 30), ([1 << 70], 30), ([-(1 << 63)], 3)]),
        (order_of_visits, [(*GRAPH, 0, 60), (*SMALL, np.int64(4), 60)]),
        (levels, [(*GRAPH, 0, 60), (*SMALL, 3, 60)]),
        (shrinks_while_iterated, [(list(range(40)), 25), (list(range(30)), 0)]),
        (shrinks_and_grows, [(list(range(10)), 3), (list(range(20)), 1 << 40), (list(range(12)), 1 << 40)]),
        (grows_while_iterated, [([1], 50), ([1, 2.5], 30), ([np.int32(3)], 40), ([], 3)]),
        (iterates_inside, [([], 60), ([0.5, 3], 40)]),
        (knapsack, [(np.array([3, 4, 7]), np.array([4, 5, 10]), 60), ([3, 4, 7], [4.5, 5.0, 10.0], 60)]),
        (edit_distance, [(seeded(1).integers(0, 4, 30), seeded(2).integers(0, 4, 25))]),
        (running, [([0] * 5, np.arange(40)), ([0.5] * 7, np.arange(30.0)), ([1, 2.5, True], np.arange(20))]),
        (running, [([0] * 9000, np.arange(20000)), ([1], np.arange(5))]),
        (primes, [(20000,)]),
        (extends, [(40,), (1,), (90,)]),
        (
            extends_by_others,
            [(np.arange(-3, 4), 40), (np.arange(-3.0, 4.0), 40), (np.arange(5, dtype=np.uint8), 30)],
        ),
        (deletes_beyond, [([0.5] * 40, 15), (list(range(9)), 30)]),
        (recaman, [(60,)]),
        (
            finds,
            [([1, 4], np.arange(7), 40), ([], np.arange(9, dtype=np.int8), 40), ([0.5], np.arange(3.0), 30)],
        ),
        (finds, [([float("nan"), True], np.arange(3), 30), ([(1, 2)], np.arange(3), 30)]),
        (
            finds_in_table,
            [([1, 5, 9], np.arange(40)), ([1.0, 5.5], np.arange(40)), ([True], np.arange(40) - 3)],
        ),
        (reads_or_not, [([4, 5, 7], 30), ([0.5], 20)]),
        (with_attribute, [(60,)]),
        (with_function, [(40,)]),
        (closure, [(40,)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_does_what_python_does(program, calls):
    native = program not in (finds, finds_in_table, large_ints, with_attribute, closure)
    check_loop(program, *calls, native=native)


@pytest.mark.parametrize("program", [holds_other_things, gets_other_things], ids=lambda p: p.__name__)
def test_lists_of_other_things_are_left_to_python(program):
    check_loop(program, ([None, 1.5, "text"], 40), ([], 50), ([2], 30), native=False)


def no_breaks(program, *args):
    breaks = weft.compiler.explain(program)(*args).breaks
    assert not breaks, [str(found) for found in breaks]


def test_python_performs_nothing():
    no_breaks(reach, *GRAPH, 0, np.zeros(60, bool))
    no_breaks(distances, *GRAPH, 0, 60)
    no_breaks(next_greater, seeded(1).integers(0, 50, 80))
    no_breaks(longest_increasing, seeded(6).integers(0, 99, 150))
    no_breaks(flood, seeded(9).random((12, 15)) < 0.3, 5, 5)
    no_breaks(polish, TOKENS, seeded(8).random(9))


OPERATIONS = [
    "total += values == [1]",
    "total += i in values",
    "total += len(values * 2)",
    "total += len(values + [1])",
    "values += [i]",
    "if i == 3: values *= 2",
    "total += min(values) + sum(values)",
    "total += len(str(values))",
    "total += len(values[1:3])",
    "values[1:2] = [i]",
    "del values[0]",
    "a, b, *c = values; total += a",
    "total += np.array(values).sum()",
    "values.sort()",
    "values.reverse()",
    "values.insert(1, i)",
    "values.extend([i, 2.5])",
    "values.remove(values[1])",
    "values = values.copy()",
    "values = list(values)",
    "values = [3, 2, i]",
    "total += max(*values)",
    "for v in values: total += v",
    "for k, v in enumerate(values): total += k * v",
    "for a, b in zip(values, x): total += a * b",
    "total += sum(v for v in values)",
    "total += sum([v for v in values])",
    "total += np.sum(values)",
    "total += x[values[:2]].sum()",
    "total += len(tuple(values))",
    "total += isinstance(values, list)",
    "total += values is x",
    "total += (values or [4])[0]",
    "total += (values and x)[1]",
    "x[:2] = values[:2]",
    "total += values[True]",
    "total += values[np.int8(1)] + values[np.int64(-1)] + values[np.uint64(0)]",
    "total += values[x[0]]",
    "values[0] = x",
    "values.append(x)",
    "values.append('text')",
    "values.append(None)",
    "values.append((i, 1))",
    "values.append(1 + 2j)",
    "values.append(np.complex128(2j))",
    "values[0] = values",
    "total += values.index(values[0]) + values.count(1)",
    "total += -len(values)",
    "if values > [2]: total += 1",
    "add = values.append; add(i)",
    "values.pop(i)",
    "values.pop(True)",
    "values.pop(0.5)",
    "values[0.5] = 1",
    "values['a']",
    "values.append()",
    "values.append(1, 2)",
    "values.pop(1, 2)",
    "values.push(2)",
    "global_list.append(values)",
    "other = values; other.append(i); other[0] += 1",
    "pair = (values, i); pair[0].append(i)",
    "values.append(max(0.5, x[1] * 0.5))",
    "values.append((i, max(0.5, x[1] * 0.5)))",
    "values.append(values.append(i))",
    "values[i % 2], values[0] = values.pop(), values[1]",
    "values[len(values) - 1] -= 1",
    "total += values[values.pop() > 0]",
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_beside_other_operations(operation, tmp_path):
    text = f"""def program(x, n):
    values = [1, 2, 3]
    total = 0
    for i in range(n):
        values.append(i)
        {operation}
        if len(values) > 6: values.pop()
        if len(values) > 6: values.pop()
    return values, total
"""
    path = tmp_path / "operation_program.py"
    path.write_text(text)
    names = {"np": np, "global_list": []}
    exec(compile(text, str(path), "exec"), names)
    if "values[0] = values" in operation:
        compiled, got = weft.compile(names["program"]), names["program"](np.arange(4), 30)
        assert str(compiled(np.arange(4), 30)) == str(got)
    else:
        check_loop(names["program"], (np.arange(4), 30), native=False)


# ---- objects ----


def test_the_list_is_the_same_object():
    def grow(values, n):
        for i in range(n):
            values.append(values[-1] + i)
        return values

    compiled = weft.compile(grow)
    for start in ([5], [0.5]):
        values = list(start)
        alias = [values]
        assert compiled(values, 50) is values and alias[0] is values
        assert values == grow(list(start), 50)


def test_items_that_stay_are_the_same_objects():
    def churn(values, n):
        for i in range(n):
            values.append(i)
            values[1] = values.pop()
        return values

    values = [float("nan"), 1, 10**6 + 7, np.float64(2.5)]
    items = list(values)
    weft.compile(churn)(values, 40)
    assert len(values) == 4
    for k in (0, 2, 3):
        assert values[k] is items[k]
    assert type(values[1]) is int


# ---- leaving in the middle ----


def count_down(values, n):
    for i in range(n):
        values.append(i)
        if len(values) > 10:
            values.pop(3)
    return values


def test_interrupted():
    def forever(values):
        while True:
            values.append(len(values))
            if len(values) > 5:
                values.pop()

    values = [7]
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        weft.compile(forever)(values)
    timer.join()
    assert values[0] == 7 and 1 <= len(values) <= 6
    assert values[1:] == list(range(1, len(values)))


def test_beside_other_threads():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert_same(weft.compile(count_down)([1, 2], 2_000_000), count_down([1, 2], 2_000_000))
    finally:
        done.set()
        thread.join()


def test_inner_loops_over_a_long_list():
    def visible(heights, queries):
        answers = []
        for q in range(len(queries)):
            while heights[-1] < queries[q]:
                heights.pop()
            answers.append(len(heights))
            repr(answers)
        return answers

    heights = list(range(5000, 0, -1))
    queries = np.sort(seeded().integers(1, 4000, 60))
    mine, theirs = list(heights), list(heights)
    assert_same(weft.compile(visible)(mine, queries), visible(theirs, queries))
    assert_same(mine, theirs)


# ---- random programs ----

STATEMENTS = [
    "values.append({item})",
    "values.append({item})",
    "values.append({item})",
    "if values: values.pop()",
    "if len(values) > 3: total += values.pop(-1)",
    "if len(values) > 2: values[{index}] = {item}",
    "if values: total += values[{index} % len(values)]",
    "if values and values[-1] > 3: values[-1] = values[0]",
    "if len(values) > 4: values.append(values[{index}] + values.pop({index}))",
    "other.append(len(values))",
    "if len(other) > 6: other.pop()",
    "if i == 31: total += values[i + 9]",
    "if i == 37: values.pop(i)",
    "if len(values) > 20: values.clear()",
]
ITEMS = [
    "i",
    "x[i % 8]",
    "y[i % 8]",
    "total",
    "0.5 * i",
    "i % 3 == 0",
    "len(other)",
    "float(x[i % 8])",
    "int(y[i % 8])",
]


def random_program(seed):
    r = random.Random(seed)
    kinds = r.sample(ITEMS, r.choice([1, 1, 2, 3]))
    body = []
    for _ in range(r.randint(3, 7)):
        statement = r.choice(STATEMENTS)
        body.append(
            statement.format(item=r.choice(kinds), index=r.choice(["0", "1", "-1", "-2", "i", "i % 3"]))
        )
    first = r.choice(["[]", "[1]", "[0.5, 2.5]", "[start]", "[x[0], y[1]]"])
    lines = [
        "def program(x, y, start, n):",
        f"    values = {first}",
        "    other = [2]",
        "    total = 0",
        "    i = 0",
    ]
    lines += ["    while i < n:", "        i += 1"] + [f"        {line}" for line in body]
    lines += ["    return values, other, total"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed, tmp_path):
    text = random_program(seed)
    path = tmp_path / f"stack_program_{seed}.py"
    path.write_text(text)
    names = {}
    exec(compile(text, str(path), "exec"), names)
    program = names["program"]
    x, y = seeded(seed).integers(0, 9, 8), seeded(seed + 1).random(8) * 6
    for n in (30, 50):
        check_loop(program, (x, y, 3, n), (x, y, np.int64(4), n), native=False)
