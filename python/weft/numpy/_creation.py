"""New arrays."""

import numpy

import weft

from ._convert import array, from_array, ndarray, numpy_dtype, on_cpu, shape_of, to_dtype


def asarray(obj, /, dtype=None, *, device=None, copy=None):
    """An array of the object: on its memory where that is possible and copy is not True."""
    on_cpu(device)
    if isinstance(obj, numpy.ndarray) and not copy:
        wanted = obj.dtype if dtype is None else numpy_dtype(dtype)
        shared = (
            obj.dtype == wanted
            and obj.flags.writeable
            and all(s % max(obj.itemsize, 1) == 0 for s in obj.strides)
        )
        result = from_array(obj) if shared else array(obj, dtype)
    else:
        shared = isinstance(obj, weft.Tensor) and (dtype is None or to_dtype(dtype) == obj.dtype)
        result = array(obj, dtype)
        if shared and copy:
            return result.clone()
    if copy is False and not shared:
        raise ValueError("asarray: a copy is needed, and copy=False")
    return result


def _full(shape, value, dtype, default, device):
    on_cpu(device)
    dtype = to_dtype(dtype) or default
    if type(value) is int and not -(2**63) <= value < 2**63:
        return from_array(numpy.full(shape_of(shape), value, numpy_dtype(dtype)))
    return ndarray(weft.full(shape_of(shape), value, dtype=dtype))


def empty(shape, *, dtype=None, device=None):
    return _full(shape, 0, dtype, weft.float64, device)


def zeros(shape, *, dtype=None, device=None):
    return _full(shape, 0, dtype, weft.float64, device)


def ones(shape, *, dtype=None, device=None):
    return _full(shape, 1, dtype, weft.float64, device)


def full(shape, fill_value, *, dtype=None, device=None):
    return _full(shape, fill_value, dtype, array(fill_value).dtype, device)


def empty_like(x, /, *, dtype=None, device=None):
    return _full(x.shape, 0, dtype, x.dtype, device)


def zeros_like(x, /, *, dtype=None, device=None):
    return _full(x.shape, 0, dtype, x.dtype, device)


def ones_like(x, /, *, dtype=None, device=None):
    return _full(x.shape, 1, dtype, x.dtype, device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    return _full(x.shape, fill_value, dtype, x.dtype, device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    on_cpu(device)
    start, stop = (0, start) if stop is None else (start, stop)
    return from_array(numpy.arange(start, stop, step, dtype=None if dtype is None else numpy_dtype(dtype)))


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    on_cpu(device)
    dtype = None if dtype is None else numpy_dtype(dtype)
    return from_array(numpy.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    on_cpu(device)
    return from_array(numpy.eye(n_rows, n_cols, k, numpy_dtype(dtype or weft.float64)))


def from_dlpack(x, /, *, device=None, copy=None):
    on_cpu(device)
    result = ndarray(weft.from_dlpack(x))
    return result.clone() if copy else result


def meshgrid(*arrays, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: expected indexing to be 'xy' or 'ij', got {indexing!r}")
    vectors = [array(one).reshape([-1]) for one in arrays]
    place = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        place[:2] = [1, 0]
    shape = [vectors[place.index(d)].shape[0] for d in range(len(vectors))]
    alone = [[size if d == at else 1 for d, size in enumerate(shape)] for at in place]
    return tuple(x.reshape(sizes).expand(shape).clone() for x, sizes in zip(vectors, alone))


def tril(x, /, *, k=0):
    return weft.tril(array(x), k)


def triu(x, /, *, k=0):
    return weft.triu(array(x), k)
