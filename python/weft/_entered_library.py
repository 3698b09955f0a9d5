"""Python functions that capture enters in place of the standard library's functions and classes written in C.

What they return stands for an object of another type, and is never given to the program itself: where it would be, the
graph breaks before the call.
"""


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


REPLACEMENTS = {
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
