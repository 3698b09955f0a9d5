"""Calls that PyTorch 2.15 refuses, and what is near them that it takes: numbers for tensors, out= of other dtypes and in the
operands' memory."""

import pytest
import weft.torch as torch
from weft import numpy as weft_numpy


def x():
    return torch.arange(1.0, 4.0)


# ---- numbers where tensors are wanted ----------------------------------------------------------------------------

BOTH = (
    "atan2 maximum minimum fmax fmin gcd lcm logical_and logical_or logical_xor hypot ldexp nextafter".split()
)
FIRST = "eq ne lt le gt ge fmod copysign".split()
ONE = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift pow float_power remainder xlogy special.zeta".split()
ONE += ["special.chebyshev_polynomial_t", "special.shifted_chebyshev_polynomial_w", "special.xlog1py"]


def function(name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", BOTH)
def test_two_tensors(name):
    given = torch.tensor([2, 3]) if name in ("gcd", "lcm") else torch.tensor([2.0, 3.0])
    assert function(name)(given, given).shape == (2,)
    for wrong in ((2, given), (given, 2), (2, 3)):
        with pytest.raises(TypeError, match="must be Tensor"):
            function(name)(*wrong)


@pytest.mark.parametrize("name", FIRST)
def test_a_tensor_first(name):
    assert function(name)(x(), 2).shape == function(name)(x(), x()).shape == (3,)
    for wrong in ((2, x()), (2, 3)):
        with pytest.raises(TypeError, match="argument 1 must be Tensor, not a number"):
            function(name)(*wrong)


@pytest.mark.parametrize("name", ONE)
def test_a_tensor_among_numbers(name):
    given = torch.tensor([1, 2, 3]) if name.startswith("bitwise") else x()
    assert function(name)(given, 2).shape == function(name)(2, given).shape == (3,)
    with pytest.raises(TypeError, match="expected a Tensor among the operands"):
        function(name)(2, 3)


def test_methods_and_operators():
    with pytest.raises(TypeError, match=r"maximum\(\): argument 2 must be Tensor"):
        x().maximum(2)
    assert (2 == x()).tolist() == [False, True, False] and (3 < x()).tolist() == [False] * 3
    assert x().eq(2).tolist() == [False, True, False] and torch.add(2, 3) == 5
    assert weft_numpy.maximum(2, weft_numpy.arange(4)).tolist() == [2, 2, 2, 3]  # NumPy's rules take numbers


# ---- out= --------------------------------------------------------------------------------------------------------


def gather(values, out):
    return torch.gather(values, 0, torch.tensor([1, 0, 2]), out=out)


def masked_select(values, out):
    return torch.masked_select(values, torch.tensor([True, True, True]), out=out)


CAST = [torch.exp, torch.square, torch.reciprocal]
OWN = [torch.abs, torch.neg, torch.floor, torch.sign, torch.nan_to_num, gather, masked_select]
OWN += [lambda v, out: torch.amax(v.reshape(3, 1), 1, out=out), lambda v, out: torch.clamp(v, 0, 2, out=out)]
OWN += [
    lambda v, out: torch.where(v > 1, v, v, out=out),
    lambda v, out: torch.matmul(v, torch.eye(3), out=out),
]


@pytest.mark.parametrize("call", CAST)
def test_out_of_a_dtype_that_the_result_is_cast_to(call):
    for dtype in (torch.float64, torch.float16, torch.complex64):
        out = torch.empty(3, dtype=dtype)
        assert call(x(), out=out) is out and torch.allclose(out, call(x()).to(dtype), 1e-2)
    for dtype in (torch.int64, torch.bool):
        with pytest.raises(RuntimeError):
            call(x(), out=torch.empty(3, dtype=dtype))


@pytest.mark.parametrize("call", OWN)
def test_out_of_the_results_own_dtype(call):
    out = torch.empty(3)
    assert call(x(), out=out) is out and torch.equal(out, call(x(), out=torch.empty(0)))
    for dtype in (torch.float64, torch.float16, torch.int64, torch.complex64):
        with pytest.raises(RuntimeError, match=r"dtype|cast to|[cC]annot be stored"):
            call(x(), out=torch.empty(3, dtype=dtype))


POINTWISE = [
    torch.exp,
    torch.abs,
    torch.square,
    torch.sign,
    lambda v, out: torch.mul(v, torch.ones(3), out=out),
]
POINTWISE += [lambda v, out: torch.eq(v, v, out=out), lambda v, out: torch.lerp(v, v, 0.5, out=out)]
POINTWISE += [lambda v, out: torch.add(v, 2, alpha=3, out=out), lambda v, out: torch.sub(v, v, out=out)]
APART = [
    gather,
    masked_select,
    lambda v, out: torch.cat([v], out=out),
    lambda v, out: torch.take(v, torch.arange(3), out=out),
]
ANYWHERE = [
    lambda v, out: torch.amax(v.reshape(3, 1), 1, out=out),
    lambda v, out: torch.matmul(v, torch.eye(3), out=out),
]


@pytest.mark.parametrize("call", POINTWISE + APART + ANYWHERE)
def test_out_in_the_operands_memory(call):
    memory = torch.arange(1.0, 9.0)
    expected = call(memory[2:5], out=torch.empty(0)).to(torch.float32)
    assert torch.equal(call(memory[2:5], out=memory[5:8]), expected)  # beside it
    memory = torch.arange(1.0, 9.0)
    if call in ANYWHERE:
        assert torch.equal(call(memory[2:5], out=memory[3:6]), expected)
        return
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        call(memory[2:5], out=memory[3:6])
    assert memory.tolist() == list(range(1, 9))
    if call in POINTWISE:
        assert torch.equal(call(memory[2:5], out=memory[2:5]), expected)
    else:
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            call(memory[2:5], out=memory[2:5])
    memory = torch.arange(1.0, 9.0)  # elements in turn: PyTorch looks at dense ones only
    assert torch.equal(
        call(memory[0:6:2], out=memory[1:7:2]), call(torch.tensor([1.0, 3.0, 5.0]), out=torch.empty(0))
    )


BOTH_PARTS = "max min median nanmedian mode sort kthvalue".split()


@pytest.mark.parametrize("name", BOTH_PARTS)
def test_out_of_values_and_indices(name):
    def call(values, out):
        options = {"sort": (1,), "kthvalue": (1, 1)}.get(name, (1,))
        return getattr(torch, name)(
            values.reshape(3, 1), *options, out=(out, torch.empty(0, dtype=torch.int64))
        )[0]

    memory = torch.arange(1.0, 9.0)
    expected = call(memory[2:5], torch.empty(0)).flatten().tolist()
    assert expected == [3, 4, 5]
    for dtype in (torch.float64, torch.float16, torch.int64):
        with pytest.raises(RuntimeError, match="dtype"):
            call(x(), torch.empty(3, dtype=dtype))
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        call(memory[2:5], memory[3:6])
    assert call(memory[2:5], memory[5:8]).flatten().tolist() == expected
    if name == "kthvalue":
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            call(memory[2:5], memory[2:5])


def test_out_in_captured_functions():
    def f(values, out):
        torch.gather(values, 0, torch.tensor([1, 0, 2]), out=out)
        return torch.exp(out, out=out) + 1

    out = torch.empty(3)
    found = torch.compile(f, fullgraph=True)(x(), out)
    assert torch.allclose(found, torch.exp(x()[[1, 0, 2]]) + 1) and torch.allclose(out, found - 1)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", ["maximum", "logical_and", "atan2"])
def test_changing_numbers_in_captured_functions(name, dynamic):
    operator = function(name)
    compiled = torch.compile(lambda a, b: operator(a, b), dynamic=dynamic)
    assert torch.equal(compiled(x(), x()), operator(x(), x()))
    for number in (2.0, 3, 4, 2.5):
        for wrong in ((x(), number), (number, x())):
            with pytest.raises(TypeError, match="must be Tensor"):
                compiled(*wrong)
    assert torch.compile(lambda a, n: a > n, dynamic=dynamic)(x(), 2.0).tolist() == [False, False, True]
