"""Between weft.numpy's arrays, weft's tensors, and NumPy's arrays and dtypes."""

import functools
import operator

import numpy

import weft
from weft._C import _ndarray as ndarray

DTYPES = {
    name: getattr(weft, "bool" if name == "bool" else name)
    for name in (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
    )
}
_NUMPY = {dtype: numpy.dtype(name) for name, dtype in DTYPES.items()}


def to_dtype(dtype):
    """weft's dtype of a dtype, a name, or a Python or NumPy type; None stays None."""
    if dtype is None or isinstance(dtype, weft.dtype):
        return dtype
    name = numpy.dtype(dtype).name
    if name not in DTYPES:
        raise TypeError(f"weft.numpy: no dtype {dtype!r}; there are {', '.join(DTYPES)}")
    return DTYPES[name]


def numpy_dtype(dtype):
    dtype = to_dtype(dtype)
    if dtype not in _NUMPY:
        raise TypeError(f"weft.numpy: NumPy has no dtype {dtype}")
    return _NUMPY[dtype]


def kind(x):
    """NumPy's letter: b, i, u, f or c."""
    return numpy_dtype(x.dtype if isinstance(x, weft.Tensor) else x).kind


def to_array(value):
    """Tensors as NumPy arrays on the same memory, also inside containers; other objects as they are."""
    if isinstance(value, weft.Tensor):
        return value.numpy()
    if isinstance(value, weft.dtype):
        return numpy_dtype(value)
    if isinstance(value, list | tuple):
        return type(value)(to_array(item) for item in value)
    if isinstance(value, dict):
        return {key: to_array(item) for key, item in value.items()}
    return value


def from_array(value):
    """NumPy's arrays and scalars as arrays of this namespace, also inside containers; other objects as they are."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        if value.dtype.name not in DTYPES:
            return value
        array = numpy.asarray(value)
        return ndarray(weft.from_numpy(array if array.flags.behaved else array.copy()))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(from_array(item) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(from_array(item) for item in value)
    return value


def through_numpy(function):
    """The NumPy function, on arrays."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return from_array(function(*to_array(args), **to_array(kwargs)))

    return call


def array(value, dtype=None):
    """The value as an array: of a tensor, on its memory; Python numbers and lists get NumPy's default dtypes."""
    dtype = to_dtype(dtype)
    if type(value) is not ndarray:
        if isinstance(value, weft.Tensor):
            value = ndarray(value)
        else:
            made = numpy.array(to_array(value), dtype=None if dtype is None else numpy_dtype(dtype))
            value = from_array(made)
            if value is made:
                raise TypeError(f"weft.numpy: no dtype {made.dtype}; there are {', '.join(DTYPES)}")
    return value if dtype is None or value.dtype == dtype else value.to(dtype)


# What operators take as it is: arrays, and the numbers that adapt to their dtype.
_READY = {ndarray, bool, int, float, complex}


def operands(*values):
    """The values as operands of a function; at least one of them is an array."""
    values = [value if type(value) in _READY else array(value) for value in values]
    if not any(type(value) is ndarray for value in values):
        values[0] = array(values[0])
    return values


def promoted(*values):
    """Arrays of the dtype that NumPy promotes the values to; Python numbers are weak."""
    kinds = [numpy_dtype(v.dtype) if isinstance(v, weft.Tensor) else v for v in values]
    dtype = DTYPES[numpy.result_type(*kinds).name]
    return [array(v, dtype) for v in values]


_FLOAT_OF_SIZE = {
    ("b", 1): "float16",
    ("i", 1): "float16",
    ("u", 1): "float16",
    ("i", 2): "float32",
    ("u", 2): "float32",
}


def inexact(value):
    """An array of the floating or complex dtype that NumPy's functions of the reals compute in."""
    value = array(value)
    dtype = numpy_dtype(value.dtype)
    if dtype.kind in "fc":
        return value
    return value.to(DTYPES[_FLOAT_OF_SIZE.get((dtype.kind, dtype.itemsize), "float64")])


def axes_of(axis, ndim):
    """A list of the axes from the front; None: all."""
    if axis is None:
        return list(range(ndim))
    given = [operator.index(one) for one in (axis if isinstance(axis, list | tuple) else (axis,))]
    for one in given:
        if not -ndim <= one < ndim:
            raise numpy.exceptions.AxisError(one, ndim)
    axes = [one % ndim for one in given]
    if len(set(axes)) < len(axes):
        raise ValueError(f"an axis is given twice: {axis}")
    return axes


def shape_of(shape):
    """A shape given as one size or several."""
    return [operator.index(one) for one in (shape if isinstance(shape, list | tuple) else (shape,))]


def on_cpu(device):
    if device is not None and str(device) != "cpu":
        raise ValueError(f"weft.numpy: expected device to be 'cpu' or None, got {device!r}")
