"""Quantization in eager mode: prepare() puts observers into a model, convert() quantized modules in place of what they saw."""

import copy
import warnings

import weft.torch as torch
from weft import nn
from weft.nn.utils import parametrize

from ..nn import intrinsic as nni
from ..nn import quantized as nnq
from ..nn.intrinsic import quantized as nniq
from ..nn.intrinsic.quantized import dynamic as nniqd
from ..nn.quantized import dynamic as nnqd
from . import qconfig as _qconfigs
from .observer import PlaceholderObserver, _is_activation_post_process
from .stubs import DeQuantStub, QuantStub, QuantWrapper

_SAME_NAME = """
    BatchNorm2d BatchNorm3d Dropout Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d ELU Embedding
    EmbeddingBag GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm LeakyReLU Linear ReLU6 PReLU
""".split()
_STATIC = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    **{getattr(nn, name): getattr(nnq, name) for name in _SAME_NAME},
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnq.Linear,
    nnq.FloatFunctional: nnq.QFunctional,
    **{
        getattr(nni, name): getattr(nniq, name)
        for name in ("BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU")
    },
}
_DYNAMIC = {
    **{
        getattr(nn, name): getattr(nnqd, name)
        for name in ("GRUCell", "Linear", "LSTM", "GRU", "LSTMCell", "RNNCell")
    },
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnqd.Linear,
    nni.LinearReLU: nniqd.LinearReLU,
    nn.EmbeddingBag: nnq.EmbeddingBag,
    nn.Embedding: nnq.Embedding,
}


def get_default_static_quant_module_mappings():
    """Classes of modules to their quantized classes, for static quantization."""
    return dict(_STATIC)


def get_default_dynamic_quant_module_mappings():
    """The same for dynamic quantization."""
    return _DYNAMIC


def get_default_qconfig_propagation_list():
    """Classes of modules that prepare() puts observers on."""
    return {*_STATIC, *_DYNAMIC, nn.Sequential}


def _kind(module):
    return parametrize.type_before_parametrizations(module)


# ---- observers in their places ---------------------------------------------------------------------------------------


def propagate_qconfig_(module, qconfig_dict=None, prepare_custom_config_dict=None):
    """Gives every module below the qconfig of its class or name, or that of the module around it."""
    _propagate(module, qconfig_dict or {}, None, "")


def _propagate(module, given, outer, prefix):
    qconfig = given.get(prefix, given.get(_kind(module), outer))
    qconfig = getattr(module, "qconfig", qconfig)
    _qconfigs._assert_valid_qconfig(qconfig, module)
    module.qconfig = qconfig
    for name, child in module.named_children():
        _propagate(child, given, qconfig, f"{prefix}.{name}" if prefix else name)


def _observer_forward_hook(self, input, output):
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self, input):
    return self.activation_post_process(input[0])


def _is_memoryless(qconfig):
    """Does the observer of results see nothing, but says that inputs are quantized as they come?"""
    return isinstance(qconfig.activation(), PlaceholderObserver) and qconfig.activation().is_dynamic


def _observe(module):
    qconfig = getattr(module, "qconfig", None)
    if qconfig is None or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", qconfig.activation())
    if _is_memoryless(qconfig):
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _add_observers(module, kinds, others):
    for _, child in module.named_children():
        kind = _kind(child)
        if kind is nn.Dropout:
            continue
        if issubclass(kind, (nnq.FloatFunctional, nnq.QFunctional)):
            if getattr(child, "qconfig", None) is not None:
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, nni._FusedModule) or (others is not None and kind in others):
            _observe(child)
        else:
            _add_observers(child, kinds, others)
    is_leaf = not any(name != "parametrizations" for name in module._modules)
    if is_leaf and not isinstance(module, nn.Sequential) and _kind(module) in kinds:
        _observe(module)


def add_quant_dequant(module):
    """The module with its leaves that have a qconfig in QuantWrappers."""
    if not module._modules and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def prepare(
    model, inplace=False, allow_list=None, observer_non_leaf_module_list=None, prepare_custom_config_dict=None
):
    """The model with an observer on each module that has a qconfig; then call it with typical inputs."""
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(each, "qconfig", None) for each in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` "
            "or by assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    kinds = get_default_qconfig_propagation_list() if allow_list is None else allow_list
    _add_observers(model, kinds, observer_non_leaf_module_list)
    return model


def prepare_qat(model, mapping=None, inplace=False):
    raise NotImplementedError("torch.ao.quantization.prepare_qat: weft runs models and does not train them")


def quantize_qat(model, run_fn, run_args, inplace=False):
    raise NotImplementedError("torch.ao.quantization.quantize_qat: weft runs models and does not train them")


# ---- quantized modules in their places -------------------------------------------------------------------------------


def swap_module(mod, mapping, custom_module_class_mapping=None, use_precomputed_fake_quant=False):
    """The quantized module of one with a qconfig; others as they are."""
    if getattr(mod, "qconfig", None) is None:
        return mod
    if _kind(mod) in (custom_module_class_mapping or {}):
        made = custom_module_class_mapping[_kind(mod)].from_observed(mod)
    elif _kind(mod) in mapping:
        made = mapping[_kind(mod)].from_float(mod)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    return made


def _convert(module, mapping, custom):
    swapped = {}
    for name, child in module.named_children():
        if not isinstance(child, nni._FusedModule) and _kind(child) not in custom:
            _convert(child, mapping, custom)
        swapped[name] = swap_module(child, mapping, custom)
    module._modules.update(swapped)


def _remove_qconfig(module):
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    if _is_activation_post_process(getattr(module, "activation_post_process", None)):
        del module.activation_post_process
    for hooks in (module._forward_pre_hooks, module._forward_hooks):
        for key in [
            key for key, hook in hooks.items() if hook in (_observer_forward_hook, _observer_forward_pre_hook)
        ]:
            del hooks[key]


def convert(
    module,
    mapping=None,
    inplace=False,
    remove_qconfig=True,
    is_reference=False,
    convert_custom_config_dict=None,
    use_precomputed_fake_quant=False,
):
    """The prepared model with quantized modules in place of those that have a qconfig."""
    if is_reference:
        raise NotImplementedError(
            "torch.ao.quantization.convert: weft has no reference modules (is_reference=True)"
        )
    module = module if inplace else copy.deepcopy(module)
    custom = (convert_custom_config_dict or {}).get("observed_to_quantized_custom_module_class", {})
    _convert(module, get_default_static_quant_module_mappings() if mapping is None else mapping, custom)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def quantize(model, run_fn, run_args, mapping=None, inplace=False):
    """prepare(), run_fn(model, *run_args), convert()."""
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


_RECURRENT = (nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
_DYNAMIC_DEFAULTS = {
    torch.qint8: ((nn.Linear, *_RECURRENT), _qconfigs.default_dynamic_qconfig),
    torch.float16: ((nn.Linear, *_RECURRENT), _qconfigs.float16_dynamic_qconfig),
    torch.quint8: ((nn.EmbeddingBag, nn.Embedding), _qconfigs.float_qparams_weight_only_qconfig),
    torch.quint4x2: ((nn.EmbeddingBag,), _qconfigs.float_qparams_weight_only_qconfig_4bit),
}


def quantize_dynamic(model, qconfig_spec=None, dtype=torch.qint8, mapping=None, inplace=False):
    """The model with weights of integers (or float16) in its linear and recurrent layers, or in those that qconfig_spec
    says: a set of classes and names, or a dict from these to their qconfigs."""
    if not isinstance(qconfig_spec, dict):
        if dtype not in _DYNAMIC_DEFAULTS:
            if qconfig_spec is None:
                raise ValueError(
                    f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
                )
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        kinds, qconfig = _DYNAMIC_DEFAULTS[dtype]
        qconfig_spec = dict.fromkeys(kinds if qconfig_spec is None else qconfig_spec, qconfig)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    return convert(model, _DYNAMIC if mapping is None else mapping, inplace=True)
