"""Physics: particles, fluids, fractals, distances on a sphere, prices of options."""

import math

import numpy as np

from .registry import peer, prange, program


# ---- particles ---------------------------------------------------------------------------------------------
def bodies_inputs(rng, n):
    return rng.standard_normal((n, 3)), rng.random(n) + 0.1, 0.05


@program(bodies_inputs, size={"n": 700}, small={"n": 9}, rtol=1e-12)
def gravity(position, mass, softening):
    delta = position[None, :, :] - position[:, None, :]
    distance2 = (delta**2).sum(axis=2) + softening**2
    weight = mass / (distance2 * np.sqrt(distance2))
    return (delta * weight[:, :, None]).sum(axis=1)


@peer("numba", gravity)
def gravity_numba(position, mass, softening):
    n = position.shape[0]
    result = np.empty((n, 3))
    for i in prange(n):
        ax = ay = az = 0.0
        for j in range(n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            distance2 = dx**2 + dy**2 + dz**2 + softening**2
            weight = mass[j] / (distance2 * math.sqrt(distance2))
            ax += dx * weight
            ay += dy * weight
            az += dz * weight
        result[i, 0] = ax
        result[i, 1] = ay
        result[i, 2] = az
    return result


@program(bodies_inputs, size={"n": 120}, small={"n": 7}, rtol=1e-12, loops=True)
def gravity_in_loops(position, mass, softening):
    n = position.shape[0]
    force = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            distance2 = dx * dx + dy * dy + dz * dz + softening * softening
            weight = mass[j] / (distance2 * math.sqrt(distance2))
            force[i, 0] += dx * weight
            force[i, 1] += dy * weight
            force[i, 2] += dz * weight
    return force


@program(bodies_inputs, size={"n": 900}, small={"n": 8}, rtol=1e-12)
def lennard_jones_energy(position, mass, softening):
    delta = position[:, None, :] - position[None, :, :]
    inverse2 = 1.0 / (np.sum(delta * delta, axis=-1) + softening)
    inverse6 = inverse2 * inverse2 * inverse2
    return 4.0 * np.sum(inverse6 * inverse6 - inverse6)


@peer("numba", lennard_jones_energy)
def lennard_jones_energy_numba(position, mass, softening):
    n = position.shape[0]
    total = 0.0
    for i in prange(n):
        partial = 0.0
        for j in range(n):
            dx = position[i, 0] - position[j, 0]
            dy = position[i, 1] - position[j, 1]
            dz = position[i, 2] - position[j, 2]
            inverse2 = 1.0 / (dx * dx + dy * dy + dz * dz + softening)
            inverse6 = inverse2 * inverse2 * inverse2
            partial += inverse6 * inverse6 - inverse6
        total += partial
    return 4.0 * total


def green_inputs(rng, momenta, energies, atoms, neighbours, orbitals):
    def numbers(*shape):
        return rng.random(shape) + 1j * rng.random(shape)

    green = numbers(momenta, energies, atoms, orbitals, orbitals)
    coupling = numbers(atoms, neighbours, 3, orbitals, orbitals)
    weight = numbers(momenta, energies, atoms, neighbours, 3)
    return rng.integers(0, atoms, (atoms, neighbours)), coupling, green, weight


@program(
    green_inputs,
    size={"momenta": 2, "energies": 5, "atoms": 6, "neighbours": 2, "orbitals": 3},
    small={"momenta": 1, "energies": 2, "atoms": 2, "neighbours": 2, "orbitals": 2},
    rtol=1e-12,
    loops=True,
)
def self_energy(neighbour, coupling, green, weight):
    result = np.zeros(green.shape, np.complex128)
    for k in range(green.shape[0]):
        for e in range(green.shape[1]):
            for w in range(e + 1):
                for i in range(3):
                    for a in range(neighbour.shape[0]):
                        for b in range(neighbour.shape[1]):
                            left = green[k, e - w, neighbour[a, b]] @ coupling[a, b, i]
                            result[k, e, a] += left @ (coupling[a, b, i] * weight[k, w, a, b, i])
    return result


# ---- fluids ------------------------------------------------------------------------------------------------
def pressure_inputs(rng, n, steps):
    return rng.random((n, n)), rng.random((n, n)), 0.05, steps


@program(pressure_inputs, size={"n": 300, "steps": 40}, small={"n": 8, "steps": 3}, loops=True)
def pressure_poisson(p, b, spacing, steps):
    for _ in range(steps):
        old = p.copy()
        p[1:-1, 1:-1] = (
            old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]
        ) / 4.0 - spacing**2 / 4.0 * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0
    return p


@peer("numba", pressure_poisson)
def pressure_poisson_numba(p, b, spacing, steps):
    n, m = p.shape
    for _ in range(steps):
        old = p.copy()
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                p[i, j] = (
                    old[i, j + 1] + old[i, j - 1] + old[i + 1, j] + old[i - 1, j]
                ) / 4.0 - spacing**2 / 4.0 * b[i, j]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0
    return p


def lattice_inputs(rng, n):
    return (rng.random((9, n, n)) * 0.1 + 0.1,)


@program(lattice_inputs, size={"n": 300}, small={"n": 7}, rtol=1e-12)
def lattice_boltzmann_collision(f):
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weight = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    density = f.sum(axis=0)
    vx = (f * cx[:, None, None]).sum(axis=0) / density
    vy = (f * cy[:, None, None]).sum(axis=0) / density
    cu = 3.0 * (cx[:, None, None] * vx + cy[:, None, None] * vy)
    equilibrium = density * weight[:, None, None] * (1.0 + cu + 0.5 * cu**2 - 1.5 * (vx**2 + vy**2))
    return f - (f - equilibrium) * 0.6


# ---- pointwise ---------------------------------------------------------------------------------------------
def angles_inputs(rng, n):
    return tuple(rng.random(n) * 2.0 - 1.0 for _ in range(4))


@program(angles_inputs, size={"n": 1_000_000}, small={"n": 33}, rtol=1e-14)
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    half_chord = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(half_chord), np.sqrt(1 - half_chord))


@peer("numba", arc_distance)
def arc_distance_numba(theta_1, phi_1, theta_2, phi_2):
    result = np.empty_like(theta_1)
    for i in prange(theta_1.size):
        half_chord = (
            np.sin((theta_2[i] - theta_1[i]) / 2) ** 2
            + np.cos(theta_1[i]) * np.cos(theta_2[i]) * np.sin((phi_2[i] - phi_1[i]) / 2) ** 2
        )
        result[i] = 2 * np.arctan2(np.sqrt(half_chord), np.sqrt(1 - half_chord))
    return result


@peer("numexpr", arc_distance)
def arc_distance_numexpr(theta_1, phi_1, theta_2, phi_2):
    import numexpr

    half_chord = numexpr.evaluate(
        "sin((theta_2 - theta_1) / 2) ** 2 + cos(theta_1) * cos(theta_2) * sin((phi_2 - phi_1) / 2) ** 2"
    )
    return numexpr.evaluate("2 * arctan2(sqrt(h), sqrt(1 - h))", {"h": half_chord})


def options_inputs(rng, n):
    return rng.random(n) * 50 + 50, rng.random(n) * 50 + 50, rng.random(n) * 4 + 0.5, 0.03, 0.3


@program(options_inputs, size={"n": 1_000_000}, small={"n": 33}, rtol=1e-13)
def black_scholes(price, strike, years, rate, volatility):
    root = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root
    # The normal distribution by its logistic approximation.
    n1 = 1.0 / (1.0 + np.exp(-1.5976 * d1 - 0.07056 * d1 * d1 * d1))
    n2 = 1.0 / (1.0 + np.exp(-1.5976 * d2 - 0.07056 * d2 * d2 * d2))
    discounted = strike * np.exp(-rate * years)
    call = price * n1 - discounted * n2
    return call, call + discounted - price


@peer("numba", black_scholes)
def black_scholes_numba(price, strike, years, rate, volatility):
    call = np.empty_like(price)
    put = np.empty_like(price)
    for i in prange(price.size):
        root = volatility * np.sqrt(years[i])
        d1 = (np.log(price[i] / strike[i]) + (rate + 0.5 * volatility**2) * years[i]) / root
        d2 = d1 - root
        n1 = 1.0 / (1.0 + np.exp(-1.5976 * d1 - 0.07056 * d1 * d1 * d1))
        n2 = 1.0 / (1.0 + np.exp(-1.5976 * d2 - 0.07056 * d2 * d2 * d2))
        discounted = strike[i] * np.exp(-rate * years[i])
        call[i] = price[i] * n1 - discounted * n2
        put[i] = call[i] + discounted - price[i]
    return call, put


@program(lambda rng, n: (rng.random((2, n)),), size={"n": 2_000_000}, small={"n": 50})
def monte_carlo_pi(points):
    x, y = points
    return 4.0 * np.count_nonzero(x * x + y * y < 1.0) / x.size


@peer("numba", monte_carlo_pi)
def monte_carlo_pi_numba(points):
    count = 0
    for i in prange(points.shape[1]):
        if points[0, i] * points[0, i] + points[1, i] * points[1, i] < 1.0:
            count += 1
    return 4.0 * count / points.shape[1]


# ---- fractals ----------------------------------------------------------------------------------------------
def fractal_inputs(rng, n, steps):
    return -2.0, 0.6, -1.2, 1.2, n, steps


@program(fractal_inputs, size={"n": 200, "steps": 50}, small={"n": 9, "steps": 6}, loops=True)
def mandelbrot_masked(x_low, x_high, y_low, y_high, n, steps):
    x = np.linspace(x_low, x_high, n)
    y = np.linspace(y_low, y_high, n)
    c = x + y[:, None] * 1j
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int64)
    for step in range(steps):
        inside = np.abs(z) < 2.0
        count[inside] = step
        z[inside] = z[inside] ** 2 + c[inside]
    return count


@program(fractal_inputs, size={"n": 60, "steps": 50}, small={"n": 7, "steps": 6}, loops=True)
def mandelbrot_in_loops(x_low, x_high, y_low, y_high, n, steps):
    count = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        for j in range(n):
            cx = x_low + (x_high - x_low) * j / (n - 1)
            cy = y_low + (y_high - y_low) * i / (n - 1)
            x = 0.0
            y = 0.0
            step = 0
            while step < steps and x * x + y * y < 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                step += 1
            count[i, j] = step
    return count


@peer("numba", mandelbrot_in_loops)
def mandelbrot_in_loops_numba(x_low, x_high, y_low, y_high, n, steps):
    count = np.zeros((n, n), dtype=np.int64)
    for i in prange(n):
        for j in range(n):
            cx = x_low + (x_high - x_low) * j / (n - 1)
            cy = y_low + (y_high - y_low) * i / (n - 1)
            x = 0.0
            y = 0.0
            step = 0
            while step < steps and x * x + y * y < 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                step += 1
            count[i, j] = step
    return count


def ising_inputs(rng, n, steps):
    return np.where(rng.random((n, n)) > 0.5, 1, -1), rng.random((steps, 2, n, n)), 0.44


@program(ising_inputs, size={"n": 200, "steps": 8}, small={"n": 8, "steps": 2}, rtol=1e-12, loops=True)
def ising_checkerboard(spins, chance, beta):
    n = spins.shape[0]
    color = (np.arange(n)[:, None] + np.arange(n)[None, :]) % 2
    for step in range(chance.shape[0]):
        for parity in range(2):
            neighbours = (
                np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            )
            flip = (color == parity) & (chance[step, parity] < np.exp(-2.0 * beta * spins * neighbours))
            spins = np.where(flip, -spins, spins)
    return spins, spins.mean()
