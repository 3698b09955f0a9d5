"""Which tensors whose elements share memory are written to: where PyTorch refuses it, so does weft, eagerly, in captured
functions and in TorchScript; and what is refused by value is refused where nobody takes the result, too."""

import pytest
import weft
import weft.torch as torch
import weft.torch.nn.functional as F


def expanded():
    return torch.arange(4.0).expand(2, 4)


REFUSED = {
    "copy_": lambda x: x.copy_(torch.ones(2, 4)),
    "add_": lambda x: x.add_(1),
    "+=": lambda x: x.__iadd__(1),
    "exp_": lambda x: x.exp_(),
    "clamp_": lambda x: x.clamp_(0, 1),
    "cumsum_": lambda x: x.cumsum_(0),
    "lerp_": lambda x: x.lerp_(x, 0.5),
    "addmm_": lambda x: x.addmm_(torch.ones(2, 4), torch.ones(4, 4)),
    "scatter_": lambda x: x.scatter_(0, torch.zeros(1, 4, dtype=torch.int64), 1.0),
    "index_add_": lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1, 4)),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "uniform_": lambda x: x.uniform_(),
    "out=": lambda x: torch.add(torch.ones(2, 4), 1, out=x),
    "[:] = tensor": lambda x: x.__setitem__(slice(None), torch.ones(4)),
}
WRITTEN = {
    "fill_": lambda x: x.fill_(2),
    "zero_": lambda x: x.zero_(),
    "masked_fill_": lambda x: x.masked_fill_(x > 1, 2),
    "[:] = number": lambda x: x.__setitem__(slice(None), 1.0),
    "[0] = tensor": lambda x: x.__setitem__(0, torch.ones(4)),
    "[:1] += 1": lambda x: x[:1].add_(1),
}


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_writes_that_are_refused(name, is_compiled):
    function = weft.compile(REFUSED[name]) if is_compiled else REFUSED[name]
    for _ in range(3):
        x = expanded()
        torch.manual_seed(3)
        with pytest.raises(RuntimeError, match=r"clone\(\) it first"):
            function(x)
        assert x[0].tolist() == [0, 1, 2, 3]
        number = torch.rand(()).item()
        torch.manual_seed(3)
        assert torch.rand(()).item() == number, "no number was drawn"


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_writes_that_are_not(name, is_compiled):
    function = weft.compile(WRITTEN[name]) if is_compiled else WRITTEN[name]
    for _ in range(3):
        x = expanded()
        function(x)
        assert x.stride() == (0, 1)
        assert x[0].tolist() != [0, 1, 2, 3]


def test_a_view_expanded_within_the_graph():
    def program(x):
        y = x * 2
        y.expand(2, *y.shape).add_(1)
        return y

    for function in (program, weft.compile(program)):
        with pytest.raises(RuntimeError, match="along dimension 0"):
            function(torch.ones(3, 4))


def test_dimensions_of_one_element_are_no_expansion():
    def program(x):
        return x[:, None].expand(-1, 1, 4).add_(1)

    for function in (program, weft.compile(program)):
        assert function(torch.zeros(2, 4)).sum().item() == 8


@pytest.mark.parametrize("shape", [(4, 0), (0, 4), (2, 0, 3)])
def test_no_elements(shape):
    for function in (lambda x: x.add_(1), weft.compile(lambda x: x.add_(1))):
        assert function(torch.ones(shape)).shape == shape


def test_large_tensors():
    x = torch.zeros(1 << 20).expand(4, 1 << 20)
    with pytest.raises(RuntimeError, match=r"clone\(\)"):
        x += 1
    assert x.sum().item() == 0


def test_scripted_functions():
    @torch.jit.script
    def add(x):
        return x.expand(2, 4).add_(1)

    @torch.jit.script
    def mask(x):
        y = x.expand(2, 4)
        return y.masked_fill_(y > 1, 0.0)

    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"clone\(\) it first"):
            add(torch.arange(4.0))
        assert mask(torch.arange(4.0)).tolist() == [[0, 1, 0, 0]] * 2


OF_NOBODY = {
    "embedding": lambda x, i: F.embedding(i, x),
    "one_hot": lambda x, i: F.one_hot(i, 3),
    "scatter": lambda x, i: x.new_zeros(4).scatter(0, i, 1.0),
    "index_put": lambda x, i: x.index_put((i,), torch.ones(4)),
    "index": lambda x, i: x[i],
}


@pytest.mark.parametrize("name", OF_NOBODY)
def test_what_nobody_takes_is_refused_all_the_same(name):
    def program(x, i):
        unused = OF_NOBODY[name](x, i)
        return x + 1

    compiled = weft.compile(program)
    within, outside = torch.tensor([0, 1, 2, 0]), torch.tensor([0, 1, 2, 4])
    assert compiled(torch.ones(3, 4), within).sum().item() == 24
    for function in (program, compiled, compiled):
        with pytest.raises((IndexError, RuntimeError)):
            function(torch.ones(3, 4), outside)


def test_one_hot_in_a_graph():
    def program(numbers):
        return F.one_hot(numbers, 5) * 2

    compiled = weft.compile(program, fullgraph=True)
    numbers = torch.tensor([0, 4, 2])
    assert compiled(numbers).tolist() == program(numbers).tolist()
    for wrong in ([0, 5], [-1, 0]):
        for function in (program, compiled):
            with pytest.raises(RuntimeError, match=r"outside \[0, 5\)"):
                function(torch.tensor(wrong))


def test_views_of_expanded_tensors_of_other_sizes():
    def program(x, like):
        return x.view_as(like) + 1

    compiled = weft.compile(program, dynamic=True)
    for shape, target in (((2, 4), (2, 2, 2)), ((5, 4), (2, 5, 2)), ((6, 4), (6, 2, 2)), ((4, 4), (4, 4, 1))):
        x, like = torch.arange(4.0).expand(*shape), torch.zeros(target)
        if shape == (5, 4):
            for function in (program, compiled):
                with pytest.raises(RuntimeError, match="its elements do not lie so"):
                    function(x, like)
        else:
            assert compiled(x, like).tolist() == program(x, like).tolist()
