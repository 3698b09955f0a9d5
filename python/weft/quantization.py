"""Quantized linear layers in the place of a model's own.

    weft.quantization.quantize_(model, weft.quantization.int8_dynamic_activation_int8_weight())

int8_dynamic_activation_int8_weight: every row of the input has a scale s = max(largest magnitude, 1e-5) / 127 and int8
numbers clamp(round(x / s), -127, 127); every output's weights have a scale w = max(largest magnitude / 127.5, float32's
epsilon) and numbers clamp(round(weight / w), -128, 127); y = (sums of products, exact) * s * w + bias.
int8_weight_only: such weights, and inputs as they are. int4_weight_only: weights of 4 bits by groups of inputs
(weft.quantize_int4).

A quantized model is saved and loaded by its state dict (into a model that quantize_ was called on), compiled, scripted and
traced as any other.
"""

from weft import nn
from weft.export import ExportedModule
from weft.nn.modules.quantized import DynamicInt8Linear, Int4Linear, Int8Linear
from weft.sparse import SparseInt8Linear, SparseLinear

__all__ = [
    "int4_weight_only",
    "int8_dynamic_activation_int8_weight",
    "int8_weight_only",
    "quantize_",
]


class _Scheme:
    """How a Linear is replaced."""

    def __init__(self, text, make, fits=lambda layer: True, of_sparse=None):
        self._text, self.make, self.fits, self.of_sparse = text, make, fits, of_sparse

    def __repr__(self):
        return self._text


def int8_dynamic_activation_int8_weight():
    return _Scheme(
        "int8_dynamic_activation_int8_weight()",
        lambda layer: DynamicInt8Linear(layer.weight, layer.bias),
        of_sparse=SparseInt8Linear,
    )


def int8_weight_only():
    return _Scheme("int8_weight_only()", lambda layer: Int8Linear(layer.weight, layer.bias))


def int4_weight_only(group_size=128):
    """Layers with an odd number of inputs stay as they are."""
    if group_size not in (32, 64, 128, 256):
        raise ValueError(f"int4_weight_only: expected group_size 32, 64, 128 or 256, got {group_size!r}")
    return _Scheme(
        f"int4_weight_only(group_size={group_size})",
        lambda layer: Int4Linear(layer.weight, layer.bias, group_size),
        lambda layer: layer.in_features % 2 == 0,
    )


def quantize_(model, config, filter_fn=None):
    """Replaces the Linear layers within `model`, in place; the modules that are quantized already stay. Of an exported program's
    module (weft.export), the products with its parameters, but for those within branches and loops: `linear`, and `addmm` and `mm`
    with a turned weight; their numbers and scales are buffers `LAYER.quantized` and `LAYER.scales`.

    config: what one of the functions above gives.
    filter_fn(module, name): which layers, by default every nn.Linear; not subclasses of it. 2:4 sparse layers
    (weft.sparse.sparsify_) become int8 ones by int8_dynamic_activation_int8_weight(), and stay with the others.
    Raises: TypeError for a model that is a Linear itself (nothing could hold the new layer) or no module; ValueError for
    weights that are not finite.
    """
    is_program = isinstance(model, ExportedModule)
    if not is_program and not isinstance(model, nn.Module):
        raise TypeError(f"quantize_: expected a Module, got {type(model).__name__}")
    if not isinstance(config, _Scheme):
        raise TypeError(f"quantize_: expected a configuration such as int8_weight_only(), got {config!r}")
    if type(model) is nn.Linear:
        raise TypeError("quantize_: the model is a Linear itself; put it into a Sequential")
    wanted = filter_fn or (lambda module, name: True)
    if is_program:
        return model._weft_quantize(config, wanted)
    replaced = {}  # layers that stand in several places are replaced by one
    for name, module in list(model.named_modules()):
        for child_name, child in list(module._modules.items()):
            full = f"{name}.{child_name}" if name else child_name
            make = config.of_sparse if type(child) is SparseLinear else config.make
            if make is None or type(child) not in (nn.Linear, SparseLinear):
                continue
            if not config.fits(child) or not wanted(child, full):
                continue
            if child not in replaced:
                replaced[child] = make(child).train(child.training)
            setattr(module, child_name, replaced[child])
