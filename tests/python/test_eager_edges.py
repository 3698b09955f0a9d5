"""Eager operators at the edges of their ways to compute: few and many elements, numbers that are NaN, halves as their bits."""

import numpy as np
import pytest
import weft
from test_built_kernels import DTYPES, SPECIAL, bits


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 5), (33, 63), (2049, 1), (5, 1024), (3, 2047), (3, 2048), (3, 2049)]
)
def test_softmax_of_half_precision_is_that_of_float32_rounded(shape, dtype):
    x = weft.from_numpy(np.random.default_rng(3).standard_normal(shape).astype(np.float32)).to(dtype)
    expected = weft.softmax(x.to(weft.float32), -1).to(dtype)
    assert bits(weft.softmax(x, -1)) == bits(expected)
    turned = x.contiguous().t().contiguous().t()
    assert bits(weft.softmax(turned, -1)) == bits(expected)
    x[0, 0] = np.nan
    got = weft.softmax(x, -1).to(weft.float32).numpy()
    assert np.isnan(got[0]).all() and not np.isnan(got[1:]).any()


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5, 7, 31, 32, 33, 64, 65, 100])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.int64])
def test_long_rows_in_any_number_of_blocks(blocks, dtype):
    for length in (512 * blocks - 1, 512 * blocks, 512 * blocks + 1):
        x = np.random.default_rng(blocks).integers(-99, 99, (2, length)).astype(np.float64)
        rows = weft.from_numpy(x).to(dtype)
        np.testing.assert_array_equal(weft.sum(rows, -1).to(weft.float64).numpy(), x.sum(-1))
        np.testing.assert_array_equal(weft.amax(rows, -1).to(weft.float64).numpy(), x.max(-1))
        np.testing.assert_array_equal(weft.amin(rows, -1).to(weft.float64).numpy(), x.min(-1))


@pytest.mark.parametrize("size", [1, 15, 16, 17, 33, 1000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_clamps_between_any_numbers(size, dtype):
    dtype = getattr(weft, dtype)
    x = weft.from_numpy(np.resize(SPECIAL, size)).to(dtype)
    for low, high in (
        (-0.5, 0.5),
        (0.0, -0.0),
        (-0.0, 0.0),
        (np.nan, 1.0),
        (-1.0, np.nan),
        (2.0, -2.0),
        (-np.inf, np.inf),
    ):
        expected = weft.maximum(x, weft.full((size,), low, dtype=dtype))
        both = weft.minimum(expected, weft.full((size,), high, dtype=dtype))
        assert bits(weft.clip(x, low, high)) == bits(both)
        assert bits(weft.maximum(x, weft.tensor(low, dtype=dtype))) == bits(expected)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
@pytest.mark.parametrize("size", [1, 31, 32, 33, 1000])
def test_signs_of_half_precision(size, dtype):
    numbers = [x for x in SPECIAL if not 1e38 < abs(x) < np.inf]
    x = weft.from_numpy(np.resize(np.array(numbers, np.float32), size)).to(dtype)
    assert bits(weft.abs(x)) == bits(weft.abs(x.to(weft.float32)).to(dtype))
    assert bits(weft.neg(x)) == bits(weft.neg(x.to(weft.float32)).to(dtype))
    assert bits(weft.abs(x[::2])) == bits(weft.abs(x[::2].contiguous()))
    assert bits(weft.neg(x[1:])) == bits(weft.neg(x[1:].clone()))


@pytest.mark.parametrize("columns", [15, 16, 17, 2047, 2048, 2049])  # pieces of 60 bytes to 8 KiB and more
def test_pieces_joined_line_by_line(columns):
    x = np.random.default_rng(8).standard_normal((9, 2 * columns + 70)).astype(np.float32)
    parts = [x[:, :columns], x[:, columns : 2 * columns], x[:, 2 * columns :]]
    joined = weft.concatenate([weft.from_numpy(part.copy()) for part in parts], 1)
    np.testing.assert_array_equal(joined.numpy(), x)


@pytest.mark.parametrize("columns", [1, 3, 255, 256, 257])
@pytest.mark.parametrize("dtype", [weft.bool, weft.bfloat16, weft.float32, weft.int64])
def test_few_tensors_stacked(columns, dtype):  # 4096 elements and fewer are copied at once
    x = np.random.default_rng(4).integers(0, 2, (2, 4, 2, columns)).astype(np.float32)
    first, second = (weft.from_numpy(each).to(dtype) for each in x)
    for dim in range(-4, 4):
        got = weft.stack([first, second], dim)
        assert got.dtype == dtype and got.is_contiguous()
        np.testing.assert_array_equal(got.to(weft.float32).numpy(), np.stack([*x], dim))
        turned = weft.stack([first.transpose(0, 2), second.transpose(0, 2)], dim)
        np.testing.assert_array_equal(
            turned.to(weft.float32).numpy(), np.stack([each.transpose(2, 1, 0) for each in x], dim)
        )
    for dim in (-5, 4):
        with pytest.raises(IndexError):
            weft.stack([first, second], dim)
    with pytest.raises(ValueError, match="same shape"):
        weft.stack([first, second[:1]])


def test_few_tensors_of_other_kinds_stacked():
    numbers = [weft.tensor(1.5), weft.tensor(2.5)]
    np.testing.assert_array_equal(weft.stack(numbers).numpy(), [1.5, 2.5])
    mixed = weft.stack([weft.tensor([1, 2]), weft.tensor([0.5, 1.5])])
    np.testing.assert_array_equal(mixed.numpy(), [[1, 2], [0.5, 1.5]])
    assert weft.stack([weft.zeros(0, 3)] * 2, 1).shape == (0, 2, 3)
    assert weft.stack([weft.zeros(3)]).shape == (1, 3)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("columns", [1, 47, 48, 49, 1000])
def test_arithmetic_of_integers_wraps_around(columns, dtype):
    ends = np.iinfo(dtype)
    x = np.random.default_rng(5).integers(ends.min, ends.max, (9, columns), dtype, endpoint=True)
    y = np.random.default_rng(6).integers(ends.min, ends.max, (9, columns), dtype, endpoint=True)
    for function, name in ((np.add, "add"), (np.subtract, "sub"), (np.multiply, "mul")):
        for a, b in ((x, y), (x, y[:, :1]), (x[:, :1], y), (x, y[0]), (x, y[:1, :1]), (x[:, ::2], y[:, ::2])):
            got = getattr(weft, name)(weft.from_numpy(a), weft.from_numpy(b))
            np.testing.assert_array_equal(got.numpy(), function(a, b))


@pytest.mark.parametrize("columns", [1, 7, 100])
def test_elements_scattered_to_ends_and_from_the_end(columns):
    x = np.random.default_rng(9).integers(-9, 9, (3, columns)).astype(np.float32)
    at = np.tile([0, columns - 1, -columns, -1], (3, 25))
    values = np.arange(300, dtype=np.float32).reshape(3, 100)
    expected = x.copy()
    np.add.at(expected, (np.arange(3)[:, None], at), values)
    tensors = [weft.from_numpy(each) for each in (x, at, values)]
    np.testing.assert_array_equal(weft.scatter_add(tensors[0], 1, *tensors[1:]).numpy(), expected)
    np.testing.assert_array_equal(tensors[0].numpy(), x)
    for wrong in (columns, -columns - 1, 2**40, -(2**40)):
        at[2, 99] = wrong
        for function in (weft.scatter, weft.scatter_add):
            with pytest.raises((IndexError, RuntimeError)):
                function(tensors[0], 1, weft.from_numpy(at), tensors[2])
