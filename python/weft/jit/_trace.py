"""weft.jit.trace: a function or module run once and recorded as TorchScript."""

import functools
import inspect
import warnings

import weft
from weft import nn
from weft._C import _trace as _C

from ._tracer import Tracer, TracerWarning, current, is_tracing, paused, warn

__all__ = ["TracerWarning", "TracingCheckError", "is_tracing", "script_if_tracing", "trace", "trace_module"]


class TracingCheckError(Exception):
    """The trace does not do what the function does."""


# ---- trees of values -----------------------------------------------------------------------------------------
def _map(value, function):
    """Tensors in tuples, lists and dictionaries replaced by function(tensor); the containers are new."""
    if isinstance(value, weft.Tensor):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(item, function) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_map(item, function) for item in value)
    if isinstance(value, dict):
        return {key: _map(item, function) for key, item in value.items()}
    return value


def _tensors(value, place=""):
    """(place, tensor) of every tensor in a value."""
    if isinstance(value, weft.Tensor):
        yield place, value
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from _tensors(item, f"{place}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(item, f"{place}[{key!r}]")


def _clone(value):
    return _map(value, lambda tensor: tensor.clone())


# ---- arguments -----------------------------------------------------------------------------------------------
def _example_arguments(inputs, kwargs):
    if inputs is None and kwargs is None:
        raise ValueError("weft.jit.trace: example_inputs or example_kwarg_inputs must be given")
    if inputs is None:
        args = ()
    elif isinstance(inputs, (weft.Tensor, dict)):
        args = (inputs,)
    else:
        args = tuple(inputs)
    return args, dict(kwargs or {})


def _parameter_names(function, args, kwargs):
    """A name for each example: that of the function's parameter where it can be told."""
    names = []
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for i in range(len(args)):
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if i < len(positional):
            names.append(positional[i].name)
        else:
            rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "argument")
            names.append(f"{rest}_{i - len(positional)}")
    return names + list(kwargs)


def _check_input(value, name):
    if isinstance(value, weft.Tensor):
        return
    if isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            _check_input(item, f"{name}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_input(item, f"{name}[{key!r}]")
    else:
        raise TypeError(
            f"weft.jit.trace: input '{name}' must be a tensor, or tuples, lists and dictionaries of them, got {type(value).__name__}"
        )


# ---- results -------------------------------------------------------------------------------------------------
def _check_output(tracer, value, strict, place="the output"):
    if isinstance(value, weft.Tensor):
        if not tracer.recorder.is_known(value):
            raise RuntimeError(
                f"weft.jit.trace: {place} does not depend on the inputs by operations that were recorded: it is {value.dtype} "
                f"{tuple(value.shape)}, a constant or computed outside of weft"
            )
        return
    if isinstance(value, (list, dict)) and strict:
        raise RuntimeError(
            f"weft.jit.trace: {place} is a {type(value).__name__}, whose length might depend on the inputs; return a tuple, or pass "
            "strict=False if it is always the same"
        )
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (tuple, list)):
        items = enumerate(value)
    else:
        raise RuntimeError(
            f"weft.jit.trace: {place} is {type(value).__name__}; a traced function gives tensors, or tuples, lists and dictionaries of them"
        )
    for key, item in items:
        _check_output(tracer, item, strict, f"{place}[{key!r}]")


# ---- modules -------------------------------------------------------------------------------------------------
def _class_name(module):
    owner = type(module).__module__
    prefix = "__torch__" if owner == "__main__" else f"__torch__.{owner}"
    return f"{prefix}.{type(module).__name__}"


def _add_modules(program, module, numbers):
    """The module and those below as modules of the program; their numbers by identity."""
    if id(module) in numbers:
        return numbers[id(module)]
    number = numbers[id(module)] = program.add(_class_name(module), module.training)
    for name, tensor in module._parameters.items():
        program.add_tensor(number, name, tensor, True, True)
    for name, tensor in module._buffers.items():
        program.add_tensor(number, name, tensor, False, name not in module._non_persistent_buffers_set)
    for name, child in module._modules.items():
        if child is not None:
            program.add_child(number, name, _add_modules(program, child, numbers))
    return number


# ---- one run -------------------------------------------------------------------------------------------------
class _Run:
    """One recorded run: `nodes`, the lines of its graph, and `recorder`, to make a function of it."""

    def __init__(self, program, modules, function, args, kwargs, strict):
        tracer = Tracer(program, modules)
        self.recorder = tracer.recorder
        names = _parameter_names(function, args, kwargs)
        given = [self.recorder.add_input(name, value) for name, value in zip(names, [*args, *kwargs.values()])]
        with tracer.active():
            output = function(*given[: len(args)], **dict(zip(kwargs, given[len(args) :])))
            _check_output(tracer, output, strict)
            self.nodes = self.recorder.finish_graph(output)


def _trace_function(function, args, kwargs, strict):
    return _Run(_C.Program(), {}, function, args, kwargs, strict)
