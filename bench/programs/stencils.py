"""Stencils on grids: relaxation, diffusion, waves, weather, cellular automata."""

import numpy as np

from .registry import peer, prange, program


def line_inputs(rng, n, steps):
    return rng.random(n), rng.random(n), steps


@program(line_inputs, size={"n": 100_000, "steps": 100}, small={"n": 20, "steps": 4}, loops=True)
def jacobi_1d(A, B, steps):
    for _ in range(steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A


@peer("numba", jacobi_1d)
def jacobi_1d_numba(A, B, steps):
    for _ in range(steps):
        for i in prange(1, A.size - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in prange(1, A.size - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])
    return A


@peer("jax", jacobi_1d)
def jacobi_1d_jax(A, B, steps):
    import jax

    def step(_, state):
        A, B = state
        B = B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))
        A = A.at[1:-1].set(0.33333 * (B[:-2] + B[1:-1] + B[2:]))
        return A, B

    return jax.lax.fori_loop(0, steps, step, (A, B))[0]


def plane_inputs(rng, n, steps):
    return rng.random((n, n)), rng.random((n, n)), steps


@program(plane_inputs, size={"n": 500, "steps": 20}, small={"n": 9, "steps": 3}, loops=True)
def jacobi_2d(A, B, steps):
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A


@peer("numba", jacobi_2d)
def jacobi_2d_numba(A, B, steps):
    n, m = A.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
    return A


@peer("jax", jacobi_2d)
def jacobi_2d_jax(A, B, steps):
    import jax

    def half(A):
        return 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])

    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1].set(half(A))
        A = A.at[1:-1, 1:-1].set(half(B))
        return A, B

    return jax.lax.fori_loop(0, steps, step, (A, B))[0]


def box_inputs(rng, n, steps):
    return rng.random((n, n, n)), np.zeros((n, n, n)), steps


@program(box_inputs, size={"n": 70, "steps": 10}, small={"n": 6, "steps": 2}, loops=True)
def heat_3d(A, B, steps):
    for _ in range(steps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = B[1:-1, 1:-1, 1:-1]
    return A


@peer("numba", heat_3d)
def heat_3d_numba(A, B, steps):
    n = A.shape[0]
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i, j, k] = B[i, j, k]
    return A


def seidel_inputs(rng, n, steps):
    return rng.random((n, n)), steps


@program(seidel_inputs, size={"n": 120, "steps": 4}, small={"n": 8, "steps": 2}, loops=True)
def seidel_2d(A, steps):
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return A


def image_inputs(rng, n, m):
    return (rng.random((n, m)),)


@program(image_inputs, size={"n": 1500, "m": 1500}, small={"n": 9, "m": 11})
def laplacian_of_grid(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]


@peer("numba", laplacian_of_grid)
def laplacian_of_grid_numba(u):
    n, m = u.shape
    result = np.empty((n - 2, m - 2))
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            result[i - 1, j - 1] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
    return result


def diffusion_inputs(rng, n, levels):
    return rng.random((n + 4, n + 4, levels)), rng.random((n, n, levels)), n


@program(diffusion_inputs, size={"n": 128, "levels": 60}, small={"n": 6, "levels": 3})
def horizontal_diffusion(field, coefficient, n):
    inner = field[1 : n + 3, 1 : n + 3]
    laplacian = 4.0 * inner - (
        field[2 : n + 4, 1 : n + 3]
        + field[0 : n + 2, 1 : n + 3]
        + field[1 : n + 3, 2 : n + 4]
        + field[1 : n + 3, 0 : n + 2]
    )
    flux_x = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    flux_x = np.where(flux_x * (field[2 : n + 3, 2 : n + 2] - field[1 : n + 2, 2 : n + 2]) > 0, 0.0, flux_x)
    flux_y = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    flux_y = np.where(flux_y * (field[2 : n + 2, 2 : n + 3] - field[2 : n + 2, 1 : n + 2]) > 0, 0.0, flux_y)
    spread = flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1]
    return field[2 : n + 2, 2 : n + 2] - coefficient * spread


def electromagnetic_inputs(rng, n, steps):
    return rng.random((n, n)), rng.random((n, n)), rng.random((n, n)), np.arange(steps) * 0.1


@program(electromagnetic_inputs, size={"n": 400, "steps": 15}, small={"n": 8, "steps": 3}, loops=True)
def finite_difference_time_domain(ex, ey, hz, source):
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


@peer("numba", finite_difference_time_domain)
def finite_difference_time_domain_numba(ex, ey, hz, source):
    n, m = hz.shape
    for t in range(source.shape[0]):
        for j in range(m):
            ey[0, j] = source[t]
        for i in prange(1, n):
            for j in range(m):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in prange(n):
            for j in range(1, m):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in prange(n - 1):
            for j in range(m - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return ex, ey, hz


def cells_inputs(rng, n):
    return (rng.random((n, n)) > 0.6,)


@program(cells_inputs, size={"n": 1000}, small={"n": 9})
def game_of_life(alive):
    neighbours = np.zeros(alive.shape, dtype=np.int8)
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            if dx != 0 or dy != 0:
                neighbours += np.roll(np.roll(alive, dx, axis=0), dy, axis=1).astype(np.int8)
    return (neighbours == 3) | (alive & (neighbours == 2))


@peer("numba", game_of_life)
def game_of_life_numba(alive):
    n, m = alive.shape
    result = np.empty_like(alive)
    for i in prange(n):
        above = i - 1 if i > 0 else n - 1
        below = i + 1 if i < n - 1 else 0
        for j in range(m):
            left = j - 1 if j > 0 else m - 1
            right = j + 1 if j < m - 1 else 0
            count = (
                int(alive[above, left]) + int(alive[above, j]) + int(alive[above, right])
                + int(alive[i, left]) + int(alive[i, right])
                + int(alive[below, left]) + int(alive[below, j]) + int(alive[below, right])
            )  # fmt: skip
            result[i, j] = count == 3 or (alive[i, j] and count == 2)
    return result


def wave_inputs(rng, n, steps):
    u = rng.random((n, n))
    return u, u.copy(), 0.1, steps


@program(wave_inputs, size={"n": 400, "steps": 15}, small={"n": 8, "steps": 3}, loops=True)
def wave_equation(now, before, courant, steps):
    for _ in range(steps):
        after = np.zeros_like(now)
        curvature = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4 * now[1:-1, 1:-1]
        after[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + courant * curvature
        before, now = now, after
    return now


def gray_scott_inputs(rng, n, steps):
    return np.ones((n, n)) - 0.1 * rng.random((n, n)), 0.2 * rng.random((n, n)), steps


@program(gray_scott_inputs, size={"n": 400, "steps": 8}, small={"n": 8, "steps": 2}, loops=True)
def gray_scott(u, v, steps):
    for _ in range(steps):
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        reaction = u * v * v
        u = u + 0.16 * lu - reaction + 0.06 * (1 - u)
        v = v + 0.08 * lv + reaction - 0.122 * v
    return u, v
