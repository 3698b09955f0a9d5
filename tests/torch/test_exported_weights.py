"""Programs keep their weights packed, and see every change of them: the mechanism of compiled modules."""

import copy
import gc

import pytest
import weft.torch as torch
from test_steady_weights import CASES, CHANGES, numbers, weights
from weft.torch import nn
from weft.torch.export import export, load, save


def assert_same(module, program, x):
    torch.testing.assert_close(program(x), module(x), rtol=1e-4, atol=1e-4)


# An assignment to .data makes the module's tensor another one than the program's.
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", sorted(set(CHANGES) - {"data"}))
def test_a_change_is_seen_at_the_next_call(case, change):
    make, shape = CASES[case]
    module, x = make(), numbers(*shape)
    program = export(module, (x,)).module()
    for _ in range(3):
        for _ in range(2):
            assert_same(module, program, x)
        for weight in weights(module):
            CHANGES[change](weight)


@pytest.mark.parametrize("case", CASES)
def test_changes_at_every_call(case):
    make, shape = CASES[case]
    module, x = make(), numbers(*shape)
    program = export(module, (x,)).module()
    for i in range(40):
        assert_same(module, program, x)
        weights(module)[i % 2].mul_(0.9)
    for _ in range(20):  # and none any more
        assert_same(module, program, x)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_called", [False, True])
def test_parameters_are_replaced(case, is_called, tmp_path):
    """Before the first call, which packs them, and behind it."""
    make, shape = CASES[case]
    module, other, x = make(), make(), numbers(*shape)
    save(export(module, (x,)), tmp_path / "model.pt2")
    program = load(tmp_path / "model.pt2").module()
    if is_called:
        assert_same(module, program, x)
    for name, parameter in other.named_parameters():
        path, _, last = name.rpartition(".")
        owner = program
        for each in path.split("."):
            owner = getattr(owner, each)
        setattr(owner, last, nn.Parameter(parameter.detach().clone()))
    for buffer, new in zip(program.buffers(), other.buffers()):
        buffer.copy_(new)
    for _ in range(2):
        assert_same(other, program, x)
    program.load_state_dict(module.state_dict())
    for _ in range(2):
        assert_same(module, program, x)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(numbers(6, 6))

    def forward(self, x):
        return torch.relu(x @ self.weight) @ self.weight


def test_a_parameter_of_the_program_itself():
    module, x = Scale(), numbers(2, 6)
    program = export(module, (x,)).module()
    assert_same(module, program, x)
    module.weight = program.weight = nn.Parameter(numbers(6, 6, seed=1))
    assert_same(module, program, x)


class Gives(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(numbers(6, 6))
        self.register_buffer("steps", torch.zeros(6))

    def forward(self, x):
        self.steps.add_(1)
        return torch.relu(x @ self.weight) @ self.weight, self.weight, self.weight[1:3], self.steps


def test_results_that_are_parameters():
    module, x = Gives(), numbers(2, 6)
    program = export(module, (x,)).module()
    for i in range(4):
        product, weight, part, steps = program(x)
        torch.testing.assert_close(product, torch.relu(x @ module.weight) @ module.weight)
        assert weight.data_ptr() == module.weight.data_ptr() and steps.tolist() == [i + 1.0] * 6
        part.mul_(2)


def test_scripted_modules_see_changes_too():
    module, x = Scale(), numbers(2, 6)
    script = torch.jit.script(module)
    for _ in range(3):
        for _ in range(3):
            assert_same(module, script, x)
        module.weight.data.mul_(0.5)


def test_two_modules_of_one_class():
    """They share compiled code, each with weights of its own."""
    one, x = torch.jit.script(Scale()), numbers(2, 6)
    other = copy.deepcopy(one)
    other.weight.data.mul_(2)
    for _ in range(20):
        for script in (one, other):
            torch.testing.assert_close(script(x), torch.relu(x @ script.weight) @ script.weight)
    del other
    gc.collect()
    torch.testing.assert_close(one(x), torch.relu(x @ one.weight) @ one.weight)
