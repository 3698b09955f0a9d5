"""NumPy's objects that make arrays from subscripts: r_, c_, mgrid, ogrid, s_; and ix_."""

import numpy as np

from ._core import fits, is_number, plainly, replaces


@replaces("numpy.s_", "numpy.index_exp")
def subscript(key):
    return key


@replaces("numpy.index_exp")
def subscript_tuple(key):
    return key if isinstance(key, tuple) else (key,)


@replaces("numpy.mgrid")
def mgrid(key):
    if not _are_usual(key):
        return plainly(np.mgrid.__getitem__, key)
    if not isinstance(key, tuple):
        return _range_of(key)
    grids = np.meshgrid(*[_range_of(one) for one in key], indexing="ij")
    return np.stack(grids)


@replaces("numpy.ogrid")
def ogrid(key):
    if not _are_usual(key):
        return plainly(np.ogrid.__getitem__, key)
    if not isinstance(key, tuple):
        return _range_of(key)
    return np.meshgrid(*[_range_of(one) for one in key], indexing="ij", sparse=True)


def _range_of(key):
    step = 1 if key.step is None else key.step
    start = 0 if key.start is None else key.start
    if isinstance(step, complex):
        return np.linspace(start, key.stop, int(abs(step)))
    return np.arange(start, key.stop, step)


def _are_usual(key):
    """Of Python's numbers: NumPy's have a say in the dtype, and complex ones of NumPy's count as Python's do."""
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, slice):
            for bound in (part.start, part.stop, part.step):
                if not (bound is None or is_number(bound) or type(bound) is complex):
                    return False
    return True


@replaces("numpy.r_")
def r_(key):
    if not _are_usual(key):
        return plainly(np.r_.__getitem__, key)
    parts = key if isinstance(key, tuple) else (key,)
    axis, ndmin, first = 0, 1, -1
    if isinstance(parts[0], str):
        # "axis,ndmin,place of the first dimension"; "r" and "c" give matrices.
        numbers = parts[0].split(",")
        if len(numbers) > 3 or not all([number.strip().lstrip("-").isdigit() for number in numbers]):
            return plainly(np.r_.__getitem__, key)
        axis = int(numbers[0])
        ndmin = int(numbers[1]) if len(numbers) > 1 else 1
        first = int(numbers[2]) if len(numbers) > 2 else -1
        parts = parts[1:]
    joined = _joined(parts, axis, ndmin, first)
    return plainly(np.r_.__getitem__, key) if joined is None else joined


def _joined(parts, axis, ndmin, first):
    """The parts as arrays of at least `ndmin` dimensions, one behind the other; None where NumPy has to look at them."""
    arrays, kinds = [], []
    for part in parts:
        if isinstance(part, str):
            return None
        if isinstance(part, slice):
            part = _range_of(part)
            given, is_range = part.ndim, True
        else:
            given, is_range = np.ndim(part), False
        kinds.append(part if is_number(part) else np.asarray(part))
        arrays.append(_with_dimensions(np.asarray(part), given, ndmin, first, is_range))
    for array in arrays:
        if array.ndim != arrays[0].ndim:
            return None
    dtype = np.result_type(*kinds)
    if not all([fits(kind, dtype) for kind in kinds if is_number(kind)]):
        return None
    return np.concatenate([array.astype(dtype) for array in arrays], axis=axis)


def _with_dimensions(array, given, ndmin, first, is_range):
    missing = ndmin - given
    if missing <= 0:
        return array
    place = (
        missing
        if first == -1
        else first
        if first >= 0
        else first + ndmin
        if is_range
        else first + missing + 1
    )
    return array.reshape((1,) * place + array.shape + (1,) * (missing - place))


@replaces("numpy.c_")
def c_(key):
    if not _are_usual(key):
        return plainly(np.c_.__getitem__, key)
    parts = key if isinstance(key, tuple) else (key,)
    joined = _joined(parts, -1, 2, 0)
    return plainly(np.c_.__getitem__, key) if joined is None else joined


@replaces("numpy.ix_")
def ix_(*args):
    grids = _open_grid(args, len(args), 0)
    return plainly(np.ix_, *args) if grids is None else grids


def _open_grid(parts, ndim, place):
    # By recursion: a segment ends at every mask.
    if len(parts) == 0:
        return ()
    part = parts[0]
    if isinstance(part, list | tuple):
        if len(part) > 0 and isinstance(part[0], bool):
            part = [i for i, chosen in enumerate(part) if chosen]
        part = np.asarray(part) if len(part) > 0 else np.zeros(0, np.intp)
    if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iub":
        return None
    if part.dtype == np.bool_:
        part = np.nonzero(part)[0]
    shape = (1,) * place + (part.shape[0],) + (1,) * (ndim - place - 1)
    others = _open_grid(parts[1:], ndim, place + 1)
    return None if others is None else (part.reshape(shape),) + others
