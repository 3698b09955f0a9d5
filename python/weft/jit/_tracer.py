"""What a thread does while it traces: operations of tensors are recorded (script/trace/trace.h) and carried out.

Operators of the table reach the Tracer through the thread's handler. The methods of Tensor that are no operators, the
functions that make tensors of data, and calls of modules reach it by hooks (_trace_hooks.py).
"""

import contextlib
import os
import sys
import threading
import warnings

import weft
from weft._C import _trace as _C

from ._trace_registry import OPERATORS

_PACKAGE = os.path.dirname(os.path.abspath(weft.__file__)) + os.sep


class TracerWarning(Warning):
    """Something was recorded as a constant that may differ for other inputs."""

    @staticmethod
    def ignore_lib_warnings():
        """Silences these warnings for the lines of installed libraries."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="(?!__main__)")


class _State(threading.local):
    tracer = None


_state = _State()


def current():
    """The calling thread's Tracer; None when it does not trace."""
    return _state.tracer


def is_tracing():
    """Whether the calling thread traces."""
    return _state.tracer is not None


is_tracing._when_captured = False


# ---- where the user's program is -----------------------------------------------------------------------------
def _user_frame(frame):
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def warn(message, of_values=False):
    """A TracerWarning at the user's line. of_values: it is about what tensors hold, not about their sizes."""
    if current() is not None and not current().warns(message, of_values):
        return
    frame = _user_frame(sys._getframe(1))
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__", "__main__")
    warnings.warn_explicit(message, TracerWarning, frame.f_code.co_filename, frame.f_lineno, module, registry)


def warn_value(tensor, what):
    tracer = current()
    if tracer is not None and tracer.recorder.is_computed(tensor):
        warn(
            f"Converting a tensor to a Python {what} might cause the trace to be incorrect: the value is recorded as a "
            "constant, so the trace might not hold for other inputs.",
            of_values=True,
        )


# ---- sizes ---------------------------------------------------------------------------------------------------
class TracedInt(int):
    """An int of the program that is traced: a size, or what was computed of sizes. It knows its value in the graph."""

    def __new__(cls, value, recorder, number):
        self = super().__new__(cls, value)
        self.recorder = recorder
        self.number = number
        return self

    def _is_live(self, other):
        tracer = current()
        return (
            tracer is not None
            and tracer.recorder is self.recorder
            and (type(other) is int or isinstance(other, TracedInt))
        )

    # Conversions give plain numbers.
    def __int__(self):
        self._warn("integer")
        return int.__index__(self)

    def __float__(self):
        self._warn("float")
        return int.__float__(self)

    def _warn(self, what):
        tracer = current()
        in_library = sys._getframe(2).f_code.co_filename.startswith(_PACKAGE)
        if tracer is not None and tracer.recorder is self.recorder and not in_library:
            warn(
                f"Using a size of a traced tensor as a Python {what} records it as a constant: the trace might not hold for "
                "inputs of other sizes."
            )

    def __reduce__(self):
        return int, (int.__index__(self),)


def _arithmetic(method, builtin):
    plain = getattr(int, f"__{method}__")

    def forward(self, other):
        if self._is_live(other):
            return current().record(builtin, self, other)
        return plain(self, other)

    def reflected(self, other):
        if self._is_live(other):
            return current().record(builtin, other, self)
        return getattr(int, f"__r{method}__")(self, other)

    setattr(TracedInt, f"__{method}__", forward)
    setattr(TracedInt, f"__r{method}__", reflected)


for _method, _builtin in (
    ("add", "add.int"),
    ("sub", "sub.int"),
    ("mul", "mul.int"),
    ("floordiv", "floordiv.int"),
    ("mod", "remainder.int"),
):
    _arithmetic(_method, _builtin)


def _conversion(name, what):
    plain = getattr(int, name)

    def method(self, *others):
        self._warn(what)
        return plain(self, *others)

    setattr(TracedInt, name, method)


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__"):
    _conversion(_name, "boolean")
for _name in ("__truediv__", "__rtruediv__"):
    _conversion(_name, "float")
TracedInt.__hash__ = int.__hash__
TracedInt.__neg__ = lambda self: (
    current().record("neg.int", self) if self._is_live(0) else -int.__index__(self)
)


# ---- recording -----------------------------------------------------------------------------------------------
class _Aten:
    """aten.relu(x): the builtin of that name, recorded and carried out. aten["sum.dim_IntList"]: one overload."""

    def __getattr__(self, name):
        return self[name]

    def __getitem__(self, name):
        return lambda *args, **kwargs: current().record(name, *args, **kwargs)


aten = _Aten()


def _as_given(result):
    """Several tensors are a list in TorchScript, and a tuple where Python asks for them."""
    is_of_tensors = (
        isinstance(result, list) and result and all(isinstance(each, weft.Tensor) for each in result)
    )
    return tuple(result) if is_of_tensors else result


class Tracer:
    """One run of a function or method, recorded.

    program: what the trace becomes part of (weft.jit._trace.Program).
    """

    size_class = TracedInt  # of the graph's ints in Python
    for_pytorch = False  # whether the graph has only what PyTorch has for CPUs

    def __init__(self, program):
        self.recorder = _C.Recorder(program.c, bool(program.numbers), self.size_class)
        self.modules = program.numbers
        self.scripted = program.scripted
        self._depth = 0

    def warns(self, message, of_values):
        """Whether programs are told. May raise instead."""
        return True

    def __call__(self, operator_object, is_inplace, args, kwargs):
        """The handler of the operator table."""
        name = _C.operator_name(operator_object)
        matched, out = _C.match_call(operator_object, args, kwargs)
        self.mark()
        result = NotImplemented
        if is_inplace:
            result = self.recorder.call_operator(name + "_", operator_object, matched)
            if result is not NotImplemented:
                return args[0]
        rule = OPERATORS.get(name)
        if rule is not None:
            result = rule(**{parameter: value for parameter, value, _ in matched})
        if result is NotImplemented:
            result = _as_given(self.recorder.call_operator(name, operator_object, matched))
        if result is NotImplemented:
            raise NotImplementedError(
                f"weft.jit.trace: {name} cannot be recorded with these arguments: there is no TorchScript operator for it"
            )
        if is_inplace:
            out = args[0]
        if out is not None:
            self.record("copy_", out, result)
            return out
        return result

    def record(self, name, *args, **kwargs):
        """Calls the builtin aten::name on objects of this run."""
        return self.call_builtin("aten::" + name, *args, **kwargs)

    def call_builtin(self, name, *args, **kwargs):
        """As record, of any namespace."""
        self.mark()
        return _as_given(self.recorder.call(name, *args, **kwargs))

    def mark(self):
        """What is recorded next comes from the line that the user's program is at."""
        frame = _user_frame(sys._getframe(1))
        self.recorder.set_location(frame.f_code.co_filename, frame.f_lineno)

    def call_script(self, function, args, kwargs):
        """A call of a script function: recorded as a call, so that its control flow is kept."""
        self.mark()
        return self.recorder.call_script(function, *args, **kwargs)

    def call_script_method(self, c, name, args, kwargs):
        number = self.scripted.get(c.address)
        if number is None:
            raise RuntimeError(
                f"weft.jit.trace: the script module {c.type_name} is called, but is not a sub-module of the module that is traced; "
                "make it an attribute of it"
            )
        self.mark()
        return self.recorder.call_method(number, name, *args, **kwargs)

    def call_module(self, call, module, args, kwargs):
        number = None if hasattr(module, "_c") else self.modules.get(id(module))
        if number is None or (self._depth == 0 and number == 0):
            self._depth += 1
            try:
                return call(module, *args, **kwargs)
            finally:
                self._depth -= 1
        self._depth += 1
        self.recorder.enter(number)
        try:
            return call(module, *args, **kwargs)
        finally:
            self.recorder.leave()
            self._depth -= 1

    @contextlib.contextmanager
    def active(self):
        """The calling thread traces."""
        if current() is not None:
            raise RuntimeError(
                "weft.jit.trace: the thread is tracing already; a traced function cannot call trace"
            )
        _state.tracer = self
        _C.set_handler(self)
        try:
            yield self
        finally:
            _C.set_handler(None)
            _state.tracer = None


@contextlib.contextmanager
def paused():
    """The calling thread does not trace for a while."""
    tracer, _state.tracer = _state.tracer, None
    _C.set_handler(None)
    try:
        yield
    finally:
        _state.tracer = tracer
        _C.set_handler(tracer)
