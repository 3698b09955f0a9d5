"""Matrix products, linear algebra and einsum, against NumPy."""

import numpy as np
import pytest
import weft

DTYPES = [
    np.float64,
    np.float32,
    np.complex64,
    np.complex128,
    np.int64,
    np.int8,
    np.uint16,
    np.bool_,
    np.float16,
]
TOLERANCE = {np.float32: 1e-5, np.complex64: 1e-5, np.float64: 1e-13, np.complex128: 1e-13, np.float16: 2e-3}


def make(rng, shape, dtype):
    values = rng.standard_normal(shape) * 3
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * rng.standard_normal(shape)
    if dtype is np.bool_:
        return values > 0
    return (np.abs(values) if np.issubdtype(dtype, np.unsignedinteger) else values).astype(dtype)


def close(actual, expected, dtype):
    actual = actual.numpy()
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    tolerance = TOLERANCE.get(dtype)
    if tolerance is None:
        np.testing.assert_array_equal(actual, expected)
    else:
        scale = np.abs(expected).max(initial=1)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=float(tolerance * scale * 10))


SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (make(rng, shape, dtype) for shape in shapes)
    close(weft.from_numpy(a) @ weft.from_numpy(b), np.asarray(a @ b), dtype)


def layouts(x):
    yield x
    yield np.asfortranarray(x)
    yield x[::-1]
    yield np.repeat(x, 2, axis=1)[:, ::2]
    yield np.broadcast_to(x[:1], x.shape)
    yield np.pad(x, 2)[2:-2, 2:-2]
    yield x[:, ::-1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128])
def test_matmul_layouts(dtype):
    rng = np.random.default_rng(1)
    for a in layouts(make(rng, (6, 6), dtype)):
        for b in layouts(make(rng, (6, 6), dtype)):
            close(weft.matmul(weft.asarray(a), weft.asarray(b)), a @ b, dtype)


def test_large_products_use_all_rows():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((129, 257)), rng.standard_normal((257, 65))
    close(weft.from_numpy(a) @ weft.from_numpy(b), a @ b, np.float64)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 12, 40])
@pytest.mark.parametrize("columns", [8, 32, 40, 100])
def test_matmul_of_one_row_over_and_over(rows, columns):
    """An expanded tensor's rows are one; what lies behind it in memory is not read."""
    memory = np.full(columns + 4096, np.nan, np.float32)
    memory[:columns] = np.arange(columns)
    repeated = weft.from_numpy(memory)[:columns].expand(7, columns)
    left = np.arange(rows * 7, dtype=np.float32).reshape(rows, 7)
    expected = left.sum(1, keepdims=True) * memory[:columns]
    np.testing.assert_array_equal((weft.from_numpy(left) @ repeated).numpy(), expected)
    np.testing.assert_array_equal((repeated.T @ weft.from_numpy(left.T.copy())).numpy(), expected.T)


@pytest.mark.parametrize(
    "name, shapes",
    [
        ("dot", ((3, 4), (4, 5))), ("dot", ((2, 3, 4), (5, 4, 2))), ("dot", ((3,), ())), ("inner", ((2, 4), (3, 4))),
        ("inner", ((4,), (4,))), ("outer", ((2, 2), (3,))), ("vdot", ((2, 3), (3, 2))), ("kron", ((2, 3), (2,))),
        ("kron", ((2, 2), (3, 2))), ("cross", ((4, 3), (4, 3))), ("tensordot", ((2, 3, 4), (3, 4, 5))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64], ids=lambda d: d.__name__)
def test_products(name, shapes, dtype):
    rng = np.random.default_rng(3)
    a, b = (make(rng, shape, dtype) for shape in shapes)
    close(getattr(weft, name)(weft.asarray(a), weft.asarray(b)), np.asarray(getattr(np, name)(a, b)), dtype)


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("ij->ji", (2, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("i,j->ij", (3,), (4,)),
    ("ijk->", (2, 3, 4)), ("i,i->", (5,), (5,)), ("ij,ij->i", (2, 3), (2, 3)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("...ij->...ji", (2, 3, 4)), ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)), ("iij->j", (3, 3, 2)), ("iijj->ij", (2, 2, 3, 3)),
    ("ij,kj->ik", (2, 3), (4, 3)), (" i j , j -> i ", (2, 3), (3,)), ("ba", (2, 3)), ("i...,i...->...", (3, 2), (3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda c: c[0])
def test_einsum(case):
    rng = np.random.default_rng(4)
    equation, *shapes = case
    operands = [rng.standard_normal(shape) for shape in shapes]
    expected = np.asarray(np.einsum(equation, *operands))
    close(weft.einsum(equation, [weft.asarray(x) for x in operands]), expected, np.float64)


@pytest.mark.parametrize(
    "equation, shapes, message",
    [
        ("ij,jk", [(2, 3)], "2 operands are named, 1 were given"),
        ("ijk", [(2, 3)], "names 3 dimensions of an operand that has 2"),
        ("ij->k", [(2, 3)], "output 'k' is in no operand"),
        ("ij->ii", [(2, 3)], "output 'i' is named twice"),
        ("i1", [(2, 3)], "unexpected character '1'"),
        ("ij,jk", [(2, 3), (4, 5)], "sizes 3 and 4"),
        ("ii", [(2, 3)], "different sizes"),
    ],
)
def test_einsum_mistakes(equation, shapes, message):
    with pytest.raises(ValueError, match=message):
        weft.einsum(equation, [weft.ones(shape) for shape in shapes])


def test_matmul_mistakes():
    with pytest.raises(
        ValueError, match=r"inner dimensions must match: expected b.shape\[-2\] == 64, got 32"
    ):
        weft.ones(8, 64) @ weft.ones(32, 10)
    with pytest.raises(ValueError, match="at least one dimension"):
        weft.matmul(weft.tensor(2.0), weft.ones(3))
    with pytest.raises(ValueError, match="expected x of 2 dimensions"):
        weft.mm(weft.ones(3), weft.ones(3, 3))


def test_no_dimension_of_a_number_is_contracted():
    number, matrix = weft.tensor(2.0), weft.ones(2, 3)
    for x, y in ((number, number), (number, matrix), (matrix, number)):
        with pytest.raises(IndexError, match="0-d tensor has no dimension to contract"):
            weft.tensordot(x, y, dims_x=[0], dims_y=[0])
    assert weft.tensordot(number, matrix, 0).shape == (2, 3)


@pytest.mark.parametrize("exponent", (-(2**63), -3, -1, 2**63 - 1))
def test_matrix_power_of_any_exponent(exponent):
    signs = weft.tensor([[1.0, 0.0], [0.0, -1.0]])
    assert weft.matrix_power(signs, exponent).tolist() == [[1, 0], [0, 1 if exponent % 2 == 0 else -1]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (1, 1), (0, 3, 3)], ids=str)
def test_decompositions(shape, dtype):
    rng = np.random.default_rng(5)
    a = (rng.standard_normal(shape) + 4 * np.eye(shape[-1])).astype(dtype)
    symmetric = a @ a.swapaxes(-1, -2)
    x, s = weft.from_numpy(a), weft.from_numpy(symmetric)
    tolerance = 2e-4 if dtype is np.float32 else 1e-11
    for actual, expected in [
        (weft.det(x), np.linalg.det(a)), (weft.inv(x), np.linalg.inv(a)), (weft.cholesky(s), np.linalg.cholesky(symmetric)),
        (weft.eigvalsh(s), np.linalg.eigvalsh(symmetric)), (weft.svdvals(x), np.linalg.svd(a, compute_uv=False)),
        (weft.solve(x, s), np.linalg.solve(a, symmetric)), (weft.matrix_power(x, 3), np.linalg.matrix_power(a, 3)),
        (weft.matrix_power(x, -2), np.linalg.matrix_power(a, -2)), (weft.matrix_power(x, 0), np.linalg.matrix_power(a, 0)),
    ]:  # fmt: skip
        assert actual.numpy().dtype == dtype
        np.testing.assert_allclose(actual.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_solve_takes_a_vector():
    a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 5.0])
    np.testing.assert_allclose(
        weft.solve(weft.from_numpy(a), weft.from_numpy(b)).numpy(), np.linalg.solve(a, b)
    )


def test_decomposition_mistakes():
    with pytest.raises(RuntimeError, match="Singular matrix"):
        weft.inv(weft.ones(2, 2))
    with pytest.raises(RuntimeError, match="not positive definite"):
        weft.cholesky(weft.tensor([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="square"):
        weft.det(weft.ones(2, 3))
    with pytest.raises(TypeError, match="float32, float64 or complex"):
        weft.det(weft.ones(2, 2, dtype=weft.int64))
    assert weft.det(weft.ones(2, 2)).item() == 0


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_cdist(p):
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((2, 5, 3)), rng.standard_normal((4, 3))
    expected = np.linalg.norm(x[:, :, None] - y[None, None], ord=None if p == 2 else p, axis=-1)
    np.testing.assert_allclose(
        weft.cdist(weft.from_numpy(x), weft.from_numpy(y), p=p).numpy(), expected, rtol=1e-12
    )
