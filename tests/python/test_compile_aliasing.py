"""Results that look at one memory, and constants that every call has anew."""

import numpy as np
import pytest
import weft

MAKERS = [
    "np.stack([[1, 2], [3, 4]])",
    "np.where([True, False], [1, 2], [3, 4])",
    "np.meshgrid([1, 2], [3, 4])[0]",
    "np.hanning(4)",
    "np.indices((2, 2))[1]",
    "np.ix_(np.arange(3), [0])[0]",
    "np.repeat([1, 2], 2)",
    "np.outer([1, 2], [3, 4])",
]
UPDATES = ["pass", "v[0] += 1", "v[:] += v", "v.ravel()[:1] = 7", "w = v[::-1]; w[:] = 5"]


@pytest.mark.parametrize("mode", ["0", "1"])
@pytest.mark.parametrize("maker", MAKERS)
def test_known_arrays_are_made_anew_by_every_call(maker, mode, monkeypatch):
    monkeypatch.setenv("WEFT_INTERPRET", mode)
    for update in UPDATES:
        scope = {"np": np}
        exec(f"def f():\n    v = {maker}\n    {update}\n    return v\n", scope)
        compiled, expected = weft.compile(scope["f"]), scope["f"]()
        for _ in range(2):
            result = compiled()
            np.testing.assert_array_equal(result, expected)
            result[...] = 9  # the caller's


def updated_transpose(a):
    v = np.transpose(a)
    v += 1
    v[v > 1] = v[v > 1] * 2
    return v


def updated_part(a):
    v = a[1:3]
    v[:] += v
    return v


def widened(a):
    return np.atleast_2d(a[0])


@pytest.mark.parametrize("function", [updated_transpose, updated_part, widened])
def test_views_of_arguments_stay_views_when_they_are_updated(function):
    mine, theirs = (np.arange(12.0).reshape(3, 4) for _ in range(2))
    result, expected = weft.compile(function)(mine), function(theirs)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(mine, theirs)
    assert np.shares_memory(result, mine) and np.shares_memory(expected, theirs)


def rolled(a):
    v = np.roll(a, 0)
    a[0] = 5
    return v


def squared(a):
    return (a > 1) ** 2


def smallest(a):
    v = np.min(a)
    v.fill(1)
    return v, v.T, np.flip(np.array(2.0))


@pytest.mark.parametrize(
    "function", [rolled, squared, smallest, lambda a: np.where(a > 1, a, 0), lambda a: a.cumsum(0)]
)
def test_results_are_numpys_to_the_type(function):
    for make in (np.ascontiguousarray, np.asfortranarray):
        got, wanted = (f(make(np.arange(6.0).reshape(2, 3))) for f in (weft.compile(function), function))
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, wanted))):
            assert type(one) is type(other) and one.dtype == other.dtype
            assert one.flags.f_contiguous == other.flags.f_contiguous
            np.testing.assert_array_equal(one, other)


def test_the_buffer_of_64_bit_integers_is_numpys_own_type():
    assert np.asarray(memoryview(weft.arange(3))).dtype.char == np.dtype(np.int64).char


def test_in_place_operations_that_do_not_fit():
    def grow(a):
        v = a[0:1].reshape(1, 17)
        a += v
        return a

    def element(a):
        v = a.astype(np.int8)
        v[0] += a
        return v

    for function, size in ((grow, 17), (element, 1)):
        errors = []
        for f in (function, weft.compile(function)):
            with pytest.raises((TypeError, ValueError)) as caught:
                f(np.arange(float(size)))
            errors.append((caught.type, str(caught.value)))
        assert errors[0] == errors[1]


def pause():
    """Leaves the graph: views go on as arrays of their own."""
    return id(object())


def update_a_part(a):
    v = a * 2
    w = v[1:]
    w[:] = 0
    pause()
    w[0] = 5
    return v, w


def update_backwards(a):
    v = a * 2
    w = v[::-1]
    w += 1
    pause()
    v[0] = 9
    return v, w


def update_transposed(a):
    v = a * 2
    w = v.reshape(2, 3)
    w.T[0] = 1
    pause()
    v[4] = 3
    return v, w


def update_before_a_loop(a):
    v = np.zeros(6)
    w = v[2:]
    w += 1
    for i in range(30):
        if a[i % 6] > 2:
            w[0] += 1
        v[2] += 1
    return v, w


def update_with_out(a):
    v = a * 2
    w = v.reshape(2, 3)[:, ::-1]
    np.negative(w, out=w)
    return v, w


def update_of_an_argument_and_a_new_view(a):
    w = a[:]
    pause()
    a += 6
    return np.atleast_2d(w), a


@pytest.mark.parametrize(
    "function",
    [
        update_a_part,
        update_backwards,
        update_transposed,
        update_before_a_loop,
        update_with_out,
        update_of_an_argument_and_a_new_view,
    ],
)
def test_views_of_one_array_after_an_update(function):
    compiled = weft.compile(function)
    for _ in range(2):
        expected, actual = function(np.arange(6.0)), compiled(np.arange(6.0))
        for theirs, ours in zip(expected, actual):
            assert theirs.shape == ours.shape
            np.testing.assert_array_equal(ours, theirs)
        assert np.shares_memory(*actual) and np.shares_memory(*expected)


def test_arrays_of_a_scalar_have_memory_of_their_own():
    def raised(x):
        low = np.min(x)
        line, table = np.atleast_1d(low), np.atleast_2d(low)
        line += 5
        table[::2, None] += True
        return low, line, table

    for ours, theirs in zip(weft.compile(raised)(np.arange(4)), raised(np.arange(4))):
        np.testing.assert_array_equal(ours, theirs)


def gives_both(c, a):
    c += a
    a[:] = c


def gives_three(c, a, b):
    a[:] = b[:] = c[:] = c * 2 + a


def gives_a_part(c, a, b):
    c[:] = a + b
    a[1:] = c[1:]
    b[:-1] = c[:-1]


def gives_reversed(c, a):
    c[:] = a * 2
    a[:] = c[::-1]


def gives_and_returns(c, a):
    c[:] = a[:] = a - c
    return c, a, c + 0


def gives_after_an_update(c, a):
    c[1:] = a[:-1]
    a[:] = c


@pytest.mark.parametrize(
    "function",
    [gives_both, gives_three, gives_a_part, gives_reversed, gives_and_returns, gives_after_an_update],
)
@pytest.mark.parametrize("mode", ["0", "1"])
def test_one_value_that_several_arguments_get(function, mode, monkeypatch):
    monkeypatch.setenv("WEFT_INTERPRET", mode)
    compiled = weft.compile(function)
    for size in (5, 5, 7, 7, 300, 2):
        for dtype in (float, np.int8):
            rng = np.random.default_rng(size)
            given = [rng.integers(0, 9, size).astype(dtype) for _ in range(function.__code__.co_argcount)]
            plain = [array.copy() for array in given]
            result, expected = compiled(*given), function(*plain)
            for got, wanted in zip([*given, *(result or ())], [*plain, *(expected or ())]):
                np.testing.assert_array_equal(got, wanted)
