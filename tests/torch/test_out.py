"""out= of elementwise operators: results are written into it, without a tensor in between where it is large."""

import warnings

import pytest
import weft.torch as torch

SIZES = [1023, 65536, 400_000]  # on both sides of where the lock is released
TWO = [torch.add, torch.sub, torch.mul, torch.maximum, torch.true_divide, torch.pow, torch.atan2]


def is_same(found, expected):
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
    assert function(x, y, out=target) is target and is_same(target, expected)
    assert is_same(function(x, y, out=torch.empty(n, dtype=torch.float64)), expected.double())
    first, second = x.clone(), y.clone()
    assert is_same(function(first, y, out=first), expected) and is_same(
        function(x, second, out=second), expected
    )
    larger = torch.zeros(2 * n + 1)
    function(x, y, out=larger[1 : n + 1])  # not aligned
    assert is_same(larger[1 : n + 1], expected) and larger[0] == 0 and (larger[n + 1 :] == 0).all()
    spread = torch.zeros(2 * n)
    function(x, y, out=spread[::2])
    assert is_same(spread[::2], expected) and (spread[1::2] == 0).all()
    other = torch.empty(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(x, y, out=other)
    assert is_same(other, expected)


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
    assert is_same(function(x, out=torch.empty(len(x))), expected)
    itself = x.clone()
    assert is_same(function(itself, out=itself), expected)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.cat([x[-2:], x[-2:]], out=x),
        lambda x: torch.add(x[1:], x[1:], out=x[:-1]),
        lambda x: torch.where(x[1:] > 0, x[1:], 2.0, out=x[:-1]),
        lambda x: torch.clamp(x[1:], 0, 1, out=x[:-1]),
        lambda x: torch.gather(x, 0, torch.zeros(4, 4, dtype=torch.int64), out=x),
        lambda x: torch.cat([torch.ones(0, 4), x], out=x),
    ],
    ids="cat add where clamp gather cat_itself".split(),
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


# Functions that are written in Python over operators.
def numbers(x, y):
    return [
        ("clamp", lambda out=None: torch.clamp(x, -0.5, 0.25, out=out)),
        ("clamp of one bound", lambda out=None: torch.clamp(x, max=0.25, out=out)),
        ("clamp of tensors", lambda out=None: torch.clamp(x, y, y + 1, out=out)),
        ("clamp of a 0-d tensor", lambda out=None: torch.clamp_min(x, torch.tensor(0.5), out=out)),
        ("addcmul", lambda out=None: torch.addcmul(x, y, y, value=-0.3, out=out)),
        ("addcdiv", lambda out=None: torch.addcdiv(x, y, y, value=2, out=out)),
        ("lerp", lambda out=None: torch.lerp(x, y, 0.3, out=out)),
        ("lerp of a tensor", lambda out=None: torch.lerp(x, y, y, out=out)),
        ("square", lambda out=None: torch.square(x, out=out)),
        ("sign", lambda out=None: torch.sign(x, out=out)),
        ("nan_to_num", lambda out=None: torch.nan_to_num(x, nan=3.5, neginf=-2.0, out=out)),
        ("nextafter", lambda out=None: torch.nextafter(x, y, out=out)),
        ("ldexp", lambda out=None: torch.ldexp(x, torch.full((len(x),), 3), out=out)),
        ("div", lambda out=None: torch.div(x, y, out=out)),
        ("add", lambda out=None: torch.add(x, y, alpha=0.1, out=out)),
        ("sub", lambda out=None: torch.sub(x, y, alpha=3, out=out)),
    ]


def bits(x):
    return x.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("size", [0, 1, 7, 47, 48, 1023, 65536, 400_000])
def test_functions_that_are_python(size, dtype):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(size, generator=generator).to(dtype) for _ in range(2))
    x[::17], x[1::19], x[2::23], x[3::29], y[::31] = (
        float("nan"),
        float("inf"),
        -float("inf"),
        -0.0,
        float("nan"),
    )
    for name, function in numbers(x, y):
        expected, given = function(), torch.full((size,), 7.0).to(dtype)
        assert function(out=given) is given and torch.equal(bits(given), bits(expected)), name
        spread = torch.zeros(2 * size + 1, dtype=dtype)
        assert torch.equal(bits(function(out=spread[1::2])), bits(expected)), name
        assert (spread[::2] == 0).all(), name
        wide = torch.zeros(size, dtype=torch.float64)
        if dtype != torch.float64 and name not in ("clamp", "sign", "nan_to_num") and "clamp" not in name:
            assert torch.equal(
                torch.nan_to_num(function(out=wide)), torch.nan_to_num(expected.double())
            ), name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = function(out=torch.empty(3, dtype=dtype))
        assert torch.equal(bits(other), bits(expected)), name
    for index, (name, function) in enumerate(numbers(x, y)):
        itself = x.clone()
        expected = function()
        assert torch.equal(bits(numbers(itself, y)[index][1](out=itself)), bits(expected)), name


@pytest.mark.parametrize("size", [100, 65536])
def test_functions_that_are_python_refuse_what_pytorch_refuses(size):
    whole, y = torch.randn(size + 8), torch.rand(size)
    kept = whole.clone()
    for name, function in numbers(whole[:size], y):
        with pytest.raises(RuntimeError, match="single memory location"):
            function(out=whole[4 : size + 4])
        assert torch.equal(whole, kept), name
        with pytest.raises((RuntimeError, TypeError)):
            function(out=torch.empty(size, dtype=torch.int64))
        with pytest.raises(RuntimeError):
            function(out=torch.empty(1).expand(size))
        with pytest.raises(TypeError):
            function(out=[1.0])
    for name in ("clamp", "sign", "nan_to_num"):
        with pytest.raises(RuntimeError, match="dtype"):
            dict(numbers(y, y))[name](out=torch.empty(size, dtype=torch.float64))
    with pytest.raises(TypeError):
        torch.clamp(torch.ones(size, dtype=torch.bool), False, True, out=torch.empty(size, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="Integer division"):
        torch.addcdiv(*(torch.ones(size, dtype=torch.int64) for _ in range(3)), out=torch.empty(size))
    integers = torch.arange(size)
    assert torch.equal(
        torch.clamp(integers, 3, 9, out=torch.empty_like(integers)), torch.clamp(integers, 3, 9)
    )
    with pytest.raises(RuntimeError):
        torch.clamp(integers, 0.5, 2.5, out=torch.empty_like(integers))
    with pytest.raises(RuntimeError):
        torch.add(integers, integers, alpha=0.5, out=torch.empty_like(integers))


def test_functions_that_are_python_in_graphs_and_autocast():
    x, y = torch.randn(70_000), torch.randn(70_000)
    for name, function in numbers(x, y):
        expected = function()
        assert torch.equal(torch.compile(function)(out=torch.empty(70_000)), expected), name
        with torch.autocast("cpu"):
            assert torch.equal(function(out=torch.empty(70_000)), expected), name


OF_FUNCTIONAL = {
    "linear": (torch.ones(3, 4), torch.ones(2, 4)),
    "gelu": (torch.ones(3),),
    "logsigmoid": (torch.ones(3),),
    "softplus": (torch.ones(3),),
    "hardshrink": (torch.ones(3),),
    "softshrink": (torch.ones(3),),
    "avg_pool2d": (torch.ones(1, 4, 4), 2),
    "avg_pool3d": (torch.ones(1, 4, 4, 4), 2),
}


@pytest.mark.parametrize("name", OF_FUNCTIONAL)
def test_out_of_functional(name):
    function, args = getattr(torch.nn.functional, name), OF_FUNCTIONAL[name]
    out = torch.empty(0)
    assert function(*args, out=out) is out and torch.equal(out, function(*args))
    with pytest.raises(RuntimeError, match="dtype"):
        function(*args, out=torch.empty(0, dtype=torch.int64))
    assert torch.equal(torch.compile(lambda *x: function(*x, out=torch.empty(0)))(*args), out)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_ends_and_bins_of_16_bits(dtype):
    """PyTorch's ends of logspace are rounded first, but for one step, and each operation that finds a bin is."""
    start = torch.tensor(4.3, dtype=dtype).item()
    assert torch.equal(torch.logspace(4.3, 0, 3, dtype=dtype), torch.logspace(start, 0, 3, dtype=dtype))
    expected = torch.tensor(10.0, dtype=torch.float64).pow(4.3).to(dtype)
    assert torch.equal(torch.logspace(4.3, 0, 1, dtype=dtype), expected.reshape(1))
    values = torch.tensor([0.3, 2.7, 5.1, 9.9, 10.0, 10.1], dtype=dtype)
    counts, bins = torch.zeros(23, dtype=dtype), torch.tensor(23.0, dtype=dtype)
    for value in values[:5]:
        counts[min(int((value * bins) / torch.tensor(10.0, dtype=dtype)), 22)] += 1
    assert torch.equal(torch.histc(values, 23, 0, 10), counts)
