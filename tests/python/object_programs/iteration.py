"""Containers changed while they are gone over."""

import collections
import itertools

import numpy as np

LOG = []
table = {"a": 1, "b": 2, "c": 3}
numbers = {1, 2, 3}
values = [1, 2, 3]


def _kept(function):
    """What the function gives, or the text of what it raises."""
    try:
        return function()
    except (RuntimeError, ValueError, StopIteration, KeyError, TypeError) as error:
        return type(error).__name__, str(error), LOG[:]


def dict_grows(x):
    d = {"a": x, "b": x + 1}
    seen = []
    try:
        for key in d:
            seen.append(key)
            d[key + "!"] = 1
    except RuntimeError as error:
        return seen, str(error), d
    return seen


def dict_grows_let_go(x):
    d = {"a": x}
    for key in d:
        d[key + "!"] = 1
    return d


def dict_shrinks(x):
    d = {"a": 1, "b": 2}
    seen = []
    try:
        for key in d:
            seen.append(key)
            del d[key]
    except RuntimeError as error:
        return x, seen, str(error), d


def dict_shrinks_let_go(x):
    d = {"a": 1, "b": 2}
    for key in d:
        d.pop(key)
    return x, d


def dict_last_key_deleted(x):
    d = {"a": 1}
    for key in d:
        del d[key]
    return x, d


def dict_replaced_key(x):
    d = {"a": 1, "b": 2, "c": 3}
    seen = []
    try:
        for key in d:
            seen.append(key)
            del d["a" if key == "a" else key]
            d["z" + key] = 1
    except RuntimeError as error:
        return x, seen, str(error), d
    return x, seen, d


def dict_moved_key(x):
    d = {"a": 1, "b": 2, "c": 3}
    seen = []
    n = 0
    for key in d:
        seen.append(key)
        n += 1
        if n > 10:
            break
        d[key] = d.pop(key)
    return x, seen, d


def dict_values_change(x):
    d = {"a": 1, "b": 2}
    for key in d:
        d[key] = d[key] * 10
    return x, d


def dict_items_see_changes(x):
    d = {"a": 1, "b": 2}
    seen = []
    for key, value in d.items():
        seen.append((key, value))
        d["b"] = 99
    return x, seen


def dict_values_see_changes(x):
    d = {"a": x, "b": x}
    seen = []
    for value in d.values():
        seen.append(value)
        d["b"] = x + 5
    return seen


def dict_items_grow(x):
    d = {"a": 1, "b": 2}
    seen = []
    try:
        for key, value in d.items():
            seen.append(key)
            d[value] = key
    except RuntimeError as error:
        return x, seen, str(error)


def dict_values_grow(x):
    d = {"a": 1, "b": 2}
    try:
        for value in d.values():
            d[value] = 1
    except RuntimeError as error:
        return x, str(error), d


def dict_cleared(x):
    d = {"a": 1, "b": 2}
    try:
        for _ in d:
            d.clear()
    except RuntimeError as error:
        return x, str(error), d


def dict_updated(x):
    d = {"a": 1}
    try:
        for _ in d:
            d.update(b=2)
    except RuntimeError as error:
        return x, str(error), d


def dict_setdefault(x):
    d = {"a": 1}
    try:
        for key in d:
            d.setdefault(key + key, 1)
    except RuntimeError as error:
        return x, str(error), d


def dict_popitem(x):
    d = {"a": 1, "b": 2, "c": 3}
    seen = []
    try:
        for key in d:
            seen.append((key, d.popitem()))
    except RuntimeError as error:
        return x, seen, str(error), d


def dict_comprehension(x):
    d = {"a": 1, "b": 2}
    return x, _kept(lambda: [d.setdefault(key * 2, 1) for key in d])


def dict_generator(x):
    d = {"a": 1, "b": 2}
    return x, _kept(lambda: list(d.pop(key) for key in d))


def dict_iterator_held(x):
    d = {"a": 1, "b": 2}
    it = iter(d)
    first = next(it)
    d["c"] = 3
    try:
        next(it)
    except RuntimeError as error:
        return x, first, str(error)


def dict_iterator_stays_broken(x):
    d = {"a": 1, "b": 2}
    it = iter(d)
    next(it)
    d["c"] = 3
    texts = []
    for _ in range(2):
        try:
            texts.append(next(it, "end"))
        except RuntimeError as error:
            texts.append(str(error))
        d.pop("c", None)
    return x, texts


def dict_view_iterator_held(x):
    d = {"a": 1, "b": 2}
    keys, items = d.keys(), d.items()
    d["c"] = 3
    it = iter(items)
    del d["a"]
    return x, list(keys), _kept(lambda: next(it))


def dict_global_grows(x):
    try:
        for key in table:
            table[key + key] = 1
    except RuntimeError as error:
        return x, str(error), list(table)


def dict_global_shrinks(x):
    table["zz"] = 1
    try:
        for _ in table:
            del table["zz"]
    except RuntimeError as error:
        return x, str(error), list(table)


def dict_changed_in_helper(x):
    d = {"a": 1}

    def change():
        d["b"] = 2

    try:
        for _ in d:
            change()
    except RuntimeError as error:
        return x, str(error)


def dict_enumerated(x):
    d = {"a": 1, "b": 2}
    try:
        for i, key in enumerate(d):
            d[i] = key
    except RuntimeError as error:
        return x, str(error), d


def dict_zipped(x):
    d = {"a": 1, "b": 2}
    try:
        for key, _v in zip(d, x):
            d[key + "x"] = 1
    except RuntimeError as error:
        return x, str(error), d


def dict_mapped(x):
    d = {"a": 1, "b": 2}
    try:
        for key in map(str.upper, d):
            d[key] = 1
    except RuntimeError as error:
        return x, str(error), d


def dict_unpacked(x):
    d = {"a": 1, "b": 2}
    first, *rest = d
    d["c"] = 2
    return x, first, rest


def dict_reversed(x):
    d = {"a": 1, "b": 2}
    seen = []
    try:
        for key in reversed(d):
            seen.append(key)
            d[key + key] = 1
    except RuntimeError as error:
        return x, seen, str(error)


def dict_many_rounds(x):
    d = {i: i for i in range(40)}
    count = 0
    try:
        for key in d:
            count += 1
            if key == 30:
                d["new"] = 1
    except RuntimeError as error:
        return x, count, str(error)


def dict_with_arrays_in_loop(x):
    d = {"a": x, "b": x}
    total = x * 0
    try:
        for key in d:
            total = total + d[key]
            d[key * 2] = total
    except RuntimeError as error:
        return total, str(error), list(d)


def set_grows(x):
    v = {1, 2, 3}
    seen = []
    try:
        for item in v:
            seen.append(item)
            v.add(item + 10)
    except RuntimeError as error:
        return x, seen, str(error), v


def set_grows_let_go(x):
    v = {1, 2}
    for item in v:
        v.add(item + 10)
    return x


def set_shrinks(x):
    v = {1, 2, 3}
    try:
        for item in v:
            v.remove(item)
    except RuntimeError as error:
        return x, str(error), v


def set_last_removed(x):
    v = {1}
    for item in v:
        v.discard(item)
    return x, v


def set_changed_operators(x):
    v = {1, 2}
    try:
        for _ in v:
            v |= {5}
    except RuntimeError as error:
        return x, str(error), v


def set_pop(x):
    v = {1, 2, 3}
    seen = []
    try:
        for _ in v:
            seen.append(v.pop())
    except RuntimeError as error:
        return x, seen, str(error)


def set_iterator_held(x):
    v = {1, 2}
    it = iter(v)
    next(it)
    v.add(3)
    return x, _kept(lambda: next(it))


def set_global_changes(x):
    numbers.discard(99)
    try:
        for _ in numbers:
            numbers.add(99)
    except RuntimeError as error:
        return x, str(error), sorted(numbers)


def set_comprehension(x):
    v = {1, 2}
    return x, _kept(lambda: {v.add(i + 7) for i in v})


def set_same_size(x):
    v = {1}
    seen = []
    for item in v:
        seen.append(item)
        v.discard(item)
        v.add(item)
        if len(seen) > 4:
            break
    return x, seen


def deque_grows(x):
    v = collections.deque([1, 2, 3])
    seen = []
    try:
        for item in v:
            seen.append(item)
            v.append(item)
    except RuntimeError as error:
        return x, seen, str(error), v


def deque_grows_let_go(x):
    v = collections.deque([1, 2, 3])
    for item in v:
        v.appendleft(item)
    return x, v


def deque_shrinks(x):
    v = collections.deque([1, 2, 3])
    try:
        for _ in v:
            v.popleft()
    except RuntimeError as error:
        return x, str(error), v


def deque_last(x):
    v = collections.deque([1])
    try:
        for _ in v:
            v.pop()
    except RuntimeError as error:
        return x, str(error), v
    return x, v


def deque_rotated(x):
    v = collections.deque([1, 2, 3])
    seen = []
    try:
        for item in v:
            seen.append(item)
            v.rotate(1)
    except RuntimeError as error:
        return x, seen, str(error)


def deque_item_set(x):
    v = collections.deque([1, 2, 3])
    seen = []
    for i, item in enumerate(v):
        seen.append(item)
        v[-1] = 50 + i
    return x, seen


def deque_iterator_held(x):
    v = collections.deque([1, 2])
    it = iter(v)
    v.append(3)
    return x, _kept(lambda: next(it))


def deque_comprehension(x):
    v = collections.deque([1, 2])
    return x, _kept(lambda: [v.append(i) for i in v])


def deque_bounded(x):
    v = collections.deque([1, 2, 3], maxlen=3)
    return x, _kept(lambda: [v.append(i) for i in v])


def ordered_grows(x):
    v = collections.OrderedDict(a=1, b=2)
    seen = []
    try:
        for key in v:
            seen.append(key)
            v[key + key] = 1
    except RuntimeError as error:
        return x, seen, str(error), v


def ordered_grows_let_go(x):
    v = collections.OrderedDict(a=1)
    for key in v:
        v[key + key] = 1
    return x


def ordered_moved(x):
    v = collections.OrderedDict(a=1, b=2)
    seen = []
    try:
        for key in v:
            seen.append(key)
            v.move_to_end("a")
            if len(seen) > 4:
                break
    except RuntimeError as error:
        return x, seen, str(error)
    return x, seen


def ordered_deleted(x):
    v = collections.OrderedDict(a=1, b=2)
    return x, _kept(lambda: [v.pop(key) for key in v])


def default_dict_grows(x):
    v = collections.defaultdict(int, a=1)
    try:
        for key in v:
            v[key + "b"] += 1
    except RuntimeError as error:
        return x, str(error), v


def counter_grows(x):
    v = collections.Counter("aab")
    try:
        for key in v:
            v[key + "b"] += 1
    except RuntimeError as error:
        return x, str(error), v


def chain_map(x):
    v = collections.ChainMap({"a": 1}, {"b": 2})
    seen = []
    for key in v:
        seen.append(key)
        v["z"] = 1
    return x, seen, dict(v)


def list_grows(x):
    v = [1, 2]
    seen = []
    for item in v:
        seen.append(item)
        if len(v) < 6:
            v.append(item * 10)
    return x, seen


def list_shrinks(x):
    v = [1, 2, 3, 4]
    seen = []
    for item in v:
        seen.append(item)
        v.remove(item)
    return x, seen, v


def list_cleared(x):
    v = [x, x + 1]
    seen = []
    for item in v:
        seen.append(item)
        v.clear()
    return seen, v


def list_inserted(x):
    v = [1, 2]
    seen = []
    for item in v:
        seen.append(item)
        if len(v) < 6:
            v.insert(0, item)
    return x, seen, v


def list_iterator_exhausted(x):
    v = [1]
    it = iter(v)
    seen = list(it)
    v.append(2)
    return x, seen, list(it), next(it, "end")


def list_iterator_exhausted_in_loop(x):
    v = [1]
    it = iter(v)
    for _ in it:
        pass
    v.append(2)
    return x, next(it, "end")


def list_iterator_exhausted_then_kept(x):
    v = [1]
    it = iter(v)
    next(it)
    found = next(it, "end")
    v.append(2)
    return x, found, next(it, "end"), it.__length_hint__()


def list_slice_assigned(x):
    v = [1, 2, 3]
    seen = []
    for item in v:
        seen.append(item)
        v[1:] = [7]
    return x, seen, v


def list_replaced(x):
    v = [1, 2, 3]
    seen = []
    for item in v:
        seen.append(item)
        v = [9]
    return x, seen, v


def list_reversed(x):
    v = [1, 2, 3]
    seen = []
    for item in reversed(v):
        seen.append(item)
        v[0] = 100
        if len(v) < 6:
            v.append(5)
    return x, seen, v


def list_reversed_shrinks(x):
    v = [1, 2, 3, 4]
    seen = []
    for item in reversed(v):
        seen.append(item)
        del v[0:2]
    return x, seen


def list_global_grows(x):
    seen = []
    for item in values:
        seen.append(item)
        if len(values) < 6:
            values.append(item)
    return x, seen, len(values)


def list_extended_by_itself(x):
    v = [1, 2]
    v.extend(v)
    v += v
    v[1:1] = v
    return x, v


def list_zipped(x):
    v = [1, 2, 3]
    seen = []
    for a, b in zip(v, v):
        seen.append((a, b))
        v.pop()
    return x, seen


def list_of_itself(x):
    v = [1, 2, 3, 4]
    return x, [v.pop() for _ in v], v


def list_enumerated(x):
    v = ["a", "b", "c"]
    seen = []
    for i, item in enumerate(v):
        seen.append((i, item))
        if i == 0:
            del v[1]
    return x, seen


def list_sorted_while_sorting(x):
    v = [3, 1, 2]
    seen = []

    def key(item):
        seen.append(len(v))
        return item

    v.sort(key=key)
    return x, v, seen


def list_modified_while_sorting(x):
    v = [3, 1, 2]

    def key(item):
        v.append(1)
        return item

    try:
        v.sort(key=key)
    except ValueError as error:
        return x, str(error), v


def list_iterated_by_generator(x):
    v = [1, 2, 3]

    def each():
        for item in v:
            yield item

    seen = []
    for item in each():
        seen.append(item)
        if item == 1:
            v.remove(2)
    return x, seen


def array_changed_while_iterated(x):
    seen = []
    for item in x:
        seen.append(item)
        x[-1] = 50.0
    return seen


def array_rows_changed(x):
    a = np.zeros((2, 2)) + x[:2]
    seen = []
    for row in a:
        row += 1
        seen.append(row)
        a[1] = 7
    return a, seen


def array_enumerated(x):
    seen = []
    for i, item in enumerate(x):
        seen.append(float(item))
        if i + 1 < len(x):
            x[i + 1] = item + 1
    return seen


def iterator_consumed_inside(x):
    it = iter([1, 2, 3, 4, 5])
    seen = []
    for item in it:
        seen.append((item, next(it, None)))
    return x, seen


def iterator_over_itself(x):
    it = iter([1, 2, 3, 4])
    return x, iter(it) is it, list(zip(it, it)), list(it)


def islice_leaves_the_rest(x):
    it = iter(range(10))
    first = list(itertools.islice(it, 3))
    return x, first, next(it), list(it)


def takewhile_takes_one_more(x):
    it = iter([1, 2, 9, 3])
    return x, list(itertools.takewhile(lambda v: v < 5, it)), list(it)


def zip_takes_from_the_first(x):
    a, b = iter([1, 2, 3]), iter([10])
    return x, list(zip(a, b)), list(a)


def zip_takes_from_the_first_when_shorter(x):
    a, b = iter([1]), iter([10, 20, 30])
    return x, list(zip(a, b)), list(b)


def pairwise_is_lazy(x):
    it = iter([1, 2, 3, 4])
    pairs = itertools.pairwise(it)
    return x, next(pairs), next(it), list(pairs)


def tee_is_lazy(x):
    it = iter([1, 2, 3])
    a, b = itertools.tee(it)
    return x, next(a), next(it), list(a), list(b)


def chain_is_lazy(x):
    v = [1]
    it = itertools.chain(v, [5])
    v.append(2)
    return x, list(it)


def zip_longest_is_lazy(x):
    it = iter([1, 2, 3])
    z = itertools.zip_longest(it, [7])
    return x, next(z), next(it), list(z)


def compress_is_lazy(x):
    it = iter([1, 2, 3])
    z = itertools.compress(it, [1, 1, 1])
    return x, next(z), next(it), list(z)


def groupby_is_lazy(x):
    it = iter([1, 1, 2, 3])
    groups = itertools.groupby(it)
    key, group = next(groups)
    return x, key, list(group), next(it), [k for k, _ in groups]


def batched_or_not(x):
    it = iter([1, 2, 3, 4, 5])
    batched = getattr(itertools, "batched", None)
    if batched is None:
        return x
    batches = batched(it, 2)
    return x, next(batches), next(it), list(batches)


def map_is_lazy(x):
    def log(v):
        LOG.append(v)
        return v

    m = map(log, [1, 2, 3])
    LOG.append("made")
    first = next(m)
    LOG.append("first")
    return x, first, list(m)


def filter_is_lazy(x):
    def odd(v):
        LOG.append(v)
        return v % 2

    f = filter(odd, [1, 2, 3, 4, 5])
    first = next(f)
    LOG.append("first")
    return x, first, list(f)


def zip_is_lazy(x):
    def each(name):
        for i in range(3):
            LOG.append((name, i))
            yield i

    z = zip(each("a"), each("b"))
    LOG.append("made")
    first = next(z)
    LOG.append("first")
    return x, first, list(z)


def zip_strict_is_lazy(x):
    def each(name, n):
        for i in range(n):
            LOG.append((name, i))
            yield i

    z = zip(each("a", 2), each("b", 3), strict=True)
    LOG.append("made")
    seen = [next(z)]
    LOG.append("first")
    try:
        for item in z:
            seen.append(item)
    except ValueError as error:
        return x, seen, str(error)


def cycle_is_lazy(x):
    it = iter([1, 2, 3])
    c = itertools.cycle(it)
    first = next(c)
    return x, first, next(it), [next(c) for _ in range(4)]


def product_reads_at_once(x):
    it = iter([1, 2])
    p = itertools.product(it, "ab")
    return x, list(it), list(p)


def accumulate_is_lazy(x):
    it = iter([1, 2, 3])
    a = itertools.accumulate(it)
    return x, next(a), next(it), list(a)


def starmap_is_lazy(x):
    it = iter([(1, 2), (3, 4), (5, 6)])
    s = itertools.starmap(lambda a, b: a + b, it)
    return x, next(s), next(it), list(s)


def generator_reads_late(x):
    k = 1
    g = (v + k for v in [1, 2])
    k = 10
    return x, list(g)


def any_and_all_stop(x):
    def each():
        for i in range(4):
            LOG.append(i)
            yield i

    g = each()
    return x, any(v == 1 for v in g), list(g), all(v < 2 for v in each())


def in_stops(x):
    it = iter([1, 2, 3, 4])
    return x, 2 in it, list(it), 9 in iter([1])


def unpacking_takes_one_more(x):
    it = iter([1, 2, 3, 4, 5])
    try:
        a, b = it
    except ValueError as error:
        return x, str(error), list(it)


def min_max_of_iterators(x):
    it = iter([3, 1, 2])
    return x, min(it), list(it), max(iter([]), default="none")


def generator_raises_stop_iteration(x):
    def each():
        yield 1
        raise StopIteration

    try:
        return x, list(each())
    except RuntimeError as error:
        return x, str(error), type(error.__cause__).__name__


def generator_already_executing(x):
    def each():
        yield next(g)

    g = each()
    try:
        return x, next(g)
    except ValueError as error:
        return x, str(error)


def send_before_start(x):
    def each():
        yield 1

    try:
        each().send(5)
    except TypeError as error:
        return x, str(error)


def list_that_its_own_generator_reads(x):
    rows = [x, x + 1]
    rows.extend(rows[-1] * 2 + i for i in range(3))
    return rows


def list_that_a_map_reads(x):
    rows = [x]
    rows.extend(map(lambda i: rows[-1] * i + len(rows), range(1, 4)))
    return rows


def list_that_its_own_generator_changes(x):
    rows = [x]

    def values():
        for i in range(3):
            yield rows[-1] + i
            rows.append(x * 7)

    rows.extend(values())
    return rows


def list_of_a_generator_that_raises(x):
    rows = [x]

    def values():
        yield rows[-1] + 1
        raise KeyError("no more")

    try:
        rows.extend(values())
    except KeyError as error:
        return rows, str(error)


def list_of_an_iterator_that_another_reads(x):
    rows, values = [x], iter([x + 1, x + 2, x + 3])
    next(values)
    rows.extend(values)
    return rows, list(values)


def list_extended_by_itself(x):
    rows = [x, x + 1]
    rows.extend(rows)
    rows.extend(reversed([x * 2, x * 3]))
    return rows


def dict_that_its_own_generator_reads(x):
    rows = {"first": x}
    rows.update((str(i), rows["first"] * len(rows)) for i in range(3))
    return rows


def deque_that_its_own_generator_reads(x):
    rows = collections.deque([x])
    rows.extend(rows[-1] * 2 + len(rows) for _ in range(3))
    rows.extendleft(rows[0] + i for i in range(2))
    rows.extend(rows)
    return list(rows)
