"""Hooks of the program's classes and modules: called as often and in the order in which CPython calls them."""

import sys
import types

import numpy as np

LOG = []


class Missing:
    present = 1

    def __getattr__(self, name):
        LOG.append(("getattr", name))
        if name.startswith("no"):
            raise AttributeError(name)
        return len(name)


class Everything:
    present = 1

    def __init__(self):
        object.__setattr__(self, "own", 5)

    def __getattribute__(self, name):
        LOG.append(("getattribute", name))
        return object.__getattribute__(self, name)

    def method(self):
        return self.own


class Both:
    def __getattribute__(self, name):
        LOG.append(("getattribute", name))
        raise AttributeError(name)

    def __getattr__(self, name):
        LOG.append(("getattr", name))
        return name


class Setting:
    def __setattr__(self, name, value):
        LOG.append(("setattr", name))
        super().__setattr__(name, value)

    def __delattr__(self, name):
        LOG.append(("delattr", name))
        super().__delattr__(name)


class Descriptor:
    def __set_name__(self, owner, name):
        LOG.append(("set_name", owner.__name__, name))
        self.name = name

    def __get__(self, instance, owner=None):
        LOG.append(("get", instance is None, owner.__name__))
        return self if instance is None else 7

    def __set__(self, instance, value):
        LOG.append(("set", value))

    def __delete__(self, instance):
        LOG.append("delete")


class NonData:
    def __get__(self, instance, owner=None):
        LOG.append(("nondata", instance is None))
        return 8


class Described:
    data = Descriptor()
    plain = NonData()

    @property
    def value(self):
        LOG.append("property")
        return 9

    @value.setter
    def value(self, v):
        LOG.append(("setter", v))

    @value.deleter
    def value(self):
        LOG.append("deleter")

    @property
    def failing(self):
        LOG.append("failing")
        raise AttributeError("inner")

    @property
    def read_only(self):
        return 1

    @classmethod
    def made(cls):
        LOG.append(("classmethod", cls.__name__))
        return 10

    @staticmethod
    def free():
        return 11


class FailingWithGetattr:
    @property
    def value(self):
        LOG.append("property")
        raise AttributeError("inner")

    def __getattr__(self, name):
        LOG.append(("getattr", name))
        return 3


class Missed(dict):
    def __missing__(self, key):
        LOG.append(("missing", key))
        return key * 2


class OwnDict(dict):
    def __getitem__(self, key):
        LOG.append(("getitem", key))
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        LOG.append(("setitem", key))
        super().__setitem__(key, value)

    def __contains__(self, key):
        LOG.append(("contains", key))
        return super().__contains__(key)

    def __iter__(self):
        LOG.append("iter")
        return super().__iter__()

    def keys(self):
        LOG.append("keys")
        return super().keys()

    def get(self, key):
        return super().get(str(key))


class Mapping:
    def keys(self):
        LOG.append("keys")
        return ["a", "b"]

    def __getitem__(self, key):
        LOG.append(("getitem", key))
        return key * 2


class OwnList(list):
    def __len__(self):
        LOG.append("len")
        return 2

    def __iter__(self):
        LOG.append("iter")
        return iter([7, 8])

    def __getitem__(self, i):
        LOG.append(("getitem", i))
        return 100


class Sized:
    def __len__(self):
        LOG.append("len")
        return 3

    def __iter__(self):
        LOG.append("iter")
        return iter([1.0, 2.0, 3.0])

    def __getitem__(self, i):
        LOG.append(("getitem", i))
        if i >= 3:
            raise IndexError(i)
        return float(i)


class Hinted:
    def __length_hint__(self):
        LOG.append("hint")
        return 2

    def __iter__(self):
        LOG.append("iter")
        return self

    def __next__(self):
        LOG.append("next")
        raise StopIteration


class Truthful:
    def __init__(self, answer):
        self.answer = answer

    def __bool__(self):
        LOG.append("bool")
        return self.answer

    def __len__(self):
        LOG.append("len")
        return 5


class Lengthy:
    def __len__(self):
        LOG.append("len")
        return 0


class Hashed:
    def __init__(self, v):
        self.v = v

    def __hash__(self):
        LOG.append(("hash", self.v))
        return 1

    def __eq__(self, other):
        LOG.append(("eq", self.v, other.v))
        return self.v == other.v


class Indexed:
    def __index__(self):
        LOG.append("index")
        return 1


class Numeric:
    def __float__(self):
        LOG.append("float")
        return 2.5

    def __int__(self):
        LOG.append("int")
        return 2

    def __complex__(self):
        LOG.append("complex")
        return 1j

    def __round__(self, n=None):
        LOG.append(("round", n))
        return 3

    def __abs__(self):
        LOG.append("abs")
        return 4

    def __trunc__(self):
        LOG.append("trunc")
        return 5

    def __floor__(self):
        LOG.append("floor")
        return 6

    def __ceil__(self):
        LOG.append("ceil")
        return 7

    def __divmod__(self, other):
        LOG.append("divmod")
        return (1, 2)

    def __neg__(self):
        LOG.append("neg")
        return -1

    def __invert__(self):
        LOG.append("invert")
        return -2


class Textual:
    def __str__(self):
        LOG.append("str")
        return "text"

    def __repr__(self):
        LOG.append("repr")
        return "representation"

    def __format__(self, specification):
        LOG.append(("format", specification))
        return "formatted"

    def __bytes__(self):
        LOG.append("bytes")
        return b"bytes"


class ReprOnly:
    def __repr__(self):
        LOG.append("repr")
        return "only"


class ArrayProtocol:
    def __array__(self, dtype=None, copy=None):
        LOG.append("array")
        return np.array([1.0, 2.0, 3.0, 4.0])


class Interface:
    @property
    def __array_interface__(self):
        LOG.append("interface")
        return np.array([1.0, 2.0, 3.0, 4.0]).__array_interface__


class UfuncProtocol:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        LOG.append(("ufunc", ufunc.__name__, method, len(inputs), sorted(kwargs)))
        return "ufunc"

    def __array_function__(self, function, types, args, kwargs):
        LOG.append(("function", function.__name__))
        return "function"


class Called:
    def __call__(self, *args, **kwargs):
        LOG.append(("call", args, kwargs))
        return 12

    def __enter__(self):
        LOG.append("enter")
        return self

    def __exit__(self, *rest):
        LOG.append(("exit", rest[0] and rest[0].__name__))
        return True


class Meta(type):
    def __call__(cls, *args):
        LOG.append(("meta call", args))
        return super().__call__(*args)

    def __instancecheck__(cls, instance):
        LOG.append(("instancecheck", type(instance).__name__))
        return True

    def __subclasscheck__(cls, subclass):
        LOG.append(("subclasscheck", subclass.__name__))
        return False

    def __getattr__(cls, name):
        LOG.append(("meta getattr", name))
        return 13

    def __iter__(cls):
        LOG.append("meta iter")
        return iter([1, 2])

    def __len__(cls):
        LOG.append("meta len")
        return 6

    def __bool__(cls):
        LOG.append("meta bool")
        return False

    def __contains__(cls, item):
        LOG.append("meta contains")
        return True

    def __getitem__(cls, item):
        LOG.append(("meta getitem", item))
        return 14

    def __eq__(cls, other):
        LOG.append("meta eq")
        return True

    def __hash__(cls):
        LOG.append("meta hash")
        return 3

    def __repr__(cls):
        LOG.append("meta repr")
        return "class"

    def __add__(cls, other):
        LOG.append("meta add")
        return 15

    @property
    def computed(cls):
        LOG.append("meta property")
        return 16


class OfMeta(metaclass=Meta):
    def __init__(self, *args):
        LOG.append(("init", args))


class Prepared(type):
    @classmethod
    def __prepare__(mcs, name, bases):
        LOG.append(("prepare", name))
        return {}

    def __new__(mcs, name, bases, namespace):
        LOG.append(("meta new", name))
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name, bases, namespace):
        LOG.append(("meta init", name))
        super().__init__(name, bases, namespace)


class Base:
    def __init_subclass__(cls, **keywords):
        LOG.append(("init_subclass", cls.__name__, keywords))
        super().__init_subclass__()

    def __class_getitem__(cls, item):
        LOG.append(("class_getitem", item))
        return (cls.__name__, item)


class Constructed:
    def __new__(cls, *args):
        LOG.append(("new", args))
        return super().__new__(cls)

    def __init__(self, *args):
        LOG.append(("init", args))


class OtherConstructed:
    def __new__(cls):
        LOG.append("new")
        return 5

    def __init__(self):
        LOG.append("init")


class Iterating:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        LOG.append("iter")
        return self

    def __next__(self):
        LOG.append("next")
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n

    def __reversed__(self):
        LOG.append("reversed")
        return iter([1])


def _module(name):
    module = types.ModuleType(name)

    def hook(attribute):
        LOG.append(("module", attribute))
        if attribute.startswith("no"):
            raise AttributeError(f"nothing named {attribute}")
        return len(attribute)

    module.__getattr__ = hook
    return module


hooked = _module("hooked_module")
missing, everything, both = Missing(), Everything(), Both()
described = Described()
mapping, numeric, textual = Mapping(), Numeric(), Textual()
own_dict = OwnDict(a=1)
array_protocol, ufunc_protocol = ArrayProtocol(), UfuncProtocol()

EXPRESSIONS = """
hooked.four
hooked.four + hooked.four
getattr(hooked, 'five5')
getattr(hooked, 'nothing', 3)
hasattr(hooked, 'nothing')
hasattr(hooked, 'four')
hooked.nothing
hooked.__name__
vars(hooked)['__name__']
missing.four + missing.four
missing.present
missing.nothing
getattr(missing, 'nothing', 1)
hasattr(missing, 'nothing')
hasattr(missing, 'some')
getattr(missing, 'four', 0)
everything.own
everything.present
everything.method()
everything.nothing
getattr(everything, 'nothing', 1)
hasattr(everything, 'own')
both.thing
both.__class__
described.data
Described.data.name
described.plain
Described.plain
described.value
described.failing
hasattr(described, 'failing')
getattr(described, 'failing', 2)
described.made()
Described.made()
described.free()
Described.value.fget(described)
FailingWithGetattr().value
Missed()['a']
Missed().get('a')
Missed(a=1)['a']
'a' in Missed()
dict(OwnDict(a=1))
{**OwnDict(a=1)}
OwnDict(a=1)['a']
'a' in OwnDict(a=1)
list(OwnDict(a=1))
OwnDict(a=1).get('a')
own_dict.get('a')
own_dict.keys()
dict(mapping)
{**mapping}
a_of(**mapping)
{}.update(mapping)
dict(OwnList([1]))
list(OwnList([1]))
tuple(OwnList([1]))
[*OwnList([1])]
len(OwnList([1]))
OwnList([1])[0]
sum(OwnList([1]))
[v for v in OwnList([1])]
a_of(*OwnList([1]))
list(Sized())
tuple(Sized())
sum(Sized())
[*Sized()]
sorted(Sized())
np.array(Sized())
np.sum(Sized())
x[:3] + Sized()
list(Hinted())
[*Hinted()]
[v for v in Hinted()]
bool(Truthful(True))
not Truthful(False)
1 if Truthful(True) else 2
Truthful(True) and 3
Truthful(False) or 4
any([Truthful(False), Truthful(True), Truthful(True)])
all([Truthful(True), Truthful(False), Truthful(True)])
list(filter(None, [Truthful(False)]))
bool(Lengthy())
not Lengthy()
{Hashed(1): 1, Hashed(2): 2, Hashed(1): 3} and LOG[:]
len({Hashed(1), Hashed(2), Hashed(1)})
Hashed(1) in {Hashed(2): 1, Hashed(1): 2}
{Hashed(1): 5}[Hashed(1)]
{Hashed(1): 5}.get(Hashed(2))
{Hashed(1): 5}.pop(Hashed(1))
{Hashed(1): 5}.setdefault(Hashed(1), 6)
hash(Hashed(5))
hash((Hashed(5), 1)) and LOG[:]
dict.fromkeys([Hashed(1), Hashed(1)]) and LOG[:]
set([Hashed(1), Hashed(1)]) and LOG[:]
Hashed(1) in [Hashed(2), Hashed(1)]
[Hashed(2), Hashed(1)].index(Hashed(1))
[Hashed(2)].remove(Hashed(2))
x[Indexed()]
[5, 6][Indexed()]
range(Indexed())
range(5)[Indexed():]
'abc'[Indexed()]
np.zeros(Indexed())
bin(Indexed())
int(Indexed())
float(Indexed())
chr(Indexed())
x.reshape(2, 2)[Indexed(), Indexed()]
x.sum(axis=Indexed() if False else 0)
float(numeric)
int(numeric)
complex(numeric)
round(numeric)
round(numeric, 2)
abs(numeric)
__import__('math').trunc(numeric)
__import__('math').floor(numeric)
__import__('math').ceil(numeric)
__import__('math').sqrt(numeric)
divmod(numeric, 1)
-numeric
~numeric
x + numeric
np.float64(numeric)
str(textual)
repr(textual)
format(textual, 'spec')
f'{textual}'
f'{textual!r}'
f'{textual!s:>3}'
f'{textual:abc}'
'%s %r' % (textual, textual)
'{} {!r} {:x}'.format(textual, textual, textual)
bytes(textual)
str([textual])
str({textual.__class__.__name__: textual})
print(textual)
print([textual], textual)
str(ReprOnly())
f'{ReprOnly()}'
f'{ReprOnly()!s}'
'{}'.format(ReprOnly())
np.asarray(array_protocol)
np.sum(array_protocol)
x + array_protocol
array_protocol + x
np.add(x, array_protocol)
np.concatenate([x, array_protocol])
np.stack([array_protocol, x])
np.asarray(Interface())
np.add(x, Interface())
np.add(x, ufunc_protocol)
np.add(ufunc_protocol, 1)
x + ufunc_protocol
np.sum(ufunc_protocol)
np.add.reduce(ufunc_protocol)
np.concatenate([ufunc_protocol, x])
np.sin(ufunc_protocol)
np.add(x, 1, out=(ufunc_protocol,))
np.mean(ufunc_protocol)
Called()(1, a=2)
OfMeta(1)
isinstance(5, OfMeta)
isinstance(5, (str, OfMeta))
issubclass(int, OfMeta)
OfMeta.anything
getattr(OfMeta, 'other', 0)
hasattr(OfMeta, 'other')
OfMeta.computed
list(OfMeta)
[v for v in OfMeta]
len(OfMeta)
bool(OfMeta)
1 if OfMeta else 2
3 in OfMeta
OfMeta['key']
OfMeta == 3
OfMeta != int
{OfMeta: 1}[OfMeta]
f'{OfMeta}'
OfMeta + 1
Base[int]
Base['a', 'b']
Constructed(1, 2).__class__.__name__
OtherConstructed()
type(OtherConstructed())
list(Iterating(3))
[v for v in Iterating(3)]
list(reversed(Iterating(3)))
next(Iterating(2))
max(Iterating(4))
dict(zip(Iterating(2), Iterating(3)))
list(enumerate(Iterating(2)))
list(map(str, Iterating(2)))
1 in Iterating(4)
tuple(Iterating(2))
sum(Iterating(3))
sorted(Iterating(3))
set(Iterating(3))
','.join(str(v) for v in Iterating(2))
a_of(*Iterating(2))
[*Iterating(2), *Iterating(1)]
np.fromiter(Iterating(3), float)
"""


def a_of(*arguments, **keywords):
    return arguments, keywords


def module_attribute_in_loop(x):
    total = 0
    for _ in range(3):
        total += hooked.abc
    return x + total


def module_attribute_many(x):
    a = hooked.one
    y = x * a
    b = hooked.two2
    return y + b, hooked.one


def module_hook_removed(x):
    y = hooked.four
    hook = hooked.__getattr__
    del hooked.__getattr__
    try:
        hooked.four
    except AttributeError as error:
        text = str(error)
    hooked.__getattr__ = hook
    return x + y, text


def module_subclass(x):
    class Module(types.ModuleType):
        def __getattribute__(self, name):
            LOG.append(("getattribute", name))
            return super().__getattribute__(name)

        @property
        def computed(self):
            LOG.append("property")
            return 3

    m = Module("m")
    m.v = 4
    return x + m.v + m.computed


class _LazyModule(types.ModuleType):
    count = 0

    @property
    def ticket(self):
        LOG.append("ticket")
        _LazyModule.count += 1
        return _LazyModule.count


lazy = _LazyModule("lazy")
lazy.plain = 2


def module_property(x):
    return x + lazy.ticket, lazy.plain, lazy.ticket


def import_from_hooked(x):
    sys.modules["hooked_module"] = hooked
    from hooked_module import four

    y = x + four
    from hooked_module import four as again

    return y, again


def import_from_hooked_missing(x):
    sys.modules["hooked_module"] = hooked
    try:
        from hooked_module import nothing
    except ImportError as error:
        return x, str(error)
    return nothing


def setattr_hook(x):
    s = Setting()
    s.a = 1
    setattr(s, "b", 2)  # noqa: B010
    s.a += 5
    del s.b
    return x + s.a, hasattr(s, "b")


def descriptor_set_and_delete(x):
    d = Described()
    d.data = 1
    d.value = 2
    del d.data
    del d.value
    try:
        d.read_only = 3
    except AttributeError as error:
        LOG.append(str(error))
    try:
        del d.read_only
    except AttributeError as error:
        LOG.append(str(error))
    d.plain = 5
    return x + d.plain


def class_made_inside(x):
    class Made(Base, option=1):
        data = Descriptor()

        def get(self):
            return self.data

    return x + Made().get()


def class_made_by_metaclass(x):
    class Made(metaclass=Prepared):
        v = 2

    return x + Made.v


def class_made_by_type(x):
    made = type("Made", (Base,), {"v": 3, "d": Descriptor()})
    return x + made.v


def context_manager(x):
    with Called() as c:
        y = x + c(1)
        raise ValueError("swallowed")
    return y


def context_manager_nested(x):
    with Called(), Called():
        y = x + 1
    return y


def context_manager_missing_exit(x):
    class Half:
        def __enter__(self):
            LOG.append("enter")

    try:
        with Half():
            pass
    except TypeError as error:
        return x, str(error)


def getattr_raises_other(x):
    class Bad:
        def __getattr__(self, name):
            LOG.append(name)
            raise ValueError(name)

    try:
        hasattr(Bad(), "a")
    except ValueError as error:
        return x, str(error)


def lookup_on_the_class_not_the_instance(x):
    class Own:
        pass

    own = Own()
    own.__len__ = lambda: 3
    own.__call__ = lambda: 4
    own.__bool__ = lambda: False
    results = []
    for function in (len, lambda v: v(), bool, lambda v: v + 1):
        try:
            results.append(function(own))
        except TypeError as error:
            results.append(str(error).split(".")[-1])
    return x, results


def getitem_counts(x):
    s = Sized()
    return x[0] + s[0] + s[1], s[-5]


def iterates_twice(x):
    s = Sized()
    a = [v for v in s]
    return x[:3] + a, [w for w in s]


def unpacks_hook(x):
    a, b = Iterating(2)
    (c, *d) = Iterating(3)
    return x + a + b, c, d


def unpacks_hook_too_many(x):
    it = Iterating(5)
    try:
        a, b = it
    except ValueError as error:
        return x, str(error), it.n


def star_call_counts(x):
    return x, a_of(*Sized(), *Iterating(1)), a_of(**Mapping())


def in_condition(x):
    y = x
    while Truthful(len(LOG) < 3):
        y = y + 1
    return y


def assert_counts(x):
    assert Truthful(True)
    try:
        assert Truthful(False), Textual()
    except AssertionError as error:
        return x, str(error)


def sort_key_counts(x):
    def key(v):
        LOG.append(v)
        return -v

    v = [2, 3, 1]
    v.sort(key=key)
    return x, v, sorted(v, key=key), min(v, key=key), max(v, key=key)


def default_factory_counts(x):
    import collections

    def make():
        LOG.append("make")
        return 5

    d = collections.defaultdict(make)
    y = x + d["a"] + d["a"]
    d.get("b")
    "b" in d  # noqa: B015
    return y, dict(d)


def cached_property_counts(x):
    import functools

    class Owner:
        @functools.cached_property
        def v(self):
            LOG.append("computed")
            return 6

    owner = Owner()
    return x + owner.v + owner.v, owner.__dict__


def lru_cache_counts(x):
    import functools

    @functools.lru_cache(maxsize=2)
    def f(v):
        LOG.append(v)
        return v * 2

    return x + f(1) + f(1) + f(2) + f(3) + f(1), f.cache_info()


def lru_cache_of_module(x):
    return x + _cached(1) + _cached(1), _cached.cache_info().hits > 0


import functools  # noqa: E402


@functools.lru_cache
def _cached(v):
    LOG.append(("cached", v))
    return v


def total_ordering(x):
    @functools.total_ordering
    class T:
        def __init__(self, v):
            self.v = v

        def __eq__(self, other):
            LOG.append("eq")
            return self.v == other.v

        def __lt__(self, other):
            LOG.append("lt")
            return self.v < other.v

    return x, T(1) <= T(2), T(1) >= T(2), T(2) > T(1)


def copy_hooks(x):
    import copy

    class C:
        def __copy__(self):
            LOG.append("copy")
            return 1

        def __deepcopy__(self, memo):
            LOG.append("deepcopy")
            return 2

    return x, copy.copy(C()), copy.deepcopy(C()), copy.deepcopy([C()])


def dir_hook(x):
    class D:
        def __dir__(self):
            LOG.append("dir")
            return ["b", "a"]

    return x, dir(D())


def sizeof_len_bool_of_hint(x):
    import operator

    return x, operator.length_hint(Hinted()), operator.length_hint(Sized()), operator.index(Indexed())


def del_hooks(x):
    class Items:
        def __delitem__(self, key):
            LOG.append(("delitem", key))

    items = Items()
    del items[1]
    del items[1:2]
    del items["a", 2]
    return x


def isinstance_with_class_property(x):
    class Pretends:
        @property
        def __class__(self):
            LOG.append("class")
            return int

    p = Pretends()
    return x, isinstance(p, int), isinstance(p, str), type(p).__name__, p.__class__


def abc_registered(x):
    import collections.abc

    class Some(collections.abc.Sized):
        def __len__(self):
            return 2

    class Duck:
        def __len__(self):
            return 1

    return x, isinstance(Duck(), collections.abc.Sized), isinstance(5, collections.abc.Sized), len(Some())


def subclasshook(x):
    import abc

    class Hook(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other):
            LOG.append(other.__name__)
            return NotImplemented

    return x, isinstance(5, Hook), isinstance(5, Hook)
