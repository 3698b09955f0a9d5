"""New arrays."""

import numpy

import weft

from ._convert import from_array, numpy_dtype, on_cpu, tensor, to_dtype


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    on_cpu(device)
    result = tensor(obj, dtype)
    if copy and result is obj:
        return result.clone()
    if copy is False and result is not obj:
        raise ValueError("asarray: a copy is needed, and copy=False")
    return result


def _shape(shape):
    return [shape] if isinstance(shape, int) else list(shape)


def _full(shape, value, dtype, default, device):
    on_cpu(device)
    return weft.full(_shape(shape), value, dtype=to_dtype(dtype) or default)


def empty(shape, *, dtype=None, device=None):
    return _full(shape, 0, dtype, weft.float64, device)


def zeros(shape, *, dtype=None, device=None):
    return _full(shape, 0, dtype, weft.float64, device)


def ones(shape, *, dtype=None, device=None):
    return _full(shape, 1, dtype, weft.float64, device)


def full(shape, fill_value, *, dtype=None, device=None):
    return _full(shape, fill_value, dtype, tensor(fill_value).dtype, device)


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
    result = weft.from_dlpack(x)
    return result.clone() if copy else result


def meshgrid(*arrays, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: expected indexing to be 'xy' or 'ij', got {indexing!r}")
    vectors = [tensor(array).reshape([-1]) for array in arrays]
    place = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        place[:2] = [1, 0]
    shape = [vectors[place.index(d)].shape[0] for d in range(len(vectors))]
    alone = [[size if d == at else 1 for d, size in enumerate(shape)] for at in place]
    return tuple(x.reshape(sizes).expand(shape).clone() for x, sizes in zip(vectors, alone))


def tril(x, /, *, k=0):
    return weft.tril(x, k)


def triu(x, /, *, k=0):
    return weft.triu(x, k)
