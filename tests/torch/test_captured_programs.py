"""What programs of PyTorch do in captured functions, without a graph break."""

import collections
import functools
import inspect
import subprocess
import sys
import typing

import pytest
import weft
import weft.torch as torch
from support.compare import assert_same

nn, F = torch.nn, torch.nn.functional


class Pair(typing.NamedTuple):
    first: torch.Tensor
    number: int = 3


class Point(collections.namedtuple("Point", "x y")):
    @property
    def total(self):
        return self.x + self.y

    def scaled(self, factor):
        return type(self)(self.x * factor, self.y)


class Flagged(Pair):
    pass


X = torch.tensor([[-1.0, 2.0, 0.5], [3.0, -4.0, 1.0]])


@torch.jit.script
def scale(x, factor: int):
    return torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float) * factor)


def chunked(forward, x):
    """As transformers applies a function to chunks, having counted its parameters."""
    if len(inspect.signature(forward).parameters) != 1:
        raise ValueError("expected a function of one tensor")
    return forward(x)


@functools.wraps(chunked)
def wrapped(*args):
    return chunked(*args)


class Chunks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def piece(self, x):
        return self.linear(x) + 1

    def forward(self, x):
        return chunked(self.piece, x)


CHUNKS = Chunks()


def at_once(function):
    """A decorator that is applied within captured code."""

    @functools.wraps(function)
    def inner(x, *args):
        return function(x, *args) if x is not None else x

    return inner


def documented(x):
    "Doubles."
    return x * 2


def with_names(x):
    inner = at_once(documented)
    return inner(x), inner.__name__, inner.__doc__, inner.__wrapped__ is documented, inner.__module__


def without_an_entry(x):
    point = Settings()
    point.width, names = 3, vars_of(point)
    del point.scale
    return x * point.width, sorted(names), sorted(point.__dict__), hasattr(point, "scale")


class Settings:
    def __init__(self):
        self.scale, self.depth = 2, 1


def vars_of(settings):
    return list(settings.__dict__)


def names_of(x, function):
    signature = inspect.signature(function)
    required = [n for n, p in signature.parameters.items() if p.default is inspect.Parameter.empty]
    return x + len(required), "x" in signature.parameters, list(signature.parameters)


FUNCTIONS = {
    "made": (lambda x: Pair(x * 2, 4), X),
    "default": (lambda x: Pair(x * 2), X),
    "field of an argument": (lambda p: p.first * p.number, Pair(X)),
    "replaced": (lambda p: p._replace(first=p.first + 1), Pair(X)),
    "_make": (lambda x: Pair._make([x, 2]), X),
    "_fields": (lambda p: len(p._fields) * p.first, Pair(X)),
    "subclass made": (lambda x: Point(x, x + 1), X),
    "property of a subclass": (lambda x: Point(x, x + 1).total, X),
    "method of a subclass": (lambda p: p.scaled(3), Point(X, X)),
    "subscripts": (lambda p: p[0] + p[-1], Point(X, X)),
    "made and replaced": (lambda p: Point(p.x, p.y * 2)._replace(x=p.y), Point(X, X + 1)),
    "subclass of NamedTuple": (lambda x: Flagged(x), X),
    "unpacked": (lambda p: [each * 2 for each in p], Point(X, X)),
    "abs": (lambda x: abs(x) + pow(abs(x), 2), X),
    "is_tensor": (lambda x: x * 2 if torch.is_tensor(x) and not torch.is_tensor(3) else x, X),
    "weft.is_tensor": (lambda x: x * 2 if weft.is_tensor(x) else x, X),
    "mT": (lambda x: x.mT @ x, X),
    "numbers of a new 0-d tensor": (
        lambda x: x / torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float) * 3),
        X,
    ),
    "a new 0-d tensor and a number": (lambda x: torch.tensor(2.0) * 3, X),
    "a scripted function": (lambda x: x / scale(x, 3), X),
    "the signature of a method": (CHUNKS, X),
    "of a function": (lambda x: names_of(x, chunked), X),
    "of one that wraps another": (lambda x: names_of(x, wrapped), X),
    "a partial that is returned": (lambda x: functools.partial(torch.add, x * 2, alpha=2)(x), X),
    "a decorator within": (lambda x: at_once(torch.add)(x, 1) + at_once(documented)(x), X),
    "what it says of itself": (with_names, X),
    "an attribute that is deleted": (without_an_entry, X),
    "equal": (lambda x: torch.equal(x, x + 0), X),
    "not equal": (lambda x: (torch.equal(x, x + 1), x * 2), X),
    "equal and another shape": (lambda x: torch.equal(x, x[0]), X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, argument = FUNCTIONS[name]
    compiled = torch.compile(function, fullgraph=True)
    for _ in range(2):
        assert_same(compiled(argument), function(argument), rtol=1.3e-6, atol=1e-5)


def test_attributes_of_named_tuples():
    """An instance that has attributes of its own is Python's."""
    point = Point(X, X)
    point.extra = 2
    assert torch.equal(torch.compile(lambda p: p.x * p.extra)(point), X * 2)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


def parametrized(times):
    linear = nn.Linear(3, 3)
    for _ in range(times):
        nn.utils.parametrize.register_parametrization(linear, "weight", Symmetric())
    return linear


MODULES = {
    "weight_norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 5)),
    "older weight_norm": lambda: nn.utils.weight_norm(nn.Linear(3, 5)),
    "spectral_norm": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 5)).eval(),
    "older spectral_norm": lambda: nn.utils.spectral_norm(nn.Linear(3, 5)).eval(),
    "parametrized": lambda: parametrized(1),
    "parametrized twice": lambda: parametrized(2),
    "in a Sequential": lambda: nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), nn.ReLU()
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_parametrized_modules(name):
    torch.manual_seed(0)
    module = MODULES[name]()
    compiled = torch.compile(lambda x: module(x), fullgraph=True)
    for x in (X, X + 1):
        torch.testing.assert_close(compiled(x), module(x))


def test_parametrized_weights_that_change():
    module = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    compiled = torch.compile(lambda x: module(x), fullgraph=True)
    compiled(X)
    module.parametrizations.weight.original0.mul_(2)
    torch.testing.assert_close(compiled(X), module(X))


@pytest.mark.parametrize("code", [
    "X.gather(1, i)", "X.scatter(1, i, 5.0)", "X.scatter_add(1, i, X)", "X.scatter_reduce(1, i, X, 'sum')",
    "X.index_add(0, i[0], X[:1])",
])  # fmt: skip
def test_negative_indices_are_refused(code):
    i = torch.tensor([[-1], [0]])
    with pytest.raises(RuntimeError, match="index -1 is out of bounds for dimension"):
        eval(code, {"X": X, "i": i})
    with pytest.raises((RuntimeError, IndexError)):
        torch.compile(lambda X, i: eval(code, {"X": X, "i": i}))(X, i)
    for refused in (lambda: X.index_select(0, i[0]), lambda: X.index_copy(0, i[0], X[:1])):
        with pytest.raises(IndexError):
            refused()


def test_devices_and_default_dtypes_of_what_is_drawn():
    with torch.device("meta"):
        drawn = torch.rand(2), torch.randn(2), torch.randint(3, (2,)), torch.randperm(3)
        assert all(each.device.type == "meta" for each in drawn)
    torch.set_default_dtype(torch.float64)
    try:
        assert all(
            each.dtype is torch.float64
            for each in (torch.rand(2), torch.randn(2), torch.normal(0.0, 1.0, (2,)))
        )
    finally:
        torch.set_default_dtype(torch.float32)


def test_methods_that_a_program_has_not_called_before_are_looked_up_while_capturing():
    program = """
import weft.torch as torch
function = lambda x: torch.zeros(4, 5).index_add_(0, torch.arange(4), x).index_fill_(0, torch.arange(2), 1.0)
print(torch.compile(function, fullgraph=True)(torch.ones(4, 5)).sum().item())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.stdout == "20.0\n", ran.stderr


def test_partials_leave_the_graph():
    def function(x):
        return [functools.partial(torch.add, x * 2, alpha=x.shape[0])], x

    (found,), _ = torch.compile(function, fullgraph=True)(X)
    assert type(found) is functools.partial and found.func is torch.add and found.keywords == {"alpha": 2}
    torch.testing.assert_close(found(X), X * 2 + X * 2)


def test_signatures_are_asked_again_when_they_change():
    def given(a, b=1):
        return a

    compiled = torch.compile(lambda x: names_of(x, given), fullgraph=True)
    assert compiled(X)[2] == ["a", "b"] and torch.equal(compiled(X)[0], X + 1)
    given.__defaults__ = None
    assert torch.equal(compiled(X)[0], X + 2)
    given.__code__ = (lambda x: x).__code__
    assert compiled(X)[1:] == (True, ["x"])


def test_fullgraph_refuses_what_would_be_python_s():
    """Also where a capture has no place to end: nothing of the call runs as it is."""

    def function(x):
        def values():
            yield x
            print(id(x))
            yield x

        return list(values())

    with pytest.raises(RuntimeError, match="fullgraph"):
        torch.compile(function, fullgraph=True)(X)


class Part:
    pass


class Comparing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.ReLU(), nn.Tanh()
        self.parts = [Part(), Part()]
        self.part = self.parts[1]

    def forward(self, x):
        seen = []
        for module in (self.first, self.second, self.first):
            if module not in seen:
                x = module(x) + len(seen)
                seen.append(module)
        if self.part in self.parts:
            x = x + 10
        if self.part == self.parts[0] or Part() == self.part:
            x = x + 100
        return x + sum(1 for child in self.children() if child in seen)


def test_objects_without_equality_of_their_own_equal_themselves():
    model, x = Comparing(), torch.arange(6.0) - 3
    compiled = torch.compile(model, fullgraph=True)
    torch.testing.assert_close(compiled(x), model(x))
    for change in (
        lambda: setattr(model, "part", model.parts[0]),
        lambda: setattr(model, "part", Part()),
        lambda: setattr(model, "first", model.second),
    ):
        change()
        torch.testing.assert_close(compiled(x), model(x))


class Positions(nn.Module):
    """Its buffer is moved in each call, to where and what it is already."""

    def __init__(self, made):
        super().__init__()
        self.table = made(torch.arange(12.0).reshape(4, 3))
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        self.table = self.table.to(device=x.device, dtype=x.dtype)
        self.layer = self.layer
        return self.layer(x) + self.table[: x.shape[0]]


@pytest.mark.parametrize("made", [nn.Buffer, nn.Parameter])
def test_modules_that_assign_what_they_have(made):
    module = Positions(made)
    compiled, table = torch.compile(module, fullgraph=True), module.table
    for _ in range(2):
        torch.testing.assert_close(compiled(X), module(X))
        assert module.table is table
    module.table = made(table * 2)
    torch.testing.assert_close(compiled(X), module(X))
    assert module.table is not table


@pytest.mark.parametrize("rounds", [3, 19, 60])
def test_fullgraph_unrolls_loops_over_tensors(rounds):
    def normalized(x):
        for _ in range(rounds - 1):
            x = x / (x.sum(-1, keepdim=True) + 1)
            x = x / (x.sum(-2, keepdim=True) + 1)
        return x

    torch.testing.assert_close(torch.compile(normalized, fullgraph=True)(X.abs()), normalized(X.abs()))


def test_requires_grad_of_a_tensor_made_inside():
    def function(x, on):
        y = (x * 2).requires_grad_(on)
        return y.requires_grad, y, x.clone().requires_grad_().requires_grad

    compiled = torch.compile(function)
    for on in (True, False, True):
        (flag, y, other), expected = compiled(X, on), function(X, on)
        assert (
            (flag, y.requires_grad, other) == (on, on, True) == (expected[0], expected[1].requires_grad, True)
        )


def test_ranges_that_count_down_have_symbolic_sizes():
    functions = {
        "from the last": lambda x: torch.arange(x.shape[0] - 1, -1, -1) * x.shape[0],
        "by twos": lambda x: torch.arange(x.shape[0], 0, -2),
        "to the first": lambda x: torch.arange(9, x.shape[0], -1) + 1,
    }
    for name, function in functions.items():
        compiled = torch.compile(function, fullgraph=True, dynamic=True)
        captures = weft.compiler.stats()["captures"]
        for size in (2, 3, 1, 6, 4, 5, 7, 8):
            x = torch.zeros(size, 2)
            assert compiled(x).tolist() == function(x).tolist(), (name, size)
        assert weft.compiler.stats()["captures"] - captures <= 3, name
    compiled = torch.compile(lambda x: torch.arange(4, x.shape[0], -1), dynamic=True)
    assert [compiled(torch.zeros(size, 2)).tolist() for size in (2, 3, 4)] == [[4, 3], [4], []]
    with pytest.raises(RuntimeError):
        compiled(torch.zeros(5, 2))


def test_functions_that_wrap_others_leave_the_graph():
    compiled = torch.compile(lambda x: (at_once(documented), x + 1), fullgraph=True)
    found, _ = compiled(X)
    assert (found.__name__, found.__doc__, found.__wrapped__) == ("documented", "Doubles.", documented)
    torch.testing.assert_close(found(X), X * 2)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_requires_grad_of_arguments_is_read_in_each_call(fullgraph):
    compiled = torch.compile(lambda x: (x * 2, x.requires_grad), fullgraph=fullgraph)
    x = X.clone()
    for on in (False, True, True, False):
        assert compiled(x.requires_grad_(on))[1] is on


class Typed(nn.Module):
    """As published models ask for their own dtype and device."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.again = self.linear
        self.register_buffer("steps", torch.zeros(2, dtype=torch.int64))

    @property
    def dtype(self):
        return next(p.dtype for p in self.parameters() if p.is_floating_point())

    @property
    def device(self):
        return next(self.parameters()).device

    def forward(self, x):
        x = x.to(dtype=self.dtype).to(self.device)
        names = [name for name, _ in self.named_parameters()] + [name for name, _ in self.named_buffers()]
        count = sum(p.numel() for p in self.parameters())
        return self.linear(x) * torch.finfo(self.dtype).eps + count, names


def test_modules_that_ask_for_their_own_parameters():
    module = Typed()
    compiled = torch.compile(module, fullgraph=True)
    for change in (None, lambda: module.double(), lambda: setattr(module, "extra", nn.Parameter(X.double()))):
        if change:
            change()
        assert_same(compiled(X), module(X), rtol=1.3e-6, atol=1e-5)
    assert compiled(X)[1] == ["extra", "linear.weight", "linear.bias", "steps"]


def bounded(function):
    """Binds arguments by a signature that is made once."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def inner(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return function(*given.args, **given.kwargs)

    return inner


@bounded
def shifted(x, by=1, *, times=2):
    return x * times + by


class Sampled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.dropout = nn.Linear(3, 3), nn.Dropout(0.9)

    def forward(self, x):
        self.dropout.eval()
        return self.dropout(self.linear(x))


def test_arguments_bound_by_a_signature():
    for call in (lambda x: shifted(x), lambda x: shifted(x, 3, times=4), lambda x: shifted(x, by=x)):
        torch.testing.assert_close(torch.compile(call, fullgraph=True)(X), call(X))


def test_methods_with_the_names_of_functions_that_look_at_frames():
    module = Sampled()
    compiled = torch.compile(module, fullgraph=True)
    torch.testing.assert_close(compiled(X), module.linear(X))
    assert not module.dropout.training


class Padded(nn.Module):
    """A module whose sizes are computed once, and a table by kinds of annotations."""

    kinds = {typing.Union: 1, typing.Literal: 2, list: 3}

    def __init__(self, width):
        super().__init__()
        self.width, self.asked = width, 0

    @functools.cached_property
    def left(self):
        self.asked += 1
        return self.width // 2

    def forward(self, x):
        return F.pad(x, (self.left, self.left)) * self.kinds.get(list) + self.kinds[typing.Literal]


def test_cached_properties_of_modules():
    module, plain = Padded(4), Padded(4)
    compiled = torch.compile(module, fullgraph=True)
    for x in (X, X + 1):
        torch.testing.assert_close(compiled(x), plain(x))
    assert module.asked == plain.asked == 1 and module.__dict__["left"] == 2
    module.left = 1
    assert compiled(X).shape == (2, 5)
    del module.left
    module.width = 6
    assert compiled(X).shape == (2, 9) and module.asked == 2


class Shared(nn.Module):
    """One module under two names."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first


def test_a_module_that_has_two_names_is_set_to_train():
    module = Shared()

    def program(x):
        module.eval()
        return module.second(x)

    compiled = torch.compile(program, fullgraph=True)
    for _ in range(3):
        module.train()
        assert torch.allclose(compiled(X), module.first(X))
        assert not (module.training or module.first.training)


def step_number(t):
    """As schedulers of diffusion models ask for what they were given."""
    if isinstance(t, (int, torch.IntTensor, torch.LongTensor)):
        return 1
    return 2 if isinstance(t, torch.FloatTensor) else 3


def test_tensor_types():
    compiled = torch.compile(lambda x, t: x * step_number(t), fullgraph=True)
    for t, number in ((torch.tensor(3), 1), (torch.tensor(3, dtype=torch.int32), 1), (3, 1), (X, 2), (X.double(), 3), ("a", 3), (3.0, 3)):  # fmt: skip
        assert torch.equal(compiled(X, t), X * number)
