"""What marks functions and classes for weft.jit.script, and functions that mean something of their own in a script."""

import collections
import enum
import functools

_MARK = "_weft_jit_mark"


class Mark(enum.Enum):
    IGNORE = "ignore"
    UNUSED = "unused"
    EXPORT = "export"


def mark_of(function):
    """The Mark of a function or property; None if it has none."""
    if isinstance(function, property):
        function = function.fget
    return getattr(function, _MARK, None)


def _marked(function, mark):
    target = function.fget if isinstance(function, property) else function
    if not callable(target):
        raise TypeError(f"weft.jit.{mark.value}: expected a function, got {type(function).__name__}")
    setattr(target, _MARK, mark)
    return function


def ignore(function=None, *, drop=False):
    """A function that scripts call through Python: it is not compiled, and its parameters and result are converted by
    its annotations (Tensor where there is none). A module that needs it cannot be saved.

    drop: as @unused.
    """
    mark = Mark.UNUSED if drop else Mark.IGNORE
    if function is None or isinstance(function, bool):
        return functools.partial(_marked, mark=Mark.UNUSED if drop or function else Mark.IGNORE)
    return _marked(function, mark)


def unused(function):
    """A function or property that is not compiled: a script that calls it raises NotImplementedError. The rest of the
    module can be saved."""
    return _marked(function, Mark.UNUSED)


def export(function):
    """A method that is compiled although forward() does not call it."""
    return _marked(function, Mark.EXPORT)


def script_method(function):
    """A method of a class derived from weft.jit.ScriptModule that is compiled."""
    return _marked(function, Mark.EXPORT)


# ---- overloads -------------------------------------------------------------------------------------------------

# Qualified name of a function or method to its declarations.
overloads = collections.defaultdict(list)


def _key(function):
    return f"{function.__module__}.{function.__qualname__}"


def _overload(function):
    """Declares one signature of the function of this name that follows, as typing.overload does. Its body is `...` or
    `pass`; the compiled body is that of the last definition."""
    declared = overloads[_key(function)]
    # Defined anew, as in an interactive session: the old declarations do not count.
    if any(old.__code__.co_firstlineno == function.__code__.co_firstlineno for old in declared):
        declared.clear()
    declared.append(function)
    return function


_overload_method = _overload


def overloads_of(function):
    """The declarations of a function's signatures; none for one without overloads."""
    declared = overloads.get(_key(function), [])
    return [] if function in declared else declared


# ---- in scripts and outside ------------------------------------------------------------------------------------


def is_scripting():
    """True in a script, False in Python: `if not weft.jit.is_scripting(): …` is not compiled."""
    return False


def annotate(the_type, the_value):
    """the_value. In a script the value has the type: `weft.jit.annotate(List[int], [])`."""
    return the_value


class Attribute(collections.namedtuple("Attribute", ["value", "type"])):
    """A module's attribute with its TorchScript type, where the value alone does not tell:
    `self.names = weft.jit.Attribute({}, Dict[str, int])`."""


def interface(cls):
    """A class whose methods say what a module or class must have to be passed or assigned where the interface is
    expected. Derived from weft.nn.Module it is an interface of modules."""
    if not isinstance(cls, type):
        raise TypeError(f"interface: expected a class, got {type(cls).__name__}")
    cls._weft_jit_interface = True
    return cls


def is_interface(cls):
    return "_weft_jit_interface" in vars(cls)


for _object in (Attribute, annotate, export, ignore, interface, is_scripting, script_method, unused):
    _object.__module__ = "weft.jit"
