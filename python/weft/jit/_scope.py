"""What names in a script mean: Python looks them up, and describe() tells the compiler what was found.

A description is a tuple of a kind and what belongs to it (python/bindings/jit_script.cc reads it):
    ("constant", value), ("enum", type, member), ("functions", [functions]), ("class", type), ("builtin", "aten::add"),
    ("name", "len"), ("member", "torch.jit", "annotate"), ("module", module), ("python", index), ("unused", name, type),
    ("method", name), ("overloads", [functions]), ("error", message); None: a name that is not Python's.
"""

import builtins
import enum
import math
import types

import weft
from weft._C import _jit

from . import _marks
from ._tracer import is_tracing
from ._values import ScriptFunction, called_from, fork, wait

_MISSING = object()
_CONSTANTS = (bool, int, float, complex, str, type(None), weft.dtype, weft.device)


def _members_of_jit():
    """Functions of weft.jit by their names in torch.jit."""
    from ._types import isinstance_

    table = {getattr(_marks, name): name for name in ("annotate", "is_scripting", "Attribute")}
    table.update({fork: "fork", wait: "wait", isinstance_: "isinstance"})
    return table


_special = {}
# Functions of these modules are Python for weft, and a builtin of their name, where there is one, for TorchScript.
_OPERATORS_IN_PYTHON = ("weft.torch._functions.", "weft._drawing")


def _special_forms():
    if not _special:
        _special.update(
            {function: ("member", "torch.jit", name) for function, name in _members_of_jit().items()}
        )
        _special[weft.nn._types.is_scripting] = ("member", "torch.jit", "is_scripting")
        _special[weft.nn._types.takes_fast_path] = _special[is_tracing] = (
            "member",
            "torch.jit",
            "is_tracing",
        )
    return _special


def _operator(name):
    if _jit.has_builtin(f"aten::{name}"):
        return ("member", "torch", name)
    return ("error", f"'weft.{name}' is not an operator of TorchScript")


def describe(value, place="", name=""):
    """What a value of Python is to the compiler."""
    if isinstance(value, enum.Enum):
        from ._script import type_of_class

        return ("enum", type_of_class(type(value)), value.name)
    if isinstance(value, _CONSTANTS) or _is_constant_tuple(value):
        return ("constant", value)
    if isinstance(value, types.ModuleType):
        return ("name", "math") if value is math else ("module", value)
    if isinstance(value, weft.Operator):
        return _operator(value.__name__)
    if isinstance(value, weft.ops.Builtin):
        return ("builtin", value.name)
    if isinstance(value, weft.library.Operator):
        return ("builtin", value.name())
    if isinstance(value, (weft.ops.Namespace, weft.library.Namespace)):
        return ("module", value)
    if isinstance(value, ScriptFunction):
        return ("functions", [value._c])
    if isinstance(value, type):
        return _describe_class(value, place)
    try:
        special = _special_forms().get(value)
    except TypeError:  # unhashable
        special = None
    if special is not None:
        return special
    if callable(value):
        return _describe_callable(value, place, name)
    return (
        "error",
        f"'{name}' is a Python value of type {type(value).__name__}, which a script cannot use; pass it as an "
        "argument, or make it an attribute of a module",
    )


def _is_constant_tuple(value):
    return type(value) is tuple and all(
        isinstance(item, _CONSTANTS) or _is_constant_tuple(item) for item in value
    )


def _describe_class(cls, place):
    if cls is _marks.Attribute:
        return ("member", "torch.jit", "Attribute")
    if getattr(builtins, cls.__name__, None) is cls:
        return ("name", cls.__name__)
    if cls in (weft.Tensor, weft.nn.Module) or issubclass(cls, BaseException):
        return ("error", f"the class '{cls.__name__}' cannot be called in a script")
    from ._script import type_of_class

    with called_from(place):
        found = type_of_class(cls)
    if found is None:
        return ("error", f"the class '{cls.__name__}' is not one that a script can use")
    return ("class", found)


def _describe_callable(value, place, name):
    value = getattr(value, "__original_fn", value)
    module = getattr(value, "__module__", None)
    own_name = getattr(value, "__name__", name)
    if module == "math":
        return ("member", "math", own_name)
    if module == "builtins" and getattr(builtins, own_name, None) is value:
        return ("name", own_name)
    if isinstance(value, types.FunctionType):
        if (module or "").startswith(_OPERATORS_IN_PYTHON) and _jit.has_builtin(f"aten::{own_name}"):
            return ("member", "torch", own_name)
        return describe_function(_replacement(value), place)
    if module is not None and module.partition(".")[0] == "weft":
        return _operator(own_name)
    return (
        "error",
        f"'{name or own_name}' is a Python callable of type {type(value).__name__}, which a script cannot call",
    )


def _replacement(function):
    """What scripts call in place of a function of weft.nn.functional; the function itself for any other."""
    if not (function.__module__ or "").startswith("weft.nn."):
        return function
    from weft.nn import _scripted

    return _scripted.replacement(function) or getattr(function, "_without_autocast", function)


def describe_function(function, place):
    """A Python function, the name of a builtin, or a list of functions of which a call takes the first that fits."""
    from . import _script

    if isinstance(function, str):
        return ("builtin", function)
    if isinstance(function, (list, tuple)):
        with called_from(place):
            return ("functions", [_script.compile_overloads(one)[0]._c for one in function])
    mark = _marks.mark_of(function)
    if mark is _marks.Mark.UNUSED:
        return ("unused", function.__name__, _script.signature_types(function)[1])
    if mark is _marks.Mark.IGNORE:
        return ("python", _script.python_function(function))
    with called_from(place):
        return ("functions", [compiled._c for compiled in _script.compile_overloads(function)])


class Scope:
    """The names that a function's source sees: of its closure, its module, and of the call of weft.jit.script."""

    def __init__(self, names, outer=None):
        self._names = names  # mappings, innermost first
        self._outer = outer or {}

    @classmethod
    def of_function(cls, function, outer=None):
        closure = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                closure[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                pass
        return cls([closure, function.__globals__], outer)

    @classmethod
    def of_class(cls, python_class, outer=None):
        """The names that the methods of a class see together."""
        names = []
        for value in vars(python_class).values():
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType):
                names += cls.of_function(function)._names
        return cls([*names, {python_class.__name__: python_class}], outer)

    def find(self, name):
        for names in (*self._names, self._outer):
            if name in names:
                return names[name]
        return getattr(builtins, name, _MISSING)

    # ---- what the compiler asks --------------------------------------------------------------------------
    def value(self, name, place):
        found = self.find(name)
        if found is _MISSING or (hasattr(builtins, name) and getattr(builtins, name) is found):
            return None
        return describe(found, place, name)

    def _find_dotted(self, name):
        first, *rest = name.split(".")
        found = self.find(first)
        for part in rest:
            found = getattr(found, part, _MISSING)
        return found

    def type(self, name, place):
        from . import _types

        found = self._find_dotted(name)
        if found is _MISSING:
            return None
        with called_from(place):
            return _types.of_annotation(found, self)

    def member_of_module(self, module, name, place):
        found = getattr(module, name, _MISSING)
        if found is _MISSING:
            return ("error", f"module '{module.__name__}' has no attribute '{name}'")
        return describe(found, place, f"{module.__name__}.{name}")

    def member_of_class(self, type_name, name, place):
        from . import _recursive

        return _recursive.member(type_name, name, place)

    def has_member(self, type_name, name):
        from . import _recursive

        return _recursive.has_member(type_name, name)

    def is_instance(self, type_name, name):
        """Is a module of the type an instance of the class of modules that the dotted name means? None: it means none."""
        from . import _recursive

        found = self._find_dotted(name)
        if not isinstance(found, type) or not issubclass(found, weft.nn.Module):
            return None
        return _recursive.is_instance(type_name, found)
