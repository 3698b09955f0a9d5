"""Full graphs of what samplers of diffusion models and block-sparse attention do: NumPy's functions of tensors, objects
whose __getattr__ looks at their __dict__, min() and max() of tensors, sizes that NumPy adds up."""

import numpy as np
import pytest
import weft.torch as torch
from support.compare import assert_same, check


def leaves(result):
    return result if isinstance(result, (tuple, list)) else (result,)


def check_graph(function, arguments):
    check(function, arguments, rtol=1e-6, atol=0, compiled=torch.compile(function, fullgraph=True))


X = torch.arange(1, 13, dtype=torch.float32).reshape(3, 4) / 3

OF_NUMPY = {
    "a number's": lambda x: np.log(x.sum()),
    "a tensor's": lambda x: np.sqrt(x),
    "of double precision": lambda x: np.exp(x.double() / 8),
    "of half precision": lambda x: np.maximum(x.half(), 1.5),
    "of truth values": lambda x: np.logical_not(x > 1),
    "two": lambda x: np.arctan2(x, x + 1),
    "with a number": lambda x: np.multiply(x, 2.5),
    "with an array": lambda x: np.add(x, np.ones(4)),
    "behind an array": lambda x: np.add(np.ones((3, 1), dtype=np.float32), x),
    "a view": lambda x: np.negative(x.t()),
    "a product": lambda x: np.matmul(x, x.t()),
    "what coefficients are": lambda x: x[0, 0] * (-np.log(x[0, 1]) + np.log(x[0, 2]) - 1) / (np.log(x[1, 1]) - np.log(x[0, 1])),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_NUMPY)
def test_ufuncs_of_tensors(name):
    check_graph(OF_NUMPY[name], (X,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.exp(x, out=np.ones((3, 4), dtype=np.float32)),
        lambda x: np.add.reduce(x.numpy()) + x,
        lambda x: np.exp(x.bfloat16().float()),
    ],
)
def test_ufuncs_with_more(function):
    compiled = torch.compile(function)
    for got, wanted in zip(leaves(compiled(X)), leaves(function(X)), strict=True):
        assert type(got) is type(wanted)
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-6)


class Sampler:
    """As a configuration's mix-in has it: what is not found is looked for in a dict of the object's own."""

    def __init__(self):
        self.sigmas = torch.linspace(1, 0, 6)
        self.settings = {"scale": 0.5}
        self.position = None

    def __getattr__(self, name):
        if "settings" in self.__dict__ and name in self.__dict__["settings"] and name not in self.__dict__:
            return self.__dict__["settings"][name]
        raise AttributeError(name)

    def step(self, x):
        if self.position is None:
            self.position = 0
        sigma, following = self.sigmas[self.position], self.sigmas[self.position + 1]
        self.position += 1
        return x + (following - sigma) * self.scale * x

    def sample(self, x):
        for _ in range(4):
            x = self.step(x)
        return x


def test_an_object_that_looks_at_its_dict():
    plain, given = Sampler(), Sampler()
    compiled = torch.compile(given.sample, fullgraph=True)
    assert_same(compiled(X), plain.sample(X), rtol=1e-6, atol=0)
    assert given.position == plain.position == 4 and vars(given).keys() == vars(plain).keys()
    given.position = plain.position = None
    given.settings["scale"] = plain.settings["scale"] = 0.25
    assert_same(compiled(X), plain.sample(X), rtol=1e-6, atol=0)


def test_steps_of_an_object_that_looks_at_its_dict():
    plain, given = Sampler(), Sampler()
    compiled = torch.compile(given.step, fullgraph=True)
    x = y = X
    for _ in range(5):
        x, y = compiled(x), plain.step(y)
        assert_same(x, y, rtol=1e-6, atol=0)
        assert given.position == plain.position


class Holder:
    pass


def seen_dict(x, holder):
    before = vars(holder)
    holder.added = 3
    known = "added" in before, before["added"], len(before)
    holder.added = x + 1
    again = vars(holder)
    return before["added"], again is before, known[0], known[1], known[2], sorted(again)


def dict_after(x, holder):
    holder.added = x * 2
    return vars(holder)["added"], "given" in holder.__dict__, holder.__dict__["given"]


def dict_gone_over(x, holder):
    names = []
    holder.first = 1
    for name, value in vars(holder).items():
        names.append(name)
        if name == "given":
            holder.given = value + 1
    return x, names, holder.given


def dict_that_changes(x, holder):
    holder.first = 1
    vars(holder)["second"] = x
    return holder.second, holder.first


def slot(x, holder):
    holder.place = 5
    return x, "place" in vars(holder), len(vars(holder))


class WithSlot(Holder):
    __slots__ = ("place",)


@pytest.mark.parametrize("function", [seen_dict, dict_after, dict_gone_over, dict_that_changes, slot])
def test_a_dict_follows_the_object(function):
    results = []
    compiled = torch.compile(function)
    for called in (function, compiled, compiled):
        holder = WithSlot()
        holder.given = 7
        results.append((called(X, holder), dict(vars(holder))))
    for result, after in results[1:]:
        for got, wanted in zip(result, results[0][0], strict=True):
            assert_same(got, wanted, rtol=1e-6, atol=0)
        assert after.keys() == results[0][1].keys()
        for name, value in after.items():
            assert_same(value, results[0][1][name], rtol=1e-6, atol=0)


def flagged(x):
    y = torch.zeros_like(x).requires_grad_()
    return y, y.requires_grad, y * 2, y.detach(), torch.ones(2, requires_grad=True)


def unflagged(x):
    y = torch.zeros_like(x).requires_grad_()
    return y.requires_grad_(False), y.requires_grad


@pytest.mark.parametrize("function", [flagged, unflagged])
def test_the_flag_requires_grad(function):
    check_graph(function, (X,))


def test_whole_numbers_require_no_gradients():
    function = torch.compile(lambda x: x.long().requires_grad_())
    with pytest.raises(RuntimeError, match="requires_grad"):
        function(X)


EXTREMES = {
    "of a tensor and a float": lambda x: x / max(x.min(), 1e-8),
    "of a float and a tensor": lambda x: x / max(0.5, x.min()),
    "the float": lambda x: x * min(x.max(), 0.5),
    "of an int": lambda x: x * min(2, x.sum()),
    "of two tensors": lambda x: x * max(x.min(), x.max()) + min(x.sum(), x.max()),
    "of integers": lambda x: x[: max(3, 2)] * max(x.long().sum(), 7),
    "of nan": lambda x: max(x.sum() * float("nan"), 1.0) + x,
    "of nan and then": lambda x: max(1.0, x.sum() * float("nan")) + x,
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name):
    check_graph(EXTREMES[name], (X,))


@pytest.mark.parametrize(
    "function",
    [lambda x: max(x, 1.0), lambda x: max(x.half().min(), 1e-8), lambda x: max(x.long().min(), 1.5)],
)
def test_extremes_that_are_no_part_of_a_graph(function):
    with pytest.raises(RuntimeError):
        torch.compile(function, fullgraph=True)(X)


def test_extremes_beside_breaks():
    function = torch.compile(lambda x: (max(x.min(), 0.5), x * 2))
    assert function(X)[0] == 0.5 and isinstance(function(X)[0], float)
    assert function(X + 1)[0].item() == (X + 1).min().item()


def plan(x, blocks):
    counts = [1, 2, 0, 3]
    rows = [np.zeros((x.shape[0], np.sum(counts[: blocks + 1])), dtype=np.int32) for _ in range(2)]
    width = int(np.sum(counts[:blocks]))
    return torch.tensor(np.stack(rows)), x.reshape(np.prod([2, 2, 3])), width


@pytest.mark.parametrize("blocks", [1, 3])
def test_sizes_that_numpy_adds_up(blocks):
    check_graph(lambda x: plan(x, blocks), (X,))


class WithMetaclass(type):
    def __instancecheck__(cls, instance):
        return False


class Marker(metaclass=WithMetaclass):
    pass


def test_a_class_of_a_metaclass_is_no_text():
    annotations = [Marker, "Tensor", int, int | None, list[int]]
    check_graph(
        lambda x: x * sum(2**at for at, each in enumerate(annotations) if each == "Tensor" or 3 != each), (X,)
    )


def test_a_whole_graph_has_a_long_loop():
    def function(x):
        total, outputs = torch.zeros(4), []
        for at in range(300):
            for _ in range(2):
                total = torch.maximum(total * 0.5 + x[at % 3].sin() * 0.1, x[at % 3] - total)
                total = torch.where(total > 1, total / 2, total + 0.01)
            outputs.append(total)
        return torch.stack(outputs[::60]), total

    interpreted = torch.compile(function, fullgraph=True)
    for got, wanted in zip(interpreted(X), function(X), strict=True):
        assert torch.allclose(got, wanted, rtol=1e-4)
