"""Python functions that capture enters in place of the standard library's functions and classes written in C.

What they return stands for an object of another type, and is never given to the program itself: where it would be, the
graph breaks before the call.
"""

import collections


def _each(values):
    for value in values:
        yield value


def zip_(*iterables, strict=False):
    if not strict:
        return _each(zip(*iterables))
    columns = [list(iterable) for iterable in iterables]
    for i in range(1, len(columns)):
        if len(columns[i]) != len(columns[0]):
            raise ValueError("zip() arguments have different lengths")
    return _each(zip(*columns))


def map_(function, *iterables):
    return _map(function, iterables)


def _map(function, iterables):
    for arguments in zip(*iterables):
        yield function(*arguments)


def filter_(function, iterable):
    return _filter(function, iterable, True)


def filterfalse(predicate, iterable):
    return _filter(predicate, iterable, False)


def _filter(function, iterable, wanted):
    for value in iterable:
        if bool(value if function is None else function(value)) == wanted:
            yield value


def min_(*values, key=None, **default):
    return _extreme(values, key, default, lambda new, best: new < best)


def max_(*values, key=None, **default):
    return _extreme(values, key, default, lambda new, best: new > best)


def _extreme(values, key, default, is_better):
    candidates = list(values[0] if len(values) == 1 else values)
    if not candidates:
        if default:
            return default["default"]
        raise ValueError("iterable argument is empty")
    best = candidates[0]
    best_key = best if key is None else key(best)
    for candidate in candidates[1:]:
        candidate_key = candidate if key is None else key(candidate)
        if is_better(candidate_key, best_key):
            best, best_key = candidate, candidate_key
    return best


def sorted_(iterable, *, key=None, reverse=False):
    values = list(iterable)
    keys = values if key is None else [key(value) for value in values]
    order = []
    # Insertion keeps equal elements in their order.
    for i in range(len(values)):
        at = len(order)
        while at > 0 and (keys[order[at - 1]] < keys[i] if reverse else keys[i] < keys[order[at - 1]]):
            at -= 1
        order.insert(at, i)
    return [values[i] for i in order]


def accumulate(iterable, func=None, *, initial=None):
    return _accumulate(iterable, func, initial)


def _accumulate(iterable, func, initial):
    iterator = iter(iterable)
    if initial is None:
        try:
            initial = next(iterator)
        except StopIteration:
            return
    total = initial
    yield total
    for value in iterator:
        total = total + value if func is None else func(total, value)
        yield total


def chain(*iterables):
    return _chain(iterables)


def _chain(iterables):
    for iterable in iterables:
        for value in iterable:
            yield value


def product(*iterables, repeat=1):
    found = [()]
    for pool in [tuple(iterable) for iterable in iterables] * repeat:
        found = [before + (value,) for before in found for value in pool]
    return _each(found)


def combinations(iterable, r):
    pool = tuple(iterable)
    chosen = [()]
    for _ in range(r):
        chosen = [c + (i,) for c in chosen for i in range(c[-1] + 1 if c else 0, len(pool))]
    return _each([tuple([pool[i] for i in c]) for c in chosen])


def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    chosen = [()]
    for _ in range(r):
        chosen = [c + (i,) for c in chosen for i in range(c[-1] if c else 0, len(pool))]
    return _each([tuple([pool[i] for i in c]) for c in chosen])


def permutations(iterable, r=None):
    pool = tuple(iterable)
    chosen = [()]
    for _ in range(len(pool) if r is None else r):
        chosen = [c + (i,) for c in chosen for i in range(len(pool)) if i not in c]
    return _each([tuple([pool[i] for i in c]) for c in chosen])


def count(start=0, step=1):
    return _count(start, step)


def _count(start, step):
    while True:
        yield start
        start = start + step


def repeat(object, times=None):
    return _repeat(object, times)


def _repeat(object, times):
    while times is None or times > 0:
        yield object
        if times is not None:
            times -= 1


def islice(iterable, *bounds):
    limits = slice(*bounds)
    return _islice(iterable, limits.start or 0, limits.stop, limits.step or 1)


def _islice(iterable, start, stop, step):
    iterator = iter(iterable)
    i = 0
    while stop is None or i < stop:
        try:
            value = next(iterator)
        except StopIteration:
            return
        if i >= start and (i - start) % step == 0:
            yield value
        i += 1


def pairwise(iterable):
    values = list(iterable)
    return _each(zip(values[:-1], values[1:]))


def starmap(function, iterable):
    return _starmap(function, iterable)


def _starmap(function, iterable):
    for arguments in iterable:
        yield function(*arguments)


def takewhile(predicate, iterable):
    return _takewhile(predicate, iterable)


def _takewhile(predicate, iterable):
    for value in iterable:
        if not predicate(value):
            return
        yield value


def dropwhile(predicate, iterable):
    return _dropwhile(predicate, iterable)


def _dropwhile(predicate, iterable):
    dropping = True
    for value in iterable:
        if dropping and predicate(value):
            continue
        dropping = False
        yield value


def compress(data, selectors):
    return _each([value for value, selected in zip(data, selectors) if selected])


def zip_longest(*iterables, fillvalue=None):
    columns = [list(iterable) for iterable in iterables]
    length = max([len(column) for column in columns]) if columns else 0
    return _each(zip(*[column + [fillvalue] * (length - len(column)) for column in columns]))


def itemgetter(item, *items):
    if not items:
        return lambda object: object[item]
    return lambda object: tuple([object[key] for key in (item, *items)])


def attrgetter(attribute, *attributes):
    if attributes:
        return lambda object: tuple([_attribute(object, name) for name in (attribute, *attributes)])
    return lambda object: _attribute(object, attribute)


def _attribute(object, path):
    for name in path.split("."):
        object = getattr(object, name)
    return object


def methodcaller(method, *args, **kwargs):
    return lambda object: getattr(object, method)(*args, **kwargs)


def _each_next(iterator):
    """What a class with __next__ gives."""
    while True:
        try:
            value = iterator.__next__()
        except StopIteration:
            return
        yield value


def chain_from_iterable(iterables):
    return _chain(iterables)


def cycle(iterable):
    return _cycle(list(iterable))


def _cycle(values):
    i = 0
    while values:
        yield values[i]
        i = (i + 1) % len(values)


def tee(iterable, n=2):
    values = list(iterable)
    return tuple([_each(values) for _ in range(n)])


def groupby(iterable, key=None):
    return _groupby(iterable, key)


def _groupby(iterable, key):
    values = list(iterable)
    start = 0
    for i in range(len(values)):
        this = values[i] if key is None else key(values[i])
        if i == start:
            group = this
        elif not this == group:
            yield group, _each(values[start:i])
            start, group = i, this
    if values:
        yield group, _each(values[start:])


def batched(iterable, n):
    values = list(iterable)
    return _each([tuple(values[i : i + n]) for i in range(0, len(values), n)])


def dict_fromkeys(keys, value=None):
    return {key: value for key in keys}


def lru_cache(maxsize=128, typed=False):
    return _cached(maxsize) if callable(maxsize) else _cached


def _cached(function):
    results = {}

    def call(*args):
        if args not in results:
            results[args] = function(*args)
        return results[args]

    return call


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def bisect_right(a, x, lo=0, hi=None, *, key=None):
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
    last = heap.pop()
    if not heap:
        return last
    smallest, heap[0] = heap[0], last
    _sink(heap, 0)
    return smallest


def heapify(heap):
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


for _function in (bisect_left, bisect_right, insort_left, insort_right, heapify, heappop, heappush, heappushpop, heapreplace, nlargest, nsmallest):
    _function.of_known_values = True  # where elements are computed, the original is one break, and these would be many


class _Deque:
    """A collections.deque as a list. The program is given the deque that __made_of__ makes."""

    __stands_for__ = collections.deque
    __made_of__ = ("_items", "maxlen")

    def __init__(self, iterable=(), maxlen=None):
        self._items = []
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, value):
        self._items.append(value)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[0]

    def appendleft(self, value):
        self._items.insert(0, value)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop()

    def extend(self, values):
        for value in list(values):
            self.append(value)

    def extendleft(self, values):
        for value in list(values):
            self.appendleft(value)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        return self._items.pop(0)

    def rotate(self, n=1):
        if self._items:
            n = n % len(self._items)
            self._items = self._items[-n:] + self._items[:-n] if n else self._items

    def clear(self):
        self._items.clear()

    def copy(self):
        return _Deque(self._items, self.maxlen)

    def count(self, value):
        return sum([item == value for item in self._items])

    def reverse(self):
        self._items.reverse()

    def insert(self, index, value):
        if self.maxlen is not None and len(self._items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self._items.insert(index, value)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, index):
        if not -len(self._items) <= index < len(self._items):
            raise IndexError("deque index out of range")
        return self._items[index]

    def __setitem__(self, index, value):
        if not -len(self._items) <= index < len(self._items):
            raise IndexError("deque index out of range")
        self._items[index] = value

    def __contains__(self, value):
        return value in self._items


class _Mapping:
    """What the stand-ins of dict's subclasses share: a dict in _items."""

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(list(self._items))

    def __contains__(self, key):
        return key in self._items

    def __getitem__(self, key):
        return self._items[key]

    def __setitem__(self, key, value):
        self._items[key] = value

    def __delitem__(self, key):
        del self._items[key]

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()

    def get(self, key, default=None):
        return self._items.get(key, default)

    def pop(self, key, *default):
        return self._items.pop(key, *default)

    def setdefault(self, key, default=None):
        return self._items.setdefault(key, default)

    def update(self, *others, **named):
        for other in others:
            for key, value in dict(other).items():
                self._items[key] = value
        for key, value in named.items():
            self._items[key] = value

    def clear(self):
        self._items.clear()


class _DefaultDict(_Mapping):
    __stands_for__ = collections.defaultdict
    __made_of__ = ("default_factory", "_items")

    def __init__(self, default_factory=None, *others, **named):
        self.default_factory = default_factory
        self._items = {}
        self.update(*others, **named)

    def __getitem__(self, key):
        if key not in self._items:
            if self.default_factory is None:
                raise KeyError(key)
            self._items[key] = self.default_factory()
        return self._items[key]


class _OrderedDict(_Mapping):
    __stands_for__ = collections.OrderedDict
    __made_of__ = ("_items",)

    def __init__(self, *others, **named):
        self._items = {}
        self.update(*others, **named)

    def move_to_end(self, key, last=True):
        value = self._items.pop(key)
        self._items = {**self._items, key: value} if last else {key: value, **self._items}

    def popitem(self, last=True):
        if not self._items:
            raise KeyError("dictionary is empty")
        key = list(self._items)[-1 if last else 0]
        return key, self._items.pop(key)


class _Counter(_Mapping):
    of_known_values = True
    __stands_for__ = collections.Counter
    __made_of__ = ("_items",)

    def __init__(self, iterable=None, **counts):
        self._items = {}
        self.update(iterable, **counts)

    def __getitem__(self, key):
        return self._items.get(key, 0)

    def __delitem__(self, key):
        if key in self._items:
            del self._items[key]

    def update(self, iterable=None, **counts):
        self._add(iterable, counts, 1)

    def subtract(self, iterable=None, **counts):
        self._add(iterable, counts, -1)

    def _add(self, iterable, counts, sign):
        if isinstance(iterable, dict):
            for key, count in dict(iterable).items():
                self._items[key] = self._items.get(key, 0) + sign * count
        elif iterable is not None:
            for key in iterable:
                self._items[key] = self._items.get(key, 0) + sign
        for key, count in counts.items():
            self._items[key] = self._items.get(key, 0) + sign * count

    def most_common(self, n=None):
        return sorted(self._items.items(), key=lambda pair: pair[1], reverse=True)[:n]

    def elements(self):
        return _each([key for key, count in self._items.items() for _ in range(count)])

    def total(self):
        return sum(self._items.values())

    def _combined(self, other, combine):
        result = _Counter()
        for key in [*self._items, *[key for key in other._items if key not in self._items]]:
            count = combine(self[key], other[key])
            if count > 0:
                result._items[key] = count
        return result

    def __add__(self, other):
        return self._combined(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._combined(other, lambda a, b: a - b)

    def __and__(self, other):
        return self._combined(other, lambda a, b: a if a < b else b)

    def __or__(self, other):
        return self._combined(other, lambda a, b: b if a < b else a)


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


def construct(cls, *args, **keywords):
    """A call of a class that has its own __new__."""
    instance = cls.__new__(cls, *args, **keywords)
    if isinstance(instance, cls):
        instance.__init__(*args, **keywords)
    return instance


REPLACEMENTS = {
    "collections.Counter": _Counter,
    "collections.OrderedDict": _OrderedDict,
    "collections.defaultdict": _DefaultDict,
    "collections.deque": _Deque,
    "functools.cache": _cached,
    "functools.cmp_to_key": cmp_to_key,
    "functools.lru_cache": lru_cache,
    "bisect.bisect_left": bisect_left,
    "bisect.bisect_right": bisect_right,
    "bisect.insort_left": insort_left,
    "bisect.insort_right": insort_right,
    "heapq.heapify": heapify,
    "heapq.heappop": heappop,
    "heapq.heappush": heappush,
    "heapq.heappushpop": heappushpop,
    "heapq.heapreplace": heapreplace,
    "heapq.nlargest": nlargest,
    "heapq.nsmallest": nsmallest,
    "itertools.batched": batched,
    "itertools.cycle": cycle,
    "itertools.groupby": groupby,
    "itertools.tee": tee,
    "nd.dict.fromkeys": dict_fromkeys,
    "nd.itertools.chain.from_iterable": chain_from_iterable,
    "builtins.map": map_,
    "builtins.filter": filter_,
    "builtins.max": max_,
    "builtins.min": min_,
    "builtins.sorted": sorted_,
    "builtins.zip": zip_,
    "itertools.accumulate": accumulate,
    "itertools.chain": chain,
    "itertools.combinations": combinations,
    "itertools.combinations_with_replacement": combinations_with_replacement,
    "itertools.compress": compress,
    "itertools.count": count,
    "itertools.dropwhile": dropwhile,
    "itertools.filterfalse": filterfalse,
    "itertools.islice": islice,
    "itertools.pairwise": pairwise,
    "itertools.permutations": permutations,
    "itertools.product": product,
    "itertools.repeat": repeat,
    "itertools.starmap": starmap,
    "itertools.takewhile": takewhile,
    "itertools.zip_longest": zip_longest,
    "operator.attrgetter": attrgetter,
    "operator.itemgetter": itemgetter,
    "operator.methodcaller": methodcaller,
}
