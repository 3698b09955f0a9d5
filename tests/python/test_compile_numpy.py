"""NumPy's names inside one graph: every entry gives what NumPy gives (dtype, shape, type) without a break."""

import numpy as np
import pytest

import weft

f = np.array([[1.5, -2.25, 0.5, 3.0], [4.0, 0.125, -1.0, 2.5], [0.0, 7.5, -3.5, 1.0]])
v = np.array([0.5, -1.5, 2.5, 3.5, -4.5, 1.0])
i = np.array([[5, 2, -7, 1], [0, 3, 8, -2], [4, 4, 1, 6]])
s = f.astype(np.float32)
u = np.array([3, 200, 17, 4], dtype=np.uint8)
b = i > 2
z = f + 1j * f[::-1]
n = np.where(f > 3, np.nan, f)
rows = np.array([2, 0, -1])
cols = np.array([1, 3, 0])
grid = np.array([[0, 2], [1, -1]])
cube = np.arange(60.0).reshape(3, 4, 5)


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def same(actual, expected, rtol=0.0):
    assert type(actual) is type(expected), (type(actual), type(expected))
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected):
            same(one, other, rtol)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        if rtol:
            np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(actual, expected)
            if isinstance(expected, np.ndarray) and expected.ndim == 2:
                assert actual.flags.c_contiguous == expected.flags.c_contiguous
    else:
        assert actual == expected


def copies(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def check(function, args, rtol=0.0, breaks=0):
    compiled = weft.compile(function)
    for _ in range(2):
        expected_args, actual_args = copies(args), copies(args)
        expected = function(*expected_args)
        same(compiled(*actual_args), expected, rtol)
        same(actual_args, expected_args, rtol)
    explanation = weft.compiler.explain(function)(*copies(args))
    if breaks is not None:
        assert [one.reason for one in explanation.breaks] == [""] * breaks if breaks else not explanation.breaks, [
            one.reason for one in explanation.breaks
        ]


def case(name, function, *args, rtol=0.0):
    return pytest.param(function, args, rtol, id=name)


def put(x, index, value):
    y = x.copy()
    y[index] = value
    return y


def put_in_argument(x, index, value):
    x[index] = value
    return x.sum()


INDEXING = [
    case("rows", lambda x, r: x[r], f, rows),
    case("rows-of-columns", lambda x, r: x[:, r], f, rows),
    case("both", lambda x, r, c: x[r, c], f, rows, cols),
    case("grid", lambda x, g: x[g], f, grid),
    case("slice-and-array", lambda x, r: x[1:, r], f, cols),
    case("array-and-slice", lambda x, r: x[r, ::2], f, rows),
    case("array-and-int", lambda x, r: x[r, 1], f, rows),
    case("int-and-array", lambda x, r: x[1, r], f, rows),
    case("apart", lambda x, r: x[r, :, r], cube, rows),
    case("int-apart", lambda x, r: x[0, :, r], cube, rows),
    case("array-slice-int", lambda x, r: x[r, 1:, 2], cube, rows),
    case("middle", lambda x, r: x[:, r, 1:3], cube, rows),
    case("none", lambda x, r: x[None, r], f, rows),
    case("none-between", lambda x, r: x[r, None, r], f, rows),
    case("ellipsis", lambda x, r: x[..., r], cube, rows),
    case("ellipsis-two", lambda x, r: x[..., r, r], cube, rows),
    case("outer", lambda x, r, c: x[r[:, None], c], f, rows, cols),
    case("list", lambda x: x[[2, 0]], f),
    case("list-of-columns", lambda x: x[:, [2, 0]], f),
    case("ix-by-hand", lambda x: x[np.arange(3), np.array([1, 0, 2])], f),
    case("small-ints", lambda x, r: x[r], v, u[[0, 3]] % 4),
    case("computed", lambda x: x[np.argmax(x, axis=0)], f),
    case("numpy-integer", lambda x: x[x.argmax()], v),
    case("reversed", lambda x, r: x[::-1, r], f, rows),
    case("integers", lambda x, r: x[r], i, rows),
    case("bools", lambda x, r: x[r], b, rows),
    case("float32", lambda x, r: x[r] * 2, s, rows),
    case("complex", lambda x, r: x[r], z, rows),
    case("empty", lambda x: x[np.zeros(0, np.int64)], f),
    case("take", lambda x, r: np.take(x, r), f, rows),
    case("take-axis", lambda x, r: np.take(x, r, axis=1), f, rows),
    case("take-grid", lambda x, g: np.take(x, g, axis=0), f, grid),
    case("take-one", lambda x: np.take(x, 2), f),
    case("take-method", lambda x, r: x.take(r), f, rows),
    case("take-along", lambda x: np.take_along_axis(x, np.argsort(x, axis=1, kind="stable"), axis=1), f),
    case("take-along-flat", lambda x, r: np.take_along_axis(x, r, axis=None), f, rows),
    case("gather-max", lambda x: np.take_along_axis(x, np.argmax(x, axis=1)[:, None], axis=1), f),
    case("put-rows", put, f, rows, 3.0),
    case("put-array", put, f, rows, v[:4]),
    case("put-both", lambda x, r, c, y: put(x, (r, c), y), f, rows, cols, v[:3]),
    case("put-columns", lambda x, c, y: put(x, (slice(None), c), y), f, cols, f[:, :3]),
    case("put-cast", lambda x, r: put(x, r, 2.75), i, rows),
    case("put-apart", lambda x, r: put(x, (r, slice(None), r), -1.0), cube, rows),
    case("put-mask", lambda x: put(x, x > 1, 0.0), f),
    case("put-mask-argument", lambda x: put_in_argument(x, x < 0, 0), f),
    case("put-mask-nan", lambda x: put(x, np.isnan(x), -1), n),
    case("put-mask-rows", lambda x, m: put(x, m, 9), f, np.array([True, False, True])),
    case("put-mask-column", lambda x, m: put(x, (slice(None), m), 9), f, np.array([True, False, True, False])),
    case("put-mask-int", lambda x: put(x, x > 2, 2.5), i),
    case("put-mask-float32", lambda x: put(x, x > 2, 2.5), s),
    case("put-argument", put_in_argument, f, rows, 3.0),
    case("add-at-rows", lambda x, r: put_in_argument(x, r, x[r] + 1), f, rows[:2]),
]


@pytest.mark.parametrize("function, args, rtol", INDEXING)
def test_indexing(function, args, rtol):
    check(function, args, rtol)


def test_indices_out_of_range_raise_as_in_numpy():
    def function(x, i):
        x += 1
        return x[i]

    def caught(x, i):
        x += 1
        try:
            return x[i]
        except IndexError as error:
            return str(error)

    compiled, compiled_caught = weft.compile(function), weft.compile(caught)
    x = np.arange(5.0)
    for k in range(3):
        np.testing.assert_array_equal(compiled(x, np.array([1, -5])), np.array([2.0, 1.0]) + 3 * k)
        with pytest.raises(IndexError, match=f"index {7 + k} is out of bounds for axis 0 with size 5"):
            compiled(x, np.array([1, 7 + k]))
        assert compiled_caught(x, np.array([1, -8])) == "index -8 is out of bounds for axis 0 with size 5"
        np.testing.assert_array_equal(x, np.arange(5.0) + 3 * (k + 1))


def test_masks_that_select_stay_breaks():
    check(lambda x: x[x > 1].sum(), (f,), breaks=None)
    check(lambda x, m, y: put(x, m, y), (f, f > 3, np.array([7.0, 8.0])), breaks=None)
