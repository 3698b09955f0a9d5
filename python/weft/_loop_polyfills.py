"""Python functions that native loops enter in place of functions that Python and NumPy have in C.

Each gives what the original gives, to the bit, of numbers, of short lists and of small arrays, and changes nothing that
it is given. What it does not cover it raises: the original is called then.
"""

import builtins
import functools
import itertools
import math
import operator
import sys

import numpy as np

MOST_SORTED = 16  # numbers; of more, the originals are as fast
KEEPS_ROUNDING = sys.version_info >= (3, 12)  # sum() adds what sums of floats lose by it
FEW = 8  # that NumPy adds up one after another


class Uncovered(Exception):
    """The original function is to be called."""


# Of whatever can be iterated over.


def sum_(iterable, /, start=0):
    for value in iterable:
        if KEEPS_ROUNDING and type(value) is float:
            raise Uncovered
        start = start + value
    return start


def prod(iterable, /, *, start=1):
    for value in iterable:
        start = start * value
    return start


def any_(iterable, /):
    for value in iterable:
        if value:
            return True
    return False


def all_(iterable, /):
    for value in iterable:
        if not value:
            return False
    return True


def max_(*values, key=None):
    best = best_key = None
    for value in values[0] if len(values) == 1 else values:
        value_key = value if key is None else key(value)
        if best_key is None or value_key > best_key:
            best, best_key = value, value_key
    if best_key is None:
        raise Uncovered
    return best


def min_(*values, key=None):
    best = best_key = None
    for value in values[0] if len(values) == 1 else values:
        value_key = value if key is None else key(value)
        if best_key is None or value_key < best_key:
            best, best_key = value, value_key
    if best_key is None:
        raise Uncovered
    return best


def list_(iterable, /):
    return [value for value in iterable]  # noqa: C416: list() is what this is


def sorted_(iterable, /, *, key=None, reverse=False):
    if key is not None:
        raise Uncovered
    values = [value for value in iterable]  # noqa: C416: native loops have no other way
    if len(values) > MOST_SORTED:
        raise Uncovered
    for i in range(len(values)):
        value = values[i]
        if value != value:  # NaN has no place of its own
            raise Uncovered
        j = i - 1
        while j >= 0 and (values[j] < value if reverse else value < values[j]):
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
    return values


def reduce(function, iterable, initial=Uncovered):
    result = initial
    for value in iterable:
        result = value if result is Uncovered else function(result, value)
    if result is Uncovered:
        raise Uncovered
    return result


def map_(function, iterable):
    for value in iterable:
        yield function(value)


def filter_(function, iterable):
    for value in iterable:
        if value if function is None else function(value):
            yield value


def accumulate(iterable):
    total = None
    for value in iterable:
        total = value if total is None else total + value
        yield total


# Of numbers.


def gcd(*values):
    result = 0
    for value in values:
        result = math.gcd(result, value)
    return result


def lcm(*values):
    result = 1
    for value in values:
        result = math.lcm(result, value)
    return result


def dist(p, q, /):
    if len(p) != 2 or len(q) != 2:
        raise Uncovered
    return math.hypot(float(p[0]) - float(q[0]), float(p[1]) - float(q[1]))


def add(a, b, /):
    return a + b


def sub(a, b, /):
    return a - b


def mul(a, b, /):
    return a * b


def truediv(a, b, /):
    return a / b


def floordiv(a, b, /):
    return a // b


def mod(a, b, /):
    return a % b


def neg(a, /):
    return -a


def lt(a, b, /):
    return a < b


def le(a, b, /):
    return a <= b


def gt(a, b, /):
    return a > b


def ge(a, b, /):
    return a >= b


def eq(a, b, /):
    return a == b


def ne(a, b, /):
    return a != b


# Of NumPy's functions.


def _number(x):
    if not isinstance(x, (int, float)):  # of which float64 is one
        raise Uncovered
    return float(x)


def _array(values):
    return values if isinstance(values, np.ndarray) else np.array(values)


def _row(values):
    row = _array(values)
    if row.ndim != 1 or len(row) == 0 or not isinstance(row[0], (np.float64, np.int64)):
        raise Uncovered
    return row


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    a, b = _number(a), _number(b)
    if equal_nan:
        raise Uncovered
    near = abs(a - b) <= atol + rtol * abs(b) and math.isfinite(b)
    return np.bool_(near or a == b)


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(isclose(a, b, rtol, atol, equal_nan))


def nan_to_num(x):
    if not isinstance(x, float) or not math.isfinite(x):
        raise Uncovered
    return np.float64(x)


def polyval(p, x):
    if not isinstance(x, float):
        raise Uncovered
    p = _row(p)
    y = np.float64(0.0)
    for i in range(len(p)):
        y = np.add(np.multiply(y, x), p[i])
    return y


# Where NumPy's interpolation looks for a number first, and which place it finds where the positions do not rise.
def _place_among(positions, key):
    size = len(positions)
    low, high = 0, size
    if size <= 4:
        place = 1
        while place < size and key >= float(positions[place]):
            place += 1
        return place - 1
    if key < float(positions[1]):
        if key >= float(positions[0]):
            return 0
        high = 0
    elif key < float(positions[2]):
        return 1
    elif key < float(positions[3]):
        return 2
    else:
        low = 3
        if size > 10 and key < float(positions[9]):
            high = 9
    while low < high:
        middle = low + ((high - low) >> 1)
        if key >= float(positions[middle]):
            low = middle + 1
        else:
            high = middle
    return low - 1


def interp(x, xp, fp):
    x = _number(x)
    xp, fp = _array(xp), _array(fp)
    size = len(xp)
    if xp.ndim != 1 or fp.ndim != 1 or len(fp) != size or size < 2:
        raise Uncovered
    if x != x:
        return np.float64(x)
    if x > float(xp[size - 1]):
        return np.float64(fp[size - 1])
    if x < float(xp[0]):
        return np.float64(fp[0])
    place = _place_among(xp, x)
    if place < 0:
        raise Uncovered
    y0 = float(fp[place])
    if place == size - 1 or float(xp[place]) == x:
        return np.float64(y0)
    x0, x1, y1 = float(xp[place]), float(xp[place + 1]), float(fp[place + 1])
    slope = (y1 - y0) / (x1 - x0)
    value = slope * (x - x0) + y0
    if value != value:
        raise Uncovered
    return np.float64(value)


def digitize(x, bins):
    x, bins = _number(x), _row(bins)
    if x != x:
        raise Uncovered
    place = 0
    for i in range(len(bins)):
        if i > 0 and not bins[i] > bins[i - 1]:
            raise Uncovered
        if float(bins[i]) <= x:
            place = i + 1
    return np.int64(place)


def cumsum(a):
    result = np.copy(_row(a))
    for i in range(1, len(result)):
        result[i] = np.add(result[i - 1], result[i])
    return result


def cumprod(a):
    result = np.copy(_row(a))
    for i in range(1, len(result)):
        result[i] = np.multiply(result[i - 1], result[i])
    return result


def diff(a):
    row = _row(a)
    result = np.copy(row[1:])
    for i in range(len(result)):
        result[i] = np.subtract(row[i + 1], row[i])
    return result


def sort(a):
    result = np.copy(_row(a))
    if len(result) > MOST_SORTED:
        raise Uncovered
    for i in range(len(result)):
        value = result[i]
        j = i - 1
        while j >= 0 and result[j] > value:
            result[j + 1] = result[j]
            j -= 1
        # Which of two zeros comes first, and where NaN goes, NumPy knows.
        if value != value or (value == 0 and j >= 0 and result[j] == 0):
            raise Uncovered
        result[j + 1] = value
    return result


# Which zero a sum of negative ones is, NumPy knows.
def _signed(x):
    if x == 0 and math.copysign(1.0, x) < 0:
        raise Uncovered
    return x


# So it does of two zeros which is the larger, and where NaN goes.
def _are_ordered(x, y):
    if x != x or y != y or (x == 0 and y == 0 and math.copysign(1.0, x) != math.copysign(1.0, y)):
        raise Uncovered


def median(a):
    ordered = sort(a)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return _signed(np.float64(ordered[middle]))
    return _signed(np.divide(np.add(np.float64(ordered[middle - 1]), np.float64(ordered[middle])), 2.0))


def _few(a):
    row = _row(a)
    if len(row) >= FEW:
        raise Uncovered
    return row


def np_sum(a):
    row = _few(a)
    total = row[0]
    for i in range(1, len(row)):
        total = np.add(total, row[i])
    return _signed(total)


def np_prod(a):
    row = _few(a)
    total = row[0]
    for i in range(1, len(row)):
        total = np.multiply(total, row[i])
    return total


def mean(a):
    row = _few(a)
    total = np.float64(row[0])
    for i in range(1, len(row)):
        total = np.add(total, np.float64(row[i]))
    return _signed(np.divide(total, float(len(row))))


def var(a):
    row, middle = _few(a), float(mean(a))
    total = np.float64(0.0)
    for i in range(len(row)):
        apart = np.subtract(np.float64(row[i]), middle)
        total = np.add(total, np.multiply(apart, apart))
    return np.divide(total, float(len(row)))


def std(a):
    return np.sqrt(var(a))


def np_max(a):
    row = _row(a)
    best = row[0]
    for i in range(len(row)):
        _are_ordered(best, row[i])
        best = row[i] if row[i] > best else best
    return best


def np_min(a):
    row = _row(a)
    best = row[0]
    for i in range(len(row)):
        _are_ordered(best, row[i])
        best = row[i] if row[i] < best else best
    return best


def ptp(a):
    return np.subtract(np_max(a), np_min(a))


def cross(a, b):
    x, y = _row(a), _row(b)
    if len(x) != 3 or len(y) != 3:
        raise Uncovered
    return np.array([_minor(x, y, 1, 2), _minor(x, y, 2, 0), _minor(x, y, 0, 1)])


def _minor(x, y, i, j):
    return np.subtract(np.multiply(x[i], y[j]), np.multiply(x[j], y[i]))


def trace(a):
    if not isinstance(a, np.ndarray) or a.ndim != 2 or not isinstance(a[0, 0], np.float64):
        raise Uncovered
    size = min(len(a), a.shape[1])
    if size >= FEW:
        raise Uncovered
    total = a[0, 0]
    for i in range(1, size):
        total = np.add(total, a[i, i])
    return _signed(total)


def dot(a, b):
    """The last bits may differ from the BLAS library's."""
    x, y = _few(a), _few(b)
    if len(x) != len(y):
        raise Uncovered
    total = np.multiply(x[0], y[0])
    for i in range(1, len(x)):
        total = np.add(total, np.multiply(x[i], y[i]))
    return _signed(total)


def norm(a):
    """The last bits may differ: it is a product of NumPy's."""
    row = _few(a)
    if not isinstance(row[0], np.float64):
        raise Uncovered
    return np.sqrt(dot(row, row))


def det(a):
    """By elimination with the largest element of each column as the pivot, as LAPACK has it: the last bits may differ."""
    matrix = _array(a)
    size = len(matrix)
    if matrix.ndim != 2 or matrix.shape[1] != size or size < 2 or size > 3:
        raise Uncovered
    if not isinstance(matrix[0, 0], np.float64):
        raise Uncovered
    m = np.copy(matrix)
    result = 1.0
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(float(m[i, k])) > abs(float(m[pivot, k])):
                pivot = i
        divisor = float(m[pivot, k])
        if divisor == 0.0 or not math.isfinite(divisor):
            raise Uncovered
        if pivot != k:
            result = -result
            for j in range(k, size):
                other = m[k, j]
                m[k, j] = m[pivot, j]
                m[pivot, j] = other
        result = result * divisor
        for i in range(k + 1, size):
            factor = float(m[i, k]) / divisor
            for j in range(k + 1, size):
                m[i, j] = float(m[i, j]) - factor * float(m[k, j])
    return np.float64(result)


REPLACEMENTS = {
    builtins.all: all_,
    builtins.any: any_,
    builtins.filter: filter_,
    builtins.list: list_,
    builtins.map: map_,
    builtins.max: max_,
    builtins.min: min_,
    builtins.sorted: sorted_,
    builtins.sum: sum_,
    functools.reduce: reduce,
    itertools.accumulate: accumulate,
    math.dist: dist,
    math.gcd: gcd,
    math.lcm: lcm,
    math.prod: prod,
    np.allclose: allclose,
    np.amax: np_max,
    np.amin: np_min,
    np.average: mean,
    np.cross: cross,
    np.cumprod: cumprod,
    np.cumsum: cumsum,
    np.diff: diff,
    np.digitize: digitize,
    np.dot: dot,
    np.inner: dot,
    np.interp: interp,
    np.isclose: isclose,
    np.linalg.det: det,
    np.linalg.norm: norm,
    np.max: np_max,
    np.mean: mean,
    np.median: median,
    np.min: np_min,
    np.nan_to_num: nan_to_num,
    np.polyval: polyval,
    np.prod: np_prod,
    np.ptp: ptp,
    np.sort: sort,
    np.std: std,
    np.sum: np_sum,
    np.trace: trace,
    np.var: var,
    operator.add: add,
    operator.eq: eq,
    operator.floordiv: floordiv,
    operator.ge: ge,
    operator.gt: gt,
    operator.le: le,
    operator.lt: lt,
    operator.mod: mod,
    operator.mul: mul,
    operator.ne: ne,
    operator.neg: neg,
    operator.sub: sub,
    operator.truediv: truediv,
}
