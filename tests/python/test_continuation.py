"""Calls of which Python performs a loop, or the rest: handed over in the middle, at CPython's speed."""

import contextlib
import itertools
import math
import sys
import threading

import numpy as np
import pytest
import weft
from support.compare import assert_same, check_loop


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def words(n):
    return [f"w{i * i % 37}" for i in range(n)]


def count_words(text, n):
    counts = {}
    for word in text * n:
        counts[word] = counts.get(word, 0) + 1
    return counts


def array_before_and_behind(x, text):
    y = np.sin(x) * 2
    seen = {}
    for i, word in enumerate(text):
        seen.setdefault(word, []).append(i)
    longest = max(len(places) for places in seen.values())
    return np.cos(y) + longest, seen


def leaves_by_break(text):
    seen = set()
    for i, word in enumerate(text):
        if word in seen and i > 3000:
            break
        seen.add(word)
    else:
        return "else", len(seen)
    return "break", i, word, len(seen)


def leaves_by_else(text):
    seen = {}
    for word in text:
        if word == "none":
            break
        seen[word] = len(word)
    else:
        return "else", seen
    return "break", seen


def returns_inside(text):
    seen = {}
    for word in text:
        seen[word] = seen.get(word, 0) + 1
        if seen[word] > 150:
            return word, seen
    return None


def while_loop(n):
    names, k = {}, 0
    while k < n:
        names[str(k % 100)] = k
        k += 1
    return names, k


def nested(table):
    total, path = 0, {}
    for i in range(len(table)):
        for word in table[i]:
            for c in word:
                path[c] = path.get(c, 0) + i
                if c == "9":
                    break
            else:
                total += 1
                continue
            total -= 1
    return total, path


def unbound(text):
    for word in text:
        if word == "w36":
            late = word
        last = word
    return late, last


def never_bound(text):
    for word in text:
        if word == "none":
            late = word
    return late


def handles_errors(text):
    bad, good = 0, {}
    for word in text:
        try:
            good[int(word[1:]) % 5] = 1 / (int(word[1:]) % 3)
        except ZeroDivisionError as error:
            bad += len(str(error))
            continue
        finally:
            bad += 1
    return bad, good


def raises(text, limit):
    seen = {}
    for i, word in enumerate(text):
        seen[word] = i
        if i == limit:
            raise ValueError(f"{word} at {i}")
    return seen


def caught_outside(text):
    seen = {}
    try:
        for i, word in enumerate(text):
            seen[word] = i
            if i == 4000:
                seen["none"] = seen[word + "?"]
    except KeyError as error:
        return "caught", str(error), len(seen)
    return seen


def handled_before(text):
    seen = {}
    try:
        seen["x"] += 1
    except KeyError as error:
        for word in text:
            seen[word] = seen.get(word, 0) + 1
        seen["error"] = str(error)
    return seen


def with_block(text):
    seen = {}
    with contextlib.suppress(KeyError):
        for i, word in enumerate(text):
            seen[word] = i
            if i == 4000:
                seen[word + "?"] += 1
    return seen


def cells(text):
    count, names = 0, []

    def note(word):
        nonlocal count
        count += 1
        if count % 500 == 0:
            names.append(word)

    for word in text:
        note(word)
        offset = len(word)
    return count, names, (lambda: (count, offset))()


def argument_cell(text, scale):
    def scaled(word):
        return len(word) * scale

    total = {}
    for word in text:
        total[word] = scaled(word)
        scale = 2
    return total, scale


def closures_of_an_argument(text, scale):
    made, seen = [], {}
    for i, word in enumerate(text):
        seen[word] = i
        if i % 1000 == 0:
            made.append(lambda: scale * 2)
    scale = 5
    late = [f() for f in made]
    for word in text:
        seen[word] = scale
    scale = 6
    return late, [f() for f in made], seen


def arguments(text, *rest, key="k", **more):
    seen = {}
    for word, other in zip(text, itertools.cycle(rest)):
        seen[word + key] = other + more.get(word, 0)
    return seen, rest, key, more


class Words:
    def __init__(self, text):
        self.text, self.places = text, {}

    def index(self):
        for i, word in enumerate(self.text):
            self.places.setdefault(word, i)
        return self.places

    def longest(self):
        places = self.index()
        return max(places, key=lambda word: (len(word), word))


def in_called_functions(text):
    index = Words(text)
    longest = index.longest()
    return longest, index.places, len(text)


def comprehensions(text, n):
    pairs = {}
    for k in range(n):
        pairs[k] = {word: len(word) + k for word in text[:20]}
    return sum(len(p) for p in pairs.values()), [w for w in pairs[n - 1]]


def generator_inside(text):
    def long_ones():
        for word in text:
            if len(word) > 2:
                yield word

    seen = {}
    for word in long_ones():
        seen[word] = seen.get(word, 0) + 1
    return seen


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def big_ints(n):
    values = {0: 1}
    for k in range(1, n):
        values[k % 7] = values.get(k % 7, 1) * 3 + k
    return values


def starred(text):
    first, rest = None, []
    for i in range(len(text)):
        first, *rest = text[i : i + 3]
        if i % 1000 == 0:
            print(first, *rest, sep="-", end="", file=Sink)
    return first, rest


class Sink:
    @staticmethod
    def write(text):
        pass


TEXT = words(6000)
CALLS = [
    (count_words, TEXT[:100], 50),
    (leaves_by_break, TEXT),
    (leaves_by_break, TEXT[:37]),
    (leaves_by_else, TEXT),
    (leaves_by_else, TEXT[:5000] + ["none"]),
    (returns_inside, TEXT),
    (while_loop, 6000),
    (nested, [TEXT[i : i + 40] for i in range(0, 4000, 40)]),
    (unbound, TEXT),
    (never_bound, TEXT),
    (handles_errors, TEXT),
    (raises, TEXT, 5000),
    (caught_outside, TEXT),
    (handled_before, TEXT),
    (with_block, TEXT),
    (cells, TEXT),
    (argument_cell, TEXT, 3),
    (closures_of_an_argument, TEXT, 3),
    (in_called_functions, TEXT),
    (comprehensions, TEXT, 300),
    (generator_inside, TEXT),
    (fibonacci, 18),
    (big_ints, 5000),
    (starred, TEXT),
    (arguments, TEXT, 1, 2, 3),
]


@pytest.mark.parametrize("program, arguments", [(c[0], c[1:]) for c in CALLS])
def test_what_python_does(program, arguments):
    check_loop(program, arguments, native=False)


def test_keywords():
    compiled = weft.compile(arguments)
    expected = arguments(TEXT, 4, 5, key="!", w1=7)
    for _ in range(3):
        assert compiled(TEXT, 4, 5, key="!", w1=7) == expected


def test_arrays_before_and_behind_are_compiled():
    x = np.linspace(0, 3, 1000)
    compiled = weft.compile(array_before_and_behind)
    for _ in range(4):
        actual, seen = compiled(x, TEXT)
        expected, expected_seen = array_before_and_behind(x, TEXT)
        np.testing.assert_allclose(actual, expected, rtol=1e-14)
        assert seen == expected_seen
    explained = weft.compiler.explain(array_before_and_behind)(x, TEXT)
    graphs = "\n".join(str(graph) for graph in explained.graphs)
    assert "sin" in graphs and "cos" in graphs


def test_the_loop_is_named(capfd):
    weft.compile(count_words)(TEXT[:100], 50)
    said = capfd.readouterr().err
    assert f"{__file__}:{count_words.__code__.co_firstlineno + 2}" in said
    assert "objects" in said


def test_lines_of_tracebacks():
    compiled = weft.compile(raises)
    for _ in range(3):
        with pytest.raises(ValueError, match="at 5000") as caught:
            compiled(TEXT, 5000)
        last = caught.traceback[-1]
        assert last.name == "raises"
        assert last.lineno + 1 == raises.__code__.co_firstlineno + 5


def test_closures_stay_what_they_are():
    def maker(n):
        calls = []
        last = 0

        def note(k):
            nonlocal last
            last = k
            calls.append(k)

        names = {}
        for k in range(n):
            note(k)
            names[str(k % 10)] = last
        return note, (lambda: last), calls, names

    note, last, calls, names = weft.compile(maker)(3000)
    assert last() == 2999 and len(calls) == 3000 and names["9"] == 2999
    note(7)
    assert last() == 7 and calls[-1] == 7


def test_objects_of_the_program():
    class Particle:
        def __init__(self, x):
            self.x, self.v = x, 0.0

    def move(particles, steps):
        for _ in range(steps):
            for p in particles:
                p.v -= p.x * 0.01
                p.x += p.v * 0.01
        return sum(p.x for p in particles)

    mine, theirs = ([Particle(math.sin(i)) for i in range(300)] for _ in range(2))
    compiled = weft.compile(move)
    for _ in range(8):
        assert compiled(mine, 10) == move(theirs, 10)
    assert [p.x for p in mine] == [p.x for p in theirs]


def test_sums_of_floats():
    """Python adds up what they round from 3.12 on."""

    def sums(values, start, x):
        y = float(x.sum())
        return sum(values), sum(values, start), sum([y, *values, 1]), sum(v * 2 for v in values), x * 2

    values = [math.sin(i) * 10 ** (i % 5) for i in range(40)]
    compiled = weft.compile(sums)
    for start in (0, 1.5, True, -0.0):
        assert_same(compiled(values, start, np.ones(3)), sums(values, start, np.ones(3)))


def test_depth_of_recursion():
    def deep(n, names):
        names[str(n % 10)] = n
        return 0 if n == 0 else 1 + deep(n - 1, names)

    names = {}
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        weft.compile(deep)(10 * limit, names)
    assert weft.compile(deep)(300, {}) == 300


def test_threads():
    compiled = weft.compile(count_words)
    expected = count_words(TEXT[:100], 50)
    results = [None] * 4

    def call(i):
        results[i] = [compiled(TEXT[:100], 50) for _ in range(4)]

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert_same(result, [expected] * 4)
