"""Histograms in one and more dimensions."""

import numpy as np

from ._core import operator, plainly, product_of, replaces, require, sized


def _even_edges(a, bins, limits):
    """bins + 1 edges between the limits, or the extremes of the elements; None for limits the wrong way round."""
    if limits is None:
        first, last = np.min(a), np.max(a)
        first = require(first, np.isfinite(first) & np.isfinite(last))
    else:
        if not -np.inf < limits[0] <= limits[1] < np.inf:
            return None
        first, last = np.float64(limits[0]), np.float64(limits[1])
    alone = first == last
    return np.linspace(np.where(alone, first - 0.5, first), np.where(alone, last + 0.5, last), bins + 1)


def _count_between(a, edges, weights):
    """The number, or the weight, of the elements between neighbours of the edges; the last bin includes its edge."""
    common = np.promote_types(a.dtype, edges.dtype)
    a, edges = a.astype(common, copy=False), edges.astype(common, copy=False)
    if weights is None:
        return operator("count_between", a, edges)
    return operator("sum_between", a, edges, weights)


@replaces("numpy.histogram_bin_edges")
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    a = np.ravel(a)
    if isinstance(bins, str) and weights is None:
        return sized(np.histogram_bin_edges, a, bins, range)
    usual = isinstance(bins, int) and bins >= 1 and a.dtype.char in "dlqi" and a.size > 0 and weights is None
    edges = _even_edges(a, bins, range) if usual else None
    return plainly(np.histogram_bin_edges, a, bins, range, weights) if edges is None else edges


@replaces("numpy.histogram")
def histogram(a, bins=10, range=None, density=None, weights=None):
    a = np.ravel(a)
    weights_usual = weights is None or (
        np.shape(weights) == a.shape and np.asarray(weights).dtype == np.float64
    )
    usual = a.dtype.char in "dlqi" and a.size > 0 and weights_usual
    if usual and isinstance(bins, str) and weights is None:
        bins = sized(np.histogram_bin_edges, a, bins, range)
    if not usual or isinstance(bins, str) or (isinstance(bins, int) and bins < 1):
        return plainly(np.histogram, a, bins, range, density, weights)
    if isinstance(bins, int):
        edges = _even_edges(a, bins, range)
        if edges is None:
            return plainly(np.histogram, a, bins, range, density, weights)
    else:
        edges = np.asarray(bins)
        if edges.ndim != 1 or edges.shape[0] < 2:
            return plainly(np.histogram, a, bins, range, density, weights)
        edges = require(edges, edges[1:] >= edges[:-1])
    counts = _count_between(a, edges, None if weights is None else np.ravel(weights))
    if density:
        widths = np.diff(edges).astype(float)
        return counts / widths / counts.sum(), edges
    return counts, edges


@replaces("numpy.histogram2d")
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if len(x) != len(y):
        return plainly(np.histogram2d, x, y, bins, range, density, weights)
    if not isinstance(bins, int) and len(bins) != 2:
        bins = [np.asarray(bins), np.asarray(bins)]
    hist, edges = np.histogramdd([x, y], bins, range, density, weights)
    return hist, edges[0], edges[1]


@replaces("numpy.histogramdd")
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    columns = list(sample.T) if isinstance(sample, np.ndarray) and sample.ndim == 2 else sample
    usual = isinstance(columns, list | tuple) and len(columns) > 0
    columns = [np.asarray(column) for column in columns] if usual else []
    for column in columns:
        usual = (
            usual and column.ndim == 1 and column.dtype.char in "dlqi" and column.shape == columns[0].shape
        )
    bins_of = [bins] * len(columns) if isinstance(bins, int) else bins
    limits = [None] * len(columns) if range is None else range
    usual = usual and len(bins_of) == len(columns) and len(limits) == len(columns) and columns[0].shape[0] > 0
    if weights is not None:
        weights = np.asarray(weights)
        usual = usual and weights.shape == columns[0].shape and weights.dtype == np.float64
    for one in bins_of if usual else []:
        usual = usual and (one >= 1 if isinstance(one, int) else np.ndim(one) == 1 and len(one) > 1)
    if not usual:
        return plainly(np.histogramdd, sample, bins, range, density, weights)
    edges, place, sizes = [], 0, []
    for column, one, limit in zip(columns, bins_of, limits):
        edge = _even_edges(column, one, limit) if isinstance(one, int) else np.asarray(one)
        if edge is None:
            return plainly(np.histogramdd, sample, bins, range, density, weights)
        edge = edge if isinstance(one, int) else require(edge, edge[1:] >= edge[:-1])
        # A bin on either side for what lies outside; the last one of all includes its edge.
        position = np.searchsorted(edge, column, side="right")
        position = np.where(column == edge[-1], edge.shape[0] - 1, position)
        edges.append(edge)
        sizes.append(edge.shape[0] + 1)
        place = place * sizes[-1] + position
    counts = np.zeros(product_of(sizes))
    np.add.at(counts, place, 1.0 if weights is None else weights)
    hist = counts.reshape(tuple(sizes))[(slice(1, -1),) * len(sizes)]
    if not density:
        return hist, edges
    number = hist.sum()
    for axis, edge in enumerate(edges):
        shape = [1] * len(sizes)
        shape[axis] = sizes[axis] - 2
        hist = hist / np.diff(edge).reshape(tuple(shape))
    return hist / number, edges
