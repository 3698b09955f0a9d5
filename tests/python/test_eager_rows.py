"""Eager pointwise operators over rows: operands of any layout give the bits that contiguous copies of them give."""

import numpy as np
import pytest
import weft

SHORT_ROW = 48  # shorter ones are gathered in blocks
GRAIN = 32 * 1024  # elements of a task: longer rows are cut
BLOCK = 8192  # bytes that repeated rows fill


def values(*shape, dtype="float32"):
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape)
    return weft.tensor(numbers.astype(np.float32)).to(dtype=getattr(weft, dtype))


def bits(x):
    return x.contiguous().to(dtype=weft.float64).numpy()


def assert_same_bits(got, want):
    np.testing.assert_array_equal(bits(got), bits(want))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("length", [SHORT_ROW - 1, SHORT_ROW, SHORT_ROW + 1, 1000])
def test_rows_that_lie_apart(dtype, length):
    x, y = values(7, 1024, dtype=dtype), values(7, 1024, dtype=dtype)
    a, b = x[:, 1 : 1 + length], y[:, 3 : 3 + length]
    assert_same_bits(a + b, a.contiguous() + b.contiguous())
    assert_same_bits(weft.exp(a), weft.exp(a.contiguous()))
    assert_same_bits(a * y[:, :1], a.contiguous() * y[:, :1].expand(7, length).contiguous())
    assert_same_bits(
        weft.where(a > 0, a, y[:, :1]),
        weft.where(a.contiguous() > 0, a.contiguous(), y[:, :1].expand(7, length).contiguous()),
    )


@pytest.mark.parametrize("length", [GRAIN - 1, GRAIN, GRAIN + 1])
def test_rows_as_long_as_a_task(length):
    x, y = values(3, length + 5), values(3, length + 5)
    a, b = x[:, 1 : 1 + length], y[:, 3 : 3 + length]
    assert_same_bits(a - b, a.contiguous() - b.contiguous())
    assert_same_bits(a - y[:, :1], a.contiguous() - y[:, :1].expand(3, length).contiguous())


@pytest.mark.parametrize("shape", [(1, 5, 64), (2, 1, 64), (3, 5, 64), (2, 3, 4, 64), (5, 1, 3, 64)])
def test_rows_of_more_dimensions(shape):
    x, y = values(*shape, 2)[..., 0], values(*shape)
    rows = x.transpose(0, -2)
    other = y.transpose(0, -2)
    assert_same_bits(rows * other, rows.contiguous() * other.contiguous())
    middle = y[:, :1]
    assert_same_bits(y + middle, y + middle.expand(*shape).contiguous())
    into, expected = values(*shape, dtype="float64")[..., 3:61], None
    expected = into.contiguous() + y[..., 3:61].to(dtype=weft.float64)
    into += y[..., 3:61].to(dtype=weft.float64)
    assert_same_bits(into, expected)


@pytest.mark.parametrize("length", [3, 47, BLOCK // 16, BLOCK // 16 + 1, BLOCK // 4, BLOCK // 4 + 1])
@pytest.mark.parametrize("rows", [1, 2, 3, 1030])
@pytest.mark.parametrize("offset", [0, 1, 16, 1000])
def test_a_row_for_all(length, rows, offset):
    x = values(rows * length + offset)[offset:].reshape(rows, length)
    row = values(length)
    repeated = row.expand(rows, length).contiguous()
    assert_same_bits(x + row, x + repeated)
    assert_same_bits(row / x, repeated / x)
    assert_same_bits(weft.where(row > 0, x, 0.5), weft.where(repeated > 0, x, 0.5))
    assert_same_bits(row.expand(rows, length) * 2, repeated * 2)


@pytest.mark.parametrize("length", [511, 512, 513, 527, 528, 529, 5000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_longer_rows_beside_one(length, dtype):
    flat = values(7 * length + 1, dtype=dtype)
    for x in (flat[:-1].reshape(7, length), flat[1:].reshape(7, length), flat[:length].reshape(1, length)):
        row = values(length + 1, dtype=dtype)[1:]
        repeated = row.expand(x.shape[0], length).contiguous()
        for function in (weft.add, weft.sub, weft.mul, weft.true_divide, weft.maximum):
            assert_same_bits(function(x, row), function(x, repeated))
            assert_same_bits(function(row, x), function(repeated, x))
        assert_same_bits(weft.sub(x, row, alpha=3), weft.sub(x, repeated, alpha=3))
    apart = values(7, length + 3, dtype=dtype)[:, 2:-1]
    assert_same_bits(apart - row, apart.contiguous() - row.expand(7, length).contiguous())
    assert_same_bits(row - apart, row.expand(7, length).contiguous() - apart.contiguous())
    planes = values(2, 3, length, dtype=dtype)
    assert_same_bits(planes - row, planes - row.expand(2, 3, length).contiguous())
    assert (values(0, length, dtype=dtype) - row).shape == (0, length)


def test_large_blocks_begin_huge_pages():
    below, above = weft.empty(2**18 - 2**14), weft.empty(2**18)  # just under and exactly 1 MiB
    assert below.data_ptr() % 64 == 0
    assert above.data_ptr() % 2**21 == 0
    kept = [weft.empty(n) for n in (2**18, 2**18 + 1, 2**19, 2**19 + 1, 3 * 2**18, 2**21)]
    assert all(x.data_ptr() % 2**21 == 0 for x in kept)
    ranges = sorted((x.data_ptr(), x.data_ptr() + 4 * x.numel()) for x in kept)
    assert all(end <= start for (_, end), (start, _) in zip(ranges, ranges[1:]))
    for x in kept:
        x.fill_(1)  # the whole of each is mapped
        assert float(x.sum()) == x.numel()


SMALL = 512  # elements of a result up to which a call is a small one


@pytest.mark.parametrize("rows", [0, 1, 2, SMALL // 16, SMALL // 16 + 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_small_calls_with_a_row(rows, dtype):
    x, row = values(rows, 16, dtype=dtype), values(16, dtype=dtype)
    repeated = row.expand(rows, 16).contiguous()
    assert_same_bits(x + row, x + repeated)
    assert_same_bits(row - x, repeated - x)
    assert_same_bits(row < x, repeated < x)
    assert_same_bits(weft.where(row > 0, x, row), weft.where(repeated > 0, x, repeated))
    assert_same_bits(weft.where(x > 0, row, 1), weft.where(x > 0, repeated, 1))
    cube = values(2, rows, 16, dtype=dtype)
    assert_same_bits(cube * x, cube * x.expand(2, rows, 16).contiguous())
    assert_same_bits(row * cube, row.expand(2, rows, 16).contiguous() * cube)
    assert_same_bits(
        weft.where(row > 0, x, cube), weft.where(row.expand(2, rows, 16) > 0, x.expand(2, rows, 16), cube)
    )
    assert (x + row).shape == (rows, 16) and (row * cube).shape == (2, rows, 16)


def test_small_calls_with_what_is_no_row():
    x = values(4, 4)
    column, row = values(4, 1), values(4)
    assert_same_bits(x + column, x + column.expand(4, 4).contiguous())
    assert_same_bits(column + row, column.expand(4, 4).contiguous() + row.expand(4, 4).contiguous())
    with pytest.raises((ValueError, RuntimeError)):
        x + values(2)
    with pytest.raises((ValueError, RuntimeError)):
        values(2, 4) + values(4, 2, 2)
    row += 0
    with pytest.raises((ValueError, RuntimeError)):
        row += x
    assert_same_bits(x.clone().add_(row), x + row)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("widths", [(63, 64), (64, 64), (65, 128), (1, 300), (200, 0, 300), (128,)])
def test_pieces_joined_in_order(dtype, widths):
    rows = 1 + 4096 // sum(widths)  # more elements than the short way takes
    pieces = [values(rows, width, dtype=dtype) for width in widths]
    joined = weft.cat(pieces, 1)
    at = 0
    for piece in pieces:
        assert_same_bits(joined[:, at : at + piece.shape[1]], piece)
        at += piece.shape[1]
    turned = [piece.t().contiguous().t() for piece in pieces]
    assert_same_bits(weft.cat(turned, 1), joined)
    assert_same_bits(weft.cat([piece[None] for piece in pieces], 2)[0], joined)
    assert_same_bits(weft.stack([joined, joined], 1)[:, 1], joined)
