"""torch.abs_(input) and its like: the method of that name, called as a function."""

from weft import Tensor as _Tensor
from weft.torch import _names

NAMES = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_
    ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_
    i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_
    resize_as_ round_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_"""


def _of_method(name):
    def function(input, *args, **kwargs):
        if not isinstance(input, _Tensor):
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
            )
        method = None if name[:-1] in _names.FUNCTIONS.own else getattr(input, name, None)
        if method is not None:
            return method(*args, **kwargs)
        import weft.torch as torch

        return input.copy_(getattr(torch, name[:-1])(input, *args, **kwargs))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name[:-1]}, written into the input."
    return function


for _name in NAMES.split():
    globals()[_name] = _of_method(_name)
