"""torch.linalg and torch's linear algebra: results by their definitions, layouts, named tuples, mistakes, compiled graphs."""

import math

import numpy as np
import pytest
import weft
import weft.torch as torch

linalg = torch.linalg
RANDOM = np.random.default_rng(11)
DTYPES = ["float32", "float64", "complex64", "complex128"]


def made(dtype, *shape, positive=False):
    values = RANDOM.standard_normal(shape)
    if "complex" in dtype:
        values = values + 1j * RANDOM.standard_normal(shape)
    if positive:
        values = values @ np.swapaxes(values.conj(), -1, -2) + 3 * np.eye(shape[-1])
    elif shape[-1] == shape[-2]:
        values = values + 4 * np.eye(shape[-1])
    values = values.astype(dtype)
    return torch.from_numpy(values), values


def array(tensor):
    return np.array(tensor.tolist()).reshape(tuple(tensor.shape))


def close(actual, expected, dtype="float64"):
    tolerance = 1e-11 if dtype in ("float64", "complex128") else 2e-5
    assert tuple(actual.shape) == tuple(expected.shape)
    np.testing.assert_allclose(
        array(actual), expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max(initial=0))
    )


def is_by_columns(tensor):
    return tensor.stride()[-2:] == (1, tensor.shape[-2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    A, a = made(dtype, 2, 3, 3, positive=True)
    L = linalg.cholesky(A)
    close(L, np.linalg.cholesky(a), dtype)
    assert is_by_columns(L)
    U = linalg.cholesky(A, upper=True)
    close(U, np.swapaxes(np.linalg.cholesky(a), -1, -2).conj(), dtype)
    factor = linalg.cholesky_ex(A)
    assert factor.info.tolist() == [0, 0] and factor.info.dtype == torch.int32
    B, b = made(dtype, 3, 2)
    close(torch.cholesky_solve(B, L), np.linalg.solve(a, b), dtype)
    close(torch.cholesky_solve(B, U, True), np.linalg.solve(a, b), dtype)
    close(torch.cholesky_inverse(L), np.linalg.inv(a), dtype)


def test_not_positive_definite():
    A = torch.stack([torch.eye(3), -torch.eye(3)])
    assert linalg.cholesky_ex(A).info.tolist() == [0, 1]
    with pytest.raises(linalg.LinAlgError, match="not positive"):
        linalg.cholesky(A)
    with pytest.raises(linalg.LinAlgError, match="Batch element 1"):
        linalg.cholesky_ex(A, check_errors=True)
    assert issubclass(linalg.LinAlgError, RuntimeError)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 5), (2, 3, 3)])
def test_lu(dtype, shape):
    A, a = made(dtype, *shape)
    P, L, U = linalg.lu(A)
    close(P @ L @ U, a, dtype)
    factors = linalg.lu_factor(A)
    assert factors._fields == ("LU", "pivots") and factors.pivots.dtype == torch.int32
    assert is_by_columns(factors.LU)
    unpacked = torch.lu_unpack(*factors)
    close(unpacked.P @ unpacked.L @ unpacked.U, a, dtype)
    assert torch.lu_unpack(*factors, unpack_data=False).L.shape == (0,)
    with pytest.raises(RuntimeError, match="pivoting"):
        linalg.lu(A, pivot=False)
    if shape[-1] == shape[-2]:
        B, b = made(dtype, *shape[:-1], 2)
        close(linalg.lu_solve(*factors, B), np.linalg.solve(a, b), dtype)
        adjoint = np.swapaxes(a, -1, -2).conj()
        close(linalg.lu_solve(*factors, B, adjoint=True), np.linalg.solve(adjoint, b), dtype)
        C = B.transpose(-2, -1)
        close(linalg.lu_solve(*factors, C, left=False) @ A, np.swapaxes(b, -1, -2), dtype)
        close(torch.lu_solve(B, *factors), np.linalg.solve(a, b), dtype)


def test_singular_matrices():
    zero = torch.zeros(3, 3)
    for call in (
        lambda: linalg.inv(zero), lambda: linalg.solve(zero, zero), lambda: linalg.inv_ex(zero, check_errors=True),
        lambda: linalg.solve_ex(zero, zero, check_errors=True), lambda: linalg.ldl_factor(zero),
    ):  # fmt: skip
        with pytest.raises(linalg.LinAlgError):
            call()
    with pytest.raises(RuntimeError, match=r"U\[1,1\] is zero"):
        linalg.lu_factor(zero)
    assert linalg.inv_ex(zero).info.item() == 1
    assert linalg.lu_factor_ex(zero).info.item() == 1
    assert linalg.cond(zero, 1).item() == math.inf
    assert linalg.slogdet(zero).logabsdet.item() == -math.inf
    with pytest.raises(linalg.LinAlgError):
        weft.compile(lambda x: linalg.inv(x), fullgraph=True)(zero)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solving(dtype):
    A, a = made(dtype, 2, 3, 3)
    B, b = made(dtype, 2, 3, 4)
    close(linalg.solve(A, B), np.linalg.solve(a, b), dtype)
    close(linalg.solve(A, B[..., 0]), np.linalg.solve(a, b[..., :1])[..., 0], dtype)
    close(linalg.solve(A, B.mT, left=False) @ A, np.swapaxes(b, -1, -2), dtype)
    solved = linalg.solve_ex(A, B)
    close(solved.result, np.linalg.solve(a, b), dtype)
    assert solved.info.tolist() == [0, 0]
    close(linalg.inv(A), np.linalg.inv(a), dtype)
    close(linalg.inv_ex(A).inverse, np.linalg.inv(a), dtype)
    close(torch.inverse(A), np.linalg.inv(a), dtype)
    upper, lower = np.triu(a), np.tril(a)
    close(linalg.solve_triangular(A, B, upper=True), np.linalg.solve(upper, b), dtype)
    close(linalg.solve_triangular(A, B, upper=False), np.linalg.solve(lower, b), dtype)
    unit = np.tril(a, -1) + np.eye(3)
    close(linalg.solve_triangular(A, B, upper=False, unitriangular=True), np.linalg.solve(unit, b), dtype)
    close(linalg.solve_triangular(A, B.mT, upper=True, left=False) @ A.triu(), np.swapaxes(b, -1, -2), dtype)
    old = torch.triangular_solve(B, A, transpose=True)
    close(old.solution, np.linalg.solve(np.swapaxes(upper, -1, -2), b), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ldl(dtype):
    A, a = made(dtype, 2, 4, 4)
    B, b = made(dtype, 2, 4, 3)
    low = np.tril(a)
    symmetric = low + np.swapaxes(np.tril(a, -1), -1, -2)
    close(linalg.ldl_solve(*linalg.ldl_factor(A), B), np.linalg.solve(symmetric, b), dtype)
    hermitian = (
        symmetric
        if "float" in dtype
        else np.tril(a, -1) + np.swapaxes(np.tril(a, -1), -1, -2).conj() + np.real(a) * np.eye(4)
    )
    factors = linalg.ldl_factor_ex(A, hermitian=True)
    close(
        linalg.ldl_solve(factors.LD, factors.pivots, B, hermitian=True), np.linalg.solve(hermitian, b), dtype
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3)])
def test_qr_and_reflections(dtype, shape):
    A, a = made(dtype, *shape)
    least = min(shape[-2:])
    for mode, width in (("reduced", least), ("complete", shape[-2])):
        Q, R = linalg.qr(A, mode)
        assert Q.shape[-1] == width and R.shape[-2] == width
        close(Q @ R, a, dtype)
        close(Q.mT.conj() @ Q, np.broadcast_to(np.eye(width), (*shape[:-2], width, width)), dtype)
    assert linalg.qr(A, "r").Q.shape == (0,)
    if shape[-2] >= shape[-1]:
        reflections, tau = torch.geqrf(A)
        close(linalg.householder_product(reflections, tau), array(linalg.qr(A).Q), dtype)
        other, values = made(dtype, *shape[:-2], shape[-2], 2)
        full = array(linalg.qr(A, "complete").Q)
        close(torch.ormqr(reflections, tau, other), full @ values, dtype)
        close(
            torch.ormqr(reflections, tau, other, transpose=True),
            np.swapaxes(full, -1, -2).conj() @ values,
            dtype,
        )
        close(torch.ormqr(reflections, tau, other.mT, left=False), np.swapaxes(values, -1, -2) @ full, dtype)
    with pytest.raises(RuntimeError, match="unrecognized mode"):
        linalg.qr(A, "x")


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_and_singular_values(dtype):
    A, a = made(dtype, 2, 4, 4, positive=True)
    values, vectors = linalg.eigh(A)
    close(A @ vectors, array(vectors) * array(values)[..., None, :], dtype)
    assert is_by_columns(vectors)
    close(linalg.eigvalsh(A, "U"), np.linalg.eigvalsh(a), dtype)
    general, _ = made(dtype, 4, 4)
    found = linalg.eig(general)
    assert found._fields == ("eigenvalues", "eigenvectors") and found.eigenvalues.is_complex()
    wide = general.to(found.eigenvectors.dtype)
    close(wide @ found.eigenvectors, array(found.eigenvectors) * array(found.eigenvalues), dtype)
    B, b = made(dtype, 3, 5)
    U, S, Vh = linalg.svd(B, full_matrices=False)
    close(U @ torch.diag(S).to(B.dtype) @ Vh, b, dtype)
    close(linalg.svdvals(B), np.linalg.svd(b, compute_uv=False), dtype)
    old = torch.svd(B)
    assert old._fields == ("U", "S", "V") and old.V.shape == (5, 3)
    close(old.U @ torch.diag(old.S).to(B.dtype) @ old.V.mT.conj(), b, dtype)
    assert torch.svd(B, compute_uv=False).V.shape == (5, 5)
    with pytest.raises(RuntimeError, match="driver"):
        linalg.svd(B, driver="gesvd")
    with pytest.raises(RuntimeError, match="UPLO"):
        linalg.eigh(A, "X")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(dtype, driver):
    A, a = made(dtype, 2, 5, 3)
    B, b = made(dtype, 2, 5, 2)
    solved = linalg.lstsq(A, B, driver=driver)
    expected = np.stack([np.linalg.lstsq(x, y, rcond=None)[0] for x, y in zip(a, b)])
    close(solved.solution, expected, dtype)
    assert solved.rank.tolist() == ([] if driver == "gels" else [3, 3])
    if driver in (None, "gelsy"):
        assert solved.residuals.shape == (0,)
    else:
        close(solved.residuals, (np.abs(b - a @ expected) ** 2).sum(-2), dtype)
    assert solved.singular_values.shape == ((2, 3) if driver in ("gelsd", "gelss") else (0,))


def test_least_squares_of_lower_rank():
    a = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1], [0, 1, 1]])
    b = np.array([1.0, 2, 3, 4])
    solved = linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b).reshape(4, 1))
    assert solved.rank.item() == 2
    close(solved.solution[:, 0], np.linalg.lstsq(a, b, rcond=None)[0])
    with pytest.raises(RuntimeError, match="driver"):
        linalg.lstsq(torch.eye(2), torch.eye(2), driver="x")


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants(dtype):
    A, a = made(dtype, 2, 3, 3)
    close(linalg.det(A), np.linalg.det(a), dtype)
    sign, size = linalg.slogdet(A)
    close(sign * size.exp(), np.linalg.det(a), dtype)
    assert (
        type(torch.slogdet(A)).__name__ == "slogdet" and type(linalg.slogdet(A)).__name__ == "linalg_slogdet"
    )
    if "float" in dtype:
        assert math.isnan(torch.logdet(torch.diag(torch.tensor([1.0, -1.0]))).item())
        assert torch.logdet(torch.diag(torch.tensor([2.0, 3.0]))).item() == pytest.approx(math.log(6))


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_matrices(dtype):
    A, a = made(dtype, 2, 3, 3)
    values, vectors = np.linalg.eig(a.astype("complex128"))
    exact = vectors @ (np.exp(values)[..., None] * np.linalg.inv(vectors))
    close(torch.matrix_exp(A), exact if "complex" in dtype else exact.real, dtype)
    for n in (0, 1, 3, -2):
        close(linalg.matrix_power(A, n), np.linalg.matrix_power(a, n), dtype)
    P, p = made(dtype, 3, 3, positive=True)
    root = linalg.matrix_sqrth(P)
    close(root @ root, p, dtype)
    B, b = made(dtype, 5, 3)
    U, H = linalg.polar(B)
    close(U @ H, b, dtype)
    close(U.mT.conj() @ U, np.eye(3), dtype)
    with pytest.raises(RuntimeError, match="as many rows as columns"):
        linalg.polar(B.mT)
    assert linalg.matrix_power(torch.tensor([[1, 1], [0, 1]]), 5).tolist() == [[1, 5], [0, 1]]
    with pytest.raises(TypeError, match="'n'"):
        linalg.matrix_power(A, 1.5)


def test_exponential_of_large_and_of_no_matrices():
    angle = 100.0
    got = torch.matrix_exp(torch.tensor([[0.0, -angle], [angle, 0.0]], dtype=torch.float64))
    close(got, np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]))
    assert torch.matrix_exp(torch.zeros(2, 0, 0)).shape == (2, 0, 0)
    assert math.isnan(torch.matrix_exp(torch.tensor([[math.inf]])).item())


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms(dtype):
    A, a = made(dtype, 4, 3)
    flat = a.reshape(-1)
    for ord in (0, 0.5, 1, 2, 3, math.inf, -math.inf, -1):
        close(linalg.vector_norm(A, ord), np.array(np.linalg.norm(flat, ord)), dtype)
        close(torch.norm(A, ord, dim=1), np.linalg.norm(a, ord, axis=1), dtype)
    for ord in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        expected = np.array(np.linalg.norm(a, ord))
        close(linalg.matrix_norm(A, ord), expected, dtype)
        close(linalg.norm(A, ord), expected, dtype)
    close(torch.nuclear_norm(A), np.array(np.linalg.norm(a, "nuc")), dtype)
    close(torch.frobenius_norm(A, (0, 1), True), np.array([[np.linalg.norm(a)]]), dtype)
    close(A.norm(), np.array(np.linalg.norm(a)), dtype)
    close(torch.dist(A, A * 2, 1), np.array(np.abs(a).sum()), dtype)


def test_norms_mistakes():
    x = torch.ones(2, 2, 2)
    for call, error, text in [
        (lambda: linalg.norm(x, 2), RuntimeError, "1D or 2D"),
        (
            lambda: linalg.norm(torch.ones(2, dtype=torch.int64)),
            NotImplementedError,
            "floating point or complex",
        ),
        (lambda: linalg.matrix_norm(torch.ones(2)), RuntimeError, "at least 2 dimensions"),
        (lambda: linalg.matrix_norm(x, 0), RuntimeError, "Order 0"),
        (lambda: linalg.matrix_norm(x, dim=(0, 0)), RuntimeError, "different"),
        (lambda: linalg.vector_norm(x, dim=3), IndexError, "out of range"),
        (lambda: linalg.vector_norm(torch.empty(0), math.inf), RuntimeError, "identity"),
        (lambda: linalg.cond(x, "x"), ValueError, "invalid norm"),
        (lambda: torch.norm(x, "x"), RuntimeError, "fro"),
        (lambda: linalg.inv(torch.ones(2, 3)), RuntimeError, "square"),
        (
            lambda: linalg.inv(torch.ones(2, 2, dtype=torch.int64)),
            NotImplementedError,
            "floating point or complex",
        ),
        (lambda: linalg.inv(torch.ones(2, 2, dtype=torch.bfloat16)), NotImplementedError, "Low precision"),
        (lambda: linalg.solve(torch.eye(2), torch.ones(3)), RuntimeError, "ncompatible"),
        (lambda: linalg.solve(torch.eye(2), torch.eye(2, dtype=torch.float64)), RuntimeError, "same dtype"),
        (lambda: linalg.multi_dot([torch.eye(2)]), RuntimeError, "at least 2"),
        (lambda: torch.qr(torch.eye(2)), RuntimeError, "removed"),
        (lambda: linalg.vander(torch.ones(2), N=0), RuntimeError, "N must be"),
    ]:
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rank_condition_and_pseudo_inverse(dtype):
    A, a = made(dtype, 2, 4, 3)
    close(linalg.pinv(A), np.linalg.pinv(a), dtype)
    assert linalg.matrix_rank(A).tolist() == [3, 3]
    low = A[..., :1] @ A[..., :1, :]
    assert linalg.matrix_rank(low).tolist() == [1, 1]
    assert linalg.matrix_rank(torch.eye(3), tol=2.0).item() == 0
    close(linalg.cond(A), np.linalg.cond(a), dtype)
    P, p = made(dtype, 3, 3, positive=True)
    close(linalg.pinv(P, hermitian=True), np.linalg.inv(p), dtype)
    for p_norm in ("fro", 1, math.inf, -2):
        close(linalg.cond(P, p_norm), np.array(np.linalg.cond(p, p_norm)), dtype)


def test_products():
    a, b, c = (RANDOM.standard_normal(shape) for shape in ((2, 3), (3, 4), (4, 2)))
    A, B, C = map(torch.from_numpy, (a, b, c))
    close(linalg.multi_dot([A, B, C]), a @ b @ c)
    close(linalg.multi_dot([A[0], B, C[:, 0]]), np.array(a[0] @ b @ c[:, 0]))
    close(torch.chain_matmul(A, B, C), a @ b @ c)
    close(linalg.vecdot(A, A * 2), (a * a * 2).sum(-1))
    z = torch.tensor([1 + 2j, 3j])
    assert linalg.vecdot(z, z).item() == 14
    close(linalg.cross(A, A + 1), np.cross(a, a + 1))
    assert linalg.vander(torch.tensor([1, 2, 3]), N=4).tolist() == [[1, 1, 1, 1], [1, 2, 4, 8], [1, 3, 9, 27]]
    assert linalg.diagonal(torch.arange(8).reshape(2, 2, 2)).tolist() == [[0, 3], [4, 7]]
    t = RANDOM.standard_normal((2, 3, 6))
    inverse = linalg.tensorinv(torch.from_numpy(t), 2)
    close(inverse, np.linalg.tensorinv(t, 2))
    right = RANDOM.standard_normal((2, 3))
    close(linalg.tensorsolve(torch.from_numpy(t), torch.from_numpy(right)), np.linalg.tensorsolve(t, right))
    rows = torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    assert rows.tolist() == [pytest.approx([0.6, 0.8], rel=1e-5), pytest.approx([0.3, 0.4])]


def test_lobpcg():
    A, a = made("float64", 9, 9, positive=True)
    values, vectors = torch.lobpcg(A, 2)
    close(values, np.linalg.eigvalsh(a)[::-1][:2])
    close(A @ vectors, array(vectors) * array(values))
    B, b = made("float64", 9, 9, positive=True)
    values, vectors = torch.lobpcg(A, 2, B, largest=False)
    close(A @ vectors, array(B @ vectors) * array(values))


def test_empty_matrices():
    empty = torch.zeros(2, 0, 0)
    assert linalg.inv(empty).shape == (2, 0, 0)
    assert linalg.det(empty).tolist() == [1, 1]
    assert linalg.lu_factor(empty).pivots.shape == (2, 0)
    assert linalg.eigvalsh(empty).shape == (2, 0)
    assert linalg.matrix_rank(torch.zeros(0, 3)).item() == 0
    assert linalg.pinv(torch.zeros(0, 3)).shape == (3, 0)
    assert linalg.matrix_norm(torch.zeros(0, 3), 2).item() == 0


def test_results_in_out():
    x = torch.eye(2) * 2
    out = torch.empty(2, 2)
    assert linalg.inv(x, out=out) is out and out.tolist() == [[0.5, 0], [0, 0.5]]
    sign, size = torch.empty(()), torch.empty(())
    result = linalg.slogdet(x, out=(sign, size))
    assert result.logabsdet is size and size.item() == pytest.approx(math.log(4))


FUNCTIONS = """det inv slogdet cholesky eigh eigvalsh svdvals qr lu lu_factor ldl_factor cond pinv matrix_rank matrix_exp
    matrix_sqrth polar inv_ex cholesky_ex lu_factor_ex norm matrix_norm vector_norm"""


def tensors(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_compiled(name):
    function = getattr(linalg, name)

    def program(x):
        return function(x * 2)

    x = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
    got, expected = weft.compile(program, fullgraph=True)(x), program(x)
    assert type(got).__name__ == type(expected).__name__
    assert [each.tolist() for each in tensors(got)] == [each.tolist() for each in tensors(expected)]


def test_compiled_systems():
    A, B = torch.tensor([[4.0, 1.0], [1.0, 3.0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for program in (
        lambda a, b: linalg.solve(a, b), lambda a, b: linalg.solve(a, b[0]), lambda a, b: linalg.lstsq(a, b).solution,
        lambda a, b: linalg.solve_triangular(a, b, upper=True), lambda a, b: torch.cholesky_solve(b, a),
        lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), lambda a, b: linalg.multi_dot([a, b, a]),
        lambda a, b: torch.dist(a, b, 3), lambda a, b: torch.norm(a + b, "nuc"),
    ):  # fmt: skip
        expected = program(A, B)
        assert weft.compile(program, fullgraph=True)(A, B).tolist() == expected.tolist()
