"""Programs whose context managers look at the traceback that `__exit__` is given: everything that can be done with one, for every way
that an exception comes to the block. Each takes an array and a list of events."""

import contextlib
import copy
import itertools
import sys
import traceback
import types
import unittest
import weakref

import numpy as np
from frame_checks import places


def deepest(trace):
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def outcome_of(action):
    """What the action gives, or the text of what it raises."""
    try:
        return action()
    except Exception as error:
        return type(error).__name__, str(error)


def shorten(trace):
    trace.tb_next = None
    return trace.tb_next


def is_stored(trace):
    table, items, slots = {"t": trace}, [trace], types.SimpleNamespace(t=trace)
    return table["t"] is trace, items[0] is trace, slots.t.tb_lineno


class Holder:
    def __call__(self, value):
        self.value = value
        return value.tb_frame.f_code.co_name


LOOKS = {
    "frame": lambda trace: (trace.tb_frame.f_code.co_name, sorted(trace.tb_frame.f_locals)[:1]),
    "line": lambda trace: trace.tb_lineno,
    "position": lambda trace: trace.tb_lasti >= 0,
    "next": lambda trace: trace.tb_next is None,
    "places": places,
    "deepest": lambda trace: (deepest(trace).tb_lineno, deepest(trace).tb_frame.f_code.co_name),
    "clear_frames": lambda trace: traceback.clear_frames(trace),
    "walk": lambda trace: [line for _, line in traceback.walk_tb(trace)],
    "format": lambda trace: traceback.format_tb(trace),
    "truth": lambda trace: bool(trace),
    "negation": lambda trace: not trace,
    "is_none": lambda trace: (trace is None, trace is not None),
    "equals": lambda trace: (trace == trace, trace != None, trace == 1, None == trace),  # noqa: E711
    "order": lambda trace: outcome_of(lambda: trace < trace),
    "kind": lambda trace: (
        type(trace).__name__,
        isinstance(trace, types.TracebackType),
        trace.__class__.__name__,
    ),
    "has": lambda trace: (hasattr(trace, "tb_frame"), hasattr(trace, "nothing")),
    "get": lambda trace: (getattr(trace, "tb_lineno"), getattr(trace, "nothing", 4)),  # noqa: B009
    "missing": lambda trace: outcome_of(lambda: trace.nothing),
    "directory": lambda trace: "tb_next" in dir(trace),
    "text": lambda trace: (repr(trace)[:17], str(trace)[:17], f"{trace}"[:17]),
    "hash": lambda trace: hash(trace) == hash(trace),
    "identity": lambda trace: id(trace) == id(trace),
    "as_key": lambda trace: len({trace: 1, None: 2}),
    "in_set": lambda trace: len({trace, trace}),
    "contained": lambda trace: (trace in [None, trace], trace in (1, 2)),
    "stored": is_stored,
    "item": lambda trace: outcome_of(lambda: trace[0]),
    "call": lambda trace: outcome_of(lambda: trace()),
    "iteration": lambda trace: outcome_of(lambda: list(trace)),
    "length": lambda trace: outcome_of(lambda: len(trace)),
    "sum": lambda trace: outcome_of(lambda: trace + 1),
    "negative": lambda trace: outcome_of(lambda: -trace),
    "unpacked": lambda trace: outcome_of(lambda: [*trace]),
    "entered": lambda trace: outcome_of(lambda: contextlib.ExitStack().enter_context(trace)),
    "deleted": lambda trace: outcome_of(lambda: delattr(trace, "tb_lineno")),
    "shortened": shorten,
    "made": lambda trace: types.TracebackType(None, trace.tb_frame, 0, 7).tb_lineno,
    "raised_with": lambda trace: outcome_of(
        lambda: KeyError("x").with_traceback(trace).__traceback__ is trace
    ),
    "weak": lambda trace: outcome_of(lambda: weakref.ref(trace)),
    "copied": lambda trace: outcome_of(lambda: copy.copy(trace)),
    "given_to_object": lambda trace: Holder()(trace),
    "given_to_numpy": lambda trace: outcome_of(lambda: np.asarray(trace, dtype=object).shape),
    "closed_over": lambda trace: (lambda: trace.tb_lineno)(),
    "exc_info": lambda trace: sys.exc_info()[2] and sys.exc_info()[2].tb_lineno == trace.tb_lineno,
    "match": lambda trace: "traceback" if isinstance(trace, types.TracebackType) else "other",
}


# Of the others, each is tried in three ways.
OF_EVERY_WAY = ("frame", "line", "places", "clear_frames", "truth", "is_none", "kind", "stored", "exc_info")


class Manager:
    def __init__(self, look, events):
        self.look, self.events = look, events

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.events.append((kind.__name__, str(error), self.look(trace)))
        return True


class Passing(Manager):
    """Lets the exception go on."""

    def __exit__(self, kind, error, trace):
        self.events.append((kind.__name__, self.look(trace)))


class Replacing(Manager):
    def __exit__(self, kind, error, trace):
        self.events.append(self.look(trace))
        raise KeyError("replaced") from error


class Keeping(Manager):
    def __exit__(self, kind, error, trace):
        self.trace = trace
        return True


def fail(a):
    b = a + 1
    raise ValueError("failed")


def fail_deeper(a):
    return fail(a * 2) + 1


def raised_here(x, events, look):
    y = x + 1
    with Manager(look, events):
        raise ValueError("here")
    return y


def raised_by_helper(x, events, look):
    with Manager(look, events):
        fail_deeper(x)
    return x + 1


def raised_by_numpy(x, events, look):
    with Manager(look, events):
        x + np.ones(7)
    return x + 1


def raised_by_python(x, events, look):
    with Manager(look, events):
        {}["nothing"]
    return x + 1


def several_blocks(x, events, look):
    with Manager(look, events), Passing(look, events), Passing(look, events):
        raise ValueError("deep")
    return x + 1


def goes_on(x, events, look):
    try:
        with Passing(look, events):
            raise ValueError("on")
    except ValueError as error:
        events.append(places(error.__traceback__))
    return x + 1


def replaced(x, events, look):
    try:
        with Replacing(look, events):
            fail(x)
    except KeyError as error:
        events.append((places(error.__traceback__), places(error.__cause__.__traceback__)))
    return x + 1


def kept(x, events, look):
    with Keeping(look, events) as manager:
        fail(x)
    events.append(look(manager.trace))
    return x + 1


def stack_of_callbacks(x, events, look):
    with contextlib.ExitStack() as stack:
        stack.push(lambda kind, error, trace: events.append(look(trace)) or True)
        fail(x)
    return x + 1


def generator_based(x, events, look):
    @contextlib.contextmanager
    def manager():
        try:
            yield
        except ValueError as error:
            events.append(look(error.__traceback__))

    with manager():
        raise ValueError("in a generator's block")
    return x + 1


def in_loop(x, events, look):
    for i in range(3):
        with Manager(look, events):
            x = x + 1
            if i == 1:
                raise ValueError(i)
    return x


def within_handler(x, events, look):
    try:
        raise KeyError("first")
    except KeyError:
        with Manager(look, events):
            raise ValueError("second")
    return x + 1


WAYS = [
    one
    for one in list(globals().values())
    if getattr(one, "__code__", None) and one.__code__.co_varnames[:3] == ("x", "events", "look")
]


def program_of(way, name, look):
    def program(x, events):
        return way(x, events, look)

    program.__name__ = f"{way.__name__}-{name}"
    return program


def asserts_raises(x, events):
    case = unittest.TestCase()
    with case.assertRaises(ValueError) as caught:
        fail_deeper(x)
    events.append((str(caught.exception), caught.exception.__traceback__ is None))
    return x + 1


def asserts_raises_text(x, events):
    case = unittest.TestCase()
    with case.assertRaisesRegex(ValueError, "fail"):
        raise ValueError("failed")
    return x + 1


def asserts_raises_in_vain(x, events):
    case = unittest.TestCase()
    with case.assertRaises(ValueError):
        y = x + 1
    return y


def asserts_raises_another(x, events):
    case = unittest.TestCase()
    with case.assertRaises(KeyError):
        fail(x)
    return x + 1


def suppressed(x, events):
    with contextlib.suppress(ValueError):
        fail(x)
    return x + 1


def numpys_assert_raises(x, events):
    with np.testing.assert_raises(ValueError):
        fail(x)
    return x + 1


PROGRAMS = [
    asserts_raises,
    asserts_raises_text,
    asserts_raises_in_vain,
    asserts_raises_another,
    suppressed,
    numpys_assert_raises,
] + [
    program_of(way, name, look)
    for way, (name, look) in itertools.product(WAYS, LOOKS.items())
    if way in (raised_here, raised_by_helper, several_blocks) or name in OF_EVERY_WAY
]
