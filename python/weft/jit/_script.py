"""weft.jit.script: functions, classes and modules of Python compiled."""

import functools
import inspect
import sys
import types

import weft

from . import _marks
from ._definitions import compile_overloads, compiling, type_of_class
from ._module import ScriptModule
from ._recursive import script_module
from ._values import ScriptFunction


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compiles Python source to TorchScript.

    obj: a function, which gives a ScriptFunction; a weft.nn.Module, which gives a ScriptModule with compiled forward()
    and @weft.jit.export methods, sharing parameters and buffers with `obj`; or a class (also NamedTuple, Enum,
    @weft.jit.interface), which is returned as it is and may then be used in scripts. What it calls is compiled too.
    Parameters without an annotation are tensors; results need none. Names of functions, classes and constants are
    looked up as Python does; `weft.`, `weft.nn.functional.` and `math.` functions and methods of Tensor become
    operators.
    Raises: weft.jit.Error (also a ValueError or TypeError) naming file, line and column of what TorchScript does not
    have or whose types do not fit.
    """
    if isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    frame = sys._getframe(1 + _frames_up)
    outer = {**frame.f_globals, **frame.f_locals}
    if isinstance(obj, weft.nn.Module):
        with compiling(outer):
            return script_module(obj)
    if isinstance(obj, type):
        if issubclass(obj, weft.nn.Module) and not _marks.is_interface(obj):
            raise TypeError(f"script: '{obj.__name__}' is a class of modules: script an object of it")
        with compiling(outer):
            if type_of_class(obj) is None:
                raise TypeError(f"script: the class '{obj.__name__}' cannot be compiled")
        return obj
    obj = getattr(obj, "__original_fn", obj)
    if inspect.ismethod(obj):
        raise TypeError(f"script: '{obj.__qualname__}' is a method: script its object")
    if not isinstance(obj, types.FunctionType):
        raise TypeError(f"script: expected a function, a class or a weft.nn.Module, got {type(obj).__name__}")
    with compiling(outer):
        compiled = compile_overloads(obj)
    if len(compiled) == 1:
        return compiled[0]
    return functools.wraps(obj)(_Overloaded(compiled))


class _Overloaded:
    """The signatures of a function with overloads: a call takes the first that fits."""

    def __init__(self, functions):
        self.functions = functions

    def __call__(self, *args, **kwargs):
        reasons = []
        for function in self.functions:
            try:
                function._c.check_arguments(*args, **kwargs)
            except TypeError as error:
                reasons.append(f"{function.schema}: {error}")
            else:
                return function(*args, **kwargs)
        raise TypeError("no overload fits:\n  " + "\n  ".join(reasons))
