"""torch._C's names that programs use: PyTorch's functions and classes of C++, found here under torch."""

import importlib

import weft
from weft import device, jit

from . import _absent

__path__ = []  # torch._C._nn is made by the table

_absent_name = _absent.names(__name__)


def _get_accelerator(check=False):
    """The device that computes: the CPU."""
    return device("cpu")


def _are_functorch_transforms_active():
    """False: torch.vmap and its like call operators of batches, and no mode is on."""
    return False


def _get_tracing_state():
    """What is true while weft.jit.trace records, and None else."""
    return jit.is_tracing() or None


def _is_tracing():
    """Does weft.jit.trace record?"""
    return jit.is_tracing()


def _log_api_usage_once(event):
    """Nothing: no use is counted."""


_TensorMeta = type(weft.Tensor)  # of which programs ask whether a class is a tensor's


def __getattr__(name):
    if name in ("DisableTorchFunctionSubclass", "DisableTorchFunction"):
        return getattr(importlib.import_module("weft.torch._overriding"), name)
    if name == "_disabled_torch_function_impl":
        return importlib.import_module("weft.torch._overriding").disabled_torch_function_impl
    if name in ("DispatchKey", "DispatchKeySet"):
        return getattr(importlib.import_module("weft.torch._dispatch_keys"), name)
    if not name.startswith("__"):
        value = getattr(importlib.import_module("weft.torch"), name, None)
        if value is not None:
            return value
    return _absent_name(name)
