"""How operations of tensors are recorded that have no TorchScript operator of their own name and parameters.

OPERATORS: by the name in the operator table; called with the operator's parameters. METHODS, PROPERTIES, FUNCTIONS: of
Tensor and of weft; called with the original and its arguments. A rule calls builtins (`aten.name`) or other
operators, which are recorded in turn. It may give NotImplemented where the builtin of the operator's name will do.
"""

# Families register their rules where they are imported.
from .._trace_registry import OPERATORS
from . import (  # noqa: F401
    arithmetic,
    attention,
    composed,
    fourier,
    images,
    layers,
    linear_algebra,
    quantized,
    random,
    reductions,
    shapes,
)
from .methods import FUNCTIONS, METHODS, PROPERTIES

__all__ = ["FUNCTIONS", "METHODS", "OPERATORS", "PROPERTIES", "composed"]
