"""Polynomials by their coefficients."""

import numpy as np

from ._core import axis_of, is_number, plainly, replaces, require, sized

MAX_STEPS = 64  # of a division or a product, one after the other in the graph


def _real_of_conjugates(coefficients, zeros):
    """The coefficients, real ones where the zeros are each other's conjugates."""
    is_real = np.all(np.sort(zeros) == np.sort(zeros.conjugate()))
    return coefficients.real.copy() if is_real else coefficients


@replaces("numpy.poly")
def poly(seq_of_zeros):
    zeros = np.atleast_1d(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.size > 0:
        zeros = np.linalg.eigvals(zeros)
    if zeros.ndim != 1 or zeros.dtype.kind not in "fiuc" or not 0 < zeros.shape[0] <= MAX_STEPS:
        return plainly(np.poly, seq_of_zeros)
    zeros = zeros.astype(np.float64) if zeros.dtype.kind in "iu" else zeros
    coefficients = np.ones(1, zeros.dtype)
    for place in range(zeros.shape[0]):
        coefficients = np.convolve(coefficients, np.stack([np.ones((), zeros.dtype), -zeros[place]]))
    return sized(_real_of_conjugates, coefficients, zeros) if zeros.dtype.kind == "c" else coefficients


def _with_zeros_before(a, size):
    return np.concatenate([np.zeros(size - a.shape[0], a.dtype), a]) if a.shape[0] < size else a


@replaces("numpy.polyadd")
def polyadd(a1, a2):
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    size = max(a1.shape[0], a2.shape[0])
    return _with_zeros_before(a1, size) + _with_zeros_before(a2, size)


@replaces("numpy.polysub")
def polysub(a1, a2):
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    size = max(a1.shape[0], a2.shape[0])
    return _with_zeros_before(a1, size) - _with_zeros_before(a2, size)


@replaces("numpy.polymul")
def polymul(a1, a2):
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    a1 = require(a1, (a1[0] != 0) & (a2[0] != 0))
    return np.convolve(a1, a2)


@replaces("numpy.polyder")
def polyder(p, m=1):
    p = np.asarray(p)
    if m < 0 or p.ndim != 1 or m >= p.shape[0]:
        return plainly(np.polyder, p, m)
    for _ in range(m):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


@replaces("numpy.polyint")
def polyint(p, m=1, k=None):
    p = np.asarray(p)
    constants = [0.0] * m if k is None else [k] * m if is_number(k) else k
    usual = m >= 0 and p.ndim == 1 and isinstance(constants, list) and len(constants) == m
    if not usual or not all([is_number(one) for one in constants]):
        return plainly(np.polyint, p, m, k)
    p = p + 0.0
    for constant in constants:
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), np.full(1, constant, p.dtype)])
    return p


@replaces("numpy.polyval")
def polyval(p, x):
    if isinstance(x, list | tuple):
        x = np.asarray(x)
    if not isinstance(x, np.ndarray | np.generic | int | float | complex):
        return plainly(np.polyval, p, x)
    value = np.zeros_like(x)
    for coefficient in np.asarray(p):
        value = value * x + coefficient
    return value


@replaces("numpy.polyfit")
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    given = (x, y, deg, rcond, full, w, cov)
    x, y = np.asarray(x), np.asarray(y)
    usual = isinstance(deg, int) and deg >= 0 and (cov is False or cov is True or cov == "unscaled")
    usual = usual and x.ndim == 1 and 1 <= y.ndim <= 2 and x.size > deg and y.shape[0] == x.shape[0]
    weights = None if w is None else np.asarray(w)
    usual = usual and (weights is None or weights.shape == x.shape)
    if not usual or x.dtype.char not in "dlqi" or y.dtype.char not in "dlqi":
        return plainly(np.polyfit, *given)
    rcond = x.size * 2.220446049250313e-16 if rcond is None else rcond
    lhs, rhs = np.vander(x + 0.0, deg + 1), y + 0.0
    if weights is not None:
        lhs = lhs * weights[:, None]
        rhs = rhs * (weights[:, None] if rhs.ndim == 2 else weights)
    scale = np.sqrt((lhs * lhs).sum(axis=0))
    lhs = lhs / scale
    solution, residuals, rank, values = np.linalg.lstsq(lhs, rhs, rcond)
    if not full:
        # Otherwise NumPy warns.
        solution = require(solution, np.asarray(rank == deg + 1))
    solution = (solution.T / scale).T
    if full:
        return solution, residuals, rank, values, np.float64(rcond) if given[3] is None else rcond
    if cov is False:
        return solution
    base = np.linalg.inv(np.dot(lhs.T, lhs)) / np.outer(scale, scale)
    if cov == "unscaled":
        factor = 1
    elif x.size <= deg + 1:
        return plainly(np.polyfit, *given)
    else:
        factor = residuals / (x.size - deg - 1)
    return solution, base * factor if y.ndim == 1 else base[:, :, None] * factor


def _span(p):
    """From the first coefficient that is not zero to behind the last one."""
    places = np.nonzero(p)[0]
    return (int(places[0]), int(places[-1]) + 1) if len(places) > 0 else (0, 0)


@replaces("numpy.roots")
def roots(p):
    given, p = p, np.atleast_1d(p)
    if p.ndim != 1 or p.dtype.kind not in "iufc" or p.dtype.char == "e":
        return plainly(np.roots, given)
    start, stop = sized(_span, p)
    if start == stop:
        return np.array([])
    zeros = p.shape[0] - stop
    p = p[start:stop]
    p = p.astype(np.float64) if p.dtype.kind in "iu" else p
    if p.shape[0] < 2:
        return np.zeros(zeros)
    below = np.eye(p.shape[0] - 2, p.shape[0] - 1, dtype=p.dtype)
    found = np.linalg.eigvals(np.concatenate([(-p[1:] / p[0])[None], below]))
    return np.concatenate([found, np.zeros(zeros, found.dtype)])


def _remainder(r):
    """Without leading coefficients that are next to zero."""
    while np.allclose(r[0], 0, rtol=1e-14) and r.shape[-1] > 1:
        r = r[1:]
    return r


@replaces("numpy.polydiv")
def polydiv(u, v):
    given = (u, v)
    u, v = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    steps = u.shape[0] - v.shape[0] + 1
    if u.ndim != 1 or v.ndim != 1 or v.shape[0] == 0 or not 0 < steps <= MAX_STEPS:
        return plainly(np.polydiv, *given)
    scale = 1.0 / v[0]
    quotient, rest = [], u.astype((u[:1] + v[:1]).dtype)
    for k in range(steps):
        digit = scale * rest[k]
        quotient.append(digit)
        rest[k : k + v.shape[0]] -= digit * v
    return np.stack(quotient), sized(_remainder, rest)


def _trimmed(series):
    """Without trailing zeros, but for the first coefficient."""
    places = np.nonzero(series)[0]
    return series[: places[-1] + 1 if len(places) > 0 else 1]


@replaces("numpy.polynomial.polyutils.trimseq")
def trimseq(seq):
    return (
        sized(_trimmed, seq)
        if isinstance(seq, np.ndarray) and seq.size > 0
        else plainly(np.polynomial.polyutils.trimseq, seq)
    )


@replaces("numpy.lib.array_utils.normalize_axis_index")
def normalize_axis_index(axis, ndim, msg_prefix=None):
    found = axis_of(axis, ndim)
    return (
        plainly(np.lib.array_utils.normalize_axis_index, axis, ndim, msg_prefix) if found is None else found
    )
