"""Numbers that are written into tensors: what would wrap, become infinite or lose its imaginary part is refused, in the words of
PyTorch 2.15."""

import math

import pytest
import weft.torch as torch

VALUES = [300, -1, -300, 1.5, 1e6, 1e39, math.inf, math.nan, 2**63 - 1, 1j, 1 + 0j]
REFUSED = "refused"
# What PyTorch stores, value by value.
STORED = {
    torch.bool: [True] * 11,
    torch.uint8: [REFUSED, 255, REFUSED, 1, *[REFUSED] * 6, 1],
    torch.int8: [REFUSED, -1, REFUSED, 1, *[REFUSED] * 6, 1],
    torch.int32: [300, -1, -300, 1, 1000000, *[REFUSED] * 5, 1],
    torch.int64: [300, -1, -300, 1, 1000000, *[REFUSED] * 3, 2**63 - 1, REFUSED, 1],
    torch.float16: [300.0, -1.0, -300.0, 1.5, REFUSED, REFUSED, math.inf, math.nan, REFUSED, REFUSED, 1.0],
    torch.float32: [300.0, -1.0, -300.0, 1.5, 1e6, REFUSED, math.inf, math.nan, 2.0**63, REFUSED, 1.0],
    torch.complex64: [300, -1, -300, 1.5, 1e6, REFUSED, complex(math.inf), complex(math.nan), 2.0**63, 1j, 1],
}
NAMES = {torch.uint8: "uint8_t", torch.int8: "int8_t", torch.int32: "int", torch.int64: "int64_t"}
NAMES |= {torch.float16: "c10::Half", torch.float32: "float", torch.complex64: "c10::complex<float>"}
MASK = [True, False]


def assigned(x, value):
    x[0] = value
    return x


def assigned_by_mask(x, value):
    x[torch.tensor(MASK)] = value
    return x


def diagonal(x, value):
    return torch.zeros(2, 2, dtype=x.dtype).fill_diagonal_(value)[0]


WRITING = {
    "fill_": lambda x, v: x.fill_(v),
    "fill": lambda x, v: torch.fill(x, v),
    "masked_fill": lambda x, v: x.masked_fill(torch.tensor(MASK), v),
    "masked_fill_": lambda x, v: x.masked_fill_(torch.tensor(MASK), v),
    "index_fill": lambda x, v: x.index_fill(0, torch.tensor([0]), v),
    "index_fill_": lambda x, v: x.index_fill_(0, torch.tensor([0]), v),
    "full": lambda x, v: torch.full((2,), v, dtype=x.dtype),
    "full_like": lambda x, v: torch.full_like(x, v),
    "new_full": lambda x, v: x.new_full((2,), v),
    "scatter": lambda x, v: x.scatter(0, torch.tensor([0]), v),
    "fill_diagonal_": diagonal,
    "x[i] =": assigned,
    "x[mask] =": assigned_by_mask,
}


def is_same_number(found, expected):
    return found == expected or (found != found and expected != expected)


@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("name", WRITING)
def test_written_numbers(name, dtype):
    for value, expected in zip(VALUES, STORED[dtype]):
        is_real = not dtype.is_complex
        if name.startswith("index_fill") and isinstance(value, complex) and is_real:
            expected = REFUSED  # also without an imaginary part
        if name == "x[i] =" and dtype == torch.float16 and value in (1e6, 1e39, 2**63 - 1):
            expected = math.inf  # one element alone
        given = torch.zeros(2, dtype=dtype)
        if expected is REFUSED:
            with pytest.raises(RuntimeError, match="without overflow|Converting complex Scalar") as raised:
                WRITING[name](given, value)
            assert "Converting complex" in str(raised.value) or f"type {NAMES[dtype]} " in str(raised.value)
            assert given.tolist() == [0, 0]
        else:
            assert is_same_number(WRITING[name](given, value)[0].item(), expected), value


@pytest.mark.parametrize("name", ["full", "masked_fill", "index_fill", "fill_"])
def test_written_numbers_of_compiled_functions(name):
    compiled = torch.compile(WRITING[name])
    for value in (3, 7, 250):
        assert compiled(torch.zeros(2, dtype=torch.uint8), value)[0].item() == value
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.compile(WRITING[name])(torch.zeros(2, dtype=torch.uint8), 300)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.compile(WRITING[name])(torch.zeros(2, dtype=torch.float16), -1e9)


def test_what_lies_at_the_edge():
    for dtype, last in (
        (torch.uint8, 255),
        (torch.int8, 127),
        (torch.int16, 32767),
        (torch.int32, 2**31 - 1),
    ):
        assert torch.full((1,), last, dtype=dtype).item() == last
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.full((1,), last + 1, dtype=dtype)
    for dtype, first in (
        (torch.uint8, -255),
        (torch.int8, -128),
        (torch.int16, -32768),
        (torch.int32, -(2**31)),
    ):
        torch.full((1,), first, dtype=dtype)
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.full((1,), first - 1, dtype=dtype)
    assert torch.full((2,), 65504, dtype=torch.float16)[0].item() == 65504
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.full((2,), 65505.0, dtype=torch.float16)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_one_element_alone_of_16_bits_becomes_infinite(dtype):
    one, two = torch.zeros(1, dtype=dtype), torch.zeros(2, dtype=dtype)
    assert torch.full((1,), 1e39, dtype=dtype).item() == torch.full((), 1e39, dtype=dtype).item() == math.inf
    assert torch.full_like(one, -1e39).item() == -math.inf and one.fill_(1e39).item() == math.inf
    two[1] = 1e39
    assert two.tolist() == [0, math.inf]
    for refused in (
        lambda: torch.full((2,), 1e39, dtype=dtype),
        lambda: torch.full_like(two, 1e39),
        lambda: two.fill_(1e39),
        lambda: two.__setitem__(slice(None), 1e39),
        lambda: one.masked_fill(torch.tensor([True]), 1e39),
        lambda: one.fill_(1j),
    ):
        with pytest.raises(RuntimeError, match="without overflow"):
            refused()


def test_padding():
    pad = torch.nn.functional.pad
    assert pad(torch.ones(1), (1, 0), value=math.inf).tolist() == [math.inf, 1.0]
    for dtype, value in ((torch.uint8, 300), (torch.int32, math.nan), (torch.float16, 1e6)):
        with pytest.raises(RuntimeError, match="without overflow"):
            pad(torch.zeros(2, dtype=dtype), (1, 1), value=value)


def test_masked_fill_with_a_tensor():
    mask, given = torch.tensor(MASK), torch.zeros(2, dtype=torch.uint8)
    assert (
        given.masked_fill(mask, torch.tensor(7)).tolist()
        == given.masked_fill_(mask, torch.tensor(7.5)).tolist()
    )
    for value in (300, 1j, -300, math.nan):
        with pytest.raises(RuntimeError, match="without overflow"):
            given.masked_fill(mask, torch.tensor(value))


def test_tensors_that_are_written_are_converted():
    """As `to` converts them: only numbers are looked at."""
    given = torch.zeros(2, dtype=torch.uint8)
    given[0] = torch.tensor(300)
    assert given.tolist() == [44, 0] and given.copy_(torch.tensor([300, 1])).tolist() == [44, 1]
