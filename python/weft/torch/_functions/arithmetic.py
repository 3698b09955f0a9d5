"""Elementwise functions with PyTorch's arguments."""

from builtins import complex as _complex

import weft as _weft
from weft import Tensor as _Tensor
from weft import _autocast
from weft import return_types as _types
from weft._composed import elements
from weft.torch._kinds import iinfo

from ._support import DTypeError, all_written, into, is_inexact, need_floating, need_tensor, promoted, written

# ---- sums and products ---------------------------------------------------------------------------------------


_HALF = (_weft.float16, _weft.bfloat16)  # sums of them take alpha as they hold it, and are rounded once


def _check_alpha(function, result, alpha):
    """alpha's kind is not above the result's, as PyTorch has it."""
    if isinstance(alpha, bool):
        if result.dtype != _weft.bool:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
    elif isinstance(alpha, _complex):
        if not result.is_complex():
            raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    elif isinstance(alpha, float) and not is_inexact(result):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


def add(input, other, *args, alpha=1, out=None):
    """input + alpha * other. The older form is add(input, alpha, other)."""
    if not args and type(alpha) is int and alpha == 1:
        if out is None:
            return _weft.add(input, other)
        if type(out) is _Tensor:
            return _weft.add(input, other, out=out)
    if args:
        if len(args) > 1:
            raise TypeError(f"add() takes 2 positional arguments but {2 + len(args)} were given")
        if not isinstance(args[0], _Tensor) and not isinstance(other, _Tensor):
            return _sum("add", _weft.add, input, other * args[0], 1, out)
        other, alpha = args[0], other
    return _sum("add", _weft.add, input, other, alpha, out)


def sub(input, other, *args, alpha=1, out=None):
    """input - alpha * other. The older form is sub(input, alpha, other)."""
    if not args and type(alpha) is int and alpha == 1:
        _refuse_bool_difference(input, other)
        if out is None:
            return _weft.sub(input, other)
        if type(out) is _Tensor:
            return _weft.sub(input, other, out=out)
    if args:
        if len(args) > 1:
            raise TypeError(f"sub() takes 2 positional arguments but {2 + len(args)} were given")
        if not isinstance(args[0], _Tensor) and not isinstance(other, _Tensor):
            return _sum("sub", _weft.sub, input, other * args[0], 1, out)
        other, alpha = args[0], other
    return _sum("sub", _weft.sub, input, other, alpha, out)


subtract = sub


def rsub(input, other, *args, alpha=1):
    """other - alpha * input."""
    if args:
        alpha = args[0]
    need_tensor("rsub", input)
    _refuse_bool_difference(input, other)
    if isinstance(alpha, int) and not isinstance(alpha, bool) and alpha == 1:
        return _weft.sub(other, input)
    result_like = _weft.add(input, other)
    _check_alpha("rsub", result_like, alpha)
    if result_like.dtype in _HALF:
        return _weft.sub(other, input.to(result_like.dtype), alpha=alpha)
    return _weft.sub(other, _weft.mul(input.to(result_like.dtype), alpha)).to(result_like.dtype)


def _refuse_bool_difference(input, other):
    def is_bool(value):
        return value.dtype == _weft.bool if isinstance(value, _Tensor) else isinstance(value, bool)

    if is_bool(input) and is_bool(other):
        raise DTypeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if is_bool(input) or is_bool(other):
        raise DTypeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def _sum(function, operator, input, other, alpha, out):
    if isinstance(alpha, _Tensor):
        alpha = alpha.item()
    for position, each in enumerate((input, other)):
        if not isinstance(each, (_Tensor, bool, int, float, _complex)) and not hasattr(
            type(each), "__weft_operator__"
        ):
            raise TypeError(
                f"{function}(): argument '{('input', 'other')[position]}' (position {position + 1}) must be Tensor, not "
                f"{type(each).__name__}"
            )
    if function == "sub":
        _refuse_bool_difference(input, other)
    if (
        isinstance(alpha, (int, float))
        and not isinstance(alpha, bool)
        and alpha == 1
        and not isinstance(alpha, float)
    ):
        return written(out, operator(input, other), parts_of=(input, other), own_dtype=False)
    same = isinstance(input, _Tensor) and isinstance(other, _Tensor) and input.dtype == other.dtype
    like = input if same else _weft.add(input, other)
    _check_alpha(function, like, alpha)
    if same and out is not None and like.dtype in (_weft.float32, _weft.float64):
        # The same numbers in one pass.
        one, value = _weft.ones((), dtype=like.dtype), alpha if function == "add" else -alpha
        if into(out, _weft.addcmul, input, other, one, value=value):
            return out
    if like.dtype == _weft.bool:
        other = other if alpha else _weft.zeros((), dtype=_weft.bool)
        return written(out, operator(input, other), parts_of=(input, other), own_dtype=False)
    if like.dtype in _HALF:
        result = operator(input, other, alpha=alpha).to(like.dtype)
        return written(out, result, parts_of=(input, other), own_dtype=False)
    if not isinstance(other, _Tensor):
        return written(
            out, operator(input, other * alpha).to(like.dtype), parts_of=(input, other), own_dtype=False
        )
    result = operator(input, _weft.mul(other.to(like.dtype), alpha)).to(like.dtype)
    return written(out, result, parts_of=(input, other), own_dtype=False)


def addcmul(input, tensor1, tensor2, *args, value=1, out=None):
    """input + value * tensor1 * tensor2. The older form is addcmul(input, value, tensor1, tensor2)."""
    if args:
        tensor1, tensor2, value = tensor2, args[0], tensor1
    if out is not None and into(out, _weft.addcmul, input, tensor1, tensor2, value=value):
        return out
    return written(
        out,
        _weft.addcmul(input, tensor1, tensor2, value=value),
        parts_of=(input, tensor1, tensor2),
        own_dtype=False,
    )


def addcdiv(input, tensor1, tensor2, *args, value=1, out=None):
    """input + value * tensor1 / tensor2. The older form is addcdiv(input, value, tensor1, tensor2)."""
    if args:
        tensor1, tensor2, value = tensor2, args[0], tensor1
    if not is_inexact(tensor1) and not is_inexact(tensor2):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true division of tensor1 and tensor2."
        )
    if out is not None and into(out, _weft.addcdiv, input, tensor1, tensor2, value=value):
        return out
    return written(
        out,
        _weft.addcdiv(input, tensor1, tensor2, value=value),
        parts_of=(input, tensor1, tensor2),
        own_dtype=False,
    )


# ---- bounds --------------------------------------------------------------------------------------------------


def _lower_bound(input, value):
    """Of an integer dtype: what lies below all its numbers bounds nothing. raises: RuntimeError for what lies above."""
    limits = _limits(input, value)
    if limits is None or limits.min <= value <= limits.max:
        return value
    if value > limits.max:
        raise RuntimeError(f"Clamp min value {value} is outside the representable range of {input.dtype}")
    return limits.min


def _upper_bound(input, value):
    limits = _limits(input, value)
    if limits is None or limits.min <= value <= limits.max:
        return value
    if value < limits.min:
        raise RuntimeError(f"Clamp max value {value} is outside the representable range of {input.dtype}")
    return limits.max


def _limits(input, value):
    """The least and the greatest integer that a tensor holds beside an integer that bounds it, or None."""
    is_compared = isinstance(value, int) and not isinstance(value, bool) and input.dtype != _weft.bool
    return iinfo(input.dtype) if is_compared and not is_inexact(input) else None


def clamp(input, min=None, max=None, *, out=None):
    """The input between bounds, numbers or tensors; either may be None."""
    need_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if input.is_complex():
        raise DTypeError("clamp is not supported for complex types")
    min, max = _lower_bound(input, min), _upper_bound(input, max)
    if out is not None and input.dtype != _weft.bool and into(out, _weft.clamp, input, min, max):
        return out
    result = _weft.clamp(input, min, max)
    if result.dtype == _weft.bool and not isinstance(min, _Tensor) and not isinstance(max, _Tensor):
        raise DTypeError("clamp is not supported for bool")
    is_own = not isinstance(min, _Tensor) and not isinstance(max, _Tensor)
    return written(out, result, parts_of=(input, min, max), own_dtype=is_own)


clip = clamp


def clamp_min(input, min, *, out=None):
    """The greater of the input and a bound."""
    return clamp(input, min, None, out=out)


def clamp_max(input, max, *, out=None):
    """The lesser of the input and a bound."""
    return clamp(input, None, max, out=out)


# ---- parts of numbers ----------------------------------------------------------------------------------------


def frexp(input, *, out=None):
    """mantissa and exponent: input == mantissa * 2**exponent, 0.5 <= |mantissa| < 1."""
    return all_written(out, _types.frexp(*elements.frexp(input)))


@_autocast.float32
def polar(abs, angle, *, out=None):
    """The complex numbers of absolute values and angles."""
    return written(out, elements.polar(abs, angle))


def complex(real, imag, *, out=None):
    """The complex numbers of real and imaginary parts."""
    return written(out, elements.complex_of(real, imag), own_dtype=True)


def angle(input, *, out=None):
    """The angle of complex numbers; of real ones 0, pi below zero and NaN for NaN."""
    need_tensor("angle", input)
    if input.is_complex():
        return written(out, _weft.angle(input), parts_of=(input,), own_dtype=False)
    x = input if is_inexact(input) else input.to(_weft.float32)
    turned = _weft.where(x < 0, _weft.full_like(x, 3.141592653589793), _weft.zeros_like(x))
    return written(out, _weft.where(_weft.isnan(x), x, turned), parts_of=(input,), own_dtype=False)


def real(input):
    """The real part; a real tensor itself."""
    need_tensor("real", input)
    return input.real


def imag(input):
    """The imaginary part of a complex tensor."""
    need_tensor("imag", input)
    if not input.is_complex():
        raise DTypeError("imag is not implemented for tensors with non-complex dtypes.")
    return input.imag


def conj(input):
    """The complex conjugate; a real tensor itself."""
    need_tensor("conj", input)
    return _weft.conj(input) if input.is_complex() else input


def conj_physical(input, *, out=None):
    """The complex conjugate; a real tensor itself."""
    return written(out, conj(input), parts_of=(input,))


def resolve_conj(input):
    """The input: conjugates are always written out."""
    need_tensor("resolve_conj", input)
    return input


def resolve_neg(input):
    """The input: negatives are always written out."""
    need_tensor("resolve_neg", input)
    return input


def isreal(input):
    """Whether the imaginary part is zero."""
    need_tensor("isreal", input)
    if input.is_complex():
        return _weft.imag(input) == 0
    return _weft.ones(tuple(input.shape), dtype=_weft.bool)


def square(input, *, out=None):
    """input * input."""
    need_tensor("square", input)
    if out is not None and input.dtype != _weft.bool and into(out, _weft.square, input):
        return out
    return written(
        out,
        _weft.pow(input, 2) if input.dtype == _weft.bool else _weft.square(input),
        parts_of=(input,),
        own_dtype=False,
    )


def sign(input, *, out=None):
    """-1, 0 or 1; of bool the input."""
    need_tensor("sign", input)
    if input.is_complex():
        raise DTypeError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    if out is not None and input.dtype != _weft.bool and into(out, _weft.sign, input):
        return out
    return written(
        out,
        input.clone() if input.dtype == _weft.bool else _weft.sign(input),
        parts_of=(input,),
        own_dtype=True,
    )


def sgn(input, *, out=None):
    """-1, 0 or 1; of complex numbers input / |input|."""
    need_tensor("sgn", input)
    return written(out, input.clone() if input.dtype == _weft.bool else _weft.sgn(input), parts_of=(input,))


def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """NaN and infinities replaced, by default by 0 and the dtype's greatest and least numbers."""
    need_tensor("nan_to_num", input)
    nan = 0.0 if nan is None else nan
    if out is not None and into(out, _weft.nan_to_num, input, nan, posinf, neginf):
        return out
    return written(
        out,
        _weft.nan_to_num(input, nan, posinf, neginf),
        parts_of=(input,),
        own_dtype=True,
    )


def nextafter(input, other, *, out=None):
    """The next number after the input towards `other`."""
    need_tensor("nextafter", input)
    need_tensor("nextafter", other, "other", 2)
    dtype = promoted(input.dtype, other.dtype)
    need_floating("nextafter", _weft.empty((0,), dtype=dtype))
    if dtype not in (_weft.bfloat16, _weft.float16):
        if out is not None and into(out, _weft.nextafter, input, other):
            return out
        return written(out, _weft.nextafter(input, other), parts_of=(input, other), own_dtype=False)
    x, y = input.to(dtype), other.to(dtype)
    bits = _weft.bitcast(x, _weft.int16)
    # The next number away from zero has the next bits.
    step = _weft.where((y > x) == (x > 0), 1, -1).to(_weft.int16)
    moved = _weft.bitcast(bits + step, dtype)
    tiny = _weft.where(y > 0, 1, -32767).to(_weft.int16)
    result = _weft.where(x == 0, _weft.bitcast(tiny, dtype), moved)
    result = _weft.where(x == y, y, result)
    return written(
        out,
        _weft.where(_weft.isnan(x) | _weft.isnan(y), float("nan"), result).to(dtype),
        parts_of=(input, other),
        own_dtype=False,
    )


def ldexp(input, other, *, out=None):
    """input * 2**other."""
    need_tensor("ldexp", input)
    need_tensor("ldexp", other, "other", 2)
    if not is_inexact(other) and not input.is_complex():
        if out is not None and into(out, _weft.ldexp, input, other):
            return out
        return written(out, _weft.ldexp(input, other), parts_of=(input, other), own_dtype=False)
    return written(out, _weft.mul(input, _weft.pow(2.0, other)), parts_of=(input, other), own_dtype=False)


def lerp(input, end, weight, *, out=None):
    """input + weight * (end - input)."""
    need_tensor("lerp", input)
    need_tensor("lerp", end, "end", 2)
    if isinstance(weight, _Tensor) and weight.dtype != input.dtype:
        raise RuntimeError(f"lerp: expected dtype {input.dtype} for `weight` but got dtype {weight.dtype}")
    if input.dtype != end.dtype:
        raise RuntimeError(f"lerp: expected dtype {input.dtype} for `end` but got dtype {end.dtype}")
    if not is_inexact(input):
        raise DTypeError(f'"lerp_kernel_scalar" not implemented for {input.dtype}')
    if isinstance(weight, bool):
        weight = float(weight)
    if not input.is_complex():
        if out is not None and into(out, _weft.lerp, input, end, weight):
            return out
        return written(out, _weft.lerp(input, end, weight), parts_of=(input, end, weight), own_dtype=False)
    if isinstance(weight, _Tensor):
        near = _weft.abs(weight) < 0.5
        return written(
            out,
            _weft.where(near, input + weight * (end - input), end - (end - input) * (1 - weight)),
            parts_of=(input, end, weight),
            own_dtype=False,
        )
    return written(
        out,
        input + weight * (end - input) if abs(weight) < 0.5 else end - (end - input) * (1 - weight),
        parts_of=(input, end, weight),
        own_dtype=False,
    )


def logaddexp(input, other, *, out=None):
    """log(exp(input) + exp(other)), without overflow; of complex numbers the greater is the one of the greater real part."""
    need_tensor("logaddexp", input)
    need_tensor("logaddexp", other, "other", 2)
    if not input.is_complex() and not other.is_complex():
        return _weft.logaddexp(input, other) if out is None else _weft.logaddexp(input, other, out=out)
    dtype = promoted(input.dtype, other.dtype)
    x, y = input.to(dtype), other.to(dtype)
    is_less = _weft.real(x) < _weft.real(y)
    least, greatest = _weft.where(is_less, x, y), _weft.where(is_less, y, x)
    result = greatest + _weft.log1p(_weft.exp(least - greatest))
    # Of two infinities of one sign.
    low, high = _weft.real(least), _weft.real(greatest)
    is_infinite = ~_weft.isfinite(low) & (low == high)
    result = _weft.where(is_infinite & (low < 0), least, result)
    return written(
        out,
        _weft.where(is_infinite & (low > 0), _weft.log(_weft.exp(least) + _weft.exp(greatest)), result),
        parts_of=(input, other),
        own_dtype=False,
    )


def heaviside(input, values, *, out=None):
    """0 below zero, 1 above it, and the values at zero."""
    return written(out, elements.heaviside(input, values), parts_of=(input, values))


# ---- comparison ----------------------------------------------------------------------------------------------


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|input - other| <= atol + rtol * |other|."""
    need_tensor("isclose", input)
    need_tensor("isclose", other, "other", 2)
    if input.dtype != other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol}")
    if not is_inexact(input):
        return _weft.isclose(input, other, rtol, atol, equal_nan)
    close = input == other
    if equal_nan:
        close = close | (_weft.isnan(input) & _weft.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    error = _weft.abs(input - other)
    return close | (_weft.isfinite(error) & (error <= atol + _weft.abs(other * rtol)))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether isclose holds for all elements."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def is_same_size(input, other):
    """Whether the shapes are one."""
    need_tensor("is_same_size", input)
    return tuple(input.shape) == tuple(other.shape)


def is_complex(input):
    """Whether the dtype is complex."""
    need_tensor("is_complex", input)
    return input.is_complex()


def is_floating_point(input):
    """Whether the dtype is floating."""
    need_tensor("is_floating_point", input)
    return input.is_floating_point()


def is_signed(input):
    """Whether the dtype has negative numbers."""
    need_tensor("is_signed", input)
    return input.is_signed()


def is_nonzero(input):
    """Whether the one element differs from zero."""
    need_tensor("is_nonzero", input)
    if input.numel() != 1:
        count = "no values" if input.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")
    return bool(input)


def _false(name, doc):
    def function(input):
        need_tensor(name, input)
        return False

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


is_conj = _false("is_conj", "False: conjugates are always written out.")
is_neg = _false("is_neg", "False: negatives are always written out.")
is_inference = _false("is_inference", "False: there is no inference mode.")
is_distributed = _false("is_distributed", "False: there are no distributed tensors.")


def numel(input):
    """The number of elements."""
    need_tensor("numel", input)
    return input.numel()
