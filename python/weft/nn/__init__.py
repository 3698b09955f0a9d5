"""Neural networks: PyTorch's modules, and its functions in `weft.nn.functional`, over weft's operators."""

import importlib as _importlib

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _modules
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs", "functional", "init", "modules",
           "parameter", "utils", *_modules]  # fmt: skip

_LAZY = ("attention", "common_types", "grad", "parallel")


def factory_kwargs(kwargs):
    """device, dtype and memory_format of the arguments of a layer, for the tensors it makes."""
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    unknown = set(kwargs) - known - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in known & set(kwargs):
        if key in result:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        result[key] = kwargs[key]
    return result


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _importlib.import_module(f"{__name__}.{name}")
