"""Objects that published models are written with, in captured functions: outputs that are dicts, configurations that
search their attributes themselves, caches of functions, imports inside of functions.
"""

import collections
import copy
import dataclasses
import functools
import types

import pytest
import weft.torch as torch

nn, F = torch.nn, torch.nn.functional

X = torch.tensor([[-1.0, 2.0, 0.5], [3.0, -4.0, 1.0]])


class Output(collections.OrderedDict):
    """Attributes that are entries, too, where they are not None."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = self.__dict__.get(field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in {field.name for field in dataclasses.fields(self)} and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Hidden(Output):
    last: torch.Tensor | None = None
    cache: list | None = None
    layers: tuple | None = None


class Table(dict):
    """A dict with a method of its own."""

    def get(self, key, default=None):
        return super().get(str(key), default)


class Plain(dict):
    pass


class Config:
    names = {"width": "size"}

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, key, value):
        if key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        super().__setattr__(key, value)

    def __getattribute__(self, key):
        if key != "names" and key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        return super().__getattribute__(key)

    @property
    def double(self):
        return self.width * 2


class Recipe:
    def __init__(self, pattern):
        self.parts = pattern.split()

    @functools.lru_cache(8)  # noqa: B019
    def times(self, shape):
        return [len(self.parts) * size for size in shape][1]


@functools.lru_cache(256)
def recipe(pattern, axes=()):
    return Recipe(pattern)


@functools.lru_cache(256)
def shape_of(pattern, shape):
    return [size for size in shape for _ in pattern.split()]


RECIPE = Recipe("a b")
TABLE = Table({"3": 10, "5": 20})
CONFIG = Config(size=4, scale=2.0)


def assert_same_objects(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        return torch.testing.assert_close(found, expected)
    if isinstance(expected, dict):
        assert list(found.keys()) == list(expected.keys())
        for key in expected.keys():
            assert_same_objects(found[key], expected[key])
        attributes = vars(expected) if hasattr(expected, "__dict__") else {}
        assert list(attributes) == (list(vars(found)) if attributes else [])
        for key, value in attributes.items():
            assert_same_objects(getattr(found, key), value)
    elif isinstance(expected, (tuple, list)):
        for one, other in zip(found, expected, strict=True):
            assert_same_objects(one, other)
    else:
        assert found == expected


def changed(x):
    output = Hidden(last=x * 2)
    output.layers = (x,)
    output["cache"] = [x + 1]
    return output


def inner(x):
    output = Hidden(last=x * 2, layers=(x, x + 1))
    return output.last + output[0] + output["last"] + output.to_tuple()[1][0] + len(output)


def of_dict(x):
    table = Plain(a=x, b=2)
    table["c"] = x + 1
    del table["b"]
    table.update([("d", 3)])
    table.setdefault("e", 5)
    return table, "a" in table, "b" in table, len(table), list(table), dict(**table), bool(table)


def fx(x):
    import weft.torch.fx

    return x * 2 if not isinstance(x, weft.torch.fx.Proxy) else x


def formats(x):
    x = x.reshape(2, 3, 1, 1).to(torch.float64, memory_format=torch.channels_last)
    return x.contiguous(memory_format=torch.contiguous_format), x.to(
        "cpu", memory_format=torch.preserve_format
    )


def modules_in_a_set(x):
    seen = {MODULES[0]}
    return x * (MODULES[0] in seen) + (MODULES[1] in seen) + len(list(MODULES.named_modules()))


MODULES = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
MODULES.append(MODULES[0])


def copied(x):
    config = copy.deepcopy(CONFIG)
    scale = config.scale
    delattr(config, "scale")
    config.width = 7
    return x * config.size + scale + CONFIG.size + hasattr(config, "scale")


def counts(x):
    return torch.histc(x, 4, -4, 4), x.histc(bins=3, min=0, max=2), torch.histc(x.half(), 2, 0, 1)


@torch.library.custom_op("captured_objects::rows", mutates_args=())
def rows(x: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    start, parts = 0, []
    for number, end in enumerate(counts.tolist()):
        parts.append(x[start:end] * number)
        start = end
    return torch.cat(parts)


def repeated(x):
    return (
        x.repeat_interleave(2, dim=1),
        torch.repeat_interleave(x, 3),
        torch.repeat_interleave(x, 2, -2),
        torch.repeat_interleave(x, 1, 0),
        torch.repeat_interleave(x, 0, 0),
        torch.repeat_interleave(x.T, 2, 0),
    )


FUNCTIONS = {
    "an output": (lambda x: Hidden(last=x * 2, layers=(x,)), X),
    "an output that is changed": (changed, X),
    "an output inside": (inner, X),
    "an output given": (lambda h: h.last + h[0] + h["last"] + (0 if h.cache is None else 1), Hidden(last=X)),
    "keys of an output": (lambda h: [h[key] + 1 for key in h.keys()], Hidden(last=X)),
    "a subclass of dict": (of_dict, X),
    "a subclass of dict given": (lambda t: t["a"] + len(t) + ("b" in t), Plain(a=X)),
    "a method of dict that is overridden": (
        lambda x: x * TABLE.get(3) + TABLE.get("5", 1) + TABLE.get(7, 2),
        X,
    ),
    "attributes that a class searches": (lambda x: x * CONFIG.width + CONFIG.double, X),
    "getattr of them": (lambda x: x * getattr(CONFIG, "width", 1) + getattr(CONFIG, "other", 5), X),
    "hasattr of them": (lambda x: x if hasattr(CONFIG, "other") else x * CONFIG.scale, X),
    "made inside": (lambda x: x * Config(width=3).size, X),
    "what a cache gives": (lambda x: x * len(recipe("a b c").parts), X),
    "a cached function of a shape": (lambda x: x.sum() + sum(shape_of("a b", x.shape)), X),
    "an import of torch.fx": (fx, X),
    "repeat_interleave": (repeated, X),
    "memory formats": (formats, X),
    "modules in a set": (modules_in_a_set, X),
    "a method behind a cache": (lambda x: x * RECIPE.times(x.shape), X),
    "histc": (counts, X),
    "a copy of a configuration": (copied, X),
    "an operator of the program's": (lambda x: rows(x + 1, torch.tensor([1, 2])) + 1, X[:2]),
    "by its name": (lambda x: torch.ops.captured_objects.rows(x + 1, torch.tensor([1, 2])) + 1, X[:2]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_functions(name, dynamic):
    function, argument = FUNCTIONS[name]
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    for _ in range(2):
        assert_same_objects(compiled(argument), function(argument))
    if (
        isinstance(argument, torch.Tensor)
        and "operator" not in name
        and name not in ("by its name", "memory formats")
    ):
        larger = torch.cat([argument, argument + 1])
        assert_same_objects(compiled(larger), function(larger))


class Searching(nn.Module):
    """A module that finds what is missing in its configuration."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("scale", torch.tensor(2.0))
        self.values = {"power": 2}

    def __getattr__(self, name):
        values = self.__dict__.get("values", {})
        if name in values:
            return values[name]
        return super().__getattr__(name)

    @property
    def config(self):
        return self.values

    @property
    def missing(self):
        raise AttributeError("missing")

    def forward(self, x):
        x = self.linear(x) * self.scale + self.config["power"] + self.power
        return x if hasattr(self, "_hook") or hasattr(self, "missing") else x + 1


def test_modules_with_getattr():
    module = Searching()
    compiled = torch.compile(module, fullgraph=True)
    for x in (X, X + 1, torch.cat([X, X])):
        torch.testing.assert_close(compiled(x), module(x))


def test_results_are_the_programs_own():
    """What a function returns is made anew, and what it is given stays as it is."""
    compiled = torch.compile(lambda x: Plain(a=x + 1))
    first, second = compiled(X), compiled(X)
    first["b"] = 1
    assert list(second) == ["a"] and type(second) is Plain
    given = Hidden(last=X, layers=(X,))

    def change(output):
        output["cache"] = [output.last + 1]
        return output

    result = torch.compile(change)(given)
    assert result is given and list(given) == ["last", "layers", "cache"] and given.cache is given["cache"]


@pytest.mark.parametrize("dynamic", [None, True])
def test_conditions_on_floats(dynamic):
    """Their outcome is guarded; the numbers themselves may change."""

    def function(x, temperature):
        if not temperature:
            return x
        x = x / max(temperature, 1e-5) + min(2, temperature)
        return x * 2 if 0.5 < temperature <= 3 else x

    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    for temperature in (0.8, 0.3, 0.0, 0.9, 1e-6, 7.5, -1.0, 0.5, 3.0):
        torch.testing.assert_close(compiled(X, temperature), function(X, temperature))


def test_outputs_whose_keys_change():
    compiled = torch.compile(lambda h: sum(h.values()), fullgraph=True)
    torch.testing.assert_close(compiled(Plain(a=X, b=X + 2)), X + X + 2)
    torch.testing.assert_close(compiled(Plain(a=X)), X)
    torch.testing.assert_close(compiled(Plain(b=X + 1, c=X)), X + X + 1)


def test_names_that_are_imported_only():
    from weft.torch import TensorType
    from weft.torch.func import grad_and_value
    from weft.torch.utils.checkpoint import get_device_states, set_device_states

    assert not isinstance(X, TensorType)
    set_device_states(*get_device_states(X))
    with pytest.raises(NotImplementedError, match="not weft's"):
        grad_and_value(lambda x: x)


def test_dicts_whose_keys_are_tuples_of_classes():
    table = {(int, float): 2.0, (): 3.0, frozenset({"a", str}): 4.0, str.lower: 5.0, (len, ("b", None)): 6.0}
    for kind in (dict, collections.OrderedDict):
        held = kind(table)
        compiled = torch.compile(
            lambda x: x * held[int, float] + held[frozenset({str, "a"})] + held.get((str,), 0) + len(held),  # noqa: B023
            fullgraph=True,
        )
        torch.testing.assert_close(compiled(X), X * 2 + 9)
        held[(str,)] = 10.0
        torch.testing.assert_close(compiled(X), X * 2 + 20)
        held[int, float] = 7.0
        torch.testing.assert_close(compiled(X), X * 7 + 20)


def test_vars_of_an_object():
    plain, named = Plain(a=X, b=X + 2), types.SimpleNamespace(scale=3.0)
    plain.factor = 2.0

    def sizes(value):
        return vars(value).get("factor", 0)

    compiled = torch.compile(lambda x: x * vars(named)["scale"] + sizes(plain), fullgraph=True)
    torch.testing.assert_close(compiled(X), X * 3 + 2)
    named.scale, plain.factor = 4.0, 1.0
    torch.testing.assert_close(compiled(X), X * 4 + 1)
    with pytest.raises(TypeError, match="__dict__"):
        torch.compile(lambda x: x + len(vars(x.shape[0])))(X)


def test_dictionaries_made_by_dict_itself():
    class Frozen(dict):  # as frozendict's class in Python makes its instances
        def __new__(cls, *args, **kwargs):
            self = dict.__new__(cls)
            dict.__init__(self, *args, **kwargs)
            self.mark = len(args)
            return self

        def __init__(self, *args, **kwargs):
            pass

        def __setitem__(self, key, value):
            raise TypeError("frozen")

    class Named(dict):
        def __init__(self, values, **kwargs):
            dict.__init__(self, values, **kwargs)
            self.name = "n"

    def f(x):
        frozen, named = Frozen({"a": 2}, b=3), Named([("c", 4)], d=5)
        none = Frozen()
        return x * frozen["a"] + frozen["b"] + named["c"] * named["d"] + frozen.mark + len(none), named.name

    x = torch.ones(2)
    found, name = torch.compile(f, fullgraph=True)(x)
    assert found.tolist() == f(x)[0].tolist() == [26, 26] and name == "n"
