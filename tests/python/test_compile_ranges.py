"""Python's integers that change from call to call, beside arrays of integers that may not hold them."""

import numpy as np
import pytest
import weft
from support.compare import check

OPERATIONS = {
    "less": lambda a, k: a < k,
    "equal": lambda a, k: k == a,
    "greater_equal": lambda a, k: k >= a,
    "add": lambda a, k: a + k,
    "rsub": lambda a, k: k - a[1],
    "maximum": lambda a, k: np.maximum(a, k),
    "where": lambda a, k: np.where(a > 1, a, k),
    "clip": lambda a, k: np.clip(a, 0, k),
}
NUMBERS = (3, 2, -1, 300, -300, 2**31 + 5, -(2**33), 2**62, 7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32", "uint64"])
def test_numbers_that_are_arguments_or_computed(name, dtype):
    a, operation = np.arange(3).astype(dtype), OPERATIONS[name]

    def total(a, x):
        return operation(a, int(x.sum()))

    as_argument, computed = weft.compile(operation), weft.compile(total)
    for k in NUMBERS:
        check(operation, (a, k), rounds=1, compiled=as_argument)
        check(total, (a, np.array([k - 1, 1])), rounds=1, compiled=computed)


def test_a_loop_whose_counter_leaves_the_range():
    def walk(A, a, k):
        t = s = 0
        for i, _ in enumerate(A[0]):
            if k < a[i]:
                k -= 2**31
            for j in range(0):
                t, s = s, (j if k < a[i] else np.abs(k))
        return k

    A = np.arange(38, dtype=np.uint64).reshape(2, 19) + 7
    compiled = weft.compile(walk)
    for _ in range(2):
        assert compiled(A, A[0].copy(), 6) == walk(A, A[0].copy(), 6) == 6 - 19 * 2**31


def test_a_stored_number_is_checked_without_a_capture_for_each():
    def store(a, k):
        b = a.copy()
        b[1] = k
        return b

    a, compiled = np.arange(3, dtype=np.uint8), weft.compile(store)
    for k in (1, 2, 250, 256, -1, 17):
        check(store, (a, k), rounds=1, compiled=compiled)
