"""Functions called for each element, and plans that depend on shapes alone."""

import numpy as np

from ._core import broadcast_shape, folded, laid_out_by, plainly, replaces, sized


def _path(optimize, subscripts, *shapes):
    return np.einsum_path(subscripts, *[np.broadcast_to(0.0, shape) for shape in shapes], optimize=optimize)


@replaces("numpy.einsum_path")
def einsum_path(*operands, optimize="greedy", einsum_call=False):
    if einsum_call or not isinstance(operands[0], str):
        return plainly(np.einsum_path, *operands, optimize=optimize, einsum_call=einsum_call)
    return folded(_path, optimize, operands[0], *[np.shape(operand) for operand in operands[1:]])


def _result_type(function, *arrays):
    """Of the function's result for the first elements, NumPy's scalars, as NumPy finds it out; None for several, or objects."""
    first = function(*[array[0] for array in arrays])
    dtype = None if isinstance(first, tuple) else np.asarray(first).dtype
    return dtype if dtype is not None and dtype.kind in "biufc" else None


@replaces("numpy.vectorize.__call__")
def call_vectorized(self, *args, **kwargs):
    arrays = [np.asarray(argument) for argument in args]
    usual = (
        not kwargs and not self.excluded and self.signature is None and not self.cache and 0 < len(args) <= 3
    )
    usual = usual and all([array.dtype.kind in "biuf" and array.dtype.char not in "efQL" for array in arrays])
    shape = broadcast_shape([array.shape for array in arrays])
    if (
        not usual
        or shape is None
        or len(shape) == 0
        or 0 in shape
        or (self.otypes is not None and len(self.otypes) != 1)
    ):
        return plainly(self.__call__, *args, **kwargs)
    function = self.pyfunc
    flat = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    if self.otypes is None:
        dtype = sized(_result_type, function, *flat)
        if dtype is None:
            return plainly(self.__call__, *args, **kwargs)
    else:
        dtype = np.dtype(self.otypes[0])
    result = np.empty(flat[0].shape[0], dtype)
    numbers = [
        float if array.dtype.kind == "f" else bool if array.dtype.kind == "b" else int for array in arrays
    ]
    if len(flat) == 1:
        _fill1(result, function, numbers[0], flat[0])
    elif len(flat) == 2:
        _fill2(result, function, numbers[0], flat[0], numbers[1], flat[1])
    else:
        _fill3(result, function, numbers[0], flat[0], numbers[1], flat[1], numbers[2], flat[2])
    return laid_out_by(result.reshape(shape), *arrays)


def _fill1(result, function, number, x):
    for place in range(result.shape[0]):
        result[place] = function(number(x[place]))


def _fill2(result, function, number, x, other, y):
    for place in range(result.shape[0]):
        result[place] = function(number(x[place]), other(y[place]))


def _fill3(result, function, number, x, other, y, third, z):
    for place in range(result.shape[0]):
        result[place] = function(number(x[place]), other(y[place]), third(z[place]))


@replaces("numpy.ndenumerate")
def ndenumerate(arr):
    # It reads the elements as the program goes on, which may have assigned to them.
    return plainly(np.ndenumerate, arr)
