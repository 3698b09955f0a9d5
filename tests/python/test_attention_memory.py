"""How the results of attention lie in memory: as the query does, eagerly and in graphs."""

import numpy as np
import pytest
import weft


def drawn(*sizes, dtype=weft.float32):
    return weft.tensor(np.random.default_rng(sizes).standard_normal(sizes)).to(dtype)


def in_rows(x):
    """With the heads within rows in memory."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


FOUR_SIZES = [
    (2, 3, 5, 8),
    (1, 4, 7, 6),
    (3, 1, 2, 4),
    (2, 2, 1, 8),
    (1, 1, 1, 1),
    (2, 0, 3, 4),
    (2, 3, 0, 4),
]
OTHER_ORDERS = [(0, 1, 2, 3), (1, 0, 2, 3), (2, 1, 0, 3), (1, 2, 0, 3)]


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", FOUR_SIZES, ids=str)
def test_heads_lie_within_rows(sizes, dtype):
    batch, heads, rows, size = sizes
    q, k, v = (drawn(*sizes, dtype=dtype) * i for i in (1, 0.5, 2))
    y = weft.scaled_dot_product_attention(in_rows(q), k, v)
    joined = y.transpose(1, 2).view(batch, rows, heads * size)  # a view
    for b in range(batch):
        for h in range(heads):
            alone = weft.scaled_dot_product_attention(q[b, h], k[b, h], v[b, h])
            assert alone.is_contiguous() and weft.equal(y[b, h], alone)
            assert weft.equal(joined[b, :, h * size : (h + 1) * size], alone)
    assert weft.scaled_dot_product_attention(q, in_rows(k), in_rows(v)).is_contiguous()


@pytest.mark.parametrize("order", OTHER_ORDERS, ids=str)
def test_results_lie_as_the_query(order):
    """PyTorch 2.15's strides; those of a value of another size are C order's."""
    back = [order.index(d) for d in range(4)]
    q, k, v = (drawn(*(2, 3, 5, 8)) * i for i in (1, 0.5, 2))
    given = q.permute(order).contiguous().permute(back)
    for options in ({}, {"is_causal": True}, {"attn_mask": weft.ones((5, 5), dtype=weft.bool)}):
        y = weft.scaled_dot_product_attention(given, k, v, **options)
        assert y.stride() == given.stride()
        assert weft.equal(y, weft.scaled_dot_product_attention(q, k, v, **options))
    assert weft.scaled_dot_product_attention(given, k, drawn(2, 3, 5, 9)).is_contiguous()
    assert weft.scaled_dot_product_attention(given[0, :1].expand(2, 3, 5, 8), k, v).is_contiguous()
    more = weft.scaled_dot_product_attention(given, k[None], v)  # than the query has
    assert more.shape == (1, 2, 3, 5, 8) and more.is_contiguous()
    columns = q.transpose(2, 3).contiguous().transpose(2, 3)
    assert weft.scaled_dot_product_attention(columns, k, v).is_contiguous()


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("lies", [in_rows, weft.Tensor.contiguous], ids=["in rows", "in heads"])
@pytest.mark.parametrize("sizes", FOUR_SIZES, ids=str)
def test_kernels_read_results_as_they_lie(sizes, lies, mode):
    batch, heads, rows, size = sizes
    weight = drawn(heads * size, 5)

    def attend(q, k, v, down, across):
        y = weft.scaled_dot_product_attention(q * 1.5, k, v)
        z = weft.relative_position_attention(q, k, v, down, across)
        joined = y.transpose(1, 2).reshape(batch, rows, heads * size)
        return (
            y, z, y * 2 + q, y.sum(-1), y.sum((1, 3)), joined @ weight, joined.abs().prod(-1), joined.mT.contiguous(),
            z.transpose(1, 2).reshape(batch * rows, heads * size) + 1, z.reshape(batch, -1).exp(), z.transpose(0, 1) - y.transpose(0, 1),
        )  # fmt: skip

    compiled = weft.compile(attend, fullgraph=True, mode=mode)
    for i in range(3):
        q, k, v = (drawn(*sizes) * (i + j) for j in range(3))
        operands = [lies(q), k, v, drawn(batch, heads, rows, 1), drawn(batch, heads, rows, rows)]
        expected = attend(*operands)
        for a, e in zip(compiled(*operands), expected, strict=True):
            assert a.shape == e.shape and (a.stride() == e.stride() or a.numel() == 0)
            np.testing.assert_allclose(a.numpy(), e.numpy(), rtol=2e-6, atol=2e-6)


def test_results_of_any_number_of_rows_lie_so():
    @weft.compile(fullgraph=True, dynamic=True)
    def attend(q, k, v):
        y = weft.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).flatten(2) * 2, y + 1

    for rows in (4, 9, 1, 300):
        q, k, v = (in_rows(drawn(2, 3, rows, 16)) * i for i in (1, 0.5, 2))
        y = weft.scaled_dot_product_attention(q, k, v, is_causal=True)
        joined, more = attend(q, k, v)
        assert weft.equal(joined, y.transpose(1, 2).flatten(2) * 2) and weft.equal(more, y + 1)
