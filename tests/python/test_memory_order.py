"""Results lie in memory as NumPy's do: strides, flags and what ravel() gives, for arguments of every layout."""

import ast
import itertools

import numpy as np
import pytest
import weft

SHAPES = [(4,), (3, 4), (2, 3, 4), (3, 1, 4), (2, 3, 2, 4)]

# Expressions of x, of any shape.
UNARY = """
-x, np.exp(x), x > 1, x ** 2, x + 1, np.where(x > 1, x, 0), np.clip(x, 1, 3), np.round(x, 1), np.add(x, x, dtype=np.float32),
x.astype(np.float32), x.astype(np.float32, order="C"), x.astype(np.float32, order="F"), x.astype(np.float32, order="A"), x.copy(),
x.copy(order="K"), np.copy(x), np.array(x), np.asarray(x, order="F"), np.ascontiguousarray(x), np.zeros_like(x), np.full_like(x, 2),
np.ones_like(x, order="A"), x.sum(axis=0), x.sum(axis=-1, keepdims=True), x.mean(axis=-1), x.std(axis=0), x.max(axis=0, keepdims=True),
np.argmax(x, axis=0), np.cumsum(x, axis=0), np.cumprod(x, axis=-1), np.sort(x, axis=0), np.median(x, axis=0), np.diff(x, axis=-1),
np.gradient(x, axis=-1), np.roll(x, 1, axis=0), np.flip(x, 0) + 1, x.T, x.T + 1, (x * 2).T, x.ravel(), x.reshape(-1),
np.concatenate([x, x]), np.concatenate([x, x], axis=-1), np.stack([x, x]), np.stack([x, x], axis=-1), np.vstack([x, x]), np.dstack([x, x]),
np.column_stack([x, x]), np.append(x, x, axis=0), np.block([x, x]), np.pad(x, 1), np.pad(x, 1, mode="edge"), np.repeat(x, 2, axis=0),
np.tile(x, 2), np.take(x, [0, 1], axis=0), x[[0, 1, 0]], x[..., [0, 1]], x[np.array([[0, 1], [1, 0]])], x[np.arange(x.shape[0]) > 0],
x[x > 1], x[0] * 2, x[..., 0] * 2, x[::2] + 1, x[..., ::-1] + 1, x[None] + 1, x[..., None] * 2, np.insert(x, 1, 5.0, axis=0),
np.delete(x, 0, axis=0), np.squeeze(x * 2), np.select([x > 1, x > 2], [x, -x], 0), np.take_along_axis(x, np.argsort(x, axis=0), axis=0),
np.add.outer(x, x), np.outer(x, x), np.diagonal(x) + 1 if x.ndim > 1 else x, (x + 1j).real + 1, np.abs(x + 1j), np.isclose(x, 1),
np.fft.fft(x, axis=0), np.fft.rfft(x), np.linalg.norm(x, axis=0), np.einsum("...i->i...", x), np.einsum("...i->...", x) + 0,
np.einsum("i...,j...->...ij", x, x), np.einsum("...i,...i->...i", x, x), np.moveaxis(x, 0, -1) + 1, np.swapaxes(x * 2, 0, -1),
np.broadcast_to(x, (2,) + x.shape) + 1, np.broadcast_to(x, (2,) + x.shape).copy(), np.add(x, 1, order="F"), x @ np.swapaxes(x, -1, -2) if x.ndim > 1 else x,
np.split(x * 2, [1], axis=0)[1], np.apply_along_axis(np.sort, 0, x), np.nan_to_num(x), np.add.reduceat(x, [0], axis=0)
"""
BINARY = """
x + y, np.where(x > 1, x, y), np.maximum(x, y), np.concatenate([x, y]), np.stack([x, y], axis=-1), np.einsum("...,...->...", x, y),
np.add(x, y, dtype=np.float32)
"""


def expressions(text):
    """The elements of a tuple display, as they are written."""
    text = " ".join(text.split())
    return [ast.get_source_segment(text, one) for one in ast.parse(text, mode="eval").body.elts]


def numbers(shape):
    return (np.arange(np.prod(shape)) * 0.37 % 5 + 0.1).reshape(shape)


def layouts(shape):
    """Arrays of this shape, by what their strides are."""
    ndim = len(shape)
    for axes in itertools.permutations(range(ndim)):
        yield f"order {axes}", numbers([shape[axis] for axis in axes]).transpose(np.argsort(axes))
    parts = tuple(slice(None, None, 2) for _ in shape)
    yield "every other", numbers([2 * size for size in shape])[parts]
    yield "backwards", numbers(shape)[::-1]
    yield "backwards at the end", numbers(shape)[..., ::-1]
    if ndim > 1:
        yield "every other, Fortran", numbers([2 * size for size in shape][::-1]).T[parts]
        yield "broadcast", np.broadcast_to(numbers((*shape[:-1], 1)), shape)


def layout(value):
    """What can be seen of an array's strides; those of single elements say nothing."""
    strides = [stride for stride, size in zip(value.strides, value.shape) if size > 1]
    return (
        value.shape,
        strides,
        value.flags.c_contiguous,
        value.flags.f_contiguous,
        np.shares_memory(value, value.ravel()),
    )


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """What is decided when a function is captured is the same for graphs that are not compiled."""
    monkeypatch.setenv("WEFT_INTERPRET", "1")


def differences(function, cases):
    for name, arguments in cases:
        with np.errstate(all="ignore"):
            expected, found = function(*arguments), weft.compile(function)(*arguments)
        if expected.size > 0 and layout(found) != layout(expected):
            yield f"{name}: {layout(found)}, NumPy gives {layout(expected)}"


@pytest.mark.parametrize("expression", expressions(UNARY))
def test_layouts_of_results(expression):
    function = eval(f"lambda x: {expression}", {"np": np})
    for shape in SHAPES:
        assert list(differences(function, [(name, (x,)) for name, x in layouts(shape)])) == []


@pytest.mark.parametrize("expression", expressions(BINARY))
def test_layouts_of_results_of_two_arrays(expression):
    function = eval(f"lambda x, y: {expression}", {"np": np})
    pairs = itertools.product(layouts((2, 3, 4)), repeat=2)
    assert list(differences(function, [(f"{a}, {b}", (x, y)) for (a, x), (b, y) in pairs])) == []


@pytest.mark.parametrize("flat", ["v.ravel()", "v.reshape(-1)", "v.T.ravel()", "v.T.reshape(-1)"])
def test_updates_through_flat_views(flat):
    """Whether they reach the array depends on its strides."""
    for expression in (
        "x * 2",
        "np.stack([x, x])",
        "np.pad(x, 1)",
        "x[[1, 0]]",
        "np.maximum.accumulate(x)",
        "x.sum(axis=0)",
        "x.astype(int)",
    ):
        names = {"np": np}
        exec(f"def function(x):\n v = {expression}\n f = {flat}\n f -= 7\n return v, f", names)
        for name, x in layouts((2, 3, 4)):
            expected, found = names["function"](x), weft.compile(names["function"])(x)
            for a, b in zip(expected, found):
                np.testing.assert_array_equal(a, b, err_msg=f"{expression}, {name}")
            assert np.shares_memory(*expected) == np.shares_memory(*found), (expression, name)


def test_strided_arguments_of_another_order_are_captured_again():
    function = weft.compile(lambda x: x + 1)
    for axes in itertools.permutations(range(3)):
        x = numbers((4, 6, 8))[:, ::2, ::2].transpose(axes)
        assert function(x).strides == (x + 1).strides


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    "ufunc", [np.bitwise_and, np.gcd, np.add, np.subtract], ids=lambda ufunc: ufunc.__name__
)
def test_reductions_over_an_axis_of_one_element_keep_the_order_of_the_others(ufunc, size):
    def program(x):
        return ufunc.reduce(x + 1, axis=0)

    x = np.asfortranarray(np.arange(size * 15).reshape(size, 3, 5))
    result, expected = weft.compile(program)(x), program(x)
    assert result.strides == expected.strides == (8, 24)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x[:, ::2].copy(),
        lambda x: np.flip(x, 0).copy(),
        lambda x: np.ascontiguousarray(x.T),
        lambda x: x.T.copy(),
        lambda x: np.asfortranarray(x[:, ::2]),
        lambda x: +x[:, ::2],
        lambda x: x[:, ::2] * 1,
    ],
    ids=["slice", "flip", "ascontiguousarray", "transpose", "asfortranarray", "positive", "times 1"],
)
def test_results_that_look_at_one_copy_of_a_view(copy):
    """Where the graph simplifies the copy to the view, results still lie as NumPy's, and share memory."""

    def program(x):
        y = copy(x + 1)
        return y, y[1:]

    compiled = weft.compile(program)
    for _ in range(3):
        x = numbers((3, 4))
        expected, results = program(x), compiled(x)
        for a, b in zip(expected, results):
            np.testing.assert_array_equal(a, b)
            assert a.strides == b.strides
        results[0][:] = 7
        assert (results[1] == 7).all() and np.array_equal(x, numbers((3, 4)))


def test_parts_of_arrays_that_were_updated():
    def program(x):
        y = x * 2 + x
        y[...] = 1
        return y[:, 1:3]

    compiled = weft.compile(program)
    for _ in range(2):
        result, expected = compiled(np.ones((5, 4))), program(np.ones((5, 4)))
        assert result.strides == expected.strides == (32, 8)
        np.testing.assert_array_equal(result, expected)
