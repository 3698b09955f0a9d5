"""Distinct elements, and arrays as sets."""

import numpy as np

from ._core import axis_of, operator, replaces, sized

_UniqueAll = type(np.unique_all(np.zeros(1)))
_UniqueCounts = type(np.unique_counts(np.zeros(1)))
_UniqueInverse = type(np.unique_inverse(np.zeros(1)))


def _distinct(a, index, inverse, counts):
    results = operator("unique", a, return_index=index, return_inverse=inverse, return_counts=counts)
    return results if index or inverse or counts else results[0]


def _numbered(starts, order, index, inverse, counts):
    """What return_index, return_inverse and return_counts ask for: `starts` of equal ones in this order of the elements."""
    first = np.nonzero(starts)[0]
    results = [order[first]] if index else []
    if inverse:
        results.append((np.cumsum(starts) - 1)[np.argsort(order)])
    if counts:
        results.append(np.diff(np.concatenate([first, np.array([starts.shape[0]])])))
    return results


def _distinct_rows(ar, axis, index, inverse, counts):
    parts = np.moveaxis(ar, axis, 0)
    rows = parts.reshape(parts.shape[0], -1)
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    starts = np.concatenate([np.ones(1, np.bool_), (rows[1:] != rows[:-1]).any(axis=1)])
    distinct = rows[starts]
    distinct = np.moveaxis(distinct.reshape((distinct.shape[0],) + parts.shape[1:]), 0, axis)
    others = _numbered(starts, order, index, inverse, counts)
    return (distinct, *others) if others else distinct


def _distinct_apart(values, shape, index, inverse, counts):
    """Each NaN is one of its own."""
    order = np.argsort(values, kind="stable")
    values = values[order]
    starts = np.concatenate([np.ones(1, np.bool_), values[1:] != values[:-1]])
    others = _numbered(starts, order, index, inverse, counts)
    if inverse:
        others[int(index)] = others[int(index)].reshape(shape)
    return (values[starts], *others) if others else values[starts]


@replaces("numpy.unique")
def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
):
    ar = np.asarray(ar)
    along = None if axis is None or ar.ndim == 0 else axis_of(axis, ar.ndim)
    if along is not None and ar.ndim > 1 and ar.size > 0 and ar.dtype.kind in "biuf" and sorted:
        return _distinct_rows(ar, along, bool(return_index), bool(return_inverse), bool(return_counts))
    usual = (axis is None or along == 0) and ar.ndim == 1 or axis is None and ar.ndim > 0
    usual = usual and sorted and ar.dtype.kind in "biuf"
    if usual and not equal_nan and ar.dtype.kind == "f" and ar.size > 0:
        return _distinct_apart(
            np.ravel(ar), ar.shape, bool(return_index), bool(return_inverse), bool(return_counts)
        )
    if not usual:
        return sized(
            np.unique,
            ar,
            return_index,
            return_inverse,
            return_counts,
            axis,
            equal_nan=equal_nan,
            sorted=sorted,
        )
    return sized(_distinct, ar, bool(return_index), bool(return_inverse), bool(return_counts))


@replaces("numpy.union1d")
def union1d(ar1, ar2):
    return np.unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))


@replaces("numpy.intersect1d")
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    ar1, ar2 = np.asarray(ar1), np.asarray(ar2)
    if return_indices and not assume_unique:
        ar1, first = np.unique(ar1, return_index=True)
        ar2, second = np.unique(ar2, return_index=True)
    elif not assume_unique:
        ar1, ar2 = np.unique(ar1), np.unique(ar2)
    ar1, ar2 = np.ravel(ar1), np.ravel(ar2)
    both = np.concatenate([ar1, ar2])
    if not return_indices:
        both = np.sort(both)
        return both[:-1][both[1:] == both[:-1]]
    order = np.argsort(both, kind="stable")
    both = both[order]
    repeated = both[1:] == both[:-1]
    places, others = order[:-1][repeated], order[1:][repeated] - ar1.size
    if not assume_unique:
        places, others = first[places], second[others]
    return both[:-1][repeated], places, others


@replaces("numpy.setxor1d")
def setxor1d(ar1, ar2, assume_unique=False):
    if not assume_unique:
        ar1, ar2 = np.unique(ar1), np.unique(ar2)
    both = np.sort(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))
    if both.size == 0:
        return both
    end = np.ones(1, np.bool_)
    starts = np.concatenate([end, both[1:] != both[:-1], end])
    return both[starts[1:] & starts[:-1]]


@replaces("numpy.setdiff1d")
def setdiff1d(ar1, ar2, assume_unique=False):
    if assume_unique:
        ar1 = np.ravel(ar1)
    else:
        ar1, ar2 = np.unique(ar1), np.unique(ar2)
    return ar1[np.isin(ar1, ar2, assume_unique=True, invert=True)]


@replaces("numpy.unique_values")
def unique_values(x, /):
    """Sorted, which NumPy leaves open."""
    x = np.asarray(x)
    return np.unique(x) if x.dtype.kind in "biu" else sized(np.unique_values, x)


def _unique(plain, result, x, **wanted):
    """result(*…) of numpy.unique, for which each NaN is one of its own; NumPy's own function where that is not possible."""
    x = np.asarray(x)
    if x.dtype.kind not in "biuf" or x.size == 0:
        return sized(plain, x)
    return result(*np.unique(x, equal_nan=False, **wanted))


@replaces("numpy.unique_counts")
def unique_counts(x, /):
    return _unique(np.unique_counts, _UniqueCounts, x, return_counts=True)


@replaces("numpy.unique_inverse")
def unique_inverse(x, /):
    return _unique(np.unique_inverse, _UniqueInverse, x, return_inverse=True)


@replaces("numpy.unique_all")
def unique_all(x, /):
    return _unique(np.unique_all, _UniqueAll, x, return_index=True, return_inverse=True, return_counts=True)
