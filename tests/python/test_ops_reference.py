"""Every pointwise operator against its NumPy reference, in units in the last place: the bound is the operator's own."""

import ctypes
import ctypes.util
import math
import re

import numpy as np
import pytest
import weft
import weft.numpy as xp

POINTWISE = sorted(
    {
        operator.definition["name"]: operator
        for operator in vars(weft).values()
        if isinstance(operator, weft.Operator) and operator.definition["kind"] == "pointwise"
    }.items()
)
# Conversions have tests of their own; these have no reference in NumPy or math.
WITHOUT_REFERENCE = {"cast", "erfinv", "digamma", "nextafter"}
# Known values of these stand in tests/torch/test_special.py; weft's TorchScript has none of them, nor of the second set.
NOT_SCRIPTED = set(
    """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 i0e i1 i1e modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
    modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 zeta polygamma igamma igammac erfcx ndtri log_ndtr
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
    hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w""".split()
)
WITHOUT_REFERENCE |= NOT_SCRIPTED
NOT_SCRIPTED |= {
    "clamp_between",
    "entr",
    "fused_multiply_add",
    "ndtr",
    "replace_nonfinite",
    "sign_or_zero",
    "spherical_bessel_j0",
    "xlog1py",
}
REQUIRED = {"threshold": {"threshold": 1, "value": 20}}


def parameters(schema):
    """Names of the tensor operands, and the defaults of the other parameters."""
    inside = schema[1 : schema.rindex(") ->")]
    operands = re.findall(r"Tensor (\w+)", inside)
    constants = {"None": None, "True": True, "False": False}
    defaults = {
        name: constants[text] if text in constants else float(text) if re.search(r"[.e]", text) else int(text)
        for name, text in re.findall(r"(?:int|float|Scalar|bool)\?? (\w+)=([^,]+)", inside)
    }
    return operands, defaults


def reference(name, operator, operands, wide):
    names, values = parameters(operator.schema)
    values = {**values, **REQUIRED.get(name, {})}
    values |= {
        each: array if array.dtype == bool else array.astype(wide) for each, array in zip(names, operands)
    }
    with np.errstate(all="ignore"):
        return np.asarray(eval(operator.definition["numpy"], {"numpy": np, "math": math, **values}))


def sample(operator, dtype, seed=0):
    low, high = operator.definition["sample"]
    random = np.random.default_rng(seed)
    names, _ = parameters(operator.schema)
    return [
        random.random(2000) < 0.5 if each == "condition" else random.uniform(low, high, 2000).astype(dtype)
        for each in names
    ]


def ulps(got, exact, dtype):
    """Distance in units in the last place of `dtype`; below the smallest normal number, in units of that."""
    spacing = np.spacing(np.maximum(np.abs(exact.astype(dtype)), np.finfo(dtype).smallest_normal)).astype(
        np.longdouble
    )
    return np.max(np.abs(got.astype(np.longdouble) - exact) / spacing)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name, operator", POINTWISE, ids=[name for name, _ in POINTWISE])
def test_error_bound(name, operator, dtype):
    if name in WITHOUT_REFERENCE or np.dtype(dtype).name not in operator.definition["dtypes"]:
        pytest.skip("no reference on this dtype")
    if name == "lgamma" and dtype == np.float64:
        pytest.skip("math.lgamma errs by 25 units and more")
    operands = sample(operator, dtype)
    got = operator(*map(weft.from_numpy, operands), **REQUIRED.get(name, {})).numpy()
    wide = np.float64 if dtype == np.float32 else np.longdouble
    exact = reference(name, operator, operands, wide)
    if got.dtype == bool:
        np.testing.assert_array_equal(got, exact)
        return
    bound = operator.definition["error"][0 if dtype == np.float32 else 1]
    # The reference itself is rounded to float64 where it goes through Python's math module.
    slack = 1.0 if "math." in operator.definition["numpy"] and dtype == np.float64 else 0.01
    assert ulps(got, exact, dtype) <= bound + slack


def test_lgamma_equals_the_c_library():
    path = ctypes.util.find_library("m")
    if not path:
        pytest.skip("no C math library")
    lgamma = ctypes.CDLL(path).lgamma
    lgamma.restype, lgamma.argtypes = ctypes.c_double, [ctypes.c_double]
    (x,) = sample(weft.lgamma, np.float64)
    exact = np.array([lgamma(value) for value in x])
    assert (
        ulps(weft.lgamma(weft.from_numpy(x)).numpy(), exact, np.float64) <= weft.lgamma.definition["error"][1]
    )


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "sigmoid", "add", "true_divide"])
def test_float16_rounds_once(name):
    operator = getattr(weft, name)
    names, _ = parameters(operator.schema)
    operands = [np.linspace(-3, 3, 500).astype(np.float16) + np.float16(i / 7) for i in range(len(names))]
    got = operator(*map(weft.from_numpy, operands)).numpy()
    exact = reference(name, operator, operands, np.float64)
    assert got.dtype == np.float16
    assert ulps(got, exact, np.float16) <= 0.51


INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
INTEGER_OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floor_divide": np.floor_divide, "remainder": np.remainder,
    "fmod": np.fmod, "maximum": np.maximum, "minimum": np.minimum, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "left_shift": np.left_shift, "right_shift": np.right_shift, "eq": np.equal, "lt": np.less,
    "logical_and": np.logical_and, "logical_xor": np.logical_xor, "gcd": np.gcd,
}  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_OPERATORS)
def test_integers_equal_numpy(name, dtype):
    extremes = np.iinfo(dtype)
    values = np.array(
        [extremes.min, extremes.min + 1, 0, 1, 2, 3, 7, extremes.max // 2, extremes.max - 1, extremes.max],
        dtype,
    )
    x, y = (part.ravel().copy() for part in np.meshgrid(values, values))
    if name in ("floor_divide", "remainder", "fmod", "gcd"):
        # The lowest value divided by -1, and its absolute value, have no defined result in NumPy's C code.
        keep = ~((x == extremes.min) | (y == extremes.min)) if extremes.min else slice(None)
        x, y = x[keep], y[keep]
    with np.errstate(all="ignore"):
        expected = INTEGER_OPERATORS[name](x, y)
    # NumPy's rules are those of weft.numpy's arrays; PyTorch's refuse zero divisors.
    got = getattr(weft, name)(xp.asarray(x), xp.asarray(y)).numpy()
    np.testing.assert_array_equal(got, expected)
    divisors = y != 0 if name in ("floor_divide", "remainder", "fmod") else slice(None)
    got = getattr(weft, name)(weft.from_numpy(x[divisors]), weft.from_numpy(y[divisors])).numpy()
    np.testing.assert_array_equal(got, expected[divisors])


SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 1e300, -1e300, np.inf, -np.inf, np.nan, 5e-324])
SPECIAL_UNARY = """abs neg signum floor ceil trunc rint sqrt square cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos
    atan tanh asinh acosh atanh isnan isinf isfinite signbit logical_not deg2rad""".split()
SPECIAL_BINARY = """maximum minimum fmax fmin remainder fmod floor_divide true_divide atan2 hypot copysign nextafter heaviside
    logaddexp pow eq lt isclose""".split()


@pytest.mark.parametrize("name", SPECIAL_UNARY + SPECIAL_BINARY)
def test_special_values(name):
    operator = getattr(weft, name)
    names, _ = parameters(operator.schema)
    operands = (
        [SPECIAL] if len(names) == 1 else [part.ravel().copy() for part in np.meshgrid(SPECIAL, SPECIAL)]
    )
    got = operator(*map(weft.from_numpy, operands)).numpy()
    expected = reference(name, operator, operands, np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-15 * 4, atol=0)
    # The sign of a NaN is not defined, and which zero a tie gives is not either.
    if name not in ("maximum", "minimum", "fmax", "fmin", "signum") and got.dtype != bool:
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("axes", [None, 0, 1, (0, 1), (-1,)])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "amin", "amax", "ptp", "logsumexp", "count_nonzero", "nansum",
                                  "nanmean", "nanmin", "nanmax", "any", "all"])  # fmt: skip
def test_reductions(name, axes):
    x = np.random.default_rng(3).normal(size=(7, 33))
    if name.startswith("nan"):
        x[np.abs(x) < 0.2] = np.nan
    dim = None if axes is None else [axes] if isinstance(axes, int) else list(axes)
    for keepdim in (False, True):
        options = {"correction": 0} if name in ("var", "std") else {}
        got = getattr(weft, name)(weft.from_numpy(x), dim=dim, keepdim=keepdim, **options).numpy()
        values = {
            "x": x,
            "dim": None if dim is None else tuple(dim),
            "keepdim": keepdim,
            "correction": 0,
            "dtype": None,
        }
        expected = eval(getattr(weft, name).definition["numpy"], {"numpy": np, **values})
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, 0.0, math.inf, -math.inf])
def test_vector_norm(order):
    x = np.random.default_rng(5).normal(size=(6, 9)).astype(np.float32)
    got = weft.vector_norm(weft.from_numpy(x), ord=order, dim=[1]).numpy()
    np.testing.assert_allclose(got, np.linalg.norm(x.astype(np.float64), order, axis=1), rtol=1e-6)


def test_clip_and_division_modes():
    x = weft.from_numpy(np.array([-7, 7, 3], np.int32))
    assert weft.clip(x, -2, 5).tolist() == [-2, 5, 3]
    assert weft.clamp(x, max=4).tolist() == [-7, 4, 3]
    assert weft.div(x, 2, rounding_mode="floor").tolist() == [-4, 3, 1]
    assert weft.div(x, 2, rounding_mode="trunc").tolist() == [-3, 3, 1]
    assert weft.div(x, 2).dtype is weft.float32
    with pytest.raises(ValueError, match="div: rounding_mode: expected None, 'trunc' or 'floor', got 'up'"):
        weft.div(x, 2, rounding_mode="up")
    with pytest.raises(ValueError, match="clip: expected at least one of 'min' and 'max'"):
        weft.clip(x)


def test_nan_to_num():
    x = weft.from_numpy(np.array([np.nan, np.inf, -np.inf, 1.0], np.float32))
    assert weft.nan_to_num(x, posinf=7.0).tolist() == [0.0, 7.0, -np.finfo(np.float32).max.item(), 1.0]


def test_aliases_are_the_same_operator():
    x = weft.from_numpy(np.array([0.5, 1.0]))
    for alias, name in [
        ("arcsin", "asin"),
        ("power", "pow"),
        ("multiply", "mul"),
        ("absolute", "abs"),
        ("mod", "remainder"),
    ]:
        operands = [x] * len(parameters(getattr(weft, name).schema)[0])
        assert getattr(weft, alias)(*operands).tolist() == getattr(weft, name)(*operands).tolist()
