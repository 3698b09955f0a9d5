"""Functions from generated source, and generated code in place of a function's."""

import functools
import itertools
import linecache
import types

_numbers = itertools.count()


def function_of(source, scope, name="forward"):
    """The function that source defines, in a file of linecache: errors quote its lines, and scripts are compiled from them."""
    key = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[key] = (len(source), None, source.splitlines(keepends=True), key)
    scope = dict(scope)
    exec(compile(source, key, "exec"), scope)
    return scope[name]


_STAND_IN = 7205759403792793  # in the code below, until what it calls is in its place


@functools.cache
def _calling_template(count):
    """Code that calls the stand-in with its arguments, and has so many free variables."""
    free = ", ".join(f"v{at}" for at in range(count))
    scope = {}
    exec(
        f"def make({free}):\n def f(*args, **kwargs):\n  if 0: return {free or None}\n"
        f"  called = {_STAND_IN}\n  return called(*args, **kwargs)\n return f",
        scope,
    )
    return scope["make"](*range(count)).__code__


def calling_code(code, called):
    """Code for a function that has `code`: it calls an object with the function's arguments, under the function's name."""
    template = _calling_template(len(code.co_freevars))
    return template.replace(
        co_consts=tuple(called if one == _STAND_IN else one for one in template.co_consts),
        co_name=code.co_name,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


def copied(function):
    """The function as it is now, as another object."""
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    copy.__dict__.update(function.__dict__)
    return copy
