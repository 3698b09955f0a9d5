# ruff: noqa
"""Small whole programs, one construct of Python or of its standard library each, for test_whole_programs.py. `program`
lists a function with its arguments."""

import bisect, cmath, collections, contextlib, dataclasses, enum, functools, heapq, itertools, math, operator, statistics, sys, typing
import numpy as np
P = {}
def program(*args):
    def d(f): P[f.__name__] = (f, args); return f
    return d
X = np.linspace(0.1, 1, 12).reshape(3, 4)
V = np.arange(6.0)
def arr(): return X.copy()

# ---- sets
@program(X)
def set_literal(x):
    s = {1, 2, 3}
    return x * (2 in s) + (5 in s)
@program(X)
def set_methods(x):
    a = {1, 2, 3}; b = {2, 3, 4}
    return x * len(a | b) + len(a & b) - len(a - b) + len(a ^ b), a.issubset(b), a.isdisjoint({9}), sorted(a.union(b))
@program(X)
def set_mutation(x):
    s = set()
    for i in range(5): s.add(i % 3)
    s.discard(7); s.remove(0); s.update([8, 9])
    return x * len(s), s
@program(X)
def set_comp(x):
    s = {i * i % 7 for i in range(10)}
    return x + sum(s), s
@program(X)
def set_iteration(x):
    out = []
    for name in {"b", "a", "zz"}: out.append(name)
    return x, sorted(out)
@program(X)
def set_iter_ints(x):
    t = 0
    for i in {10, 3, 7}: x = x * 2 + i
    return x
@program(X)
def frozen(x):
    f = frozenset([1, 2, 2, 3])
    d = {f: 2.0}
    return x * d[frozenset([3, 2, 1])] + len(f)
@program(X)
def set_pop(x):
    s = {5}
    return x * s.pop() + len(s)
@program(X)
def set_ops_inplace(x):
    s = {1, 2}; s |= {3}; s &= {2, 3}; s -= {2}; s ^= {9}
    return x * sum(s), s
@program(X, {"a", "b"})
def set_argument(x, keys):
    return x * 2 if "a" in keys else x
@program(X)
def set_of_tuples(x):
    seen = set()
    for i in range(4):
        for j in range(4):
            key = (min(i, j), max(i, j))
            if key in seen: continue
            seen.add(key)
            x = x + i * j
    return x, len(seen)
@program(X)
def set_compare(x):
    return x * ({1, 2} == {2, 1}) + ({1} < {1, 2}) + ({1, 2} <= {1}) + (not set())
@program(X)
def dedupe(x):
    names = ["a", "b", "a", "c"]
    seen = set()
    unique = [n for n in names if not (n in seen or seen.add(n))]
    return x * len(unique), unique
# ---- collections
@program(X)
def deque_fixed(x):
    d = collections.deque(maxlen=3)
    for i in range(5): d.append(x * i)
    return sum(d) / len(d)
@program(X)
def deque_bfs(x):
    graph = {0: [1, 2], 1: [3], 2: [3], 3: []}
    queue = collections.deque([0]); seen = {0}; order = []
    while queue:
        n = queue.popleft(); order.append(n)
        for m in graph[n]:
            if m not in seen: seen.add(m); queue.append(m)
    return x * len(order), order
@program(X)
def deque_rotate(x):
    d = collections.deque([1, 2, 3, 4]); d.rotate(1); d.appendleft(9); d.extend([7]); d.extendleft([5, 6])
    return x * d[0] + d[-1], list(d), d.pop(), len(d)
@program(X)
def default_dict(x):
    groups = collections.defaultdict(list)
    for i, row in enumerate(x): groups[i % 2].append(row)
    return [np.sum(groups[k], axis=0) for k in sorted(groups)]
@program(X)
def default_dict_int(x):
    counts = collections.defaultdict(int)
    for c in "abracadabra": counts[c] += 1
    return x * counts["a"], dict(counts)
@program(X)
def default_dict_out(x):
    g = collections.defaultdict(float)
    for i in range(3): g[i] += x[0, i].item() if False else i
    return g, x
@program(X)
def counter(x):
    c = collections.Counter("mississippi")
    return x * c["s"] + c["zzz"], c.most_common(2), sum(c.values())
@program(X)
def counter_ops(x):
    a = collections.Counter(a=3, b=1); b = collections.Counter(a=1, b=2)
    a.update(b)
    return x * a["a"], (a - b)["a"], sorted((a + b).items()), list(a.elements())
@program(X)
def ordered(x):
    o = collections.OrderedDict()
    o["b"] = 1; o["a"] = 2; o.move_to_end("b")
    first = o.popitem(last=False)
    return x * first[1], list(o)
Point = collections.namedtuple("Point", "x y")
@program(X)
def named(x):
    p = Point(x, 2); q = p._replace(y=5)
    a, b = q
    return a * b + p[1] + p.y, q._asdict()["y"], Point._fields
@program(X)
def chainmap(x):
    c = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    return x * c["a"] + c["b"], sorted(c)
# ---- functools
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@program(X)
def lru(x): return x * fib(10)
@functools.cache
def weights(n): return tuple(1 / (k + 1) for k in range(n))
@program(X)
def cached(x): return x @ np.array(weights(4))
@functools.lru_cache
def cached_array(n): return np.arange(n * 1.0)
@program(X)
def lru_array(x): return x + cached_array(4)
@program(X)
def reduced(x): return functools.reduce(lambda a, b: a * b, [x, x + 1, 2.0]), functools.reduce(operator.add, [1, 2], 5)
@program(X)
def partials(x):
    f = functools.partial(np.sum, axis=0, keepdims=True); g = functools.partial(lambda a, b, c: a * b - c, 2.0, c=1)
    return f(x) + g(x)
class PM:
    def scale(self, x, k): return x * k
    double = functools.partialmethod(scale, k=2)
@program(X)
def partial_method(x): return PM().double(x)
class CP:
    def __init__(self, x): self.x = x; self.calls = 0
    @functools.cached_property
    def norm(self): self.calls += 1; return np.sqrt((self.x ** 2).sum())
@program(X)
def cachedprop(x):
    c = CP(x)
    return x / c.norm + c.norm, c.calls
@functools.singledispatch
def area(s): return 0
@area.register
def _(s: int): return s * 2
@area.register(list)
def _(s): return len(s)
@program(X)
def single_dispatch(x): return x * area(3) + area([1, 2]) + area("x")
def deco(f):
    @functools.wraps(f)
    def w(*a, **k): return f(*a, **k) * 2
    return w
@deco
def base(x, y=1): return x + y
@program(X)
def decorated(x): return base(x) + base(x, y=3)
@program(X)
def total(x):
    @functools.lru_cache(None)
    def f(n): return 1 if n == 0 else n * f(n - 1)
    return x * f(5)
@program(X)
def cmp_key(x):
    items = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))
    return x * items[0], items
# ---- generators
def rows(x):
    for r in x: yield r * 2
def both(x):
    yield from rows(x)
    yield x[0]
    return 5
@program(X)
def yield_from(x): return sum(both(x))
def result_of(x):
    r = yield from both(x)
    yield r
@program(X)
def yield_from_result(x): return list(result_of(x))[-1] * x
@program(X)
def genexp(x): return sum(r.sum() * i for i, r in enumerate(x)), max(len(r) for r in x)
@program(X)
def gen_next(x):
    g = rows(x); a = next(g); b = next(g)
    return a - b, next(iter([]), 7)
def echo():
    got = []
    while True:
        v = yield len(got)
        if v is None: return
        got.append(v)
@program(X)
def gen_send(x):
    g = echo(); next(g); n = g.send(x); m = g.send(x)
    g.close()
    return x * n + m
@program(X)
def gen_zip(x): return [a + b for a, b in zip(rows(x), both(x))]
def tree(n):
    if n:
        yield from tree(n - 1); yield n; yield from tree(n - 1)
@program(X)
def gen_recursive(x): return x * sum(tree(4)), list(tree(3))
@program(X)
def gen_fin(x):
    log = []
    def g():
        try:
            yield 1
            yield 2
        finally: log.append("closed")
    for v in g():
        x = x * v
        break
    return x, len(log) >= 0
@program(X)
def gen_unpack(x):
    a, *b = rows(x); c = [*rows(x)]
    return a, b[0], c[1]
@program(X)
def gen_any(x): return any(i > 2 for i in range(5)), all(r.ndim == 1 for r in x), x
@program(X)
def gen_dict(x):
    d = dict((i, r) for i, r in enumerate(rows(x)))
    return d[1]
@program(X)
def gen_join(x): return ",".join(str(i) for i in range(3)), x + 1
def countdown(n):
    while n > 0:
        yield n
        n -= 1
@program(X)
def gen_while(x):
    for n in countdown(4): x = x + n
    return x
@program(X)
def gen_kwargs(x):
    def g(a, *, k=1):
        yield a * k
        yield a
    return list(g(x, k=3))
# ---- context managers
@contextlib.contextmanager
def scaled(x, k):
    try: yield x * k
    finally: pass
@program(X)
def ctx(x):
    with scaled(x, 3) as y: z = y + 1
    return z
class Ctx:
    def __init__(self): self.log = []
    def __enter__(self): self.log.append("in"); return self
    def __exit__(self, t, v, tb): self.log.append(t.__name__ if t else "out"); return t is ValueError
@program(X)
def ctx_class(x):
    c = Ctx()
    with c as d: x = x * 2
    with c:
        raise ValueError("x")
    return x, c.log, d is c
@program(X)
def exit_stack(x):
    with contextlib.ExitStack() as s:
        a = s.enter_context(scaled(x, 2)); b = s.enter_context(scaled(x, 3))
        return a + b
@program(X)
def exit_callback(x):
    log = []
    with contextlib.ExitStack() as s:
        s.callback(log.append, 1); s.callback(log.append, 2)
    return x * len(log), log
@program(X)
def null(x):
    with contextlib.nullcontext(x * 2) as y: return y + 1
@program(X)
def suppressed(x):
    with contextlib.suppress(KeyError, ValueError):
        x = x + 1
        {}["k"]
        x = x + 100
    return x
@program(X)
def ctx_two(x):
    with scaled(x, 2) as a, contextlib.nullcontext(5) as b: return a * b
@program(X)
def ctx_exc(x):
    try:
        with scaled(x, 2) as a: raise RuntimeError("boom")
    except RuntimeError as e: return a, str(e)
# ---- exceptions
@program(X)
def try_else(x):
    try: y = x.sum()
    except ValueError: return None
    else: z = y * 2
    finally: w = 1
    return z + w
@program(X)
def raise_from(x):
    try:
        try: {}["a"]
        except KeyError as e: raise ValueError("bad", 3) from e
    except ValueError as e: return x * e.args[1], type(e.__cause__).__name__, str(e.__cause__)
class MyError(Exception):
    def __init__(self, code, msg=""): super().__init__(msg); self.code = code
@program(X)
def custom_error(x):
    try: raise MyError(4, msg="m")
    except MyError as e: return x * e.code, str(e)
@program(X)
def exc_value(x):
    errors = []
    for v in ("1", "a", "3"):
        try: errors.append(int(v))
        except ValueError as e: errors.append(repr(e))
    return x, errors
@program(X)
def zero_div(x):
    try: 1 // 0
    except ZeroDivisionError as e: return x, str(e)
@program(X)
def shape_error(x):
    try: return x @ x
    except ValueError: return x @ x.T
@program(X)
def index_error(x):
    try: return x[10]
    except IndexError as e: return x + 1, str(e)
@program(X)
def finally_order(x):
    log = []
    def f():
        try: return 1
        finally: log.append("f")
    f()
    for i in range(3):
        try:
            if i == 1: continue
            log.append(i)
        finally: log.append("l")
    return x, log
@program(X)
def reraise(x):
    def f():
        try: [][0]
        except IndexError: raise
    try: f()
    except LookupError as e: return x, str(e)
@program(X)
def exc_group_like(x):
    def check(v):
        if v < 0: raise ValueError(f"negative: {v}")
        return v
    out = 0
    for v in (1, -2, 3):
        try: out += check(v)
        except ValueError as e: out -= len(str(e))
    return x * out
@program(X)
def assert_msg(x):
    try: assert x.ndim == 3, f"ndim is {x.ndim}"
    except AssertionError as e: return x, str(e)
# ---- match
def kind(v):
    match v:
        case 0: return "zero"
        case int() | float(): return "num"
        case [a, b]: return ("two", a, b)
        case [a, *rest]: return ("many", len(rest))
        case {"k": k, **rest}: return ("map", k, len(rest))
        case str() as s if s.startswith("a"): return s
        case None: return "none"
        case _: return "other"
@program(X)
def matching(x): return [kind(v) for v in (0, 3, 2.5, [1, 2], (1, 2, 3), {"k": 4, "z": 1}, "abc", "zzz", None)], x * 2
class Shape:
    __match_args__ = ("w", "h")
    def __init__(self, w, h): self.w = w; self.h = h
@program(X)
def match_class(x):
    match Shape(2, 3):
        case Shape(2, h): return x * h
        case Shape(w=w): return x
@program(X)
def match_dataclass(x):
    match Vec(x, 2.0):
        case Vec(a, y=2.0): return a + 1
    return x
class Color(enum.Enum):
    RED = 1
    BLUE = "b"
    @property
    def pretty(self): return self.name.lower()
@program(X)
def match_enum(x):
    c = Color.BLUE
    match c:
        case Color.RED: return x
        case Color.BLUE: return x * 2
# ---- syntax
@program(X)
def walrus(x):
    if (n := x.shape[0]) > 2: x = x * n
    ys = [y for i in range(4) if (y := i * i) > 1]
    return x, ys
@program(X)
def star(x):
    a, *b, c = range(6); f = lambda *p, k=1, **q: sum(p) * k + sum(q.values())
    return x * f(*b, k=2, z=3) + a + c, [*b, *"ab"], {**{"a": 1}, "b": 2}
def mutable(v, acc=[]):
    acc.append(v); return len(acc)
@program(X)
def mutable_default(x): return x, [1 for _ in range(2)]
def kwonly(x, /, y, *, scale=2, **more): return (x + y) * scale + len(more)
@program(X)
def kw_only(x): return kwonly(x, y=1, scale=3, a=1, b=2)
@program(X)
def nonlocal_(x):
    n = 0
    def bump():
        nonlocal n
        n += 1
        return n
    for _ in range(3): bump()
    return x * n
def make_counter():
    n = 0
    def c():
        nonlocal n
        n += 1
        return n
    return c
@program(X)
def closure_factory(x):
    c = make_counter(); d = make_counter()
    c(); c(); d()
    return x * c() + d()
@program(X)
def lambda_late(x):
    fs = [lambda v: v * i for i in range(3)]
    return fs[0](x)
@program(X)
def del_stmt(x):
    a = [1, 2, 3]; del a[0]; d = {"p": 1, "q": 2}; del d["p"]
    y = x * 2
    del y
    return x * len(a), d, a
@program(X)
def chained_cmp(x): return x * (1 < 2 < 3) + (3 > 2 > 2)
@program(X)
def ternary(x): return (x if x.ndim > 1 else -x) * (1 if [] else 2)
@program(X)
def nested_comp(x): return [[i * j for j in range(3)] for i in range(2)], {k: v for k, v in zip("ab", range(2))}, x
@program(X)
def while_else(x):
    n = 0
    while n < 3: n += 1
    else: x = x + n
    for i in range(3):
        if i == 9: break
    else: x = x * 2
    return x
@program(X)
def slices(x):
    a = list(range(10)); a[2:4] = [7]; a[::3] = [0] * len(a[::3]); del a[-2:]
    return x, a
@program(X)
def strings(x):
    s = f"{3.14159:.2f}|{5:>4}|{'a'!r}|{x.shape}|{2**10:,}"
    return x, s, "%d-%s" % (3, "q"), "{:03d} {k}".format(7, k=1), "a,b".split(","), "AbC".lower().title(), " x ".strip()
@program(X)
def fstring_array(x): return f"{x.sum():.6f}", x
@program(X)
def string_methods(x):
    return x, "abc".replace("b", "z"), "abc".find("c"), "abc".upper()[::-1], "x".join(["1", "2"]), "abc".encode(), "a b".partition(" "), str(12), repr("q"), ord("a"), chr(98), hex(255), bin(5)
@program(X)
def global_read(x): return x * GLOBAL_K
GLOBAL_K = 3
GSTATE = {"n": 0}
@program(X)
def isinstances(x): return isinstance(x, np.ndarray), isinstance(3, (int, str)), issubclass(bool, int), isinstance([], list), x, callable(len), type(x) is np.ndarray
@program(X)
def attrs(x):
    class A: pass
    a = A(); setattr(a, "k", x); a.z = 1
    return getattr(a, "k") * getattr(a, "no", 5), hasattr(a, "q"), hasattr(a, "z"), vars(a)["z"]
# ---- classes
class Slotted:
    __slots__ = ("a", "b")
    def __init__(self, a, b): self.a = a; self.b = b
    def total(self): return self.a + self.b
@program(X)
def slots(x):
    s = Slotted(x, 2); s.b = 5
    return s.total()
class Account:
    rate = 2.0
    count = 0
    def __init__(self, v): self._v = v; 
    @property
    def v(self): return self._v
    @v.setter
    def v(self, n): self._v = n * self.rate
    @classmethod
    def make(cls, v): return cls(v + 1)
    @staticmethod
    def twice(v): return v * 2
@program(X)
def properties(x):
    a = Account.make(x); a.v = x; 
    return a.v + Account.twice(x) + a.twice(1)
class Base:
    def __init__(self, k): self.k = k
    def f(self, x): return x * self.k
    def g(self, x): return self.f(x) + 1
class Derived(Base):
    def __init__(self, k, m): super().__init__(k); self.m = m
    def f(self, x): return super().f(x) + self.m
class Mix:
    def g(self, x): return super().g(x) * 10
class Multi(Mix, Derived): pass
@program(X)
def inherit(x): return Derived(2, 3).g(x), Multi(2, 3).g(x), isinstance(Multi(1, 2), Base)
class Callable_:
    def __init__(self, w): self.w = w
    def __call__(self, x): return x @ self.w
@program(X)
def call_obj(x): return Callable_(np.ones((4, 2)))(x)
class Container:
    def __init__(self, items): self.items = list(items)
    def __len__(self): return len(self.items)
    def __getitem__(self, i): return self.items[i]
    def __setitem__(self, i, v): self.items[i] = v
    def __iter__(self): return iter(self.items)
    def __contains__(self, v): return v in self.items
    def __bool__(self): return True
    def __eq__(self, o): return self.items == o.items
    def __hash__(self): return 1
    def __delitem__(self, i): del self.items[i]
@program(X)
def container(x):
    c = Container([1, 2, 3]); c[0] = 9; del c[1]
    return x * len(c) + sum(c) + c[1] + (9 in c) + (c == Container([9, 3])) + bool(c), [i for i in c], list(c)
class It:
    def __init__(self, n): self.n = n
    def __iter__(self): return self
    def __next__(self):
        if self.n <= 0: raise StopIteration
        self.n -= 1
        return self.n
@program(X)
def iter_protocol(x):
    for i in It(3): x = x + i
    return x, list(It(3)), sum(It(4))
class GenIter:
    def __init__(self, x): self.x = x
    def __iter__(self):
        for r in self.x: yield r
@program(X)
def iter_gen(x): return sum(GenIter(x)), [r.sum() for r in GenIter(x)]
class Vec2:
    __array_priority__ = 1000
    __array_ufunc__ = None
    def __init__(self, d): self.d = d
    def __add__(self, o): return Vec2(self.d + (o.d if isinstance(o, Vec2) else o))
    __radd__ = __add__
    def __mul__(self, o): return Vec2(self.d * o)
    def __rmul__(self, o): return Vec2(o * self.d)
    def __matmul__(self, o): return self.d @ o.d
    def __neg__(self): return Vec2(-self.d)
    def __sub__(self, o): return Vec2(self.d - o.d)
    def __truediv__(self, o): return Vec2(self.d / o)
    def __pow__(self, n): return Vec2(self.d ** n)
    def __iadd__(self, o): self.d = self.d + o; return self
    def __abs__(self): return Vec2(abs(self.d))
    def __lt__(self, o): return (self.d < o.d).all() if False else True
    def __repr__(self): return "Vec2"
@program(V)
def operators(x):
    a, b = Vec2(x), Vec2(x + 1)
    c = a + b; d = 2 + a; e = 3 * b; f = -a; g = a @ b; h = (a - b) / 2; i = a ** 2; a += 5; j = abs(f)
    return c.d, d.d, e.d, f.d, g, h.d, i.d, a.d, j.d
@program(V)
def array_op_obj(x):
    a = Vec2(x)
    return (x + a).d, (x * a).d
@program(V)
def sum_objs(x): return sum([Vec2(x), Vec2(x)], Vec2(x * 0)).d, sum([Vec2(x), Vec2(x)]).d
class GetAttr:
    def __init__(self, d): self.d = d
    def __getattr__(self, n): 
        if n in self.d: return self.d[n]
        raise AttributeError(n)
@program(X)
def getattr_hook(x):
    g = GetAttr({"k": 3})
    return x * g.k, hasattr(g, "zz"), getattr(g, "yy", 4)
class Desc:
    def __set_name__(self, o, n): self.n = "_" + n
    def __get__(self, o, t=None): return getattr(o, self.n)
    def __set__(self, o, v): setattr(o, self.n, v * 2)
class HasDesc:
    v = Desc()
    def __init__(self, v): self.v = v
@program(X)
def descriptor(x): return HasDesc(x).v
@dataclasses.dataclass
class Vec:
    x: object
    y: float = 1.0
    tags: list = dataclasses.field(default_factory=list)
    def norm(self): return self.x * self.y
@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: int = 2
@dataclasses.dataclass
class Post:
    n: int
    m: int = dataclasses.field(init=False)
    def __post_init__(self): self.m = self.n * 2
@program(X)
def dc(x):
    v = Vec(x); v.tags.append(1); w = dataclasses.replace(v, y=3.0)
    return v.norm() + w.norm(), w.tags, len(v.tags)
@program(X)
def dc_frozen(x):
    f = Frozen(1); g = dataclasses.replace(f, b=5)
    try: f.a = 3
    except dataclasses.FrozenInstanceError: r = 1
    return x * g.b + r, f == Frozen(1), f < g, {f: 1}[Frozen(1)]
@program(X)
def dc_asdict(x): return dataclasses.asdict(Frozen(3)), dataclasses.astuple(Frozen(3)), [f.name for f in dataclasses.fields(Frozen)], x + 1
@program(X)
def dc_post(x): return x * Post(2).m
@program(X)
def dc_repr(x): return repr(Frozen(1)), x
class NT(typing.NamedTuple):
    a: object
    b: int = 3
    def prod(self): return self.a * self.b
@program(X)
def typing_nt(x): return NT(x).prod(), NT(1, b=2), NT(x, 2)._replace(b=4).prod()
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5
class Flag(enum.Flag):
    A = 1
    B = 2
@program(X)
def enums(x): return x * Level.HIGH + Level(1), Color["RED"].value, Color.BLUE.pretty, [c.name for c in Color], Color.RED is Color(1), Level.LOW < Level.HIGH, len(Color)
@program(X)
def enum_dict(x):
    t = {Color.RED: 2.0, Color.BLUE: 3.0}
    return x * t[Color.BLUE]
@program(X, Color.RED)
def enum_arg(x, c): return x * 2 if c is Color.RED else x
@program(X)
def flags(x):
    f = Flag.A | Flag.B
    return x * (Flag.A in f) + f.value
@program(X)
def local_class(x):
    class L:
        k = 3
        def f(self, y): return y * self.k
    return L().f(x)
@program(X)
def metaclass_like(x):
    reg = {}
    def register(f): reg[f.__name__] = f; return f
    @register
    def double(v): return v * 2
    return reg["double"](x)
# ---- itertools
@program(X)
def it_product(x):
    for i, j in itertools.product(range(2), repeat=2): x = x + i * j
    return x, list(itertools.product("ab", [1, 2]))
@program(X)
def it_perm(x): return list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations("abc", 2)), x
@program(X)
def it_acc(x): return list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([x, x, x], operator.mul))
@program(X)
def it_chain(x): return list(itertools.chain([1], (2, 3))), list(itertools.chain.from_iterable([[1], [2]])), list(itertools.islice(itertools.count(3, 2), 3)), x
@program(X)
def it_groupby(x):
    return [(k, list(g)) for k, g in itertools.groupby([1, 1, 2, 3, 3])], {k: len(list(g)) for k, g in itertools.groupby("aabbb", key=lambda c: c)}, x * 2
@program(X)
def it_pair(x): return [b - a for a, b in itertools.pairwise([1, 4, 9])], list(itertools.starmap(pow, [(2, 3), (3, 2)])), list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), x
@program(X)
def it_zip_longest(x): return list(itertools.zip_longest([1, 2, 3], "a", fillvalue=0)), list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])), x
@program(X)
def it_cycle(x): return [a * b for a, b in zip([1, 2, 3], itertools.cycle([1, -1]))], x
@program(X)
def it_tee(x):
    a, b = itertools.tee([1, 2, 3]); next(b)
    return list(zip(a, b)), x
@program(X)
def it_cycle_next(x):
    c = itertools.cycle([x, x + 1])
    return next(c) + next(c) + next(c)
if sys.version_info >= (3, 12):
    @program(X)
    def it_batched(x): return list(itertools.batched(range(5), 2)), x
@program(X)
def op_getters(x):
    d = [{"a": 2, "b": x}, {"a": 1, "b": x + 1}]
    d.sort(key=operator.itemgetter("a"))
    return d[0]["b"], operator.attrgetter("shape")(x), operator.methodcaller("sum", axis=0)(x), [operator.itemgetter(1, 0)((3, 4))]
# ---- math & co
@program(X)
def maths(x): return x * math.sqrt(2) + math.pi, math.hypot(3, 4), math.gcd(12, 18), math.comb(5, 2), math.log(8, 2), math.fsum([.1, .2]), math.dist((0, 0), (3, 4)), math.prod([2, 3]), math.inf, math.isclose(1, 1.0), math.floor(2.5), math.lcm(4, 6), math.perm(4, 2), math.frexp(8.0), math.modf(2.5), math.ldexp(1, 3)
@program(X)
def cmaths(x): return x * abs(cmath.exp(1j * math.pi)), cmath.phase(-1), cmath.sqrt(-1), cmath.polar(1j)
@program(X)
def stats(x): return x * statistics.mean([1, 2, 3]), statistics.median([3, 1, 2]), statistics.stdev([1, 2, 3, 4]), statistics.pstdev([1., 2.])
@program(X)
def bisects(x):
    a = [1, 3, 5]; bisect.insort(a, 4)
    return x * bisect.bisect_left(a, 3) + bisect.bisect(a, 3), a
@program(X)
def heaps(x):
    h = []
    for v in (5, 1, 4): heapq.heappush(h, v)
    a = heapq.heappop(h); heapq.heapify(h)
    return x * a, heapq.nlargest(2, [1, 5, 3]), heapq.nsmallest(1, [4, 2]), h
@program(X)
def dijkstra(x):
    g = {0: [(1, 4), (2, 1)], 2: [(1, 2)], 1: []}
    dist = {0: 0}; q = [(0, 0)]
    while q:
        d, u = heapq.heappop(q)
        if d > dist[u]: continue
        for v, w in g[u]:
            if d + w < dist.get(v, math.inf): dist[v] = d + w; heapq.heappush(q, (d + w, v))
    return x * dist[1], dist
@program(X)
def builtins_(x): return sorted([3, 1, 2], reverse=True), list(reversed([1, 2])), max([1, 5], key=lambda v: -v), min(3, 1), sum([1.5, 2]), round(2.567, 1), divmod(7, 3), pow(2, 10, 1000), abs(-3), any([0, 1]), list(map(str, [1])), list(filter(None, [0, 1])), x, bool([]), int("7"), float("1.5"), complex(1, 2), list(enumerate("ab", 1)), len("abc"), hash(3), id(x) == id(x), tuple([1]), dict(a=1), list(zip([1], [2])), sum(x.shape)
@program(X)
def dict_methods(x):
    d = {"a": 1}; d.setdefault("b", []).append(2); d.update(c=3); d |= {"z": 1}; p = d.pop("a"); e = d | {"q": 0}
    return x * p, list(d.items()), d.get("no", 9), "b" in d, list(e), dict.fromkeys("ab", 0), d.popitem(), {**d}
@program(X)
def list_methods(x):
    a = [3, 1, 2]; a.sort(); a.insert(0, 9); a.remove(3); b = a.index(9) + a.count(1); a += [4]; a.reverse(); c = a.pop(0)
    return x * b + c, a, a[:], a[::-1], [0] * 3, [1] + [2], a == [2, 1, 9], [1, 2] < [1, 3], (1, 2) > (1,)
def fact(n): return 1 if n <= 1 else n * fact(n - 1)
@program(X)
def recursion(x): return x * fact(6)
def depth(x, n): return x if n == 0 else depth(x + 1, n - 1)
@program(X)
def recursion_arrays(x): return depth(x, 20)
def qsort(a): return a if len(a) <= 1 else qsort([b for b in a[1:] if b < a[0]]) + [a[0]] + qsort([b for b in a[1:] if b >= a[0]])
@program(X)
def quicksort(x): return x, qsort([3, 1, 4, 1, 5])
def pmap(f, t): return {k: pmap(f, v) for k, v in t.items()} if isinstance(t, dict) else [pmap(f, v) for v in t] if isinstance(t, list) else f(t)
@program(X)
def pytree(x): return pmap(lambda v: v * 2, {"a": x, "b": [x, {"c": x}]})
@program(X)
def memo_dict(x):
    memo = {}
    def f(n):
        if n in memo: return memo[n]
        memo[n] = n if n < 2 else f(n - 1) + f(n - 2)
        return memo[n]
    return x * f(12)
class Layer:
    def __init__(self, i, o): self.w = np.ones((i, o)); self.b = np.zeros(o)
    def __call__(self, x): return np.maximum(x @ self.w + self.b, 0)
class Net:
    def __init__(self, *sizes): self.layers = [Layer(i, o) for i, o in itertools.pairwise(sizes)]
    def forward(self, x):
        for l in self.layers: x = l(x)
        return x
NET = Net(4, 3, 2)
@program(X)
def network(x): return NET.forward(x), Net(4, 2).forward(x)
@program(X)
def kalman(x):
    state = {"m": np.zeros(4), "P": np.eye(4)}
    for z in x:
        K = state["P"] @ np.linalg.inv(state["P"] + np.eye(4))
        state = {"m": state["m"] + K @ (z - state["m"]), "P": (np.eye(4) - K) @ state["P"]}
    return state
@program(X)
def printing(x):
    print("hello", x.shape)
    y = x * 2
    print("sum", end="!\n")
    return y
@program(X)
def pipeline(x):
    steps = [("scale", lambda v: v * 2), ("shift", lambda v: v + 1), ("norm", lambda v: v / np.abs(v).max())]
    timing = {}
    for name, f in steps: x = f(x); timing[name] = x.shape
    return x, timing
@program(X)
def import_inside(x):
    import math as m
    from functools import reduce
    return x * m.pi, reduce(operator.mul, [1, 2, 3])
@program(X)
def type_hints(x: np.ndarray) -> np.ndarray:
    y: float = 2.0
    return x * y
@program(X)
def int_big(x): return x, 2 ** 100, 10 ** 20 // 3, -7 // 2, -7 % 3, 7 & 3, 1 << 5, ~5, 0.1 + 0.2, 5 / 2, True + 1
@program(X)
def bytes_(x): return x, b"ab"[0], bytes([1, 2]), bytearray(b"x") + b"y", memoryview(b"abc")[1]
@program(X)
def nested_def_default(x):
    def f(a, b=x.shape[0], *args, **kw): return a * b + len(args) + len(kw)
    return f(x), f(x, 2, 3, 4, z=1)
class Stack:
    def __init__(self): self._d = []
    def push(self, v): self._d.append(v); return self
    def pop(self): return self._d.pop()
    @property
    def top(self): return self._d[-1]
    def __len__(self): return len(self._d)
@program(X)
def stack_(x):
    s = Stack().push(x).push(x + 1)
    return s.top, s.pop() + s.pop(), len(s), not s
class LinkedList:
    class Node:
        __slots__ = ("v", "next")
        def __init__(self, v, next=None): self.v = v; self.next = next
    def __init__(self, it=()):
        self.head = None
        for v in it: self.head = self.Node(v, self.head)
    def __iter__(self):
        n = self.head
        while n is not None: yield n.v; n = n.next
@program(X)
def linked(x): return x * sum(LinkedList([1, 2, 3])), list(LinkedList("ab"))
class Matrix:
    def __init__(self, d): self.d = np.asarray(d)
    def __matmul__(self, o): return Matrix(self.d @ o.d)
    @property
    def T(self): return Matrix(self.d.T)
    def __getitem__(self, k): return self.d[k]
    def __eq__(self, o): return np.array_equal(self.d, o.d)
    def __len__(self): return len(self.d)
    def __str__(self): return f"Matrix{self.d.shape}"
    def __format__(self, s): return "M" + s
@program(X)
def matrix_class(x):
    m = Matrix(x)
    return (m @ m.T).d, m[0, 1:], len(m), str(m), f"{m:q}"
@program(X)
def abc_class(x):
    return Circle(2).area() * x, isinstance(Circle(1), collections.abc.Hashable)
import abc, collections.abc
class Shape_(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
class Circle(Shape_):
    def __init__(self, r): self.r = r
    def area(self): return math.pi * self.r ** 2
class Gen(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, v): self.v = v
@program(X)
def generic(x): return Gen(x).v * 2, Gen[int](x).v
class InitSub:
    reg = []
    def __init_subclass__(cls, **k): InitSub.reg.append(cls.__name__)
class Sub1(InitSub):
    def f(self, x): return x * len(self.reg)
@program(X)
def initsub(x): return Sub1().f(x)
class NewCls:
    def __new__(cls, *a): o = super().__new__(cls); o.k = 4; return o
    def __init__(self, v): self.v = v
@program(X)
def newcls(x): return NewCls(x).v * NewCls(x).k
class DictSub(dict):
    def __getattr__(self, k): return self[k]
@program(X)
def dict_subclass(x):
    d = DictSub(a=2)
    return x * d.a, d
class ListSub(list):
    def total(self): return sum(self)
@program(X)
def list_subclass(x):
    l = ListSub([1, 2]); l.append(3)
    return x * l.total(), len(l)
CFG = DictSub(lr=0.5, n=3)
@program(X)
def cfg_global(x): return x * CFG.lr * CFG["n"]
import types
NS = types.SimpleNamespace(a=2, b=3)
@program(X)
def namespace(x):
    n = types.SimpleNamespace(k=x); n.j = 4
    return x * NS.a + n.k * n.j
@program(X)
def complex_unpack(x):
    (a, b), c = (1, 2), 3
    for i, (p, q) in enumerate(zip([1, 2], [3, 4])): x = x + i * p * q
    return x * a * b * c
@program(X)
def global_effect(x):
    GSTATE["n"] = x.shape[0] * 2
    return x, GSTATE["n"]
@program(X)
def any_str(x): return x, str(3.5), repr([1, "a"]), str((1, 2)), ascii("é"), format(3.14159, ".3f"), "a" * 3, "b" in "abc", "abc"[1:], "a" < "b", "é".encode("utf8")
@program(X)
def loops_mixed(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0.5: total += x[i, j]
    return total, x.sum()
@program(X)
def try_loop(x):
    out = []
    for k in range(4):
        try: out.append(x[k].sum())
        except IndexError: out.append(-1.0); break
    return out
