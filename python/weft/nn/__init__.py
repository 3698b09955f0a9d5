"""Neural networks: PyTorch's modules, and its functions in `weft.nn.functional`, over weft's operators."""

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _modules
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules", "parameter",
           "utils", *_modules]  # fmt: skip
