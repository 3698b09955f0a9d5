"""float8 dtypes: stored, moved and converted as PyTorch 2.15 does; nothing computes in them."""

import io
import math

import pytest
import weft.torch as torch

F = torch.nn.functional
# Bits of the fraction, bias of the exponent, the largest number's code, and what is beyond it.
FORMATS = {
    torch.float8_e4m3fn: (3, 7, 0x7E, "largest"),
    torch.float8_e5m2: (2, 15, 0x7B, "infinity"),
    torch.float8_e4m3fnuz: (3, 8, 0x7F, "nan"),
    torch.float8_e5m2fnuz: (2, 16, 0x7F, "nan"),
}
ALL = [*FORMATS, torch.float8_e8m0fnu]
dtypes = pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: str(dtype)[6:])


def codes(dtype):
    return torch.arange(256).to(torch.uint8).view(dtype)


def value_of(dtype, code):
    """By the format's definition."""
    if dtype is torch.float8_e8m0fnu:
        return math.nan if code == 255 else math.ldexp(1.0, code - 127)
    fraction, bias, largest, beyond = FORMATS[dtype]
    sign, magnitude = (-1.0 if code & 0x80 else 1.0), code & 0x7F
    if beyond == "nan" and code == 0x80:
        return math.nan
    if magnitude > largest:
        return sign * math.inf if beyond == "infinity" and magnitude == largest + 1 else math.nan
    exponent, rest = magnitude >> fraction, magnitude & ((1 << fraction) - 1)
    if exponent == 0:
        return sign * math.ldexp(rest, 1 - bias - fraction)
    return sign * math.ldexp(rest | 1 << fraction, exponent - bias - fraction)


@dtypes
@pytest.mark.parametrize("wide", [torch.float32, torch.float64], ids=str)
def test_all_values(dtype, wide):
    for code, value in enumerate(codes(dtype).to(wide).tolist()):
        expected = value_of(dtype, code)
        assert value == expected or math.isnan(value) and math.isnan(expected), code


@dtypes
@pytest.mark.parametrize("wide", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_values_come_back(dtype, wide):
    if wide is torch.float16 and dtype is torch.float8_e8m0fnu:
        pytest.skip("float16 does not hold these")
    x = codes(dtype)
    is_number = ~x.isnan()
    assert torch.equal(x.to(wide).to(dtype).view(torch.uint8)[is_number], x.view(torch.uint8)[is_number])


@pytest.mark.parametrize("dtype", FORMATS, ids=lambda dtype: str(dtype)[6:])
def test_rounding(dtype):
    """To the nearest number, ties to even codes; what PyTorch makes of larger ones."""
    fraction, bias, largest, beyond = FORMATS[dtype]
    numbers = [value_of(dtype, code) for code in range(largest + 1)]
    for code, (low, high) in enumerate(zip(numbers, numbers[1:])):
        middle = (low + high) / 2
        given = torch.tensor([middle, middle * (1 - 2**-20), middle * (1 + 2**-20)])
        even = code if code % 2 == 0 else code + 1
        assert given.to(dtype).view(torch.uint8).tolist() == [even, code, code + 1], (code, middle)
        assert (-given[:1]).to(dtype).view(torch.uint8).tolist() == [
            even | 0x80 if even or beyond != "nan" else 0
        ]
    over = {"largest": [0x7E, 0x7E, 0xFE], "infinity": [0x7C, 0x7C, 0xFC], "nan": [0x80, 0x80, 0x80]}[beyond]
    assert torch.tensor([1e30, math.inf, -math.inf]).to(dtype).view(torch.uint8).tolist() == over
    assert torch.tensor([math.nan]).to(dtype).isnan().item()


@dtypes
def test_properties(dtype):
    x = torch.ones(2, 3).to(dtype)
    assert x.dtype is dtype and x.element_size() == 1 and x.is_floating_point() and not x.is_complex()
    assert dtype.is_signed is (dtype is not torch.float8_e8m0fnu) and dtype.itemsize == 1 and x.nbytes == 6
    assert (
        str(dtype) == f"torch.{torch.finfo(dtype).dtype}"
        and x.type() == "torch.F" + str(dtype)[7:] + "Tensor"
    )
    assert x.tolist() == [[1.0] * 3] * 2 and x[0, 0].item() == 1.0 and f"dtype={dtype}" in repr(x)
    assert torch.promote_types(dtype, dtype) is dtype


MOVES = (
    """
x.t()|x.reshape(4, 3)|x.t().contiguous()|x.clone()|x[0]|x[:, 1:]|x[[0, 2]]|x[mask]|torch.cat([x, x])|torch.stack([x, x])|x.repeat(2, 1)
x.index_select(0, torch.tensor([1]))|x.flip(0)|x.roll(1)|x.expand(2, 3, 4)|torch.where(mask, x, x.flip(0))|x.masked_select(mask)
x.unsqueeze(0)|x.chunk(2)[1]|x.tile(2)|F.embedding(torch.tensor([1]), x)|x.diag()
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.parametrize("code", MOVES)
def test_elements_are_moved(code):
    wide = torch.tensor([[1.0, 2, 4, 8], [0.5, 16, 0.25, 1], [2, 2, 4, 1]])
    mask = wide > 1
    for dtype in ALL:
        scope = {"torch": torch, "F": F, "mask": mask}
        found, expected = eval(code, {**scope, "x": wide.to(dtype)}), eval(code, {**scope, "x": wide})
        assert found.dtype is dtype and torch.equal(found.float(), expected)


@pytest.mark.parametrize("code", "x + x|x + 1|x * 2.0|-x|x < x|x.sum()|x.max()|x.sort()|x.gather(0, i)|x.exp()|x.clamp(0, 1)|x.cumsum(0)|x.argmax()|torch.arange(3, dtype=x.dtype)|torch.rand(3, dtype=x.dtype)|x.unique()|torch.allclose(x, x)".split("|"))  # fmt: skip
def test_nothing_computes(code):
    scope = {"torch": torch, "x": torch.ones(2, 3).to(torch.float8_e4m3fn), "i": torch.zeros(1, 3).long()}
    with pytest.raises(NotImplementedError, match="not implemented for"):
        eval(code, scope)


def test_promotion():
    x = torch.ones(3).to(torch.float8_e5m2)
    for refused in (
        lambda: x + torch.ones(3),
        lambda: torch.cat([x, torch.ones(3)]),
        lambda: torch.result_type(x, torch.ones(1)),
    ):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            refused()
    with pytest.raises(TypeError):
        x.numpy()


def test_written_and_compared():
    x = torch.zeros(3, dtype=torch.float8_e4m3fn)
    x[0] = 1.3
    x[1:] = torch.tensor([500.0, -2.0])
    assert x.tolist() == [1.25, 448.0, -2.0] and (x == x).all() and not x.isnan().any()
    assert (
        x.fill_(3).tolist() == [3.0] * 3 and torch.full((2,), 0.1, dtype=x.dtype).tolist() == [0.1015625] * 2
    )
    assert torch.zeros(2).copy_(x[:2]).tolist() == [3.0, 3.0] and x.abs().dtype is x.dtype


@dtypes
def test_saved_and_loaded(dtype, tmp_path):
    x = torch.tensor([1.0, 2.0, 0.5]).to(dtype)
    buffer = io.BytesIO()
    torch.save({"x": x}, buffer)
    buffer.seek(0)
    found = torch.load(buffer)["x"]
    assert found.dtype is dtype and found.tolist() == x.tolist()


def test_captured_functions_leave_them_to_python():
    weight = torch.tensor([[1.0, 2.0], [0.5, 4.0]]).to(torch.float8_e4m3fn)
    found = torch.compile(lambda x, w: x @ w.to(torch.float32) + 1)(torch.ones(1, 2), weight)
    assert found.tolist() == [[2.5, 7.0]]


def test_modules_hold_them():
    linear = torch.nn.Linear(2, 2).to(torch.float8_e5m2)
    assert linear.weight.dtype is torch.float8_e5m2
    assert linear.float().weight.dtype is torch.float32
