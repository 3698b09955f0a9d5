"""How weights become integers, and what quantized modules with packed weights have in common."""

import weft
import weft.torch as torch
from weft import nn


def _is_clamped(observer):
    """Does the observer leave out integers that the dtype has?"""
    full = {torch.qint8: (-128, 127), torch.quint8: (0, 255)}.get(observer.dtype)
    return full is not None and (observer.quant_min, observer.quant_max) != full


def quantize_weight(weight, observer):
    """The weight by the scale and zero point that its observer has chosen."""
    scale, zero_point = observer.calculate_qparams()
    weight = weight.detach()
    if observer.qscheme in (torch.per_tensor_symmetric, torch.per_tensor_affine):
        quantized = torch.quantize_per_tensor(weight, float(scale), int(zero_point), torch.qint8)
        if _is_clamped(observer):
            integers = weft.clip(quantized.int_repr(), observer.quant_min, observer.quant_max)
            quantized = torch._make_per_tensor_quantized_tensor(integers, float(scale), int(zero_point))
        return quantized
    is_float = observer.qscheme == torch.per_channel_affine_float_qparams
    if is_float:
        scale, zero_point, dtype = scale.to(weft.float32), zero_point.to(weft.float32), observer.dtype
    else:
        scale, zero_point, dtype = scale.to(weft.float64), zero_point.to(weft.int64), torch.qint8
    quantized = torch.quantize_per_channel(weight, scale, zero_point, observer.ch_axis, dtype)
    if _is_clamped(observer):
        integers = weft.clip(quantized.int_repr(), observer.quant_min, observer.quant_max)
        quantized = torch._make_per_channel_quantized_tensor(integers, scale, zero_point, observer.ch_axis)
    return quantized


_quantize_weight = quantize_weight


def observed_weight(module):
    """The weight of a module with a qconfig, quantized by the observer that it names."""
    observer = module.qconfig.weight()
    observer(module.weight)
    return quantize_weight(module.weight.to(weft.float32), observer), observer


def output_scale(module):
    """The scale and zero point that the observer of a module's results has chosen."""
    scale, zero_point = module.activation_post_process.calculate_qparams()
    return float(scale), int(zero_point)


def check_float(cls, module):
    """AssertionError where the quantized class is not made of modules like this one."""
    made_of = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, tuple) else (cls._FLOAT_MODULE,)
    if type(module) not in made_of:
        names = ", ".join(each.__name__ for each in made_of)
        raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {names}, but got: {type(module)}")
    if not hasattr(module, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")


class ScaledModule(nn.Module):
    """A module whose results have a scale and a zero point, which its state has as tensors."""

    def __init__(self):
        super().__init__()
        self.scale, self.zero_point = 1.0, 0

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = weft.tensor(self.scale)
        destination[prefix + "zero_point"] = weft.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *args):
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)


class WeightedQuantizedModule(ScaledModule):
    """A quantized module with a weight."""

    @classmethod
    def from_reference(cls, ref_module, output_scale, output_zero_point):
        raise NotImplementedError(
            f"{cls.__name__}.from_reference: weft has no reference modules; use from_float"
        )


def without_packed(module, packed):
    """The module's text without its children of packed weights."""
    children = [
        f"({name}): {child!r}" for name, child in module._modules.items() if not isinstance(child, packed)
    ]
    extra = module.extra_repr()
    if not children:
        return f"{module._get_name()}({extra})"
    lines = [*extra.split("\n"), *children] if extra else children
    return f"{module._get_name()}(\n  " + "\n  ".join(line.replace("\n", "\n  ") for line in lines) + "\n)"
