"""weft.nested: each operator beside the same of each part, by itself and in compiled functions, and what is wrong."""

import numpy as np
import pytest
import weft
from support.compare import assert_same

RANDOM = np.random.default_rng(5)
F = weft.nn.functional
LENGTHS = [(2, 4, 1), (3,), (5, 0, 2), (1, 1, 1, 1), (0, 3)]


def tensor(*shape):
    return weft.from_numpy(RANDOM.standard_normal(shape).astype(np.float32))


def parts_of(lengths, *others):
    return [tensor(length, *others) for length in lengths]


OPERATIONS = {
    "a number": lambda x: x * 2 + 1,
    "reflected": lambda x: 1 - x,
    "gelu": lambda x: F.gelu(x),
    "abs": lambda x: abs(-x),
    "comparison": lambda x: (x > 0) & (x < 1),
    "where": lambda x: weft.where(x > 0, x, x * 0.1),
    "linear": lambda x: F.linear(x, WEIGHT, BIAS),
    "layer_norm": lambda x: F.layer_norm(x, (6,), BIAS6, BIAS6),
    "rms_norm": lambda x: F.rms_norm(x, (6,)),
    "softmax": lambda x: weft.softmax(x, -1),
    "dense sum": lambda x: x.sum(-1),
    "dense mean": lambda x: weft.mean(x, [-1], True),
    "dense argmax": lambda x: x.argmax(-1),
    "chunk": lambda x: weft.cat(list(weft.chunk(x, 2, -1))[::-1], -1),
    "matmul": lambda x: x @ WEIGHT.T,
    "a row": lambda x: x + BIAS6,
    "reflected rows": lambda x: (BIAS6 - x) * (BIAS6 < x),
    "dtype": lambda x: x.to(weft.float64),
    "logsumexp": lambda x: weft.logsumexp(x, [-1]),
}
WEIGHT, BIAS, BIAS6 = tensor(4, 6), tensor(4), tensor(6)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operators_are_those_of_each_part(name):
    operation = OPERATIONS[name]
    compiled = weft.compile(operation, fullgraph=True)
    for lengths in LENGTHS:
        parts = parts_of(lengths, 6)
        nested = weft.nested.nested_tensor(parts, layout=weft.jagged)
        for found in (operation(nested), compiled(nested)):
            for one, part in zip(found.unbind(), parts):
                assert_same(one, operation(part), rtol=2e-6)


RAGGED = {
    "sum": lambda x, dim: x.sum(dim),
    "mean": lambda x, dim: weft.mean(x, [dim]),
    "amax": lambda x, dim: x.amax(dim),
    "amin": lambda x, dim: x.amin(dim),
    "any": lambda x, dim: (x > 0).any(dim),
    "all": lambda x, dim: (x > 0).all(dim),
    "prod": lambda x, dim: x.prod(dim),
    "argmax": lambda x, dim: x.argmax(dim),
    "argmin": lambda x, dim: weft.argmin(x, dim),
    "var": lambda x, dim: x.var(dim, correction=0),
    "unbiased": lambda x, dim: weft.var(x, dim),
    "std": lambda x, dim: weft.std(x, [dim], unbiased=False),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
}


@pytest.mark.parametrize("name", RAGGED)
def test_reductions_over_the_ragged_dimension(name):
    for lengths in ((2, 4, 1), (3,)):
        parts = parts_of(lengths, 3, 2)
        nested = weft.nested.nested_tensor(parts)
        assert_same(RAGGED[name](nested, 1), weft.stack([RAGGED[name](part, 0) for part in parts]), rtol=2e-6)
        compiled = weft.compile(lambda x: RAGGED[name](x, 1), fullgraph=True)
        assert_same(compiled(nested), weft.stack([RAGGED[name](part, 0) for part in parts]), rtol=2e-6)
    integers = weft.nested.nested_tensor([weft.tensor([[1], [2]]), weft.tensor([[5]])])
    assert integers.sum(1).tolist() == [[3], [5]] and integers.amax(1).tolist() == [[2], [5]]


def test_reductions_over_ragged_parts_that_are_special():
    nan, inf = float("nan"), float("inf")
    parts = [[[1.0], [nan], [3.0]], [[inf], [-inf]], [[2.0], [2.0]], [[-inf], [-inf]], [[inf], [inf]]]
    parts = [weft.tensor(part) for part in parts]
    nested = weft.nested.nested_tensor(parts)
    for name, reduce in RAGGED.items():
        if name in ("any", "all"):
            continue
        compiled = weft.compile(lambda x, reduce=reduce: reduce(x, 1), fullgraph=True)
        for found in (reduce(nested, 1), compiled(nested)):
            assert_same(found, weft.stack([reduce(part, 0) for part in parts]), rtol=2e-6)
    integers = weft.nested.nested_tensor([weft.tensor([[3], [-2]]), weft.tensor([[5]])])
    assert integers.prod(1).tolist() == [[-6], [5]] and integers.prod(1).dtype == weft.int64
    assert integers.argmin(1).tolist() == [[1], [0]] and integers.argmax(1, keepdim=True).tolist() == [
        [[0]],
        [[0]],
    ]
    empty = weft.nested.nested_tensor([weft.zeros(0, 2), weft.ones(3, 2)])
    assert empty.prod(1).tolist() == [[1, 1], [1, 1]]
    assert np.isnan(empty.var(1).numpy()[0]).all() and (empty.var(1).numpy()[1] == 0).all()
    assert empty.logsumexp(1).tolist()[0] == [-inf, -inf]
    with pytest.raises(ValueError, match="argmax: a part of the nested tensor has no elements"):
        empty.argmax(1)


def test_softmax_over_the_ragged_dimension():
    parts = parts_of((2, 5, 1), 3)
    nested = weft.nested.nested_tensor(parts)
    for operator in (weft.softmax, weft.log_softmax):
        compiled = weft.compile(lambda x, operator=operator: operator(x, 1), fullgraph=True)
        for found in (operator(nested, 1), compiled(nested)):
            for one, part in zip(found.unbind(), parts):
                assert_same(one, operator(part, 0), rtol=2e-6)


def test_padding():
    for lengths in LENGTHS:
        parts = parts_of(lengths, 2)
        nested = weft.nested.nested_tensor(parts)
        expected = np.full((len(parts), max(lengths), 2), -1, np.float32)
        for row, part in zip(expected, parts):
            row[: part.shape[0]] = part.numpy()
        assert_same(nested.to_padded_tensor(-1.0), weft.from_numpy(expected), rtol=2e-6)
        larger = nested.to_padded_tensor(-1.0, (len(parts) + 1, max(lengths) + 2, 3))
        assert_same(larger[: len(parts), : max(lengths), :2], weft.from_numpy(expected), rtol=2e-6)
        assert (larger[len(parts) :] == -1).all().item() and (larger[:, :, 2:] == -1).all().item()
        compiled = weft.compile(lambda x: (x + 1).to_padded_tensor(0.0), fullgraph=True)
        assert_same(compiled(nested), (nested + 1).to_padded_tensor(0.0), rtol=2e-6)
    with pytest.raises(ValueError, match=r"at least \(2, 3, 2\), got \(2, 2, 2\)"):
        nested.to_padded_tensor(0.0, (2, 2, 2))
    swapped = nested.transpose(1, 2)
    assert_same(swapped.to_padded_tensor(-1.0), nested.to_padded_tensor(-1.0).transpose(1, 2), rtol=2e-6)


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(is_causal):
    def function(x, y):
        q, k = (one.unflatten(-1, [2, 4]).transpose(1, 2) for one in (x, y))
        out = F.scaled_dot_product_attention(q, k, k * 2, is_causal=is_causal)
        return out.transpose(1, 2).flatten(2, 3)

    compiled = weft.compile(function, fullgraph=True)
    for lengths, others in (((2, 4, 1), None), ((3,), (5,)), ((5, 3), (2, 7)), ((1, 17), (33, 2))):
        parts = parts_of(lengths, 8)
        keys = parts if others is None else parts_of(others, 8)
        nested = weft.nested.nested_tensor(parts)
        beside = nested if others is None else weft.nested.nested_tensor(keys)
        for found in (function(nested, beside), compiled(nested, beside)):
            for one, q, k in zip(found.unbind(), parts, keys):
                q, k = (part.reshape(1, part.shape[0], 2, 4).transpose(1, 2) for part in (q, k))
                out = weft.scaled_dot_product_attention(q, k, k * 2, is_causal=is_causal)
                assert_same(one, out.transpose(1, 2).reshape(one.shape[0], 8), rtol=1e-5)


@pytest.mark.parametrize("sizes", [(3, 2, 5, 7), (1, 1, 5, 7), (5, 7), (3, 1, 1, 7), (2, 5, 1)])
def test_attention_with_masks(sizes):
    def heads(x):
        return x.unflatten(-1, [2, 4]).transpose(1, 2)

    def function(x, y, mask):
        return F.scaled_dot_product_attention(heads(x), heads(y), heads(y * 2), attn_mask=mask)

    queries, keys = parts_of((5, 1, 3), 8), parts_of((2, 7, 4), 8)
    x, y = weft.nested.nested_tensor(queries), weft.nested.nested_tensor(keys)
    for mask in (tensor(*sizes), tensor(*sizes) > -1):
        if mask.dtype == weft.bool:
            mask[..., 0] = True  # a row that sees nothing is no row's
        compiled = weft.compile(function, fullgraph=True)
        whole = mask.reshape([1] * (4 - len(sizes)) + list(sizes)).expand(3, 2, 5, 7)
        for found in (function(x, y, mask), compiled(x, y, mask)):
            for i, (one, q, k) in enumerate(zip(found.unbind(), queries, keys)):
                q, k = (part.reshape(1, part.shape[0], 2, 4).transpose(1, 2) for part in (q, k))
                own = whole[i : i + 1, :, : q.shape[2], : k.shape[2]]
                assert_same(one, weft.scaled_dot_product_attention(q, k, k * 2, own)[0], rtol=1e-5)


def test_wrong_masks_of_attention():
    x = weft.nested.nested_tensor(parts_of((3, 2), 2, 4)).transpose(1, 2)
    attend = F.scaled_dot_product_attention
    with pytest.raises(ValueError, match=r"broadcast to \[2, 2, 3, 3\], got \[2, 3\]"):
        attend(x, x, x, attn_mask=weft.ones(2, 3))
    with pytest.raises(ValueError, match="either attn_mask or is_causal"):
        attend(x, x, x, attn_mask=weft.ones(3, 3), is_causal=True)
    with pytest.raises(TypeError, match="is a tensor as they are padded"):
        attend(x, x, x, attn_mask=x)


def test_made_of_jagged():
    values = weft.arange(10.0).reshape(5, 2)
    offsets = weft.tensor([0, 2, 2, 5])
    nested = weft.nested.nested_tensor_from_jagged(values, offsets)
    assert [len(part) for part in nested.unbind()] == [2, 0, 3] and nested.offsets() is offsets
    assert nested.values() is values
    again = weft.nested.nested_tensor_from_jagged(values, lengths=weft.tensor([2, 0, 3]))
    assert again.offsets().tolist() == offsets.tolist()
    gaps = weft.nested.nested_tensor_from_jagged(values, weft.tensor([0, 2, 5]), lengths=weft.tensor([1, 2]))
    assert gaps.tolist() == [values[:1].tolist(), values[2:4].tolist()]
    second = weft.nested.nested_tensor_from_jagged(values.T, offsets, jagged_dim=2)
    assert second.shape == (3, 2, second.size(2)) and second.size(2) == nested.size(1) != again.size(1)
    assert_same(second.unbind()[2], values.T[:, 2:], rtol=2e-6)
    beside = weft.nested.nested_tensor_from_jagged(values * 2, offsets)
    assert (nested + beside).tolist() == (nested * 3).tolist()


def test_wrong_offsets_and_lengths():
    values, make = weft.ones(5, 2), weft.nested.nested_tensor_from_jagged
    for call, error, message in (
        (lambda: make(values), ValueError, "offsets or lengths are needed"),
        (
            lambda: make(values, weft.tensor([0, 3, 2, 5])),
            ValueError,
            r"offsets\[2\] is 2, less than offsets\[1\], 3",
        ),
        (lambda: make(values, weft.tensor([1, 5])), ValueError, r"expected 0 first, got \[1\]"),
        (lambda: make(values, weft.tensor([0, 7])), ValueError, "the last one is 7, values have 5 rows"),
        (lambda: make(values, weft.tensor([0, 3])), ValueError, "the last one is 3, and values have 5 rows"),
        (lambda: make(values, weft.zeros(0, dtype=weft.int64)), ValueError, "expected 0 first"),
        (lambda: make(values, weft.tensor([0.0, 5.0])), TypeError, "offsets: expected int64, got"),
        (lambda: make(values, weft.tensor([[0, 5]])), TypeError, "one dimension"),
        (lambda: make(values, [0, 5]), TypeError, "offsets: expected a tensor"),
        (lambda: make(values, lengths=weft.tensor([-1, 6])), ValueError, r"lengths\[0\] is -1"),
        (lambda: make(values, lengths=weft.tensor([3, 3])), ValueError, "the last one is 6, values have 5"),
        (
            lambda: make(values, weft.tensor([0, 2, 5]), weft.tensor([3, 1])),
            ValueError,
            r"lengths\[0\] is 3.* leave 2",
        ),
        (lambda: make(values, weft.tensor([0, 2, 5]), weft.tensor([1])), ValueError, "expected 2, got 1"),
        (lambda: make(values, weft.tensor([0, 2, 5]), max_seqlen=2), ValueError, "at least 3, got 2"),
        (lambda: make(values, weft.tensor([0, 5]), jagged_dim=3), ValueError, "expected 1 to 2, got 3"),
        (lambda: make(weft.tensor(1.0), weft.tensor([0, 5])), TypeError, r"a tensor \[total"),
        (lambda: weft.nested.nested_tensor([weft.tensor(1.0)]), ValueError, "at least 1"),
        (lambda: weft.nested.nested_tensor([weft.ones(1), weft.tensor([1])]), TypeError, "one dtype"),
        (lambda: weft.nested.narrow(values, 1, 1, 2), ValueError, "rows 1 to 3 of 2"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_indexing():
    parts = parts_of((2, 4, 1), 3, 2)
    nested = weft.nested.nested_tensor(parts)
    assert_same(nested[1], parts[1], rtol=2e-6)
    assert_same(nested[-1], parts[-1], rtol=2e-6)
    assert_same(nested[1, 2], parts[1][2], rtol=2e-6)
    assert_same(nested[..., 0].unbind()[1], parts[1][..., 0], rtol=2e-6)
    assert_same(nested[:, :, 1:].unbind()[0], parts[0][:, 1:], rtol=2e-6)
    assert_same(nested[:, :, 1, 0].unbind()[1], parts[1][:, 1, 0], rtol=2e-6)
    assert [len(part) for part in nested[1:]] == [4, 1] and [len(part) for part in nested[::-2]] == [1, 2]
    for index, error in (
        (3, IndexError),
        ((0, 0, 0, 0, 0), IndexError),
        ((slice(None), 1), ValueError),
        ("a", TypeError),
    ):
        with pytest.raises(error):
            nested[index]
    assert weft.cat([nested, nested]).shape[0] == 6
    assert_same(weft.cat([nested, nested], 1)[1], weft.cat([parts[1], parts[1]]), rtol=2e-6)
    assert_same(weft.stack([nested, nested], 2)[0], weft.stack([parts[0], parts[0]], 1), rtol=2e-6)


def test_graphs_take_other_ragged_sizes_as_they_are():
    def function(nested, dense):
        return (nested * 2 + dense).sum(1)

    compiled = weft.compile(function, fullgraph=True)
    before = weft.compiler.stats()["recompiles"]
    for lengths in ((2, 3), (4, 5), (1, 7), (6, 2)):
        nested, dense = weft.nested.nested_tensor(parts_of(lengths, 3)), tensor(2, 1, 3)
        assert_same(compiled(nested, dense), function(nested, dense), rtol=2e-6)
    assert weft.compiler.stats()["recompiles"] == before + 1  # from the second on, whatever they are
