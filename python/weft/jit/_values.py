"""Errors, functions and futures of TorchScript in Python."""

import collections
import contextlib
import enum
import threading

from weft._C import _jit

from ._saving import write, written
from ._tracer import is_tracing


class Error(RuntimeError):
    """An error in a script, with the script's stack. It is also of the Python type that the same mistake raises
    elsewhere: an index out of range in a script is caught by `except IndexError` as well."""


_error_classes = {RuntimeError: Error}


def error_class(kind):
    """The Error that is also a `kind`."""
    if kind not in _error_classes:
        _error_classes[kind] = type(
            "Error", (Error, kind), {"__module__": "weft.jit", "__doc__": Error.__doc__}
        )
    return _error_classes[kind]


Error.__module__ = "weft.jit"


@contextlib.contextmanager
def called_from(place):
    """Adds, to an error in what is compiled because of a use at `place`, where that is."""
    try:
        yield
    except Error as error:
        if place and hasattr(error, "add_note"):
            error.add_note(f"compiled because of its use at {place}")
        raise


# ---- values of TorchScript types -------------------------------------------------------------------------------

# Python's classes by the qualified names of their TorchScript types, where weft.jit.script has compiled them.
python_classes = {}
_enum_classes = {}


def enum_class(qualified_name, names, values):
    """Python's class of an enumeration: the one that was compiled, or one like it."""
    if qualified_name in python_classes:
        return python_classes[qualified_name]
    key = (qualified_name, *names)
    if key not in _enum_classes:
        _enum_classes[key] = enum.Enum(qualified_name.rpartition(".")[2], list(zip(names, values)))
    return _enum_classes[key]


_tuple_classes = {}


def named_tuple_class(qualified_name, fields):
    """Python's class of a NamedTuple: the one that was compiled, or one like it."""
    if qualified_name in python_classes:
        return python_classes[qualified_name]
    key = (qualified_name, *fields)
    if key not in _tuple_classes:
        _tuple_classes[key] = collections.namedtuple(qualified_name.rpartition(".")[2], fields)
    return _tuple_classes[key]


# ---- functions -------------------------------------------------------------------------------------------------


class ScriptFunction:
    """A compiled function. Calls are checked against its schema and run without Python's interpreter lock."""

    def __init__(self, c, function=None):
        self._c = c
        if function is not None:
            self.__wrapped__ = function
            self.__doc__ = function.__doc__
            self.__module__ = function.__module__
        self.__name__ = c.name
        self.__qualname__ = c.qualified_name

    def __call__(self, *args, **kwargs):
        return self._c(*args, **kwargs)

    @property
    def name(self):
        return self._c.name

    @property
    def qualified_name(self):
        return self._c.qualified_name

    @property
    def schema(self):
        """The signature, as in "f(Tensor x, int n=2) -> Tensor"."""
        return self._c.schema

    @property
    def code(self):
        """TorchScript source of the function, as an archive holds it."""
        return self._c.code

    @property
    def graph(self):
        """The graph that the compiler made, as text."""
        return self._c.graph

    @property
    def inlined_graph(self):
        """The graph with the bodies of the functions it calls in their places, as text."""
        return self._c.inlined_graph

    def save(self, f, _extra_files=None):
        """Writes the function as the forward() of a module; see weft.jit.save."""
        write(_jit.module_of_function(self._c), f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        return written(_jit.module_of_function(self._c), _extra_files)

    def __repr__(self):
        return f"<weft.jit.ScriptFunction {self.schema}>"


def _call_in_graph(self, *args, **kwargs):
    """A call in a function that weft.compile captures: of what was compiled, where that is Python's."""
    function = getattr(self, "__wrapped__", None)
    return self._c(*args, **kwargs) if function is None else function(*args, **kwargs)


ScriptFunction.__call__._when_entered = _call_in_graph


# ---- futures ---------------------------------------------------------------------------------------------------


class Future:
    """A value that is there later: of a task that `fork` started, or set by set_result() or set_exception()."""

    def __init__(self):
        self._c = _jit.Future()
        self._is_python = True  # its value is any Python object, kept here
        self._result = None
        self._exception = None
        self._lock = threading.Lock()

    @classmethod
    def _of(cls, c):
        future = cls.__new__(cls)
        future._c = c
        future._is_python = False
        return future

    def done(self):
        """Is the value, or an error, there?"""
        return self._c.done()

    def wait(self):
        """The value, once it is there. Meanwhile this thread runs other forked tasks. Raises the task's error."""
        value = self._c.wait()
        if not self._is_python:
            return value
        if self._exception is not None:
            raise self._exception
        return self._result

    def value(self):
        """The value, which must be there. RuntimeError if it is not; raises the task's error."""
        if not self.done():
            raise RuntimeError("Future.value(): the future is not done yet; wait() waits for it")
        return self.wait()

    def _finish(self, result, exception):
        if not self._is_python:
            raise RuntimeError("Future: the value of a forked task cannot be set")
        with self._lock:
            if self.done():
                raise RuntimeError("Future: it has a value already")
            self._result, self._exception = result, exception
            self._c.set_none()

    def set_result(self, result):
        """Gives the future its value. RuntimeError if it has one."""
        self._finish(result, None)

    def set_exception(self, exception):
        """wait() raises `exception`. RuntimeError if the future has a value."""
        if not isinstance(exception, BaseException):
            raise TypeError(f"set_exception: expected an exception, got {type(exception).__name__}")
        self._finish(None, exception)

    def add_done_callback(self, callback):
        """Calls callback(future) when the future is done, on the thread that finished it; at once if it is."""
        self._c.add_callback(lambda: callback(self))

    def then(self, callback):
        """A future of callback(self), which is called when this one is done."""
        result = Future()

        def call(done):
            try:
                value = callback(done)
            except Exception as error:
                result.set_exception(error)
            else:
                result.set_result(value)

        self.add_done_callback(call)
        return result

    def __repr__(self):
        return f"<weft.jit.Future {'done' if self.done() else 'pending'}>"


Future.__module__ = ScriptFunction.__module__ = "weft.jit"


def fork(func, *args, **kwargs):
    """Starts func(*args, **kwargs) on the inter-op pool and returns its Future.

    func: a ScriptFunction, ScriptModule or one of its methods. Any other callable is run at once, before fork
    returns, as PyTorch does. In a script, fork and wait are the language's own.
    """
    if not is_tracing():  # a trace records the call in its place
        start = getattr(func, "_weft_fork", None)
        if start is not None:
            return Future._of(start(args, kwargs))
        if isinstance(func, ScriptFunction):
            return Future._of(func._c.fork(*args, **kwargs))
    if not callable(func):
        raise TypeError(f"fork: expected a callable, got {type(func).__name__}")
    future = Future()
    try:
        result = func(*args, **kwargs)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    return future


def wait(future):
    """The value of a Future, see Future.wait."""
    if not isinstance(future, Future):
        raise TypeError(f"wait: expected a Future, got {type(future).__name__}")
    return future.wait()
