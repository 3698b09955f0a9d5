"""Kernels over arrays whose elements do not lie side by side, in C order: beside NumPy, at every remainder of vectors."""

import ctypes
import mmap

import numpy as np
import pytest
import weft
from support.tiers import long_but

# Of few bits: sums are exact in any order.
REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum of columns": lambda x: x.sum(0),
    "sum of rows": lambda x: x.sum(1),
    "extremes": lambda x: (x.max(), x.min(0), x.max(1)),
    "first of the largest": lambda x: (x.argmax(), x.argmax(0), x.argmin(1)),
    "some": lambda x: ((x > 3).any(), (x > -5).all(), np.count_nonzero(x > 0)),
    "of two": lambda x: ((x * x[::-1]).sum(), (x - x.sum(0)).max()),
}
STEPS = {
    "2": lambda x: x[:, ::2],
    "3": lambda x: x[:, ::3],
    "-1": lambda x: x[:, ::-1],
    "-2": lambda x: x[::-1, ::-2],
    "rows": lambda x: x[::2],
    "transposed": lambda x: x.T,
    "transposed, 2": lambda x: x.T[::2],
    "2 of both": lambda x: x[::2, ::2],
}


def before_end_of_memory(x):
    """The array, with what must not be read behind its last element."""
    size = -(-x.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + size), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    result = np.frombuffer(memory, x.dtype, x.size, size - x.nbytes).reshape(x.shape)
    result[...] = x
    return result


def example(rows, columns, dtype):
    x = np.random.default_rng(rows * columns).integers(-8, 9, (rows, columns))
    return before_end_of_memory((x > 0 if dtype is bool else x).astype(dtype))


def identical(actual, expected):
    for a, e in zip(np.atleast_1d(actual), np.atleast_1d(expected), strict=True):
        np.testing.assert_array_equal(a, e)
        assert np.asarray(a).dtype == np.asarray(e).dtype


CASES = [(steps, dtype) for steps in STEPS for dtype in (np.float32, np.int8)]
CASES += [(steps, dtype) for steps in ("2", "transposed") for dtype in (np.float64, np.int16, bool)]


QUICK = [
    ("2", np.float32),
    ("-1", np.int8),
    ("transposed", np.float32),
    ("transposed", bool),
    ("2 of both", np.int8),
]


@pytest.mark.parametrize(
    ("steps", "dtype"),
    long_but(CASES, *QUICK, unpack=True),
    ids=lambda value: getattr(value, "__name__", value),
)
@pytest.mark.parametrize("reduction", ["sum", "sum of columns", "sum of rows", "some"])
def test_reductions(reduction, steps, dtype):
    function, view = REDUCTIONS[reduction], STEPS[steps]
    compiled = weft.compile(function, dynamic=True)
    for rows, columns in ((2, 3), (9, 34), (3, 259), (70, 500)):
        x = view(example(rows, columns, dtype))
        identical(compiled(x), function(x))


@pytest.mark.parametrize("steps", long_but(STEPS, "2", "-1", "transposed"))
@pytest.mark.parametrize("reduction", ["extremes", "first of the largest", "of two"])
def test_other_reductions(reduction, steps):
    function, view = REDUCTIONS[reduction], STEPS[steps]
    for rows, columns in ((9, 34), (70, 500)):
        x = view(example(rows, columns, np.float32))
        result, expected = weft.compile(function)(x), function(x)
        for a, e in zip(result, expected, strict=True):
            identical(a, e)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 33, 63, 65, 128, 250, 259])
@pytest.mark.parametrize("step", long_but([2, 3], 2))
def test_every_remainder(columns, step):
    for dtype in (np.float32, np.int8):
        x = example(20, columns * step, dtype)[:, : step * columns - step + 1 : step]
        for function in (lambda x: x.sum(0), lambda x: x.sum(1), lambda x: x * 2):
            identical(weft.compile(function)(x), function(x))


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 2), (1, 2), (0, 1)])
@pytest.mark.parametrize(
    "order", long_but([(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)], (0, 1, 2), (2, 1, 0))
)
def test_three_dimensions(order, axes):
    x = example(12, 15 * 20, np.float32).reshape(12, 15, 20).transpose(order)
    for function in (
        lambda x: x.sum(axes),
        lambda x: ((x - x.mean(axes, keepdims=True)) ** 2).sum(axes),
        lambda x: (x > 2).any(axes),
    ):
        np.testing.assert_allclose(weft.compile(function)(x), function(x), rtol=1e-5)


RESULTS = {
    "one kernel": lambda x: x * 2 + 1,
    "centred": lambda x: x - x.mean(0),
    "scaled": lambda x: (x - x.min()) / (x.max() - x.min() + 1),
    "two results": lambda x: (x * 2, x * 2 + x.sum()),
    "a result and what is made of it": lambda x: [y := x + 1, y * 2],
    "a result and a part of it": lambda x: [y := x + 1, y[1:]],
    "updated": lambda x: [y := x * 2, y.__iadd__(1)],
    "transposed again": lambda x: (x * 2).T,
    "copied": lambda x: [x.copy(), x.copy("F"), x.copy("K")],
    "of a product": lambda x: (x * 2) + (x @ x.T).sum(),
    "joined": lambda x: (np.concatenate([x, x + 1]), np.hstack([x[:, :1], x]), np.stack([x, x * 2], 2)),
    "padded": lambda x: (
        np.pad(x, 1),
        np.pad(x * 2, ((0, 2), (1, 0)), constant_values=3),
        np.pad(x, 1, "edge"),
    ),
    "turned": lambda x: (np.roll(x, 1, 0), np.roll(x + 1, -1, 1), np.roll(x, 2)),
    "with rows between": lambda x: (
        np.insert(x, 1, 5, axis=0),
        np.delete(x, 0, 0),
        np.insert(x, 1, x[:, 0], axis=1),
    ),
    "joined, cut, computed": lambda x: (np.concatenate([x, x[:1]]) * 2)[1:] - x,
    "of a row": lambda x: np.concatenate([x - x[0], x * x[:, :1]]) + np.arange(x.shape[1]),
    "products": lambda x: (
        np.einsum("ij,ij->i", x, x),
        np.einsum("ij,ij->ij", x, x),
        np.einsum("ij,ij->", x, x + 1),
    ),
    "of constants": lambda x: np.where(x > 0, x, 0) + np.zeros_like(x),
}


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_results_lie_as_numpy_lays_them(result, dynamic):
    function = RESULTS[result]
    compiled = weft.compile(function, dynamic=dynamic)
    x = example(60, 50, np.float64)
    layouts = (
        np.asfortranarray(x),
        x,
        x.T,
        np.asfortranarray(x)[::2],
        x[:, ::2],
        np.asfortranarray(x[:1]),
        x[:, :1],
    )
    for array in layouts:
        expected, actual = function(array), compiled(array)
        pairs = (
            zip(actual, expected, strict=True)
            if isinstance(expected, (list, tuple))
            else [(actual, expected)]
        )
        for a, e in pairs:
            np.testing.assert_allclose(a, e, rtol=1e-12)
            steps = [
                [step for step, size in zip(y.strides, y.shape, strict=True) if size > 1] for y in (a, e)
            ]
            assert steps[0] == steps[1]
            assert a.flags.forc == e.flags.forc


def test_what_is_made_of_one_array_in_another_order_shares_its_memory():
    def function(x):
        y = x + 1
        return y, y.T, y[1]

    x = np.asfortranarray(example(6, 5, np.float64))
    y, transposed, row = weft.compile(function)(x)
    assert np.shares_memory(y, transposed)
    assert np.shares_memory(y, row)
    assert y.flags.f_contiguous
    y[1, 2] = 100
    assert transposed[2, 1] == row[2] == 100
