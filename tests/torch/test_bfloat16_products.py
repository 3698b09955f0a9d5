"""Products, attention and convolution of bfloat16 tensors against float32's of the same numbers."""

import numpy
import pytest
import weft
import weft.torch as torch
import weft.torch.nn.functional as F


def numbers(*shape, seed=0):
    values = numpy.random.default_rng([seed, *shape]).standard_normal(shape).astype("float32")
    return weft.tensor(values).to(weft.bfloat16)


def close(result, exact, magnitude):
    """Rounded once, from sums in float32."""
    assert result.dtype == weft.bfloat16
    difference = (result.float() - exact).abs()
    assert bool((difference <= exact.abs() * 2**-8 + magnitude * 1e-6).all()), float(difference.max())


@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 7), (7, 3)),
        ((40, 33), (33, 65)),
        ((3, 20, 31), (3, 31, 40)),
        ((2, 1, 40, 8), (3, 8, 33)),
        ((4, 30, 16), (16, 50)),
        ((64,), (64,)),
        ((1, 300), (300, 1)),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_products(shapes, turned):
    x, y = (numbers(*shape, seed=i) for i, shape in enumerate(shapes))
    if turned and y.dim() > 1:
        y = y.transpose(-1, -2).contiguous().transpose(-1, -2)
    close(x @ y, x.float() @ y.float(), x.float().abs() @ y.float().abs())


@pytest.mark.parametrize("rows", [0, 1, 3, 17, 50])
@pytest.mark.parametrize("threads", [1, 2])
def test_linear(rows, threads):
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        x, weight, bias = numbers(rows, 70), numbers(45, 70, seed=1), numbers(45, seed=2)
        exact, magnitude = (
            F.linear(x.float(), weight.float()),
            F.linear(x.float().abs(), weight.float().abs()),
        )
        close(F.linear(x, weight), exact, magnitude)
        close(F.linear(x, weight, bias), exact + bias.float(), magnitude + 4)
        in_columns = x.t().contiguous().t()
        assert F.linear(in_columns, weight, bias).tolist() == F.linear(x, weight, bias).tolist()
    finally:
        weft.set_num_threads(before)


def test_compiled_linear():
    layer = weft.nn.Linear(70, 45).bfloat16().eval()
    compiled = weft.compile(lambda x: layer(x))
    for rows in (1, 20, 300):
        x = numbers(rows, 70)
        exact = layer.float()(x.float())
        layer.bfloat16()
        for result in (layer(x), compiled(x)):
            assert bool(((result.float() - exact).abs() <= exact.abs() * 2**-7 + 2**-8).all())


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    query, key, value = (numbers(2, 3, 60, 24, seed=i) for i in range(3))
    exact = F.scaled_dot_product_attention(query.float(), key.float(), value.float(), is_causal=causal)
    result = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    assert result.dtype == weft.bfloat16
    assert float((result.float() - exact).abs().max()) <= 2**-7 * float(value.float().abs().max())


@pytest.mark.parametrize(
    "options", [{}, {"padding": 1}, {"stride": 2, "padding": 2}, {"dilation": 2}, {"groups": 2}]
)
@pytest.mark.parametrize("layout", ["first", "last", "slice"])
def test_convolution(options, layout):
    x, weight, bias = (
        numbers(2, 4, 13, 15),
        numbers(34, 4 // options.get("groups", 1), 3, 3, seed=1),
        numbers(34, seed=2),
    )
    if layout == "last":
        x = x.to(memory_format=torch.channels_last)
    if layout == "slice":
        x = numbers(2, 4, 13, 30)[..., ::2]
    exact = F.conv2d(x.float(), weight.float(), bias.float(), **options)
    magnitude = F.conv2d(x.float().abs(), weight.float().abs(), bias.float().abs(), **options)
    result = F.conv2d(x, weight, bias, **options)
    close(result, exact, magnitude)
    assert result.stride() == F.conv2d(x.float(), weight.float(), bias.float(), **options).stride()


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardswish": F.hardswish,
}


class WithEpilogue(weft.nn.Module):
    def __init__(self, activation, bias, residual):
        super().__init__()
        self.layer = weft.nn.Linear(70, 45, bias=bias)
        self.activation, self.residual = activation, residual

    def forward(self, x, added):
        y = ACTIVATIONS[self.activation](self.layer(x))
        return added + y if self.residual else y


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias, residual", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_epilogues(activation, bias, residual, dtype):
    """Rounded once; twice where the graph does not know that both terms of the sum have as many rows."""
    dtype = getattr(weft, dtype)
    torch.manual_seed(3)
    model = WithEpilogue(activation, bias, residual).to(dtype).eval()
    compiled = weft.compile(lambda x, added: model(x, added))
    for rows in (1, 0, 2, 13, 300):
        x, added = numbers(rows, 70).to(dtype), numbers(rows, 45, seed=rows).to(dtype)
        result = compiled(x, added)
        exact = model.float()(x.float(), added.float())
        model.to(dtype)
        assert result.dtype == dtype and result.shape == (rows, 45)
        magnitude = exact.abs() + ((exact - added.float()).abs() if residual else 0)
        bound = magnitude * (2**-8 if dtype == weft.bfloat16 else 2**-20) + 2e-5
        assert bool(((result.float() - exact).abs() <= bound).all())


def test_epilogue_of_what_is_no_number():
    model = WithEpilogue("gelu", True, True).bfloat16().eval()
    compiled = weft.compile(lambda x, added: model(x, added))
    x, added = numbers(20, 70), numbers(20, 45)
    x[3, 5], x[4, 7], added[5, 0] = float("nan"), float("inf"), float("-inf")
    result = compiled(x, added)
    finite = result.isfinite()
    assert result[3].isnan().all() and not finite[4].all() and float(result[5, 0]) == float("-inf")
    assert finite[6:].all() and finite[:3].all() and finite[5, 1:].all()


class Images(weft.nn.Module):
    def __init__(self):
        super().__init__()
        nn = weft.nn
        self.first, self.norm = nn.Conv2d(3, 24, 7, 2, 3, bias=False), nn.BatchNorm2d(24)
        self.second, self.third = nn.Conv2d(24, 40, 3, padding=1), nn.Conv2d(40, 24, 1)
        self.grouped, self.strided = nn.Conv2d(24, 24, 3, padding=1, groups=4), nn.Conv2d(24, 24, 1, stride=2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 3, 2, 1)
        x = F.relu(self.third(F.gelu(self.second(x))) + x)
        x = F.avg_pool2d(self.grouped(x), 2, ceil_mode=True) + self.strided(x)
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("form", ["compiled", "optimized"])
def test_images(layout, form):
    torch.manual_seed(4)
    model = Images().eval()
    x = numbers(2, 3, 33, 29).contiguous(memory_format=layout)
    exact = model(x.float())
    if form == "compiled":
        model = model.bfloat16()
        run = weft.compile(lambda x: model(x))
    else:
        run = weft.jit.optimize_for_inference(weft.jit.trace(model, x.float()), dtype=weft.bfloat16)
    for _ in range(3):
        result = run(x)
        assert result.dtype == weft.bfloat16
        assert float((result.float() - exact).abs().max()) <= 2**-6 * float(exact.abs().max())


class Words(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm, self.layer = (
            weft.nn.Embedding(9, 20),
            weft.nn.LayerNorm(20),
            weft.nn.Linear(20, 5),
        )

    def forward(self, words, scale):
        return self.layer(self.norm(self.table(words))) * scale


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_archives_in_half_precision(dtype, tmp_path):
    """Integers stay what they are; what is saved has the same results."""
    dtype = getattr(weft, dtype)
    torch.manual_seed(5)
    model = Words().eval()
    words, scale = weft.tensor([[1, 2, 8], [0, 3, 4]]), weft.tensor([2.0])
    exact = model(words, scale)
    run = weft.jit.optimize_for_inference(weft.jit.script(model), dtype=dtype)
    run.save(str(tmp_path / "model.pt"))
    loaded = weft.jit.load(str(tmp_path / "model.pt"))
    for _ in range(3):
        for each in (run, loaded):
            result = each(words, scale)
            assert result.dtype == dtype
            assert float((result.float() - exact).abs().max()) <= 2**-6 * float(exact.abs().max())
    assert run(words, scale.to(dtype)).tolist() == run(words, scale).tolist()
    with pytest.raises(TypeError, match="expected dtype bfloat16, float16 or float32, got i"):
        weft.jit.optimize_for_inference(weft.jit.script(model), dtype=weft.int32)
