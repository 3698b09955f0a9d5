"""What the constructors of layers share."""

import math

import weft
from weft.nn import init
from weft.nn.parameter import Parameter


def tuple_of(value, count, owner="", or_one=False):
    """`count` numbers: one given stands for all. or_one: a sequence of one number, which stands for all, is kept."""
    if not isinstance(value, (tuple, list)):
        return (value,) * count
    if len(value) != count and not (or_one and len(value) == 1):
        raise ValueError(f"{owner + ': ' if owner else ''}expected one number or {count}, got {list(value)}")
    return tuple(value)


def empty(*shape, dtype=None, device=None):
    """A parameter that is not initialized."""
    return Parameter(weft.empty(shape, dtype=dtype, device=device))


def init_weight(weight, bias):
    """The layers' default: uniform in +-1 / sqrt(fan in)."""
    if str(weight.device) == "meta":
        return
    if weight.numel():
        init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in = init._fans(weight)[0]
        bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
        init.uniform_(bias, -bound, bound)
