"""TorchScript without PyTorch: archives that `torch.jit.save` wrote are loaded, run, frozen and saved.

    module = weft.jit.load("model.pt")
    y = module(x)
    weft.jit.save(weft.jit.freeze(module.eval()), "frozen.pt")

Scripts run without Python's interpreter lock, from any number of threads at once.
"""

from ._archive import freeze, load, optimize_for_inference, optimized_execution, save
from ._module import ScriptMethod, ScriptModule, ScriptObject
from ._trace import TracerWarning, TracingCheckError, is_tracing, script_if_tracing, trace, trace_module
from ._values import Error, Future, ScriptFunction, fork, wait

__all__ = [
    "Error",
    "Future",
    "ScriptFunction",
    "ScriptMethod",
    "ScriptModule",
    "ScriptObject",
    "TracerWarning",
    "TracingCheckError",
    "fork",
    "freeze",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script_if_tracing",
    "trace",
    "trace_module",
    "wait",
]
