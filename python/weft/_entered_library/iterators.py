"""zip, map, filter and itertools as generators."""

import itertools

from .._entered import plainly


def each(values):
    for value in values:
        yield value


def zip_(*iterables, strict=False):
    if not strict:
        return each(zip(*iterables))
    return _zip_strict([iter(iterable) for iterable in iterables])


def _zip_strict(iterators):
    while iterators:
        row = []
        for i in range(len(iterators)):
            try:
                row.append(next(iterators[i]))
            except StopIteration:
                if i > 0:
                    raise ValueError(_unequal(i, "shorter")) from None
                break
        if not row:
            break
        yield tuple(row)
    for i in range(1, len(iterators)):
        for _ in iterators[i]:
            raise ValueError(_unequal(i, "longer"))


def _unequal(i, how):
    return f"zip() argument {i + 1} is {how} than argument{' ' if i == 1 else 's 1-'}{i}"


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
    return each(found)


def combinations(iterable, r):
    pool = tuple(iterable)
    chosen = [()]
    for _ in range(r):
        chosen = [c + (i,) for c in chosen for i in range(c[-1] + 1 if c else 0, len(pool))]
    return each([tuple([pool[i] for i in c]) for c in chosen])


def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    chosen = [()]
    for _ in range(r):
        chosen = [c + (i,) for c in chosen for i in range(c[-1] if c else 0, len(pool))]
    return each([tuple([pool[i] for i in c]) for c in chosen])


def permutations(iterable, r=None):
    if r is not None and not isinstance(r, int):
        return plainly(itertools.permutations, iterable, r)
    pool = tuple(iterable)
    chosen = [()]
    for _ in range(len(pool) if r is None else r):
        chosen = [c + (i,) for c in chosen for i in range(len(pool)) if i not in c]
    return each([tuple([pool[i] for i in c]) for c in chosen])


def count(start=0, step=1):
    return _count(start, step)


def _count(start, step):
    while True:
        yield start
        start = start + step


def repeat(object, times=None):
    if times is not None and not isinstance(times, int):
        return plainly(itertools.repeat, object, times)
    return _repeat(object, times)


def _repeat(object, times):
    while times is None or times > 0:
        yield object
        if times is not None:
            times -= 1


def islice(iterable, *bounds):
    if not bounds:
        return plainly(itertools.islice, iterable, *bounds)
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
    return each(zip(values[:-1], values[1:]))


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
    return each([value for value, selected in zip(data, selectors) if selected])


def zip_longest(*iterables, fillvalue=None):
    columns = [list(iterable) for iterable in iterables]
    length = max([len(column) for column in columns]) if columns else 0
    return each(zip(*[column + [fillvalue] * (length - len(column)) for column in columns]))


def each_next(iterator):
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
    if not isinstance(n, int) or n < 0:
        return plainly(itertools.tee, iterable, n)
    values = list(iterable)
    return tuple([each(values) for _ in range(n)])


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
            yield group, each(values[start:i])
            start, group = i, this
    if values:
        yield group, each(values[start:])


def batched(iterable, n):
    values = list(iterable)
    return each([tuple(values[i : i + n]) for i in range(0, len(values), n)])
