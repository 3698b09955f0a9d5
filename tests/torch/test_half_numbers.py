"""16-bit tensors with numbers that 16 bits do not hold, as PyTorch computes them: half_numbers.py, test_half_numbers.json.

Products and quotients take the number in float32, where it is the second operand, and lerp its weight, and round once;
all other operators round it first.
"""

import json
from pathlib import Path

import half_numbers
import numpy as np
import pytest
import weft
import weft.torch as torch

RECORDED = json.loads((Path(__file__).parent / "test_half_numbers.json").read_text())
DTYPES, NUMBERS = half_numbers.DTYPES, half_numbers.NUMBERS


def recorded(code, dtype, number):
    return RECORDED[code][dtype][half_numbers.numbers_of(code).index(number)]


def test_every_call_is_recorded():
    assert list(RECORDED) == list(half_numbers.FORMS)
    for code, found in RECORDED.items():
        assert all(len(found[dtype]) == len(half_numbers.numbers_of(code)) for dtype in DTYPES)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eager(dtype):
    wrong = []
    for code, dtype_of_call, number in half_numbers.calls():
        if dtype_of_call == dtype:
            got = half_numbers.answer(torch, eval(code, half_numbers.scope(torch, dtype, number)))
            if got != recorded(code, dtype, number):
                wrong.append((code, number))
    assert not wrong


# What compiled functions and scripts compute together, one call each.
TOGETHER = ["x + n", "x - n", "x * n", "x / n", "x // n", "n + x", "n * x", "n / x", "x < n", "x * z", "x / z", "z * x",
            "z / x", "s * n", "s / n", "torch.div(x, n, rounding_mode='trunc')", "torch.lerp(x, x.flip(0), n)",
            "torch.float_power(x, n).float()"]  # fmt: skip
SOURCE = f"def together(x, s, z, n: float):\n    return ({', '.join(TOGETHER)})\n"


def together(folder):
    """The function, of a file: scripts are compiled from their source."""
    path = folder / "together.py"
    path.write_text(SOURCE)
    scope = {"torch": torch, "__name__": "together"}
    exec(compile(SOURCE, str(path), "exec"), scope)
    return scope["together"]


def check(function, numbers=NUMBERS):
    wrong = []
    for dtype in DTYPES:
        for number in numbers:
            values = half_numbers.scope(torch, dtype, number)
            if isinstance(values["n"], int):
                continue
            results = function(values["x"], values["s"], values["z"], values["n"])
            for code, result in zip(TOGETHER, results):
                if half_numbers.answer(torch, result) != recorded(code, dtype, number):
                    wrong.append((code, dtype, number))
    assert not wrong


def test_compiled(tmp_path):
    check(torch.compile(together(tmp_path), fullgraph=True))


def test_compiled_for_each_number(tmp_path):
    """A number that is a constant of the graph."""
    for number in NUMBERS[:3]:
        check(torch.compile(together(tmp_path), fullgraph=True, dynamic=False), [number])


def test_interpreted(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_INTERPRET", "1")
    check(torch.compile(together(tmp_path), fullgraph=True))


def test_scripted(tmp_path):
    check(torch.jit.script(together(tmp_path)))


def test_traced(tmp_path):
    function = together(tmp_path)
    for dtype in DTYPES:
        for number in NUMBERS[:4]:
            values = half_numbers.scope(torch, dtype, number)
            n = values["n"]
            operands = values["x"], values["s"], values["z"]
            traced = torch.jit.trace(lambda x, s, z, n=n: function(x, s, z, n), operands)
            results = [half_numbers.answer(torch, result) for result in traced(*operands)]
            assert results == [recorded(code, dtype, number) for code in TOGETHER]


def test_both_sides_of_what_16_bits_hold():
    """A number that 16 bits hold is computed by other kernels: with the same results as in float32."""
    for dtype, least in ((torch.float16, 2.0**-11), (torch.bfloat16, 2.0**-8)):
        x = torch.arange(1, 1000).to(dtype)
        for number in (1 + 2 * least, 1 + least, 1 + 3 * least, -3.0, 65504.0, 65520.0):
            expected = [(x.float() * number).to(dtype), (x.float() / number).to(dtype)]
            assert torch.equal(x * number, expected[0]) and torch.equal(x / number, expected[1])
            y = x.clone()
            y *= number
            assert torch.equal(y, expected[0])


@pytest.mark.parametrize("size", [1, 47, 48, 511, 513, 40000])
def test_layouts(size):
    x = torch.arange(6 * size).reshape(6, size).to(torch.bfloat16) / 8
    for view in (x, x.t(), x[::2], x[:, ::3], x[:1].expand(5, size), x.flip(1), x[:, :0]):
        assert torch.equal(view * 0.1, (view.float() * 0.1).to(torch.bfloat16))
        assert torch.equal(view // 0.3, (view.float() // 0.3).to(torch.bfloat16))
    assert (x.t() * 0.1).stride() == (x.t() * 2).stride()


@pytest.mark.parametrize("number", [70000, -1e6])
def test_alpha_that_16_bits_do_not_hold_is_refused(number):
    x = torch.ones(3, dtype=torch.float16)
    for function in (torch.add, torch.sub, lambda *given, alpha: x.clone().add_(x, alpha=alpha)):
        with pytest.raises(RuntimeError, match="cannot be converted to type c10::Half without overflow"):
            function(x, x, alpha=number)


def test_numpy_rounds_the_number_first():
    x = np.arange(1, 400).astype(np.float16)
    assert np.array_equal(weft.compile(lambda x: x * 0.1)(x), x * 0.1)
    assert not np.array_equal(x * 0.1, (torch.tensor(x) * 0.1).numpy())
