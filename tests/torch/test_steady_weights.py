"""Compiled modules prepare their weights once, and see every change of them."""

import ctypes

import numpy
import pytest
import weft
from weft import compiler, nn
from weft.torch.utils import dlpack


def image_net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 5)
    ).eval()


def perceptron():
    return nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 64, bias=False), nn.Linear(64, 5)).eval()


def numbers(*shape, seed=0):
    return weft.tensor(numpy.random.default_rng(seed).standard_normal(shape).astype("f").tolist())


CASES = {"images": (image_net, (2, 3, 4, 4)), "rows": (perceptron, (20, 40)), "row": (perceptron, (1, 40))}


def weights(module):
    return [parameter for parameter in module.parameters() if parameter.dim() > 1]


def write_numpy(tensor):
    tensor.numpy()[...] *= 0.5


def write_address(tensor):
    ctypes.memset(tensor.data_ptr(), 0, tensor.numel() // 2 * 4)


def write_dlpack(tensor):
    numpy.from_dlpack(tensor.detach())[...] -= 1


def write_rows(tensor):
    tensor[weft.tensor([0, 2])] = 3.0


def write_out(tensor):
    weft.add(tensor.detach(), 1.0, out=tensor)


@weft.compile(fullgraph=True)
def write_compiled(tensor):
    tensor *= 0.25


def write_data(tensor):
    tensor.data = tensor.detach() * 2 + 1


CHANGES = {
    "mul_": lambda tensor: tensor.mul_(0.5),
    "copy_": lambda tensor: tensor.copy_(weft.ones(tensor.shape)),
    "zero_": lambda tensor: tensor.zero_(),
    "fill_": lambda tensor: tensor.fill_(0.1),
    "item": lambda tensor: tensor.__setitem__((0, 1), 9.0),
    "rows": write_rows,
    "view": lambda tensor: tensor.view(-1)[3:40].add_(1),
    "init": lambda tensor: nn.init.normal_(tensor),
    "out": write_out,
    "numpy": write_numpy,
    "dlpack": write_dlpack,
    "address": write_address,
    "compiled": write_compiled,
    "data": write_data,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_at_the_next_call(case, change):
    make, shape = CASES[case]
    module, x = make(), numbers(*shape)
    compiled = weft.compile(module, fullgraph=True)
    for _ in range(3):
        for _ in range(2):
            assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)
        for weight in weights(module):
            CHANGES[change](weight)


@pytest.mark.parametrize("case", CASES)
def test_changes_at_every_call(case):
    make, shape = CASES[case]
    module, x = make(), numbers(*shape)
    compiled = weft.compile(module, fullgraph=True)
    for i in range(40):
        assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)
        weights(module)[i % 2].mul_(0.9)
    for _ in range(20):  # and none any more
        assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)


def test_parameters_and_state_are_replaced():
    module, x = image_net(), numbers(2, 3, 4, 4)
    compiled = weft.compile(module, fullgraph=True)
    compiled(x)
    module[0].weight = nn.Parameter(numbers(8, 3, 3, 3, seed=1))
    assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)
    module.load_state_dict(image_net().state_dict())
    assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)
    module.load_state_dict(
        {name: value.clone() for name, value in image_net().state_dict().items()}, assign=True
    )
    assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)


def test_weights_in_memory_of_others():
    array = numpy.random.default_rng(0).standard_normal((64, 40)).astype("f")
    module, x = perceptron(), numbers(20, 40)
    module[0].weight = nn.Parameter(weft.from_numpy(array))
    capsule = dlpack.to_dlpack(module[3].weight.detach())
    elsewhere = dlpack.from_dlpack(capsule)
    compiled = weft.compile(module, fullgraph=True)
    for _ in range(3):
        assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)
        array *= 0.5
        elsewhere.mul_(2)


class Gives(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(numbers(6, 6))
        self.register_buffer("steps", weft.zeros(6))

    def forward(self, x):
        self.steps += 1
        return x @ self.weight, self.weight, self.weight[1:3], self.steps


def test_results_that_are_parameters():
    module, x = Gives(), numbers(2, 6)
    compiled = weft.compile(module, fullgraph=True)
    for i in range(4):
        product, weight, part, steps = compiled(x)
        assert numpy.allclose(product.numpy(), (x @ module.weight).numpy(), atol=1e-5)
        assert weight is module.weight and steps.tolist() == [i + 1.0] * 6
        part.mul_(2)
        assert (module.weight[1:3] == part).all()


def test_symbolic_sizes():
    module = perceptron()
    compiled = weft.compile(module, fullgraph=True, dynamic=True)
    for rows in (3, 17, 1, 40):
        x = numbers(rows, 40, seed=rows)
        assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)
        module[0].weight.mul_(0.5)


@pytest.mark.parametrize("case", CASES)
def test_frozen(case):
    make, shape = CASES[case]
    module, x = make(), numbers(*shape)
    expected = module(x).numpy().copy()
    compiled = weft.compile(compiler.freeze(module), fullgraph=True)
    for _ in range(3):
        assert numpy.allclose(compiled(x).numpy(), expected, atol=1e-4)
    compiler.unfreeze(module)
    weights(module)[0].mul_(0.5)
    assert numpy.allclose(compiled(x).numpy(), module(x).numpy(), atol=1e-4)
