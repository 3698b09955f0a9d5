"""What the fuzzed tensor programs read besides their arguments, and what changes it between calls.

Each is a piece of a module's text, with the numbers, tensors, expressions and statements that use it, in the notation of
tensor_calls.py, and the changes of it.
"""

from __future__ import annotations

import dataclasses

from tensor_calls import entries


@dataclasses.dataclass
class Surrounding:
    lines: str
    numbers: list = dataclasses.field(default_factory=list)
    tensors: list = dataclasses.field(default_factory=list)
    expressions: list = dataclasses.field(default_factory=list)
    statements: list = dataclasses.field(default_factory=list)
    changes: list = dataclasses.field(default_factory=list)


def surrounding(lines, numbers="", tensors="", expressions="", statements="", changes=""):
    return Surrounding(lines.strip("\n"), *map(entries, (numbers, tensors, expressions, statements, changes)))


SURROUNDINGS = {
    "globals": surrounding(
        """
FACTOR, FLAG, LOG = 1.5, False, []
def bump():
    global FACTOR
    FACTOR += 0.5
    return FACTOR
def note(x):
    LOG.append(len(LOG))
    return x
def scaled(x):
    return x * FACTOR
""",
        "FACTOR | len(LOG) | bump()",
        "",
        "scaled({x}) | note({x}) | {x} * 2 if FLAG else {x} | scaled(note({x})) | {x} + bump()",
        "bump() | LOG.append({x}.shape[0]) | LOG.append({x}) | LOG.append({s}) | LOG.clear()",
        "FACTOR = 0.5 | FACTOR = 3 | FACTOR = True | FACTOR = T.ones(1) | FLAG = not FLAG | scaled = lambda x: x - FACTOR | LOG = [] | LOG.append(1) | note = scaled | len = lambda x: 3 | del FLAG; FLAG = True | LOG[:] = [2.0]",
    ),
    "containers": surrounding(
        """
FACTORS, TABLE, NESTED = [1.5, 2.0], {"k": 2.0, "w": T.ones(4), 3: 1}, {"a": [1.0, (2.0, T.ones(2))], "b": {"c": 3}}
NAMES, TENSORS, EMPTY = ("k", "w"), [T.ones(1), T.zeros(()), T.ones(4) * 2], {}
CHOSEN = {"relu": F.relu, "twice": lambda x: x * 2}
""",
        "FACTORS[0] | FACTORS[-1] | TABLE['k'] | NESTED['b']['c'] | NESTED['a'][0] | len(FACTORS) | sum(FACTORS) | TABLE.get('z', 2) | max(FACTORS) | len(TABLE) | 'z' in TABLE | len(EMPTY)",
        "TABLE['w'] | NESTED['a'][1][1] | TENSORS[0] | TENSORS[-1]",
        "sum([{x} * k for k in FACTORS]) | CHOSEN['relu']({f}) | CHOSEN['twice']({x}) | {x} * sum(v for v in TABLE.values() if not isinstance(v, T.Tensor)) | {x} + sum(TENSORS) | T.stack([{x} * k for k in FACTORS]) | {x} * len([k for k in TABLE if k != 'w']) | [{x}, {x}][int(len(FACTORS) > 2)] | sum(t.sum() for t in TENSORS) + {x} | {x} + next(iter(FACTORS)) | sum(map(lambda k: {x} * k, FACTORS)) | {x} * [k for k in TABLE].index('k') | {x} + (3 in TABLE)",
        "FACTORS.append(0.5) | FACTORS[0] += 0.5 | TABLE['n'] = {c} | TABLE['w'] = {x} | TABLE['w'].add_(1) | TENSORS.append({x}) | TENSORS[0] = TENSORS[0] + 1 | EMPTY[len(EMPTY)] = {x} | TABLE.pop('n', None) | TABLE.setdefault('m', {x}) | TABLE.update(k={c}) | FACTORS.reverse() | TENSORS.insert(0, {x}) | del TENSORS[1:2] | FACTORS.extend([1.0, 0.5]) | TENSORS.pop() | TABLE['k'] += 1 | NESTED['b']['c'] += 1 | NESTED['a'].append({c}) | EMPTY.clear() | TENSORS[-1].mul_(2)",
        "FACTORS[0] = 0.5 | FACTORS.append(3) | FACTORS.pop() | FACTORS = (2.0, 1.0, 0.5) | TABLE['k'] = 3 | TABLE['k'] = TABLE.pop('k') | TABLE['w'] = T.zeros(4) | TABLE['w'].fill_(3) | TABLE['w'] = TABLE['w'].double() | TABLE.pop('w', 0) | TABLE = dict(reversed(list(TABLE.items()))) | NESTED['b'] = {'c': 4.0} | NESTED['a'][1] = (1, T.zeros(2)) | TENSORS.append(T.ones(1)) | TENSORS.reverse() | TENSORS[0] = a0 | TENSORS = TENSORS[:1] * 2 | CHOSEN['relu'] = lambda x: x + 1 | CHOSEN['twice'] = T.neg | TENSORS[0] = TENSORS[0].t() | TABLE['w'] = TABLE['w'][::2].repeat(2) | TABLE['w'] = TENSORS[-1] | FACTORS.sort() | TABLE[3] = True",
    ),
    "objects": surrounding(
        """
class Base:
    common, step = 2.0, 1
    def twice(self, x):
        return x * 2 + self.step
class Options(Base):
    limit = 3
    def __init__(self, factor=2.0):
        self.factor, self.doubles, self.seen, self.weight = factor, False, 0, T.ones(1) * factor
    @property
    def half(self):
        return self.factor / 2
    @staticmethod
    def less(x):
        return x - 1
    @classmethod
    def more(cls, x):
        return x + cls.common
    def times(self, x, k=1):
        self.seen += 1
        return x * self.factor + k
    def twice(self, x):
        return super().twice(x) + self.limit
    def __getattr__(self, name):
        if name.startswith("any"):
            return len(name)
        raise AttributeError(name)
    def __call__(self, x):
        return x + self.half
    def __len__(self):
        return 2
    def __bool__(self):
        return self.doubles
    def __getitem__(self, i):
        return self.factor + i
class Slots:
    __slots__ = ("value", "tensor")
    def __init__(self, value, tensor):
        self.value, self.tensor = value, tensor
OPTIONS, SLOTS = Options(), Slots(1.5, T.ones(4))
BOUND, DOUBLE = OPTIONS.times, functools.partial(OPTIONS.times, k=2)
""",
        "OPTIONS.factor | OPTIONS.half | Options.common | OPTIONS.step | OPTIONS.limit | SLOTS.value | OPTIONS.seen | len(OPTIONS) | OPTIONS[1] | OPTIONS.anything | getattr(OPTIONS, 'factor') | getattr(OPTIONS, 'nothing', 2) | hasattr(OPTIONS, 'extra') | Options().factor | bool(OPTIONS)",
        "OPTIONS.weight | SLOTS.tensor",
        "OPTIONS.times({x}) | OPTIONS({x}) | BOUND({x}) | BOUND({x}, k={n}) | DOUBLE({x}) | OPTIONS.twice({x}) | OPTIONS.less({x}) | Options.more({x}) | OPTIONS.more({x}) | {x} * 2 if OPTIONS.doubles else {x} | {x} - 1 if OPTIONS else {x} | Options({c}).times({x}) | Base.twice(OPTIONS, {x}) | Slots({x}, {x}).value + SLOTS.value | {x} + isinstance(OPTIONS, Base) | functools.partial(OPTIONS.times, {x})() | {x} * type(OPTIONS).limit | vars(OPTIONS)['factor'] * {x}",
        "OPTIONS.factor += 0.5 | OPTIONS.seen = {n} | OPTIONS.weight = {x} | OPTIONS.weight.add_(1) | SLOTS.value += 1 | SLOTS.tensor = {x} | OPTIONS.extra = {x} | Options.common += 1 | setattr(OPTIONS, 'extra', {c}) | OPTIONS.doubles = not OPTIONS.doubles | OPTIONS.__dict__['factor'] = {c} | SLOTS.tensor.mul_(2)",
        "OPTIONS.factor = 0.5 | OPTIONS.factor = 3 | OPTIONS.doubles = True | Options.common = 1.5 | Base.step = 2.0 | Base.common = 4 | Options.limit = 2 | OPTIONS.limit = 1 | del OPTIONS.limit | OPTIONS = Options(4.0) | Options.half = property(lambda self: self.factor * 2) | Options.half = 2.5 | Options.less = staticmethod(lambda x: x - 2) | Options.times = lambda self, x, k=1: x * k | OPTIONS.times = lambda x, k=1: x | Options.__call__ = lambda self, x: x * 4 | BOUND = Options(3.0).times | DOUBLE = functools.partial(OPTIONS.times, k=3) | DOUBLE.keywords['k'] = 0.5 | DOUBLE = functools.partial(DOUBLE, k=0.5) | SLOTS.value = 2 | SLOTS = Slots(3.0, T.ones(1)) | SLOTS.tensor = OPTIONS.weight | Base.twice = lambda self, x: x | OPTIONS.__class__ = Base; OPTIONS.__class__ = Options | OPTIONS.weight.fill_(2) | OPTIONS.weight = a0 | OPTIONS.__dict__['seen'] = 5 | Options.__getattr__ = lambda self, name: 1 | Options.__len__ = lambda self: 3 | Options.__bool__ = lambda self: True | OPTIONS.extra = 1 | Options.extra = 2 | del SLOTS.value; SLOTS.value = 0.5 | BOUND = OPTIONS.twice",
    ),
    "modules of Python's": surrounding(
        """
OTHER = types.ModuleType("other")
OTHER.__dict__.update(scale=2.0, weight=T.ones(1), T=T)
exec("def helper(x):\\n    return x * scale + weight\\ndef deeper(x, k=1):\\n    return helper(x) - k", OTHER.__dict__)
helper = OTHER.helper
""",
        "OTHER.scale",
        "OTHER.weight",
        "helper({x}) | OTHER.helper({x}) | OTHER.deeper({x}, {n}) | OTHER.deeper({x})",
        "OTHER.scale += 1 | OTHER.weight = {x} | OTHER.weight.add_(1)",
        "OTHER.scale = 0.5 | OTHER.scale = 3 | OTHER.weight = T.zeros(1) | OTHER.helper = lambda x: x * 3 | OTHER.weight.mul_(2) | helper = OTHER.deeper | OTHER.deeper.__defaults__ = (2,) | del OTHER.weight; OTHER.weight = 2 | OTHER = types.SimpleNamespace(**vars(OTHER))",
    ),
    "functions": surrounding(
        """
def with_defaults(x, k=2.0, *rest, w=0.5, t=T.ones(1), **more):
    return x * k + w + t + len(rest) + len(more)
def make(n, tensor):
    count = 0
    def inner(x):
        nonlocal count
        count += 1
        return x * n + count + tensor
    return inner
def power(x, n):
    return x if n <= 0 else power(x, n - 1) + x
def applied(function, *args, **kwargs):
    return function(*args, **kwargs)
def logged(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        CALLS[function.__name__] = CALLS.get(function.__name__, 0) + 1
        return function(*args, **kwargs)
    return call
CALLS = {}
@logged
def decorated(x, k=1):
    return x - k
@functools.lru_cache
def cached(n):
    return n * 2
def pair(x):
    return x + 1, {"half": x * 0.5}
def in_place(x, y):
    x.add_(y)
    return x
inner, second, thrice = make(2, T.ones(1)), make(0.5, 1), functools.partial(with_defaults, k=3)
""",
        "cached({n}) | len(CALLS)",
        "",
        "with_defaults({x}) | with_defaults({x}, {c}) | with_defaults({x}, 1, 2, 3, w={c}, z=1) | with_defaults({x}, t={x}) | inner({x}) | second({x}) | thrice({x}) | power({x}, {n}) | applied(inner, {x}) | applied(lambda x, k: x * k, {x}, k={c}) | decorated({x}) | decorated({x}, k={n}) | make({c}, {x})({x}) | (lambda x, y={x}: x + y)({x}) | pair({x})[1]['half'] | pair({x})[0] | in_place({x}.clone(), {x}) | in_place({x}, {c}) | applied(*(inner, {x})) | with_defaults(**{{'x': {x}, 'k': {n}}})",
        "in_place({x}, {x}) | second({x})",
        "with_defaults.__defaults__ = (3.0,) | with_defaults.__kwdefaults__ = {'w': 2, 't': T.zeros(1)} | with_defaults.__kwdefaults__['w'] = 1.5 | with_defaults.__kwdefaults__['t'].add_(1) | inner = make(3, 2) | inner = second | second.__closure__[1].cell_contents = 4.0 | inner.__closure__[0].cell_contents = 7 | second.__code__ = make(1, 1).__code__ | thrice = functools.partial(with_defaults, k=0.5, w=1) | thrice.keywords['k'] = 2 | decorated = logged(power_one) if 'power_one' in globals() else decorated.__wrapped__ | decorated.__wrapped__.__defaults__ = (2,) | CALLS.clear() | with_defaults = lambda x, *a, **k: x | applied.__code__ = (lambda function, *args, **kwargs: function(*args, **kwargs) + 1).__code__ | power.__code__ = (lambda x, n: x * n).__code__ | inner.__closure__[2].cell_contents = T.zeros(2) if len(inner.__closure__) > 2 else 0 | cached.cache_clear() | pair = lambda x: (x, {'half': x})",
    ),
    "classes of values": surrounding(
        """
Pair = collections.namedtuple("Pair", "first second", defaults=(0.5,))
@dataclasses.dataclass
class Record:
    tensor: object
    scale: float = 2.0
    items: list = dataclasses.field(default_factory=list)
    def total(self):
        return self.tensor * self.scale + len(self.items)
@dataclasses.dataclass(frozen=True)
class Frozen:
    k: int = 2
    t: object = None
class Kind(enum.Enum):
    ONE, TWO = 1, 2
class Wrapped:
    def __init__(self, inner):
        self.inner = inner
    def __add__(self, other):
        return Wrapped(self.inner + (other.inner if isinstance(other, Wrapped) else other))
    __radd__ = __add__
    def __matmul__(self, other):
        return self.inner * 2 + other
    def __iter__(self):
        yield self.inner
        yield self.inner * 2
    def __enter__(self):
        EVENTS.append("enter")
        return self.inner
    def __exit__(self, kind, error, trace):
        EVENTS.append(kind and kind.__name__)
        return kind is KeyError
@contextlib.contextmanager
def around(x):
    EVENTS.append("begin")
    try:
        yield x
    finally:
        EVENTS.append("end")
def numbered(x, n):
    for i in range(n):
        got = yield x * i
        EVENTS.append(i)
    return x
EVENTS, RECORD, PAIR, FROZEN, KIND = [], Record(T.ones(1)), Pair(2.0), Frozen(), Kind.ONE
""",
        "RECORD.scale | PAIR.first | PAIR.second | PAIR[1] | FROZEN.k | KIND.value | len(RECORD.items) | Kind.TWO.value | len(EVENTS) | (KIND is Kind.ONE) | (FROZEN == Frozen())",
        "RECORD.tensor",
        "RECORD.total() + {x} | Record({x}, {c}).total() | Pair({x}, {x}).second | (Wrapped({x}) + {x}).inner | Wrapped({x}) @ {x} | sum(Wrapped({x})) | sum(numbered({x}, {n})) + {x} | [*numbered({x}, 2)][-1] | dataclasses.replace(RECORD, tensor={x}).tensor | sum(Pair({x}, {x})) | {x} * {{Kind.ONE: 2, Kind.TWO: 3}}[KIND] | Pair({x})._replace(second={x})[1] | (Wrapped({x}) + Wrapped({x}) + 1).inner | ({x} + Wrapped({x})).inner | {x} * (2 if KIND is Kind.ONE else 1) | Pair(*PAIR)[0] * {x} | dataclasses.asdict(FROZEN)['k'] + {x}",
        "RECORD.items.append({c}) | RECORD.items.append({x}) | RECORD.scale = {c} | RECORD.tensor = {x} | RECORD.tensor.add_(1) | EVENTS.append(len(EVENTS))",
        "RECORD.scale = 3 | RECORD = Record(T.zeros(1), 1.0, [1]) | RECORD.items = [] | PAIR = Pair(1, 3) | PAIR = Pair(2.0, T.ones(1)) | FROZEN = Frozen(3) | KIND = Kind.TWO | Record.total = lambda self: self.tensor | Pair.__new__.__defaults__ = (2.0,) | RECORD.tensor.fill_(2) | RECORD.tensor = a0 | RECORD.items.append(2) | Wrapped.__matmul__ = lambda self, other: other | EVENTS.clear() | Record.scale = 5",
    ),
    "tensors": surrounding(
        """
WEIGHT, SCALAR, INDEX, MASK = T.ones(4), T.tensor(2.0), T.tensor([1, 0]), T.tensor([True, False, True, True])
ARRAY = np.arange(4, dtype=np.float32)
SHARED, VIEW = T.from_numpy(ARRAY), WEIGHT[1:3]
""",
        "SCALAR.item() | WEIGHT.shape[0] | INDEX.tolist()[0] | len(WEIGHT) | ARRAY.shape[0] | float(ARRAY[0]) | int(INDEX.sum())",
        "WEIGHT | SCALAR | INDEX | MASK | SHARED | VIEW",
        "{x} * SCALAR | {x} + WEIGHT | {x}[INDEX] | {x}[..., MASK] | {x} + T.from_numpy(ARRAY) | {x} * SHARED | WEIGHT[VIEW.long().clamp(0, 1)] + {x} | T.where(MASK, {x}, WEIGHT) | {x} + T.tensor(ARRAY) | {x} * ARRAY.max() | {x} * float(WEIGHT[0])",
        "WEIGHT.add_(1) | VIEW.mul_(2) | SHARED[0] = {c} | WEIGHT[: {n}] = {c} | SCALAR.add_({c}) | SHARED.copy_(WEIGHT) | ARRAY[1] += 1 | WEIGHT.copy_({x}) | INDEX.clamp_(0, 0) | MASK.logical_not_() | WEIGHT.view(2, 2).t().add_(VIEW) | WEIGHT.data = WEIGHT * 2 | WEIGHT.resize_({n} + 2).fill_({c}) | WEIGHT.tag = {c}",
        "WEIGHT.add_(1) | WEIGHT = T.zeros(4) | WEIGHT = WEIGHT.double() | WEIGHT = WEIGHT.int() | WEIGHT = T.ones(8)[::2] | WEIGHT = a0 | WEIGHT.data = T.ones(4) * 3 | WEIGHT.requires_grad_(True) | WEIGHT.requires_grad_(False) | WEIGHT = VIEW | VIEW = WEIGHT[:2] | VIEW = VIEW.clone() | SHARED = WEIGHT | ARRAY[0] = 7 | ARRAY = ARRAY * 2 | ARRAY = np.ones(4) | SCALAR.fill_(0.5) | SCALAR = T.tensor(2) | SCALAR = 3.0 | INDEX = T.tensor([0, 0, 1]) | INDEX = [0, 1] | MASK = T.ones(4, dtype=T.bool) | MASK[0] = False | WEIGHT = T.ones(1) | WEIGHT = T.ones(4).expand(2, 4) | WEIGHT.resize_(4).fill_(2) | WEIGHT.t_() | WEIGHT.unsqueeze_(0) | WEIGHT.set_(T.ones(4)) | a0 = WEIGHT[:] | a0 = WEIGHT | WEIGHT = T.ones(5)[1:] | WEIGHT = nn.Parameter(T.ones(4)) | ARRAY.resize(4)",
    ),
    "breaks": surrounding(
        """
@T.compiler.disable
def outside(x, k=1):
    return x - k
@T.compiler.disable
def outside_in_place(x):
    x.add_(1)
    return x
nested = compiled(lambda x, k=2: x * k)
LOCK, QUEUE = threading.Lock(), collections.deque([1.0, 2.0], maxlen=3)
class Odd:
    def __eq__(self, other):
        return True
    __hash__ = None
ODD = Odd()
""",
        "QUEUE[0] | len(QUEUE) | (ODD == 3)",
        "",
        "outside({x}) | outside({x}, {n}) | outside_in_place({x}) | nested({x}) | nested({x}, {c}) | {x} + QUEUE[-1] | outside({x}) + outside({x}) | {x} * len(sorted(QUEUE)) | nested(outside({x})) | {x} + eval('1 + 1') | {x} + T.tensor(np.random.RandomState(0).randint(3)) | {x} + [1, 2, 3][int({x}.sum() > 0)]",
        "QUEUE.append({c}) | outside_in_place({x}) | LOCK.acquire(); LOCK.release() | QUEUE.rotate(1)",
        "QUEUE.append(4.0) | outside = lambda x, k=1: x + k | nested = lambda x, k=1: x | nested = compiled(lambda x, k=1: x + k) | Odd.__eq__ = lambda self, other: False | QUEUE.clear(); QUEUE.append(1)",
    ),
}

# Prefix P is replaced by `self` in methods and NET elsewhere.
MODULES = surrounding(
    """
class Scale(nn.Module):
    unit = 1.0
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(T.ones(size))
        self.register_buffer("count", T.zeros((), dtype=T.int64))
        self.mode, self.history = "plain", []
    def forward(self, x, extra=0.0):
        self.count += 1
        if self.mode == "logged":
            self.history.append(x.shape[0])
        return x * self.weight + self.unit + extra
class Block(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.inner, self.act, self.residual = layer, nn.ReLU(), True
    def forward(self, x):
        y = self.act(self.inner(x))
        return y + x if self.residual else y
class Running(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", T.zeros(4))
        self.register_buffer("steps", T.tensor(0), persistent=False)
        self.momentum = 0.5
    def forward(self, x):
        if self.training:
            self.mean = self.mean * 0.5 + x.reshape(-1, x.shape[-1])[0] * self.momentum
            self.steps += 1
        return x - self.mean
class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", T.zeros(6, 4))
        self.position = 0
    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])[:1]
        self.keys[self.position : self.position + 1] = rows
        self.position = (self.position + 1) % 6
        return self.keys[: self.position].sum(0) + x
class Net(nn.Module):
    level = 2.0
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.shared, self.scale, self.running, self.cache = self.first, Scale(4), Running(), Cache()
        self.layers = nn.ModuleList([nn.Linear(4, 4, bias=False), nn.ReLU()])
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), Block(nn.Linear(4, 4))))
        self.table = nn.ModuleDict({"a": nn.ReLU(), "b": self.last})
        self.weights = nn.ParameterList([nn.Parameter(T.ones(4)), nn.Parameter(T.ones(4) * 2)])
        self.named = nn.ParameterDict({"w": nn.Parameter(T.ones(4))})
        self.block = Block(self.first)
        self.register_buffer("shift", T.ones(4))
        self.register_buffer("nothing", None)
        self.amount, self.flag, self.calls, self.log, self.options = 1.5, False, 0, [], {"k": 2.0}
        self.activation, self.plain = F.relu, [nn.Linear(4, 4)]
    def helper(self, x, k=1):
        return x * self.amount + k
    @property
    def size(self):
        return len(self.layers) + self.amount
    def forward(self, x):
        return self.last(self.first(x))
def with_hook(module, args, output):
    HOOKS.append(type(module).__name__)
    return output * 2
def with_pre(module, args):
    HOOKS.append(len(args))
    return (args[0] + 1, *args[1:])
def with_keywords(module, args, kwargs):
    return args, dict(kwargs, extra=0.5)
HOOKS, HANDLES = [], []
NET, OTHER_NET = filled(Net(), 1, EXACT), filled(Net(), 2, EXACT)
""",
    "P.amount | P.options['k'] | P.calls | P.level | P.size | len(P.layers) | len(P.weights) | P.scale.unit | P.training | P.first.in_features | len(P.log) | P.cache.position | P.running.momentum | len(HOOKS) | len(list(P.children())) | len(P.first._parameters) | sum(1 for _ in P.named_modules()) | (P.nothing is None) | P.flag",
    "P.shift | P.first.weight | P.last.bias | P.weights[0] | P.named['w'] | P.scale.weight | P.running.mean | P.cache.keys | P.scale.count | P.running.steps | P.layers[0].weight",
    """
P.first({f}) | P.last({f}) | P.shared({f}) | P.scale({f}) | P.scale({f}, {c}) | P.scale({f}, extra={f}) | P.running({f}) | P.cache({f}) | P.body({f}) | P.body[0]({f}) | P.body[1][1].inner({f}) | P.block({f}) | P.table['a']({f}) | P.table['b']({f}) | P.layers[0]({f}) | P.layers[-1]({f}) | P.helper({f}) | P.helper({f}, k={n})
P.activation({f}) | P.plain[0]({f}) | Net.helper(P, {f}) | P.get_submodule('body.0')({f}) | P.forward({f}) | P.__call__({f}) | F.linear({f}, P.first.weight, P.first.bias) | sum(p.sum() for p in P.parameters()) + {f} | {f} + sum(b.sum() for b in P.buffers()) | {f} * len(list(P.modules())) | {f} + sum(len(n) for n, _ in P.named_parameters()) | OTHER_NET.first({f}) | OTHER_NET({f})
[layer({f}) for layer in P.layers][-1] | functools.reduce(lambda x, layer: layer(x), P.layers, {f}) | {f} @ P.first.weight.t() | {f} + P.shift if P.nothing is None else {f} + P.nothing | {f} * 2 if P.training else {f} | {f} + 1 if P.flag else {f} | T.stack([{f} * w for w in P.weights]) | {f} + P.state_dict()['shift'] | {f} * sum(P.named.values()) | Block(P.last)({f}) | nn.Linear.forward(P.first, {f}) | type(P.scale)(4)({f})
""",
    """
P.calls += 1 | P.log.append({x}.shape[0]) | P.log.append({x}) | P.shift.add_(0.5) | P.shift = {f} | P.shift = P.shift * 0.5 + 1 | P.shift = {f}[0] | P.shift[: {n}] = {c} | P.options['k'] = {c} | P.amount += 0.5 | T.add(P.shift, 1, out=P.shift) | P.first.weight.data.add_(1) | P.flag = not P.flag | P.running.mean.zero_() | P.scale.history.clear() | P.extra = {x} | P.nothing = {f}
P.first.weight.data[0] = {c} | P.weights[0].data.mul_(2) | P.layers.append(nn.ReLU()) | P.cache.position = {n} | P.last.bias.data.copy_({f}) | P.register_buffer('late', {f}) | P._buffers['shift'] = {f} | P.eval() | P.train() | P.scale.count.zero_() | P.shift.copy_({f}) | P.level = {c} | del P.shift; P.shift = {f} | HOOKS.clear() | P.first.requires_grad_(False) | P.last.weight = P.first.weight
""",
    """
NET.first.weight.data.mul_(0.5) | NET.first.weight.data.numpy()[0] = 2 | NET.amount = 2.5 | NET.amount = 2 | NET.flag = not NET.flag | NET.eval() | NET.train() | NET.scale.eval() | NET.layers.append(filled(nn.Linear(4, 4), 7, EXACT)) | NET.layers.insert(0, nn.ReLU()) | NET.layers[0] = nn.ReLU() | del NET.layers[0] | NET.layers = nn.ModuleList([nn.ReLU()]) | NET.options['k'] = 3.0 | NET.options = {'k': 1} | NET.shift.fill_(2) | NET.shift = T.zeros(4)
HANDLES.append(NET.last.register_forward_hook(with_hook)) | HANDLES.append(NET.first.register_forward_pre_hook(with_pre)) | HANDLES.append(NET.scale.register_forward_pre_hook(with_keywords, with_kwargs=True)) | HANDLES.append(NET.block.act.register_forward_hook(with_hook)) | HANDLES and HANDLES.pop().remove() | HANDLES and HANDLES.pop(0).remove() | HANDLES.append(NET.register_forward_hook(with_hook)) | HANDLES.append(NET.body.register_forward_hook(with_hook, prepend=True)) | HANDLES.append(nn.modules.module.register_module_forward_hook(with_hook)); HANDLES.pop().remove()
with_hook = lambda module, args, output: output + 1 | with_pre.__code__ = (lambda module, args: None).__code__ | NET.first = nn.Identity() | NET.first = NET.last | NET.first.__dict__['forward'] = lambda x: x + 2 | NET.first.__dict__.pop('forward', None) | NET.last.bias = nn.Parameter(T.ones(4)) | NET.last.bias = None | NET.first.weight = nn.Parameter(T.ones(4, 4)) | NET.first.weight.data = T.ones(4, 4) | NET.first.weight.data = NET.first.weight.data.t() | NET.first.weight.requires_grad_(False) | NET.requires_grad_(True)
NET.double() | NET.float() | NET.scale.double() | NET.first.bfloat16().float() | NET.load_state_dict({k: v * 0 + 1 for k, v in NET.state_dict().items()}, strict=False) | NET.load_state_dict(OTHER_NET.state_dict(), strict=False) | Net.level = 4 | NET.level = 3.0 | Scale.unit = 2 | Scale.forward = lambda self, x, extra=0: x + extra | Net.helper = lambda self, x, k=1: x - k | NET.helper = lambda x, k=2: x * k | NET.activation = F.relu6 | NET.activation = nn.ReLU() | NET.table['a'] = nn.Identity() | NET.table['c'] = nn.ReLU() | NET.table.pop('a')
NET.weights.append(nn.Parameter(T.ones(4))) | NET.weights[0] = nn.Parameter(T.zeros(4)) | NET.named['w'] = nn.Parameter(T.ones(4) * 2) | NET.named['z'] = nn.Parameter(T.ones(4)) | NET.weights[0].data.fill_(3) | NET.nothing = T.ones(4) | NET.nothing = None | NET.shift = None | NET.register_buffer('shift', T.ones(4) * 2) | NET.register_buffer('late', T.ones(1)) | NET.scale.mode = 'logged' | NET.scale.mode = 'other' | NET.scale.count.fill_(5) | NET.block.residual = False | NET.block.inner = NET.last | NET.body.append(nn.ReLU()) | NET.body[0] = nn.Identity() | NET.body[1][1] = Block(nn.ReLU())
NET.running.momentum = 0.25 | NET.running.mean = NET.shift | NET.shift = NET.running.mean | NET.cache.position = 0 | NET.cache.keys = T.zeros(8, 4) | NET.plain[0] = NET.first | NET.plain.append(1) | NET.last.__class__ = nn.Identity | NET._modules['last'] = nn.ReLU() | NET._modules.move_to_end('first') if hasattr(NET._modules, 'move_to_end') else None | NET._buffers['shift'] = T.ones(4) * 4 | NET.first._parameters['bias'] = None | NET.zero_grad() | OTHER_NET = NET | OTHER_NET.first = NET.first | NET.shift = a0 | NET = copy.deepcopy(NET) | a0 = NET.shift | NET.first.weight.data = NET.last.weight.data | NET.apply(lambda m: None) | NET.to(T.float64) | NET.share = NET.first | Running.forward = lambda self, x: x
""",
)


def for_owner(items, owner):
    return [item.replace("P.", owner + ".").replace("(P", f"({owner}") for item in items]
