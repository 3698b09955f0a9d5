"""The constants of archives: those that are numbers promote as PyTorch's executor has them promote."""

import io
import json

import constant_dtypes
import numpy as np
import pytest
import script_archives
import weft

RECORDED = json.loads(constant_dtypes.ANSWERS.read_text())


def test_every_operator_is_recorded():
    assert [*RECORDED] == constant_dtypes.NAMES
    assert all([*row] == constant_dtypes.CONSTANTS for row in RECORDED.values())


def differences(name, expected, found):
    """Where PyTorch answers, and weft does otherwise. weft has no lerp of complex numbers."""
    places = [(dtype, shape) for dtype in constant_dtypes.TENSORS for shape in ((), (1,))]
    return {
        place: f"{got}, expected {wanted}"
        for place, wanted, got in zip(places, expected, found, strict=True)
        if wanted != "x" and got != wanted and not (name == "lerp" and wanted in "cz" and got == "x")
    }


@pytest.mark.parametrize("constant", constant_dtypes.CONSTANTS)
@pytest.mark.parametrize("name", constant_dtypes.NAMES)
def test_dtypes(name, constant):
    expected = RECORDED[name][constant]
    assert differences(name, expected, constant_dtypes.answers(weft, constant, name)) == {}


def loaded(body, *constants):
    """A module of one method over x, with arrays as CONSTANTS.c0 and so on."""
    method = ("forward", ["x: Tensor"], "Tensor", body)
    return weft.jit.load(io.BytesIO(script_archives.archive([method], constants, version=10)))


def test_numbers_of_an_archive_stay_numbers_when_it_is_saved_and_frozen():
    module = loaded("return torch.sub(torch.max(x), CONSTANTS.c0)", np.array(80.0))
    again = weft.jit.load(io.BytesIO(module.save_to_buffer()))
    x = weft.tensor([1.0, 2.0]).to(weft.bfloat16)
    for each in (module, again, weft.jit.freeze(again.eval()), weft.jit.optimize_for_inference(again)):
        for _ in range(3):
            assert each(x).dtype == weft.bfloat16 and float(each(x)) == -78
    assert "CONSTANTS.c0" in again.code


def test_integers_wrap_as_numbers_do():
    module = loaded("return torch.add(x, CONSTANTS.c0)", np.array(300, np.int32))
    result = module(weft.tensor(1, dtype=weft.uint8))
    assert result.dtype == weft.uint8 and int(result) == 45


def test_a_constant_that_is_added_to_others_in_a_compiled_stretch():
    body = (
        "y = torch.mul(torch.tanh(x), CONSTANTS.c0)\nreturn torch.sub(torch.exp(torch.max(y)), CONSTANTS.c1)"
    )
    module = loaded(body, np.array(0.5), np.array(2))
    x = np.linspace(-1, 1, 7, dtype=np.float32)
    for _ in range(4):
        result = module(weft.tensor(x))
        assert result.dtype == weft.float32
        np.testing.assert_allclose(float(result), np.exp(np.tanh(x).max() / 2) - 2, rtol=1e-6)


class Scaled(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", weft.tensor(0.1, dtype=weft.float64))

    def forward(self, x):
        return x * self.scale, x * weft.exp(self.scale), x * self.scale.detach(), x * (self.scale + 1)


def test_frozen_buffers_are_numbers():
    """As PyTorch 2.15 has it: what is folded while freezing is a constant like any other."""
    x = weft.ones([], dtype=weft.bfloat16)
    module = weft.jit.script(Scaled().eval())
    frozen = weft.jit.freeze(module)
    for _ in range(3):
        assert [each.dtype for each in module(x)] == [weft.float64] * 4
        assert [each.dtype for each in frozen(x)] == [weft.bfloat16] * 4


# ---- traces of weft's own ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "true_divide"])
def test_tensors_that_a_trace_holds_stay_tensors(name, dtype):
    constant = weft.tensor(3, dtype=getattr(weft, dtype))
    operator = getattr(weft, name)
    for kind in (weft.bfloat16, weft.int32, weft.float32):
        x = weft.tensor(2, dtype=kind)
        expected = operator(x, constant)
        traced = weft.jit.trace(lambda x: operator(x, constant), (x,))
        again = weft.jit.load(io.BytesIO(traced.save_to_buffer()))
        for each in (traced, again):
            for _ in range(3):
                assert each(x).dtype == expected.dtype and float(each(x)) == float(expected)


def test_tensors_that_a_trace_gives_to_functions_stay_tensors():
    @weft.jit.script
    def scaled(x, y):
        return x * y

    constant = weft.tensor(3.0, dtype=weft.float64)
    x = weft.tensor(2, dtype=weft.bfloat16)
    traced = weft.jit.trace(lambda x: scaled(x, constant), (x,))
    again = weft.jit.load(io.BytesIO(traced.save_to_buffer()))
    for each in (traced, again):
        for _ in range(3):
            assert each(x).dtype == weft.float64


def test_numbers_that_a_trace_holds_are_numbers():
    for kind in (weft.bfloat16, weft.float32, weft.int32):
        x = weft.tensor(2, dtype=kind)
        for function in (lambda x: x - 80.0, lambda x: x * 3, lambda x: 2 / x, lambda x: weft.maximum(x, 1)):
            traced = weft.jit.trace(function, (x,))
            for _ in range(3):
                assert traced(x).dtype == function(x).dtype
