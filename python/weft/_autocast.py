"""torch.autocast, and functions written in Python: as PyTorch's lists have them. Operators cast themselves
(`src/ops/autocast.cc`)."""

import functools

from . import _C


def _cast(value, dtype):
    if isinstance(value, _C.Tensor):
        is_cast = value.is_floating_point() and value.dtype != _C.float64 and value.dtype != dtype
        return value.to(dtype) if is_cast else value
    if type(value) in (list, tuple):
        return type(value)([_cast(item, dtype) for item in value])
    return value


def _apply(function, args, kwargs, chosen, is_cast):
    """The function where autocast is off, of operands that have been cast."""
    state = _C._autocast()
    dtype = state[1] if chosen is None else chosen
    if is_cast:
        args = [_cast(value, dtype) for value in args]
        kwargs = {name: _cast(value, dtype) for name, value in kwargs.items()}
    _C._set_autocast(False, state[1], state[2])
    try:
        return function(*args, **kwargs)
    finally:
        _C._set_autocast(*state)


def under(function, dtype, is_cast=True):
    """The function; under autocast of operands in `dtype`, None being the region's, and with autocast off inside."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _C._autocast()[0]:
            return _apply(function, args, kwargs, dtype, is_cast and kwargs.get("out") is None)
        return function(*args, **kwargs)

    call._without_autocast = function
    return call


def narrow(function):
    """The function; under autocast of operands in the region's dtype."""
    return under(function, None, True)


def float32(function):
    """The function; under autocast of operands in float32."""
    return under(function, _C.float32, True)


def unchanged(function):
    """The function as it is outside of autocast, the products inside of it included."""
    return under(function, None, False)


def widest(function):
    """The function; under autocast of operands in float32 where one has it."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _C._autocast()[0] and any(isinstance(x, _C.Tensor) and x.dtype == _C.float32 for x in args):
            return _apply(function, args, kwargs, _C.float32, kwargs.get("out") is None)
        return function(*args, **kwargs)

    call._without_autocast = function
    return call


def in_place(function):
    """What writes the function's result into an operand: its dtypes are the operands'."""
    plain = getattr(function, "_without_autocast", None)
    return unchanged(plain) if plain else function
