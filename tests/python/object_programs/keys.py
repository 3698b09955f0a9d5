"""Keys and members: identity before equality, equal keys of different types, signed zeros, NaN."""

import collections

import numpy as np

LOG = []
nan1, nan2 = float("nan"), float("nan")
np_nan = np.float64("nan")
table = {nan1: "nan1", 1: "one", 0.0: "zero"}
nans = [nan1, nan2]
f32, f64, i8, i64 = np.float32(0.5), np.float64(0.5), np.int8(1), np.int64(1)

current = other = nan1
one_list, two_list = [1], [1]
one_or_two = one_list


def _before(call):
    """Between the calls NaN and lists become other objects of the same value."""
    global current, other, one_or_two
    current = (nan1, nan2, nan1)[call]
    other = (nan1, nan1, nan2)[call]
    one_or_two = (one_list, two_list, one_list)[call]


EXPRESSIONS = """
{current: 1}.get(other)
{nan1: 1}.get(current)
current in {nan1: 1}
current in [nan1]
current in (other,)
current is other
[current].index(other)
[current].count(other)
[current] == [other]
(current, 1) == (other, 1)
{(current,): 1}.get((other,))
{current} == {other}
len({current, other})
{current: 1} == {other: 1}
one_or_two is one_list
(len(one_or_two), one_or_two is one_list)
(one_or_two == one_list, one_or_two is two_list, one_or_two is not one_list)
{nan1: 1}.get(nan2)
{nan1: 1}.get(nan1)
{nan1: 1}[nan2]
{nan1: 1}[nan1]
nan2 in {nan1: 1}
nan1 in {nan1: 1}
len({nan1: 1, nan2: 2, nan1: 3})
{nan1: 1, nan1: 2}[nan1]
{nan1: 1}.pop(nan2, 'no')
{nan1: 1}.setdefault(nan2, 'no')
{(nan1,): 1}.get((nan1,))
{(nan1,): 1}.get((nan2,))
table.get(nan1)
table.get(nan2)
table.get(True)
table.get(-0.0)
table[1.0]
len({nan1, nan2, nan1})
nan1 in {nan1}
nan2 in {nan1}
nan1 in [nan1]
nan2 in [nan1]
nan1 in (nan1,)
nan2 in (nan1,)
nan1 in nans
nans.index(nan2)
nans.count(nan1)
[nan1].index(nan2)
[nan1].count(nan2)
[nan1].count(nan1)
(nan1,).count(nan1)
(nan1,).count(nan2)
(nan1,).index(nan1)
(nan1,).index(nan2)
[nan1].remove(nan2)
[nan1].remove(nan1)
[nan1] == [nan1]
[nan1] == [nan2]
(nan1,) == (nan1,)
(nan1,) == (nan2,)
(nan1,) != (nan1,)
{1: nan1} == {1: nan1}
{1: nan1} == {1: nan2}
{nan1} == {nan1}
{nan1} == {nan2}
[[nan1]] == [[nan1]]
nan1 == nan1
nan1 != nan1
nan1 is nan1
nan1 is nan2
[nan1] < [nan1]
[nan1, 1] < [nan1, 2]
(nan1, 1) < (nan2, 2)
max(nan1, 1.0), max(1.0, nan1)
sorted([3.0, nan1, 1.0])
min([nan1, 1.0]), min([1.0, nan1])
np_nan in [np_nan]
np_nan in (np_nan,)
{np_nan: 1}.get(np_nan)
{np_nan: 1}.get(nan1)
[x[0]].index(x[0])
x[0] in [0.0]
0.0 in [x[0]]
collections.Counter([nan1, nan1, nan2])
{1: 'a', True: 'b', 1.0: 'c'}
{True: 'a', 1: 'b'}
{1.0: 'a', 1: 'b'}
{0: 'a', False: 'b', 0.0: 'c', -0.0: 'd'}
{-0.0: 'a', 0.0: 'b'}
{0.0: 'a', -0.0: 'b'}
{1: 'a'} | {True: 'b'}
{**{1: 'a'}, **{True: 'b', 1.0: 'c'}}
dict([(1, 'a'), (True, 'b')])
dict.fromkeys([1, True, 1.0, 2])
{1: 'a'}.get(True)
{True: 'a'}[1]
{1, True, 1.0}
{True, 1}
{1.0, 1}
{-0.0, 0.0}
{0.0, -0.0}
{0, -0.0}
{1} | {True}
{True} | {1}
{1} & {True}
{True} & {1}
{1} - {True}
{1: 'a', 2: 'b'} == {True: 'a', 2.0: 'b'}
[1, True, 1.0].index(True)
[1, True, 1.0].count(1)
(1, 1.0).index(1.0)
True in [1]
1.0 in {1}
-0.0 in [0.0]
[0.0].index(-0.0)
-0.0 == 0.0
{(1, 2.0): 'a'}.get((True, 2))
{1: 1, 1+0j: 2}
{2: 'a', decimal.Decimal(2): 'b'}
{0.5: 'a', fractions.Fraction(1, 2): 'b'}
{fractions.Fraction(1, 2): 'a', 0.5: 'b'}
{decimal.Decimal('0.5'): 'a'}.get(0.5)
{'a': 1, b'a': 2}
{'1': 1, 1: 2}
{None: 1, (): 2, '': 3, 0: 4, False: 5}
{f64: 'a', 0.5: 'b'}
{0.5: 'a', f64: 'b'}
{f32: 'a', f64: 'b', 0.5: 'c'}
{i8: 'a', i64: 'b', 1: 'c', True: 'd', 1.0: 'e'}
{1: 'a', i8: 'b'}
{1: 'a'}[i64]
{1: 'a'}.get(i8)
{i64: 'a'}.get(1)
{i64: 'a'}[True]
{np.str_('a'): 1, 'a': 2}
{'a': 1}[np.str_('a')]
{np.bool_(True): 1, True: 2, 1: 3}
{x[1]: 'a', 1: 'b', True: 'c'}
{1: 'a', x[1]: 'b'}
{1.0: 'a'}.get(x[1])
{x[1], 1, 1.0}
{1, x[1]}
x[1] in {1: 'a'}
x[1] in [1, 2]
1 in [x[0], x[1]]
[x[1], 1].count(1)
(x[0], x[1]).index(1)
[1, 2].index(x[1])
list({x[1]: 1})[0]
dict.fromkeys([x[0], 0, 0.0])
x[0].item() in {0.0: 1}
{x.shape: 1}
{x.shape[0]: 1, 4: 2, 4.0: 3}
{x.dtype: 1, np.dtype('f8'): 2}
{int: 1, float: 2, np.float64: 3}[float]
{x.sum(): 'a'}.get(6)
{len(x): 'a', 4.0: 'b'}
{range(3): 'a'}.get(range(0, 3, 1))
{frozenset([1, 2]): 'a'}.get(frozenset([2, 1]))
{slice(1): 1} if False else 0
{x: 1}
x in {}
{x}
x in [x]
x in [1]
x in (x + 1,)
[x].index(x)
[x, x].count(x)
x.tolist() in [[0.0, 1.0, 2.0, 3.0]]
[x] == [x]
[x] == [x + 0]
(x,) == (x,)
{1: x} == {1: x}
{1: x} == {1: x + 0}
[x[:1]] == [x[:1] + 0]
x[:1] in [x[:1] + 0]
"""


def remove_by_equality(x):
    v = [1, 2.0, True]
    v.remove(True)
    v.remove(2)
    return x, v


def remove_by_identity(x):
    v = [nan2, nan1]
    v.remove(nan1)
    return x, len(v), v[0] is nan2


def remove_missing(x):
    try:
        [1].remove(2)
    except ValueError as error:
        return x, str(error)


def index_missing(x):
    texts = []
    for v in ([1], (1,), "a", b"a", range(3), collections.deque([1])):
        try:
            v.index("b" if isinstance(v, str) else b"b" if isinstance(v, bytes) else 7)
        except ValueError as error:
            texts.append(str(error))
    return x, texts


def index_with_bounds(x):
    v = [1, 2, 1, 2]
    results = [v.index(1, 1), v.index(2, -1), v.index(2, 0, 2), (1, 2, 1).index(1, 1)]
    try:
        v.index(1, 3)
    except ValueError as error:
        results.append(str(error))
    return x, results


def first_key_stays(x):
    d = {1: "a"}
    d[True] = "b"
    d[1.0] = "c"
    e = {0.0: 1}
    e[-0.0] = 2
    s = {1}
    s.add(True)
    s.add(1.0)
    return x, d, e, s


def deleted_key_comes_back_as_another(x):
    d = {1: "a", 2: "b"}
    del d[True]
    d[1.0] = "c"
    return x, d


def update_keeps_the_key(x):
    d = {1: "a"}
    d.update({True: "b"})
    d |= {1.0: "c"}
    d.setdefault(1.0, "d")
    return x, d


def counter_of_mixed(x):
    return x, collections.Counter([1, True, 1.0, x[1], np.int8(1), 2])


def computed_nan_keys(x):
    n = float(np.sqrt(x[0] - 1))
    d = {n: 1}
    return x, d.get(n), d.get(float("nan")), n in [n], n in d


def scalar_nan_keys(x):
    n = np.sqrt(x[0] - 1)
    d = {n: 1}
    return x, d.get(n), n in d, n in [n], [n].count(n)


def element_identity(x):
    a = x[0]
    return x[0] is x[0], a is a, a in [a], [a].index(a)


def nan_argument(x, n=nan1):
    return x, {n: 1}.get(n), n in [n], n in (n,), [n] == [n], n == n, {n: 2}.get(nan1), n in {nan1: 1}


def nan_from_literal(x):
    a, b = float("nan"), float("nan")
    return x, {a: 1}.get(b), a in [b], a in [a], [a] == [b], len({a, b}), (a, 1) == (a, 1), (a,) == (b,)


def inf_minus_inf(x):
    inf = 1e308 * 10
    a = inf - inf
    return (
        x,
        a == a,
        a in [a],
        {a: 1}.get(a),
        {a: 1}.get(inf - inf),
        [a].count(a),
        [inf - inf].count(inf - inf),
    )


def np_nan_is_one_object(x):
    return (
        x,
        np.nan in [np.nan],
        {np.nan: 1}.get(np.nan),
        np.nan == np.nan,
        [np.nan] == [np.nan],
        {np.nan} == {np.nan},
    )


def small_and_large_ints(x):
    a, b = 1000 * 1000, 1000 * 1000
    return x, a == b, a in [b], {a: 1}.get(b), [a] == [b]


def negative_zero_items(x):
    v = [0.0, -0.0]
    return x, [str(item) for item in {0.0, -0.0}], v.index(-0.0), str({-0.0: 1}), str({0: 1, -0.0: 2})


def hash_of_values(x):
    return (
        x,
        hash(1) == hash(1.0) == hash(True) == hash(np.int8(1)),
        hash(0.5) == hash(np.float32(0.5)),
        hash(-1) == hash(-2),
        hash(nan1) == hash(nan2),
    )


def set_keeps_the_first(x):
    a = [type(v).__name__ for v in {1, True}]
    b = [type(v).__name__ for v in {True, 1}]
    c = [type(v).__name__ for v in {1} | {True}]
    d = [type(v).__name__ for v in {True} & {1}]
    e = [type(v).__name__ for v in {1.0, 2} & {1, 2.0}]
    f = [type(v).__name__ for v in frozenset([np.float64(1), 1])]
    return x, a, b, c, d, e, f


def keys_view_membership(x):
    d = {nan1: nan1, 1: 2}
    return (
        x,
        nan1 in d.keys(),
        nan2 in d.keys(),
        nan1 in d.values(),
        nan2 in d.values(),
        (nan1, nan1) in d.items(),
        (nan1, nan2) in d.items(),
        (True, 2.0) in d.items(),
    )


def dict_with_instance_keys(x):
    class Key:
        def __init__(self, v):
            self.v = v

        def __eq__(self, other):
            LOG.append(("eq", self.v, other.v))
            return self.v == other.v

        def __hash__(self):
            LOG.append(("hash", self.v))
            return hash(self.v)

    a, b = Key(1), Key(1)
    d = {a: 1}
    return x, d.get(a), d.get(b), b in d, len({a, b})


def dict_with_plain_instance_keys(x):
    class Key:
        pass

    a, b = Key(), Key()
    d = {a: x, b: 2}
    return d[a], d.get(b), a in d, d.get(Key()), [k is a for k in d]


def tuple_keys_with_numpy(x):
    d = {(1, 2.0): "a"}
    return x, d.get((x[1], x[2])), d.get((np.int8(1), 2)), (True, 2) in d


def match_on_nan(x):
    match nan1:
        case float() as v if v == nan1:
            return x, "equal"
        case _:
            return x, "not equal"


def ordered_dict_equality(x):
    a = collections.OrderedDict([(1, 2), (3, 4)])
    b = collections.OrderedDict([(3, 4), (1, 2)])
    return x, a == b, a == dict(b), dict(a) == b, a != b


def default_dict_nan(x):
    d = collections.defaultdict(int)
    d[nan1] += 1
    d[nan1] += 1
    d[nan2] += 1
    return x, sorted(d.values())


def deque_membership(x):
    d = collections.deque([nan1, 1])
    return x, nan1 in d, nan2 in d, d.count(nan1), d.count(nan2), d.count(True), d.index(True)


def counter_methods(x):
    c = collections.Counter(a=1)
    return x, c[nan1], c[1], dict(c + collections.Counter({1: 1, True: 2}))
