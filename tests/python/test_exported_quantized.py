"""weft.quantization.quantize_ of exported programs: results are those of weights that are what their numbers stand for."""

import json

import numpy as np
import pytest
import weft
from test_exported import FOLDER, calls, compare, needs_data
from weft._C import _export
from weft.quantization import (
    int4_weight_only,
    int8_dynamic_activation_int8_weight,
    int8_weight_only,
    quantize_,
)

# With `linear`, with `addmm` of a turned weight, of several batches, in bfloat16.
NAMES = [
    "mlp",
    "mlp_batch",
    "encoder",
    "cnn_core",
    "hf_bert",
    "hf_llama",
    "hf_t5",
    "swin_like",
    "kv_cache",
    "bf16_linear",
]


def load(name):
    return weft.export.load(FOLDER / f"{name}.pt2").module()


def layers(module):
    names = [name for name, _ in module.named_buffers()]
    return [name.removesuffix("quantized") for name in names if name.endswith("quantized")]


def with_rounded_weights(name, scheme, group_size):
    """The program quantized, and with weights that are what the quantized numbers stand for."""
    quantized, plain = load(name), load(name)
    quantize_(quantized, scheme)
    values, state = dict(quantized.named_buffers()), dict(plain.named_parameters())
    assert layers(quantized)
    for layer in layers(quantized):
        numbers, scales = values[f"{layer}quantized"], values[f"{layer}scales"]
        wide = (
            weft.dequantize_int4(numbers, scales, group_size)
            if group_size
            else weft.dequantize_int8(numbers, scales)
        )
        weight = state[f"{layer}weight"]
        weight.copy_(wide[:, : weight.shape[1]].to(weight.dtype))
    return quantized, plain


@needs_data
@pytest.mark.parametrize(
    "scheme, group_size", [(int8_weight_only(), 0), (int4_weight_only(32), 32)], ids=["int8", "int4"]
)
@pytest.mark.parametrize("name", NAMES)
def test_weights(name, scheme, group_size):
    quantized, rounded = with_rounded_weights(name, scheme, group_size)
    bound = 2e-2 if name.startswith("bf16") else 2e-3
    for module in (
        quantized,
        quantized,
        quantized,
        quantized.optimize_for_inference(),
    ):  # interpreted, then compiled
        for number, call in calls(name):
            expected = rounded(*call["args"], **call["kwargs"])
            found = module(*call["args"], **call["kwargs"])
            compare(found, expected, f"{name}, call {number}", bound)


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_dynamic(name):
    quantized = load(name)
    quantize_(quantized, int8_dynamic_activation_int8_weight())
    for _ in range(1 if name == "kv_cache" else 3):  # (which goes on from call to call)
        for number, call in calls(name):
            found = quantized(*call["args"], **call["kwargs"])
            compare(found, call["out"], f"{name}, call {number}", 0.05)


@needs_data
def test_one_layer_is_the_operator():
    module = load("dropout_eval")
    state = {name: value.clone() for name, value in module.named_parameters()}
    quantize_(module, int8_dynamic_activation_int8_weight())
    (layer,) = layers(module)
    numbers, scales = weft.quantize_int8(state[f"{layer}weight"])
    buffers = dict(module.named_buffers())
    assert buffers[f"{layer}quantized"].equal(numbers) and buffers[f"{layer}scales"].equal(scales)
    assert [name for name, _ in module.named_parameters()] == [f"{layer}bias"]
    for number, call in calls("dropout_eval"):
        expected = weft.linear_dynamic_int8(call["args"][0], numbers, scales, state[f"{layer}bias"])
        compare(module(*call["args"]), expected, f"call {number}", 1e-6)


@needs_data
def test_what_stays():
    module = load("mlp")
    seen = []
    quantize_(
        module, int8_weight_only(), lambda layer, name: seen.append((type(layer), layer.in_features, name))
    )
    assert len(seen) >= 2 and {each[0] for each in seen} == {weft.nn.Linear}
    assert not layers(module)
    quantize_(module, int8_weight_only())
    there = layers(module)
    assert len(there) == len(seen)
    quantize_(module, int8_weight_only())  # nothing is left
    assert layers(module) == there
    with pytest.raises(TypeError, match="expected a configuration such as"):
        quantize_(module, "int8")
    plain = load("f64")
    with pytest.raises(TypeError, match="expected weight of float32, float16 or bfloat16"):
        quantize_(plain, int8_weight_only())
    for number, call in calls("f64"):  # as it was
        compare(plain(*call["args"], **call["kwargs"]), call["out"], f"call {number}")


@needs_data
def test_products_with_factors():
    """They stay, which is said; the products beside them are layers."""
    program = load("mlp")._program
    source = json.loads(program.text())
    products = [each for each in source["graph_module"]["graph"]["nodes"] if "linear" in each["target"]]
    given = {each["name"]: each for each in products[0]["inputs"]}
    graph = source["graph_module"]["graph"]
    weight = given["weight"]["arg"]["as_tensor"]["name"]
    graph["tensor_values"]["turned"] = dict(graph["tensor_values"][weight])
    for key in ("sizes", "strides"):
        graph["tensor_values"]["turned"][key] = graph["tensor_values"][weight][key][::-1]
    turn = {
        "target": "torch.ops.aten.t.default",
        "inputs": [given["weight"] | {"name": "self"}],
        "outputs": [{"as_tensor": {"name": "turned"}}],
        "metadata": {},
    }
    graph["nodes"].insert(graph["nodes"].index(products[0]), turn)
    products[0]["target"] = "torch.ops.aten.addmm.default"
    products[0]["inputs"] = [
        given["bias"] | {"name": "self"},
        given["input"] | {"name": "mat1"},
        {"name": "mat2", "arg": {"as_tensor": {"name": "turned"}}, "kind": 1},
        {"name": "beta", "arg": {"as_int": 2}, "kind": 2},
    ]
    made = _export.make(json.dumps(source), program.weights(), program.constants())
    module = weft.export.ExportedModule(made)
    with pytest.warns(UserWarning, match=r"^quantize_: 1 products with factors \(alpha, beta\) keep"):
        quantize_(module, int8_weight_only())
    assert len(layers(module)) == len(products) - 1


@needs_data
def test_infinite_weights_are_refused():
    module = load("mlp")
    weight = next(value for name, value in module.named_parameters() if name.endswith("weight"))
    weight.copy_(weft.tensor(np.full(tuple(weight.shape), np.inf, np.float32)))
    with pytest.raises(ValueError, match="finite"):
        quantize_(module, int8_weight_only())
