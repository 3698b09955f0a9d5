"""Arithmetic, comparisons and activations."""

import weft

from .._trace_registry import OPERATORS, is_number, operator_rule
from .._tracer import aten, paused


# ---- arithmetic ----------------------------------------------------------------------------------------------
def _commutative(name, swapped=None):
    """A number before a tensor: TorchScript's operators have the tensor first."""

    def rule(x, y, **others):
        if not is_number(x) or is_number(y) or isinstance(x, bool):
            return NotImplemented
        scaled = y if others.get("alpha", 1) == 1 else aten.mul(y, others["alpha"])
        return aten[swapped or name](scaled, x)

    OPERATORS[name] = rule


for _name, _swapped in {
    "add": None,
    "sub": "rsub",
    "mul": None,
    "eq": None,
    "ne": None,
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
}.items():
    _commutative(_name, _swapped)


@operator_rule()
def polygamma(x, n):
    return aten.polygamma(n, x)


@operator_rule()
def true_divide(x, y):
    if is_number(x) and not is_number(y):
        return aten.mul(aten.reciprocal(y), x)
    return aten.div(x, y) if isinstance(x, weft.Tensor) else NotImplemented


def _number_tensor(number):
    with paused():
        return weft.tensor(number)


@operator_rule()
def trunc_divide(x, y):
    return aten.div(_number_tensor(x) if is_number(x) else x, y, rounding_mode="trunc")


@operator_rule()
def heaviside_integer(x, y):
    return aten.heaviside(*(_number_tensor(each) if is_number(each) else each for each in (x, y)))


@operator_rule()
def left_shift(x, y):
    return aten.bitwise_left_shift(x, y)


@operator_rule()
def right_shift(x, y):
    return aten.bitwise_right_shift(x, y)


@operator_rule()
def cast(x, dtype):
    return aten["to.dtype"](x, dtype, False, False)


@operator_rule()
def cbrt(x):
    return aten.mul(aten.sgn(x), aten.pow(aten.abs(x), 1 / 3))


def _floating(x):
    if x.is_floating_point():
        return x
    with paused():
        dtype = weft.true_divide(weft.zeros([0], dtype=x.dtype), 1).dtype
    return x.to(dtype)


@operator_rule()
def fabs(x):
    return aten.abs(_floating(x))


@operator_rule()
def rint(x):
    return aten.round(x)


@operator_rule("signum", "sign")
def sign(x):
    return aten.sgn(x) if x.is_complex() else aten.sign(x)


@operator_rule()
def clip(x, min, max):
    return aten.clamp(x, min, max)


@operator_rule()
def concatenate(tensors, dim):
    if dim is None:
        return aten.cat([weft.ravel(tensor) for tensor in tensors], 0)
    return aten.cat(tensors, dim)


@operator_rule()
def modf(x):
    x = _floating(x)
    whole = aten.trunc(x)
    return aten.sub(x, whole), whole


@operator_rule()
def divmod(x, y):
    return weft.floor_divide(x, y), weft.remainder(x, y)


# ---- special functions ---------------------------------------------------------------------------------------
def _special(name):
    OPERATORS[name] = lambda **operands: aten[f"special_{name}"](*operands.values())


for _name in """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w entr erfcx hermite_polynomial_h hermite_polynomial_he i0e i1 i1e
    laguerre_polynomial_l legendre_polynomial_p log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
    modified_bessel_k1 ndtr ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0
    xlog1py zeta""".split():
    _special(_name)


# ---- activations ---------------------------------------------------------------------------------------------
@operator_rule()
def logsigmoid(x):
    return aten.log_sigmoid(x)


@operator_rule()
def gelu_erf(x):
    return aten.gelu(x, approximate="none")


@operator_rule()
def gelu_tanh(x):
    return aten.gelu(x, approximate="tanh")


@operator_rule()
def softsign(x):
    return aten.div(x, aten.add(aten.abs(x), 1))


@operator_rule()
def tanhshrink(x):
    return aten.sub(x, aten.tanh(x))


@operator_rule()
def softmin(input, dim):
    return aten.softmax(aten.neg(input), dim)
