"""Native loops that count in arrays of integers: threads that share the rounds count for themselves."""

import numpy as np
import pytest
import weft
from support.compare import assert_same, check_loop

RNG = np.random.default_rng(0)
MANY = 300_000


@pytest.fixture(autouse=True)
def _two_threads():
    before = weft.get_num_threads()
    weft.set_num_threads(2)
    yield
    weft.set_num_threads(before)


def histogram(x, bins):
    counts = np.zeros(bins, np.int64)
    for i in range(x.shape[0]):
        counts[int(x[i] * bins)] += 1
    return counts


def of_two(x, y, bins):
    counts = np.zeros((bins, bins), np.int64)
    for i in range(x.shape[0]):
        counts[int(x[i] * bins), int(y[i] * bins)] += 1
    return counts


def of_image(image):
    counts = np.zeros(256, np.int64)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    return counts


def up_and_down(k, counts, sums):
    for i in range(k.shape[0]):
        counts[k[i]] += 1
        sums[k[i]] -= i
        counts[-1] += k[i]
    return counts, sums


def reads_what_it_counts(k, counts):
    best = 0
    for i in range(k.shape[0]):
        counts[k[i]] += 1
        if counts[k[i]] > counts[best]:
            best = k[i]
    return best, counts


def by_what_it_counts(k, counts):
    for i in range(k.shape[0]):
        counts[counts[k[i]] % 7] += 1
    return counts


def twice_at_one_place(k, counts):
    for i in range(k.shape[0]):
        counts[k[i]] += counts[k[i]]
    return counts


def moved(k, counts):
    for i in range(k.shape[0]):
        counts[k[i]] = counts[k[i] - 1] + 1
    return counts


def sums_of_floats(k, sums):
    for i in range(k.shape[0]):
        sums[k[i]] += 0.1
    return sums


def test_counts():
    x, y = RNG.random(MANY), RNG.random(MANY)
    check_loop(histogram, (x, 50), (x[:10], 3), (x[::-2], 1000))
    check_loop(of_two, (x, y, 20), (x[:9], y, 2))
    image = RNG.integers(0, 256, (600, 500)).astype(np.uint8)
    check_loop(of_image, (image,), (image[:1, :2],), (image.T,))


@pytest.mark.parametrize("length", [40, MANY])
def test_what_is_added(length):
    k = RNG.integers(-16, 16, length)
    counts, sums = np.arange(16), np.arange(16) - 8
    check_loop(up_and_down, (k, counts, sums), (k, RNG.integers(0, 9, (32,))[::2], sums))
    for function in (reads_what_it_counts, by_what_it_counts, moved):
        check_loop(function, (k, counts))
    check_loop(twice_at_one_place, (k[:20], counts))
    check_loop(sums_of_floats, (k, np.zeros(16)))


def test_arrays_that_share_memory():
    memory = np.zeros(MANY + 32, np.int64)
    memory[32:] = RNG.integers(0, 16, MANY)

    def count(k, counts):
        for i in range(k.shape[0]):
            counts[k[i] % 16] += 1

    compiled = weft.compile(count)
    for low in (0, 24, 40, 1000):
        mine, theirs = memory.copy(), memory.copy()
        compiled(mine[32:], mine[low : low + 16])
        count(theirs[32:], theirs[low : low + 16])
        assert_same(mine, theirs)


def test_index_errors():
    x = RNG.random(MANY)
    for at in (0, 5, 150_000, MANY - 1):
        wrong = x.copy()
        wrong[at] = 2.0

        def into(x, counts):
            for i in range(x.shape[0]):
                counts[int(x[i] * 50)] += 1

        compiled = weft.compile(into)
        for _ in range(3):
            compiled(x, np.zeros(50, np.int64))
        for values in (wrong, np.where(np.arange(MANY) == at, np.nan, x)):
            mine, theirs = np.zeros(50, np.int64), np.zeros(50, np.int64)
            with pytest.raises((IndexError, ValueError)) as expected:
                into(values, theirs)
            with pytest.raises((IndexError, ValueError)) as actual:
                compiled(values, mine)
            assert type(actual.value) is type(expected.value) and str(actual.value) == str(expected.value)
            assert_same(mine, theirs)


def test_sums_near_the_limit():
    largest = np.iinfo(np.int64).max

    def add(k, v, sums):
        for i in range(k.shape[0]):
            sums[k[i]] += v[i]
        return sums

    k, v = RNG.integers(0, 8, MANY), RNG.integers(-9, 9, MANY)
    start = np.array([largest - 2_000_000, -largest + 2_000_000, 0, 1, 2, 3, 4, 5])
    large = np.where(np.arange(MANY) % 2 == 0, 1 << 61, -(1 << 61))
    check_loop(add, (k, v, start), (k // 8, large, start * 0), (k // 8, large, start * 0 + (1 << 61)))
    compiled = weft.compile(add)
    compiled(k, v, start * 0)
    with np.errstate(over="ignore"):
        v[200_000] = largest
        assert_same(compiled(k, v, start.copy()), add(k, v, start.copy()))
