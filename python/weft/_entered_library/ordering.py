"""Extremes, sorting, bisect and heapq."""

import builtins
import heapq
import sys

from .._entered import plainly


def min_(*values, key=None, **default):
    return _extreme("min", values, key, default, lambda new, best: new < best)


def max_(*values, key=None, **default):
    return _extreme("max", values, key, default, lambda new, best: new > best)


# What Python's min() and max() say of an empty iterable.
_OF_NOTHING = "iterable argument is empty" if sys.version_info >= (3, 12) else "arg is an empty sequence"


def _extreme(name, values, key, default, is_better):
    if not values or (default and (len(values) > 1 or list(default) != ["default"])):
        return plainly(getattr(builtins, name), *values, key=key, **default)
    candidates = iter(values[0] if len(values) == 1 else values)
    try:
        best = next(candidates)
    except StopIteration:
        if default:
            return default["default"]
        raise ValueError(name + "() " + _OF_NOTHING) from None
    best_key = best if key is None else key(best)
    for candidate in candidates:
        candidate_key = candidate if key is None else key(candidate)
        if is_better(candidate_key, best_key):
            best, best_key = candidate, candidate_key
    return best


def sorted_(iterable, /, *, key=None, reverse=False):
    values = list(iterable)
    keys = values if key is None else [key(value) for value in values]
    return [values[i] for i in order_of(keys, reverse)]


def order_of(keys, reverse):
    """The positions in the order of their keys. Lowered by capture where these are known."""
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        if x < (a[middle] if key is None else key(a[middle])):
            hi = middle
        else:
            lo = middle + 1
    return lo


def insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


# The heap's items lie where heapq's lie: a hole goes down to a leaf along the smaller children, then the item goes up.
def _rise(heap, top, at):
    item = heap[at]
    while at > top and item < heap[(at - 1) // 2]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


def _sink(heap, at):
    top, item, size = at, heap[at], len(heap)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
    heap[at] = item
    _rise(heap, top, at)


def heappush(heap, item):
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def heappop(heap):
    if type(heap) is not list or not heap:
        return plainly(heapq.heappop, heap)
    last = heap.pop()
    if not heap:
        return last
    smallest, heap[0] = heap[0], last
    _sink(heap, 0)
    return smallest


def heapify(heap):
    if type(heap) is not list:
        return plainly(heapq.heapify, heap)
    for i in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, i)


def heapreplace(heap, item):
    smallest, heap[0] = heap[0], item
    _sink(heap, 0)
    return smallest


def heappushpop(heap, item):
    if heap and heap[0] < item:
        return heapreplace(heap, item)
    return item


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:n]


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:n]


for _function in (
    bisect_left,
    bisect_right,
    insort_left,
    insort_right,
    heapify,
    heappop,
    heappush,
    heappushpop,
    heapreplace,
    nlargest,
    nsmallest,
):
    _function.of_known_values = (
        True  # where elements are computed, the original is one break, and these would be many
    )


class _ComparedKey:
    """What functools.cmp_to_key makes of an object."""

    def __init__(self, compare, object):
        self.compare = compare
        self.obj = object

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0


def cmp_to_key(mycmp):
    return lambda object: _ComparedKey(mycmp, object)
