"""The methods of ufuncs: reduce, accumulate, reduceat, outer and at."""

import numpy as np

from ._core import axis_of, before, is_number, laid_out_by, plainly, product_of, replaces, require

# Up to this many steps a loop over an axis becomes a chain of operations.
UNROLLED = 64
# Any order of the elements gives the same result, which is found in a logarithmic number of steps.
ASSOCIATIVE = (
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.gcd,
    np.maximum,
    np.minimum,
    np.logical_and,
    np.logical_or,
)
# NumPy's vector loops of these read elements before they are combined, on some processors.
NUMPYS_OWN = (np.power, np.float_power, np.arctan2)
COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


@replaces("functools.reduce")
def reduce(function, iterable, *initial):
    iterator = iter(iterable)
    if initial:
        (value,) = initial
    else:
        value = next(iterator)
    for element in iterator:
        value = function(value, element)
    return value


def _unusual(ufunc):
    return ufunc.nin != 2 or ufunc.nout != 1 or ufunc in NUMPYS_OWN or ufunc in COMPARISONS


def _type_of(ufunc, first, second):
    return ufunc(np.empty(0, first), np.empty(0, second)).dtype


def _reduced_axes(axis, ndim):
    """The axes in front-to-back order; None where they are not axes."""
    if axis is None:
        return list(range(ndim))
    axes = [axis_of(one, ndim) for one in (axis if isinstance(axis, tuple) else (axis,))]
    distinct = None not in axes and all([axes[place] not in axes[:place] for place in range(len(axes))])
    return sorted(axes) if distinct else None


def _in_front(array, axes):
    """The elements along the axes as the first dimension."""
    rest = [one for one in range(array.ndim) if one not in axes]
    moved = np.transpose(array, tuple(axes + rest))
    return moved.reshape((product_of(moved.shape[: len(axes)]), *moved.shape[len(axes) :]))


@replaces("nd.ufunc.reduce")
def ufunc_reduce(ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=np._NoValue, where=True):
    given, array = array, np.asarray(array)
    value = None if _unusual(ufunc) else _reduced(ufunc, array, axis, dtype, initial, where)
    target = out[0] if isinstance(out, tuple) else out
    if value is not None and keepdims:
        value = np.expand_dims(value, tuple(_reduced_axes(axis, array.ndim)))
    fits = value is None or target is None or (target.dtype == value.dtype and target.shape == value.shape)
    if value is None or not fits:
        return plainly(ufunc.reduce, given, axis, dtype, out, keepdims, initial, where)
    if target is None:
        return value
    target[...] = value
    return target


def _reduced(ufunc, array, axis, dtype, initial, where):
    axes = _reduced_axes(axis, array.ndim)
    if axes is None or len(axes) == 0:
        return None
    if ufunc is np.logical_xor and dtype is None and initial is np._NoValue:
        return np.sum(array.astype(bool), axis=tuple(axes), where=where) % 2 == 1
    if (ufunc is np.fmax or ufunc is np.fmin) and array.dtype.kind in "iu":
        ufunc = np.maximum if ufunc is np.fmax else np.minimum
    array = array if dtype is None else array.astype(dtype)
    result = _type_of(ufunc, array.dtype, array.dtype)
    if result != array.dtype and (result.kind not in "fc" or dtype is not None):
        return None
    array = array.astype(result, copy=False)
    many = (
        len(axes) > 1 and ufunc.identity is None and ufunc not in (np.maximum, np.minimum, np.fmax, np.fmin)
    )
    front = _in_front(array, axes)
    size = front.shape[0]
    if where is not True:
        is_extreme = ufunc in (np.maximum, np.minimum, np.fmax, np.fmin)
        filler = initial if is_extreme and initial is not np._NoValue else ufunc.identity
        if filler is None or not is_number(filler):
            return None
        where = _in_front(np.broadcast_to(where, array.shape), axes)
        front = np.where(where, front, np.asarray(filler).astype(array.dtype))
    if many or size == 0 or not (is_number(initial) or initial is np._NoValue):
        return None
    if size <= UNROLLED:
        return _folded(ufunc, front, initial)
    if ufunc not in ASSOCIATIVE and ufunc is not np.fmax and ufunc is not np.fmin:
        return None
    value = _halved(ufunc, front)
    value = value if initial is np._NoValue else ufunc(value, np.asarray(initial).astype(array.dtype))
    return laid_out_by(value, front[0]) if value.ndim > 1 else value


def _halved(ufunc, front):
    while front.shape[0] > 1:
        half = front.shape[0] // 2
        both = ufunc(front[:half], front[half : 2 * half])
        front = both if front.shape[0] % 2 == 0 else np.concatenate([both, front[2 * half :]])
    return front[0]


def _folded(ufunc, front, initial):
    first = 0 if initial is not np._NoValue else 1
    value = front[0] if first else np.asarray(initial).astype(front.dtype)
    if first and front.shape[0] == 1:
        return value.copy(order="K")
    for place in range(first, front.shape[0]):
        value = ufunc(value, front[place])
    return value


@replaces("nd.ufunc.accumulate")
def ufunc_accumulate(ufunc, array, axis=0, dtype=None, out=None):
    given, array = array, np.asarray(array)
    place = axis_of(axis, array.ndim)
    target = out[0] if isinstance(out, tuple) else out
    value = None if place is None or _unusual(ufunc) else _accumulated(ufunc, array, place, dtype)
    value = value if value is None else laid_out_by(value, array)
    fits = value is None or target is None or (target.dtype == value.dtype and target.shape == value.shape)
    if value is None or not fits:
        return plainly(ufunc.accumulate, given, axis, dtype, out)
    if target is None:
        return value
    target[...] = value
    return target


def _accumulated(ufunc, array, axis, dtype):
    if ufunc is np.add:
        return np.cumsum(array, axis, dtype)
    if ufunc is np.multiply:
        return np.cumprod(array, axis, dtype)
    if ufunc is np.logical_and or ufunc is np.logical_or or ufunc is np.logical_xor:
        return _accumulated_logic(ufunc, array, axis) if dtype is None else None
    array = array if dtype is None else array.astype(dtype)
    size, lead = array.shape[axis], before(axis)
    if _type_of(ufunc, array.dtype, array.dtype) != array.dtype or size < 2:
        return None
    if ufunc is np.subtract and size > UNROLLED:
        first = array[lead + (slice(0, 1),)]
        rest = np.cumsum(array[lead + (slice(1, None),)], axis, array.dtype)
        return np.concatenate([first, first - rest], axis=axis)
    if ufunc in ASSOCIATIVE:
        return _doubled(ufunc, array, axis)
    if size > UNROLLED:
        return None
    values = [array[lead + (0,)]]
    for place in range(1, size):
        values.append(ufunc(values[-1], array[lead + (place,)]))
    return np.stack(values, axis=axis)


def _doubled(ufunc, array, axis):
    """Every step combines what twice as many elements before have."""
    lead, step = before(axis), 1
    while step < array.shape[axis]:
        start = array[lead + (slice(None, step),)]
        both = ufunc(array[lead + (slice(None, -step),)], array[lead + (slice(step, None),)])
        array, step = np.concatenate([start, both], axis=axis), step * 2
    return array


def _accumulated_logic(ufunc, array, axis):
    if array.dtype != np.bool_ or array.shape[axis] < 1:
        return None
    counts = np.cumsum(~array if ufunc is np.logical_and else array, axis)
    if ufunc is np.logical_xor:
        return counts % 2 == 1
    return counts == 0 if ufunc is np.logical_and else counts > 0


@replaces("nd.ufunc.reduceat")
def ufunc_reduceat(ufunc, array, indices, axis=0, dtype=None, out=None):
    given, array = array, np.asarray(array)
    place = axis_of(axis, array.ndim)
    target = out[0] if isinstance(out, tuple) else out
    value = (
        None
        if place is None or dtype is not None or _unusual(ufunc)
        else _reduced_parts(ufunc, array, indices, place)
    )
    fits = value is None or target is None or (target.dtype == value.dtype and target.shape == value.shape)
    if value is None or not fits:
        return plainly(ufunc.reduceat, given, indices, axis, dtype, out)
    if target is None:
        return value
    target[...] = value
    return target


def _reduced_parts(ufunc, array, indices, axis):
    if isinstance(indices, np.ndarray):
        usual = indices.ndim == 1 and indices.dtype.kind in "iu" and array.ndim == 1 and array.size > 0
        return _segments(ufunc, array, indices.astype(np.int64)) if usual and indices.shape[0] > 0 else None
    if not isinstance(indices, list | tuple) or not 0 < len(indices) <= UNROLLED:
        return None
    lead, size = before(axis), array.shape[axis]
    stops = list(indices[1:]) + [size]
    values = []
    for start, stop in zip(indices, stops):
        if not isinstance(start, int) or not 0 <= start < size:
            return None
        values.append(ufunc.reduce(array[lead + (slice(start, max(stop, start + 1)),)], axis=axis))
    return np.stack(values, axis=axis)


def _segments(ufunc, array, starts):
    """Parts that follow each other; one that holds nothing gives the element that it starts at."""
    size = array.shape[0]
    starts = require(starts, (starts >= 0) & (starts < size))
    starts = require(starts, starts[1:] >= starts[:-1])
    if ufunc is np.add and array.dtype.char in "lLqQfdFD":
        filler = 0
    elif ufunc is np.maximum or ufunc is np.minimum:
        filler = np.max(array) if ufunc is np.minimum else np.min(array)
    else:
        return None
    part = np.searchsorted(starts, np.arange(size), side="right")
    values = np.zeros(starts.shape[0] + 1, array.dtype) + np.asarray(filler).astype(array.dtype)
    ufunc.at(values, part, array)
    empty = np.concatenate([starts[1:] == starts[:-1], np.zeros(1, bool)])
    return np.where(empty, array[starts], values[1:])


@replaces("nd.ufunc.outer")
def ufunc_outer(ufunc, a, b, /, **kwargs):
    if is_number(a) or is_number(b):
        return plainly(ufunc.outer, a, b, **kwargs)
    a, b = np.asarray(a), np.asarray(b)
    return ufunc(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)


@replaces("nd.ufunc.at")
def ufunc_at(ufunc, a, indices, b=None, /):
    if not isinstance(a, np.ndarray) or ufunc.nin != (1 if b is None else 2) or ufunc.nout != 1:
        return plainly(ufunc.at, a, indices) if b is None else plainly(ufunc.at, a, indices, b)
    if b is None:
        if not _is_each_once(indices):
            return plainly(ufunc.at, a, indices)
        a[indices] = ufunc(a[indices])
        return None
    b = np.asarray(b)
    same = b.dtype == a.dtype
    number = a.dtype.kind == "f" and b.dtype.kind in "iub" and b.ndim == 0
    if ufunc is np.add and (same or number):
        return add_at(a, indices, b)
    if ufunc is np.subtract and a.dtype.kind in "fi" and (same or number):
        return add_at(a, indices, -(b + 0))
    if (ufunc is np.minimum or ufunc is np.maximum) and a.dtype.kind in "biuf" and same:
        return minimum_at(a, indices, b) if ufunc is np.minimum else maximum_at(a, indices, b)
    return _one_by_one(ufunc, a, indices, b)


def _is_each_once(indices):
    """Whether a list of numbers, or a number, names no place twice for certain."""
    listed = indices if isinstance(indices, list) else [indices]
    known = all([isinstance(one, int) and one >= 0 for one in listed])
    return known and all([listed[place] not in listed[:place] for place in range(len(listed))])


def _one_by_one(ufunc, a, indices, b):
    """Repeated positions count each time: few elements are combined one after the other, many only where they differ."""
    listed = indices if isinstance(indices, list) else None
    if isinstance(indices, int):
        listed = [indices]
    if isinstance(indices, np.ndarray) and indices.ndim == 1 and indices.dtype.kind in "iu" and a.ndim == 1:
        listed = indices
    usual = listed is not None and len(listed) <= UNROLLED and b.ndim <= 1 and (a.ndim == 1 or b.ndim == 0)
    usual = usual and (b.ndim == 0 or b.shape[0] == len(listed) or b.shape[0] == 1)
    if not usual or _type_of(ufunc, a.dtype, b.dtype) != a.dtype:
        return plainly(ufunc.at, a, indices, b)
    for place in range(len(listed)):
        operand = b if b.ndim == 0 else b[place % b.shape[0]]
        a[listed[place]] = ufunc(a[listed[place]], operand)
    return None


def add_at(a, indices, b):
    """a[indices] += b, counting repeated positions each time. Lowered by capture."""
    np.add.at(a, indices, b)


def minimum_at(a, indices, b):
    """a[indices] = minimum(a[indices], b), repeated positions counting each time. Lowered by capture."""
    np.minimum.at(a, indices, b)


def maximum_at(a, indices, b):
    """As minimum_at."""
    np.maximum.at(a, indices, b)
