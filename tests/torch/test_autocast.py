"""torch.autocast on the CPU: dtypes as PyTorch 2.15 gives them, outside of and inside captured functions."""

import pytest
import weft.torch as torch

F = torch.nn.functional
BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64


def region(dtype=BF16, **kwargs):
    return torch.autocast("cpu", dtype=dtype, **kwargs)


def names():
    """Operands of the calls below: x, y, v in float32, b in bfloat16, h in float16, d in float64."""
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    return {
        "torch": torch, "F": F, "x": x, "y": torch.randn(4, 5), "v": torch.randn(4), "b": x.bfloat16(), "h": x.half(),
        "d": x.double(), "n": torch.tensor([0, 1, 2]), "i": torch.randn(1, 3, 5, 5), "j": torch.randn(1, 3, 5, 5).bfloat16(),
        "k": torch.randn(1, 1, 3, 5, 5).bfloat16(),
    }  # fmt: skip


def dtypes(result):
    if isinstance(result, torch.Tensor):
        return str(result.dtype)[6:]
    return " ".join(dtypes(each) for each in result)


# What PyTorch gives in a region of bfloat16.
CALLS = """
torch.mm(x, y) -> bfloat16
torch.mm(h, y) -> bfloat16
torch.mm(d, y.double()) -> float64
torch.mm(x.long(), y.long()) -> int64
x @ y -> bfloat16
x.matmul(y) -> bfloat16
torch.bmm(x[None], y[None]) -> bfloat16
torch.addmm(torch.ones(3, 5), b, y) -> bfloat16
torch.ones(3, 5).addmm_(x, y) -> float32
torch.mm(x, y, out=torch.empty(3, 5)) -> float32
torch.addbmm(torch.ones(3, 5), x[None], y[None]) -> bfloat16
torch.baddbmm(torch.ones(1, 3, 5), b[None], y[None]) -> bfloat16
torch.mv(x, v) -> float32
torch.dot(v, v) -> float32
torch.outer(v, v) -> float32
torch.inner(x, x) -> bfloat16
torch.tensordot(x, y, 1) -> bfloat16
torch.matrix_power(x[:, :3], 2) -> bfloat16
torch.matrix_exp(x[:, :3]) -> float32
torch.linalg.vecdot(x, x) -> bfloat16
torch.linalg.multi_dot([x, y, y.T]) -> bfloat16
torch.cov(x) -> bfloat16
torch.einsum('ij,jk->ik', x, y) -> bfloat16
torch.einsum('i,j->ij', v, v) -> float32
torch.einsum('ij,ij->', x, x) -> bfloat16
torch.einsum('ij->i', x) -> float32
F.linear(x, y.T, y[0]) -> bfloat16
F.conv2d(i, torch.ones(2, 3, 3, 3)) -> bfloat16
F.conv_transpose1d(x[None], torch.ones(3, 2, 2)) -> bfloat16
F.prelu(x, v[:1]) -> bfloat16
F.scaled_dot_product_attention(x[None], b[None], x[None]) -> bfloat16
F.bilinear(x, x, torch.ones(5, 4, 4)) -> float32
F.layer_norm(b, (4,), v, v) -> bfloat16
F.group_norm(b, 2, v, v) -> bfloat16
F.batch_norm(b, torch.zeros(4), torch.ones(4), v, v) -> bfloat16
F.rms_norm(x, (4,), v) -> float32
F.rms_norm(b, (4,), v) -> bfloat16
F.gelu(b) -> bfloat16
F.softmax(b, -1) -> bfloat16
torch.exp(x) -> float32
b + x -> float32
b.sum() -> bfloat16
b.prod() -> float32
b.long().prod() -> int64
b.trace() -> float32
torch.cat([b, x]) -> float32
torch.cat([b, b]) -> bfloat16
torch.cat([b, d]) -> float64
torch.stack([b, x]) -> float32
torch.vstack([x, b]) -> float32
torch.index_copy(x, 0, n[:1], b[:1]) -> float32
F.mse_loss(b, b) -> float32
F.l1_loss(b, b) -> float32
F.huber_loss(b, b) -> float32
F.cross_entropy(b, n) -> float32
F.nll_loss(b, n) -> float32
F.kl_div(b, b) -> float32
F.binary_cross_entropy(b.sigmoid(), b.sigmoid()) -> float32
F.soft_margin_loss(b, b) -> float32
F.hinge_embedding_loss(b, b) -> float32
F.cosine_embedding_loss(b, b, n) -> float32
F.triplet_margin_loss(b, b, b) -> float32
F.multi_margin_loss(b, n) -> float32
F.margin_ranking_loss(b, b, b) -> float32
F.poisson_nll_loss(b, b) -> float32
F.multilabel_soft_margin_loss(b, b) -> bfloat16
F.pairwise_distance(b, b) -> bfloat16
F.max_pool2d(j, 2) -> bfloat16
F.max_pool3d(k, 2) -> float32
F.avg_pool3d(k, 2) -> float32
F.adaptive_avg_pool3d(k, 1) -> float32
F.pad(j, (1, 1, 1, 1), mode='reflect') -> float32
F.pad(k, (1, 1, 1, 1, 1, 1), mode='reflect') -> bfloat16
F.pad(j, (1, 1)) -> bfloat16
F.grid_sample(j, torch.zeros(1, 2, 2, 2), align_corners=False) -> float32
F.interpolate(j, scale_factor=2) -> bfloat16
F.embedding(n, b) -> bfloat16
torch.cdist(b, b) -> float32
torch.quantile(b, 0.5) -> float32
torch.polar(b, b) -> complex64
torch.fft.rfft(b) -> complex64
b[:, :3].inverse() -> float32
torch.linalg.svdvals(b) -> float32
torch.nn.LSTM(4, 6)(x[None])[0] -> bfloat16
torch.nn.RNN(4, 6)(x[None]) -> bfloat16 bfloat16
torch.nn.GRU(4, 6)(x[None]) -> float32 float32
torch.nn.GRU(4, 6)(b[None]) -> bfloat16 bfloat16
torch.nn.LSTMCell(4, 6)(x) -> float32 float32
torch.nn.LSTMCell(4, 6)(b) -> bfloat16 bfloat16
torch.nn.RNNCell(4, 6)(x) -> bfloat16
torch.nn.MultiheadAttention(4, 2)(x, x, x) -> bfloat16 bfloat16
torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)(x[None]) -> float32
torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))(x) -> bfloat16
"""
CASES = [tuple(line.split(" -> ")) for line in CALLS.strip().splitlines()]


@pytest.mark.parametrize("code, expected", CASES, ids=[code for code, _ in CASES])
def test_dtypes(code, expected):
    scope = names()
    with region():
        assert dtypes(eval(code, scope)) == expected


@pytest.mark.parametrize("code", ["torch.cat([h, h])", "torch.stack([h, x])", "torch.mm(d, y)"])
def test_refusals(code):
    with region(), pytest.raises(RuntimeError):
        eval(code, names())


def test_values_are_those_of_cast_operands():
    scope = names()
    x, y = scope["x"], scope["y"]
    with region():
        assert torch.equal(x @ y, x.bfloat16() @ y.bfloat16())
    with region(F16):
        assert torch.equal(x @ y, x.half() @ y.half())


def test_states():
    """The dtype, whether it is on, nested and switched off."""
    x = torch.ones(2, 2)
    assert not torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") is BF16
    with torch.amp.autocast("cpu", dtype=F16, cache_enabled=False):
        assert torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") is F16
        assert not torch.is_autocast_cache_enabled() and not torch.is_autocast_enabled()
        assert (x @ x).dtype is F16
        with torch.cpu.amp.autocast(), torch.no_grad():
            assert (x @ x).dtype is BF16 and torch.is_autocast_cache_enabled()
            with region(enabled=False):
                assert (x @ x).dtype is F32 and not torch.is_autocast_cpu_enabled()
        assert (x @ x).dtype is F16
    assert (x @ x).dtype is F32 and torch.get_autocast_dtype("cpu") is BF16
    with pytest.raises(ZeroDivisionError), region():
        1 / 0
    assert not torch.is_autocast_enabled("cpu")


def test_decorator():
    @region(F16)
    def function(x):
        return x @ x

    assert function(torch.ones(2, 2)).dtype is F16
    with pytest.raises(TypeError, match="requires a callable"):
        region()(3)


def test_custom_forward():
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=F32)
    def function(x):
        return x @ x

    b = torch.ones(2, 2).bfloat16()
    assert function(b).dtype is BF16
    with region():
        assert function(b).dtype is F32


def test_unsupported():
    with pytest.warns(UserWarning, match="target dtype is not supported"), region(F64):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'nowhere'"):
        torch.autocast("nowhere")


# ---- captured ------------------------------------------------------------------------------------------------


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = (
            torch.nn.Linear(4, 8),
            torch.nn.LayerNorm(8),
            torch.nn.Linear(8, 3),
        )

    def forward(self, x):
        with region():
            x = self.norm(F.gelu(self.first(x)))
            with region(enabled=False):
                x = x.float() * 2
            x = self.second(x)
        return x, x + 1.0, F.mse_loss(x, x * 2)


def assert_alike(one, other):
    assert dtypes(one) == dtypes(other)
    for a, b in zip(one, other):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)


def test_captured_region():
    torch.manual_seed(0)
    model, x = Model(), torch.randn(5, 4)
    assert_alike(torch.compile(model, fullgraph=True)(x), model(x))


@pytest.mark.parametrize(
    "code", [code for code, _ in CASES if "nn." not in code and "out=" not in code and "_(" not in code]
)
def test_captured_calls(code):
    """Each of the calls gives the same in a captured region, at once or after a break."""
    scope = names()
    names_used = [name for name in scope if name not in ("torch", "F") and not name.startswith("_")]
    source = f"def function({', '.join(names_used)}):\n    with region():\n        return {code}"
    exec(source, {"torch": torch, "F": F, "region": region}, scope)
    arguments = [scope[name] for name in names_used]
    result, expected = torch.compile(scope["function"])(*arguments), scope["function"](*arguments)
    assert dtypes(result) == dtypes(expected)


def test_ambient_region_is_guarded():
    x = torch.ones(2, 2)
    function = torch.compile(lambda x: (x @ x, torch.is_autocast_enabled("cpu")), fullgraph=True)
    assert dtypes(function(x)[:1]) == "float32" and function(x)[1] is False
    with region():
        assert dtypes(function(x)[:1]) == "bfloat16" and function(x)[1] is True
    with region(F16):
        assert dtypes(function(x)[:1]) == "float16"
    assert dtypes(function(x)[:1]) == "float32"


def test_break_inside_a_region():
    seen = []

    @torch.compile
    def function(x):
        with region():
            y = x @ x
            seen.append(str(y.float().tolist()))
            z = x @ x
        return y, z, x @ x

    for _ in range(2):
        assert dtypes(function(torch.ones(2, 2))) == "bfloat16 bfloat16 float32"
    assert not torch.is_autocast_enabled("cpu") and len(seen) == 2


def test_state_that_a_function_leaves():
    def enter(x):
        torch.set_autocast_enabled("cpu", True)
        return x @ x

    try:
        assert torch.compile(enter, fullgraph=True)(torch.ones(2, 2)).dtype is BF16
        assert torch.is_autocast_enabled("cpu")
    finally:
        torch.set_autocast_enabled("cpu", False)


def test_exception_leaves_the_region():
    @torch.compile
    def function(x, fails):
        try:
            with region():
                y = x @ x
                if fails:
                    raise ValueError
        except ValueError:
            return x @ x
        return y

    x = torch.ones(2, 2)
    assert function(x, True).dtype is F32 and function(x, False).dtype is BF16
