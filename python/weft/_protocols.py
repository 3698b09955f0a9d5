"""What Python does between the special methods of a program's classes, as functions: capture enters them, so that a graph
can end within any of the methods and go on behind it."""

import sys
import types


def ask_others(otherwise, second=None, its=(), third=None, others=()):
    """What an operator gives when the first method that was asked has answered NotImplemented.

    otherwise: what it gives where nobody answers, or the text of the TypeError that it raises then.
    """
    answer = NotImplemented
    if second is not None:
        answer = second(*its)
    if answer is NotImplemented and third is not None:
        answer = third(*others)
    if answer is not NotImplemented:
        return answer
    if isinstance(otherwise, str):
        raise TypeError(otherwise)
    return otherwise


def differs(is_equal, one, other):
    """object.__ne__ over an __eq__ of the program's."""
    answer = is_equal(one, other)
    return answer if answer is NotImplemented else not answer


def called_name(function):
    """What Python calls a function in messages about its arguments."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return str(function)
    module = getattr(function, "__module__", None)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


def import_elsewhere(module, name):
    """What `from module import name` binds where the module has no such attribute, or the exception that Python raises."""
    owner = getattr(module, "__name__", None)
    if isinstance(owner, str) and f"{owner}.{name}" in sys.modules:
        return sys.modules[f"{owner}.{name}"]
    # Python itself words the error, for a module that says of itself what this one says.
    stub = module
    if isinstance(module, types.ModuleType):
        stub = types.ModuleType(str(owner))
        vars(stub).update(
            (key, vars(module)[key]) for key in ("__name__", "__file__", "__spec__") if key in vars(module)
        )
    try:
        exec(f"from module import {name}", {"__builtins__": {"__import__": lambda *_: stub}})
    except ImportError as error:
        error.__context__ = None
        return error.with_traceback(None)
