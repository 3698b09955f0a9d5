"""Quantized tensors, torch.ao's modules and quantized archives beside PyTorch's answers, to the bit where the arithmetic is
FBGEMM's: quantized_calls.py has the calls, and records them."""

import base64
import copy
import io
import json
import zipfile

import pytest
import quantized_calls
import weft
import weft.torch as torch
from kept_values import array
from kept_values import compare as compare_values

ANSWERS = json.loads(quantized_calls.ANSWERS.read_text())
# Numbers in float32 whose sums are added in another order, or whose functions differ in the last place: half their steps of
# integers may fall to the other side, which counts, too.
FLOATS = {"rtol": 1e-5, "atol": 1e-6}
OF_FUNCTIONS = {
    "activations",
    "norms",
    "recurrent_modules",
    "lstm scripted",
    "half scripted",
    "dynamic_module",
    "observers",
    "static_module",
    "whole_graphs",
    "parts_of_graphs",
}


def compare(name, found, expected, where):
    compare_values(torch, found, expected, where, FLOATS if name in OF_FUNCTIONS else None)


@pytest.mark.parametrize("name", quantized_calls.CASES)
def test_calls(name):
    compare(name, quantized_calls.CASES[name](torch), ANSWERS["calls"][name], name)


def given(answer):
    return [weft.from_numpy(array(each).copy()) for each in answer["inputs"]]


@pytest.mark.parametrize("name", ANSWERS["archives"])
def test_archives(name):
    answer = ANSWERS["archives"][name]
    module = weft.jit.load(io.BytesIO(base64.b64decode(answer["archive"])))
    for _ in range(3):  # interpreted, then compiled where it can be
        compare(name, module(*given(answer)), answer["result"], name)


@pytest.mark.parametrize(
    "name", ["dynamic scripted", "static traced", "lstm scripted", "embedding of four bits"]
)
def test_saved_again(name):
    """What weft saves of a quantized archive, it loads."""
    answer = ANSWERS["archives"][name]
    module = weft.jit.load(io.BytesIO(base64.b64decode(answer["archive"])))
    buffer = io.BytesIO()
    weft.jit.save(module, buffer)
    buffer.seek(0)
    compare(name, weft.jit.load(buffer)(*given(answer)), answer["result"], name)


def test_state_dicts():
    """Of one model, saved and loaded into another."""
    model, other = (quantized_calls.statically_quantized(torch) for _ in range(2))
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    state = torch.load(buffer)
    assert state["conv.weight"].is_quantized
    other.load_state_dict(state)
    x = quantized_calls.numbers(torch, 1, 1, 3, 8, 8)
    assert torch.equal(model(x), other(x))


def test_copies():
    """Of modules with packed weights; of LSTM, too."""
    model, x = quantized_calls.statically_quantized(torch), quantized_calls.numbers(torch, 1, 1, 3, 8, 8)
    assert torch.equal(copy.deepcopy(model)(x), model(x))
    lstm = torch.ao.quantization.quantize_dynamic(torch.nn.ModuleList([torch.nn.LSTM(3, 4)]))[0]
    x = quantized_calls.numbers(torch, 2, 5, 1, 3)
    assert torch.equal(copy.deepcopy(lstm)(x)[0], lstm(x)[0])


@pytest.mark.parametrize("transform", [weft.jit.freeze, weft.jit.optimize_for_inference])
@pytest.mark.parametrize("name", ["static scripted", "static traced", "lstm scripted", "fx scripted"])
def test_frozen_archives(name, transform):
    answer = ANSWERS["archives"][name]
    module = weft.jit.load(io.BytesIO(base64.b64decode(answer["archive"])))
    module = transform(module.eval())
    for _ in range(3):
        compare(name, module(*given(answer)), answer["result"], name)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda q: q + q, "add: not implemented for quantized tensors"),
        (lambda q: torch.exp(q), "exp: not implemented for quantized tensors"),
        (lambda q: q.to(torch.float32), "please use dequantize"),
        (lambda q: q.dequantize().q_scale(), "expected a quantized tensor"),
        (lambda q: torch.quantize_per_tensor(q.dequantize(), 0.1, 300, torch.quint8), "zero_point 300"),
        (lambda q: torch.ao.quantization.prepare_qat_fx(None, None, None), "does not train"),
        (lambda q: torch.ao.quantization.convert_fx(torch.nn.Identity()), "that prepare_fx has prepared"),
        (lambda q: torch.ao.quantization.prepare_fx(None, None, None, backend_config=1), "backend_config"),
    ],
)
def test_refusals(call, words):
    with pytest.raises((NotImplementedError, RuntimeError, ValueError), match=words):
        call(quantized_calls.quantized(torch, 1, 3, 3))


def test_unknown_operators_are_named():
    source = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
    source += "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return ops.quantized.conv2d_add_relu(x, x, x, 1.0, 0)\n"
    old = base64.b64decode(ANSWERS["archives"]["dynamic scripted"]["archive"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(old)) as entries, zipfile.ZipFile(buffer, "w") as made:
        root = entries.namelist()[0].split("/")[0]
        made.writestr(f"{root}/data.pkl", b"\x80\x02c__torch__\nM\n)\x81}X\x08\x00\x00\x00training\x89sb.")
        made.writestr(f"{root}/constants.pkl", b"\x80\x02).")
        made.writestr(f"{root}/code/__torch__.py", source)
        made.writestr(f"{root}/version", "3\n")
    buffer.seek(0)
    module = weft.jit.load(buffer)
    with pytest.raises(Exception, match="quantized.*conv2d_add_relu"):
        module(torch.zeros(1))


def test_whole_modules():
    """Pickled with their packed weights; PyTorch's own files have them so."""
    torch.manual_seed(0)
    linear = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LSTM(4, 3))
    quantized = torch.ao.quantization.quantize_dynamic(linear, {torch.nn.Linear, torch.nn.LSTM})
    convolution = torch.ao.nn.quantized.Conv2d(3, 2, 3, padding=1)
    weight = torch.quantize_per_tensor(torch.randn(2, 3, 3, 3), 0.05, 0, torch.qint8)
    convolution.set_weight_bias(weight, torch.tensor([0.5, -1.0]))
    convolution.scale, convolution.zero_point = 0.1, 3
    x = torch.quantize_per_tensor(torch.randn(1, 3, 5, 5), 0.05, 128, torch.quint8)
    for module, given in ((quantized, torch.randn(5, 1, 4)), (convolution.eval(), x)):
        file = io.BytesIO()
        torch.save(module, file)
        assert b"torch\nScriptObject" in file.getvalue() or module is convolution
        file.seek(0)
        again = torch.load(file, weights_only=False)
        first, second = module(given), again(given)
        first, second = (first[0], second[0]) if isinstance(first, tuple) else (first, second)
        equal = (
            torch.equal
            if first.dtype == torch.float32
            else lambda a, b: torch.equal(a.int_repr(), b.int_repr())
        )
        assert equal(first, second) and type(again) is type(module)
    assert (again.scale, again.zero_point, again.training, again.padding) == (0.1, 3, False, (1, 1))
    with pytest.raises(ValueError, match="no class"):
        weft._C._jit.packed_object("__torch__.torch.classes.quantized.Other", (1,))
