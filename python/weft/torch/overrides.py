"""torch.overrides: which calls classes and modes take over, and how (`_overriding`)."""

import contextlib
import functools
import types

import weft

from . import _function_names, _overriding
from ._overriding import (  # noqa: F401
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the innermost mode, or the first argument that has an answer, makes of the call. raises: TypeError where none has."""
    return _overriding.handle(public_api, _overriding.overriding(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher):
    """A decorator: dispatcher(*args, **kwargs) gives the arguments whose classes may take the function over."""

    def wrap(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return wrap


def is_tensor_like(inp):
    """Is it a tensor, or of a class with a __torch_function__?"""
    return isinstance(inp, weft.Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func):
    """Is it a method of Tensor's, or a property's getter?"""
    return _function_names.is_method(func) or getattr(func, "__name__", None) == "__get__"


@functools.cache
def get_ignored_functions():
    """The functions that no __torch_function__ is asked about: those with no tensor among their arguments."""
    from weft import torch

    found = {
        getattr(torch, name)
        for name in _function_names.IGNORED
        if hasattr(torch, name) and callable(getattr(torch, name))
    }
    return found | {
        getattr(weft.Tensor, name)
        for name in ("__new__", "__init__", "as_subclass")
        if hasattr(weft.Tensor, name)
    }


@functools.cache
def get_overridable_functions():
    """From each namespace to its functions that a __torch_function__ is asked about."""
    from weft import torch
    from weft.torch import _names, fft, linalg, special

    ignored = get_ignored_functions()
    found = {}
    for module, names in (
        (torch, [name for name in _names.FUNCTIONS.found if not name.startswith("_")]),
        (torch.nn.functional, dir(torch.nn.functional)), (linalg, dir(linalg)), (fft, dir(fft)), (special, dir(special)),
    ):  # fmt: skip
        values = [getattr(module, name, None) for name in names if not name.startswith("_")]
        found[module] = [
            value for value in values if _function_names.public_name(value) and value not in ignored
        ]
    found[weft.Tensor] = [
        getattr(weft.Tensor, name)
        for name in dir(weft.Tensor)
        if callable(getattr(weft.Tensor, name)) and _function_names.is_method(getattr(weft.Tensor, name))
    ]
    return found


@functools.cache
def get_testing_overrides():
    """From each overridable function to one with its parameters that gives -1."""
    return {
        function: (lambda *args, **kwargs: -1)
        for values in get_overridable_functions().values()
        for function in values
    }


def resolve_name(f):
    """The dotted name of a function; None of one that is not torch's."""
    if isinstance(f, (str, types.ModuleType)):
        return None
    return _function_names.called_name(f)


def enable_reentrant_dispatch():
    return contextlib.nullcontext()


class TorchFunctionMode:
    """Within, each call of a function of torch is given to __torch_function__(func, types, args, kwargs), which subclasses have;
    meanwhile the mode is not on. The innermost mode comes first."""

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _overriding.push_mode(self)
        return self

    def __exit__(self, *error):
        _overriding.pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that calls the functions."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    return next(reversed(_overriding.modes()), None)


def _get_current_function_mode_stack():
    return list(_overriding.modes())


def _len_torch_function_stack():
    return len(_overriding.modes())


@contextlib.contextmanager
def _pop_mode_temporarily():
    with _overriding.without_innermost() as mode:
        yield mode
