"""Dtypes and what is asked about them."""

import numpy

import weft

from ._convert import DTYPES, array, numpy_dtype, on_cpu, to_dtype

bool = DTYPES["bool"]
int8, int16, int32, int64 = (DTYPES[f"int{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DTYPES[f"uint{bits}"] for bits in (8, 16, 32, 64))
float16, float32, float64 = DTYPES["float16"], DTYPES["float32"], DTYPES["float64"]
complex64, complex128 = DTYPES["complex64"], DTYPES["complex128"]


def astype(x, dtype, /, *, copy=True, device=None):
    on_cpu(device)
    x, dtype = array(x), to_dtype(dtype)
    return (x.clone() if copy else x) if x.dtype == dtype else x.to(dtype)


def can_cast(from_, to, /):
    return numpy.can_cast(
        numpy_dtype(from_.dtype if isinstance(from_, weft.Tensor) else from_), numpy_dtype(to)
    )


class _Limits:
    """What NumPy knows of a dtype; numbers are Python's, `dtype` is weft's."""

    def __init__(self, type, /):
        self._numpy = self._of(numpy_dtype(type.dtype if isinstance(type, weft.Tensor) else type))
        self.dtype = to_dtype(self._numpy.dtype)

    def __getattr__(self, name):
        value = getattr(object.__getattribute__(self, "_numpy"), name)
        return value.item() if isinstance(value, numpy.generic) else value

    def __repr__(self):
        return f"weft.numpy.{self._numpy!r}"


class finfo(_Limits):
    """Limits of a floating dtype: bits, eps, max, min, smallest_normal, dtype, and what else NumPy's has."""

    _of = numpy.finfo


class iinfo(_Limits):
    """Limits of an integer dtype: bits, max, min, dtype."""

    _of = numpy.iinfo


def isdtype(dtype, kind):
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return numpy.isdtype(
        numpy_dtype(dtype), tuple(one if isinstance(one, str) else numpy_dtype(one) for one in kinds)
    )


def result_type(*arrays_and_dtypes):
    parts = [numpy_dtype(p.dtype) if isinstance(p, weft.Tensor) else p for p in arrays_and_dtypes]
    return to_dtype(numpy.result_type(*(numpy_dtype(p) if isinstance(p, weft.dtype) else p for p in parts)))


class __array_namespace_info__:
    """What the standard's namespaces tell about themselves."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        return "cpu"

    def default_dtypes(self, *, device=None):
        on_cpu(device)
        return {
            "real floating": float64,
            "complex floating": complex128,
            "integral": int64,
            "indexing": int64,
        }

    def devices(self):
        return ["cpu"]

    def dtypes(self, *, device=None, kind=None):
        on_cpu(device)
        names = [name for name in DTYPES if name != "float16"]
        return {name: DTYPES[name] for name in names if kind is None or isdtype(DTYPES[name], kind)}
