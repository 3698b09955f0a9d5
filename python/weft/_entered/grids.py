"""NumPy's objects that make arrays from subscripts: r_, c_, mgrid, ogrid, s_; and ix_."""

import numpy as np

from ._core import is_number, plainly, replaces


@replaces("numpy.s_", "numpy.index_exp")
def subscript(key):
    return key


@replaces("numpy.index_exp")
def subscript_tuple(key):
    return key if isinstance(key, tuple) else (key,)


@replaces("numpy.mgrid")
def mgrid(key):
    if not isinstance(key, tuple):
        return _range_of(key)
    grids = np.meshgrid(*[_range_of(one) for one in key], indexing="ij")
    return np.stack(grids)


@replaces("numpy.ogrid")
def ogrid(key):
    if not isinstance(key, tuple):
        return _range_of(key)
    return np.meshgrid(*[_range_of(one) for one in key], indexing="ij", sparse=True)


def _range_of(key):
    step = 1 if key.step is None else key.step
    start = 0 if key.start is None else key.start
    if isinstance(step, complex):
        return np.linspace(start, key.stop, int(abs(step)))
    return np.arange(start, key.stop, step)


@replaces("numpy.r_")
def r_(key):
    parts = key if isinstance(key, tuple) else (key,)
    arrays, kinds = [], []
    for part in parts:
        if isinstance(part, str) or (isinstance(part, np.ndarray) and part.ndim != 1):
            return plainly(np.r_.__getitem__, key)
        if isinstance(part, slice):
            part = _range_of(part)
        kinds.append(part if is_number(part) else np.asarray(part))
        arrays.append(np.atleast_1d(part))
    dtype = np.result_type(*kinds)
    return np.concatenate([array.astype(dtype) for array in arrays])


@replaces("numpy.c_")
def c_(key):
    parts = key if isinstance(key, tuple) else (key,)
    arrays = []
    for part in parts:
        if isinstance(part, str | slice):
            return plainly(np.c_.__getitem__, key)
        part = np.asarray(part)
        arrays.append(part.reshape(-1, 1) if part.ndim < 2 else part)
    return np.concatenate(arrays, axis=-1)


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
