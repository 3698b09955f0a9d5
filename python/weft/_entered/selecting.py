"""What selects by value: masks, positions of what is not zero. The size of the result depends on the elements."""

import operator as _operator

import numpy as np

from ._core import axis_of, operator, plainly, replaces, require, sized


def _positions(mask):
    """[n, mask.ndim]: where the mask holds, in C order."""
    return operator("nonzero", mask)


def _chosen(a, mask):
    return operator("masked_select", a, mask)


@replaces("nd.__getitem__")
def select(a, key):
    """a[key], where there are masks in the key."""
    if not isinstance(a, np.ndarray):
        return plainly(_operator.getitem, a, key)
    if isinstance(key, np.ndarray) and key.shape == a.shape:
        return sized(_chosen, a, key)
    subscript = unmasked(a.shape, key)
    return plainly(_operator.getitem, a, key) if subscript is None else a[subscript]


@replaces("nd.__setitem__")
def store(a, key, value):
    """a[key] = value of several values, where there are masks in the key."""
    value = np.asarray(value)
    subscript = None
    if value.dtype.kind != "c" or a.dtype.kind == "c":
        if isinstance(key, np.ndarray) and key.shape == a.shape and value.ndim == 1:
            return _store_in_order(a, key, value.astype(a.dtype))
        # NumPy has an error of its own for values of several dimensions where one mask stands for all of the array's.
        if value.ndim < 2 or not (
            isinstance(key, np.ndarray) and key.dtype.kind == "b" and key.ndim == a.ndim
        ):
            subscript = unmasked(a.shape, key)
    if subscript is None:
        plainly(_operator.setitem, a, key, value)
    else:
        a[subscript] = value


def _store_in_order(a, mask, value):
    size = value.shape[0]
    if size != 1:
        # Otherwise NumPy raises its error.
        mask = require(mask, np.count_nonzero(mask) == size)
    if size > 0:
        order = np.maximum(np.cumsum(mask) - 1, 0)
        value = value[0] if size == 1 else np.take(value, order).reshape(a.shape)
        a[...] = np.where(mask, value, a)
    else:
        a[...] = np.where(mask, np.zeros((), a.dtype), a)


def unmasked(shape, key):
    """The subscript with arrays of positions in place of masks; None where a mask does not fit the shape."""
    parts = key if isinstance(key, tuple) else (key,)
    consumed = sum([_dims_of(part) for part in parts])
    return _unmasked(shape, parts, 0, len(shape) - consumed) if consumed <= len(shape) else None


def _unmasked(shape, parts, dim, rest):
    # By recursion: a segment ends at every mask, and loops over parts would have to go on behind it.
    if len(parts) == 0:
        return ()
    part, positions = parts[0], (parts[0],)
    if _is_mask(part):
        if part.shape != shape[dim : dim + part.ndim]:
            return None
        positions = np.nonzero(part)
    others = _unmasked(shape, parts[1:], dim + (rest if part is Ellipsis else _dims_of(part)), rest)
    return None if others is None else positions + others


def _dims_of(part):
    """How many dimensions a part of a subscript is for; an ellipsis takes what is left."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if _is_mask(part) else 1


def _is_mask(part):
    return isinstance(part, np.ndarray) and part.dtype == np.bool_ and part.ndim > 0


@replaces("numpy.nonzero", "nd.nonzero")
def nonzero(a):
    a = np.asarray(a)
    if a.ndim == 0:
        return plainly(np.nonzero, a)
    positions = sized(_positions, a if a.dtype == np.bool_ else a != 0)
    return tuple([positions[:, dim] for dim in range(a.ndim)])


@replaces("numpy.where")
def where(condition, x=None, y=None, /):
    return np.nonzero(condition) if x is None and y is None else plainly(np.where, condition, x, y)


@replaces("numpy.flatnonzero")
def flatnonzero(a):
    return np.nonzero(np.ravel(a))[0]


@replaces("numpy.argwhere")
def argwhere(a):
    a = np.asarray(a)
    if a.ndim == 0:
        return plainly(np.argwhere, a)
    return np.asfortranarray(sized(_positions, a if a.dtype == np.bool_ else a != 0))


@replaces("numpy.extract")
def extract(condition, arr):
    return np.take(np.ravel(arr), np.flatnonzero(condition))


@replaces("numpy.compress")
def compress(condition, a, axis=None, out=None):
    if isinstance(condition, list | tuple) and out is None:
        return np.take(a, [i for i, chosen in enumerate(condition) if chosen], axis=axis)
    condition, a = np.asarray(condition), np.asarray(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    place = axis_of(axis, a.ndim)
    if condition.ndim != 1 or place is None or out is not None:
        return plainly(np.compress, condition, a, axis, out)
    return np.take(a, np.flatnonzero(condition), axis=place)


@replaces("nd.compress")
def compress_method(a, condition, axis=None, out=None):
    return np.compress(condition, a, axis, out)


@replaces("numpy.trim_zeros")
def trim_zeros(filt, trim="fb", axis=None):
    if (
        not isinstance(filt, np.ndarray)
        or filt.ndim != 1
        or axis is not None
        or trim not in ("fb", "bf", "f", "b")
    ):
        return plainly(np.trim_zeros, filt, trim, axis)
    first, last = sized(_extent, filt != 0)
    return filt[first if "f" in trim else None : last if "b" in trim else None]


def _extent(mask):
    """First and one past the last position at which the mask holds; 0, 0 where there is none."""
    positions = _positions(mask)
    return (int(positions[0, 0]), int(positions[-1, 0]) + 1) if len(positions) else (0, 0)


def _counts(x, weights, minlength):
    operands = (x,) if weights is None else (x, weights)
    try:
        return operator("bincount", *operands, minlength=minlength)
    except ValueError:
        return np.bincount(x, weights, minlength)  # NumPy's error


@replaces("numpy.bincount")
def bincount(x, /, weights=None, minlength=0):
    x = np.asarray(x)
    usual = x.ndim == 1 and (x.dtype.kind in "bi" or x.dtype.char in "BHI")
    if weights is not None:
        weights = np.asarray(weights)
        usual = usual and weights.shape == x.shape and weights.dtype.kind in "biuf"
    if not usual or not isinstance(minlength, int) or minlength < 0:
        return plainly(np.bincount, x, weights, minlength)
    return sized(_counts, x, weights, minlength)


@replaces("numpy.piecewise")
def piecewise(x, condlist, funclist, *args, **kw):
    given, x = x, np.asarray(x)
    conditions = condlist if isinstance(condlist, list | tuple) else [condlist]
    usual = x.ndim > 0 and x.size > 0 and len(funclist) in (len(conditions), len(conditions) + 1)
    for condition in conditions:
        usual = usual and isinstance(condition, np.ndarray) and condition.dtype == np.bool_
        usual = usual and condition.shape == x.shape
    if not usual:
        return plainly(np.piecewise, given, condlist, funclist, *args, **kw)
    if len(funclist) > len(conditions):
        covered = conditions[0]
        for condition in conditions[1:]:
            covered = covered | condition
        conditions = [*conditions, ~covered]
    return _pieces(x, np.zeros_like(x), conditions, funclist, args, kw)


def _pieces(x, y, conditions, functions, args, kw):
    # By recursion, as _unmasked.
    if len(conditions) == 0:
        return y
    mask, function = conditions[0], functions[0]
    y[mask] = function(x[mask], *args, **kw) if callable(function) else function
    return _pieces(x, y, conditions[1:], functions[1:], args, kw)
