"""The classes of collections over lists and dicts. What a function gives its caller is the real object, made of __made_of__."""

import collections

from .iterators import each


def list_extend(items, values):
    """Each value is in the list before the next one is computed."""
    for value in values:
        items.append(value)


def dict_update(items, pairs):
    """Each pair is in the dict before the next one is computed."""
    for key, value in pairs:
        items[key] = value


class Deque:
    """A collections.deque as a list. The program is given the deque that __made_of__ makes."""

    __stands_for__ = collections.deque
    __made_of__ = ("_items", "maxlen")

    def __init__(self, iterable=(), maxlen=None):
        self._items = []
        self._changes = 0
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, value):
        self._changes += 1
        self._items.append(value)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[0]

    def appendleft(self, value):
        self._changes += 1
        self._items.insert(0, value)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop()

    def extend(self, values):
        for value in list(self._items) if values is self else values:
            self.append(value)

    def extendleft(self, values):
        for value in list(self._items) if values is self else values:
            self.appendleft(value)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop(0)

    def rotate(self, n=1):
        if len(self._items) > 1:
            self._changes += 1
            n = n % len(self._items)
            self._items = self._items[-n:] + self._items[:-n] if n else self._items

    def clear(self):
        if self._items:
            self._changes += 1
        self._items.clear()

    def copy(self):
        return Deque(self._items, self.maxlen)

    def count(self, value):
        return sum([item is value or item == value for item in self._items])

    def reverse(self):
        self._items.reverse()

    def insert(self, index, value):
        if self.maxlen is not None and len(self._items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self._changes += 1
        self._items.insert(index, value)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return _each_of_deque(self, self._changes)

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


def _each_of_deque(deque, changes):
    i = 0
    while True:
        if deque._changes != changes:
            raise RuntimeError("deque mutated during iteration")
        if i >= len(deque._items):
            return
        yield deque._items[i]
        i += 1


class _Mapping:
    """What the stand-ins of dict's subclasses share: a dict in _items."""

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

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


class DefaultDict(_Mapping):
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


class OrderedDict(_Mapping):
    __stands_for__ = collections.OrderedDict
    __made_of__ = ("_items",)

    def __init__(self, *others, **named):
        self._items = {}
        self._changes = 0
        self.update(*others, **named)

    def __setitem__(self, key, value):
        self._changes += key not in self._items
        self._items[key] = value

    def __delitem__(self, key):
        del self._items[key]
        self._changes += 1

    def setdefault(self, key, default=None):
        if key not in self._items:
            self[key] = default
        return self._items[key]

    def pop(self, key, *default):
        self._changes += key in self._items
        return self._items.pop(key, *default)

    def clear(self):
        self._changes += 1
        self._items.clear()

    def update(self, *others, **named):
        for other in others:
            for key, value in dict(other).items():
                self[key] = value
        for key, value in named.items():
            self[key] = value

    def __iter__(self):
        return _each_of_ordered(self, list(self._items), self._changes)

    def keys(self):
        return _OrderedView(self, lambda key, value: key)

    def values(self):
        return _OrderedView(self, lambda key, value: value)

    def items(self):
        return _OrderedView(self, lambda key, value: (key, value))

    def move_to_end(self, key, last=True):
        if key not in self._items:
            raise KeyError(key)
        if key == list(self._items)[-1 if last else 0]:
            return
        self._changes += 1
        value = self._items.pop(key)
        self._items = {**self._items, key: value} if last else {key: value, **self._items}

    def popitem(self, last=True):
        if not self._items:
            raise KeyError("dictionary is empty")
        self._changes += 1
        key = list(self._items)[-1 if last else 0]
        return key, self._items.pop(key)


def _each_of_ordered(ordered, keys, changes):
    for key in keys:
        if ordered._changes != changes:
            raise RuntimeError("OrderedDict mutated during iteration")
        yield key


class _OrderedView:
    """What keys(), values() and items() of an OrderedDict give."""

    def __init__(self, ordered, part):
        self._ordered = ordered
        self._part = part

    def __len__(self):
        return len(self._ordered._items)

    def __iter__(self):
        return _each_of_view(iter(self._ordered), self._ordered, self._part)

    def __contains__(self, item):
        return item in list(self)


def _each_of_view(keys, ordered, part):
    for key in keys:
        yield part(key, ordered._items[key])


class Counter(_Mapping):
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
        return each([key for key, count in self._items.items() for _ in range(count)])

    def total(self):
        return sum(self._items.values())

    def _combined(self, other, combine):
        result = Counter()
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
