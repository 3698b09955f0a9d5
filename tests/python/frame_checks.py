"""Programs run plain and compiled, and all that can be seen of a run compared: results, what was printed and logged, warnings with
their file and line, exceptions with the places of their traceback, and the order of side effects."""

import contextlib
import gc
import io
import logging
import sys
import traceback
import warnings

import numpy as np
import weft

CALLS = 3  # of each program: captured, from the captures, and once more


def places(trace):
    """(function, line, column) of each entry, below the harness's own."""
    found = []
    for entry in traceback.extract_tb(trace):
        if entry.name == "observed":
            continue
        found.append((entry.name, entry.lineno, getattr(entry, "colno", None)))
    return found


def chain(error, depth=0):
    """An exception, where it went through, what it was raised from, and what was being handled then."""
    if error is None or depth > 8:
        return None
    return (
        type(error).__name__,
        str(error),
        places(error.__traceback__),
        chain(error.__cause__, depth + 1),
        chain(error.__context__, depth + 1),
        error.__suppress_context__,
    )


def plain(value):
    """A value as something that compares by content."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tolist())
    if isinstance(value, np.generic):
        return ("scalar", value.dtype.str, value.item())
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(item) for item in value])
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(map(repr, value)))
    if isinstance(value, dict):
        return ("dict", [(plain(key), plain(item)) for key, item in value.items()])
    if isinstance(value, BaseException):
        return chain(value)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return (type(value).__name__, value)
    return type(value).__name__


class LogHandler(logging.Handler):
    def __init__(self, events):
        super().__init__()
        self.events = events

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else None
        self.events.append(
            (
                "log",
                record.funcName,
                record.lineno,
                record.getMessage(),
                chain(error),
                record.stack_info is None,
            )
        )


def observed(function, filters="always"):
    """What one call shows."""
    events, printed = [], io.StringIO()
    handler, root = LogHandler(events), logging.getLogger()
    root.addHandler(handler)
    level = root.level
    root.setLevel(logging.DEBUG)
    x = np.arange(1.0, 5.0)
    gc.disable()
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter(filters)
            try:
                outcome = ("returned", plain(function(x, events)))
            except BaseException as error:
                outcome = ("raised", chain(error))
            events.append("left")
    finally:
        gc.enable()
        root.setLevel(level)
        root.removeHandler(handler)
    return {
        "outcome": outcome,
        "argument": x.tolist(),
        "events": [plain(event) for event in events],
        "printed": printed.getvalue(),
        "warnings": [(str(one.message), one.category.__name__, one.filename, one.lineno) for one in caught],
    }


def forget_warnings(function):
    for module in list(sys.modules.values()):
        registry = getattr(module, "__dict__", {}).get("__warningregistry__")
        if registry:
            registry.clear()
    warnings.filters[:] = list(warnings.filters)


def differences(function, filters="always"):
    """Per call, what a compiled program shows that the plain one does not, as (call, aspect, expected, actual)."""
    runs = []
    for make in (lambda f: f, weft.compile):
        forget_warnings(function)
        one = make(function)
        runs.append([observed(one, filters) for _ in range(CALLS)])
    return [
        (call, aspect, expected[aspect], actual[aspect])
        for call, (expected, actual) in enumerate(zip(*runs))
        for aspect in expected
        if expected[aspect] != actual[aspect]
    ]


def assert_same(function, filters="always"):
    found = differences(function, filters)
    assert not found, "\n".join(
        f"call {call}, {aspect}:\n  expected {expected}\n  actual   {actual}"
        for call, aspect, expected, actual in found
    )
