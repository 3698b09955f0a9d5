"""numpy.pad."""

import numpy as np

from ._core import before, is_number, laid_out_like, plainly, product_of, replaces

_PADDED_POSITIONS = {
    "edge": lambda places, size: np.clip(places, 0, size - 1),
    "wrap": lambda places, size: places % size,
    "reflect": lambda places, size: (size - 1) - np.abs((size - 1) - places % max(2 * size - 2, 1)),
    "symmetric": lambda places, size: np.minimum(places % (2 * size), 2 * size - 1 - places % (2 * size)),
}
_STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def _pairs(value, ndim):
    """What comes before and after, for each axis; None where the value has another form."""
    if is_number(value):
        return [(value, value)] * ndim
    if not isinstance(value, tuple | list) or len(value) == 0:
        return None
    numbers = [is_number(one) for one in value]
    if all(numbers):
        return [(value[0], value[-1])] * ndim if len(value) <= 2 else None
    if any(numbers) or not all([isinstance(one, tuple | list) and 1 <= len(one) <= 2 for one in value]):
        return None
    pairs = [(one[0], one[-1]) for one in value]
    return pairs * ndim if len(pairs) == 1 else pairs if len(pairs) == ndim else None


def _widths(pad_width, ndim):
    """How many elements come before and after, for each axis; None for what NumPy refuses."""
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pair = _pairs(width, 1)
            if not isinstance(axis, int) or not -ndim <= axis < ndim or pair is None:
                return None
            pairs[axis] = pair[0]
    else:
        pairs = _pairs(pad_width, ndim)
    for low, high in pairs or []:
        if not isinstance(low, int) or not isinstance(high, int) or low < 0 or high < 0:
            return None
    return pairs


def _padded_by(array, widths, function, kwargs):
    """The program's function writes the borders, row after row of each axis."""
    if widths is None or array.size == 0:
        return None
    result = _padded(array, widths, "constant", {})
    for axis in range(array.ndim):
        rows = np.moveaxis(result, axis, -1)
        if product_of(rows.shape[:-1]) > 64:
            return None
        for place in np.ndindex(rows.shape[:-1]):
            function(rows[place], widths[axis], axis, kwargs)
    return result


def _padded_odd(array, widths, mode):
    """Elements mirrored about the outermost ones, in as many steps as the border is wider than what is there."""
    if widths is None or array.size == 0:
        return None
    edge = 1 if mode == "reflect" else 0
    for axis in range(array.ndim):
        low, high = widths[axis]
        size = array.shape[axis]
        if size == 1 and edge == 1:
            return None
        while low > 0 or high > 0:
            array, low, high = _with_odd_borders(array, axis, low, high, edge, size)
    return array


def _with_odd_borders(array, axis, low, high, edge, period):
    lead, size = before(axis), array.shape[axis]
    whole = (size - edge) // (period - edge) * (period - edge)  # NumPy mirrors multiples of the original part
    front, back = min(low, whole), min(high, whole)
    parts = [array]
    if front > 0:
        mirrored = np.flip(array[lead + (slice(edge, edge + front),)], axis)
        parts.insert(0, 2 * array[lead + (slice(0, 1),)] - mirrored)
    if back > 0:
        mirrored = np.flip(array[lead + (slice(size - edge - back, size - edge),)], axis)
        parts.append(2 * array[lead + (slice(size - 1, None),)] - mirrored)
    return np.concatenate(parts, axis=axis), low - front, high - back


@replaces("numpy.pad")
def pad(array, pad_width, mode="constant", **kwargs):
    given, array = array, np.asarray(array)
    result = _padded(array, pad_width, mode, kwargs)
    if result is None:
        return plainly(np.pad, given, pad_width, mode, **kwargs)
    return laid_out_like(result, given if isinstance(given, np.ndarray) else array, "A")


def _padded(array, pad_width, mode, kwargs):
    names = {"constant": "constant_values", "linear_ramp": "end_values"}
    if callable(mode):
        return _padded_by(array, _widths(pad_width, array.ndim), mode, kwargs)
    if mode in ("reflect", "symmetric") and kwargs.get("reflect_type") == "odd" and len(kwargs) == 1:
        return _padded_odd(array, _widths(pad_width, array.ndim), mode)
    if mode in ("reflect", "symmetric") and kwargs.get("reflect_type") == "even":
        kwargs = {keyword: value for keyword, value in kwargs.items() if keyword != "reflect_type"}
    if mode == "empty":
        mode = "constant"
    statistic = mode in _STATISTICS if isinstance(mode, str) else False
    usual = statistic or mode in names or mode in _PADDED_POSITIONS if isinstance(mode, str) else False
    if not usual or array.size == 0 or (mode == "linear_ramp" and array.dtype.char not in "fd"):
        return None
    name = "stat_length" if statistic else names[mode] if mode in names else None
    for keyword in kwargs:
        if keyword != name:
            return None
    widths = _widths(pad_width, array.ndim)
    values = kwargs.get(name, 0)
    values = (
        [None] * array.ndim
        if statistic and (values is None or name not in kwargs)
        else _pairs(values, array.ndim)
    )
    if widths is None or values is None:
        return None
    if statistic and any([pair is not None and 0 in pair for pair in values]):
        return None
    for axis in range(array.ndim):
        low, high = widths[axis]
        if low == 0 and high == 0:
            continue
        if mode in _PADDED_POSITIONS:
            size = array.shape[axis]
            places = _PADDED_POSITIONS[mode](np.arange(-low, size + high), size)
            array = np.take(array, places, axis=axis)
        else:
            front = _border(array, axis, low, mode, values[axis], True)
            back = _border(array, axis, high, mode, values[axis], False)
            array = np.concatenate([front, array, back], axis=axis)
    return array.copy()


def _border(array, axis, count, mode, values, is_front):
    shape = list(array.shape)
    shape[axis] = count
    if mode == "constant":
        return np.full(tuple(shape), values[0 if is_front else 1], dtype=array.dtype)
    lead, size = before(axis), array.shape[axis]
    if mode != "linear_ramp":
        length = size if values is None else min(values[0 if is_front else 1], size)
        part = array[lead + (slice(None, length) if is_front else slice(size - length, None),)]
        value = _STATISTICS[mode](part, axis=axis, keepdims=True)
        value = np.round(value) if array.dtype.kind in "iu" else value
        return np.broadcast_to(value.astype(array.dtype), tuple(shape))
    if count == 0:
        return array[lead + (slice(0, 0),)]
    start = np.asarray(values[0 if is_front else 1]).astype(array.dtype) * 1.0
    edge = array[lead + (slice(0, 1) if is_front else slice(size - 1, size),)].astype(np.float64)
    shape = [1] * array.ndim
    shape[axis] = count
    places = np.arange(count).astype(np.float64).reshape(tuple(shape))
    delta = edge - start
    step = delta / count
    ramp = np.where((step == 0).any(), places / count * delta, places * step) + start
    return (ramp if is_front else np.flip(ramp, axis)).astype(array.dtype)
