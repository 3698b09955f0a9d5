"""Runs one program plain and compiled, each on state of its own, and says what differs."""

import contextlib
import io
import sys
import types

import numpy as np
import weft

CALLS = 3


def described(value, depth=0):
    """A value's types and contents as text: NaN equals NaN, the order of dicts and sets counts, instances show their attributes."""
    if depth > 6:
        return "..."
    kind = type(value).__name__

    def inside(values):
        return ", ".join(described(v, depth + 1) for v in values)

    if isinstance(value, np.ndarray):
        elements = inside(value.ravel().tolist()) if value.size else "empty"
        return f"array({value.dtype}, {value.shape}, {elements})"
    if isinstance(value, np.generic):
        return f"{kind}({value!r})"
    if isinstance(value, dict):
        return f"{kind}({', '.join(described(k, depth + 1) + ': ' + described(v, depth + 1) for k, v in value.items())})"
    if isinstance(value, (list, tuple, set, frozenset)) or kind in (
        "deque",
        "dict_keys",
        "dict_values",
        "dict_items",
    ):
        return f"{kind}({inside(value)})"
    if isinstance(value, BaseException):
        return f"{kind}({inside(value.args)})"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, slice, range, type(...))):
        return f"{kind}({value!r})"
    if isinstance(value, type):
        return f"class {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if hasattr(value, "__dict__") and type(value).__module__.startswith("object_programs"):
        return f"{kind}({', '.join(k + '=' + described(v, depth + 1) for k, v in vars(value).items())})"
    return kind


def observed(function, *arguments, log=()):
    """What a call gives or raises, prints, and leaves in the log."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            result = described(function(*arguments))
        except Exception as error:
            result = f"raises {type(error).__name__}: {error} {described(error.args)}"
    logged = described(list(log))
    if hasattr(log, "clear"):
        log.clear()
    return result, output.getvalue(), logged


@contextlib.contextmanager
def modules_restored():
    modules, path = dict(sys.modules), list(sys.meta_path)
    try:
        yield
    finally:
        for name in set(sys.modules) - set(modules):
            if name.startswith(("weft_", "hooked_")):
                del sys.modules[name]
        sys.modules.update(modules)
        sys.meta_path[:] = path


def outcomes(load, name, wrap=lambda function: function):
    """Of CALLS calls of one program in a module of its own."""
    with modules_restored():
        module = load()
        sys.modules[module.__name__] = module
        function = wrap(getattr(module, name))
        module.LOG.clear()
        results = []
        for call in range(CALLS):
            if hasattr(module, "_before"):
                module._before(call)
            results.append(observed(function, np.arange(4.0), log=module.LOG))
        return results


def differences(load, name):
    expected = outcomes(load, name)
    compiled = outcomes(load, name, weft.compile)
    return [
        f"call {call}, {what}:\n  Python: {one}\n  weft:   {other}"
        for call, (plain, got) in enumerate(zip(expected, compiled, strict=True))
        for what, one, other in zip(("result", "output", "log"), plain, got, strict=True)
        if one != other
    ]
