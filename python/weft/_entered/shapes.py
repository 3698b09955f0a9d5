"""Shapes, joining and splitting."""

import copy as _copy

import numpy as np

from ._core import axis_of, before, broadcast_shape, fits, is_number, operator, plainly, product_of, replaces


@replaces("numpy.flipud")
def flipud(m):
    m = np.asarray(m)
    return m[::-1] if m.ndim >= 1 else plainly(np.flipud, m)


@replaces("numpy.fliplr")
def fliplr(m):
    m = np.asarray(m)
    return m[:, ::-1] if m.ndim >= 2 else plainly(np.fliplr, m)


@replaces("numpy.meshgrid")
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if not copy or len(xi) == 0 or indexing not in ("xy", "ij"):
        return plainly(np.meshgrid, *xi, copy=copy, sparse=sparse, indexing=indexing)
    vectors = [np.asarray(x).reshape(-1) for x in xi]
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[0], places[1] = 1, 0
    whole = [0] * len(xi)
    grids = []
    for vector, place in zip(vectors, places):
        shape = [1] * len(xi)
        shape[place] = whole[place] = vector.shape[0]
        grids.append(vector.reshape(tuple(shape)))
    if sparse:
        return tuple([grid.copy() for grid in grids])
    return tuple([np.broadcast_to(grid, tuple(whole)).copy() for grid in grids])


def _pieces(array, bounds, axis):
    before = (slice(None),) * axis
    return [array[before + (slice(start, stop),)] for start, stop in zip(bounds[:-1], bounds[1:])]


def _divided(function, ary, sections, axis, even):
    ary = np.asarray(ary)
    if not -ary.ndim <= axis < ary.ndim:
        return plainly(function, ary, sections, axis)
    size = ary.shape[axis]
    if isinstance(sections, list | tuple):
        return _pieces(ary, [0] + list(sections) + [size], axis % ary.ndim)
    if not isinstance(sections, int) or sections < 1 or (even and size % sections):
        return plainly(function, ary, sections, axis)
    each, longer = size // sections, size % sections
    bounds = [0]
    for k in range(sections):
        bounds.append(bounds[-1] + each + (1 if k < longer else 0))
    return _pieces(ary, bounds, axis % ary.ndim)


@replaces("numpy.split")
def split(ary, indices_or_sections, axis=0):
    return _divided(np.split, ary, indices_or_sections, axis, True)


@replaces("numpy.array_split")
def array_split(ary, indices_or_sections, axis=0):
    return _divided(np.array_split, ary, indices_or_sections, axis, False)


@replaces("numpy.hsplit")
def hsplit(ary, indices_or_sections):
    if np.ndim(ary) == 0:
        return plainly(np.hsplit, ary, indices_or_sections)
    return _divided(np.split, ary, indices_or_sections, 1 if np.ndim(ary) > 1 else 0, True)


@replaces("numpy.vsplit")
def vsplit(ary, indices_or_sections):
    if np.ndim(ary) < 2:
        return plainly(np.vsplit, ary, indices_or_sections)
    return _divided(np.split, ary, indices_or_sections, 0, True)


@replaces("numpy.dsplit")
def dsplit(ary, indices_or_sections):
    if np.ndim(ary) < 3:
        return plainly(np.dsplit, ary, indices_or_sections)
    return _divided(np.split, ary, indices_or_sections, 2, True)


@replaces("numpy.unstack")
def unstack(x, /, *, axis=0):
    given, x = x, np.asarray(x)
    if axis_of(axis, x.ndim) is None:
        return plainly(np.unstack, given, axis=axis)
    x = np.moveaxis(x, axis, 0)
    return tuple([x[i] for i in range(x.shape[0])])


@replaces("numpy.rot90")
def rot90(m, k=1, axes=(0, 1)):
    m = np.asarray(m)
    first, second = [axis_of(axis, m.ndim) for axis in axes] if len(axes) == 2 else (None, None)
    if first is None or second is None or first == second:
        return plainly(np.rot90, m, k, axes)
    k = k % 4
    if k == 0:
        return m[...]
    if k == 2:
        return _reversed(_reversed(m, first), second)
    order = list(range(m.ndim))
    order[first], order[second] = second, first
    if k == 1:
        return np.transpose(_reversed(m, second), order)
    return _reversed(np.transpose(m, order), second)


def _reversed(m, axis):
    return m[before(axis) + (slice(None, None, -1),)]


@replaces("numpy.append")
def append(arr, values, axis=None):
    if axis is None:
        return np.concatenate([np.ravel(arr), np.ravel(values)])
    return np.concatenate([arr, values], axis=axis)


@replaces("numpy.concatenate", "numpy.concat")
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    given = arrays
    if any([is_number(array) for array in given]):
        wide = np.result_type(*[one if is_number(one) else np.asarray(one) for one in given])
        if dtype is not None or not all([fits(one, wide) for one in given if is_number(one)]):
            return plainly(np.concatenate, given, axis, out, dtype=dtype, casting=casting)
        arrays = [np.asarray(array).astype(wide) for array in given]
    arrays = [np.asarray(array) for array in arrays]
    if out is not None and (dtype is not None or casting != "same_kind"):
        return plainly(np.concatenate, arrays, axis, out, dtype=dtype, casting=casting)
    result = np.result_type(*arrays) if dtype is None else np.dtype(dtype)
    for array in arrays:
        if not np.can_cast(array.dtype, result, casting) or (array.dtype.kind == "c" and result.kind != "c"):
            return plainly(np.concatenate, arrays, axis, out, dtype=dtype, casting=casting)
    if axis is None:
        arrays, axis = [np.ravel(array) for array in arrays], 0
    if dtype is not None:
        arrays = [array.astype(dtype) for array in arrays]
    if out is None:
        return np.concatenate(arrays, axis=axis)
    joined = np.concatenate(arrays, axis=axis)
    if out.shape != joined.shape:
        return plainly(np.concatenate, arrays, axis, out)
    np.copyto(out, joined)
    return out


@replaces("numpy.stack")
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = [np.asarray(array) for array in arrays]
    if not arrays:
        raise ValueError("need at least one array to stack")
    if any([array.shape != arrays[0].shape for array in arrays]):
        raise ValueError("all input arrays must have the same shape")
    arrays = [np.expand_dims(array, axis) for array in arrays]
    return np.concatenate(arrays, axis=axis, out=out, dtype=dtype, casting=casting)


@replaces("numpy.vstack", "numpy.row_stack")
def vstack(tup, *, dtype=None, casting="same_kind"):
    if not isinstance(tup, list | tuple | np.ndarray):
        return plainly(np.vstack, tup, dtype=dtype, casting=casting)
    return np.concatenate([np.atleast_2d(array) for array in tup], axis=0, dtype=dtype, casting=casting)


@replaces("numpy.hstack")
def hstack(tup, *, dtype=None, casting="same_kind"):
    if not isinstance(tup, list | tuple | np.ndarray):
        return plainly(np.hstack, tup, dtype=dtype, casting=casting)
    arrays = [np.atleast_1d(array) for array in tup]
    return np.concatenate(arrays, axis=0 if arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@replaces("numpy.dstack")
def dstack(tup):
    if not isinstance(tup, list | tuple | np.ndarray):
        return plainly(np.dstack, tup)
    return np.concatenate([np.atleast_3d(array) for array in tup], axis=2)


@replaces("numpy.column_stack")
def column_stack(tup):
    if not isinstance(tup, list | tuple | np.ndarray):
        return plainly(np.column_stack, tup)
    arrays = [np.atleast_1d(array) for array in tup]
    return np.concatenate([array if array.ndim > 1 else array.reshape(-1, 1) for array in arrays], axis=1)


@replaces("numpy.block")
def block(arrays):
    if _holds_tuple(arrays):
        return plainly(np.block, arrays)
    depth = _depth(arrays)
    result = _block(arrays, depth, max(depth, _most_dims(arrays)))
    return result if depth > 0 else result.copy()


def _holds_tuple(arrays):
    return (
        isinstance(arrays, tuple) or isinstance(arrays, list) and any([_holds_tuple(part) for part in arrays])
    )


def _depth(arrays):
    depth = 0
    while isinstance(arrays, list):
        arrays, depth = arrays[0], depth + 1
    return depth


def _most_dims(arrays):
    return max([_most_dims(part) for part in arrays]) if isinstance(arrays, list) else np.ndim(arrays)


def _block(arrays, depth, ndim):
    if not isinstance(arrays, list):
        array = np.asarray(arrays)
        return array.reshape((1,) * (ndim - array.ndim) + array.shape)
    return np.concatenate([_block(part, depth - 1, ndim) for part in arrays], axis=-depth)


@replaces("numpy.broadcast_shapes")
def broadcast_shapes(*args):
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in args]
    result = broadcast_shape(shapes)
    return plainly(np.broadcast_shapes, *args) if result is None else result


@replaces("numpy.broadcast_arrays")
def broadcast_arrays(*args, subok=False):
    arrays = [np.asarray(array) for array in args]
    shape = broadcast_shape([array.shape for array in arrays])
    if shape is None:
        return plainly(np.broadcast_arrays, *args, subok=subok)
    return tuple([array if array.shape == shape else broadcast_view(array, shape) for array in arrays])


def broadcast_view(array, shape):
    """As numpy.broadcast_to, but not read-only. Lowered by capture."""
    return np.broadcast_to(array, shape).copy()


@replaces("numpy.row_stack")
def row_stack(tup, *, dtype=None, casting="same_kind"):
    """Deprecated: NumPy warns at each call."""
    return plainly(np.row_stack, tup, dtype=dtype, casting=casting)


@replaces("numpy.atleast_1d")
def atleast_1d(*arys):
    if len(arys) == 1:
        return plainly(np.atleast_1d, arys[0])
    return tuple([np.atleast_1d(array) for array in arys])


@replaces("numpy.atleast_2d")
def atleast_2d(*arys):
    if len(arys) == 1:
        return plainly(np.atleast_2d, arys[0])
    return tuple([np.atleast_2d(array) for array in arys])


@replaces("numpy.atleast_3d")
def atleast_3d(*arys):
    if len(arys) != 1:
        return tuple([np.atleast_3d(array) for array in arys])
    array = np.asarray(arys[0])
    if array.ndim == 0:
        return array.reshape(1, 1, 1)
    if array.ndim == 1:
        return array[None, :, None]
    return array[:, :, None] if array.ndim == 2 else array


def _read_in(a, order):
    """Whether order= asks for the elements in C or in Fortran order; None for others, and for what is no order."""
    if order == "A" or (order == "K" and (a.ndim < 2 or a.flags.c_contiguous or a.flags.f_contiguous)):
        return "F" if np.isfortran(a) else "C"
    return order if order in ("C", "F") else None


@replaces("numpy.ravel", "nd.ravel")
def ravel(a, order="C"):
    array = np.asarray(a)
    wanted = _read_in(array, order)
    if wanted is None or order == "C":
        return plainly(np.ravel, a, order)
    return array.T.ravel() if wanted == "F" else array.ravel()


@replaces("nd.flatten")
def flatten(a, order="C"):
    wanted = _read_in(a, order)
    if wanted is None or order == "C":
        return plainly(_call_method, a, "flatten", order)
    return a.T.flatten() if wanted == "F" else a.flatten()


@replaces("numpy.reshape")
def reshape(a, /, shape, order="C", *, copy=None):
    a = np.asarray(a)
    if order not in ("A", "F") or copy is not None:
        return plainly(np.reshape, a, shape, order, copy=copy)
    if order == "A" and not np.isfortran(a):
        return a.reshape(shape)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    known = [size for size in shape if size != -1]
    whole = product_of(known)
    unknown = len(shape) - len(known)
    if unknown > 1 or (a.size != whole if unknown == 0 else whole == 0 or a.size % whole != 0):
        return plainly(np.reshape, a, shape, order)  # which does not fit, and whose shape the error names
    return a.T.reshape(shape[::-1]).T


@replaces("nd.reshape")
def reshape_method(a, /, *shape, order="C", copy=None):
    if len(shape) == 1:
        shape = shape[0]
    return np.reshape(a, shape, order=order, copy=copy)


@replaces("numpy.resize")
def resize(a, new_shape):
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    a, size = np.ravel(a), product_of(shape)
    if a.size == 0 or size == 0:
        return plainly(np.resize, a, shape)
    return np.concatenate((a,) * (-(-size // a.size)))[:size].reshape(shape)


@replaces("numpy.repeat", "nd.repeat")
def repeat(a, repeats, axis=None):
    if not isinstance(repeats, list | tuple):
        return plainly(np.repeat, a, repeats, axis)
    along = axis_of(axis, np.ndim(a))
    if (
        axis is not None
        and along is None
        or len(repeats) != (np.size(a) if axis is None else np.shape(a)[along])
    ):
        return plainly(np.repeat, a, repeats, axis)
    positions = []
    for place, count in enumerate(repeats):
        positions.extend([place] * count)
    return np.take(a, positions, axis=axis)


@replaces("numpy.rollaxis")
def rollaxis(a, axis, start=0):
    a = np.asarray(a)
    if axis_of(axis, a.ndim) is None or not -a.ndim <= start <= a.ndim:
        return plainly(np.rollaxis, a, axis, start)
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


@replaces("numpy.permute_dims", "numpy.transpose")
def permute_dims(a, axes=None):
    return np.asarray(a).transpose() if axes is None else np.asarray(a).transpose(axes)


@replaces("numpy.matrix_transpose", "numpy.linalg.matrix_transpose")
def matrix_transpose(x, /):
    x = np.asarray(x)
    return plainly(np.matrix_transpose, x) if x.ndim < 2 else x.mT


@replaces("numpy.size")
def size(a, axis=None):
    a = np.asarray(a)
    if axis is None:
        return a.size
    if isinstance(axis, tuple):
        return product_of([a.shape[one] for one in axis])
    return a.shape[axis]


def _call_method(array, name, *args, **kwargs):
    return getattr(array, name)(*args, **kwargs)


@replaces("nd.tolist")
def tolist(a):
    if a.ndim == 0:
        return a.item()
    if a.size > 64:
        return plainly(_call_method, a, "tolist")
    return [row.tolist() for row in a]


@replaces("nd.item")
def item(a, *index):
    if len(index) == 0:
        return plainly(_call_method, a, "item")
    if len(index) == 1 and isinstance(index[0], tuple):
        index = index[0]
    return (a[index] if len(index) > 1 else a.reshape(-1)[index[0]]).item()


@replaces("nd.__copy__", "copy.copy")
def copy(x):
    return np.copy(x, order="K") if isinstance(x, np.ndarray) else plainly(_copy.copy, x)


@replaces("nd.__deepcopy__", "copy.deepcopy")
def deepcopy(x, memo=None):
    return np.copy(x, order="K") if isinstance(x, np.ndarray) else plainly(_copy.deepcopy, x)


@replaces("nd.to_device")
def to_device(x, device, /, *, stream=None):
    return (
        x
        if device == "cpu" and stream is None
        else plainly(_call_method, x, "to_device", device, stream=stream)
    )


@replaces("nd.conj", "nd.conjugate")
def conj(x):
    return np.conjugate(x) if x.dtype.kind == "c" else x


@replaces("nd.view")
def view(x, dtype=None, type=None):
    if type is None and (dtype is None or dtype is np.ndarray or dtype == x.dtype):
        return x[...]
    return (
        plainly(_call_method, x, "view", dtype)
        if type is None
        else plainly(_call_method, x, "view", dtype, type)
    )


@replaces("nd.byteswap")
def byteswap(a, inplace=False):
    part = np.dtype(np.float32 if a.dtype == np.complex64 else np.float64) if a.dtype.kind == "c" else a.dtype
    numbers = operator("bitcast", a.reshape(a.shape + (1,)), dtype=part)
    shape = numbers.shape + (part.itemsize,)
    octets = operator("bitcast", numbers[..., None], dtype=np.dtype(np.uint8)).reshape(shape)
    swapped = operator(
        "bitcast", operator("bitcast", octets[..., ::-1], dtype=part).reshape(numbers.shape), dtype=a.dtype
    )
    swapped = swapped.reshape(a.shape)
    if not inplace:
        return swapped
    a[...] = swapped
    return a


@replaces("numpy.roll")
def roll(a, shift, axis=None):
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = (shift,) if isinstance(shift, int) else shift
    usual = isinstance(axes, tuple) and isinstance(shifts, tuple) and len(axes) > 0 and len(shifts) > 0
    if not usual or (len(axes) != len(shifts) and len(axes) != 1 and len(shifts) != 1):
        return plainly(np.roll, a, shift, axis)
    a, count = np.asarray(a), max(len(axes), len(shifts))
    for place in range(count):
        a = np.roll(a, shifts[place % len(shifts)], axes[place % len(axes)])
    return a


@replaces("numpy.iterable")
def iterable(y):
    if isinstance(y, np.ndarray):
        return y.ndim > 0
    if isinstance(y, list | tuple | dict | set | str):
        return True
    return (
        False if y is None or isinstance(y, int | float | complex | np.generic) else plainly(np.iterable, y)
    )
