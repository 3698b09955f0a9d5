"""Python functions that capture enters in place of functions written in C or behind NumPy's dispatcher.

They cover what graphs can hold; everything else goes through plainly(), where the graph breaks and NumPy's
own function runs, which also raises NumPy's own errors.
"""

import numpy as np


def plainly(function, *args, **kwargs):
    return function(*args, **kwargs)


def reduce(function, iterable, *initial):
    iterator = iter(iterable)
    if initial:
        (value,) = initial
    else:
        value = next(iterator)
    for element in iterator:
        value = function(value, element)
    return value


def flipud(m):
    m = np.asarray(m)
    return m[::-1] if m.ndim >= 1 else plainly(np.flipud, m)


def fliplr(m):
    m = np.asarray(m)
    return m[:, ::-1] if m.ndim >= 2 else plainly(np.fliplr, m)


def rot90(m, k=1, axes=(0, 1)):
    m = np.asarray(m)
    if tuple(axes) != (0, 1) or m.ndim != 2 or k % 4 == 0:
        return plainly(np.rot90, m, k, axes)
    if k % 4 == 1:
        return m[:, ::-1].T
    return m[::-1, ::-1] if k % 4 == 2 else m.T[:, ::-1]


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).all().item()


def array_equal(a1, a2, equal_nan=False):
    if equal_nan:
        return plainly(np.array_equal, a1, a2, equal_nan=equal_nan)
    a1, a2 = np.asarray(a1), np.asarray(a2)
    if a1.shape != a2.shape:
        return False
    return (a1 == a2).all().item()


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if not copy or len(xi) < 2 or indexing not in ("xy", "ij"):
        return plainly(np.meshgrid, *xi, copy=copy, sparse=sparse, indexing=indexing)
    vectors = [np.asarray(x).reshape(-1) for x in xi]
    places = list(range(len(xi)))
    if indexing == "xy":
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
    if isinstance(sections, (list, tuple)):
        return _pieces(ary, [0] + list(sections) + [size], axis % ary.ndim)
    if not isinstance(sections, int) or sections < 1 or (even and size % sections):
        return plainly(function, ary, sections, axis)
    each, longer = size // sections, size % sections
    bounds = [0]
    for k in range(sections):
        bounds.append(bounds[-1] + each + (1 if k < longer else 0))
    return _pieces(ary, bounds, axis % ary.ndim)


def split(ary, indices_or_sections, axis=0):
    return _divided(np.split, ary, indices_or_sections, axis, True)


def array_split(ary, indices_or_sections, axis=0):
    return _divided(np.array_split, ary, indices_or_sections, axis, False)


def hsplit(ary, indices_or_sections):
    if np.ndim(ary) == 0:
        return plainly(np.hsplit, ary, indices_or_sections)
    return _divided(np.split, ary, indices_or_sections, 1 if np.ndim(ary) > 1 else 0, True)


def vsplit(ary, indices_or_sections):
    if np.ndim(ary) < 2:
        return plainly(np.vsplit, ary, indices_or_sections)
    return _divided(np.split, ary, indices_or_sections, 0, True)


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    if weights is not None or returned:
        return plainly(np.average, a, axis, weights, returned, keepdims=keepdims)
    return np.asarray(a).mean(axis=axis, keepdims=keepdims)


def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    if dtype is not None or out is not None:
        return plainly(np.nansum, a, axis, dtype, out, keepdims)
    a = np.asarray(a)
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), 0, a)
    return np.sum(a, axis=axis, keepdims=keepdims)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    if dtype is not None or out is not None:
        return plainly(np.nanprod, a, axis, dtype, out, keepdims)
    a = np.asarray(a)
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), 1, a)
    return np.prod(a, axis=axis, keepdims=keepdims)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    a = np.asarray(a)
    if dtype is not None or out is not None or a.dtype.char not in "fdlqi":
        return plainly(np.nanmean, a, axis, dtype, out, keepdims)
    if a.dtype.kind != "f":
        return np.mean(a, axis=axis, keepdims=keepdims)
    missing = np.isnan(a)
    count = np.sum(~missing, axis=axis, keepdims=keepdims)
    total = np.sum(np.where(missing, 0, a), axis=axis, keepdims=keepdims)
    return (total / count).astype(a.dtype)


def nanmax(a, axis=None, out=None, keepdims=False):
    a = np.asarray(a)
    if out is not None or a.dtype.kind not in "fiub":
        return plainly(np.nanmax, a, axis, out, keepdims)
    if a.dtype.kind != "f":
        return np.max(a, axis=axis, keepdims=keepdims)
    missing = np.isnan(a)
    largest = np.where(missing, -np.inf, a).max(axis=axis, keepdims=keepdims)
    return np.where(missing.all(axis=axis, keepdims=keepdims), np.nan, largest)[()]


def nanmin(a, axis=None, out=None, keepdims=False):
    a = np.asarray(a)
    if out is not None or a.dtype.kind not in "fiub":
        return plainly(np.nanmin, a, axis, out, keepdims)
    if a.dtype.kind != "f":
        return np.min(a, axis=axis, keepdims=keepdims)
    missing = np.isnan(a)
    smallest = np.where(missing, np.inf, a).min(axis=axis, keepdims=keepdims)
    return np.where(missing.all(axis=axis, keepdims=keepdims), np.nan, smallest)[()]


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    a, b = np.asarray(a), np.asarray(b)
    usual = axisa == -1 and axisb == -1 and axisc == -1 and axis is None and a.ndim > 0 and b.ndim > 0
    if not usual or a.shape[-1] != 3 or b.shape[-1] != 3:
        return plainly(np.cross, a, b, axisa, axisb, axisc, axis)
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def polyval(p, x):
    if not isinstance(x, (np.ndarray, int, float)):
        return plainly(np.polyval, p, x)
    value = np.zeros_like(x)
    for coefficient in np.asarray(p):
        value = value * x + coefficient
    return value


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


def select(condlist, choicelist, default=0):
    usual = len(condlist) == len(choicelist) and len(condlist) > 0
    for condition, choice in zip(condlist, choicelist):
        usual = usual and isinstance(condition, np.ndarray) and isinstance(choice, np.ndarray)
        usual = usual and condition.dtype == np.bool_ and choice.dtype == choicelist[0].dtype
    if not usual or not isinstance(default, (int, float)):
        return plainly(np.select, condlist, choicelist, default)
    result = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1]):
        result = np.where(condition, choice, result)
    return result


REPLACEMENTS = {
    "functools.reduce": reduce,
    "numpy.flipud": flipud,
    "numpy.fliplr": fliplr,
    "numpy.rot90": rot90,
    "numpy.allclose": allclose,
    "numpy.array_equal": array_equal,
    "numpy.meshgrid": meshgrid,
    "numpy.split": split,
    "numpy.array_split": array_split,
    "numpy.hsplit": hsplit,
    "numpy.vsplit": vsplit,
    "numpy.average": average,
    "numpy.nansum": nansum,
    "numpy.nanprod": nanprod,
    "numpy.nanmean": nanmean,
    "numpy.nanmax": nanmax,
    "numpy.nanmin": nanmin,
    "numpy.cross": cross,
    "numpy.polyval": polyval,
    "numpy.vander": vander,
    "numpy.select": select,
}
