"""Views of other dtypes, .flat, flags, strides and base, as NumPy has them, also where they share memory."""

import gc
import weakref

import numpy as np
import pytest
import weft

A = np.arange(12.0).reshape(3, 4) - 4.5
F = np.asfortranarray(A)
Z = np.arange(6).reshape(2, 3) * (1 - 2j)
T = np.arange(20.0)[::2]
PROGRAMS = {
    "int64 bits": (lambda a: a.view(np.int64), A),
    "bits of F order": (lambda a: a.view("i8"), F),
    "bits of a stepped view": (lambda a: a.view(np.int64) >> 52, T),
    "more elements": (lambda a: a.view(np.uint8), A),
    "fewer elements": (lambda a: a.view(np.complex128), A),
    "parts": (lambda a: a.view(float), Z),
    "of what is computed": (lambda a: (a * 2).view(np.uint64), A),
    "of a scalar": (lambda a: a[0, 0].view(np.int64), A),
    "too few elements": (lambda a: a.view(np.complex128), T),
    "not contiguous": (lambda a: a.view(np.int32), F),
    "flat element": (lambda a: a.flat[5], F),
    "flat out of bounds": (lambda a: a.flat[50], A),
    "flat slice": (lambda a: a.flat[1:7:2], F),
    "flat positions": (lambda a: a.flat[[1, -5, 2]], F),
    "flat iterated": (lambda a: [x * 2 for x in a.flat], F),
    "base of an argument": (lambda a: (a.base is None, a[1:].base is a, (a + 1).base is None), F),
    "base of a view": (lambda a: a.base.size, T),
    "strides": (lambda a: (a.strides, a.T.strides, (a + 1).strides, a[:, ::2].strides), F),
    "flags": (
        lambda a: (a.flags.c_contiguous, a.flags["F"], a[0].flags.owndata, (a + 1).flags["WRITEABLE"]),
        F,
    ),
    "shared memory": (lambda a: (np.shares_memory(a, a[0]), np.may_share_memory(a, a + 1)), A),
    "byteswap": (lambda a: a.byteswap(), Z),
    "bytes": (lambda a: (a + 1).tobytes("F"), A),
}


def seen_memory(function, argument):
    argument = argument.copy(order="K") if argument.base is None else argument
    try:
        result = function(argument)
    except (IndexError, ValueError) as error:
        return type(error), str(error)
    if isinstance(result, np.ndarray):
        return result.tolist(), result.dtype, result.strides, np.shares_memory(result, argument)
    return repr(result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_seen_as_numpy_has_it(name):
    function, argument = PROGRAMS[name]
    compiled = weft.compile(function)
    for _ in range(2):
        assert seen_memory(compiled, argument) == seen_memory(function, argument)


def updates_flat(a):
    a.flat[1:5] = [1, 2]
    a.flat[-1] = 7
    a.flat[[0, 2]] = 3.5
    a.T.flat[::5] = -1
    return a


def sets_parts(z):
    z.real = [1, 2, 3]
    z.imag = 0.5
    return z * 1j


def sets_shape(a):
    b = a + 1
    b.shape = (12,)
    a.shape = (2, 6)
    return a[1] + b[:6]


def updates_beside_a_view(a):
    bits = a.view(np.int64)
    a[0] = 1
    bits[1, 1] = 0
    return bits


def refuses(a):
    a.setflags(write=False)
    try:
        a[0] = 1
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "function, argument",
    [
        (updates_flat, A),
        (updates_flat, F),
        (sets_parts, Z),
        (sets_shape, A),
        (updates_beside_a_view, A),
        (refuses, A),
    ],
)
def test_updates_reach_the_memory(function, argument):
    compiled = weft.compile(function)
    for _ in range(2):
        one, other = argument.copy(order="K"), argument.copy(order="K")
        expected, result = function(one), compiled(other)
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(other, one)
        assert other.shape == one.shape


@pytest.mark.parametrize(
    "name", [n for n in PROGRAMS if "too few" not in n and "not con" not in n and "out of" not in n]
)
def test_no_graph_break(name):
    function, argument = PROGRAMS[name]
    assert ", 0 breaks" in str(weft.compiler.explain(function)(argument))


def test_vectorized_functions_become_loops():
    def clipped(x, low):
        return x if x > low else low

    def function(a):
        return np.vectorize(clipped)(a, 1.0)

    values = np.linspace(-3, 3, 5000)
    np.testing.assert_array_equal(weft.compile(function)(values), function(values))


def test_the_bitcast_operator():
    values = np.arange(6.0).reshape(2, 3)
    for dtype, numpy_dtype in ((weft.int64, np.int64), (weft.float32, np.float32), (weft.uint8, np.uint8)):
        np.testing.assert_array_equal(
            weft.bitcast(weft.from_numpy(values), dtype).numpy(), values.view(numpy_dtype)
        )
    with pytest.raises(
        ValueError, match="bitcast: the last dimension does not hold whole elements of complex128"
    ):
        weft.bitcast(weft.from_numpy(values), weft.complex128)
    with pytest.raises(ValueError, match="bitcast: an array without dimensions"):
        weft.bitcast(weft.from_numpy(values).sum(), weft.float32)


def test_slices_are_stored_where_the_class_says():
    class Row:
        def __init__(self, values):
            self.values = values

        def __setitem__(self, key, value):
            self.values[key] = value * 2

    def fill(x):
        row = Row(x.copy())
        row[1:3] = x[:2]
        row[0] = x[3]
        return row.values

    x = np.arange(5.0)
    assert not weft.compiler.explain(fill)(x).breaks
    np.testing.assert_array_equal(weft.compile(fill)(x), fill(x))


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", ["mean", "sum", "max", "nanmean", "count_nonzero", "ptp"])
def test_reductions_of_a_scalar_along_an_axis(name, axis):
    def reduce(x):
        try:
            return getattr(np, name)(x[3], axis=axis)
        except np.exceptions.AxisError as error:
            return str(error)

    x = np.arange(5.0)
    assert weft.compile(reduce)(x) == reduce(x)


def test_memory_outlives_a_tensor_that_stands_for_another():
    class Owned(np.ndarray):
        pass

    def program(x):
        x.numpy()[...] = 1
        x._become_(x.transpose(0, -1))
        return x

    for function in (program, weft.compile(program)):
        for _ in range(3):
            memory = np.zeros((8, 4), np.float32).view(Owned)
            alive = weakref.ref(memory)
            tensor = weft.from_numpy(memory)
            del memory
            result = function(tensor)
            assert result is tensor and alive() is not None
            del tensor
            gc.collect()
            assert alive() is not None and result.shape == (4, 8) and result.sum().item() == 32
            del result
            gc.collect()
            assert alive() is None, "and no cycle keeps it"


def test_buffers_outlive_a_tensor_that_stands_for_another():
    memory = np.arange(8.0)
    tensor = weft.tensor(memory)
    array, view = np.asarray(tensor), memoryview(tensor)
    tensor._become_(weft.zeros(3))
    junk = [weft.full((8,), 7.0) for _ in range(10)]
    assert array.tolist() == memory.tolist() == view.tolist() and len(junk) == 10
