"""out= of elementwise operators: results are written into it, without a tensor in between where it is large."""

import warnings

import pytest
import weft.torch as torch

SIZES = [1023, 65536, 400_000]  # on both sides of where the lock is released
TWO = [torch.add, torch.sub, torch.mul, torch.maximum, torch.true_divide, torch.pow, torch.atan2]


def same(found, expected):
    return torch.equal(torch.nan_to_num(found), torch.nan_to_num(expected))


@pytest.fixture(params=SIZES)
def pair(request):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(request.param, generator=generator), torch.randn(request.param, generator=generator)


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.__name__)
def test_targets_of_every_kind(function, pair):
    x, y = pair
    n, expected = len(x), function(x, y)
    target = torch.empty(n)
    assert function(x, y, out=target) is target and same(target, expected)
    assert same(function(x, y, out=torch.empty(n, dtype=torch.float64)), expected.double())
    first, second = x.clone(), y.clone()
    assert same(function(first, y, out=first), expected) and same(function(x, second, out=second), expected)
    larger = torch.zeros(2 * n + 1)
    function(x, y, out=larger[1 : n + 1])  # not aligned
    assert same(larger[1 : n + 1], expected) and larger[0] == 0 and (larger[n + 1 :] == 0).all()
    spread = torch.zeros(2 * n)
    function(x, y, out=spread[::2])
    assert same(spread[::2], expected) and (spread[1::2] == 0).all()
    other = torch.empty(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(x, y, out=other)
    assert same(other, expected)


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.__name__)
def test_parts_of_operands_are_refused(function, pair):
    x, y = pair
    whole, n = torch.cat([x, y[:8]]), len(x)
    kept = whole.clone()
    with pytest.raises(RuntimeError, match="single memory location"):
        function(whole[:n], y, out=whole[4 : n + 4])
    assert torch.equal(whole, kept)


def test_dtypes_rows_and_orders(pair):
    x, y = pair
    n = len(x)
    numbers, integers = torch.arange(n), torch.empty(n, dtype=torch.int64)
    assert torch.equal(torch.add(numbers, 2, out=integers), numbers + 2)
    with pytest.raises(RuntimeError, match="cannot be stored"):
        torch.add(x, 1.5, out=integers)
    assert torch.equal(integers, numbers + 2)
    assert torch.equal(torch.lt(x, y, out=torch.empty(n, dtype=torch.bool)), x < y)
    assert torch.equal(torch.lt(x, y, out=torch.empty(n)), (x < y).float())
    rows, row = x[: n // 8 * 8].view(8, n // 8), y[: n // 8]
    assert torch.equal(torch.add(rows, row, out=torch.empty(8, n // 8)), rows + row)
    assert torch.equal(torch.add(rows, rows, out=torch.empty(n // 8, 8).t()), rows + rows)
    with pytest.raises(RuntimeError, match="one in memory"):
        torch.add(rows, rows, out=torch.empty(1, n // 8).expand(8, n // 8))


@pytest.mark.parametrize(
    "function", [torch.exp, torch.neg, torch.sqrt, torch.sigmoid], ids=lambda f: f.__name__
)
def test_of_one_operand(function, pair):
    x = pair[0]
    expected = function(x)
    assert same(function(x, out=torch.empty(len(x))), expected)
    itself = x.clone()
    assert same(function(itself, out=itself), expected)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.cat([x[-2:], x[-2:]], out=x),
        lambda x: torch.add(x[1:], x[1:], out=x[:-1]),
        lambda x: torch.where(x[1:] > 0, x[1:], 2.0, out=x[:-1]),
        lambda x: torch.clamp(x[1:], 0, 1, out=x[:-1]),
        lambda x: torch.gather(x, 0, torch.zeros(4, 4, dtype=torch.int64), out=x),
    ],
    ids="cat add where clamp gather".split(),
)
def test_an_out_in_the_memory_of_an_operand_is_refused_in_captured_functions_too(program):
    for run in (program, torch.compile(program)):
        x = torch.arange(16.0).view(4, 4).clone()
        with pytest.raises(RuntimeError, match="single memory location"):
            run(x)
        assert torch.equal(x, torch.arange(16.0).view(4, 4))


def test_an_operand_itself_as_out_stays_in_the_graph():
    def program(x):
        torch.clamp(x, 0, 1, out=x)
        torch.add(x, 1, out=x)
        return torch.where(x > 1.5, x, 0.0, out=torch.empty(12))

    x, y = torch.linspace(-1, 2, 12), torch.linspace(-1, 2, 12)
    assert torch.equal(torch.compile(program, fullgraph=True)(x), program(y)) and torch.equal(x, y)
