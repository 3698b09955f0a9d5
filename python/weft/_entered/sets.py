"""Distinct elements, and arrays as sets."""

import numpy as np

from ._core import operator, plainly, replaces, sized


_UniqueAll = type(np.unique_all(np.zeros(1)))
_UniqueCounts = type(np.unique_counts(np.zeros(1)))
_UniqueInverse = type(np.unique_inverse(np.zeros(1)))


def _distinct(a, index, inverse, counts):
    results = operator("unique", a, return_index=index, return_inverse=inverse, return_counts=counts)
    return results if index or inverse or counts else results[0]


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
    usual = (
        (axis is None or (axis == 0 and ar.ndim == 1)) and ar.ndim > 0 and sorted and ar.dtype.kind in "biuf"
    )
    if not usual or not (equal_nan or ar.dtype.kind in "biu"):
        return plainly(
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
    if assume_unique or return_indices:
        return plainly(np.intersect1d, ar1, ar2, assume_unique, return_indices)
    both = np.sort(np.concatenate([np.unique(ar1), np.unique(ar2)]))
    return both[:-1][both[1:] == both[:-1]]


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
def unique_values(x):
    """Sorted, which NumPy leaves open."""
    x = np.asarray(x)
    return np.unique(x) if x.dtype.kind in "biu" else plainly(np.unique_values, x)


def _unique(plain, result, x, **wanted):
    """result(*…) of numpy.unique, for which each NaN is one of its own; NumPy's own function where that is not possible."""
    x = np.asarray(x)
    if x.dtype.kind not in "biuf" or x.size == 0:
        return plainly(plain, x)
    return result(*np.unique(x, equal_nan=False, **wanted))


@replaces("numpy.unique_counts")
def unique_counts(x):
    return _unique(np.unique_counts, _UniqueCounts, x, return_counts=True)


@replaces("numpy.unique_inverse")
def unique_inverse(x):
    return _unique(np.unique_inverse, _UniqueInverse, x, return_inverse=True)


@replaces("numpy.unique_all")
def unique_all(x):
    return _unique(np.unique_all, _UniqueAll, x, return_index=True, return_inverse=True, return_counts=True)
