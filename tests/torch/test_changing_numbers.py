"""Numbers that follow from sizes, in captured functions: one capture for all of them, and Python's values, bit for bit."""

import math

import pytest
import weft
import weft.torch as torch
from support.compare import check


def example(rows):
    return torch.arange(rows * 4, dtype=torch.float32).reshape(rows, 4) / 3


def filled(x):
    y = torch.zeros(3)
    y.fill_(x.shape[0])
    return y


PROGRAMS = {
    "quotient": lambda x: x * (1.0 / x.shape[0]),
    "root": lambda x: x * x.shape[0] ** 0.5,
    "square root": lambda x: (x * (1 / math.sqrt(x.shape[0])), math.sqrt(x.shape[0])),
    "float": lambda x: x / float(x.shape[0]) + math.log(x.shape[0]),
    "floats of floats": lambda x: x * ((x.shape[0] / 3 + 1.5) ** 2 // 0.3 % 7),
    "negative": lambda x: x * -(x.shape[0] / 3) + abs(x.shape[0] / -3.0),
    "extremes": lambda x: x * min(x.shape[0] / 3, 99.5) * max(x.shape[0] / 3, 0.5),
    "rounded": lambda x: x[: round(x.shape[0] * 0.7)],
    "half of the rows": lambda x: (x[: int(x.shape[0] * 0.5)], int(x.shape[0] * 0.5)),
    "ceiling": lambda x: x[: math.ceil(x.shape[0] / 2)],
    "square, shifts": lambda x: x + x.shape[0] ** 2 + (x.shape[0] << 2) + (x.shape[0] >> 1),
    "full of an int": lambda x: torch.full((2, 3), x.shape[0]),
    "full of a float": lambda x: torch.full((x.shape[0], 3), x.shape[0] / 3),
    "full with a dtype": lambda x: torch.full(size=(x.shape[0],), fill_value=x.shape[0] / 3, dtype=torch.float16),
    "full of ints of a float": lambda x: torch.full((2,), x.shape[0] / 3, dtype=torch.int64),
    "full_like": lambda x: torch.full_like(x, x.shape[0]),
    "new_full": lambda x: x.new_full((2,), x.shape[0] / 3),
    "fill_": filled,
    "masked_fill": lambda x: x.masked_fill(x > 3, x.shape[0] / 3),
    "where": lambda x: torch.where(x > 3, x, x.shape[0] / 3),
    "where of an int": lambda x: torch.where(x > 3, x, x.shape[0]),
    "clamp": lambda x: x.clamp(max=x.shape[0] / 3) + x.clamp(0, x.shape[0] - 1),
    "linspace": lambda x: torch.linspace(0, 1, x.shape[0]),
    "linspace of float64": lambda x: torch.linspace(-1, 1, x.shape[0] * 2, dtype=torch.float64),
    "linspace to a size": lambda x: torch.linspace(0.5, x.shape[0] - 0.5, x.shape[0]),
    "linspace of five": lambda x: torch.linspace(0, x.shape[0] - 1, 5),
    "range in steps": lambda x: torch.arange(0, 1, 1 / x.shape[0]),
    "range to a float": lambda x: torch.arange(x.shape[0] / 3),
    "range of floats": lambda x: torch.arange(x.shape[0] / 3, x.shape[0], step=0.3, dtype=torch.float64),
    "range downwards": lambda x: torch.arange(x.shape[0], 0.5, -x.shape[0] / 7),
    "tensor": lambda x: torch.tensor(x.shape[0]) + 1,
    "tensor of ints": lambda x: torch.tensor([x.shape[0], x.shape[1] * 2]),
    "tensor of floats": lambda x: torch.tensor([[1.0 / x.shape[0], 2.0], [3, x.shape[0]]]),
    "integers times a float": lambda x: (x > 0).long() * (x.shape[0] / 3),
    "integers by an int": lambda x: (x > 0).long() / x.shape[0],
    "bfloat16": lambda x: x.bfloat16() * (x.shape[0] / 3),
    "power": lambda x: (x ** (1.0 / x.shape[0]), (x.shape[0] / 3) ** x),
    "numbers leave": lambda x: (x.shape[0] / 2, x.shape[0] ** 0.5, float(x.shape[0]), x.shape[0] % 2.5),
}  # fmt: skip
SIZES = range(3, 11)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_capture_for_all_sizes(name):
    function = PROGRAMS[name]
    compiled = torch.compile(function, fullgraph=True)
    before = weft.compiler.stats()["captures"]
    for rows in SIZES:
        check(function, (example(rows),), rounds=1, compiled=compiled)
    assert weft.compiler.stats()["captures"] - before == 2  # of one size, of all


CHOICES = {
    "a comparison": lambda x: x * (2 if x.shape[0] ** 0.5 > 2.3 else 3),
    "equality": lambda x: x * (2 if x.shape[0] / 2 == 2.5 else 3),
    "truth": lambda x: x * (2 if x.shape[0] / 2 - 2.5 else 3),
    "text": lambda x: (x, f"{x.shape[0] / 3:.2f}"),
    "a set": lambda x: x * (2 if x.shape[0] in {3, 5.0, "a"} else 3),
    "a dict": lambda x: x * (2 if x.shape[0] in {3: 1, 5: 1} else 3),
    "a range": lambda x: x * (2 if x.shape[0] in range(4, 10, 2) else 3) * (5 if x.shape[0] in range(9, 2, -3) else 7),
    "a key": lambda x: x * {n: n + 1 for n in SIZES}[x.shape[0]],
    "a set that was given": lambda x: x * (2 if x.shape[0] in GIVEN else 3) * (5 if "a" in GIVEN else 7),
}  # fmt: skip
GIVEN = {3, "a", 5}


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name):
    function = CHOICES[name]
    compiled = torch.compile(function, fullgraph=True)
    for rows in [*SIZES, 3, 5, 4]:
        check(function, (example(rows),), rounds=1, compiled=compiled)


def test_a_set_that_changes():
    given = {"a"}

    def function(x):
        return x * (2 if "b" in given else 3)

    compiled = torch.compile(function, fullgraph=True)
    check(function, (example(3),), rounds=1, compiled=compiled)
    given.add("b")
    check(function, (example(3),), rounds=1, compiled=compiled)
    given.discard("b")
    check(function, (example(3),), rounds=1, compiled=compiled)


def test_division_by_nothing_is_pythons():
    def function(x):
        return x * (1.0 / (x.shape[0] - 5))

    compiled = torch.compile(function)
    for rows in (3, 4, 7):
        check(function, (example(rows),), rounds=1, compiled=compiled)
    with pytest.raises(ZeroDivisionError):
        compiled(example(5))
    check(function, (example(6),), rounds=1, compiled=compiled)


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in reversed(self.layers):
            x = layer(x)
        for key, number in reversed({"a": 2.0, "b": 3.0}.items()):
            x = x * number + len(key)
        return x + sum(len(key) for key in reversed({"a": 1, "bc": 2}))


def test_reversed():
    module = Layers()
    compiled = torch.compile(module, fullgraph=True)
    for rows in (3, 4, 5):
        torch.testing.assert_close(compiled(example(rows)), module(example(rows)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_scale_of_attention(dtype):
    def function(x, y):
        return torch.nn.functional.scaled_dot_product_attention(x, y, y, scale=math.log(y.shape[1]) / 3)

    compiled = torch.compile(function, fullgraph=True)
    before = weft.compiler.stats()["captures"]
    for rows in SIZES:
        x = (torch.arange(40).reshape(1, 5, 8).to(dtype) / 40).sin()
        y = (torch.arange(rows * 8).reshape(1, rows, 8).to(dtype) / 7).cos()
        torch.testing.assert_close(compiled(x, y), function(x, y))
    if dtype != torch.bfloat16:
        assert weft.compiler.stats()["captures"] - before == 2


def test_ranges_that_lead_away():
    compiled = torch.compile(lambda x: torch.arange(0, 1, (x.shape[0] - 5) / 3))
    for rows in (6, 7, 8):
        assert len(compiled(example(rows))) == math.ceil(3 / (rows - 5))
    for rows in (5, 4):
        with pytest.raises(RuntimeError):
            compiled(example(rows))


@pytest.mark.parametrize("first", [0, 3])
def test_sizes_from_numbers_that_are_0(first, capfd):
    def behind(x, start):
        mask = torch.triu(torch.full((x.shape[0], x.shape[0]), -1.0), diagonal=1)
        whole = torch.hstack([torch.zeros((x.shape[0], start)), mask])
        return whole * 2, torch.full((x.shape[0], start, 2), 3.0).sum(1), torch.cat([torch.ones(start), x])

    compiled = torch.compile(behind, fullgraph=True, dynamic=True)
    for rows, start in ((5, first), (4, 0), (3, 4), (1, 0), (0, 0), (0, 2), (6, 1)):
        x = torch.arange(float(rows))
        for result, expected in zip(compiled(x, start), behind(x, start), strict=True):
            assert result.shape == expected.shape and torch.equal(result, expected)
    assert "cannot be compiled" not in capfd.readouterr().err
