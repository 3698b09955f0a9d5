"""The table of replaced functions, and what their sources share."""

import numpy as np

from weft._C import _array_operator

REPLACEMENTS = {}


def replaces(*paths):
    """Enters the function's source where one of these is called: "numpy.flip", "nd.sort" (a method), "nd.ufunc.at"."""

    def register(function):
        for path in paths:
            REPLACEMENTS[path] = function
        return function

    return register


def plainly(function, *args, **kwargs):
    """A graph break, at which NumPy's own function runs."""
    return function(*args, **kwargs)


def require(value, condition):
    """The value. Where the condition is not all true, compiled code gives up this call and NumPy runs it."""
    return value


def operator(name, *arrays, **attributes):
    """Weft's operator of that name on arrays: a node of the graph."""
    return _array_operator(name, *arrays, **attributes)


def laid_out_like(value, array, order="K"):
    """A new value in the memory order of what np.empty_like(array, order=order) gives. Lowered by capture."""
    if value.ndim != array.ndim:
        return value
    result = np.empty_like(array, value.dtype, order, shape=value.shape)
    result[...] = value
    return result


def laid_out_by(value, *arrays):
    """A new value in the memory order of what is made of these arrays element by element. Lowered by capture."""
    flags = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    iterator = np.nditer(
        [*arrays, None], ["zerosize_ok"], flags, [array.dtype for array in arrays] + [value.dtype]
    )
    return laid_out_like(value, iterator.operands[-1])


def is_in_c_order(array):
    """Whether the array lies in C order, without gaps. Lowered by capture."""
    return array.flags.c_contiguous


def complex_of(real, imag):
    """The complex numbers with these parts, of one shape and type."""
    return laid_out_by(operator("complex", real, imag), real, imag)


def given_out(out, result):
    """The result, or the array that takes it, of the same type and shape."""
    if out is None:
        return result
    out[...] = result
    return out


def into(out, result, function, args):
    """The result, or the array that takes it; NumPy does what would have to be cast."""
    if out is not None and (out.dtype != result.dtype or out.shape != np.shape(result)):
        return plainly(function, *args, out=out)
    return given_out(out, result)


def sized(function, *args, **kwargs):
    """The function's result, whose size depends on values: a segment ends here, and another goes on with that size."""
    return function(*args, **kwargs)


def in_numpys_order(function, *args, **kwargs):
    """The function's result, in an order of elements that only NumPy knows: it runs between two segments."""
    return function(*args, **kwargs)


def folded(function, *args, **kwargs):
    """What the function gives for known arguments: a constant of the graph."""
    return function(*args, **kwargs)


def axis_of(axis, ndim):
    """The axis from the front; None where there is no such axis."""
    if not isinstance(axis, int) or isinstance(axis, bool) or not -ndim <= axis < ndim:
        return None
    return axis % ndim


def before(axis):
    """Leading whole slices of a subscript, for a part along `axis`."""
    return (slice(None),) * axis


def broadcast_shape(shapes):
    """The shape that all broadcast to; None where they do not."""
    result = []
    for shape in shapes:
        while len(result) < len(shape):
            result.insert(0, 1)
        for place in range(1, len(shape) + 1):
            size = shape[-place]
            if result[-place] == 1:
                result[-place] = size
            elif size != 1 and size != result[-place]:
                return None
    return tuple(result)


def product_of(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def fits(number, dtype):
    """Whether NumPy takes Python's number for one of this dtype."""
    if dtype.kind not in "iu" or not isinstance(number, int):
        return True
    bits = 8 * dtype.itemsize
    return 0 <= number < 2**bits if dtype.kind == "u" else -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, np.generic)
