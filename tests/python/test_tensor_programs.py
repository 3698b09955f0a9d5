"""Compiled tensor programs and modules against plain ones: whatever a capture reads is changed, and it is called again."""

import copy
import pathlib
import sys

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from weft import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))
import tensor_fuzz
from support.compare import assert_same


def example(*shape):
    count = int(np.prod(shape))
    return weft.tensor(np.linspace(-2, 2, count, dtype=np.float32).reshape(shape))


@pytest.fixture(autouse=True)
def weights_of_one_seed():
    weft.random.manual_seed(0)


class Options:
    def __init__(self):
        self.factor, self.doubles = 2.0, False


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4)])
        self.scale, self.options = 1.5, Options()
        self.register_buffer("shift", weft.ones(4))

    def forward(self, x):
        h = self.first(x) * self.scale + self.shift
        for layer in self.layers:
            h = layer(h)
        if self.training:
            h = h + 1
        if self.options.doubles:
            h = h * 2
        return self.last(h) * self.options.factor


def _hook(times):
    return lambda module, args, output: output * times


CHANGES = {
    "a weight is filled": lambda m: m.first.weight.fill_(0.5),
    "a weight is multiplied": lambda m: m.first.weight.mul_(2),
    "a weight is changed through NumPy": lambda m: m.first.weight.numpy().__setitem__(0, 7),
    "a weight is replaced": lambda m: setattr(m.first, "weight", nn.Parameter(weft.ones(4, 4))),
    "a weight is replaced in the dict": lambda m: m.first._parameters.update(
        weight=nn.Parameter(weft.ones(4, 4))
    ),
    "a weight is strided": lambda m: setattr(m.first, "weight", nn.Parameter(example(4, 4).t())),
    "a bias goes": lambda m: setattr(m.first, "bias", None),
    "a buffer is replaced": lambda m: setattr(m, "shift", weft.full((4,), 2.0)),
    "a buffer is added to": lambda m: m.shift.add_(1),
    "a number": lambda m: setattr(m, "scale", 3.0),
    "a number becomes an int": lambda m: setattr(m, "scale", 3),
    "eval": lambda m: m.eval(),
    "an option": lambda m: setattr(m.options, "factor", 5.0),
    "an option that is branched on": lambda m: setattr(m.options, "doubles", True),
    "all options": lambda m: setattr(m, "options", Options()),
    "a layer is appended": lambda m: m.layers.append(nn.Linear(4, 4, bias=False)),
    "a layer is inserted": lambda m: m.layers.insert(0, nn.ReLU()),
    "a layer is replaced": lambda m: m.layers.__setitem__(0, nn.Tanh()),
    "a layer is deleted": lambda m: m.layers.__delitem__(0),
    "a module is replaced": lambda m: setattr(m, "first", nn.Identity()),
    "a module is replaced in the dict": lambda m: m._modules.__setitem__("first", nn.ReLU()),
    "a forward hook": lambda m: m.last.register_forward_hook(_hook(2)),
    "a forward pre-hook": lambda m: m.last.register_forward_pre_hook(lambda module, args: (args[0] + 1,)),
    "a hook of the whole": lambda m: m.register_forward_hook(_hook(3)),
    "forward of an instance": lambda m: setattr(m.last, "forward", lambda x: x * 3),
    "forward in the dict": lambda m: m.last.__dict__.update(forward=lambda x: x * 4),
    "the class": lambda m: setattr(m.last, "__class__", nn.Identity),
    "a state dict": lambda m: m.load_state_dict({k: v * 0 + 0.25 for k, v in m.state_dict().items()}),
    "another dtype and back": lambda m: m.double().float(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_a_module_are_seen(change):
    model = Model()
    compiled, x = weft.compile(model), example(3, 4)
    for _ in range(3):
        assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    CHANGES[change](model)
    for _ in range(3):
        assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)


def test_hooks_come_in_their_order():
    model = Model()
    compiled, x = weft.compile(model), example(3, 4)
    model.last.register_forward_hook(_hook(2))
    handle = model.last.register_forward_hook(lambda module, args, output: output + 1)
    assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    model.last._forward_hooks.move_to_end(next(iter(model.last._forward_hooks)))
    assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    handle.remove()
    assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)


def test_a_change_of_the_class_is_seen():
    class Doubled(Model):
        pass

    model = Doubled()
    compiled, x = weft.compile(model), example(3, 4)
    assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    Doubled.forward = lambda self, x: self.last(x) - 1
    assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)


FACTOR, FACTORS, OPTIONS = 1.0, [1.0], Options()


def _helper(x):
    return x + 1


def _set(name, value):
    globals()[name] = value


def _with_default(x, k=2.0, w=weft.ones(4)):
    return x * k + w


@pytest.mark.parametrize(
    "function, changes",
    [
        (lambda x: x * FACTOR, [lambda: _set("FACTOR", 2.0), lambda: _set("FACTOR", 3)]),
        (lambda x: x * FACTORS[0], [lambda: FACTORS.__setitem__(0, 5.0)]),
        (
            lambda x: x * OPTIONS.factor if OPTIONS.doubles else x - OPTIONS.factor,
            [lambda: setattr(OPTIONS, "factor", 7.0), lambda: setattr(OPTIONS, "doubles", True)],
        ),
        (lambda x: _helper(x), [lambda: _set("_helper", lambda x: x * 9)]),
        (_with_default, [lambda: setattr(_with_default, "__defaults__", (3.0, weft.zeros(4)))]),
    ],
    ids=["global", "item", "attribute", "function", "default"],
)
def test_changes_of_what_a_function_reads_are_seen(function, changes):
    compiled, x = weft.compile(function), example(3, 4)
    for change in [lambda: None, *changes]:
        change()
        for _ in range(2):
            assert_same(compiled(x), function(x), rtol=1e-5, atol=1e-6)


def test_changes_of_a_closure_are_seen():
    number, numbers, tensor = 2.0, [1.0], weft.ones(4)

    def function(x):
        return x * number + tensor * numbers[0]

    compiled, x = weft.compile(function), example(3, 4)
    assert_same(compiled(x), function(x), rtol=1e-5, atol=1e-6)
    numbers[0] = 4.0
    assert_same(compiled(x), function(x), rtol=1e-5, atol=1e-6)
    tensor.fill_(9)
    assert_same(compiled(x), function(x), rtol=1e-5, atol=1e-6)
    number = 11.0
    assert_same(compiled(x), function(x), rtol=1e-5, atol=1e-6)


def test_side_effects_happen_once_and_in_order(capsys):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.log, self.sizes = 0, [], {}

        def forward(self, x):
            self.calls += 1
            self.log.append(self.calls)
            self.sizes[self.calls] = x.shape[0]
            print("call", self.calls)
            return x * self.calls

    counter = Counter()
    compiled = weft.compile(counter)
    for call in range(1, 6):
        assert_same(compiled(example(call, 4)), example(call, 4) * call, rtol=1e-5, atol=1e-6)
        assert counter.calls == call and counter.log == list(range(1, call + 1))
        assert counter.sizes == {n: n for n in counter.log}
    assert capsys.readouterr().out.split() == [word for n in range(1, 6) for word in ("call", str(n))]


def test_objects_are_the_callers_own():
    def function(x, values, table):
        values.append(x)
        table["twice"] = x * 2
        return values, table, x, values[-1] is x

    x, values, table = example(3), [], {"x": 1}
    result = weft.compile(function)(x, values, table)
    assert result[0] is values and result[1] is table and result[2] is x and result[3] is True
    assert values[0] is x and list(table) == ["x", "twice"]


def test_arguments_that_share_memory():
    def function(a, b):
        a.add_(1)
        return b * 2

    compiled = weft.compile(function)
    for pair in (lambda a: (a, a), lambda a: (a, example(4)), lambda a: (a, a[:]), lambda a: (a[1:], a[:-1])):
        first, second = pair(example(4)), pair(example(4))
        assert_same(compiled(*first), function(*second), rtol=1e-5, atol=1e-6)
        assert_same(first[0], second[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda y: (y, y[1]),
        lambda y: (y[0].mul_(2), y, y[0]),
        lambda y: (y, y.t(), y[:, 1]),
        lambda y: (y.reshape(12)[2:5].add_(1), y),
        lambda y: (y.contiguous(), y, y.float(), y.detach()),
        lambda y: (y.unbind(0)[1].fill_(3), y, *y.split(1)),
        lambda y: (y, y.numpy()),
    ],
)
@pytest.mark.parametrize("of_input", [False, True])
def test_results_share_memory_as_they_do_in_python(function, of_input):
    def program(x):
        return function(x if of_input else x * 2)

    results = [f(example(3, 4)) for f in (weft.compile(program), program)]
    for first, second in zip(*results):
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
    for group in results:
        group[0].numpy()[...] = 77 if isinstance(group[0], weft.Tensor) else 0
    for first, second in zip(*results):
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))


def test_sizes_become_symbolic():
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2)).eval()
    compiled = weft.compile(model, fullgraph=True)
    before = weft.compiler.stats()["captures"]
    for rows in (2, 3, 4, 5, 7, 9, 11, 16, 31, 64, 100, 127):
        assert_same(compiled(example(rows, 8)), model(example(rows, 8)), rtol=1e-5, atol=1e-6)
    assert weft.compiler.stats()["captures"] - before == 2


def test_sizes_of_new_tensors_are_symbolic():
    def function(x):
        rows, columns = x.shape
        mask = weft.ones(rows, rows, dtype=weft.bool).tril()
        scores = (x @ x.t()).masked_fill(~mask, float("-inf")).softmax(-1)
        return scores.reshape(rows * x.size(0)) + weft.zeros(x.numel() // columns * rows)

    compiled = weft.compile(function, fullgraph=True, dynamic=True)
    before = weft.compiler.stats()["captures"]
    for rows in (3, 4, 7, 8):
        assert_same(compiled(example(rows, 4)), function(example(rows, 4)), rtol=1e-5, atol=1e-6)
    assert weft.compiler.stats()["captures"] - before <= 2


def test_a_branch_on_data_is_pythons_and_the_rest_is_compiled():
    def function(x):
        y = x * 2
        if y.sum().item() > 0:
            return y.relu() + 1
        return y.sigmoid() - 1

    compiled = weft.compile(function)
    for x in (example(3, 4) + 3, example(3, 4) - 3, example(3, 4) + 3):
        assert_same(compiled(x), function(x), rtol=1e-5, atol=1e-6)
    explanation = weft.compiler.explain(function)(example(3, 4))
    assert len(explanation.graphs) == 2 and len(explanation.breaks) == 1
    assert "item" in explanation.breaks[0].reason


def test_cache_of_keys_updated_in_place():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", weft.zeros(1, 2, 8, 4))

        def forward(self, position, value):
            self.keys[:, :, position] = value
            return self.keys.sum(2)

    caches = Cache(), Cache()
    step = weft.compile(caches[0], mode="reduce-overhead", fullgraph=True)
    before = weft.compiler.stats()["captures"]
    for position in range(8):
        arguments = weft.tensor([position]), example(1, 2, 1, 4) + position
        assert_same(step(*arguments), caches[1](*arguments), rtol=1e-5, atol=1e-6)
    assert_same(caches[0].keys, caches[1].keys, rtol=1e-5, atol=1e-6)
    assert weft.compiler.stats()["captures"] - before == 1


def test_many_layers_are_one_graph():
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(40)])
    compiled, x = weft.compile(model, fullgraph=True), example(2, 4)
    assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "model, inputs",
    [
        (lambda: nn.MultiheadAttention(8, 2, batch_first=True), lambda: (example(2, 5, 8),) * 3),
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda: (example(2, 5, 8),)),
        (
            lambda: nn.LSTM(4, 6, num_layers=2, batch_first=True, bidirectional=True),
            lambda: (example(2, 5, 4),),
        ),
        (lambda: nn.GRU(4, 6), lambda: (example(5, 2, 4),)),
        (
            lambda: nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.AdaptiveAvgPool2d(1)
            ),
            lambda: (example(2, 3, 8, 8),),
        ),
        (lambda: nn.Linear(4, 4).bfloat16(), lambda: (example(2, 4).to(weft.bfloat16),)),
        (lambda: nn.Linear(4, 4).half(), lambda: (example(2, 4).half(),)),
        (lambda: nn.Embedding(5, 3), lambda: (weft.tensor([[1, 4], [0, 2]]),)),
    ],
)
def test_layers_are_one_graph(model, inputs):
    model = model().eval()
    compiled, arguments = weft.compile(model, fullgraph=True), inputs()
    results, expected = compiled(*arguments), model(*arguments)

    def tensors(value):
        return [value] if isinstance(value, weft.Tensor) else [t for v in value or () for t in tensors(v)]

    for a, b in zip(tensors(results), tensors(expected)):
        assert_same(a.float(), b.float(), rtol=1e-5, atol=1e-6)


def test_numbers_that_change_are_not_frozen():
    compiled = weft.compile(lambda x, k, n: F.leaky_relu(x * k, k) + n)
    for k, n in ((0.1, 1), (0.2, 1), (0.3, 2), (0.4, 5), (0.1, 7)):
        assert_same(
            compiled(example(3, 4), k, n), F.leaky_relu(example(3, 4) * k, k) + n, rtol=1e-5, atol=1e-6
        )


def test_copies_of_a_module_are_apart():
    model = Model()
    x = example(3, 4)
    compiled = weft.compile(model)
    other = copy.deepcopy(model)
    other.first.weight.fill_(3)
    assert_same(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    assert_same(weft.compile(other)(x), other(x), rtol=1e-5, atol=1e-6)


class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(weft.full((size,), 2.0))

    def forward(self, x):
        return x * self.weight


def test_modules_are_made_in_programs():
    assert_same(weft.compile(lambda x: Layer(4)(x))(example(3, 4)), example(3, 4) * 2, rtol=1e-5, atol=1e-6)


def _pair(call, *arguments):
    """What a function gives plain and compiled, each with arguments of its own."""
    return [f(*(argument() for argument in arguments)) for f in (call, weft.compile(call))]


LAYOUTS = {
    "dense": lambda: example(3, 4),
    "transposed": lambda: example(4, 3).t(),
    "strided": lambda: example(3, 8)[:, ::2],
    "expanded": lambda: example(1, 4).expand(3, 4),
    "permuted": lambda: example(4, 3, 2).permute(1, 0, 2),
    "bfloat16": lambda: example(3, 4).bfloat16(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.to(weft.float32) is x,
        lambda x: x.to(x) is x,
        lambda x: x.float() is x,
        lambda x: x.type(weft.float32) is x,
        lambda x: x.contiguous() is x,
        lambda x: x.real is x,
        lambda x: x.to("cpu") is x,
        lambda x: x.view(x.shape) is x,
        lambda x: [
            y is x for y in (x.t() if x.ndim == 2 else x, x.detach(), x.add_(0) if x.stride()[0] else x)
        ],
    ],
)
def test_results_are_their_operands_as_they_are_in_python(function, layout):
    plain, compiled = _pair(function, LAYOUTS[layout])
    assert compiled == plain


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.clone(),
        lambda x: (x.clone(), x.clone()[1:]),
        lambda x: x.to(weft.float32, copy=True),
        lambda x: weft.zeros_like(x),
        lambda x: weft.ones_like(x).copy_(x),
        lambda x: (x.clone().is_contiguous(), x.clone().transpose(0, 1).contiguous()),
        lambda x: weft.complex(x.float(), x.float()).real,
    ],
)
def test_copies_lie_in_memory_as_they_do_in_python(function, layout):
    plain, compiled = _pair(function, LAYOUTS[layout])
    for a, b in zip(compiled, plain) if isinstance(plain, tuple) else [(compiled, plain)]:
        assert not isinstance(a, weft.Tensor) or a.stride() == b.stride()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_that_memory_does_not_have_are_refused(layout):
    def outcome(function):
        try:
            return function(LAYOUTS[layout]()).shape
        except ValueError as error:
            return str(error)

    for function in (
        lambda x: x.view(-1),
        lambda x: (x + 1).transpose(0, 1).view(-1),
        lambda x: x.view(2, -1),
    ):
        assert outcome(weft.compile(function)) == outcome(function)


def test_parts_of_complex_numbers_and_other_dtypes_are_views():
    def program(z, x):
        z = z.clone()
        z.real.add_(1)
        z.imag[0] = 5
        bits = x.view(weft.int32)
        bits.add_(1 << 23)
        return z, z.real, x, bits

    plain, compiled = _pair(
        program, lambda: weft.complex(example(3), example(3)), lambda: example(4).abs() + 1
    )
    for a, b in zip(compiled, plain):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_updates_of_tensors_whose_elements_share_memory():
    def program(x):
        x.diagonal().fill_(7)
        return x * 2

    compiled = weft.compile(program)
    for make in (lambda: example(4, 4), lambda: example(4, 4).t(), lambda: example(1, 4).expand(4, 4)):
        results = [(x := make(), f(x)) for f in (program, compiled)]
        for a, b in zip(*results):
            assert_same(a, b, rtol=1e-5, atol=1e-6)


def test_updates_beside_tensors_of_bfloat16():
    def program(x, y):
        x.add_(1)
        return y * 2

    plain, compiled = _pair(program, lambda: example(3), lambda: example(3).bfloat16())
    assert_same(compiled.float(), plain.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    found = tensor_fuzz.difference(seed)
    assert not found, found
