"""Operators on the program's own classes: what is asked, in which order, and what is raised when nobody answers."""

import operator

LOG = []


class Silent:
    """Every operator answers NotImplemented."""

    def __init__(self, name="s"):
        self.name = name

    def __repr__(self):
        return f"Silent({self.name})"


def _declining(method):
    def ask(self, other, *rest):
        LOG.append((type(self).__name__, self.name, method))
        return NotImplemented

    return ask


NAMES = "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor divmod".split()
for _name in NAMES:
    for _prefix in ("", "r", "i"):
        if _prefix + _name != "idivmod":
            setattr(Silent, f"__{_prefix}{_name}__", _declining(f"__{_prefix}{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Silent, f"__{_name}__", _declining(f"__{_name}__"))
Silent.__hash__ = object.__hash__


class Derived(Silent):
    pass


class Overriding(Silent):
    def __radd__(self, other):
        LOG.append("Overriding.__radd__")
        return ("radd", self.name)

    def __rpow__(self, other, modulus=None):
        LOG.append("Overriding.__rpow__")
        return ("rpow", self.name)

    def __gt__(self, other):
        LOG.append("Overriding.__gt__")
        return ("gt", self.name)

    def __eq__(self, other):
        LOG.append("Overriding.__eq__")
        return ("eq", self.name)

    __hash__ = None


class Plain:
    pass


class Left:
    def __add__(self, other):
        LOG.append("Left.__add__")
        if isinstance(other, Right):
            return NotImplemented
        return ("left", type(other).__name__)


class Right:
    def __radd__(self, other):
        LOG.append("Right.__radd__")
        return ("right", type(other).__name__)


class Counting:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        LOG.append(("eq", self.v, getattr(other, "v", other)))
        return NotImplemented if not isinstance(other, Counting) else self.v == other.v

    def __hash__(self):
        LOG.append(("hash", self.v))
        return hash(self.v)

    def __lt__(self, other):
        LOG.append(("lt", self.v, other.v))
        return self.v < other.v


class OnlyNe:
    def __ne__(self, other):
        LOG.append("ne")
        return "not equal"


class OnlyEq:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        LOG.append("eq")
        return [] if self.v else [1]

    __hash__ = object.__hash__


class Unary:
    def __neg__(self):
        LOG.append("neg")
        return NotImplemented

    def __bool__(self):
        LOG.append("bool")
        return False


class Rows:
    def __init__(self, *items):
        self.items = items

    def __getitem__(self, i):
        LOG.append(("getitem", i))
        return self.items[i]


class Ending:
    def __getitem__(self, i):
        LOG.append(("getitem", i))
        if i == 2:
            raise StopIteration
        return i


class Refusing:
    __iter__ = None

    def __getitem__(self, i):
        return i


class NoContains:
    __contains__ = None

    def __iter__(self):
        return iter([1])


class IterOnly:
    def __iter__(self):
        LOG.append("iter")
        return iter([1, 2, float("nan")])


class Container:
    def __contains__(self, item):
        LOG.append(("contains", item))
        return "yes"


class EmptyContainer:
    def __contains__(self, item):
        LOG.append(("contains", item))
        return []


class NoHash:
    __hash__ = None


class InPlace:
    def __init__(self):
        self.v = []

    def __iadd__(self, other):
        LOG.append("iadd")
        self.v.append(other)
        return self

    def __imul__(self, other):
        LOG.append("imul")
        return NotImplemented

    def __mul__(self, other):
        LOG.append("mul")
        return "mul"


class IndexOnly:
    def __index__(self):
        LOG.append("index")
        return 2


class Float(float):
    def __radd__(self, other):
        LOG.append("Float.__radd__")
        return "float radd"

    def __lt__(self, other):
        LOG.append("Float.__lt__")
        return "float lt"


class Integer(int):
    def __radd__(self, other):
        LOG.append("Integer.__radd__")
        return "int radd"

    def __add__(self, other):
        LOG.append("Integer.__add__")
        return NotImplemented

    def __eq__(self, other):
        LOG.append("Integer.__eq__")
        return NotImplemented

    __hash__ = int.__hash__


class Text(str):
    def __radd__(self, other):
        LOG.append("Text.__radd__")
        return "text radd"

    def __rmod__(self, other):
        LOG.append("Text.__rmod__")
        return "text rmod"


class ArrayLike:
    __array_ufunc__ = None

    def __add__(self, other):
        LOG.append("ArrayLike.__add__")
        return NotImplemented

    def __radd__(self, other):
        LOG.append("ArrayLike.__radd__")
        return "array radd"

    def __eq__(self, other):
        LOG.append("ArrayLike.__eq__")
        return "array eq"


class Priority:
    __array_priority__ = 100

    def __rmul__(self, other):
        LOG.append("Priority.__rmul__")
        return "priority"


class PriorityDeclines:
    __array_priority__ = 100

    def __rmul__(self, other):
        LOG.append("PriorityDeclines.__rmul__")
        return NotImplemented


s, t, d, o = Silent("s"), Silent("t"), Derived("d"), Overriding("o")
plain, left, right = Plain(), Left(), Right()
c1, c2, c3 = Counting(1), Counting(2), Counting(1)

_SYMBOLS = "+ - * @ / // % ** << >> & | ^ < <= > >= == !=".split()
EXPRESSIONS = (
    "\n".join(f"s {symbol} t" for symbol in _SYMBOLS)
    + "\n".join(f"\ns {symbol} 1\n1 {symbol} s" for symbol in _SYMBOLS)
    + "\n".join(f"\ns {symbol} plain\nplain {symbol} s\nplain {symbol} plain" for symbol in ("+", "<", "=="))
    + """
s + d
d + s
s + o
o + s
d + o
s < o
s == o
o == s
s ** o
divmod(s, t)
divmod(s, 1)
divmod(1, s)
pow(s, 2)
pow(2, s)
pow(s, 2, 3)
operator.add(s, t)
operator.lt(s, t)
operator.iadd(s, t)
operator.contains(s, 1)
left + right
left + 1
1 + right
1.5 + right
[1] + right
(1,) + right
'a' + right
None + right
None + left
'a' + left
left + left
right + right
[1] + left
x + s
s + x
x + plain
plain + x
x < s
s < x
x == s
s == x
x + left
x + right
x[0] + right
x[0] + s
s + x[0]
x[0] == s
x[0] < plain
ArrayLike() + x
x + ArrayLike()
x == ArrayLike()
x[0] + ArrayLike()
x * Priority()
x[0] * Priority()
x * PriorityDeclines()
x * NoHash()
-s
+s
~s
-Unary()
not Unary()
-plain
~plain
abs(plain)
c1 == c2
c1 == c3
c1 != c2
c1 == 1
1 == c1
c1 != 1
c1 in [c2, c3]
c1 in (c2, c1)
c1 in {c3}
c1 in {c3: 1}
[c1, c2] == [c3, c2]
(c1, c2) < (c3, c1)
[c2, c1] < [c1]
[c1, c2].index(c3)
[c1, c2, c3].count(c1)
(c1, c2).index(c3)
(c1, c2, c3).count(c3)
{c1: 'a', c3: 'b'}
{c1, c2, c3} == {c1, c2}
sorted([c2, c1, c3], key=lambda c: c) and LOG[:]
min(c2, c1, c3).v
max([c2, c1, c3]).v
OnlyNe() != 1
OnlyNe() == 1
1 != OnlyNe()
OnlyNe() != OnlyNe()
OnlyEq(1) != OnlyEq(1)
OnlyEq(0) != OnlyEq(1)
OnlyEq(0) == 5
OnlyEq(1) in [OnlyEq(0)]
OnlyEq(0) in [OnlyEq(0)]
[OnlyEq(1)] == [OnlyEq(1)]
3 in Rows(1, 2, 3)
4 in Rows(1, 2, 3)
list(Rows(1, 2))
[v for v in Rows(4, 5)]
tuple(reversed(Rows(1, 2)))
a_of(*Rows(1, 2))
sum(Rows(1, 2, 3))
max(Rows(1, 5, 3))
list(Ending())
[v for v in Ending()]
list(Refusing())
[v for v in Refusing()]
1 in Refusing()
1 in NoContains()
1 in plain
1 in 5
'a' in 5
1 in 'abc'
2 in IterOnly()
float('nan') in IterOnly()
3 in Container()
3 not in Container()
3 in EmptyContainer()
3 not in EmptyContainer()
list(plain)
[v for v in plain]
iter(plain)
next(plain)
len(plain)
plain[0]
plain['a':'b']
plain()
plain.missing
Plain.missing
hash(NoHash())
{NoHash(): 1}
{NoHash()}
NoHash() in {}
{}[NoHash()]
{}.get(NoHash())
{[]: 1}
{[], 1}
{}[[]]
{}.get({})
[] in {}
{} in set()
[1, 2, 3][IndexOnly()]
(1, 2, 3)[IndexOnly()]
'abc'[IndexOnly()]
range(5)[IndexOnly()]
list(range(IndexOnly()))
[0] * IndexOnly()
'ab' * IndexOnly()
x[IndexOnly()]
x[IndexOnly():]
[1, 2, 3][:IndexOnly()]
hex(IndexOnly())
[1, 2, 3]['a']
[1, 2, 3][1.0]
(1, 2)[None]
'abc'['a']
[1, 2, 3][1:'a']
[1][5]
(1,)[5]
'a'[5]
range(3)[7]
{'a': 1}['b']
{1: 2}[(1, 2)]
1[0]
None[0]
None + 1
1 + None
[] + ()
() + []
[] + 1
1 + []
'a' + 1
1 + 'a'
b'a' + 'a'
'a' * 'b'
[1] * 1.5
[1] * [1]
{} + {}
{} | []
{1} | [1]
{1} + {2}
{1} - [1]
frozenset([1]) | {2}
{1} | frozenset([2])
{1} & {1: 2}.keys()
{1: 2}.keys() | {5}
{1: 2}.keys() - [1]
1 < 'a'
'a' < 1
[] < ()
None < None
{} < {}
{1} < {1, 2}
{1} < [1]
1j < 2
[1] < [None]
[1, 'a'] < [1, 2]
(1, 'a') < (1, 2)
'%s %s' % 1
'%d' % 'a'
'%s' % (1, 2)
'%(a)s' % 1
'%(a)s' % {'b': 1}
'%z' % 1
1 / 0
1.0 / 0
1 // 0
1 % 0
1.5 // 0
0 ** -1
0.0 ** -1
1 << -1
1 << 1.5
2 ** 'a'
~1.5
-'a'
+[]
-None
not None
left @ 1
1 @ 2
[1] @ [2]
x @ plain
x @ 'a'
Float(1.0) + 2.0
2.0 + Float(1.0)
2 + Float(1.0)
2.0 > Float(1.0)
1 + Integer(2)
Integer(2) + 1
Integer(2) == 2
2 == Integer(2)
Integer(2) + Integer(3)
'a' + Text('b')
'%s' % Text('b')
x + Integer(2)
x[0] + Integer(2)
x + Float(2.0)
"""
)


def a_of(*arguments):
    return arguments


def in_place_on_self(x):
    p = InPlace()
    q = p
    p += 1
    p += x
    return p is q, len(q.v), q.v


def in_place_falls_back(x):
    p = InPlace()
    p *= 2
    return x, p


def in_place_declined(x):
    v = s
    try:
        v += t
    except TypeError as error:
        return x, v is s, str(error)


def in_place_of_plain(x):
    errors = []
    for change in ("+=", "-=", "*=", "@=", "/=", "//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^="):
        try:
            exec(f"v = plain; v {change} 1", globals(), {})
        except TypeError as error:
            errors.append(str(error))
    return x, errors


def in_place_declined_everywhere(x):
    v = s
    w = []
    try:
        v -= 1
    except TypeError as error:
        w.append(str(error))
    try:
        v **= 1
    except TypeError as error:
        w.append(str(error))
    try:
        v //= plain
    except TypeError as error:
        w.append(str(error))
    try:
        v @= t
    except TypeError as error:
        w.append(str(error))
    return x, w


def list_iadd_tuple(x):
    v = [1]
    w = v
    v += (2, 3)
    v += "ab"
    v += {7: 8}
    v += range(2)
    return x, v is w, v


def list_iadd_bad(x):
    v = [1]
    try:
        v += 1
    except TypeError as error:
        return x, v, str(error)


def list_imul(x):
    v = [1, 2]
    w = v
    v *= 2
    return x, v is w, w


def list_imul_zero(x):
    v = [x]
    w = v
    v *= 0
    return w, v is w


def tuple_iadd(x):
    v = (1,)
    w = v
    v += (2,)
    return x, v, w


def tuple_item_iadd(x):
    v = ([1],)
    try:
        v[0] += [2]
    except TypeError as error:
        return x, v, str(error)


def set_in_place(x):
    v = {1, 2, 3}
    w = v
    v |= {4}
    v &= {2, 3, 4}
    v -= {2}
    v ^= {9}
    return x, v is w, sorted(w)


def set_in_place_list(x):
    v = {1}
    try:
        v |= [2]
    except TypeError as error:
        return x, v, str(error)


def dict_ior(x):
    v = {"a": 1}
    w = v
    v |= {"b": 2}
    v |= [("c", 3)]
    return x, v is w, w


def augmented_item_order(x):
    class Items:
        def __getitem__(self, key):
            LOG.append(("get", key))
            return 1

        def __setitem__(self, key, value):
            LOG.append(("set", key, value))

    items = Items()
    items["a"] += 2
    items[1:2] += 3
    return x


def augmented_attribute_order(x):
    class Owner:
        @property
        def v(self):
            LOG.append("get")
            return 1

        @v.setter
        def v(self, value):
            LOG.append(("set", value))

    owner = Owner()
    owner.v += 5
    return x


def comparison_chain(x):
    class Step:
        def __init__(self, v):
            self.v = v

        def __lt__(self, other):
            LOG.append(("lt", self.v, other.v))
            return self.v < other.v

    return x, Step(1) < Step(3) < Step(2) < Step(5), Step(1) < Step(2) < Step(3)


def condition_of_result(x):
    class Answer:
        def __bool__(self):
            LOG.append("bool")
            return True

    class Asked:
        def __lt__(self, other):
            LOG.append("lt")
            return Answer()

        def __contains__(self, item):
            return Answer()

    if Asked() < 1:
        y = x + 1
    else:
        y = x
    return y, 1 in Asked(), not (Asked() < 2)


def identity_equality(x):
    p, q = Plain(), Plain()
    return x, p == p, p == q, p != p, p != q, p in [q, p], [p] == [p], [p] == [q], p == None, p != 1  # noqa: E711


def instance_of_global_equality(x):
    return x, plain == plain, plain != plain, plain == left, [plain, 1].index(plain), (plain,) == (plain,)


def subclass_comparison_order(x):
    results = []
    for a, b in ((s, d), (d, s), (s, o), (o, s), (d, d)):
        for compare in (operator.lt, operator.eq, operator.ne, operator.ge):
            try:
                results.append(compare(a, b))
            except TypeError as error:
                results.append(str(error))
    return x, results


def sum_of_instances(x):
    try:
        return x, sum([right, right])
    except TypeError as error:
        return x, str(error)


def sort_counts_comparisons(x):
    items = [Counting(v) for v in (3, 1, 2, 5, 4)]
    items.sort()
    return x, [item.v for item in items]


def sorted_counts_comparisons(x):
    return x, [item.v for item in sorted([Counting(v) for v in (9, 8, 7, 1, 2, 3, 4, 5, 6)])]


def sorted_reverse(x):
    return x, [item.v for item in sorted([Counting(v) for v in (1, 3, 2)], reverse=True)]


def bisect_counts_comparisons(x):
    import bisect

    items = [Counting(v) for v in range(7)]
    return x, bisect.bisect(items, Counting(3)), bisect.bisect_left(items, Counting(3))


def heap_counts_comparisons(x):
    import heapq

    heap = []
    for v in (5, 2, 8, 1, 9, 3):
        heapq.heappush(heap, Counting(v))
    return x, [heapq.heappop(heap).v for _ in range(6)]


def match_value(x):
    match c1:
        case 5:
            return x, 5
        case _:
            return x, "other"
