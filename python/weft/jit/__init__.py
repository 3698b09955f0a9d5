"""TorchScript without PyTorch: archives that `torch.jit.save` wrote are loaded, run, frozen and saved.

    module = weft.jit.load("model.pt")
    y = module(x)
    weft.jit.save(weft.jit.freeze(module.eval()), "frozen.pt")

Scripts run without Python's interpreter lock, from any number of threads at once.
"""

import typing as _typing

from ._archive import freeze, load, optimize_for_inference, optimized_execution, save
from ._marks import (
    Attribute,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    script_method,
    unused,
)
from ._marks import (
    _overload as _overload,
)
from ._marks import (
    _overload_method as _overload_method,
)
from ._module import ScriptMethod, ScriptModule, ScriptObject
from ._recursive import script_module as _script_module  # noqa: F401  (sets ScriptModule's compiler)
from ._script import script
from ._trace import TracerWarning, TracingCheckError, is_tracing, script_if_tracing, trace, trace_module
from ._types import isinstance_
from ._values import Error, Future, ScriptFunction, fork, wait

Final = _typing.Final
isinstance = isinstance_

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptMethod",
    "ScriptModule",
    "ScriptObject",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
