"""Native loops over numbers that each round moves by little: their sums are checked once, before the loop."""

import numpy as np
import pytest
import weft
from support.compare import assert_same, check_loop, outcome

INTS = np.random.default_rng(0).integers(-50, 50, 1000)


def count(x, k):
    n = 0
    for i in range(len(x)):
        if x[i] > k:
            n += 1
    return n


def count_bools(x, k):
    n = 0
    for i in range(len(x)):
        n += x[i] > k
    return n


def up_and_down(x, k):
    n = 0
    for i in range(len(x)):
        if x[i] > k:
            n += 3
        elif x[i] < -k:
            n -= 2
    return n


def longest_run(x, k):
    best = run = 0
    for i in range(len(x)):
        if x[i] > k:
            run += 1
            if run > best:
                best = run
        else:
            run = 0
    return best, run


def swapped(x, k):
    a, b = 0, 1
    for i in range(len(x)):
        a, b = b + 1, a
        if x[i] == k:
            a = 5
    return a, b


def backwards_by_three(x, k):
    n = 7
    for i in range(len(x) - 1, -1, -3):
        if x[i] != k:
            n -= 1
    return n


def doubled(x, k):
    n = m = 1
    for i in range(len(x)):
        if x[i] > k:
            n += 1
            m = m + n
    return n, m


def indexed_by_a_counter(x, k):
    kept = np.zeros(len(x))
    n = 0
    for i in range(len(x)):
        if x[i] > k:
            kept[n] = x[i]
            n += 1
    return kept, n


def small_steps(x, k):
    n = 0
    for i in range(len(x)):
        n += (x[i] & 7) % 5
    return n


FUNCTIONS = [count, count_bools, up_and_down, longest_run, swapped, backwards_by_three, doubled,
             indexed_by_a_counter, small_steps]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_as_python_counts(function):
    check_loop(function, (INTS, 3), (INTS[:1], 3), (INTS[:0], 3), (INTS.astype(float), 0))


def test_what_a_mask_tells_ends_with_its_sign():
    def signed(x, table):
        total = 0.0
        for i in range(len(x)):
            total += table[-(x[i] & 3)] + 2 * table[~(x[i] & 3)] + 3 * table[x[i] & 3] + table[abs(x[i] % 5)]
            if -(x[i] % 5):
                total -= 1
        return total

    check_loop(signed, (INTS, np.arange(9.0)), (INTS, np.arange(5.0)))
    compiled = weft.compile(signed)
    for _ in range(2):
        assert outcome(compiled, INTS, np.arange(3.0)) == outcome(signed, INTS, np.arange(3.0))


@pytest.mark.parametrize("start", [2**60 - 1, 2**60, 2**60 + 1, 2**62, 2**63 - 3, -(2**60) - 1, -(2**63) + 2])
def test_counts_that_begin_large(start):
    """What leaves 64 bits is Python's, whose ints do not end; NumPy's wrap with a warning."""

    def counted(x, n):
        for i in range(len(x)):
            if x[i] > 0:
                n += 1
            else:
                n -= 1
        return n

    compiled = weft.compile(counted)
    ones = np.ones(10, np.int64)
    for x in (ones, -ones, INTS):
        for n in (0, start, start):
            assert_same(compiled(x, n), counted(x, n))
        with np.errstate(all="ignore"):
            assert_same(compiled(x, np.int64(start)), counted(x, np.int64(start)))


def test_rounds_of_large_steps():
    def stepped(rounds, n):
        for i in range(rounds):
            if i & 1:
                n += 1 << 40
        return n

    compiled = weft.compile(stepped)
    for n in (0, 2**60, 2**63 - 2**43):
        for rounds in (3, 100, 3):
            assert compiled(rounds, n) == stepped(rounds, n)


def test_counts_by_many_threads():
    x = np.random.default_rng(1).standard_normal(300_000)
    compiled = weft.compile(count)
    for _ in range(3):
        assert compiled(x, 0.25) == int((x > 0.25).sum())


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8])
def test_multiples(dtype):
    def multiples(x):
        equal = other = true = 0
        for i in range(len(x)):
            if x[i] % 7 == 0:
                equal += 1
            if x[i] % 7 != 0:
                other += 1
            if x[i] % 7:
                true += 1
        return equal, other, true

    def remainders(x, out):
        for i in range(len(x)):
            out[i] = int(x[i]) % 100
        return out

    check_loop(
        multiples, (INTS.astype(dtype),), (np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype),)
    )
    check_loop(remainders, (INTS.astype(dtype), np.zeros(len(INTS), np.int64)))


@pytest.mark.parametrize("size", [255, 256, 257])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_tables_with_masked_indices(size, dtype):
    """A table that is as long as the mask needs no look at each index; a shorter one raises where Python does."""

    def checksum(data, table):
        value = table[0]
        for i in range(len(data)):
            value = table[(value ^ data[i]) & 0xFF] ^ (value >> 8)
        return value

    random = np.random.default_rng(2)
    table, data = (
        random.integers(0, 2**31, size).astype(dtype),
        random.integers(0, 256, 5000).astype(np.uint8),
    )
    compiled = weft.compile(checksum)
    for part in (data, data[:10], data):
        assert_same(outcome(compiled, part, table), outcome(checksum, part, table))
