"""Programs that look at frames: the names, lines and variables of their callers, warnings, logs. Each takes an array and a list of
events."""

import contextlib
import functools
import inspect
import logging
import sys
import traceback
import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from program_list import programs_of

SCALE = 2.0
logger = logging.getLogger("frames")


# Helpers that look at who calls them.
def callers_name():
    return sys._getframe(1).f_code.co_name


def callers_line():
    return sys._getframe(1).f_lineno


def callers_names():
    names, frame = [], sys._getframe(1)
    while frame and frame.f_code.co_name != "observed":
        names.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return names


def callers_local(name):
    return inspect.currentframe().f_back.f_locals[name]


def callers_locals():
    return sorted(sys._getframe(1).f_locals)


def callers_global(name):
    return sys._getframe(1).f_globals[name]


def callers_code(function):
    return sys._getframe(1).f_code is function.__code__


def stack_names():
    return [(one.function, one.lineno) for one in inspect.stack()[1:] if one.function != "observed"][:4]


def callers_callers_name():
    return sys._getframe(2).f_code.co_name


def deprecated(text, level=2):
    warnings.warn(text, DeprecationWarning, stacklevel=level)


# Programs.
def name_of_caller(x, events):
    y = x * 2 + 1
    return callers_name(), y.sum()


def line_of_caller(x, events):
    y = x * 2
    first = callers_line()
    z = y + 1
    return (
        first,
        callers_line(),
        z.sum(),
    )


def names_from_inlined(x, events):
    def inner(a):
        return a + 1, callers_names()

    def middle(a):
        b = inner(a * 2)
        return b

    return middle(x)


def middle_of_stack(a):
    b = a * 3
    return b, callers_names(), callers_callers_name()


def names_from_function(x, events):
    y, names, outer = middle_of_stack(x)
    return y + 1, names, outer


def inspect_stack(x, events):
    y = np.sqrt(x)
    return y, stack_names()


def local_of_caller(x, events):
    factor = 3
    y = x * factor
    return callers_local("factor"), callers_local("y").sum()


def dead_locals_of_caller(x, events):
    unused = x * 5
    counter = 7
    text = "kept"
    y = x + 1
    return callers_locals(), y


def dead_locals_after_break(x, events):
    unused = x * 5
    print("broken")
    y = x + 1
    return callers_locals(), y


def unbound_locals(x, events):
    if x[0] > 100:
        never = 1
    y = x + 1
    del y
    return callers_locals()


def own_locals(x, events):
    y = x + 1
    z = y * 2
    return sorted(locals()), z.sum()


def own_vars(x, events):
    y = x + 1
    return sorted(vars()), y


def own_dir(x, events):
    y = x + 1
    return dir(), y


def evaluated(x, events):
    y = x + 1
    return eval("y.sum() + SCALE")


def executed(x, events):
    y = x + 1
    space = {"y": y}
    exec("z = y * 2", space)
    return space["z"]


def eval_by_another_name(x, events, evaluate=eval):
    y = x + 1
    return evaluate("x.sum() + y.sum()")


def locals_by_another_name(x, events, mine=locals):
    y = x + 1
    return sorted(mine()), y


def globals_of_caller(x, events):
    y = x * SCALE
    return callers_global("SCALE"), callers_global("__name__"), y


def own_globals(x, events):
    y = x * globals()["SCALE"]
    return y, globals() is sys.modules[__name__].__dict__


def code_of_caller(x, events):
    y = x * 2
    return callers_code(code_of_caller), y


def same_frame_twice(x, events):
    y = x * 2
    get = sys._getframe
    return get() is get(), y


def helper_frame():
    return sys._getframe(1)


def frame_identity(x, events):
    y = x + 1
    first = helper_frame()
    z = y * 2
    second = helper_frame()
    return first is second, first.f_lineno, second.f_code.co_name, z


def frame_kept_is_updated(x, events):
    y = x + 1
    frame = helper_frame()
    z = y * 2
    names = sorted(frame.f_locals)
    line = frame.f_lineno
    return names, line, z


KEPT = []


def keep_frame():
    KEPT.append(sys._getframe(1))


def frame_outlives(x, events):
    y = x + 1
    keep_frame()
    return y * 2


def frame_after_return(x, events):
    frame_outlives(x, events)
    frame = KEPT.pop()
    return (
        frame.f_code.co_name,
        frame.f_lineno,
        sorted(frame.f_locals),
        frame.f_locals["y"],
        frame.f_back is None,
    )


def back_of_kept(x, events):
    def inner():
        keep_frame()
        return 1

    y = x + inner()
    frame = KEPT.pop()
    return frame.f_code.co_name, frame.f_back.f_code.co_name, y


def frame_depth(x, events):
    def depth():
        frame, count = sys._getframe(1), 0
        while frame.f_code.co_name != "observed":
            frame, count = frame.f_back, count + 1
        return count

    def one(a):
        return a + depth()

    def two(a):
        return one(a) * depth()

    return two(x), depth()


def from_comprehension(x, events):
    y = x + 1
    return [callers_name() for _ in range(2)], y


def from_lambda(x, events):
    f = lambda a: (callers_name(), a + 1)  # noqa: E731
    return f(x)


def from_generator(x, events):
    def numbers():
        for i in range(2):
            yield callers_names(), i

    y = x + 1
    return list(numbers()), y


class Looker:
    def __init__(self, a):
        self.a = a
        self.made_by = callers_callers_name()

    def method(self):
        return callers_names(), self.a + 1

    @property
    def prop(self):
        return callers_names()

    def __add__(self, other):
        return callers_names()

    def __getitem__(self, key):
        return callers_names()

    def __len__(self):
        self.seen = callers_names()
        return 3

    def __bool__(self):
        self.seen = callers_names()
        return True

    def __enter__(self):
        return callers_names()

    def __exit__(self, *exc):
        self.left = callers_names()

    def __call__(self):
        return callers_names()

    def __iter__(self):
        yield callers_names()

    def __contains__(self, item):
        self.seen = callers_names()
        return True

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

    def __eq__(self, other):
        return callers_names()

    def __str__(self):
        return repr(callers_names())


def from_init(x, events):
    y = x + 1
    return Looker(y).made_by, y


def from_method(x, events):
    looker = Looker(x * 2)
    return looker.method()


def from_property(x, events):
    looker = Looker(x * 2)
    return looker.prop, looker.a


def from_operator(x, events):
    looker = Looker(x * 2)
    return looker + 1, looker[0], looker()


def from_len(x, events):
    looker = Looker(x * 2)
    return len(looker), looker.seen


def from_truth(x, events):
    looker = Looker(x * 2)
    if looker:
        return looker.seen
    return None


def from_with(x, events):
    looker = Looker(x * 2)
    with looker as names:
        y = x + 1
    return names, looker.left, y


def from_iteration(x, events):
    return [names for names in Looker(x)], x + 1


def from_contains(x, events):
    looker = Looker(x * 2)
    return 3 in looker, looker.seen


def from_equality(x, events):
    looker = Looker(x * 2)
    return looker == 3


def from_str(x, events):
    looker = Looker(x * 2)
    return str(looker), f"{looker}"


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args), callers_names()

    return wrapper


@decorated
def wrapped(a):
    return a + 1, callers_names()


def from_decorator(x, events):
    return wrapped(x)


def from_partial(x, events):
    return functools.partial(callers_local, "y")() if False else functools.partial(callers_name)(), x + 1


def from_map(x, events):
    y = x + 1
    return list(map(lambda i: callers_names(), range(2))), y


def from_sorted_key(x, events):
    y = x + 1

    def key(i):
        events.append(callers_names())
        return -i

    return sorted([1, 2, 3], key=key), y


def from_reduce(x, events):
    def add(a, b):
        events.append(callers_names())
        return a + b

    return functools.reduce(add, [x, x, x])


def from_apply_along_axis(x, events):
    def total(row):
        events.append(callers_name())
        return row.sum()

    return np.apply_along_axis(total, 0, x)


def from_vectorize(x, events):
    def one(v):
        events.append(sys._getframe(0).f_code.co_name)
        return v + 1

    return np.vectorize(one)(x)


def make_named_tuple(x, events):
    point = namedtuple("point", "a b")
    return point.__module__, point(x + 1, 2).a


def make_dataclass(x, events):
    @dataclass
    class Local:
        a: object

    return Local.__module__, Local.__qualname__, Local(x + 1).a


def make_class(x, events):
    class Local:
        def value(self):
            return x + 1

    return Local.__module__, Local.__qualname__, Local().value()


def functional_enum(x, events):
    import enum

    color = enum.Enum("color", "red blue")
    return color.__module__, [one.name for one in color], x + 1


def new_type(x, events):
    import typing

    number = typing.NewType("number", int)
    variable = typing.TypeVar("variable")
    return number.__module__, variable.__module__, x + 1


# Warnings.
def warn_here(x, events):
    y = x + 1
    warnings.warn("here")
    return y


def warn_caller(x, events):
    y = x + 1
    deprecated("old")
    return y


def warn_level_one(x, events):
    y = x + 1
    deprecated("inside", level=1)
    return y


def warn_level_three(x, events):
    def middle(a):
        deprecated("three up", level=3)
        return a * 2

    return middle(x) + 1


def warn_level_many(x, events):
    deprecated("far up", level=50)
    return x + 1


def warn_level_harness(x, events):
    deprecated("harness", level=3)
    return x + 1


def warn_in_loop(x, events):
    total = 0.0
    for i in range(3):
        deprecated(f"round {i}")
        total = total + x.sum()
    return total


def warn_same_in_loop(x, events):
    for _ in range(3):
        warnings.warn("again")
    return x + 1


def warn_two_lines(x, events):
    warnings.warn("same text")
    y = x * 2
    warnings.warn("same text")
    return y


def warn_recorded(x, events):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = x + 1
        warnings.warn("recorded")
        deprecated("recorded, too")
    return y, [(str(one.message), one.lineno, one.filename == __file__) for one in caught]


def warn_as_error(x, events):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            deprecated("raised")
        except DeprecationWarning as error:
            return str(error), traceback.extract_tb(error.__traceback__)[-1].name, x + 1


def warn_registry(x, events):
    warnings.warn("registered")
    return sorted(
        str(key[0]) for key in globals().get("__warningregistry__", {}) if isinstance(key, tuple)
    ), x + 1


def warn_numpys(x, events):
    y = x - x
    return 1 / y


def warn_numpys_in_helper(x, events):
    def divide(a):
        return 1 / (a - a)

    return divide(x) + 1


def warn_explicit(x, events):
    y = x + 1
    warnings.warn_explicit("explicit", UserWarning, "some_file.py", 17)
    return y


def warn_method(x, events):
    class Old:
        def use(self):
            warnings.warn("method", FutureWarning, stacklevel=2)
            return 1

    return x + Old().use()


def warn_decorated(x, events):
    def old(function):
        @functools.wraps(function)
        def wrapper(*args):
            warnings.warn(f"{function.__name__} is old", DeprecationWarning, stacklevel=2)
            return function(*args)

        return wrapper

    @old
    def compute(a):
        return a * 2

    return compute(x)


def warn_by_alias(x, events, warn=warnings.warn):
    y = x * 2
    warn("aliased", stacklevel=1)
    return y


def warn_from_init(x, events):
    class Thing:
        def __init__(self, a):
            warnings.warn("made", stacklevel=2)
            self.a = a

    return Thing(x + 1).a


def warn_from_property(x, events):
    class Thing:
        @property
        def a(self):
            warnings.warn("read", stacklevel=2)
            return 1

    thing = Thing()
    return thing.a + x


def warn_in_finally(x, events):
    try:
        y = x + 1
    finally:
        warnings.warn("finally")
    return y


def warn_in_with(x, events):
    with np.errstate(all="ignore"):
        y = 1 / (x - x)
        warnings.warn("inside")
    return y


def warn_in_generator(x, events):
    def numbers():
        for i in range(3):
            warnings.warn("generated", stacklevel=2)
            yield i

    return x + sum(numbers())


def warn_multi_line(x, events):
    y = np.add(
        x,
        deprecated("multi-line") or 1,
    )
    return y


def warn_skip_prefixes(x, events):
    if sys.version_info >= (3, 12):
        warnings.warn("skipping", skip_file_prefixes=("nowhere",))
    return x + 1


# Logs.
def log_here(x, events):
    y = x + 1
    logger.warning("sum %.1f", y.sum())
    return y


def log_stack(x, events):
    y = x + 1
    logger.info("with stack", stack_info=True)
    return y


def log_level(x, events):
    def note(text):
        logger.info(text, stacklevel=2)

    y = x + 1
    note("from helper")
    return y


def log_exception(x, events):
    try:
        raise ValueError("logged")
    except ValueError:
        logger.exception("caught")
    return x + 1


def log_exception_from_helper(x, events):
    def fail(a):
        b = a + 1
        raise KeyError("helper")

    try:
        fail(x)
    except KeyError:
        logger.exception("caught")
    return x + 1


def find_caller(x, events):
    y = x * 2
    _, line, name, _ = logger.findCaller()
    return line, name, y


def redirected(x, events):
    with contextlib.redirect_stdout(sys.stderr):
        print("redirected")
    return x + 1


def print_stack(x, events):
    y = x + 1
    names = [(one.name, one.lineno) for one in traceback.extract_stack() if one.filename == __file__]
    return names, y


def format_stack(x, events):
    y = x + 1
    return [line for line in traceback.format_stack() if "frame_programs" in line], y


def walk_stack(x, events):
    y = x + 1
    return [
        (f.f_code.co_name, line) for f, line in traceback.walk_stack(None) if f.f_code.co_filename == __file__
    ], y


def frame_info(x, events):
    y = x + 1
    info = inspect.getframeinfo(helper_frame())
    return info.function, info.lineno, info.code_context, y


def arg_values(x, events):
    y = x + 1
    values = inspect.getargvalues(helper_frame())
    return values.args, sorted(values.locals), y


def numexpr_like(expression):
    frame = sys._getframe(1)
    return eval(expression, frame.f_globals, frame.f_locals)


def evaluate_in_caller(x, events):
    a = x * 2
    b = a + 1
    return numexpr_like("a * b + SCALE")


def evaluate_twice(x, events):
    a = x * 2
    first = numexpr_like("a + 1")
    a = a + 10
    return first, numexpr_like("a + 1")


def template(text):
    return text.format(**sys._getframe(1).f_locals)


def formatted_by_caller(x, events):
    size = x.size
    total = float(x.sum())
    return template("{size} {total}")


def own_name(x, events):
    return x + 1, inspect.currentframe().f_code.co_name


def getframe_by_alias(x, events, get=sys._getframe):
    y = x + 1
    return get().f_code.co_name, get().f_lineno, y


def getframe_too_deep(x, events):
    y = x + 1
    try:
        callers_far(100000)
    except ValueError as error:
        return str(error), y


def callers_far(depth):
    return sys._getframe(depth)


def through_module(x, events):
    return inspect.getmodule(helper_frame()).__name__, x + 1


def super_call(x, events):
    class Base:
        def value(self, a):
            return a + 1, callers_names()

    class Derived(Base):
        def value(self, a):
            return super().value(a * 2)

    return Derived().value(x)


def closure_of_caller(x, events):
    factor = 3

    def inner():
        return callers_local("factor") * factor

    return x * inner()


def cell_of_caller(x, events):
    factor = 3

    def inner():
        return factor

    return callers_local("factor"), x * inner()


def nonlocal_of_caller(x, events):
    count = 0

    def inner():
        nonlocal count
        count += 1

    inner()
    print("between")
    inner()
    return callers_local("count"), x + count


def recursion(x, events):
    def down(a, n):
        if n == 0:
            return a, len(callers_names())
        return down(a + 1, n - 1)

    return down(x, 3)


def in_handler(x, events):
    try:
        raise ValueError("x")
    except ValueError:
        names = callers_names()
    return names, x + 1


def in_finally(x, events):
    try:
        y = x + 1
    finally:
        names = callers_names()
    return names, y


def in_loop(x, events):
    lines = []
    for i in range(3):
        lines.append(callers_line())
        x = x + i
    return lines, x


def in_native_loop(x, events):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    events.append(callers_line())
    for i in range(len(x)):
        total += x[i] * 2
    return total, callers_names()


def callback_default_argument(x, events):
    def call(a, name=callers_name()):
        return a + 1, name

    return call(x)


def write_through_locals(x, events):
    factor = 2
    if sys.version_info >= (3, 13):
        sys_frame = helper_frame()
        sys_frame.f_locals["factor"] = 5
    return x * factor


def gc_referrers(x, events):
    import gc

    thing = [1, 2, 3]
    y = x + 1
    return any(isinstance(one, dict) and one is globals() for one in gc.get_referrers(SCALE)), len(thing), y


def timing_decorator(x, events):
    def timed(function):
        def wrapper(*args):
            events.append(("enter", callers_name()))
            result = function(*args)
            events.append(("leave", callers_name()))
            return result

        return wrapper

    @timed
    def work(a):
        return a * 2

    return work(x)


PROGRAMS = programs_of(globals())
