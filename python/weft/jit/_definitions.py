"""Functions and classes of Python compiled, and what the names in them mean.

Python looks names up, and describe() tells the compiler what was found: a tuple of a kind and what belongs to it
(python/bindings/jit_script.cc reads it):
    ("constant", value), ("enum", type, member), ("functions", [functions]), ("class", type), ("builtin", "aten::add"),
    ("name", "len"), ("member", "torch.jit", "annotate"), ("module", module), ("python", index), ("unused", name, type),
    ("method", name), ("overloads", [functions]), ("error", message); None: a name that is not Python's.
"""

import builtins
import contextlib
import enum
import functools
import importlib
import inspect
import math
import re
import sys
import threading
import types
import warnings
import weakref

import weft
from weft._C import _jit

from . import _marks, _types
from ._names import MISSING, Names
from ._tracer import is_tracing
from ._values import Error, ScriptFunction, called_from, fork, python_classes, wait

# One thread compiles at a time: what is compiled may call what another thread is about to compile.
lock = threading.RLock()
_functions = weakref.WeakKeyDictionary()  # Python's function to the ScriptFunctions of its signatures
_class_names = weakref.WeakKeyDictionary()  # Python's class to the qualified name of its type


class _Session(threading.local):
    """The call of weft.jit.script that is running."""

    def __init__(self):
        self.depth = 0
        self.outer = {}  # names where it was called
        self.pending = []  # functions whose bodies are still to be compiled


session = _Session()


@contextlib.contextmanager
def compiling(outer=None):
    """Compiles, at its end, everything that was defined meanwhile: scripts run without Python's lock, so nothing may be
    left for later."""
    with lock:
        if session.depth == 0:
            session.outer, session.pending = outer or {}, []
        session.depth += 1
        try:
            yield
            if session.depth == 1:
                while session.pending:
                    session.pending.pop().compile()
        except BaseException:
            if session.depth == 1:
                while _undo:
                    _undo.pop()()
            raise
        finally:
            session.depth -= 1
            if session.depth == 0:
                session.outer, session.pending = {}, []
                _undo.clear()


# What takes back each thing that the running session has added.
_undo = []


def on_failure(undo):
    """Calls undo() where the running session fails: what it defined may be half compiled then, and is compiled anew when
    it is used again."""
    _undo.append(undo)


def _forget_function(function):
    _functions.pop(function, None)


def _forget_class(cls):
    name = _class_names.pop(cls, None)
    if name is not None:
        python_classes.pop(name, None)


# ---- sources ---------------------------------------------------------------------------------------------------


def source_of(definition):
    """The source text of a function or class, dedented, and where it stands."""
    kind = "class" if isinstance(definition, type) else "function"
    try:
        lines, first_line = inspect.getsourcelines(definition)
        file = inspect.getsourcefile(definition) or "<unknown>"
    except (OSError, TypeError) as error:
        raise Error(f"the source of {kind} '{definition.__name__}' is not there: {error}") from None
    indent = len(lines[0]) - len(lines[0].lstrip(" \t"))
    margin = lines[0][:indent]
    if isinstance(definition, type):
        lines = _without_ignored(definition, lines, first_line)
    text = "".join(line[indent:] if line.startswith(margin) else line for line in lines)
    return _jit.Source(text, file, first_line, indent)


def _without_ignored(cls, lines, first_line):
    """The lines of a class with those of methods that are not compiled left empty."""
    lines = list(lines)
    for value in vars(cls).values():
        if _marks.mark_of(value) in (_marks.Mark.IGNORE, _marks.Mark.UNUSED):
            own, start = inspect.getsourcelines(value.fget if isinstance(value, property) else value)
            lines[start - first_line : start - first_line + len(own)] = ["\n"] * len(own)
    return lines


def qualified_name(definition):
    """The TorchScript name: "__torch__.package.Name"."""
    module = definition.__module__ or "__main__"
    name = definition.__name__
    if not name.isidentifier():
        raise Error(f"'{name}' cannot be compiled: give it a name with def")
    path = [] if module == "__main__" else [re.sub(r"\W", "_", part) for part in module.split(".")]
    return _jit.unique_name(".".join(["__torch__", *path, name]))


# ---- functions -------------------------------------------------------------------------------------------------


def _defaults(function):
    signature = inspect.signature(function)
    return {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.default is not parameter.empty
    }


def define(function, name, *, self_type=None, overload=None, is_method=False):
    """The compiler's function for a Python function; its body is compiled when the session ends, if not before."""
    scope = Scope.of_function(function, session.outer)
    defaults = {**_defaults(function), **(_defaults(overload) if overload else {})}
    defaults = {key: value for key, value in defaults.items() if value is not ...}
    declaration = source_of(overload) if overload else None
    compiled = _jit.define_function(
        name, source_of(function), scope, defaults, self_type, declaration, is_method
    )
    session.pending.append(compiled)
    return compiled


def compile_overloads(function):
    """The ScriptFunctions of a Python function: one, or one for each @_overload of it."""
    if function not in _functions:
        declarations = _marks.overloads_of(function) or [None]
        compiled = _functions[function] = []
        on_failure(functools.partial(_forget_function, function))
        for declaration in declarations:
            c = define(function, qualified_name(function), overload=declaration)
            compiled.append(ScriptFunction(c, function))
    return _functions[function]


def signature_types(function, self_type=None):
    """The types of a function that is not compiled, by its annotations: [(name, type[, default])] and the result."""
    scope = Scope.of_function(function, session.outer)
    parameters = []
    for i, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise Error(
                f"'{function.__name__}': a function that scripts call has a fixed number of parameters"
            )
        own = self_type if i == 0 and self_type is not None else None
        found = own or _annotation(parameter.annotation, parameter.empty, scope, function)
        default = () if parameter.default is parameter.empty else (parameter.default,)
        parameters.append((name, found, *default))
    returned = inspect.signature(function).return_annotation
    return parameters, _annotation(returned, inspect.Signature.empty, scope, function)


def _annotation(annotation, empty, scope, function):
    if annotation is empty:
        return _types.Type.tensor()
    found = type_of_annotation(annotation, scope)
    if found is None:
        raise Error(f"'{function.__name__}': {annotation!r} is not a type of TorchScript")
    return found


def python_function(function, self_type=None):
    """The number by which a script calls a Python function."""
    parameters, returned = signature_types(function, self_type)
    return _jit.add_python_function(function.__name__, function, parameters, returned)


# ---- classes ---------------------------------------------------------------------------------------------------


def type_of_class(cls):
    """The TorchScript type of a Python class: a NamedTuple, an Enum, an interface or the user's own; None for a class
    that has none. Compiled when it is first asked for."""
    if cls in _class_names:
        return _jit.find_type(_class_names[cls])
    if issubclass(cls, BaseException) or (
        cls.__module__ in ("builtins", "typing", "collections") and not _types.is_named_tuple(cls)
    ):
        return None
    if issubclass(cls, weft.nn.Module) and not _marks.is_interface(cls):
        return None
    with compiling():
        name = _class_names[cls] = qualified_name(cls)
        on_failure(functools.partial(_forget_class, cls))
        if _types.is_named_tuple(cls):
            _jit.add_type(_named_tuple_type(cls, name))
        elif issubclass(cls, enum.Enum):
            _jit.add_type(_enum_type(cls, name))
        else:
            _jit.define_class(name, source_of(cls), Scope.of_class(cls, session.outer))
        python_classes[name] = cls
        return _jit.find_type(name)


def type_of_annotation(annotation, scope=None):
    return _types.of_annotation(annotation, type_of_class, scope)


def type_of_value(value):
    return _types.of_value(value, type_of_class)


def _named_tuple_type(cls, name):
    scope = Scope([vars(sys.modules.get(cls.__module__, types))], session.outer)
    annotations = inspect.get_annotations(cls)
    found = []
    for field in cls._fields:
        one = type_of_annotation(annotations[field], scope) if field in annotations else _types.Type.tensor()
        if one is None:
            raise Error(
                f"field '{field}' of {cls.__name__}: {annotations[field]!r} is not a type of TorchScript"
            )
        found.append(one)
    return _types.Type.named_tuple(name, list(cls._fields), found, list(cls._field_defaults.values()))


def _enum_type(cls, name):
    values = [member.value for member in cls]
    if not values:
        raise Error(f"the Enum {cls.__name__} has no members")
    try:
        found = [type_of_value(value) for value in values]
    except _types.NoType as reason:
        raise Error(f"the Enum {cls.__name__}: {reason}") from None
    if len({str(one) for one in found}) > 1:
        raise Error(
            f"the Enum {cls.__name__}: the members' values must be of one type, got {', '.join(map(str, found))}"
        )
    return _types.Type.enumeration(name, found[0], [member.name for member in cls], values)


# ---- what names mean -------------------------------------------------------------------------------------------

# By the qualified names of their types: the TorchScript classes of modules, which _recursive defines. Each has
# `python_class`, `has_member(name)` and `member(name, place)`.
module_classes = {}


def member_of_module(type_name, name, place):
    """What `name` is of a module whose class has no attribute of it, as describe() says it; None: it has none."""
    known = module_classes.get(type_name)
    return None if known is None else known.member(name, place)


_CONSTANTS = (bool, int, float, complex, str, type(None), weft.dtype, weft.device)


def _members_of_jit():
    """Functions of weft.jit by their names in torch.jit."""
    table = {getattr(_marks, name): name for name in ("annotate", "is_scripting", "Attribute")}
    table.update({fork: "fork", wait: "wait", _types.isinstance_: "isinstance"})
    return table


_special = {}
# Functions of these modules are Python for weft, and a builtin of their name, where there is one, for TorchScript.
_OPERATORS_IN_PYTHON = ("weft.torch._functions.", "weft._composed.", "weft._drawing")


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


_NAMESPACES = {"weft.torch.linalg": "linalg_", "weft.torch.fft": "fft_", "weft.torch.special": "special_"}
_of_namespaces = {}  # from the modules that were imported to {function: builtin}


def _operator_of_namespace(function):
    """The builtin of a function of torch.linalg, torch.fft or torch.special; None for one that is none of these."""
    for name, prefix in _NAMESPACES.items():
        module = sys.modules.get(name)
        if module is not None and name not in _of_namespaces:
            _of_namespaces[name] = {
                getattr(module, own): f"aten::{prefix}{own}"
                for own in dir(module)
                if isinstance(getattr(module, own), types.FunctionType)
                and _jit.has_builtin(f"aten::{prefix}{own}")
            }
        found = _of_namespaces.get(name, {}).get(function)
        if found is not None:
            return found
    return None


def _operator(name):
    name = {"vector_norm": "linalg_vector_norm"}.get(name, name)
    if _jit.has_builtin(f"aten::{name}"):
        return ("member", "torch", name)
    return ("error", f"'weft.{name}' is not an operator of TorchScript")


def describe(value, place="", name=""):
    """What a value of Python is to the compiler."""
    if isinstance(value, enum.Enum):
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
    if cls is weft.device:
        return ("member", "torch", "device")
    if getattr(builtins, cls.__name__, None) is cls:
        return ("name", cls.__name__)
    if cls in (weft.Tensor, weft.nn.Module) or issubclass(cls, BaseException):
        return ("error", f"the class '{cls.__name__}' cannot be called in a script")
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
    if value is warnings.warn:
        return ("builtin", "aten::warn")
    if module == "builtins" and getattr(builtins, own_name, None) is value:
        return ("name", own_name)
    if isinstance(value, types.FunctionType):
        builtin = _operator_of_namespace(value)
        if builtin is not None:
            return ("builtin", builtin)
        if (module or "").startswith("weft.torch._functions."):
            forms = importlib.import_module("weft.torch._functions._in_scripts").FORMS.get(own_name)
            if forms is not None:
                return describe_function(forms, place)
        if (module or "").startswith(_OPERATORS_IN_PYTHON) and _jit.has_builtin(f"aten::{own_name}"):
            return ("member", "torch", own_name)
        return describe_function(_replacement(value), place)
    qualified = getattr(value, "_qualified_op_name", None)
    if isinstance(qualified, str) and _jit.has_builtin(qualified):  # torch.ops.torchaudio.f
        return ("builtin", qualified)
    if module is not None and module.partition(".")[0] == "weft":
        return _operator(own_name)
    return (
        "error",
        f"'{name or own_name}' is a Python callable of type {type(value).__name__}, which a script cannot call",
    )


def _replacement(function):
    """What scripts call in place of a function of weft.nn.functional or of transforms; the function itself for any other."""
    module = function.__module__ or ""
    if module == "weft.torchvision.transforms.functional":
        from weft.torchvision.transforms import _scripted

        return getattr(_scripted, function.__name__, function)
    if not module.startswith("weft.nn."):
        return function
    from weft.nn import _scripted

    return _scripted.replacement(function) or getattr(function, "_without_autocast", function)


def describe_function(function, place):
    """A Python function, the name of a builtin, or a list of functions of which a call takes the first that fits."""
    if isinstance(function, str):
        return ("builtin", function)
    if isinstance(function, (list, tuple)):
        with called_from(place):
            return ("functions", [compile_overloads(one)[0]._c for one in function])
    mark = _marks.mark_of(function)
    if mark is _marks.Mark.UNUSED:
        return ("unused", function.__name__, signature_types(function)[1])
    if mark is _marks.Mark.IGNORE:
        return ("python", python_function(function))
    with called_from(place):
        return ("functions", [compiled._c for compiled in compile_overloads(function)])


class Scope(Names):
    """Names, as the compiler asks for them."""

    def value(self, name, place):
        found = self.find(name)
        if found is MISSING or (hasattr(builtins, name) and getattr(builtins, name) is found):
            return None
        return describe(found, place, name)

    def type(self, name, place):
        found = self.find_dotted(name)
        if found is MISSING:
            return None
        with called_from(place):
            return type_of_annotation(found, self)

    def member_of_module(self, module, name, place):
        found = getattr(module, name, MISSING)
        if found is MISSING:
            return ("error", f"module '{module.__name__}' has no attribute '{name}'")
        return describe(found, place, f"{module.__name__}.{name}")

    def member_of_class(self, type_name, name, place):
        return member_of_module(type_name, name, place)

    def has_member(self, type_name, name):
        known = module_classes.get(type_name)
        return known is not None and known.has_member(name)

    def is_instance(self, type_name, name):
        """Is a module of the type an instance of the class of modules that the dotted name means? None: it means none."""
        found = self.find_dotted(name)
        if not isinstance(found, type) or not issubclass(found, weft.nn.Module):
            return None
        known = module_classes.get(type_name)
        return known is not None and issubclass(known.python_class, found)
