"""Hooks that return what they may not: TypeError and ValueError, with CPython's texts."""

import numpy as np

LOG = []


def _giving(**hooks):
    """A class whose hooks give these values."""
    return type(
        "Giving", (), {f"__{name}__": lambda self, *rest, _v=value: _v for name, value in hooks.items()}
    )


def _logged(**hooks):
    def hook(name, value):
        def give(self, *rest):
            LOG.append(name)
            return value

        return give

    return type("Logged", (), {f"__{name}__": hook(name, value) for name, value in hooks.items()})


class Int(int):
    pass


class Text(str):
    pass


class Number(float):
    pass


class BoolWithLen:
    def __bool__(self):
        LOG.append("bool")
        return 1

    def __len__(self):
        LOG.append("len")
        return 3


def _all(name, *values):
    return [_giving(**{name: value})() for value in values]


b_int, b_none, b_list, b_np = _all("bool", 1, None, [1], np.True_)
l_negative, l_float, l_text, l_none, l_huge, l_np, l_int, l_true = _all(
    "len", -1, 2.0, "3", None, 2**70, np.int64(3), Int(4), True
)
i_float, i_text, i_none, i_np, i_int, i_true = _all("index", 1.0, "1", None, np.int64(1), Int(1), True)
h_float, h_text, h_none, h_big, h_np, h_int, h_minus = _all(
    "hash", 1.5, "a", None, 2**70, np.int64(3), Int(2), -1
)
s_int, s_none, s_bytes, s_text, s_list = _all("str", 1, None, b"a", Text("own"), [])
r_int, r_none, r_bytes, r_text, r_list = _all("repr", 1, None, b"a", Text("own"), [])
f_int, f_none, f_text = _all("format", 1, None, Text("own"))
it_int, it_none, it_list = _all("iter", 1, None, [1])
fl_int, fl_none, fl_text, fl_own, fl_np = _all("float", 1, None, "1", Number(1.5), np.float64(2))
in_float, in_none, in_text, in_own, in_true = _all("int", 1.0, None, "1", Int(3), True)
c_float, c_none = _all("complex", 1.0, None)
co_int, co_list, co_none = _all("contains", 1, [], None)
ct_text, ct_none = _all("bytes", "a", None)
e_none, e_int, e_list = _all("eq", None, 3, [])
hint_text, hint_negative, hint_none = (
    type("Hint", (), {"__length_hint__": lambda self, _v=v: _v, "__iter__": lambda self: iter([1])})()
    for v in ("a", -1, NotImplemented)
)
bool_with_len = BoolWithLen()
rev = _giving(reversed=5)()
dirs = _giving(dir=5)()
inst = _giving(instancecheck=1)()
enters = type("E", (), {"__enter__": lambda self: 1, "__exit__": 5})()
init = type("I", (), {"__init__": lambda self: 5})
new = type("N", (), {"__new__": lambda cls: 5})
getitem_int = _giving(getitem=5)()
rounds = _giving(round="r")()
nexts = type("X", (), {"__iter__": lambda self: self, "__next__": None})()
iters = type("Y", (), {"__iter__": 5})()
calls = type("Z", (), {"__call__": 5})()
lens = type("L", (), {"__len__": 5})()
adds = type("A", (), {"__add__": 5})()
eqs = type("Q", (), {"__eq__": 5})()
bools = type("B", (), {"__bool__": None})()
hashes = type("H", (), {"__hash__": 5})()

EXPRESSIONS = """
bool(b_int)
bool(b_none)
bool(b_list)
bool(b_np)
not b_int
not b_none
1 if b_int else 2
1 if b_np else 2
b_int and 1
b_none or 1
any([b_int])
all([b_none])
list(filter(None, [b_int]))
bool(bool_with_len)
1 if bool_with_len else 2
bool(bools)
1 if bools else 2
len(l_negative)
len(l_float)
len(l_text)
len(l_none)
len(l_huge)
len(l_np)
len(l_int)
type(len(l_int))
type(len(l_true))
len(l_true)
len(lens)
bool(l_negative)
bool(l_float)
bool(l_huge)
bool(l_np)
not l_negative
1 if l_text else 2
1 if l_true else 0
[5, 6][i_float]
[5, 6][i_text]
[5, 6][i_none]
[5, 6][i_np]
[5, 6][i_int]
[5, 6][i_true]
(5, 6)[i_float]
x[i_float]
x[i_np]
x[i_int]
range(i_float)
range(i_int)
range(0, i_none)
[1] * i_float
[1] * i_int
[1, 2][:i_text]
[1, 2][i_np:]
hex(i_float)
bin(i_int)
int(i_float)
int(i_int)
type(int(i_int))
float(i_float)
float(i_int)
__import__('operator').index(i_float)
__import__('operator').index(i_int)
type(__import__('operator').index(i_true))
'a' * i_none
hash(h_float)
hash(h_text)
hash(h_none)
hash(h_big)
hash(h_np)
hash(h_int)
hash(h_minus)
hash(hashes)
{h_float: 1}
{h_text}
{}.get(h_none)
{h_minus: 1}.get(h_minus)
{h_big: 2}.get(h_big)
h_float in {}
str(s_int)
str(s_none)
str(s_bytes)
str(s_text)
type(str(s_text))
str(s_list)
f'{s_int}'
f'{s_text}'
'%s' % s_none
'{}'.format(s_int)
print(s_int)
str([s_int]) and 1
repr(r_int)
repr(r_none)
repr(r_bytes)
repr(r_text)
type(repr(r_text))
str(r_int)
str(r_text)
type(str(r_text))
f'{r_none}'
f'{r_none!r}'
f'{r_text!r}'
'%r' % r_int
[r_list].__repr__()
ascii(r_int)
format(f_int)
format(f_none, 'a')
format(f_text)
type(format(f_text))
f'{f_int}'
f'{f_text}'
'{}'.format(f_none)
iter(it_int)
iter(it_none)
iter(it_list)
iter(iters)
list(it_int)
[v for v in it_none]
[v for v in it_list]
[v for v in iters]
tuple(it_list)
a_of(*it_int)
1 in it_int
sum(it_list)
max(it_int)
zip(it_int)
enumerate(it_list)
map(str, it_none)
dict(it_list)
set(it_list)
next(nexts)
list(nexts)
[v for v in nexts]
float(fl_int)
float(fl_none)
float(fl_text)
float(fl_own) if False else 1
float(fl_np) if False else 1
int(in_float)
int(in_none)
int(in_text)
int(in_own) if False else 1
complex(c_float)
complex(c_none)
1 in co_int
1 in co_list
1 not in co_none
bytes(ct_text)
bytes(ct_none)
e_none == 1
e_int == 1
e_list != 1
e_list in [1]
1 in [e_int]
1 in [e_none]
[e_int].index(1)
[e_none].count(1)
list(hint_text)
list(hint_negative)
list(hint_none)
[*hint_negative]
reversed(rev)
list(reversed(rev))
dir(dirs)
isinstance(1, inst)
isinstance(1, 1)
isinstance(1, (int, 1))
isinstance(1, ('a', int))
isinstance(1, [int])
isinstance(1, int | str)
isinstance(1, list[int])
issubclass(1, int)
issubclass(int, 1)
init()
new()
getitem_int[0]
round(rounds)
calls()
adds + 1
eqs == 1
1 == eqs
eqs in [1]
int('x')
int('1.5')
int('')
int(None)
int([])
int('1', 50)
int('9', 8)
int(1, 2)
int(float('nan'))
int(float('inf'))
int(1j)
int(b'x')
int(x)
int('1' * 5000)
float('x')
float('')
float(None)
float([])
float(1j)
float('1_0')
complex('x')
complex(None)
complex('1', 2)
complex(1, '2')
bool(1, 2)
str(1, 2)
str(b'a', 'utf8')
bytes('a')
bytes(-1)
bytes([256])
bytes([1.5])
list(1)
list(1, 2)
tuple(None)
dict(1)
dict([1])
dict([(1, 2, 3)])
dict(['ab', 'c'])
dict([[1]])
set(1)
set([[]])
frozenset(None)
range()
range('a')
range(1.5)
range(1, 2, 0)
range(1, 2, 3, 4)
range(None)
slice()
len(5)
len(None)
len()
len([], [])
len(iter([]))
len(v for v in [])
abs('a')
abs(None)
abs()
round('a')
round(1.5, 'a')
round(1.5, None)
round(None)
divmod(1, 0)
divmod(1.0, 0)
divmod('a', 1)
divmod(1)
pow(0, -1)
pow(2, -1, 4)
pow(2, 3, 0)
pow('a', 2)
pow(2)
pow(2.0, 3, 4)
max()
max([])
max(())
max(1)
max(None)
max([], key=len)
max([], default=3)
max(1, 2, default=3)
max([1, 'a'])
max('a', 1)
max(1, None)
max({})
max(v for v in [])
min()
min([])
min({})
min(1)
min(iter([]))
min([None, None])
min(1, 2, key=5)
sum(1)
sum(['a'])
sum('ab')
sum(['a'], '')
sum([[1], [2]], [])
sum([b'a'], b'')
sum([1], 'a')
sum([1, None])
sum()
sum([1], start=2)
sorted(1)
sorted([1, 'a'])
sorted([3, 1], key=5)
sorted()
sorted([1], 2)
sorted([None, None])
sorted([1j, 2j])
any(1)
all(None)
any()
zip([1], 5)
zip(5)
list(zip([1], [2, 3], strict=True))
list(zip([1, 2], [3], strict=True))
list(zip([1, 2], [3, 4], [5], strict=True))
list(zip([1], [3], [5, 6], strict=True))
list(zip([1], [], [], strict=True))
list(zip([], [1], strict=True))
list(zip([], [], [1], strict=True))
list(zip(strict=True))
list(zip([1, 2], [3, 4], strict=True))
list(zip([1], strict=False))
list(zip([1], strict=1))
zip([1], other=1)
list(zip(x, [1, 2], strict=True))
[a for a in zip([1], [2, 3], strict=True)]
dict(zip('ab', [1], strict=True))
map()
map(len)
map(len, 5)
map(5, [1])
list(map(5, [1]))
list(map(len, [1]))
list(map(lambda a: a, [1], [2]))
filter()
filter(None)
filter(None, 5)
list(filter(5, [1]))
enumerate()
enumerate(5)
enumerate([1], 'a')
enumerate([1], start=None)
list(enumerate([1], start=1.5))
enumerate([1], stop=2)
reversed(5)
reversed({1})
reversed(v for v in [])
reversed()
iter()
iter(5)
iter(5, 6)
next(5)
next([])
next(iter([]))
next(iter([]), 'd')
next()
isinstance(1)
issubclass(1)
callable()
type()
type(1, 2)
type('a', 1, {})
type('a', (1,), {})
type('a', (bool,), {})
id()
hash([])
hash({})
hash(x)
hash(slice(1)) and 0
ord('ab')
ord('')
ord(1)
chr(-1)
chr('a')
chr(2**40)
hex('a')
hex(1.5)
bin(None)
oct([])
ascii()
format(1, 2)
format(1, 'z')
format('a', 'd')
format(1.5, 'd')
format(None, 'x')
format([], '>3')
format(x[0], 'q')
f'{1:z!}' if False else 0
f'{"a":d}'
f'{None:5}'
f'{[]:5}'
f'{1.5:,d}'
f'{x:5}'
'{'.format(1)
'}'.format(1)
'{0} {}'.format(1, 2)
'{a}'.format(1)
'{1}'.format(1)
'{} {}'.format(1)
'{0.b}'.format(1)
'{0[b]}'.format({})
'{:d}'.format('a')
'{!x}'.format(1)
'%d %d' % (1,)
'%d' % (1, 2)
'%d' % None
'%f' % 'a'
'%c' % 'ab'
'%c' % -1
'%y' % 1
'%' % 1
'%(a)d' % {'a': 'b'}
'%s' % ()
'a'.join([1])
'a'.join(1)
'a'.join(['b', None])
'a'.split('')
'a'.split(1)
'a'.index('b')
'a'.rindex('b')
'a'.replace('a')
'a'.replace(1, 2)
'a'.center('b')
'a'.center(5, 'bc')
'a'.encode('nope')
'a'.startswith(1)
'a'.startswith(['a'])
'a'.count()
'a'.zfill('a')
'a'.translate(5)
'a'.nope()
'a'.upper(1)
'a'.format_map(5)
'a'.partition('')
'a' in None
None in 'a'
b'a'.index(b'b')
b'a'.join(['a'])
b'a' in 'a'
(1).nope
(1).bit_length(1)
(1.5).is_integer(1)
(1).to_bytes(0, 'big')
(300).to_bytes(1, 'big')
(-1).to_bytes(1, 'big')
int.from_bytes('a', 'big')
float.fromhex('x')
(1,).index(2)
(1,).index()
(1,).count()
(1,).append(2)
(1, 2)[5]
(1,) + [1]
[].pop()
[1].pop(5)
[1].pop('a')
[].pop(0, 1)
[].remove(1)
[].index(1)
[].insert(1)
[].insert('a', 1)
[].append()
[].append(1, 2)
[].extend(1)
[].extend()
[].extend(None)
[].sort(1)
[].sort(nope=1)
[1, 'a'].sort()
[].count()
[].clear(1)
[].copy(1)
[].reverse(1)
[].nope
[1].index('a', 'b')
{}.pop('a')
{}.pop()
{}.pop(1, 2, 3)
{}.popitem()
{}.get()
{}.get(1, 2, 3)
{}.get(key=1)
{}.setdefault()
{}.update(1)
{}.update([1])
{}.update([(1, 2, 3)])
{}.update(1, 2)
{}.update(None)
{}.keys(1)
{}.nope
{}.clear(1)
{}.copy(1)
{}.items(1)
dict.fromkeys()
dict.fromkeys(1)
{1}.remove(2)
{1}.add()
{1}.add([])
{1}.discard([])
set().pop()
{1}.union(1)
{1}.update(1)
{1}.nope
{1} <= 1
{1}[0]
frozenset([1]).add(2)
range(3).index(7)
range(3).nope
range(3)[1, 2]
range(3)[1.5]
(lambda a: a)()
(lambda a: a)(1, 2)
(lambda a: a)(b=1)
(lambda a: a)(1, a=2)
(lambda: 1)(1)
(lambda *, a: a)()
(lambda *, a: a)(1)
(lambda a, /: a)(a=1)
(lambda a, b=1, *c, d, e=2, **f: a)()
f_two()
f_two(1)
f_two(1, 2, 3)
f_two(1, 2, 3, 4)
f_two(a=1)
f_two(b=1)
f_two(1, a=2)
f_two(1, 2, c=3)
f_two(1, 2, c=3, d=4)
f_two(1, bb=2)
f_two(*[1, 2, 3])
f_two(**{'a': 1})
f_two(**{'a': 1, 'b': 2, 'c': 3})
f_two(1, **{'a': 2})
f_two(a=1, **{'a': 2})
f_two(**{1: 2})
f_two(**[1])
f_two(**None)
f_two(*None)
f_two(*5)
f_three()
f_three(1)
f_keyword()
f_keyword(1)
f_keyword(k=1, l=2, m=3)
f_keyword(1, k=2, l=3)
f_positional()
f_positional(a=1)
f_positional(a=1, b=2)
f_positional(1, a=2)
f_default(1, 2, 3)
f_default(c=1)
f_default()
f_mixed()
f_mixed(1)
f_mixed(1, 2, 3, 4)
f_mixed(1, k=2, z=3)
f_star(1, 2, z=1)
f_nothing(1)
f_nothing(a=1)
f_generator()
f_generator(1, 2)
f_decorated(1)
Methods().one()
Methods().one(1, 2)
Methods().one(b=1)
Methods.one()
Methods.one(1)
Methods().cls(1)
Methods.cls(1, 2)
Methods().static(1)
Methods(1)
Methods(a=1)
WithInit()
WithInit(1, 2)
WithInit(b=1)
object(1)
object.__init__(1, 2)
Fields()
Fields(1, 2, 3)
Fields(z=1)
Frozen(1).a
Tupled()
Tupled(1)
Tupled(1, 2, 3)
Tupled(a=1, z=2)
Tupled(1, 2)._replace(z=1)
Colour(5)
Colour['NOPE']
Colour.NOPE
Methods.nope
Methods().nope
Methods().one.nope
f_two.nope
np.nope
None.nope
None()
5()
'a'()
[]()
x()
x.nope
x.nope()
x.sum(nope=1)
x.sum(1, 2, 3, 4, 5, 6, 7)
np.sin()
np.sin('a')
np.sin(None)
np.sin(x, nope=1)
np.zeros('a')
np.zeros(-1)
np.zeros()
np.array()
np.ones(3, 'nope')
x + 'a'
x + None
x + [1, 2]
x + {}
x @ 5
x[10]
x['a']
x[1.5]
x[None, None, 1, 1]
x[[10]]
x[{}]
x.reshape(3)
x.reshape('a')
float(x)
int(x[:0])
bool(x)
bool(x[:0])
if_array(x)
x.item()
x.index(1)
[*5]
[*None]
{**5}
{**None}
{**[1]}
{*5}
(*5,)
print(*5)
print(1, sep=5)
print(1, nope=5)
print(1, end=None)
print(1, file=5)
getattr(1)
getattr(1, 2)
getattr(1, 'nope')
getattr(x, 'nope')
setattr(1, 'a', 2)
setattr(None, 'a', 2)
setattr(f_two, 1, 2)
hasattr(1)
hasattr(1, 2)
vars(1)
vars(1, 2)
delattr(Methods(), 'a')
super()
super(1)
super(int, 1)
open()
eval('1 +')
eval('nope_name')
exec('1 +')
compile('1 +', 'f', 'eval')
nope_name
nope_name()
__import__('nope_module')
__import__('')
raise_of(1)
raise_of('a')
raise_of(None)
raise_of(int)
raise_from(1)
globals(1)
locals(1)
property(1).nope
sorted({1: 2}.items(), key=lambda a, b: a)
'abc'.find()
(1).__add__('a')
[1].__getitem__('a')
{}.__getitem__('a')
'a'.__add__(1)
(1).__lt__('a')
[].__iadd__(5)
object().nope
object() + 1
object() < object()
type(1)()
type('a')(1, 2, 3, 4)
__import__('math').sqrt(-1)
__import__('math').sqrt('a')
__import__('math').log(0)
__import__('math').exp(1000)
__import__('math').factorial(-1)
__import__('math').factorial(1.5)
__import__('math').gcd(1.5)
__import__('math').isqrt(-1)
__import__('math').comb(1, -1)
__import__('math').hypot('a')
__import__('math').floor('a')
__import__('math').fsum([1, 'a'])
__import__('math').prod(['a', 'b'])
__import__('math').dist([1], [1, 2])
__import__('math').nope
__import__('operator').itemgetter()
__import__('operator').itemgetter(1)([])
__import__('operator').attrgetter('nope')(1)
__import__('operator').attrgetter(1)
__import__('operator').methodcaller('nope')(1)
__import__('operator').index(1.5)
__import__('operator').index('a')
__import__('functools').reduce(f_two, [])
__import__('functools').reduce(f_two, 5)
__import__('functools').reduce(5, [1, 2])
__import__('functools').partial()
__import__('functools').partial(5)
__import__('functools').partial(f_two, 1)(2, 3)
__import__('functools').partial(f_two, b=1)(1, 2)
__import__('functools').partial(f_two, z=1)(1, 2)
__import__('itertools').islice([1], -1)
__import__('itertools').islice([1], 'a')
__import__('itertools').islice([1], 1, 2, 0)
__import__('itertools').islice([1])
__import__('itertools').islice(5, 1)
__import__('itertools').chain(5)
list(__import__('itertools').chain(5))
list(__import__('itertools').chain([1], None))
__import__('itertools').chain.from_iterable(5)
list(__import__('itertools').chain.from_iterable([5]))
__import__('itertools').combinations([1], -1)
__import__('itertools').combinations([1], 'a')
__import__('itertools').combinations(5, 1)
__import__('itertools').permutations([1], -1)
__import__('itertools').permutations([1], 'a')
__import__('itertools').product(5)
__import__('itertools').product([1], repeat=-1)
__import__('itertools').product([1], repeat='a')
__import__('itertools').product([1], nope=1)
__import__('itertools').repeat()
list(__import__('itertools').repeat(1, 'a'))
list(__import__('itertools').repeat(1, -3))
__import__('itertools').count('a')
__import__('itertools').cycle(5)
__import__('itertools').accumulate(5)
list(__import__('itertools').accumulate([1, 'a']))
list(__import__('itertools').accumulate([1, 2], 5))
__import__('itertools').starmap(f_two, 5)
list(__import__('itertools').starmap(f_two, [5]))
list(__import__('itertools').starmap(f_two, [(1,)]))
list(__import__('itertools').starmap(5, [(1,)]))
__import__('itertools').takewhile(5)
list(__import__('itertools').takewhile(5, [1]))
list(__import__('itertools').dropwhile(5, [1]))
__import__('itertools').pairwise(5)
__import__('itertools').zip_longest(5)
list(__import__('itertools').zip_longest([1], nope=2))
__import__('itertools').compress(5, 5)
__import__('itertools').groupby(5)
__import__('itertools').tee(5)
__import__('itertools').tee([1], -1)
__import__('itertools').tee([1], 'a')
__import__('itertools').filterfalse(5)
__import__('collections').deque(5)
__import__('collections').deque([1], -1)
__import__('collections').deque([1], 'a')
__import__('collections').deque().pop()
__import__('collections').deque().popleft()
__import__('collections').deque([1])[5]
__import__('collections').deque([1])['a']
__import__('collections').deque([1]).index(5)
__import__('collections').deque([1]).remove(5)
__import__('collections').deque([1]).rotate('a')
__import__('collections').deque([1], 1).insert(0, 5)
__import__('collections').deque([1]).nope
__import__('collections').deque([1]) + [1]
__import__('collections').deque([1]) + __import__('collections').deque([2])
__import__('collections').deque([1]) * 2
__import__('collections').deque([1]) == __import__('collections').deque([1])
__import__('collections').deque([1]) < __import__('collections').deque([2])
__import__('collections').deque([1]) == [1]
__import__('collections').OrderedDict(5)
__import__('collections').OrderedDict([1])
__import__('collections').OrderedDict().popitem()
__import__('collections').OrderedDict()['a']
__import__('collections').OrderedDict().pop('a')
__import__('collections').OrderedDict().move_to_end('a')
__import__('collections').OrderedDict(a=1).nope
__import__('collections').OrderedDict(a=1) | {'b': 2}
__import__('collections').OrderedDict({1: 2}, {3: 4})
__import__('collections').defaultdict(5)
__import__('collections').defaultdict(None)['a']
__import__('collections').defaultdict(lambda: 1 / 0)['a']
__import__('collections').defaultdict(f_two)['a']
__import__('collections').defaultdict(list, 5)
__import__('collections').defaultdict(list).pop('a')
__import__('collections').Counter(5)
__import__('collections').Counter('a', 'b')
__import__('collections').Counter('a').nope
__import__('collections').Counter('a') + 5
__import__('collections').Counter('a') - {'a': 1}
__import__('collections').Counter([[]])
__import__('collections').Counter('ab')['z']
__import__('collections').Counter('ab').most_common('a')
__import__('collections').Counter(a='x') + __import__('collections').Counter(a=1)
__import__('collections').namedtuple('P', 'a a')
__import__('collections').ChainMap({})['a']
__import__('heapq').heappop([])
__import__('heapq').heappush(5, 1)
__import__('heapq').heapify(5)
__import__('heapq').heapify([1, 'a'])
__import__('heapq').heapreplace([], 1)
__import__('heapq').nlargest('a', [1])
__import__('heapq').nsmallest(1, 5)
__import__('bisect').bisect([1], 'a')
__import__('bisect').bisect(5, 1)
__import__('bisect').bisect([1], 1, -1)
__import__('bisect').insort((1,), 1)
__import__('copy').copy()
__import__('copy').deepcopy()
__import__('copy').copy(v for v in [])
__import__('copy').deepcopy(v for v in [])
__import__('statistics').mean([])
__import__('statistics').mode([])
__import__('statistics').stdev([1])
"""


def a_of(*arguments):
    return arguments


def f_two(a, b):
    return a


def f_three(first, second, third):
    return first


def f_keyword(*, k, l):  # noqa: E741
    return k


def f_positional(a, b, /):
    return a


def f_default(a, b=2):
    return a


def f_mixed(a, b=1, /, c=2, *, k, z=None):
    return a


def f_star(*args):
    return args


def f_nothing():
    return 1


def f_generator(a):
    yield a


def _decorate(function):
    def inner(*args, **keywords):
        return function(*args, **keywords)

    return inner


@_decorate
def f_decorated(a, b):
    return a


def if_array(v):
    return 1 if v else 2


def raise_of(v):
    raise v


def raise_from(v):
    raise ValueError("a") from v


class Methods:
    def one(self, a):
        return a

    @classmethod
    def cls(cls):
        return cls

    @staticmethod
    def static():
        return 1


class WithInit:
    def __init__(self, a):
        self.a = a


import collections  # noqa: E402
import dataclasses  # noqa: E402
import enum  # noqa: E402


@dataclasses.dataclass
class Fields:
    a: int
    b: int = 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int


Tupled = collections.namedtuple("Tupled", "a b")


class Colour(enum.Enum):
    RED = 1


def frozen_assignment(x):
    f = Frozen(1)
    try:
        f.a = 2
    except dataclasses.FrozenInstanceError as error:
        return x, str(error), f.a


def slots_assignment(x):
    class S:
        __slots__ = ("a",)

    s = S()
    texts = []
    for name in ("a", "b"):
        try:
            getattr(s, name)
        except AttributeError as error:
            texts.append(str(error))
    try:
        s.b = 1
    except AttributeError as error:
        texts.append(str(error))
    return x, texts


def named_tuple_assignment(x):
    t = Tupled(1, 2)
    try:
        t.a = 3
    except AttributeError as error:
        return x, str(error)


def enum_assignment(x):
    try:
        Colour.RED = 3
    except AttributeError as error:
        return x, str(error)


def tuple_assignment(x):
    t = (1, 2)
    texts = []
    try:
        t[0] = 1
    except TypeError as error:
        texts.append(str(error))
    try:
        del t[0]
    except TypeError as error:
        texts.append(str(error))
    try:
        "abc"[0] = 1
    except TypeError as error:
        texts.append(str(error))
    return x, texts


def item_assignment(x):
    texts = []
    for owner, key, value in (
        ([1], 5, 1),
        ([1], "a", 1),
        ([1], 1.5, 1),
        ({}, [], 1),
        (5, 0, 1),
        (None, 0, 1),
        (range(3), 0, 1),
        (frozenset(), 0, 1),
        (x, 10, 1),
        (x, "a", 1),
        (x, 0, "a"),
        ([1, 2, 3], slice(None, None, 2), [1]),
        ([1, 2, 3], slice(None, None, 2), 5),
        ([1, 2, 3], slice(0, 1), 5),
    ):
        try:
            owner[key] = value
        except (TypeError, IndexError, ValueError) as error:
            texts.append((type(error).__name__, str(error)))
    return x, texts


def item_assignment_let_go(x):
    v = [1, 2, 3]
    y = x + 1
    v[::2] = [y]
    return v


def item_deletion(x):
    texts = []
    for owner, key in (([1], 5), ([1], "a"), ({}, 1), (5, 0), ((1,), 0), (x, 0), ("a", 0), (set(), 1)):
        try:
            del owner[key]
        except (TypeError, IndexError, ValueError, KeyError) as error:
            texts.append((type(error).__name__, str(error)))
    return x, texts


def unpacking(x):
    texts = []
    for value in (
        (1,),
        (1, 2, 3),
        [1],
        [1, 2, 3],
        "a",
        "abc",
        {1: 2},
        5,
        None,
        iter([1]),
        range(3),
        x,
        x[:1],
        {1},
        (v for v in [1]),
    ):
        try:
            a, b = value
            texts.append((a, b))
        except (TypeError, ValueError) as error:
            texts.append((type(error).__name__, str(error)))
    return texts


def unpacking_short(x):
    a, b = (1,)
    return x, a, b


def unpacking_long(x):
    a, b = [1, 2, 3]
    return x, a, b


def unpacking_star(x):
    texts = []
    for value in ((), (1,), [1], "", 5, None, {}, iter([1])):
        try:
            a, *b, c = value
            texts.append((a, b, c))
        except (TypeError, ValueError) as error:
            texts.append((type(error).__name__, str(error)))
    return x, texts


def unpacking_nested(x):
    texts = []
    for value in ((1, (2,)), (1, 2), ((1, 2), 3)):
        try:
            a, (b, c) = value
            texts.append((a, b, c))
        except (TypeError, ValueError) as error:
            texts.append((type(error).__name__, str(error)))
    return x, texts


def unpacking_in_loop(x):
    seen = []
    try:
        for a, b in [(1, 2), (3,), (4, 5)]:
            seen.append((a, b))
    except ValueError as error:
        return x, seen, str(error)


def unpacking_in_comprehension(x):
    try:
        return x, [a for a, b in [(1, 2), 5]]
    except TypeError as error:
        return x, str(error)


def unbound_local(x):
    try:
        if x.ndim > 3:
            later = 1
        return later
    except UnboundLocalError as error:
        return x, str(error), error.name


def unbound_local_deleted(x):
    k = 1
    del k
    try:
        return k  # noqa: F821
    except UnboundLocalError as error:
        return x, str(error)


def unbound_free(x):
    def inner():
        return later

    try:
        inner()
    except NameError as error:
        text = str(error)
    later = 1
    return x, text, inner()


def unbound_deleted_twice(x):
    k = 1
    del k
    try:
        del k  # noqa: F821
    except UnboundLocalError as error:
        return x, str(error)


def name_error_attributes(x):
    try:
        nope_name
    except NameError as error:
        return x, str(error), error.name


def attribute_error_attributes(x):
    m = Methods()
    try:
        m.nope
    except AttributeError as error:
        return x, str(error), error.name, error.obj is m


def attribute_error_of_list(x):
    v = [1]
    try:
        v.nope
    except AttributeError as error:
        return x, str(error), error.name, error.obj is v


def import_error_attributes(x):
    try:
        from math import nope  # noqa: F401
    except ImportError as error:
        return x, str(error).split("(")[0], error.name, hasattr(error, "path")


def key_error_attributes(x):
    try:
        {}["a"]
    except KeyError as error:
        return x, str(error), error.args, repr(error)


def stop_iteration_value(x):
    def each():
        yield 1
        return 5

    g = each()
    next(g)
    try:
        next(g)
    except StopIteration as error:
        return x, error.value, error.args


def unicode_error(x):
    try:
        "\u00e9".encode("ascii")
    except UnicodeEncodeError as error:
        return x, str(error), error.start, error.reason


def not_a_context_manager(x):
    texts = []
    for manager in (5, None, Methods(), [], open):
        try:
            with manager:
                pass
        except (TypeError, AttributeError) as error:
            texts.append((type(error).__name__, str(error)))
    return x, texts


def exit_is_not_callable(x):
    try:
        with enters:
            pass
    except TypeError as error:
        return x, str(error)


def not_an_exception(x):
    texts = []
    for caught in (5, "a", (ValueError, 5), int):
        try:
            try:
                raise ValueError("inner")
            except caught:
                pass
        except TypeError as error:
            texts.append(str(error))
    return x, texts


def raise_without_active(x):
    try:
        raise
    except RuntimeError as error:
        return x, str(error)


def exception_class_with_arguments(x):
    class Needs(Exception):
        def __init__(self, a):
            super().__init__(a)

    try:
        raise Needs
    except TypeError as error:
        return x, str(error)


def class_statement_errors(x):
    texts = []
    try:

        class A(5):
            pass
    except TypeError as error:
        texts.append(str(error))
    try:

        class B(bool):
            pass
    except TypeError as error:
        texts.append(str(error))
    try:

        class C(Methods, Methods):
            pass
    except TypeError as error:
        texts.append(str(error))
    try:

        class D(Methods, option=1):
            pass
    except TypeError as error:
        texts.append(str(error))
    return x, texts


def abstract_instantiation(x):
    import abc

    class A(abc.ABC):
        @abc.abstractmethod
        def f(self):
            pass

    try:
        A()
    except TypeError as error:
        return x, str(error)


def recursion_error(x):
    def again(n):
        return again(n + 1)

    try:
        again(0)
    except RecursionError as error:
        return x, str(error).split(" while")[0]


def assertion(x):
    texts = []
    for v in (0, "", [], None):
        try:
            assert v, ("message", v)
        except AssertionError as error:
            texts.append((str(error), error.args))
    try:
        assert not x.shape
    except AssertionError as error:
        texts.append((str(error), error.args))
    return x, texts


def argument_names_in_nested(x):
    class Local:
        def method(self, a):
            return a

    def inner(a):
        return a

    texts = []
    for call in (lambda: Local().method(), lambda: inner(), lambda: Local(1), lambda: (lambda a: a)()):
        try:
            call()
        except TypeError as error:
            texts.append(str(error))
    return x, texts


def generator_called_wrong(x):
    try:
        for _ in f_generator(1, 2, 3):
            pass
    except TypeError as error:
        return x, str(error)


def keyword_given_twice(x):
    d = {"a": 1}
    texts = []
    for call in (
        lambda: f_two(a=2, **d),
        lambda: f_two(**d, **d),
        lambda: dict(a=1, **d),
        lambda: f_star(**d),
    ):
        try:
            call()
        except TypeError as error:
            texts.append(str(error))
    return x, texts


def format_of_arrays(x):
    texts = []
    for form in ("{:.2f}", "{:d}", "{:>5}", "{!r:>30}"):
        for value in (x[0], np.int32(3), x, np.float32(1.5), np.bool_(True)):
            try:
                texts.append(form.format(value))
            except (TypeError, ValueError) as error:
                texts.append(str(error))
    return texts
