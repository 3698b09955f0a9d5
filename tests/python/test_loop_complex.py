"""Native loops over complex numbers: Python's and NumPy's scalars, and elements of complex arrays."""

import cmath
import copy
import math

import numpy as np
import pytest
import weft
from support.compare import check


def check_native(function, *arguments):
    """Equal, and no part of the loops was left to Python."""
    check(function, arguments)
    breaks = weft.compiler.explain(function)(*copy.deepcopy(arguments)).breaks
    assert all("loop" not in found.reason for found in breaks), breaks


def escape_counts(h, w, limit):
    out = np.zeros((h, w), dtype=np.int64)
    for i in range(h):
        for j in range(w):
            c = complex(-2 + 3 * j / w, -1.5 + 3 * i / h)
            z = 0j
            for k in range(limit):
                if abs(z) > 2:
                    break
                z = z * z + c
            out[i, j] = k
    return out


def julia(grid, c, limit):
    out = np.zeros(grid.shape)
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            z = grid[i, j]
            n = 0
            while n < limit and z.real * z.real + z.imag * z.imag < 4.0:
                z = z**2 + c
                n += 1
            out[i, j] = n + np.abs(z)
    return out


def transform(x):
    n = len(x)
    a = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            a[i], a[j] = a[j], a[i]
    length = 2
    while length <= n:
        angle = -2 * math.pi / length
        root = complex(math.cos(angle), math.sin(angle))
        for i in range(0, n, length):
            w = 1 + 0j
            for k in range(length // 2):
                u = a[i + k]
                v = a[i + k + length // 2] * w
                a[i + k] = u + v
                a[i + k + length // 2] = u - v
                w *= root
        length <<= 1
    return a


def fourier_sums(x):
    n = x.shape[0]
    out = np.zeros(n, dtype=complex)
    for k in range(n):
        total = 0j
        for t in range(n):
            total += x[t] * np.exp(-2j * np.pi * k * t / n)
        out[k] = total
    return out


def root_of_polynomial(coefficients, steps):
    z = 0.4 + 0.9j
    for _ in range(steps):
        p = dp = 0j
        for c in coefficients:
            dp = dp * z + p
            p = p * z + c
        z = z - p / dp
    return z, abs(z), cmath.phase(z)


def operations(z, w, x, n):
    results = []
    a = z
    for i in range(n):
        a = (a + w) * x - w.conjugate() / (z - 2) + i
        b = -a * 1j + x / w
        results.append((a, b, a.real, b.imag, abs(a), a == b, a != b, a**2, complex(b), cmath.exp(w)))
    return results


def rows_of_matrix(m, n):
    for k in range(n):
        m[k] = m[k - 1]
        m[:, k] = 1.5 - 0.5j
        m[k, k] = k
        for j in range(n):
            m[k, j] *= np.conj(m[j, k]) + np.sqrt(m[k, j])
    return m


def samples(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + 1j * rng.normal(size=n)


def test_programs_are_native_and_exact():
    check_native(escape_counts, 12, 14, 30)
    check_native(julia, samples((9, 11)), -0.4 + 0.6j, 40)
    check_native(transform, samples(64))
    check_native(fourier_sums, np.linspace(-1.0, 1.0, 24))
    check_native(rows_of_matrix, samples((8, 8)), 8)
    check(root_of_polynomial, (samples(12).real, 30))


@pytest.mark.parametrize("x", [2, 0.75, np.float64(0.75), np.int64(3), np.complex128(0.5 - 1j)], ids=repr)
@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_operations_of_pythons_and_numpys_numbers(kind, x):
    check(operations, (kind(0.3 + 0.7j), kind(1.1 - 0.2j), x, 20))
    check(operations, (kind(0.3 + 0.7j), 1.1 - 0.2j, x, 20))


def test_signed_zeros_infinities_and_nan():
    def sums(zs, w):
        out = []
        for z in zs:
            out.append((z + w, z * w, z - w, -z, z * 2.0, z + 0, z == w))
        return out

    special = [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan]
    zs = np.array([complex(a, b) for a in special for b in special])
    for w in (
        complex(-0.0, 0.0),
        complex(0.0, -0.0),
        complex(math.inf, 1.0),
        np.complex128(complex(1.0, math.nan)),
    ):
        check(sums, (zs, w))


def test_what_raises_raises():
    def quotients(zs):
        total = 0j
        for i in range(len(zs)):
            total += 1j / complex(zs[i])
        return total

    def magnitudes(z, n):
        for _ in range(n):
            z = z * 1e30
            if abs(z) < 0:
                return None
        return z

    def ordered(zs):
        n = 0
        for i in range(len(zs)):
            if complex(zs[i]) < 1:
                n += 1
        return n

    def real_element(zs, out):
        for i in range(len(zs)):
            out[i] = complex(zs[i])
        return out

    zs = samples(20)
    zs[13] = 0
    check(quotients, (zs,))
    check(magnitudes, (1 + 1j, 20))
    check(ordered, (zs,))
    check(real_element, (zs, np.zeros(20)))
    check(real_element, (zs, np.zeros(20, dtype=complex)))


def test_sizes_and_strides():
    def scaled(x):
        total = 0j
        for i in range(len(x)):
            x[i] = x[i] * 2 - 1j
            total += x[-1 - i]
        return x, total

    for x in (samples(0), samples(1), samples(9)[::-2], samples((4, 3))[:, 1]):
        check(scaled, (x,))
