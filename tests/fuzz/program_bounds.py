"""How far two correct implementations may be apart: what NumPy does not promise bit for bit, with its bound.

The list is docs/WHAT_COMPILES.md's: sums of floating-point numbers in another order, elementary functions, and
products of complex numbers. Everything else must be equal. A bound is the largest distance of any element, carried
through the statements by first-order error analysis; inf means that elements are not compared.
"""

import math

import numpy as np

# Of an elementary function, in units of eps * |result|: NumPy's own error is below 4 units in the last place, weft's
# is what docs/operators.md states, at most 4.
ELEMENTARY = 8


def eps(value):
    dtype = np.asarray(value).dtype
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def magnitude(value):
    """The largest finite magnitude."""
    array = np.asarray(value)
    if array.dtype.kind not in "fciub" or not array.size:
        return 0.0
    wide = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    wide = wide[np.isfinite(wide)]
    return float(wide.max(initial=0.0))


def checked(bound, result):
    """inf where the bound reaches an overflow: one order of a sum may get there and another not."""
    array = np.asarray(result)
    if array.dtype.kind not in "fc":
        return 0.0 if bound == 0 else math.inf
    if not math.isfinite(bound) or magnitude(array) + bound > 0.9 * float(np.finfo(array.dtype).max):
        return math.inf
    return bound


def rounding(result):
    return eps(result) * magnitude(result)


def rounded(result):
    """The bound of an elementary function."""
    return ELEMENTARY * rounding(result)


def sum_bound(terms, absolute, result, error=0.0):
    """n * eps * sum |x|, and n times the error of each term; inf where a partial sum may overflow."""
    absolute = float(absolute)
    kind = np.asarray(result).dtype
    if kind.kind not in "fc":
        return 0.0
    if not math.isfinite(absolute) or absolute > 0.9 * float(np.finfo(kind).max):
        return math.inf
    return terms * (eps(result) * absolute + error)


def finite_abs(value):
    wide = np.abs(
        np.asarray(value).astype(np.complex128 if np.asarray(value).dtype.kind == "c" else np.float64)
    )
    return np.where(np.isfinite(wide), wide, 0.0)
