"""Methods of Tensor that are no operators, functions that make tensors of data, and calls of modules: what a thread that
traces records of them. The hooks stand in their classes while any thread traces, and cost nothing when none does.
"""

import contextlib
import threading

import weft
from weft._C import _ndarray
from weft.nn.modules import module as _module

from ._module import ScriptMethod, ScriptModule
from ._trace_rules import FUNCTIONS, METHODS, PROPERTIES, composed
from ._tracer import current
from ._values import ScriptFunction


class _Hooks:
    """Functions in the place of others."""

    def __init__(self):
        self._lock = threading.Lock()
        self._users = 0
        self._originals = []
        self._recordings = []

    @contextlib.contextmanager
    def installed(self):
        """They stand there until the last of those who asked for them is done."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._install()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    _module._while_traced = None
                    while self._recordings:
                        self._recordings.pop().take_back()
                    while self._originals:
                        owner, name, original = self._originals.pop()
                        setattr(owner, name, original)

    def _install(self):
        for name, rule in METHODS.items():
            self._replace(weft.Tensor, name, lambda original, rule=rule: _dispatching(original, rule))
        for name, rule in PROPERTIES.items():
            self._replace(
                weft.Tensor, name, lambda original, rule=rule: property(_dispatching(original.__get__, rule))
            )
        for name in vars(_ndarray).keys() & {*METHODS, *PROPERTIES}:
            self._replace(_ndarray, name, lambda original, name=name: _of_arrays(original, name))
        for name, rule in FUNCTIONS.items():
            self._replace(weft, name, lambda original, rule=rule: _dispatching(original, rule))
        self._recordings = composed.put()
        if weft.nn.Module.__call__ is _module._plain_call:
            _module._while_traced = _traced_module
        else:  # hooks of all modules stand there
            self._replace(weft.nn.Module, "__call__", _dispatching_module)
        self._replace(weft.ops.Builtin, "__call__", _dispatching_builtin)
        self._replace(ScriptFunction, "__call__", _dispatching_script)
        self._replace(ScriptMethod, "__call__", _dispatching_script_method)
        self._replace(ScriptModule, "__call__", _dispatching_script_module)

    def _replace(self, owner, name, make):
        original = vars(owner)[name]
        self._originals.append((owner, name, original))
        setattr(owner, name, make(original))


def _dispatching(original, rule):
    """`original` for threads that do not trace; else rule(original, …)."""

    def method(*args, **kwargs):
        if current() is None:
            return original(*args, **kwargs)
        return rule(original, *args, **kwargs)

    return method


def _of_arrays(original, name):
    """The method or property of weft.numpy's arrays: that of the tensor on the same memory, which a trace knows."""
    is_property = not callable(original)

    def method(self, *args, **kwargs):
        if current() is None:
            return original.__get__(self) if is_property else original(self, *args, **kwargs)
        found = getattr(weft.Tensor(self), name)
        result = found if is_property else found(*args, **kwargs)
        if isinstance(result, weft.Tensor):
            return _ndarray(result)
        return map(_ndarray, result) if name == "__iter__" else result

    return property(method) if is_property else method


def _call(module, *args, **kwargs):
    compiled = module._compiled_call_impl
    return module._call_impl(*args, **kwargs) if compiled is None else compiled(*args, **kwargs)


def _traced_module(module, args, kwargs):
    tracer = current()
    return (
        _call(module, *args, **kwargs) if tracer is None else tracer.call_module(_call, module, args, kwargs)
    )


def _dispatching_module(original):
    def __call__(self, *args, **kwargs):
        tracer = current()
        if tracer is None:
            return original(self, *args, **kwargs)
        return tracer.call_module(original, self, args, kwargs)

    return __call__


def _dispatching_builtin(original):
    def __call__(self, *args, **kwargs):
        tracer = current()
        if tracer is None:
            return original(self, *args, **kwargs)
        return tracer.call_builtin(self.name, *args, **kwargs)

    return __call__


def _dispatching_script(original):
    def __call__(self, *args, **kwargs):
        tracer = current()
        return (
            original(self, *args, **kwargs) if tracer is None else tracer.call_script(self._c, args, kwargs)
        )

    return __call__


def _dispatching_script_method(original):
    def __call__(self, *args, **kwargs):
        tracer = current()
        if tracer is None:
            return original(self, *args, **kwargs)
        return tracer.call_script_method(self._module, self.name, args, kwargs)

    return __call__


def _dispatching_script_module(original):
    def __call__(self, *args, **kwargs):
        tracer = current()
        if tracer is None:
            return original(self, *args, **kwargs)
        if self._forward_hooks or self._forward_pre_hooks:
            return tracer.call_module(weft.nn.Module.__call__, self, args, kwargs)
        return tracer.call_script_method(self._c, "forward", args, kwargs)

    return __call__


hooks = _Hooks()
