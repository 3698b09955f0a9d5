"""Dense linear algebra: matrix products in chains, factorizations, statistics of columns, iterative solvers."""

import numpy as np

from .registry import peer, prange, program


# ---- products ----------------------------------------------------------------------------------------------
def gemm_inputs(rng, n, m, k):
    return 1.5, 0.5, rng.random((n, k)), rng.random((k, m)), rng.random((n, m))


@program(gemm_inputs, size={"n": 600, "m": 500, "k": 400}, small={"n": 7, "m": 6, "k": 5}, rtol=1e-12)
def scaled_matmul(alpha, beta, A, B, C):
    return alpha * (A @ B) + beta * C


def matvec_inputs(rng, n, m):
    return rng.random((n, m)), rng.random(m)


@program(matvec_inputs, size={"n": 3000, "m": 2500}, small={"n": 9, "m": 7}, rtol=1e-12)
def normal_equations_product(A, x):
    return (A @ x) @ A


def bicg_inputs(rng, n, m):
    return rng.random((n, m)), rng.random(m), rng.random(n)


@program(bicg_inputs, size={"n": 3000, "m": 2500}, small={"n": 9, "m": 7}, rtol=1e-12)
def biconjugate_products(A, p, r):
    return r @ A, A @ p


def rank_two_inputs(rng, n):
    return 1.2, 0.8, rng.random((n, n)), *(rng.random(n) for _ in range(6))


@program(rank_two_inputs, size={"n": 2000}, small={"n": 8}, rtol=1e-12)
def rank_two_update(alpha, beta, A, u1, v1, u2, v2, y, z):
    B = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (y @ B) + z
    w = alpha * (B @ x)
    return B, x, w


@peer("numba", rank_two_update)
def rank_two_update_numba(alpha, beta, A, u1, v1, u2, v2, y, z):
    n = A.shape[0]
    B = np.empty_like(A)
    for i in prange(n):
        for j in range(n):
            B[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    x = beta * (y @ B) + z
    w = alpha * (B @ x)
    return B, x, w


def tensor_inputs(rng, r, q, p):
    return rng.random((r, q, p)), rng.random((p, p))


@program(tensor_inputs, size={"r": 60, "q": 70, "p": 80}, small={"r": 3, "q": 4, "p": 5}, rtol=1e-12)
def multiresolution(A, C4):
    return np.einsum("rqp,ps->rqs", A, C4)


# ---- statistics of columns ---------------------------------------------------------------------------------
def table_inputs(rng, n, m):
    return (rng.random((n, m)) * 3 + np.arange(m),)


@program(table_inputs, size={"n": 4000, "m": 300}, small={"n": 12, "m": 5}, rtol=1e-12)
def covariance(data):
    centered = data - np.mean(data, axis=0)
    return centered.T @ centered / (data.shape[0] - 1.0)


@program(table_inputs, size={"n": 4000, "m": 300}, small={"n": 12, "m": 5}, rtol=1e-12)
def correlation(data):
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    scaled = (data - np.mean(data, axis=0)) / (np.sqrt(data.shape[0]) * deviation)
    return scaled.T @ scaled


@program(table_inputs, size={"n": 4000, "m": 300}, small={"n": 12, "m": 5}, rtol=1e-12)
def standard_scores(data):
    return (data - data.mean(axis=0)) / data.std(axis=0)


@peer("numba", standard_scores)
def standard_scores_numba(data):
    n, m = data.shape
    mean = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j]
    mean /= n
    variance = np.zeros(m)
    for i in range(n):
        for j in range(m):
            variance[j] += (data[i, j] - mean[j]) ** 2
    deviation = np.sqrt(variance / n)
    result = np.empty_like(data)
    for i in prange(n):
        for j in range(m):
            result[i, j] = (data[i, j] - mean[j]) / deviation[j]
    return result


@program(table_inputs, size={"n": 2000, "m": 500}, small={"n": 8, "m": 5}, rtol=1e-12)
def row_norms_and_scale(data):
    norms = np.sqrt((data * data).sum(axis=1))
    return data / norms[:, None], norms.max()


# ---- factorizations and solvers, with loops ----------------------------------------------------------------
def positive_definite_inputs(rng, n):
    A = rng.random((n, n))
    return (A @ A.T + n * np.eye(n),)


@program(positive_definite_inputs, size={"n": 120}, small={"n": 8}, rtol=1e-12, loops=True)
def cholesky(A):
    L = np.zeros_like(A)
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                L[i, j] = np.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return L


@program(positive_definite_inputs, size={"n": 100}, small={"n": 8}, rtol=1e-12, loops=True)
def lu_in_place(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def triangular_inputs(rng, n):
    return np.tril(rng.random((n, n))) + 2 * np.eye(n), rng.random(n)


@program(triangular_inputs, size={"n": 2000}, small={"n": 9}, rtol=1e-12, loops=True)
def forward_substitution(L, b):
    x = np.zeros_like(b)
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def well_conditioned_inputs(rng, n, m):
    return (rng.random((n, m)) + np.eye(n, m) * 5,)


@program(well_conditioned_inputs, size={"n": 300, "m": 200}, small={"n": 9, "m": 6}, rtol=1e-11, loops=True)
def gram_schmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def symmetric_update_inputs(rng, n, m):
    return 1.5, 1.2, rng.random((n, n)), rng.random((n, m))


@program(symmetric_update_inputs, size={"n": 90, "m": 80}, small={"n": 6, "m": 5}, rtol=1e-12, loops=True)
def symmetric_rank_k(alpha, beta, C, A):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * A[j, k]
            C[i, j] = beta * C[i, j] + alpha * total
    return C


def power_inputs(rng, n, steps):
    A = rng.random((n, n))
    return A + A.T, rng.random(n), steps


@program(power_inputs, size={"n": 800, "steps": 50}, small={"n": 8, "steps": 5}, rtol=1e-11, loops=True)
def power_iteration(A, x, steps):
    value = 0.0
    for _ in range(steps):
        y = A @ x
        value = np.sqrt(y @ y)
        x = y / value
    return value, x


def conjugate_gradient_inputs(rng, n):
    A = rng.random((n, n))
    return A @ A.T / n + np.eye(n), rng.random(n), 1e-10


@program(conjugate_gradient_inputs, size={"n": 1000}, small={"n": 12}, rtol=1e-8, loops=True)
def conjugate_gradient(A, b, tolerance):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rr = r @ r
    while rr > tolerance:
        Ap = A @ p
        step = rr / (p @ Ap)
        x = x + step * p
        r = r - step * Ap
        after = r @ r
        p = r + (after / rr) * p
        rr = after
    return x


@program(
    lambda rng, n: (rng.random((n, 3, 3)), rng.random((n, 3, 3))),
    size={"n": 20_000},
    small={"n": 5},
    loops=True,
)
def products_of_small_matrices(A, B):
    C = np.zeros_like(A)
    for k in range(A.shape[0]):
        for i in range(3):
            for j in range(3):
                total = 0.0
                for p in range(3):
                    total += A[k, i, p] * B[k, p, j]
                C[k, i, j] = total
    return C
