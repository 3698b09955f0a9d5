"""weft.jit.script: functions, classes and modules of Python compiled."""

import contextlib
import enum
import functools
import inspect
import re
import sys
import threading
import types
import weakref

import weft
from weft._C import _jit

from . import _marks, _types
from ._module import ScriptModule
from ._scope import Scope
from ._values import Error, ScriptFunction, python_classes

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
                _forget_failed()
            raise
        finally:
            session.depth -= 1
            if session.depth == 0:
                session.outer, session.pending = {}, []


_defined = []  # functions and classes that the running session has added


def _forget_failed():
    """After an error: what the session defined may be half compiled, and is compiled anew when it is used again."""
    from . import _recursive

    while _defined:
        key = _defined.pop()
        _functions.pop(key, None)
        name = _class_names.pop(key, None)
        if name is not None:
            python_classes.pop(name, None)
    _recursive.forget_failed()


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
        _defined.append(function)
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
    found = _types.of_annotation(annotation, scope)
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
        _defined.append(cls)
        if _types.is_named_tuple(cls):
            _jit.add_type(_named_tuple_type(cls, name))
        elif issubclass(cls, enum.Enum):
            _jit.add_type(_enum_type(cls, name))
        else:
            _jit.define_class(name, source_of(cls), Scope.of_class(cls, session.outer))
        python_classes[name] = cls
        return _jit.find_type(name)


def _named_tuple_type(cls, name):
    scope = Scope([vars(sys.modules.get(cls.__module__, types))], session.outer)
    annotations = inspect.get_annotations(cls)
    found = []
    for field in cls._fields:
        one = (
            _types.of_annotation(annotations[field], scope) if field in annotations else _types.Type.tensor()
        )
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
        found = [_types.of_value(value) for value in values]
    except _types.NoType as reason:
        raise Error(f"the Enum {cls.__name__}: {reason}") from None
    if len({str(one) for one in found}) > 1:
        raise Error(
            f"the Enum {cls.__name__}: the members' values must be of one type, got {', '.join(map(str, found))}"
        )
    return _types.Type.enumeration(name, found[0], [member.name for member in cls], values)


# ---- the front door --------------------------------------------------------------------------------------------


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
    from . import _recursive

    if isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    frame = sys._getframe(1 + _frames_up)
    outer = {**frame.f_globals, **frame.f_locals}
    if isinstance(obj, weft.nn.Module):
        with compiling(outer):
            return _recursive.script_module(obj)
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
