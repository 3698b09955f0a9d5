"""ndarray.flat: the elements in C order, read and assigned to; attributes of arrays that are assigned to."""

import numpy as np

from ._core import operator, plainly, replaces, require


def _of_flat(a, name, *args):
    return getattr(a.flat, name)(*args)


def _places(a, key):
    """The positions that the subscript selects; None for one that NumPy refuses, or that is no usual one."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, bool | np.bool_ | tuple):
        return None
    if isinstance(key, list) and any([isinstance(one, bool) for one in key]):
        return None
    if isinstance(key, int | np.integer):
        return key if -a.size <= key < a.size else None
    if isinstance(key, slice):
        return np.arange(a.size)[key]
    if key is Ellipsis:
        return np.arange(a.size)
    key = np.asarray(key)
    if key.dtype == np.bool_:
        return np.nonzero(key)[0] if key.shape == (a.size,) else None
    if key.dtype.kind not in "iu" or key.ndim != 1:
        return None
    return require(key, (key >= -a.size) & (key < a.size))


@replaces("nd.flat.__getitem__")
def read_flat(a, key):
    if isinstance(key, slice):
        return a.reshape(-1)[key].copy()
    places = _places(a, key)
    return plainly(_of_flat, a, "__getitem__", key) if places is None else a.reshape(-1)[places]


@replaces("nd.flat.__setitem__")
def write_flat(a, key, value):
    places = _places(a, key)
    if places is None or np.size(value) == 0:
        plainly(_of_flat, a, "__setitem__", key, value)
    elif not isinstance(places, np.ndarray) or places.size > 0:
        np.put(a, places, value)


@replaces("nd.set flat")
def set_flat(a, value):
    write_flat(a, Ellipsis, value)


@replaces("nd.set real")
def set_real(a, value):
    if a.dtype.kind == "c":
        value = np.asarray(value)
        _set_parts(a, "real", value, value, operator("imag", a))
    else:
        a[...] = value


@replaces("nd.set imag")
def set_imag(a, value):
    value = np.asarray(value)
    _set_parts(a, "imag", value, operator("real", a), value) if a.dtype.kind == "c" else plainly(
        setattr, a, "imag", value
    )


def _set_parts(a, name, value, real, imag):
    if value.dtype.kind not in "biuf":
        plainly(setattr, a, name, value)
    else:
        dtype, shape = np.dtype(np.float32 if a.dtype == np.complex64 else np.float64), a.shape
        a[...] = operator(
            "complex",
            np.broadcast_to(np.asarray(real).astype(dtype), shape),
            np.broadcast_to(np.asarray(imag).astype(dtype), shape),
        )
