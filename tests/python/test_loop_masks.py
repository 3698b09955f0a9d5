"""Masked updates and complex arrays in native loops: NumPy's elements bit for bit, no Python in between."""

import copy

import numpy as np
import pytest
import weft
from support.compare import check, numpy_fuses

RNG = np.random.default_rng(11)
SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e300, 1e-300])
PAIRS = np.array([complex(re, im) for re in SPECIAL for im in SPECIAL])


def numbers(*shape, dtype=np.float64):
    values = RNG.standard_normal(shape)
    return values.astype(dtype) if dtype != np.complex128 else values + 1j * RNG.standard_normal(shape)


def check_masks(function, *arguments, native=True):
    is_complex = any(np.iscomplexobj(argument) for argument in arguments)
    check(function, arguments, rtol=1e-12 if is_complex and not numpy_fuses() else 0.0)
    if native:
        breaks = weft.compiler.explain(function)(*copy.deepcopy(arguments)).breaks
        assert all("loop" not in found.reason for found in breaks), breaks


def escape(c, z, count, steps):
    for step in range(steps):
        inside = np.abs(z) < 2.0
        count[inside] = step
        z[inside] = z[inside] ** 2 + c[inside]
    return count, z


def updates(x, y, m, a, n):
    for i in range(n):
        x[m] += y[m]
        x[m] = x[m] * a - y[m]
        x[m] *= 0.5
        x[x > 0.25] -= 0.125
        x[~m] = i
        y[m] = -y[m]
    return x, y


def reads(x, m, n):
    total = 0.0
    for i in range(n):
        chosen = x[m]
        twice = x[m] * 2 + x[m]
        total += chosen.sum() + twice.max() + x[m].size + (x[m] > i * 0.1).sum()
        x[m] = chosen + i * 0.01
    return total, twice


def reads_what_is_updated(x, y, m, n):
    for _ in range(n):
        kept = x[m]
        x[m] = 1.0
        y[m] = kept + x[m]
        m[0] = not m[0]
    return x, y, m


def shifted(x, m, n):
    for _ in range(n):
        x[1:][m] = x[:-1][m] * 0.5
        x[:-1][m] = x[1:][m] + x[:-1][m]
    return x


def masks_of_masks(m, k, n):
    for i in range(n):
        m[k] = ~m[k]
        k[m] = i % 2 == 0
        m[m] = k[m]
    return m, k


def wrong_sizes(x, y, m, k, n):
    for i in range(n):
        x[m] += 1
        if i == n - 2:
            x[m] = y[k]
    return x


def complex_algebra(z, w, x, n):
    for i in range(n):
        a = z * w + x
        b = (a - w) * (1 - 2j) / w
        c = -np.conj(b) + np.square(z) * x
        d = np.abs(c) + np.absolute(a) * 2
        e = np.where(d > 1, a, c)
        same = (e == a) | (z != w)
        z[same] = z[same] / (w[same] + 0.5j)
        z += 1e-3 * i
        w[:] = x
    return a, b, c, d, e, z, w, np.count_nonzero(same)


def complex_products(z, w, n):
    total = 0.0
    for i in range(n):
        out = z * w
        ratio = z / w
        length = np.abs(z)
        square = z**2
    return out, ratio, length, square


@pytest.mark.parametrize("shape", [(0,), (1,), (37,), (6, 11)], ids=str)
def test_escape_times(shape):
    check_masks(
        escape, numbers(*shape, dtype=np.complex128), np.zeros(shape, complex), np.zeros(shape, np.int64), 30
    )


def test_escape_times_of_threads():
    c = numbers(220, 230, dtype=np.complex128)
    check_masks(escape, c, np.zeros_like(c), np.zeros(c.shape, np.int64), 12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128])
def test_updates_through_masks(dtype):
    x, y, m = numbers(7, 9, dtype=dtype), numbers(7, 9, dtype=dtype), RNG.random((7, 9)) > 0.4
    if dtype in (np.float64, np.float32):
        check_masks(updates, x, y, m, dtype(0.75), 7)
        check_masks(updates, x[::2, ::-1], y[::2, ::-1], m[::2, ::-1], dtype(0.75), 7)
        check_masks(updates, np.asfortranarray(x), y, np.asfortranarray(m), dtype(0.75), 7)
        for chosen in (np.zeros((7, 9), bool), np.ones((7, 9), bool)):
            check_masks(updates, x, y, chosen, dtype(0.75), 7)
    check_masks(shifted, x.ravel(), m.ravel()[1:], 6)


def test_reads_through_masks():
    x, m = numbers(40), RNG.random(40) > 0.5
    check_masks(reads, x, m, 5)
    check_masks(reads, x[::-2], m[::-2], 5)
    check_masks(reads, x, np.zeros(40, bool), 5, native=False)
    check_masks(reads_what_is_updated, x, numbers(40), m, 5)
    check_masks(masks_of_masks, m, RNG.random(40) > 0.5, 5)


def test_special_values_through_masks():
    x = np.concatenate([SPECIAL, SPECIAL[::-1]])
    check_masks(updates, x, x[::-1].copy(), np.arange(18) % 3 > 0, 0.5, 6)


def test_sizes_that_do_not_fit():
    m, k = np.arange(12) % 2 == 0, np.arange(12) % 3 == 0
    check_masks(wrong_sizes, numbers(12), numbers(12), m, k, 8, native=False)
    check_masks(wrong_sizes, numbers(12), numbers(11), m, k, 8, native=False)
    check_masks(wrong_sizes, numbers(12), numbers(12), m[:9], m, 8, native=False)


def test_complex_arrays():
    z, w, x = numbers(5, 8, dtype=np.complex128), numbers(5, 8, dtype=np.complex128), numbers(8)
    check_masks(complex_algebra, z, w, x, 5)
    check_masks(complex_algebra, z[:, ::-2], w[:, ::2], x[::2], 5)
    check_masks(complex_algebra, z[:0], w[:0], x, 5)


def test_special_complex_values():
    z, w = (part.ravel().copy() for part in np.broadcast_arrays(PAIRS, PAIRS[:, None]))
    check_masks(complex_products, z, w, 5)


def magnitudes(z, limit, n):
    for _ in range(n):
        below = np.abs(z) < limit
        at_most = np.abs(z) <= limit
        above = np.abs(z * 1) > limit
        at_least = limit <= np.abs(z)
    return below, at_most, above, at_least


def test_magnitudes_near_a_limit():
    turns = np.exp(2j * np.pi * np.arange(600) / 600)
    for limit in (2.0, 0.3, 1e-3):
        near = limit * turns * np.nextafter(1.0, np.array([0.0, 2.0, 1.0]))[:, None]
        check_masks(magnitudes, near, limit, 5)
        check_masks(magnitudes, near[:, ::-3], limit, 5)
        check_masks(magnitudes, near.T, np.float64(limit), 5)


def test_magnitudes_and_limits_of_every_size():
    with np.errstate(all="ignore"):
        values = np.concatenate([PAIRS, PAIRS * 1e-150, PAIRS * 1e150])
    for limit in (0.0, -1.0, np.inf, np.nan, 1e-200, 1e200, 1e300, 2.5, 5e-324):
        check_masks(magnitudes, values, limit, 5)


def complex_updates(z, w, m, n):
    for _ in range(n):
        z[m] = z[m] * w[m] + 0.5
        w[m] /= 1 + 1j
        z[~m] = 2j
    return z, w


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_complex_updates_by_runs_of_a_mask(rows):
    z, w = numbers(rows, 83, dtype=np.complex128), numbers(rows, 83, dtype=np.complex128)
    runs = np.repeat(RNG.random((rows, 11)) > 0.5, 8, axis=1)[:, :83].copy()
    for m in (runs, RNG.random((rows, 83)) > 0.3, np.ones((rows, 83), bool), np.zeros((rows, 83), bool)):
        check_masks(complex_updates, z, w, m, 5)
    check_masks(complex_updates, z[:, ::-1], w[:, ::-1], runs[:, ::-1], 5)
    check_masks(complex_updates, z, w, np.full((rows, 83), 3, np.uint8).view(bool), 5)
