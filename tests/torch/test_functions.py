"""The functions of weft.torch: results, kinds of results, and wrong arguments, each against PyTorch's rules."""

import math

import pytest
import weft
import weft.torch as torch

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
REAL = [*FLOATS, torch.int64, torch.int32, torch.uint8]


def assert_values(value, expected):
    assert value.tolist() == expected


def compiled(function, *args):
    """What the compiled function gives."""
    return weft.compile(function, fullgraph=True)(*args)


X = torch.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])


# ---- extremes and order --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*REAL, torch.bool])
def test_max_and_min_have_dtype_and_names(dtype):
    x = torch.tensor([[0, 1, 1], [1, 0, 0]]).to(dtype)
    values, indices = torch.max(x, 1)
    assert values.dtype == dtype and indices.dtype == torch.int64
    assert_values(indices, [1, 0])
    assert_values(torch.min(x, dim=0, keepdim=True).indices, [[0, 1, 1]])
    assert torch.max(x).dtype == dtype and torch.max(x).dim() == 0


@pytest.mark.parametrize(
    ("numpys", "expected"),
    [
        (lambda x: x.all(axis=1), lambda x: x.all(1)),
        (lambda x: x.any(axis=0, keepdims=True), lambda x: x.any(0, True)),
        (lambda x: x.max(axis=1).values, lambda x: x.max(1).values),
        (lambda x: x.min(axis=1, keepdims=True)[1], lambda x: x.min(1, True)[1]),
        (lambda x: x.sort(axis=0)[0], lambda x: x.sort(0)[0]),
        (lambda x: x.median(axis=1)[0], lambda x: x.median(1)[0]),
        (lambda x: torch.logsumexp(x, axis=1), lambda x: torch.logsumexp(x, 1)),
        (lambda x: torch.softmax(x, axis=1), lambda x: torch.softmax(x, 1)),
        (lambda x: x.log_softmax(axis=0), lambda x: x.log_softmax(0)),
        (lambda x: torch.var_mean(x, axis=0)[1], lambda x: x.mean(0)),
        (lambda x: x.gather(axis=1, index=torch.tensor([[0]])), lambda x: x[:1, :1]),
        (lambda x: x.index_select(axis=0, index=torch.tensor([1])), lambda x: x[1:]),
        (lambda x: x.unfold(dimension=1, size=2, step=1), lambda x: x.unfold(1, 2, 1)),
        (lambda x: torch.mul(x1=x, x2=x), lambda x: x * x),
        (lambda x: x.reshape(torch.tensor(6) // 2, -1), lambda x: x.reshape(3, 2)),
        (lambda x: torch.zeros(torch.tensor(2), 3), lambda x: torch.zeros(2, 3)),
        (lambda x: torch.arange(end=torch.tensor(3)), lambda x: torch.arange(3)),
    ],
)
def test_numpys_names_and_sizes_that_are_tensors(numpys, expected):
    assert torch.equal(numpys(X), expected(X))
    torch.testing.assert_close(weft.compile(numpys)(X), expected(X))


def test_max_forms():
    assert_values(torch.max(X, torch.tensor(3.5)), [[3.5, 3.5, 3.5], [4.0, 6.0, 5.0]])
    assert_values(torch.max(X, other=X), X.tolist())
    assert type(torch.max(X, 0)).__name__ == "max"
    assert repr(torch.min(torch.tensor([1, 2]), 0)) == (
        "torch.return_types.min(\nvalues=tensor(1),\nindices=tensor(0))"
    )
    assert_values(torch.max(torch.tensor(2.0), 0).values, 2.0)
    assert math.isnan(torch.max(torch.tensor([1.0, float("nan")])))
    out = torch.empty(2), torch.empty(2, dtype=torch.int64)
    torch.max(X, 1, out=out)
    assert_values(out[0], [3.0, 6.0])
    assert compiled(lambda x: torch.max(x, 1).indices, X).tolist() == [0, 1]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: torch.max(torch.empty(0)), RuntimeError),
        (lambda: torch.max(torch.empty(0, 2), 0), IndexError),
        (lambda: torch.max(X, 2), IndexError),
        (lambda: torch.max(X, "a"), TypeError),
        (lambda: torch.max(3), TypeError),
        (lambda: torch.quantile(X, 2.0), RuntimeError),
        (lambda: torch.quantile(torch.tensor([1]), 0.5), RuntimeError),
        (lambda: torch.clamp(X), RuntimeError),
        (lambda: torch.sub(torch.tensor(True), torch.tensor(True)), RuntimeError),
        (lambda: torch.add(torch.tensor([1]), torch.tensor([1]), alpha=0.5), RuntimeError),
        (lambda: torch.isclose(X, X.double()), RuntimeError),
        (lambda: torch.mv(X, X), RuntimeError),
        (lambda: torch.view_as_complex(X), RuntimeError),
        (lambda: torch.scatter(X, 0, torch.tensor([[0.0]]), X), RuntimeError),
        (lambda: torch.scatter_reduce(X, 0, torch.zeros(2, 3, dtype=torch.int64), X, "median"), RuntimeError),
        (lambda: torch.combinations(X), RuntimeError),
        (lambda: torch.diagonal_scatter(X, X), RuntimeError),
        (lambda: torch.where(X, X), TypeError),
        (lambda: torch.constant_pad_nd(X, (1,)), RuntimeError),
        (lambda: torch.lstsq(X, X), RuntimeError),
        (lambda: torch.vmap(torch.sin)(), ValueError),
        (lambda: torch.vmap(torch.mul)(X, X.t()), ValueError),
        (lambda: torch.set_float32_matmul_precision("low"), RuntimeError),
        (lambda: torch.tensor_split(X, 0), RuntimeError),
        (lambda: torch.hsplit(X, 2), RuntimeError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()


def test_mode_median_kthvalue_aminmax():
    assert torch.mode(torch.tensor([1, 2, 2, 1, 3, 1, 2])) == (torch.tensor(1), torch.tensor(5))
    assert_values(torch.mode(torch.tensor([[1, 1, 2], [3, 2, 2]]), 0, True).values, [[1, 1, 2]])
    assert_values(torch.nanmedian(torch.tensor([float("nan"), 3.0, 1.0, 2.0])), 2.0)
    assert_values(torch.median(torch.tensor([3, 1, 2, 4])), 2)
    assert math.isnan(torch.median(torch.empty(0)))
    low, high = torch.aminmax(X, dim=1)
    assert_values(low, [1.0, 4.0])
    assert_values(high, [3.0, 6.0])
    assert_values(torch.msort(torch.tensor([[2, 1], [1, 3]])), [[1, 1], [2, 3]])
    assert compiled(lambda x: torch.mode(x, 1)[0], torch.tensor([[1, 1, 2], [3, 2, 2]])).tolist() == [1, 2]


@pytest.mark.parametrize(
    "how, expected", [("linear", 1.5), ("lower", 1.0), ("higher", 2.0), ("midpoint", 1.5), ("nearest", 2.0)]
)
def test_quantile(how, expected):
    x = torch.tensor([3.0, 0.0, 1.0, 2.0])
    assert_values(torch.quantile(x, 0.5, interpolation=how), expected)
    assert torch.quantile(X, torch.tensor([0.25, 0.5]), dim=1, keepdim=True).shape == (2, 2, 1)
    assert math.isnan(torch.quantile(torch.tensor([1.0, float("nan")]), 0.5))
    assert_values(torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5), 2.0)
    assert_values(compiled(lambda x: torch.quantile(x, 0.5), x), 1.5)


def test_moments_and_integrals():
    deviation, mean = torch.std_mean(X, 1, unbiased=False)
    assert_values(mean, [2.0, 5.0])
    assert torch.allclose(deviation, torch.tensor([(2 / 3) ** 0.5] * 2))
    assert torch.allclose(torch.var_mean(X)[0], torch.var(X))
    assert_values(torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])), [[1.0, -1.0], [-1.0, 1.0]])
    assert_values(
        torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])), [[1.0, -1.0], [-1.0, 1.0]]
    )
    weights = torch.tensor([1, 2, 1])
    assert_values(torch.cov(torch.tensor([0.0, 1.0, 2.0]), fweights=weights, correction=0), 0.5)
    assert_values(torch.trapezoid(torch.tensor([1, 5, 10])), 10.5)
    assert_values(
        torch.cumulative_trapezoid(torch.tensor([1.0, 5.0, 10.0]), torch.tensor([1.0, 3.0, 6.0])), [6.0, 28.5]
    )
    assert_values(torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))[0], [3.0, 4.0, 6.0, 7.0])
    second = torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]), edge_order=2)[0]
    assert_values(second, [2.0, 4.0, 6.0, 8.0])
    assert_values(torch.hash_tensor(torch.tensor([1, 2, 4])), 7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logcumsumexp(dtype):
    x = torch.tensor([[0.0, 1000.0, -1000.0, float("-inf")]], dtype=dtype)
    assert_values(torch.logcumsumexp(x, 1), [[0.0, 1000.0, 1000.0, 1000.0]])
    low = torch.full((3,), float("-inf"), dtype=dtype)
    assert_values(torch.logcumsumexp(low, 0), [float("-inf")] * 3)
    expected = torch.log(torch.cumsum(torch.exp(X.to(dtype)), 1))
    assert torch.allclose(torch.logcumsumexp(X.to(dtype), 1), expected)
    assert torch.allclose(compiled(lambda x: torch.logcumsumexp(x, 1), X.to(dtype)), expected)
    assert math.isnan(torch.logcumsumexp(torch.tensor([float("nan"), 1.0]), 0)[1])


def test_norms():
    assert_values(torch.norm(torch.tensor([3.0, 4.0])), 5.0)
    assert_values(torch.norm(X, p=1, dim=1), [6.0, 15.0])
    assert_values(torch.norm(X, float("inf")), 6.0)
    assert_values(torch.dist(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0])), 5.0)
    assert_values(torch.frobenius_norm(torch.tensor([[3.0], [4.0]]), (0, 1)), 5.0)
    assert torch.allclose(torch.nuclear_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]])), torch.tensor(7.0))
    assert_values(torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 1.0]])), [[5.0], [1.0]])
    assert torch.allclose(
        torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)[0], torch.tensor([0.6, 0.8])
    )


def test_truth_over_no_dimension():
    assert_values(torch.any(torch.tensor([0, 2]), ()), [False, True])
    assert torch.all(torch.tensor([1, 0], dtype=torch.uint8)).dtype == torch.uint8


# ---- shapes --------------------------------------------------------------------------------------------------


def test_joining_and_splitting():
    assert_values(torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3)), [[1, 2, 0], [0, 0, 3]])
    assert_values(
        torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])), [[1, 3], [1, 4], [2, 3], [2, 4]]
    )
    assert_values(torch.combinations(torch.tensor([1, 2, 3])), [[1, 2], [1, 3], [2, 3]])
    assert torch.combinations(torch.tensor([1, 2, 3]), with_replacement=True).shape == (6, 2)
    parts = torch.tensor_split(X, (1, 2), dim=1)
    assert isinstance(parts, tuple) and [tuple(part.shape) for part in parts] == [(2, 1)] * 3
    assert [tuple(part.shape) for part in torch.split(X, [1, 2], 1)] == [(2, 1), (2, 2)]
    assert len(torch.hsplit(X, 3)) == 3 and len(torch.vsplit(X, indices=[1])) == 2
    both = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
    assert isinstance(both, tuple) and both[1].shape == (2, 3)
    assert isinstance(torch.atleast_2d(torch.tensor(1), torch.tensor(2)), tuple)
    assert torch.atleast_3d(torch.tensor(1)).shape == (1, 1, 1)


@pytest.mark.parametrize("offset", [-1, 0, 2])
@pytest.mark.parametrize("dims", [(-2, -1), (0, 1), (1, 0), (0, 2)])
def test_diag_embed_is_what_diagonal_reads(offset, dims):
    x = torch.tensor([[1, 2], [3, 4]])
    embedded = torch.diag_embed(x, offset, *dims)
    assert torch.equal(torch.diagonal(embedded, offset, *dims), x)
    assert int(embedded.sum()) == 10


def test_copies_are_no_views():
    x = torch.zeros(2, 3)
    for copy in (
        torch.t_copy(x),
        torch.flip(x, (0,)),
        torch.select_copy(x, 0, 0),
        torch.unbind_copy(x)[0],
        torch.slice_copy(x, 1, 0, 2),
        torch.select_scatter(x, torch.ones(3), 0, 0),
        torch.slice_scatter(x, torch.ones(1, 3), 0, 0, 1),
        torch.diagonal_scatter(x, torch.ones(2)),
        torch.rot90(x),
        torch.diag(x),
    ):
        copy.fill_(5.0)
    assert_values(x, [[0.0] * 3] * 2)
    assert torch.rot90(x).stride() == (1, 3) and torch.flip(x, (1,)).stride() == (3, 1)


def test_complex_views_and_parts():
    z = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0]))
    assert_values(torch.view_as_real(z), [[1.0, 3.0], [2.0, -4.0]])
    assert torch.equal(torch.view_as_complex(torch.view_as_real(z)), z)
    assert torch.adjoint(z.reshape(1, 2)).shape == (2, 1)
    assert_values(torch.angle(torch.tensor([-1.0, 0.0, -0.0])), [torch.tensor(math.pi).item(), 0.0, 0.0])
    with pytest.raises(RuntimeError):
        torch.imag(torch.ones(1))


def test_indices_of_triangles():
    assert_values(torch.tril_indices(2, 3, 1), [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]])
    assert_values(torch.triu_indices(2, 2), [[0, 0, 1], [0, 1, 1]])
    assert torch.tril_indices(0, 3).shape == (2, 0)
    assert_values(torch.unravel_index(torch.tensor([5, 7]), (2, 4))[1], [1, 3])


def test_einsum_by_subscripts():
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(3, 2)
    assert torch.equal(torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
    assert torch.equal(torch.tensordot(a, b, dims=([1], [0])), a @ b)


LONG, HALF = torch.arange(3), torch.tensor([0.5, 2.0], dtype=torch.float16)


@pytest.mark.parametrize(
    ("equation", "operands", "dtype"),
    [
        ("i, j -> i j", (LONG, X[0]), torch.float32),
        ("i, j -> i j", (LONG, HALF), torch.float16),
        ("i, j", (X[0].double(), X[0]), torch.float64),
        ("ij, j -> ij", (X, LONG), torch.float32),
        ("ij, k -> k", (X > 2, LONG), torch.int64),
        ("ij, ij -> i", (X[:, :1], LONG.reshape(1, 3)), torch.float32),
        ("..., i -> ... i", (X, HALF), torch.float32),
    ],
)
def test_einsum_of_several_dtypes(equation, operands, dtype):
    expected = torch.einsum(equation, *(x.double() for x in operands))
    result = torch.einsum(equation, *operands)
    assert result.dtype == dtype and torch.equal(result, expected.to(dtype))
    result = compiled(lambda *given: torch.einsum(equation, *given), *operands)
    assert result.dtype == dtype and torch.equal(result, expected.to(dtype))


@pytest.mark.parametrize("equation", ["ij, j -> i", "ij, j", "ij, j, k -> ik"])
def test_einsum_contracts_one_dtype_only(equation):
    operands = [X, LONG, X[0]][: equation.count(",") + 1]
    with pytest.raises(RuntimeError, match="expected scalar type torch.float32 but found torch.int64"):
        torch.einsum(equation, *operands)
    with torch.autocast("cpu"):
        torch.einsum("ij, j -> i", X, X[0].bfloat16())


# ---- indexing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bfloat16])
@pytest.mark.parametrize(
    "reduce, with_self, without",
    [
        ("sum", [11.0, 22.0, 3.0], [10.0, 20.0, 3.0]),
        ("prod", [24.0, 192.0, 3.0], [24.0, 96.0, 3.0]),
        ("amax", [6.0, 12.0, 3.0], [6.0, 12.0, 3.0]),
        ("amin", [1.0, 2.0, 3.0], [4.0, 8.0, 3.0]),
        ("mean", [11 / 3, 22 / 3, 3.0], [5.0, 10.0, 3.0]),
    ],
)
def test_scatter_reduce(dtype, reduce, with_self, without):
    x = torch.tensor([1, 2, 3]).to(dtype)
    index = torch.tensor([0, 0, 1, 1])
    source = torch.tensor([4, 6, 8, 12]).to(dtype)

    def rounded(values):
        exact = [math.floor(value) if dtype == torch.int64 else value for value in values]
        return torch.tensor(exact, dtype=dtype)

    assert torch.equal(torch.scatter_reduce(x, 0, index, source, reduce), rounded(with_self))
    assert torch.equal(
        torch.scatter_reduce(x, 0, index, source, reduce, include_self=False), rounded(without)
    )
    if reduce != "sum":
        assert torch.equal(torch.index_reduce(x, 0, index, source, reduce), rounded(with_self))
    if reduce == "prod":
        assert torch.equal(
            compiled(lambda a, i, b: torch.scatter_reduce(a, 0, i, b, "prod"), x, index, source),
            rounded(with_self),
        )


def test_scatter_forms():
    x = torch.zeros(2, 3)
    index = torch.tensor([[0, 1, 0]])
    assert_values(torch.scatter(x, 0, index, 2.0), [[2.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    assert_values(torch.scatter(x, 0, index, value=2.0), [[2.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    assert_values(torch.scatter(x + 3, 0, index, X, reduce="multiply")[0], [9.0, 3.0, 6.0])
    assert_values(torch.scatter_add(x, 0, index, X)[1], [0.0, 1.0, 0.0])
    assert torch.equal(torch.scatter(x, 1, torch.empty(0, 3, dtype=torch.int64), X), x)
    assert_values(
        torch.put(torch.zeros(3), torch.tensor([2, 0, 2]), torch.tensor([1.0, 2.0, 3.0]), True),
        [2.0, 0.0, 4.0],
    )
    assert_values(
        torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([7.0, 8.0])),
        [7.0, 0.0, 8.0],
    )
    assert_values(torch.index_put(torch.zeros(3), (torch.tensor([1]),), torch.tensor([4.0])), [0.0, 4.0, 0.0])
    assert_values(torch.index_fill(torch.zeros(3), 0, torch.tensor([1]), torch.tensor(4.0)), [0.0, 4.0, 0.0])


def test_where_and_nonzero():
    condition = torch.tensor([True, False, True])
    assert_values(torch.where(condition, 1, 0), [1, 0, 1])
    assert_values(torch.where(condition, torch.tensor([1.5, 2.5, 3.5]), 0), [1.5, 0.0, 3.5])
    (positions,) = torch.where(condition)
    assert_values(positions, [0, 2])
    assert torch.nonzero(X).stride() == (1, 6)
    assert torch.nonzero(torch.tensor(5), as_tuple=True)[0].tolist() == [0]
    assert_values(torch.nonzero_static(condition, size=3, fill_value=-1), [[0], [2], [-1]])


def test_sets():
    x = torch.tensor([3, 1, 1, 2, 3])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert_values(values, [1, 2, 3])
    assert_values(inverse, [2, 0, 0, 1, 2])
    assert_values(counts, [2, 1, 2])
    assert_values(torch.unique(torch.tensor([[2, 1], [1, 1], [2, 1]]), dim=0), [[1, 1], [2, 1]])
    values, counts = torch.unique_consecutive(x, return_counts=True)
    assert_values(values, [3, 1, 2, 3])
    assert_values(counts, [1, 2, 1, 1])
    assert torch.unique(torch.empty(0)).shape == (0,)
    assert_values(torch.isin(x, torch.tensor([1, 2])), [False, True, True, True, False])
    assert_values(torch.isin(x, 3, invert=True), [False, True, True, True, False])
    assert_values(torch.isin(x, torch.arange(2, 40)), [True, False, False, True, True])


def test_searching_and_histograms():
    edges = torch.tensor([1, 3, 5])
    assert torch.searchsorted(edges, torch.tensor([3, 6]), out_int32=True).dtype == torch.int32
    assert_values(torch.searchsorted(edges, torch.tensor([3, 6]), side="right"), [2, 3])
    assert_values(torch.searchsorted(edges, 3), 1)
    assert_values(torch.bucketize(torch.tensor([[0, 3], [4, 9]]), edges), [[0, 1], [2, 3]])
    hist, bins = torch.histogram(
        torch.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0), weight=torch.tensor([1.0, 2.0, 4.0])
    )
    assert_values(hist, [0.0, 5.0, 2.0, 0.0])
    assert_values(bins, [0.0, 0.75, 1.5, 2.25, 3.0])
    result = torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]]), bins=[3, 3])
    assert_values(result.hist, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    assert isinstance(result.bin_edges, tuple)
    assert torch.bincount(torch.tensor([1, 1]), torch.tensor([0.5, 0.5])).dtype == torch.float32


# ---- arithmetic ----------------------------------------------------------------------------------------------


def test_older_forms():
    assert_values(torch.add(torch.tensor([1]), 2, torch.tensor([3])), [7])
    assert_values(torch.sub(torch.tensor([1]), torch.tensor([3]), alpha=2), [-5])
    assert_values(torch.addcmul(torch.tensor([1.0]), 2, torch.tensor([3.0]), torch.tensor([4.0])), [25.0])
    assert_values(torch.rsub(torch.tensor([1, 2]), 5, alpha=2), [3, 1])
    assert torch.add(torch.tensor([1], dtype=torch.uint8), 1).dtype == torch.uint8


@pytest.mark.parametrize("dtype", FLOATS)
def test_frexp(dtype):
    x = torch.tensor([0.0, 1.0, -3.0, 10.0, float("inf"), 0.125]).to(dtype)
    mantissa, exponent = torch.frexp(x)
    assert mantissa.dtype == dtype and exponent.dtype == torch.int32
    assert_values(exponent, [0, 1, 2, 4, 0, -2])
    assert_values(mantissa.to(torch.float32), [0.0, 0.5, -0.75, 0.625, float("inf"), 0.5])
    assert_values(compiled(lambda x: torch.frexp(x)[1], x), [0, 1, 2, 4, 0, -2])


def test_frexp_of_subnormals():
    for dtype, value in ((torch.float32, 2.0**-149), (torch.float64, 2.0**-1074)):
        mantissa, exponent = torch.frexp(torch.tensor([value], dtype=dtype))
        assert (mantissa.item(), exponent.item()) == math.frexp(value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_nextafter_of_halves(dtype):
    one = torch.tensor([1.0]).to(dtype)
    up = torch.nextafter(one, torch.tensor([2.0]).to(dtype))
    assert up.dtype == dtype and up.item() == 1 + (2.0**-10 if dtype == torch.float16 else 2.0**-7)
    assert torch.nextafter(torch.zeros(1).to(dtype), one).item() > 0


def test_products():
    m, v = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, -1.0])
    assert_values(torch.mv(m, v), [-1.0, -1.0])
    assert_values(torch.addmv(v, m, v, beta=2, alpha=3), [-1.0, -5.0])
    assert_values(torch.addr(torch.ones(2, 2), v, v), [[2.0, 0.0], [0.0, 2.0]])
    assert_values(torch.addmm(torch.full((2, 2), float("nan")), m, m, beta=0), (m @ m).tolist())
    batch = torch.stack([m, m])
    assert torch.equal(torch.addbmm(torch.zeros(2, 2), batch, batch), 2 * (m @ m))
    assert torch.equal(torch.baddbmm(batch, batch, batch, alpha=2), batch + 2 * (batch @ batch))
    assert_values(torch.pdist(torch.tensor([[0.0], [3.0], [7.0]])), [3.0, 7.0, 4.0])
    assert_values(torch.ger(v, v), [[1.0, -1.0], [-1.0, 1.0]])


def test_bounds_and_comparison():
    assert_values(torch.clamp(torch.tensor([1, 5, 9]), torch.tensor([2, 2, 2]), 7), [2, 5, 7])
    assert_values(torch.clamp_min(torch.tensor([1, 5]), 3), [3, 5])
    assert torch.clamp(torch.tensor([1]), 0.5).dtype == torch.float32
    assert torch.allclose(
        torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")]), equal_nan=True
    )
    assert torch.is_nonzero(torch.tensor([2])) and not torch.is_conj(X)
    assert_values(
        torch.heaviside(torch.tensor([float("nan"), 0.0, 1.0]), torch.tensor([0.5])), [0.0, 0.5, 1.0]
    )
    assert_values(torch.nan_to_num(torch.tensor([float("nan"), 1.0]), nan=2), [2.0, 1.0])


def test_in_place_functions():
    x = torch.tensor([-1.5, 2.5])
    assert torch.abs_(x) is x
    assert_values(x, [1.5, 2.5])
    torch.reciprocal_(x)
    assert x[0].item() == pytest.approx(1 / 1.5)
    with pytest.raises(TypeError):
        torch.abs_(3)


# ---- layers --------------------------------------------------------------------------------------------------


def test_losses_give_each_loss_by_default():
    x, y = torch.tensor([[0.5, -1.0]]), torch.tensor([[1.0, 0.0]])
    assert torch.binary_cross_entropy_with_logits(x, y).shape == (1, 2)
    assert torch.kl_div(x, y, 1).dim() == 0
    assert torch.margin_ranking_loss(x, y, y, 0.5, 2).dim() == 0


def test_native_normalizations():
    x = torch.arange(6.0).reshape(2, 3)
    result, mean, deviation = torch.native_layer_norm(x, [3], None, None, 1e-5)
    assert_values(mean, [[1.0], [4.0]])
    assert torch.allclose(result, (x - mean) * deviation)
    assert torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[1].tolist() == [1.5, 2.5, 3.5]
    assert torch.native_dropout(x, 0.5, False)[1].dtype == torch.bool


def test_pooling_pads_and_embeddings():
    values, indices = torch.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 2.0]]), 1)
    assert values.tolist() == [[3.0]] and indices.tolist() == [[1]]
    assert_values(torch.constant_pad_nd(torch.tensor([[1, 2]]), (1, -1), 9), [[9, 1]])
    assert_values(torch.avg_pool1d(torch.tensor([[1, 4]]), 2), [[2]])
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert_values(torch.embedding(weight, torch.tensor([2, 0])), [[5.0, 6.0], [1.0, 2.0]])
    bags = torch.embedding_bag(weight, torch.tensor([0, 1, 2]), torch.tensor([0, 2]))
    assert_values(bags[0], [[4.0, 6.0], [5.0, 6.0]])
    result = torch.conv_tbc(torch.ones(3, 2, 4), torch.ones(2, 4, 5), torch.zeros(5))
    assert result.shape == (2, 2, 5) and result[0, 0, 0].item() == 8.0
    assert_values(
        torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([1, 2])), [1.0, 5.0]
    )
    assert_values(
        torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "max", offsets=torch.tensor([0, 0, 3])),
        [float("-inf"), 3.0],
    )


# ---- settings, vmap -------------------------------------------------------------------------------------------


def test_settings():
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.get_deterministic_debug_mode() == 1
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    assert torch.sym_max(3, 4.0) == 4.0 and torch.sym_int(2.7) == 2 and torch.sym_sum([1, 2]) == 3
    assert torch.get_device(X) == -1
    torch._assert(True, "not raised")
    with pytest.raises(AssertionError, match="said"):
        torch._assert(False, "said")


def test_compile_takes_pytorchs_arguments():
    def double(x):
        return x * 2

    assert_values(
        torch.compile(double, fullgraph=True, backend="inductor", mode="reduce-overhead")(X), (X * 2).tolist()
    )
    assert torch.compile(double, disable=True) is double
    assert_values(torch.compile(dynamic=True)(double)(X), (X * 2).tolist())


def test_vmap():
    y = torch.tensor([1.0, 0.0, 2.0])
    assert_values(torch.vmap(torch.dot, in_dims=(0, None))(X, y), [7.0, 14.0])
    assert_values(torch.vmap(lambda a: {"s": a.sum(), "p": (a,)}, out_dims=0)(X)["s"], [6.0, 15.0])
    assert torch.vmap(lambda a: a + 1, in_dims=1, out_dims=1)(X).shape == (2, 3)
    assert torch.equal(torch.vmap(torch.vmap(torch.mul))(X, X), X * X)
    assert torch.equal(compiled(lambda x: torch.vmap(torch.sin)(x), X), torch.sin(X))
