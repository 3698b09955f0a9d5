"""What Fourier transforms are made of: transforms along one dimension after the other, as weft._composed.transforms has them;
and parts of complex numbers."""

import weft
from weft._composed import transforms
from weft.jit._trace_rules.composed import plain

from ._decompositions import _cast, aten, rule

_LINE = {"n": None, "dim": -1, "norm": None}
_PLANE = {"s": None, "dim": [-2, -1], "norm": None}
_SPACE = {"s": None, "dim": None, "norm": None}


def _transform(name, function, parameters, of_complex):
    """of_complex: the transform is of complex numbers; real ones become such."""

    @rule(f"fft_{name}")
    def decomposed(x, *args, **kwargs):
        given = parameters | dict(zip(parameters, args)) | kwargs
        if not x.is_complex() and not x.is_floating_point():
            x = _cast(x, weft.float32)
        if of_complex and not x.is_complex():
            x = _cast(x, weft.complex128 if x.dtype == weft.float64 else weft.complex64)
        return plain(function)(x, *given.values())


for _name in ("fft", "ifft", "rfft", "irfft"):
    _transform(_name, getattr(transforms, _name), _LINE, _name in ("ifft", "irfft"))
    _several = getattr(transforms, f"{_name}n")
    _transform(f"{_name}2", _several, _PLANE, _name != "rfft")
    _transform(f"{_name}n", _several, _SPACE, _name != "rfft")


@rule("real")
def real(x):
    return aten["select.int"](aten.view_as_real(x), -1, 0) if x.is_complex() else x


@rule("imag")
def imag(x):
    return aten["select.int"](aten.view_as_real(x), -1, 1)
