"""numpy.linalg compiled, and weft's operators over LAPACK: every dtype, stacks, layouts, errors."""

import numpy as np
import pytest
import weft

RANDOM = np.random.default_rng(5)
M = RANDOM.standard_normal((5, 5))
Z = M + 1j * RANDOM.standard_normal((5, 5))
S = M @ M.T + 5 * np.eye(5)
H = Z @ Z.conj().T + 5 * np.eye(5)
TALL, WIDE = RANDOM.standard_normal((6, 4)), RANDOM.standard_normal((3, 5)) + 1j
STACK = RANDOM.standard_normal((2, 3, 4, 4))
OPERANDS = {
    "m": M, "z": Z, "s": S, "h": H, "tall": TALL, "wide": WIDE, "stack": STACK, "single": M.astype(np.float32),
    "c": Z.astype(np.complex64), "i": np.arange(9).reshape(3, 3) + 4 * np.eye(3, dtype=int), "v": M[0], "f": np.asfortranarray(TALL),
    "b": STACK[0] + 1j * STACK[1], "symmetric": M + M.T, "rank2": TALL[:, :2] @ TALL[:, 2:].T[:2], "r": TALL[:, 0],
}  # fmt: skip
CALLS = """
det(m); det(z); det(stack); det(single); det(i); det(c); slogdet(m); slogdet(z); slogdet(stack); slogdet(single); slogdet(c)
slogdet(np.zeros((3, 3))); inv(m); inv(z); inv(stack); inv(c); inv(i); inv(m.T); solve(m, v); solve(z, m); solve(m, z)
solve(single, single); solve(stack, stack[0]); solve(single, c); solve(i, i[0]); cholesky(s); cholesky(h)
cholesky(h, upper=True); cholesky(s.astype(np.float32)); eigvalsh(s); eigvalsh(h); eigvalsh(m, 'U'); eigvalsh(z, 'u')
eigh(s); eigh(h); eigh(m, 'U'); eigh(m); eigh(z, 'U'); eigh(stack); eigh(single); eigh(c).eigenvalues; svd(m); svd(z); svd(tall)
svd(wide); svd(tall, full_matrices=False); svd(wide, full_matrices=False); svd(stack); svd(single); svd(c, False); svd(f)
svd(symmetric, hermitian=True); svd(h, compute_uv=False, hermitian=True); svd(tall, compute_uv=False); svdvals(wide); svdvals(c)
svdvals(stack); qr(m); qr(z); qr(tall); qr(wide); qr(tall, 'complete'); qr(wide, mode='complete'); qr(tall, 'r'); qr(tall, 'raw')
qr(stack).Q; qr(single); qr(c, 'r'); qr(f); qr(tall.T); lstsq(tall, tall[:, 0]); lstsq(tall, tall); lstsq(wide, m[:3]); lstsq(m, v)
lstsq(rank2, r); lstsq(tall.astype(np.float32), tall.astype(np.float32)[:, 1]); lstsq(tall, tall, 0.9); lstsq(tall, tall, rcond=-1)
pinv(tall); pinv(wide); pinv(stack); pinv(single); pinv(rank2, rtol=None); pinv(symmetric, hermitian=True); pinv(tall, 0.5)
matrix_rank(m); matrix_rank(rank2); matrix_rank(stack); matrix_rank(m, 0.5); matrix_rank(symmetric, hermitian=True)
matrix_rank(c, rtol=0.9); cond(m); cond(tall); cond(stack); cond(m, 1); cond(z, 'fro'); cond(stack, np.inf); cond(m, -2)
matrix_power(stack, -1); matrix_power(m, -3); matrix_power(stack, 0); matrix_power(z, 5); matrix_power(stack, 3)
multi_dot([m, z, s]); multi_dot([v, m, s, v]); multi_dot([v, m, s]); multi_dot([m, s, h, z]); multi_dot([m, v])
tensorsolve(m[:4, :4].reshape(2, 2, 4), tall[:2, :2]); tensorinv(stack.reshape(24, 2, 2)[:4], 1)
tensorsolve(m[:4, :4].reshape(2, 2, 2, 2), tall[:2, :2], axes=(0, 2)); norm(z); norm(z, 2); norm(z, 'nuc'); norm(z, 'fro'); norm(z, 1)
norm(c, -np.inf); norm(stack, 2, axis=(2, 3)); norm(stack, 'fro', (1, 3), True); norm(stack, -2, (-2, -1)); norm(v, 3)
norm(stack, axis=(0, 1)); norm(b, 'nuc', axis=(0, 2)); norm(v, 0); norm(z, 1, axis=0); norm(i); norm(stack); norm(z, axis=1)
norm(v, 0.5); norm(stack, 3, axis=1); norm(v, -1); norm(stack, keepdims=True); matrix_norm(b); matrix_norm(stack, ord=-1)
vector_norm(stack, axis=(0, 2)); vector_norm(z, axis=(0, 1), ord=1); vector_norm(stack, axis=1, keepdims=True)
vector_norm(stack, axis=(1, 2), keepdims=True)
"""
SPLIT = "eigvals(m); eigvals(s); eigvals(z); eigvals(stack); eig(m); eig(s); eig(z); eig(c); eig(single); eigvals(single @ single.T)"


def function_of(call):
    space = {"np": np}
    exec(f"def function({', '.join(OPERANDS)}):\n    return np.linalg.{call}", space)
    return space["function"]


def calls_of(text):
    return [call.strip() for line in text.split("\n") for call in line.split(";") if call.strip()]


def assert_close(actual, expected):
    assert type(actual) is type(expected)
    if isinstance(expected, tuple):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected):
            assert_close(a, b)
        return
    assert np.shape(actual) == np.shape(expected) and np.asarray(actual).dtype == np.asarray(expected).dtype
    single = np.asarray(expected).dtype.char in "fF"
    scale = np.abs(expected).max(initial=1, where=np.isfinite(expected))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=(1e-5 if single else 1e-11) * scale)


@pytest.mark.parametrize("call", calls_of(CALLS) + calls_of(SPLIT))
def test_compiled(call):
    function = function_of(call)
    expected = function(**OPERANDS)
    compiled = weft.compile(function)
    for _ in range(2):
        assert_close(compiled(**OPERANDS), expected)


@pytest.mark.parametrize("call", calls_of(CALLS))
def test_one_graph(call):
    breaks = weft.compiler.explain(function_of(call))(**OPERANDS).breaks
    assert all("depends on" in one.reason for one in breaks)
    assert "lstsq" in call or breaks == []


@pytest.mark.parametrize(
    "call",
    [
        "inv(np.zeros((3, 3)))", "solve(np.zeros((2, 2)), np.ones(2))", "cholesky(-s)", "eigvals(m * np.nan)", "eig(m / 0)",
        "det(v)", "det(tall)", "solve(m, v[:3])", "svd(v)", "qr(v)", "qr(m, 'other')", "eigh(m, 'X')", "lstsq(m, v[:2])",
        "svd(m * np.nan)", "inv(m.astype(np.float16))", "cond(np.zeros((0, 0)))", "matrix_power(tall, 2)", "multi_dot([m])",
        "pinv(m, 1, rtol=1)", "matrix_rank(m, 1, rtol=1)", "tensorinv(m, 0)", "tensorsolve(stack, v)", "norm(stack, 2)",
        "norm(m, 'other')", "norm(v, 'fro')", "norm(m, 1, (0, 0))", "inv(np.stack([m, np.ones((5, 5))]))",
    ],
)  # fmt: skip
@np.errstate(all="ignore")
def test_numpy_errors(call):
    function = function_of(call)
    with pytest.raises(Exception) as expected:
        function(**OPERANDS)
    with pytest.raises(expected.type) as actual:
        weft.compile(function)(**OPERANDS)
    assert type(actual.value) is type(expected.value) and str(actual.value) == str(expected.value)


def test_real_and_complex_eigenvalues_by_turns():
    compiled = weft.compile(lambda a: np.linalg.eigvals(a) * 2)
    for a in (
        np.diag([1.0, 2.0]),
        np.array([[0.0, 1.0], [-1.0, 0.0]]),
        np.diag([3.0, 4.0]),
        np.array([[0, 2.0], [-2, 0]]),
    ):
        assert_close(compiled(a), np.linalg.eigvals(a) * 2)


def test_named_results_are_values():
    def function(a):
        result = np.linalg.svd(a, full_matrices=False)
        u, s, vh = result
        return result, len(result), result.S.sum(), (u * s) @ result.Vh, isinstance(result, tuple), result[1:]

    result, *rest = weft.compile(function)(TALL)
    expected, *others = function(TALL)
    assert_close(result, expected)
    assert_close(tuple(rest), tuple(others))
    values, vectors = weft.compile(lambda pair: (pair.eigenvalues + 1, pair.eigenvectors))(np.linalg.eigh(S))
    assert_close((values, vectors), (np.linalg.eigh(S)[0] + 1, np.linalg.eigh(S)[1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_operators(dtype):
    tolerance = 2e-4 if np.dtype(dtype).char in "fF" else 1e-11
    a = RANDOM.standard_normal((3, 40, 6, 6)).astype(dtype)
    if a.dtype.kind == "c":
        a = (a + 1j * RANDOM.standard_normal(a.shape)).astype(dtype)
    hermitian = a @ a.conj().mT + 6 * np.eye(6, dtype=dtype)

    def close(x, y):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.abs(y).max())

    x, t = weft.from_numpy(a), weft.from_numpy(hermitian)
    u, s, vh = (y.numpy() for y in weft.svd(x, False))
    close((u * s[..., None, :]) @ vh, a)
    q, r = (y.numpy() for y in weft.qr(x.swapaxes(-1, -2)))
    close(q @ r, a.mT)
    values, vectors = (y.numpy() for y in weft.eigh(t))
    close(vectors * values[..., None, :], hermitian @ vectors)
    values, vectors = (y.numpy() for y in weft.eig(x))
    close(vectors * values[..., None, :], a @ vectors)
    lower = weft.cholesky(t).numpy()
    close(lower @ lower.conj().mT, hermitian)
    close(weft.solve(t, x).numpy(), np.linalg.solve(hermitian, a))
    close(weft.det(t).numpy(), np.linalg.det(hermitian))
    assert u.dtype == q.dtype == lower.dtype == a.dtype and s.dtype == np.zeros(0, dtype).real.dtype
