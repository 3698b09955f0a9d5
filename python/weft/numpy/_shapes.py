"""Shapes, joining, picking, sorting and sets."""

import collections

import numpy

import weft

from ._convert import axes_of, promoted, tensor, to_array


def reshape(x, /, shape, *, copy=None):
    result = x.reshape([shape] if isinstance(shape, int) else list(shape))
    if copy is False and not numpy.may_share_memory(to_array(result), to_array(x)) and x.numel():
        raise ValueError("reshape: a copy is needed, and copy=False")
    return result.clone() if copy else result


def broadcast_to(x, /, shape):
    return weft.broadcast_to(tensor(x), list(shape))


def broadcast_arrays(*arrays):
    shape = list(numpy.broadcast_shapes(*(tuple(array.shape) for array in arrays)))
    return [weft.broadcast_to(array, shape) for array in arrays]


def concat(arrays, /, *, axis=0):
    arrays = promoted(*arrays)
    if axis is None:
        arrays, axis = [array.reshape([-1]) for array in arrays], 0
    return weft.concatenate(arrays, axis)


def concatenate(arrays, axis=0):
    return concat(arrays, axis=axis)


def stack(arrays, /, *, axis=0):
    return weft.stack(promoted(*arrays), axis)


def unstack(x, /, *, axis=0):
    return tuple(weft.unbind(x, axis))


def expand_dims(x, /, *, axis=0):
    axes = axes_of(axis, x.ndim + (1 if isinstance(axis, int) else len(axis)))
    for one in sorted(axes):
        x = weft.unsqueeze(x, one)
    return x


def squeeze(x, /, axis):
    axes = axes_of(axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: expected axis {one} to have size 1, got shape {tuple(x.shape)}")
    return x.reshape([size for place, size in enumerate(x.shape) if place not in axes])


def flip(x, /, *, axis=None):
    return weft.flip(x, axes_of(axis, x.ndim))


def roll(x, /, shift, *, axis=None):
    shifts = [shift] if isinstance(shift, int) else list(shift)
    if axis is None:
        return weft.roll(x, shifts)
    return weft.roll(x, shifts, [axis] if isinstance(axis, int) else list(axis))


def tile(x, repetitions, /):
    return weft.tile(x, list(repetitions))


def repeat(x, repeats, /, *, axis=None):
    if axis is None:
        x, axis = x.reshape([-1]), 0
    return weft.repeat_interleave(x, repeats, axis)


def moveaxis(x, source, destination, /):
    return weft.moveaxis(x, source, destination)


def permute_dims(x, /, axes):
    return x.permute(list(axes))


def transpose(x, axes=None):
    return x.permute(list(axes) if axes is not None else list(range(x.ndim))[::-1])


def take(x, indices, /, *, axis=None):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: expected axis= for an array of {x.ndim} dimensions")
        axis = 0
    return weft.index_select(x, axis, tensor(indices).to(weft.int64))


def take_along_axis(x, indices, /, *, axis=-1):
    return weft.take_along_dim(x, indices.to(weft.int64), axis)


def where(condition, x1=None, x2=None, /):
    if x1 is None and x2 is None:
        return nonzero(condition)
    return weft.where(tensor(condition).to(weft.bool), *promoted(x1, x2))


def nonzero(x, /):
    positions = weft.nonzero(x)
    return tuple(weft.unbind(positions, 1))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: expected side to be 'left' or 'right', got {side!r}")
    if sorter is not None:
        x1 = take(x1, sorter)
    return weft.searchsorted(*promoted(x1, x2), right=side == "right")


def sort(x, /, *, axis=-1, descending=False, stable=True):
    return weft.sort(x, axis, descending)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    return weft.argsort(x, axis, descending)


UniqueAll = collections.namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = collections.namedtuple("UniqueCounts", "values counts")
UniqueInverse = collections.namedtuple("UniqueInverse", "values inverse_indices")


def _unique(x):
    values, indices, inverse, counts = numpy.unique(
        to_array(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return [
        weft.from_numpy(numpy.ascontiguousarray(a))
        for a in (values, indices, inverse.reshape(x.shape), counts)
    ]


def unique_all(x, /):
    return UniqueAll(*_unique(x))


def unique_counts(x, /):
    values, _, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    values, _, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x, /):
    return _unique(x)[0]
