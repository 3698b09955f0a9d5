"""Small programs in which compiled code once differed from NumPy; the program fuzzer found them."""

import numpy as np
import pytest
from support.compare import check

ROW = np.arange(4.0)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "flip", "item", "tolist", "average"])
def test_the_value_of_a_single_element_is_a_copy(name):
    def program(x):
        value = getattr(x, name)() if hasattr(x, name) else getattr(np, name)(x)
        x[...] = 2
        return np.float64(value)

    check(program, (np.array(0.5),))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_division_by_a_negative_zero(dtype):
    check(lambda x, y: x / y, (np.array([1 - 1j, 2 + 3j], dtype), np.array([-0.0, 0.0], dtype)))


def test_a_number_that_does_not_fit_is_not_stored():
    def first(a, b):
        a[0] = b[0]
        return a

    def slices(a, b):
        a[:2] = b.sum()
        return a

    for program in (first, slices):
        for value in (300, -1, 7):
            check(program, (np.zeros(3, np.int8), np.array([value])))
            check(program, (np.zeros(3, np.uint8), np.array([value])))


def test_booleans_are_two_objects():
    check(lambda a: str((a[0] is a[0], a[0] is a[1], a.any() is np.True_)), (np.array([True, False]),))


def test_where_with_a_complex_number():
    check(lambda a: np.where(a > 0, a, 1j), (np.ones(3, np.float32),))
    check(lambda a: np.where(a > 0, 1j, a), (np.ones(3),))


@pytest.mark.parametrize(
    "program",
    [
        lambda a: np.subtract.reduce(a, dtype=np.float32),
        lambda a: np.subtract.reduce(a, initial=3.0),
        lambda a: np.logical_xor.reduce(a, keepdims=True),
        lambda a: np.subtract.reduce(a, 5),
        lambda a: np.insert(np.asarray(a[0]), 0, 1, axis=0),
        lambda a: np.delete(a, 0, axis=2),
        lambda a: np.diff(a, axis=2),
        lambda a: np.take(a, 0, axis=2),
        lambda a: np.median(a, axis=5),
        lambda a: np.rollaxis(a, 3),
        lambda a: np.flip(a[0], 0),
        lambda a: np.gradient(a[0], axis=0),
        lambda a: np.repeat(a, [2, 0, 1], axis=0),
        lambda a: np.choose(3, [a, a]),
        lambda a: np.choose(1, [a[0], a[1]]),
        lambda a: np.vecdot(a[0], a[1]),
        lambda a: np.vecdot(a, a[:1]),
        lambda a: a.reshape(3, -1, order="F"),
        lambda a: a[:0].reshape(0, -1, order="F"),
        lambda a: a.reshape(2, 3, order="F"),
        lambda a: a.reshape(2, -1, order="F"),
        lambda a: np.unstack(a[0]),
        lambda a: np.correlate(a[:0], a[:0]),
        lambda a: np.min(a.astype(np.uint16), where=a > 0, initial=-2),
        lambda a: np.moveaxis(a[0], 0, -1),
        lambda a: np.moveaxis(a.reshape(2, 2), [0, 0], [0, 1]),
        lambda a: np.moveaxis(a.reshape(2, 2), [0, 1], [1, 1]),
        lambda a: np.choose(1, [a, a[:3]]),
        lambda a: np.mean(a[0] * complex(np.inf, 1)),
    ],
)
def test_arguments_reach_numpy(program):
    check(program, (ROW,))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64, np.complex128])
def test_products_over_no_elements_are_zero(dtype):
    check(lambda a, b: a @ b, (np.zeros((5, 17, 0), dtype), np.zeros(0, dtype)))
    check(lambda a, b: a @ b, (np.zeros((3, 5, 0), dtype), np.zeros((0, 4), dtype)))


def test_a_contiguous_single_element_is_a_view():
    def program(x):
        one = np.ascontiguousarray(x)
        one[0] = 7
        return x

    check(program, (np.array(3.0),))


def test_put_in_a_single_element():
    def program(x):
        x.put([0], 2)
        return x

    check(program, (np.array(3.0),))


def test_a_reduction_of_one_row_is_a_copy():
    def program(a):
        value = np.subtract.reduce(a)
        a += 1
        return value

    check(program, (ROW[None],))
