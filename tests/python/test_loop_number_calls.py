"""NumPy's and Python's functions of single numbers in native loops: values, types, errors and warnings as Python has them."""

import functools
import sys

import numpy as np
import pytest
import weft
from loop_expressions import check_expression, loop_of
from support.compare import assert_same, check, check_loop

NAN, INFINITY = float("nan"), float("inf")
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, 2.675, 1e15, -7.25, 0.125, 0.1, 1e-300]
FLOATS += np.random.default_rng(0).normal(size=40).tolist()
ALL_FLOATS = [*FLOATS, 1e300, -1e300, NAN, INFINITY, -INFINITY]
INTS = [0, 1, 2, 3, -1, -2, -7, 10, 40, 2**40, -(2**62), 2**63 - 1, -(2**63)]

# Each is tried with all values of which Python neither raises nor warns.
OF_FLOAT = """round(a);round(a, 0);round(a, 2);round(a, 5);math.erf(a);math.erfc(a);math.radians(a);math.degrees(a);
math.exp2(a);math.cbrt(a);math.asinh(a);math.acosh(a);math.atanh(a);a.is_integer();a.conjugate();isinstance(a, float);
isinstance(a, int);isinstance(a, (int, float));max((a, 1.0));min([a, 1.0, 2.0]);pow(a, 2);
np.round(a);np.round(a, 2);np.around(a, -1);np.round(a, decimals=3);np.clip(a, -1, 1);np.clip(a, 0.5, 2.5);np.clip(a, 0.0, -0.0);
np.clip(a, None, 1.0);np.clip(a, -1.0, None);np.sign(a);np.rint(a);np.square(a);np.add(a, 1);np.subtract(1, a);np.multiply(a, a);
np.divide(a, 3);np.floor_divide(a, 3);np.remainder(a, 3);np.fmod(a, 3);np.power(a, 2);np.power(a, 0.5);np.power(2.0, a);
np.logical_and(a, 1);np.logical_not(a);np.signbit(a);np.isinf(a);np.maximum(a, 0.5);np.fmax(a, 1);np.copysign(a, -1);np.absolute(a);
np.cbrt(a);np.exp2(a);np.deg2rad(a);np.degrees(a);np.heaviside(a, 0.5);np.greater(a, 0);np.equal(a, 1);np.negative(a);np.positive(a);
np.reciprocal(a);np.float_power(a, 2);np.divmod(a, 3);np.fix(a);np.real(a);np.imag(a);np.spacing(a);a.real;a.imag;
math.modf(a);math.frexp(a);math.ldexp(a, 3);math.isclose(a, 1.0);math.prod((a, 2.0));sum((a, 2.0));any((a > 1, a < -1));
all([a > 1, a]);a in (1.0, 2.5);a not in (0.0, 0.5);(a, 1.5)[i & 1];(1.0, a)[i % 2 - 1];type(a) is float;np.nextafter(a, 2);np.hypot(a, 3);np.arctan2(a, 2);np.arcsinh(a);np.logaddexp(a, 1.0)""".replace(
    "\n", ""
).split(";")
OF_TWO_FLOATS = """math.fmod(a, b);math.remainder(a, b);math.log(a, b);math.nextafter(a, b);np.fmod(a, b);np.hypot(a, b);
np.arctan2(a, b);np.power(a, b);np.copysign(a, b);np.logical_or(a, b);np.logical_xor(a, b);np.minimum(a, b);np.clip(a, b, 3.0);
np.add(a, b);np.logaddexp2(a, b)""".replace("\n", "").split(";")
OF_INT = """round(a);round(a, 1);a.bit_length();a.bit_count();(a > 0).bit_length();math.isqrt(a);math.factorial(a) if a < 100 else 0;math.floor(a);
isinstance(a, int);isinstance(a, bool);pow(a, 3);pow(a, 5, 1000007);max((a, 3));math.radians(a);math.erf(a);
np.add(a, 1);np.multiply(a, 3);np.square(a);np.sign(a);np.clip(a, 0, 3);np.clip(a, 0.5, 3);np.round(a);np.power(a, 2);np.left_shift(1, a);
np.invert(a);np.bitwise_and(a, 6);np.gcd(a, 12);np.lcm(a, 6);np.hypot(a, 1);np.logical_not(a);np.floor_divide(a, 3);np.remainder(a, 7);
np.fmod(a, 7);np.maximum(a, 2);np.absolute(a);np.negative(a);np.rint(a);np.floor(a);np.less(a, 3);np.isnan(a);np.signbit(a);
a.real;a.imag;sum((a, 1));math.prod((a, 2));any((a, 0));all((a, 1));a in (1, 2);a in (1, 2.5);(a, 3)[i & 1];
math.perm(a, 3);math.ldexp(1.5, a);type(a) is int;type(a) is bool;np.right_shift(a, 2);np.copysign(a, -2);np.true_divide(a, 4)""".replace(
    "\n", ""
).split(";")
OF_TWO_INTS = """math.comb(a, b) if b < 50 else 0;math.lcm(a, b);pow(a, b, 97);math.fmod(a, b);np.add(a, b);np.gcd(a, b);np.fmod(a, b);np.power(a, b);
np.maximum(a, b)""".replace("\n", "").split(";")
OF_SCALAR = """round(a);round(a, 2);a.item();a.round();a.round(2);a.conjugate();isinstance(a, float);isinstance(a, np.floating);
isinstance(a, np.ndarray);isinstance(a, np.integer);np.round(a, 1);np.clip(a, 1, 2);np.sign(a);np.square(a);np.rint(a);np.fmod(a, 3);
np.copysign(a, -1);np.logical_or(a, 0);math.erf(a);math.radians(a);np.hypot(a, 1);np.add(a, 2);np.power(a, 2);a.astype(np.float32);a.astype(int);a.real;a.imag;type(a) is np.float64;sum((a, a))""".replace("\n", "").split(";")  # fmt: skip
# From 3.12 on sum() makes up for the rounding of floats: Python performs it.
if sys.version_info >= (3, 12):
    OF_FLOAT, OF_SCALAR = ([text for text in texts if "sum(" not in text] for texts in (OF_FLOAT, OF_SCALAR))


def rounding_of(text):
    """How far a result may be. Rounds behind one that leaves the loop are graphs. Their powers are nearer to the exact ones than those of NumPy's kernels for
    AVX-512, by one unit in the last place."""
    is_power = text in ("np.power(a, b)", "np.power(2.0, a)", "np.power(a, 0.5)")
    return {"rtol": np.finfo(np.float64).eps, "atol": 0.0} if is_power else {}


@pytest.mark.parametrize("text", OF_FLOAT)
def test_functions_of_a_float(text):
    check_expression(text, ALL_FLOATS, **rounding_of(text))


@pytest.mark.parametrize("text", OF_TWO_FLOATS)
def test_functions_of_two_floats(text):
    check_expression(text, ALL_FLOATS[:20] + ALL_FLOATS[-4:], two=True, **rounding_of(text))


@pytest.mark.parametrize("text", OF_INT)
def test_functions_of_an_int(text):
    check_expression(text, INTS)


@pytest.mark.parametrize("text", OF_TWO_INTS)
def test_functions_of_two_ints(text):
    check_expression(text, INTS, two=True)


# NumPy computes these of bytes in float16, which loops do not have.
HALVES = [(np.uint8, text) for text in ("np.rint(a)", "np.copysign(a, -1)", "np.hypot(a, 1)")]
SCALARS = [
    (dtype, text) for dtype in (np.float64, np.float32, np.int64, np.int32, np.uint8) for text in OF_SCALAR
]


@pytest.mark.parametrize("dtype, text", [case for case in SCALARS if case not in HALVES])
def test_functions_of_a_scalar(dtype, text):
    is_float = np.issubdtype(dtype, np.floating)
    values = list(np.array(FLOATS + [NAN] if is_float else [0, 1, 2, 3, 100], dtype))
    check_expression(text, values, as_values=functools.partial(np.array, dtype=dtype))


@pytest.mark.parametrize("text", [text for dtype, text in HALVES])
def test_what_gives_half_precision_is_performed_by_python(text):
    program, values, out = loop_of(text), np.array([0, 1, 2, 3, 100] * 10, np.uint8), []
    expected = []
    program(values, values, expected)
    weft.compile(program)(values, values, out)
    assert_same(out, expected)


def test_a_branch_on_the_class_of_a_number():
    def program(values):
        total = 0
        for value in values:
            if isinstance(value, bool):
                total += 100
            elif isinstance(value, (int, np.integer)):
                total += value
            elif type(value) is float:
                total -= 1
        return total

    check_loop(program, ([1, 2, 3] * 20,), ([1.5, 2.5] * 20,), ([True, False] * 20,), (np.arange(40),))


def test_a_ufunc_of_numpys_name_that_is_another():
    hypot = np.frompyfunc(lambda a, b: a - b, 2, 1)

    def program(x):
        total = 0.0
        for i in range(len(x)):
            total += hypot(x[i], 1.0)
        return total

    check(program, (np.arange(50.0),))


def test_error_diffusion():
    """Floyd and Steinberg's, with NumPy's rounding of each number."""

    def program(image):
        height, width = image.shape
        for i in range(height - 1):
            for j in range(1, width - 1):
                old = image[i, j]
                new = np.round(old)
                image[i, j] = new
                error = old - new
                image[i, j + 1] += error * 7 / 16
                image[i + 1, j - 1] += error * 3 / 16
                image[i + 1, j] += error * 5 / 16
                image[i + 1, j + 1] += error * 1 / 16
        return image

    check_loop(program, (np.random.default_rng(0).random((30, 40)),))
