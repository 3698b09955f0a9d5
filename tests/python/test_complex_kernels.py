"""Complex arrays in fused kernels: one kernel, and NumPy's elements bit for bit with NumPy's warnings."""

import warnings

import numpy as np
import pytest
import weft
from support.compare import numpy_fuses
from support.tiers import long_but

RNG = np.random.default_rng(5)
SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e300, 1e-300, 5e-324]
PAIRS = np.array([complex(re, im) for re in SPECIAL for im in SPECIAL])


def numbers(*shape, dtype=np.complex128):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def updated(z, w):
    z = z.copy()
    z *= w
    z += 1j
    z[...] = np.conj(z) * z
    z[..., :1] = 5
    return z


PROGRAMS = {
    "arithmetic": lambda z, w: z * w + (z - 1) * 2j - w,
    "square": lambda z, w: z**2 + np.square(w),
    "quotient": lambda z, w: z / w,
    "magnitude": lambda z, w: np.abs(z) ** 2,
    "choice": lambda z, w: np.where(np.abs(z) < 1, z * w + 2j, -np.conj(w)),
    "comparisons": lambda z, w: (z == w) | (z != w * 1) | (z < w) | (z >= w),
    "parts": lambda z, w: z.real * w.imag + 1j * z.imag,
    "several": lambda z, w: (z * w, np.abs(w), z.real),
    "conversions": lambda z, w: (
        (z * w).astype(np.complex64) * 2,
        (z * 0).astype(bool),
        (w * w).real.astype(complex),
    ),
    "views": lambda z, w: (z.T * 2, z[::-1] * w, z[..., ::2] + w[..., ::2], z[..., 1:] * w[..., :-1]),
    "kinds": lambda z, w: np.isnan(z * w) | np.isinf(w) | np.isfinite(z),
    "full": lambda z, w: np.full(z.shape, 1 + 2j) * z,
    "updates": updated,
    "rotation": lambda z, w: np.roll(z, 1, axis=-1) * w,
    "largest": lambda z, w: np.maximum(z, w) - np.minimum(z, w * 2),
}
OPERANDS = {
    "matrices": (numbers(7, 9), numbers(7, 9)),
    "threads": (numbers(300, 401), numbers(300, 401)),
    "one": (numbers(1), numbers(1)),
    "empty": (numbers(0, 3), numbers(0, 3)),
    "columns": (numbers(70, 2), numbers(70, 2)),
    "fortran": (np.asfortranarray(numbers(6, 8)), numbers(6, 8)),
    "strided": (numbers(12, 20)[::2, ::-2], numbers(6, 10)),
    "single": (numbers(33, 5, dtype=np.complex64), numbers(33, 5, dtype=np.complex64)),
    "broadcast": (numbers(5, 3, 4), numbers(3, 4)),
    "special": (np.repeat(PAIRS, len(PAIRS)), np.tile(PAIRS, len(PAIRS))),
}


def check_bits(got, expected):
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            check_bits(g, e)
        return
    assert got.dtype == expected.dtype and got.shape == expected.shape and got.strides == expected.strides
    if expected.dtype.kind in "fc" and not numpy_fuses():
        np.testing.assert_allclose(got, expected, rtol=1e-5 if expected.dtype.itemsize < 16 else 1e-12)
        return
    np.testing.assert_array_equal(got, expected)
    for part in (np.real, np.imag):
        known = ~np.isnan(part(expected))
        np.testing.assert_array_equal(np.isnan(part(got)), ~known)
        np.testing.assert_array_equal(np.signbit(part(got))[known], np.signbit(part(expected))[known])


def with_warnings(function, *operands):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*operands)
    return result, sorted({str(warning.message) for warning in caught})


@pytest.mark.parametrize("operands", long_but(OPERANDS, "threads", "columns", "strided", "single", "special"))
@pytest.mark.parametrize("program", PROGRAMS)
def test_elements_are_numpys(program, operands):
    function, (z, w) = PROGRAMS[program], OPERANDS[operands]
    expected, warned = with_warnings(function, z.copy(order="K"), w)
    got, also_warned = with_warnings(weft.compile(function), z.copy(order="K"), w)
    check_bits(got, expected)
    assert also_warned == warned


@pytest.mark.parametrize("program", ["arithmetic", "magnitude", "choice", "parts", "several"])
def test_a_program_is_one_kernel(program):
    explained = weft.compiler.explain(PROGRAMS[program])(*OPERANDS["matrices"])
    assert len(explained.kernels) == 1 and not explained.breaks


def test_a_spectrum_is_read_by_the_kernel_that_uses_it():
    def power(x):
        return np.abs(np.fft.rfft(x * 0.5, axis=1)) ** 2

    x = RNG.standard_normal((50, 64))
    np.testing.assert_allclose(weft.compile(power)(x), power(x), rtol=1e-12)
    assert len(weft.compiler.explain(power)(x).kernels) == 2


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_products_of_complex_scalars(dtype):
    """NumPy fuses those of its arrays, and not those of its scalars."""

    def products(x, k):
        a, b = x[1], x[0]
        c = a * b
        c *= k
        return c, a**2, 2.5 * a, a * np.float64(1.7), np.multiply(a, b), x * a

    compiled = weft.compile(products)
    random = np.random.default_rng(0)
    for _ in range(50):
        x = (random.standard_normal(5) + 1j * random.standard_normal(5)).astype(dtype)
        for actual, expected in zip(compiled(x, 1.5j), products(x, 1.5j), strict=True):
            assert type(actual) is type(expected)
            np.testing.assert_array_equal(actual, expected)
