"""torch.ao.quantization in eager mode, for inference."""

from ... import _absent
from . import observer, qconfig  # noqa: F401
from .fuse_modules import fuse_known_modules, fuse_modules, fuse_modules_qat  # noqa: F401
from .observer import *  # noqa: F403
from .observer import default_float_qparams_observer_4bit, get_observer_state_dict  # noqa: F401
from .qconfig import *  # noqa: F403
from .qconfig_mapping import QConfigMapping, get_default_qconfig_mapping  # noqa: F401
from .quantize import (  # noqa: F401
    add_quant_dequant,
    convert,
    get_default_dynamic_quant_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    prepare,
    prepare_qat,
    propagate_qconfig_,
    quantize,
    quantize_dynamic,
    quantize_qat,
    swap_module,
)
from .stubs import DeQuantStub, QuantStub, QuantWrapper  # noqa: F401


def default_eval_fn(model, calib_data):
    """Calls the model with every input."""
    for data, _ in calib_data:
        model(data)


_find = _absent.names(__name__)
_GRAPHS = ("prepare_qat_fx", "convert_to_reference_fx")
_LATER = ("prepare_fx", "convert_fx", "fuse_fx")  # which need torch.fx


def _graph_mode(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"torch.ao.quantization.{name}: weft runs models and does not train them, and has no "
            "reference modules; prepare_fx and convert_fx make quantized ones"
        )

    refuse.__name__ = name
    return refuse


def __getattr__(name):
    if name in _LATER:
        from . import quantize_fx

        return getattr(quantize_fx, name)
    return _graph_mode(name) if name in _GRAPHS else _find(name)
