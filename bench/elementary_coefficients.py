"""The coefficients and tables of src/scalar/elementary/*.inc, computed with mpmath (which nothing else needs).

Polynomials interpolate at Chebyshev nodes, which is within a small factor of the best; tables choose, near each
interval's middle, the point whose logarithm or angle comes closest to a number of few bits.
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 60
LN2 = mp.log(2)


def polynomial(name, function, low, high, count, single, at_zero=None):
    values = lambda x: mp.mpf(at_zero) if x == 0 else function(x)  # noqa: E731
    rounded = (
        float(np.float32(float(c))) if single else float(c) for c in mp.chebyfit(values, [low, high], count)
    )
    print(f"{name} ({'single' if single else 'double'}): {', '.join(c.hex() for c in rounded)}")


def of_square(function):
    return lambda square: function(mp.sqrt(square))


def logarithm_table(name, base, grid, single, random):
    """Inverses of points of the 16 intervals whose logarithms are multiples of `grid`."""
    unit = mp.log(base) if base else mp.mpf(1)
    inverses, logarithms = [], []
    for j in range(16):
        ends = np.array(
            [0x3FE6800000000000 + (j << 48), 0x3FE6800000000000 + ((j + 1) << 48)], np.uint64
        ).view(np.float64)
        if ends[0] < 1 < ends[1]:
            inverses, logarithms = [*inverses, 1.0], [*logarithms, 0.0]
            continue
        middle = 2 / ends.sum()
        if single:
            near = np.float32(middle).view(np.int32) + np.arange(-(2**15), 2**15, dtype=np.int32)
            candidates = near.view(np.float32)
            candidates = candidates[np.abs(candidates / middle - 1) < 0.004].astype(np.longdouble)
        else:
            candidates = (middle * (1 + random.uniform(-0.002, 0.002, 1 << 21))).astype(np.longdouble)
        exact = -np.log(candidates) / np.longdouble(str(unit))
        rounded = np.round(exact / grid) * np.longdouble(grid)
        best = np.argmin(np.abs(rounded - exact))
        inverses, logarithms = [*inverses, float(candidates[best])], [*logarithms, float(rounded[best])]
    print(f"{name} inverse: {', '.join(c.hex() for c in inverses)}")
    print(f"{name} logarithm: {', '.join(c.hex() for c in logarithms)}")


def angle_table(dtype, random):
    """Tangents near the middles of halves of octaves whose angles are numbers of `dtype`."""
    tangents, angles = [0.0], [0.0]
    for j in range(14):
        octave = 2.0 ** (j // 2 - 3)
        ends = np.array([1.5, 2.0] if j % 2 else [1.0, 1.5]) * octave
        middle = np.tan(np.arctan(ends).mean())
        if dtype == np.float32:
            candidates = (
                np.float32(middle).view(np.int32) + np.arange(-(2**14), 2**14, dtype=np.int32)
            ).view(np.float32)
        else:
            candidates = middle * (1 + random.uniform(-2e-3, 2e-3, 1 << 16))
        candidates = candidates.astype(np.longdouble)
        exact = np.arctan(candidates)
        best = np.argmin(np.abs(exact.astype(dtype) - exact))
        tangents, angles = [*tangents, float(candidates[best])], [*angles, float(exact[best].astype(dtype))]
    print(f"angles ({dtype.__name__}) tangent: {', '.join(c.hex() for c in tangents)}")
    print(f"angles ({dtype.__name__}) angle: {', '.join(c.hex() for c in angles)}")


def gamma_tails():
    """Those of lgamma and digamma, which compute in double precision; single precision takes the shorter ones."""
    slope_end = mp.mpf("0.5001")

    def stirling(inverse_square):
        x = 1 / mp.sqrt(inverse_square)
        leading = (x - mp.mpf("0.5")) * mp.log(x) - x + mp.log(2 * mp.pi) / 2
        return (mp.loggamma(x) - leading) * x

    def slope_of_stirling(inverse_square):
        x = 1 / mp.sqrt(inverse_square)
        return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x**2

    for of, slope, tail in (("", 18, 8), (" of single", 10, 3)):
        polynomial(
            f"lgamma_slope{of}",
            lambda z: mp.loggamma(2 + z) / z,
            -slope_end,
            slope_end,
            slope,
            False,
            1 - mp.euler,
        )
        for name, function in (("stirling_tail", stirling), ("digamma_tail", slope_of_stirling)):
            polynomial(f"{name}{of}", function, mp.mpf("1e-9"), mp.mpf(1) / 64, tail, False)


def main():
    half, log_end = LN2 / 2 * mp.mpf("1.0001"), mp.mpf(1) / mp.mpf("31.9")
    for single, tail, even, odd, angle, logarithm in ((False, 11, 6, 6, 9, 8), (True, 5, 3, 3, 4, 3)):
        polynomial("exp_tail", lambda x: (mp.expm1(x) - x) / x**2, -half, half, tail, single, 0.5)
        polynomial(
            "cosh_tail", of_square(lambda x: (mp.cosh(x) - 1) / x**2), mp.mpf("1e-12"), half**2, even, single
        )
        polynomial(
            "sinh_tail", of_square(lambda x: (mp.sinh(x) - x) / x**3), mp.mpf("1e-12"), half**2, odd, single
        )
        polynomial(
            "atan_tail",
            of_square(lambda x: (mp.atan(x) - x) / x**3),
            mp.mpf("1e-12"),
            mp.mpf("0.17") ** 2,
            angle,
            single,
        )
        third = lambda x: ((mp.log1p(x) - x) / x**2 + mp.mpf("0.5")) / x  # noqa: E731
        polynomial("log_tail, before -1/2", third, -log_end, log_end, logarithm, single, mp.mpf(1) / 3)
        polynomial(
            "exp2_slope",
            lambda x: (mp.power(2, x) - 1) / x,
            -mp.mpf("0.5001"),
            mp.mpf("0.5001"),
            7 if single else 11,
            single,
            LN2,
        )
    quarter = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
    for single, sine, cosine, arc in ((False, 6, 6, 13), (True, 3, 3, 6)):
        third = of_square(lambda x: (mp.sin(x) - x) / x**3)
        polynomial("sin_tail", third, mp.mpf("1e-12"), quarter, sine, single)
        fourth = of_square(lambda x: (mp.cos(x) - 1 + x**2 / 2) / x**4)
        polynomial("cos_tail", fourth, mp.mpf("1e-12"), quarter, cosine, single)
        third = of_square(lambda x: (mp.asin(x) - x) / x**3)
        polynomial("asin_tail", third, mp.mpf("1e-12"), mp.mpf("0.25"), arc, single)
    polynomial("exp_slope", lambda x: mp.expm1(x) / x, -half, half, 11, False, 1)
    polynomial(
        "tanh, single",
        of_square(lambda x: (mp.tanh(x) - x) / x**3),
        mp.mpf("1e-9"),
        mp.mpf("0.551") ** 2,
        5,
        True,
    )
    for single, count in ((False, 12), (True, 5)):
        third = of_square(lambda x: (mp.asinh(x) - x) / x**3)
        polynomial("asinh_tail", third, mp.mpf("1e-12"), mp.mpf("0.25"), count, single)
    for single, count in ((False, 7), (True, 4)):
        root = lambda z: z ** (-mp.mpf(1) / 3)  # noqa: E731
        polynomial("inverse_cube_root", root, mp.mpf("0.703"), mp.mpf("1.4063"), count, single)
    gamma_tails()
    polynomial("pow_of_single, slope", lambda x: mp.log1p(x) / x / LN2, -log_end, log_end, 6, False, 1 / LN2)
    polynomial(
        "pow_of_single, power",
        lambda x: (mp.power(2, x) - 1) / x,
        -mp.mpf("0.5001"),
        mp.mpf("0.5001"),
        6,
        False,
        LN2,
    )
    random = np.random.default_rng(1)
    for name, base, bits in (("Natural", None, (42, 16)), ("Binary", 2, (42, 16)), ("Decimal", 10, (43, 17))):
        for single in (False, True):
            logarithm_table(
                f"{name}<{'f32' if single else 'f64'}>", base, 2.0 ** -bits[single], single, random
            )
    for dtype in (np.float64, np.float32):
        angle_table(dtype, np.random.default_rng(2))


if __name__ == "__main__":
    main()
