"""What weft.compile makes of a module is a module; Module.compile() compiles in place."""

import copy
import pickle

import pytest
import weft
from support.compare import assert_same
from weft import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("scale", weft.full((3,), 2.0))
        self.calls = 0

    def forward(self, x, *, bias=0.0):
        self.calls += 1
        return self.linear(x) * self.scale + bias


def test_is_a_module():
    model, x = Scaled(), weft.ones((2, 4))
    compiled = weft.compile(model)
    assert isinstance(compiled, nn.Module) and isinstance(compiled, nn.OptimizedModule)
    assert compiled._orig_mod is model and compiled.__wrapped__ is model
    assert_same(compiled(x, bias=1.0), model(x, bias=1.0), rtol=1e-6, atol=0)
    assert_same(compiled.forward(x), model(x), rtol=1e-6, atol=0)
    assert model.calls == 4 and compiled.calls == 4
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    assert [p is q for p, q in zip(compiled.parameters(), model.parameters(), strict=True)] == [True, True]
    assert [name for name, _ in compiled.named_modules()] == ["", "_orig_mod", "_orig_mod.linear"]
    assert compiled.linear is model.linear and compiled.scale is model.scale
    assert "linear" in dir(compiled) and repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Scaled(")
    with pytest.raises(AttributeError, match="'Scaled' object has no attribute 'missing'"):
        compiled.missing
    with pytest.raises(AttributeError, match="_orig_mod"):
        compiled._orig_mod = model


def test_assignments_reach_the_module():
    model, x = Scaled(), weft.ones((2, 4))
    compiled = weft.compile(model)
    compiled(x)
    compiled.scale = weft.full((3,), 5.0)
    compiled.note = "kept"
    assert_same(compiled(x), model(x), rtol=1e-6, atol=0)
    assert model.note == "kept" and float(model.scale[0]) == 5.0
    del compiled.note
    assert not hasattr(model, "note")
    assert compiled.eval() is compiled and not model.training and not compiled.training
    compiled.train()
    assert model.training and model.linear.training
    compiled.training = False
    assert not model.training


def test_containers():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    compiled = weft.compile(model)
    assert len(compiled) == 2 and compiled[1] is model[1] and list(compiled) == list(model) and bool(compiled)
    assert weft.compile(nn.Linear(2, 2))  # that has no length is true all the same
    with pytest.raises(TypeError, match="has no len"):
        len(weft.compile(nn.Linear(2, 2)))


def test_states_load():
    one, other = weft.compile(Scaled()), weft.compile(Scaled())
    x = weft.ones((2, 4))
    other.load_state_dict(one.state_dict())
    assert_same(one(x), other(x), rtol=1e-6, atol=0)
    other.linear.weight.zero_()
    assert_same(other(x), other._orig_mod(x), rtol=1e-6, atol=0)


def test_hooks():
    model, seen, x = Scaled(), [], weft.ones((2, 4))
    compiled = weft.compile(model)
    compiled(x)
    with compiled.register_forward_hook(lambda module, args, result: seen.append(module)):
        compiled(x)
    compiled(x)
    assert seen == [compiled]
    with model.register_forward_hook(lambda module, args, result: result * 0):
        assert_same(compiled(x), weft.zeros((2, 3)), rtol=1e-6, atol=0)
    assert_same(compiled(x), model(x), rtol=1e-6, atol=0)


def test_copies_and_pickles():
    compiled, x = weft.compile(nn.Linear(4, 3), dynamic=True), weft.ones((2, 4))
    for copied in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled)), copy.copy(compiled)):
        assert type(copied) is nn.OptimizedModule and copied._weft_options == (False, True, "default", "weft")
        assert_same(copied(x), compiled(x), rtol=1e-6, atol=0)
    assert copy.deepcopy(compiled).weight is not compiled.weight


def test_compiled_again_and_explained():
    model = nn.Linear(4, 3)
    compiled = weft.compile(weft.compile(model), fullgraph=True)
    assert compiled._orig_mod is model
    report = weft.compiler.explain(compiled)(weft.ones((2, 4)))
    assert len(report.graphs) == 1 and not report.breaks


def test_within_a_compiled_function():
    model, x = weft.compile(Scaled()), weft.ones((2, 4))
    inner, bound = weft.compile(nn.Linear(4, 3)), weft.compile(nn.Linear(4, 3).forward)
    whole = weft.compile(lambda x: inner(x) + bound(x) + 1, fullgraph=True)
    for _ in range(3):
        assert_same(whole(x), inner(x) + bound(x) + 1, rtol=1e-6, atol=0)
    calls = model.calls
    outer = weft.compile(lambda x: model(x) * 2)
    for _ in range(3):
        assert_same(outer(x), model(x) * 2, rtol=1e-6, atol=0)
    assert model.calls == calls + 6


def test_compile_in_place():
    model, x = Scaled(), weft.ones((2, 4))
    expected = model(x)
    assert model.compile(fullgraph=True) is None
    weft.compiler.reset()
    for _ in range(3):
        assert_same(model(x), expected, rtol=1e-6, atol=0)
    assert weft.compiler.stats()["calls"] == 3 and model.calls == 4
    model.linear.weight.zero_()
    assert_same(model(x), (model.linear.bias * 2).expand(2, 3), rtol=1e-6, atol=0)
    with model.register_forward_hook(lambda module, args, result: result + 1):
        assert_same(model(x), (model.linear.bias * 2 + 1).expand(2, 3), rtol=1e-6, atol=0)
    copied = copy.deepcopy(model)
    assert copied._compiled_call_impl is None and model._compiled_call_impl is not None
    assert_same(copied(x), model(x), rtol=1e-6, atol=0)
    parent = nn.Sequential(model, nn.ReLU())
    assert_same(weft.compile(parent)(x), parent(x), rtol=1e-6, atol=0)
    with pytest.raises(TypeError, match="expected fullgraph"):
        model.compile(fullgraph=3)
