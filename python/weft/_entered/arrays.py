"""Making arrays, and reading and writing parts of them."""

import numpy as np

from ._core import (
    axis_of,
    before,
    broadcast_shape,
    fits,
    is_number,
    laid_out_like,
    plainly,
    product_of,
    replaces,
    require,
)

LARGEST_INDEX = 2**63 - 1


@replaces("numpy.astype")
def astype(x, dtype, /, *, copy=True, device=None):
    if device not in (None, "cpu"):
        return plainly(np.astype, x, dtype, copy=copy, device=device)
    return x.astype(dtype, copy=copy)


@replaces("numpy.linspace")
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    first, last = np.asarray(start), np.asarray(stop)
    usual = not retstep and axis == 0 and device in (None, "cpu") and first.ndim == 0 and last.ndim == 0
    for bound in (first, last):
        usual = usual and bound.dtype.kind in "iuf" and bound.dtype not in (np.float16, np.float32)
    if not usual or not isinstance(num, int) or num < 2 or dtype is not None:
        return plainly(np.linspace, start, stop, num, endpoint, retstep, dtype, axis)
    start, stop = first * 1.0, last * 1.0
    steps = num - 1 if endpoint else num
    delta = stop - start
    places = np.arange(0, num).astype((start + stop).dtype)
    step = delta / steps
    values = np.where(step == 0, places / steps * delta, places * step) + start
    return np.concatenate([values[:-1], np.reshape(stop, (1,))]) if endpoint else values


@replaces("numpy.fromfunction")
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    return function(*np.indices(shape, dtype=dtype), **kwargs)


@replaces("numpy.diagflat")
def diagflat(v, k=0):
    return np.diag(np.ravel(v), k)


@replaces("numpy.diag_indices_from")
def diag_indices_from(arr):
    if arr.ndim < 2 or any([size != arr.shape[0] for size in arr.shape]):
        return plainly(np.diag_indices_from, arr)
    return np.diag_indices(arr.shape[0], arr.ndim)


@replaces("numpy.tril_indices_from")
def tril_indices_from(arr, k=0):
    if np.ndim(arr) != 2:
        return plainly(np.tril_indices_from, arr, k)
    return np.tril_indices(arr.shape[-2], k=k, m=arr.shape[-1])


@replaces("numpy.triu_indices_from")
def triu_indices_from(arr, k=0):
    if np.ndim(arr) != 2:
        return plainly(np.triu_indices_from, arr, k)
    return np.triu_indices(arr.shape[-2], k=k, m=arr.shape[-1])


@replaces("numpy.tril")
def tril(m, k=0):
    m = np.asarray(m)
    if m.ndim != 1:
        return plainly(np.tril, m, k)
    return np.where(np.tri(m.shape[0], m.shape[0], k=k, dtype=bool), m, np.zeros((), m.dtype))


@replaces("numpy.triu")
def triu(m, k=0):
    m = np.asarray(m)
    if m.ndim != 1:
        return plainly(np.triu, m, k)
    return np.where(np.tri(m.shape[0], m.shape[0], k=k - 1, dtype=bool), np.zeros((), m.dtype), m)


@replaces("numpy.vander")
def vander(x, N=None, increasing=False):
    x = np.asarray(x)
    columns = x.shape[0] if N is None and x.ndim == 1 else N
    if x.ndim != 1 or columns < 1 or x.dtype.kind == "c":
        return plainly(np.vander, x, N, increasing)
    x = x * np.ones(1, dtype=np.int64)
    powers = [np.ones_like(x)]
    for _ in range(columns - 1):
        powers.append(powers[-1] * x)
    return np.stack(powers if increasing else powers[::-1], axis=1)


@replaces("numpy.take", "nd.take")
def take(a, indices, axis=None, out=None, mode="raise"):
    a, indices = np.asarray(a), np.asarray(indices)
    if axis is None:
        a, axis = np.ravel(a), 0
    given, axis = axis, axis_of(axis, a.ndim)
    if axis is None or a.shape[axis] == 0 or indices.dtype.kind not in "iu":
        return plainly(np.take, a, indices, given, out, mode)
    if mode == "wrap":
        indices = indices % a.shape[axis]
    elif mode == "clip":
        indices = np.clip(indices, 0, a.shape[axis] - 1)
    elif mode != "raise":
        return plainly(np.take, a, indices, axis, out, mode)
    result = np.take(a, indices, axis)
    if out is None:
        return result
    if out.dtype != a.dtype or out.shape != result.shape:
        return plainly(np.take, a, indices, axis, out, mode)
    out[...] = result
    return out


@replaces("numpy.choose")
def choose(a, choices, out=None, mode="raise"):
    is_known = isinstance(
        a, int | np.integer
    )  # and checked here: require() is for values that are not known yet
    if is_known and mode == "raise" and isinstance(choices, list | tuple) and not 0 <= a < len(choices):
        return plainly(np.choose, a, choices, out, mode)
    a = np.asarray(a)
    if (
        out is not None
        or not isinstance(choices, list | tuple)
        or not 1 <= len(choices) <= 32
        or a.dtype.kind not in "iu"
    ):
        return plainly(np.choose, a, choices, out, mode)
    if mode == "wrap":
        a = a % len(choices)
    elif mode == "clip":
        a = np.clip(a, 0, len(choices) - 1)
    elif mode != "raise":
        return plainly(np.choose, a, choices, out, mode)
    else:
        a = require(a, (a >= 0) & (a < len(choices)))
    given, choices = choices, [np.asarray(choice) for choice in choices]
    if broadcast_shape([a.shape, *[choice.shape for choice in choices]]) is None:
        return plainly(np.choose, a, given, out, mode)
    dtype = np.result_type(*[one if is_number(one) else np.asarray(one) for one in given])
    if not all([fits(one, dtype) for one in given if is_number(one)]):
        return plainly(np.choose, a, given, out, mode)
    result = choices[0].astype(dtype)
    for place, choice in enumerate(choices):
        if place > 0:
            result = np.where(a == place, choice.astype(dtype), result)
    result = np.broadcast_to(result, broadcast_shape([a.shape, result.shape])).copy()
    return result if result.ndim > 0 else result[()]


@replaces("nd.choose")
def choose_method(a, choices, /, out=None, mode="raise"):
    return np.choose(a, choices, out, mode)


@replaces("numpy.select")
def select(condlist, choicelist, default=0):
    usual = len(condlist) == len(choicelist) and len(condlist) > 0
    condlist = [np.asarray(condition) if isinstance(condition, bool) else condition for condition in condlist]
    for condition in condlist:
        usual = usual and isinstance(condition, np.ndarray) and condition.dtype == np.bool_
    if not usual:
        return plainly(np.select, condlist, choicelist, default)
    choices = [choice if is_number(choice) else np.asarray(choice) for choice in choicelist]
    default = default if is_number(default) else np.asarray(default)
    dtype = np.result_type(*choices, default)
    result = np.asarray(default).astype(dtype)
    for condition, choice in zip(condlist[::-1], choices[::-1]):
        result = np.where(condition, np.asarray(choice).astype(dtype), result)
    return np.asarray(result, order="C")


def _fits(values, target):
    """Whether NumPy assigns the values to the array: numbers are taken only where they are of its kind, in range or not."""
    if isinstance(values, bool | float):
        return target.dtype.kind in ("fc" if isinstance(values, float) else "biufc")
    if isinstance(values, int):
        return (
            target.dtype.kind in "fc"
            or (target.dtype.kind == "i" and -128 <= values < 128)
            or (target.dtype.kind == "u" and 0 <= values < 256)
        )
    values = np.asarray(values)
    if values.dtype.kind == target.dtype.kind and values.dtype.kind in "if":
        return True
    return np.can_cast(values.dtype, target.dtype)


def _castable(src, dst, casting):
    """The source as the target's type; None where NumPy refuses, or where that depends on values."""
    if is_number(src) or isinstance(src, list | tuple):
        if not is_number(src) or not _fits(src, dst):
            return None
        return np.asarray(src).astype(dst.dtype)
    src = np.asarray(src)
    if not np.can_cast(src.dtype, dst.dtype, casting):
        return None
    return (src if src.dtype.kind != "c" or dst.dtype.kind == "c" else src.real).astype(dst.dtype)


@replaces("numpy.copyto")
def copyto(dst, src, casting="same_kind", where=True):
    value = _castable(src, dst, casting) if isinstance(dst, np.ndarray) and isinstance(casting, str) else None
    if value is None or value.ndim > dst.ndim:
        plainly(np.copyto, dst, src, casting=casting, where=where)
    elif where is True:
        dst[...] = value
    else:
        dst[...] = np.where(where, value, dst)


@replaces("numpy.putmask")
def putmask(a, mask, values):
    usual = (
        isinstance(a, np.ndarray) and np.shape(mask) == a.shape and _fits(values, a) and np.size(values) > 0
    )
    if not usual:
        return plainly(np.putmask, a, mask, values)
    values = np.asarray(values).astype(a.dtype)
    if values.shape != a.shape and values.ndim > 0:
        values = np.take(np.ravel(values), np.arange(a.size) % values.size).reshape(a.shape)
    a[...] = np.where(mask, values, a)


@replaces("numpy.place")
def place(arr, mask, vals):
    usual = isinstance(arr, np.ndarray) and isinstance(mask, np.ndarray) and mask.shape == arr.shape
    if not usual or np.size(vals) == 0 or not _fits(vals, arr):
        return plainly(np.place, arr, mask, vals)
    vals, mask = np.ravel(vals), mask.astype(bool)
    order = np.maximum(np.cumsum(mask) - 1, 0) % vals.size
    arr[...] = np.where(mask, np.take(vals.astype(arr.dtype), order).reshape(arr.shape), arr)


def _coordinates(positions, shape):
    coordinates = []
    for size in shape[::-1]:
        coordinates.append(positions % size)
        positions = positions // size
    return tuple(coordinates[::-1])


@replaces("numpy.put", "nd.put")
def put(a, ind, v, mode="raise"):
    usual = isinstance(a, np.ndarray) and np.size(ind) > 0 and np.size(v) > 0
    # Real numbers are cast to any type.
    usual = usual and (_fits(v, a) or (not is_number(v) and np.asarray(v).dtype.kind in "biuf"))
    if not usual or a.size == 0 or a.ndim == 0 or np.asarray(ind).dtype.kind not in "iu":
        return plainly(np.put, a, ind, v, mode)
    ind, v = np.ravel(ind), np.ravel(v)
    if mode == "wrap":
        ind = ind % a.size
    elif mode == "clip":
        ind = np.clip(ind, 0, a.size - 1)
    elif mode != "raise":
        return plainly(np.put, a, ind, v, mode)
    else:
        ind = require(ind, (ind >= -a.size) & (ind < a.size))
        ind = np.where(ind < 0, ind + a.size, ind)
    v = v.astype(a.dtype)
    if v.size != ind.size:
        v = np.take(v, np.arange(ind.size) % v.size)
    a[_coordinates(ind, a.shape)] = v


def _along(indices, axis, ndim):
    """Open grids of positions, with `indices` along `axis`."""
    subscript = []
    for place in range(ndim):
        if place == axis:
            subscript.append(indices)
        else:
            shape = [1] * ndim
            shape[place] = indices.shape[place]
            subscript.append(np.arange(indices.shape[place]).reshape(tuple(shape)))
    return tuple(subscript)


@replaces("numpy.put_along_axis")
def put_along_axis(arr, indices, values, axis):
    indices = np.asarray(indices)
    if axis is None or indices.ndim != arr.ndim:
        return plainly(np.put_along_axis, arr, indices, values, axis)
    for place in range(arr.ndim):
        if place != axis % arr.ndim and indices.shape[place] != arr.shape[place]:
            return plainly(np.put_along_axis, arr, indices, values, axis)
    arr[_along(indices, axis % arr.ndim, arr.ndim)] = values


@replaces("numpy.fill_diagonal")
def fill_diagonal(a, val, wrap=False):
    if not isinstance(a, np.ndarray) or a.ndim != 2 or wrap or np.ndim(val) > 0:
        return plainly(np.fill_diagonal, a, val, wrap)
    places = np.arange(min(a.shape[0], a.shape[1]))
    a[places, places] = val


@replaces("numpy.unravel_index")
def unravel_index(indices, shape, order="C"):
    indices = np.asarray(indices)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    usual = order == "C" and indices.dtype.kind in "iu" and len(shape) > 0
    if not usual or not 0 < product_of(shape) <= LARGEST_INDEX:
        return plainly(np.unravel_index, indices, shape, order)
    indices = require(indices, (indices >= 0) & (indices < product_of(shape)))
    return tuple([coordinate[()] for coordinate in _coordinates(indices.astype(np.intp), shape)])


@replaces("numpy.ravel_multi_index")
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    if (
        order != "C"
        or not isinstance(mode, str)
        or not isinstance(dims, tuple)
        or mode not in ("raise", "wrap", "clip")
        or not 0 < product_of(dims) <= LARGEST_INDEX
    ):
        return plainly(np.ravel_multi_index, multi_index, dims, mode, order)
    result = 0
    for coordinate, size in zip(multi_index, dims):
        coordinate = np.asarray(coordinate)
        if coordinate.dtype.kind not in "iu":
            return plainly(np.ravel_multi_index, multi_index, dims, mode, order)
        if mode == "wrap":
            coordinate = coordinate % size
        elif mode == "clip":
            coordinate = np.clip(coordinate, 0, size - 1)
        else:
            coordinate = require(coordinate, (coordinate >= 0) & (coordinate < size))
        result = result * size + coordinate.astype(np.intp)
    return result


@replaces("numpy.delete")
def delete(arr, obj, axis=None):
    arr = np.asarray(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    given, axis = axis, axis_of(axis, arr.ndim)
    if axis is None:
        return plainly(np.delete, arr, obj, given)
    size, lead = arr.shape[axis], before(axis)
    if isinstance(obj, np.ndarray) and obj.dtype == np.bool_ and obj.shape == (size,):
        return arr[lead + (~obj,)]
    listed = isinstance(obj, list | tuple)
    if isinstance(obj, slice):
        obj = list(range(size)[obj])
    elif isinstance(obj, int) and not isinstance(obj, bool) and -size <= obj < size:
        obj = [obj]
    usual = isinstance(obj, list | tuple)
    for one in obj if usual else ():
        usual = usual and isinstance(one, int) and not isinstance(one, bool) and -size <= one < size
    if not usual:
        return plainly(np.delete, arr, obj, axis)
    if listed and len(obj) > 1:
        gone = {one % size for one in obj}
        return arr[lead + ([one for one in range(size) if one not in gone],)]
    gone, parts, start = sorted([one % size for one in obj]), [], 0
    for one in gone + [size]:
        if one > start:
            parts.append(arr[lead + (slice(start, one),)])
        start = max(start, one + 1)
    return (
        laid_out_like(np.concatenate(parts, axis=axis), arr, "A")
        if parts
        else arr[lead + (slice(0, 0),)].copy()
    )


@replaces("numpy.insert")
def insert(arr, obj, values, axis=None):
    if not isinstance(arr, np.ndarray) or not _fits(values, arr):
        return plainly(np.insert, arr, obj, values, axis)
    values = np.asarray(values)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    given, axis = axis, axis_of(axis, arr.ndim)
    places = [obj] if isinstance(obj, int) else obj
    if axis is None or not isinstance(places, list | tuple):
        return plainly(np.insert, arr, obj, values, given)
    size, lead = arr.shape[axis], before(axis)
    for place in places:
        if not isinstance(place, int) or not -size <= place <= size:
            return plainly(np.insert, arr, obj, values, axis)
    places = [place + size if place < 0 else place for place in places]
    values = values.reshape((1,) * (arr.ndim - values.ndim) + values.shape).astype(arr.dtype)
    if isinstance(obj, int):
        values = np.moveaxis(values, 0, axis)
        places = places * values.shape[axis]
    shape = list(arr.shape)
    shape[axis] = len(places)
    values = np.broadcast_to(values, tuple(shape))
    order = sorted([(place, number) for number, place in enumerate(places)])
    parts, start = [], 0
    for place, number in order:
        if place > start:
            parts.append(arr[lead + (slice(start, place),)])
        parts.append(values[lead + (slice(number, number + 1),)])
        start = place
    if start < size:
        parts.append(arr[lead + (slice(start, None),)])
    return laid_out_like(np.concatenate(parts, axis=axis), arr, "A")


def _unusual_bits(a, axis, bitorder):
    return bitorder not in ("big", "little") or (axis is not None and axis_of(axis, a.ndim) is None)


@replaces("numpy.unpackbits")
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    if (
        not isinstance(a, np.ndarray)
        or a.dtype != np.uint8
        or a.ndim == 0
        or _unusual_bits(a, axis, bitorder)
    ):
        return plainly(np.unpackbits, a, axis, count, bitorder)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis % a.ndim
    shifts = [7, 6, 5, 4, 3, 2, 1, 0] if bitorder == "big" else [0, 1, 2, 3, 4, 5, 6, 7]
    bits = np.stack([(a >> np.uint8(shift)) & np.uint8(1) for shift in shifts], axis=axis + 1)
    bits = bits.reshape(a.shape[:axis] + (a.shape[axis] * 8,) + a.shape[axis + 1 :])
    if count is not None:
        if not isinstance(count, int) or not -bits.shape[axis] <= count <= bits.shape[axis]:
            return plainly(np.unpackbits, a, axis, count, bitorder)
        bits = bits[before(axis) + (slice(None, count),)]
    return laid_out_like(bits, a, "A")


@replaces("numpy.packbits")
def packbits(a, /, axis=None, bitorder="big"):
    a = np.asarray(a)
    if _unusual_bits(a, axis, bitorder):
        return plainly(np.packbits, a, axis, bitorder)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis, size = axis % a.ndim, a.shape[axis % a.ndim]
    if size == 0 or a.dtype.kind not in "iub":
        return plainly(np.packbits, a, axis, bitorder)
    bits = (a != 0).astype(np.uint8)
    if size % 8:
        shape = list(a.shape)
        shape[axis] = 8 - size % 8
        bits = np.concatenate([bits, np.zeros(tuple(shape), np.uint8)], axis=axis)
    bits = bits.reshape(a.shape[:axis] + (-1, 8) + a.shape[axis + 1 :])
    result = 0
    for place in range(8):
        shift = np.uint8(7 - place if bitorder == "big" else place)
        result = (bits[before(axis + 1) + (place,)] << shift) | result
    return laid_out_like(result, a, "A")


def _assembled(results, axis, arr):
    """What NumPy makes of the function's results, which are arrays of classes of their own."""
    following = iter(results)
    return np.apply_along_axis(lambda row: next(following), axis, arr)


@replaces("numpy.apply_along_axis")
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = np.asarray(arr)
    given, axis = axis, axis_of(axis, arr.ndim)
    if axis is None:
        return plainly(np.apply_along_axis, func1d, given, arr, *args, **kwargs)
    moved = np.moveaxis(arr, axis, -1)
    lead = moved.shape[:-1]
    count = product_of(lead)
    if not 1 <= count <= 64:
        return plainly(np.apply_along_axis, func1d, axis, arr, *args, **kwargs)
    rows = moved.reshape((count, moved.shape[-1]))
    given = [func1d(rows[i], *args, **kwargs) for i in range(count)]
    for one in given:
        if isinstance(one, np.ndarray) and type(one) is not np.ndarray:
            return plainly(_assembled, given, axis, arr)
    results = [np.asarray(one) for one in given]
    ndim = results[0].ndim
    result = np.stack(results).reshape(lead + results[0].shape)
    if ndim == 0:
        return result
    places = list(range(len(lead), len(lead) + ndim))
    return np.moveaxis(result, places, list(range(axis, axis + ndim)))


@replaces("numpy.apply_over_axes")
def apply_over_axes(func, a, axes):
    value = np.asarray(a)
    ndim = value.ndim
    for axis in [axes] if isinstance(axes, int) else axes:
        axis = axis % ndim
        result = func(value, axis)
        value = result if result.ndim == ndim else np.expand_dims(result, axis)
    return value


def _dtype_of(value):
    return value.dtype if isinstance(value, np.ndarray | np.generic) else value


@replaces("numpy.result_type")
def result_type(*arrays_and_dtypes):
    return np.result_type(*[_dtype_of(value) for value in arrays_and_dtypes])


@replaces("numpy.can_cast")
def can_cast(from_, to, casting="safe"):
    return np.can_cast(_dtype_of(from_), to, casting)


@replaces("numpy.common_type")
def common_type(*arrays):
    dtypes = [np.asarray(array).dtype for array in arrays]
    dtypes = [np.dtype(np.float64) if dtype.kind in "iu" else dtype for dtype in dtypes]
    for dtype in dtypes:
        if dtype.kind == "b":
            return plainly(np.common_type, *arrays)
    return np.result_type(*dtypes).type


def _rearranged(equation, a):
    """The view that an equation of one operand asks for; None where it asks for sums, or for diagonals of many axes."""
    source, arrow, target = equation.replace(" ", "").partition("->")
    rest = a.ndim - len(source.replace("...", ""))
    if rest < 0 or rest > 9 or ("..." not in source and rest > 0):
        return None
    source, target = source.replace("...", "012345678"[:rest]), target.replace("...", "012345678"[:rest])
    if not arrow:
        target = "012345678"[:rest] if rest > 0 else ""
        target = target + "".join(sorted([one for one in source if one.isalpha() and source.count(one) == 1]))
    if source == "ii" and target == "i" and a.shape[0] == a.shape[1]:
        return diagonal_view(a)
    if sorted(source) != sorted(target) or any([source.count(one) > 1 for one in source]):
        return None
    return np.transpose(a, tuple([source.index(one) for one in target]))


def diagonal_view(a):
    """The diagonal, to be written through. Lowered by capture."""
    return np.einsum("ii->i", a)


@replaces("numpy.einsum")
def einsum(*operands, **kwargs):
    if (
        len(operands) == 2
        and isinstance(operands[0], str)
        and not kwargs
        and isinstance(operands[1], np.ndarray)
    ):
        view = _rearranged(operands[0], operands[1])
        return plainly(np.einsum, *operands) if view is None else view
    if len(operands) < 2 or isinstance(operands[0], str) or kwargs:
        return plainly(np.einsum, *operands, **kwargs)
    letters, terms, arrays = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", [], []
    for place in range(0, len(operands) - 1, 2):
        arrays.append(operands[place])
        terms.append(operands[place + 1])
    output = operands[-1] if len(operands) % 2 else None
    texts = []
    for term in terms if output is None else terms + [output]:
        texts.append("".join(["..." if axis is Ellipsis else letters[axis] for axis in term]))
    equation = ",".join(texts) if output is None else ",".join(texts[:-1]) + "->" + texts[-1]
    return np.einsum(equation, *arrays)


@replaces("numpy.array")
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    same = isinstance(object, np.ndarray) and copy is False and like is None and order == "K"
    if same and (dtype is None or np.dtype(dtype) == object.dtype) and ndmin <= object.ndim:
        return object
    return plainly(np.array, object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, like=like)
