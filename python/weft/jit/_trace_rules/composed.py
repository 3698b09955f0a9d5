"""Functions of weft._composed are recorded as the builtins that they are.

While a thread traces, other code is in their place, so that they stay the objects that programs and modules hold.
"""

import functools
import importlib
import inspect
import pkgutil

from weft import _composed
from weft._generated import calling_code, copied

from .._tracer import aten, current

_recordings = {}


def put():
    """Functions are recorded from now on; what takes that back."""
    for function in functions():
        if function not in _recordings or not _recordings[function].put():
            _recordings[function] = Recording(function)
            _recordings[function].put()
    return [_recordings[function] for function in functions()]


@functools.cache
def functions():
    """Those that are builtins."""
    found = []
    for info in pkgutil.iter_modules(_composed.__path__):
        module = importlib.import_module(f"{_composed.__name__}.{info.name}")
        found += [
            value
            for value in vars(module).values()
            if hasattr(value, "schemas") and value.__module__ == module.__name__
        ]
    return found


def plain(function):
    """A function of weft._composed as it is outside of traces: what it calls is recorded, not the function."""
    return _recordings[function].plain if function in _recordings else function


class Recording:
    """What stands in a function's code: the function as it was for threads that do not trace."""

    def __init__(self, function):
        self.function, self.plain = function, copied(function)
        self.code = calling_code(self.plain.__code__, self)
        self.signature = self.forms = None

    def put(self):
        """False where the function has other code by now: calls are offered to classes (weft.torch._overriding)."""
        fits = self.function.__code__ is self.plain.__code__
        if fits:
            self.function.__code__ = self.code
        return fits

    def take_back(self):
        if self.function.__code__ is self.code:
            self.function.__code__ = self.plain.__code__

    def _read(self):
        self.signature = inspect.signature(self.plain)
        parameters = list(self.signature.parameters)
        self.forms = [_form(text, parameters) for text in self.function.schemas]

    def __call__(self, *args, **kwargs):
        if current() is None:
            return self.plain(*args, **kwargs)
        if self.forms is None:
            self._read()
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for builtin, places, count in self.forms:
            positional, named = [], {}
            for at, (name, parameter) in enumerate(places):
                if parameter is None:
                    continue
                if at == len(positional) and at < count:
                    positional.append(bound.arguments[parameter])
                else:
                    named[name] = bound.arguments[parameter]
            try:
                return aten[builtin](*positional, **named)
            except TypeError as error:
                if f"aten::{builtin.partition('.')[0]} cannot be called with" not in str(error):
                    raise
        return self.plain(*args, **kwargs)


def _form(text, parameters):
    """(builtin, (argument, parameter) of each, how many are positional) of a schema: arguments are parameters of the same name, or in
    the same place, as composed.cc has it."""
    names, count = _names(text)
    places = []
    for at, name in enumerate(names):
        in_place = parameters[at] if at < min(count, len(parameters)) else None
        places.append((name, name if name in parameters else in_place if in_place not in names else None))
    return text.partition("(")[0], places, count


def _names(text):
    """The names of a schema's arguments, and how many of them are positional."""
    depth, parts = 0, [""]
    for letter in text[text.index("(") + 1 : text.index(") ->")]:
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    names = [part.partition("=")[0].split()[-1] for part in parts if part.strip()]
    count = names.index("*") if "*" in names else len(names)
    return [name for name in names if name != "*"], count
