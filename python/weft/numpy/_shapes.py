"""Shapes, joining, picking, sorting and sets."""

import collections

import numpy

import weft

from ._convert import array, axes_of, from_array, promoted, shape_of, to_array


def reshape(x, /, shape, *, copy=None):
    x = array(x)
    result = x.reshape(shape_of(shape))
    if copy is False and not numpy.may_share_memory(to_array(result), to_array(x)) and x.numel():
        raise ValueError("reshape: a copy is needed, and copy=False")
    return result.clone() if copy else result


def broadcast_to(x, /, shape):
    return weft.broadcast_to(array(x), shape_of(shape))


def broadcast_arrays(*arrays):
    arrays = [array(one) for one in arrays]
    shape = list(numpy.broadcast_shapes(*(tuple(one.shape) for one in arrays)))
    return [weft.broadcast_to(one, shape) for one in arrays]


def concat(arrays, /, axis=0):
    arrays = promoted(*arrays)
    if axis is None:
        arrays, axis = [one.reshape([-1]) for one in arrays], 0
    return weft.concatenate(arrays, axis)


def concatenate(arrays, axis=0):
    return concat(arrays, axis=axis)


def stack(arrays, /, axis=0):
    return weft.stack(promoted(*arrays), axis)


def unstack(x, /, *, axis=0):
    return tuple(weft.unbind(array(x), axis))


def expand_dims(x, /, axis=0):
    x = array(x)
    for one in sorted(axes_of(axis, x.ndim + (len(axis) if isinstance(axis, list | tuple) else 1))):
        x = weft.unsqueeze(x, one)
    return x


def squeeze(x, /, axis):
    x = array(x)
    axes = axes_of(axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: expected axis {one} to have size 1, got shape {tuple(x.shape)}")
    return x.reshape([size for place, size in enumerate(x.shape) if place not in axes])


def flip(x, /, axis=None):
    x = array(x)
    axes = axes_of(axis, x.ndim)
    return weft.flip(x, axes) if axes else x.clone()


def roll(x, /, shift, axis=None):
    x = array(x)
    if axis is None:
        return weft.roll(x.reshape([-1]), [sum(shape_of(shift))]).reshape(list(x.shape))
    shifts, axes = shape_of(shift), [axes_of(one, x.ndim)[0] for one in shape_of(axis)]
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    return weft.roll(x, shifts, axes)


def tile(x, repetitions, /):
    return weft.tile(array(x), shape_of(repetitions))


def repeat(x, repeats, /, axis=None):
    x = array(x)
    if axis is None:
        x, axis = x.reshape([-1]), 0
    if not isinstance(repeats, int):
        repeats = array(repeats)
        if repeats.numel() == 1:
            repeats = int(repeats.reshape([]))
    return weft.repeat_interleave(x, repeats, axis)


def moveaxis(x, source, destination, /):
    return weft.moveaxis(array(x), source, destination)


def permute_dims(x, /, axes):
    return array(x).permute(list(axes))


def transpose(x, axes=None):
    x = array(x)
    return x.permute(list(axes) if axes is not None else list(range(x.ndim))[::-1])


def take(x, indices, /, axis=None):
    x, indices = array(x), array(indices).to(weft.int64)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: expected axis= for an array of {x.ndim} dimensions")
        axis = 0
    (axis,) = axes_of(axis, x.ndim)
    return x[(slice(None),) * axis + (indices,)]


def take_along_axis(x, indices, /, axis=-1):
    x, indices = array(x), array(indices).to(weft.int64)
    (axis,) = axes_of(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(
            f"take_along_axis: expected as many dimensions of x and indices, got {tuple(x.shape)} and {tuple(indices.shape)}"
        )
    return weft.take_along_dim(x, weft.where(indices < 0, indices + x.shape[axis], indices), axis)


def where(condition, x1=None, x2=None, /):
    if x1 is None and x2 is None:
        return nonzero(condition)
    return weft.where(array(condition).to(weft.bool), *promoted(x1, x2))


def nonzero(x, /):
    x = array(x)
    if x.ndim == 0:
        raise ValueError("nonzero: expected at least one dimension, got a 0-d array")
    return tuple(weft.unbind(weft.nonzero(x), 1))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: expected side to be 'left' or 'right', got {side!r}")
    if sorter is not None:
        x1 = take(x1, sorter)
    return weft.searchsorted(*promoted(x1, x2), right=side == "right")


def sort(x, /, axis=-1, *, descending=False, stable=True):
    return weft.sort(array(x), axis, descending)[0]


def argsort(x, /, axis=-1, *, descending=False, stable=True):
    return weft.argsort(array(x), axis, descending)


UniqueAll = collections.namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = collections.namedtuple("UniqueCounts", "values counts")
UniqueInverse = collections.namedtuple("UniqueInverse", "values inverse_indices")


def unique_all(x, /):
    x = array(x)
    values, indices, inverse, counts = numpy.unique(
        to_array(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return UniqueAll(*(from_array(one) for one in (values, indices, inverse.reshape(x.shape), counts)))


def unique_counts(x, /):
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    return unique_all(x).values
