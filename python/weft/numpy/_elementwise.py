"""Functions element by element, with NumPy's promotion."""

import math as _math

import numpy as _numpy

import weft as _weft

from ._convert import array as _array
from ._convert import inexact as _inexact
from ._convert import kind as _kind
from ._convert import ndarray as _ndarray
from ._convert import operands as _operands
from ._convert import through_numpy as _through_numpy

# The standard's name, and the operator's where it is another.
_OF_REALS = """
    acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh cbrt
    deg2rad rad2deg""".split()
_KEEPING = {"positive": "positive", "negative": "neg", "square": "square", "conj": "conj", "sign": "sign"}
_TESTS = "isfinite isinf isnan logical_not".split()
_OF_TWO = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "remainder": "remainder",
    "floor_divide": "floor_divide",
    "maximum": "maximum",
    "minimum": "minimum",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "pow",
    "divide": "true_divide",
    "atan2": "atan2",
    "hypot": "hypot",
    "copysign": "copysign",
    "nextafter": "nextafter",
    "logaddexp": "logaddexp",
}


def _documented(function, name, numpy_name=None):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"numpy.{numpy_name or name} on arrays."
    return function


def _unary(name, op, convert):
    operator = getattr(_weft, op)

    def function(x, /):
        return operator(convert(x))

    return _documented(function, name)


def _binary(name, op):
    operator = getattr(_weft, op)

    def function(x1, x2, /):
        if type(x1) is not _ndarray or type(x2) is not _ndarray:
            x1, x2 = _operands(x1, x2)
        return operator(x1, x2)

    return _documented(function, name)


for _name in _OF_REALS:
    globals()[_name] = _unary(_name, _name, _inexact)
for _name, _op in _KEEPING.items():
    globals()[_name] = _unary(_name, _op, _array)
for _name in _TESTS:
    globals()[_name] = _unary(_name, _name, _array)
for _name, _op in _OF_TWO.items():
    globals()[_name] = _binary(_name, _op)


def _or_complex(of_complex):
    """The operator of the function's name for reals, the function for complex numbers."""
    name = of_complex.__name__
    operator = getattr(_weft, name)

    def function(x, /):
        x = _inexact(x)
        return of_complex(x) if _kind(x) == "c" else operator(x)

    return _documented(function, name)


@_or_complex
def exp2(x):
    return _weft.exp(x * _math.log(2.0))


@_or_complex
def expm1(x):
    real, imag = _weft.real(x), _weft.imag(x)
    half = _weft.sin(imag / 2)
    return _weft.complex(
        _weft.expm1(real) * _weft.cos(imag) - 2 * half * half, _weft.exp(real) * _weft.sin(imag)
    )


@_or_complex
def log2(x):
    return _weft.log(x) * (1.0 / _math.log(2.0))


@_or_complex
def log1p(x):
    real, imag = _weft.real(x) + 1, _weft.imag(x)
    return _weft.complex(_weft.log(_weft.hypot(real, imag)), _weft.atan2(imag, real))


def abs(x, /):
    return _weft.abs(_array(x))


def bitwise_invert(x, /):
    return _weft.bitwise_not(_array(x))


def signbit(x, /):
    return _weft.signbit(_inexact(x))


def reciprocal(x, /):
    x = _array(x)
    if _kind(x) in "iub":
        raise TypeError(f"reciprocal: expected a floating or complex dtype, got {x.dtype}")
    return _weft.true_divide(_weft.full([], 1, dtype=x.dtype), x)


def real(x, /):
    return _weft.real(_array(x))


def imag(x, /):
    return _weft.imag(_array(x))


def _rounding(name, op):
    operator = getattr(_weft, op)

    def function(x, /):
        x = _array(x)
        return x.clone() if _kind(x) in "iub" else operator(x)

    return _documented(function, name)


ceil, floor, trunc = _rounding("ceil", "ceil"), _rounding("floor", "floor"), _rounding("trunc", "trunc")


def round(x, /, decimals=0):
    """numpy.round on arrays."""
    x = _array(x)
    if decimals == 0:
        if _kind(x) == "c":
            return _weft.complex(_weft.rint(_weft.real(x)), _weft.rint(_weft.imag(x)))
        return x.clone() if _kind(x) in "iub" else _weft.rint(x)
    return _through_numpy(_numpy.round)(x, decimals)


def clip(x, /, min=None, max=None):
    """numpy.clip on arrays."""
    x = _array(x)
    if min is not None:
        x = maximum(x, min)  # noqa: F821
    if max is not None:
        x = minimum(x, max)  # noqa: F821
    return x.clone() if min is None and max is None else x


# NumPy's other names of these.
absolute, invert, bitwise_not, power, mod = (
    abs,
    bitwise_invert,
    bitwise_invert,
    globals()["pow"],
    globals()["remainder"],
)
true_divide, left_shift, right_shift = (
    globals()["divide"],
    globals()["bitwise_left_shift"],
    globals()["bitwise_right_shift"],
)
arccos, arccosh, arcsin, arcsinh, arctan, arctanh, arctan2, conjugate = (
    globals()[_name] for _name in "acos acosh asin asinh atan atanh atan2 conj".split()
)

__all__ = [_name for _name in globals() if not _name.startswith("_")]
