"""weft.jit.trace: a function or module run once and recorded as TorchScript."""

import functools
import inspect
import itertools
import threading
import warnings

import weft
from weft import nn
from weft._C import _trace as _C

from ._module import ScriptModule, wrap
from ._script import script
from ._trace_hooks import hooks
from ._tracer import Tracer, TracerWarning, is_tracing, paused, warn
from ._values import ScriptFunction

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


def _like(example, value):
    """The recorded inputs, arrays of weft.numpy where the examples are."""
    if isinstance(example, weft.Tensor):
        return type(example)(value)
    if isinstance(example, (tuple, list)):
        return type(value)(_like(one, other) for one, other in zip(example, value))
    return {key: _like(item, value[key]) for key, item in example.items()}


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


_taken = set()
_taken_lock = threading.Lock()


def _unique_name(name):
    """Names are given once in a process, as traced functions and modules may come together in one archive."""
    with _taken_lock:
        owner, _, last = name.rpartition(".")
        for i in itertools.count():
            if name not in _taken:
                _taken.add(name)
                return name
            name = f"{owner}.___torch_mangle_{i}.{last}"


class Program:
    """What a trace becomes: functions, or the modules below a module, each with its number. is_check: for comparison
    only."""

    def __init__(self, module=None, is_check=False):
        self.c = _C.Program()
        self._name = str if is_check else _unique_name
        self.numbers = {}  # by identity
        self.scripted = {}  # script modules, by the address of their object
        if module is not None:
            self._add(module)

    def _add(self, module):
        if id(module) in self.numbers:
            return self.numbers[id(module)]
        if isinstance(module, ScriptModule):
            number = self.numbers[id(module)] = self.scripted[module._c.address] = self.c.add_script(
                module._c
            )
            return number
        number = self.numbers[id(module)] = self.c.add(self._name(_class_name(module)), module.training)
        for name, tensor in module._parameters.items():
            self.c.add_tensor(number, name, tensor, True, True)
        for name, tensor in module._buffers.items():
            self.c.add_tensor(number, name, tensor, False, name not in module._non_persistent_buffers_set)
        for name, child in module._modules.items():
            if child is not None:
                self.c.add_child(number, name, self._add(child))
        return number


# ---- one run -------------------------------------------------------------------------------------------------
class _Run:
    """One recorded run: `nodes`, the lines of its graph, and `recorder`, to make a function of it."""

    def __init__(self, program, function, args, kwargs, strict, signature=None):
        tracer = Tracer(program)
        self.recorder = tracer.recorder
        names = _parameter_names(signature or function, args, kwargs)
        for name, value in zip(names, [*args, *kwargs.values()]):
            _check_input(value, name)
        with hooks.installed(), tracer.active():
            tracer.mark()
            given = [
                _like(value, self.recorder.add_input(name, value))
                for name, value in zip(names, [*args, *kwargs.values()])
            ]
            output = function(*given[: len(args)], **dict(zip(kwargs, given[len(args) :])))
            _check_output(tracer, output, strict)
            self.nodes = self.recorder.finish_graph(output)


def _first_difference(one, other):
    """Where two runs' graphs differ first, as text; None where they are equal."""
    for i in range(max(len(one), len(other))):
        left = one[i] if i < len(one) else ("the end", "")
        right = other[i] if i < len(other) else ("the end", "")
        if left[0] != right[0]:
            return "\n".join(
                f"  {label}: {text}{f'  at {line}' if line else ''}"
                for label, (text, line) in (("first run ", left), ("second run", right))
            )
    return None


def _mismatch(expected, actual, tolerance):
    """How two results differ, as text; None where they agree."""
    wanted, got = dict(_tensors(expected)), dict(_tensors(actual))
    if wanted.keys() != got.keys():
        return f"  the function gives {len(wanted)} tensors, the trace {len(got)}"
    for place, one in wanted.items():
        other = got[place]
        name = f"output{place}"
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"  {name}: the function gives {one.dtype} {tuple(one.shape)}, the trace {other.dtype} {tuple(other.shape)}"
        if not one.numel():
            continue
        close = weft.isclose(one, other, tolerance, tolerance, True)
        if not bool(close.all()):
            wrong = one.numel() - int(weft.count_nonzero(close))
            difference = (
                (one.to(weft.float64) - other.to(weft.float64)).abs()
                if not one.is_complex()
                else (one - other).abs()
            )
            return f"  {name}: {wrong} of {one.numel()} elements differ, by up to {float(weft.nan_to_num(difference).max()):.3g}"
    return None


class _Buffers:
    """What a module's buffers are now, so that each run of a check starts with the same."""

    def __init__(self, module):
        self._saved = [] if module is None else [(buffer, buffer.clone()) for buffer in module.buffers()]

    def restore(self):
        for buffer, saved in self._saved:
            buffer.copy_(saved)


def _check(make_run, function, traced, first, args, kwargs, tolerance, module=None):
    """Compares a trace with what it was made from, on arguments and buffers of their own for each run."""
    buffers = _Buffers(module)

    def call(function):
        buffers.restore()
        result = _clone(function(*_clone(args), **_clone(kwargs)))
        buffers.restore()
        return result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        second = make_run(_clone(args), _clone(kwargs))
    expected = call(function)
    difference = _first_difference(first.nodes, second.nodes)
    if difference is not None:
        raise TracingCheckError(
            f"weft.jit.trace: two runs of {_name(function)} recorded different graphs; the trace holds for one of them only:\n{difference}"
        )
    actual = call(traced)
    mismatch = _mismatch(expected, actual, tolerance)
    if mismatch is None:
        return
    again = _mismatch(expected, call(function), tolerance)
    if again is not None:
        warn(
            f"The traced function {_name(function)} gives other results each time it is called, so the trace could not be checked:\n{again}"
        )
        return
    raise TracingCheckError(
        f"weft.jit.trace: the trace of {_name(function)} gives other results than the function:\n{mismatch}"
    )


def _name(function):
    return getattr(function, "__qualname__", type(function).__name__)


def _check_sets(check_inputs, args, kwargs):
    """(args, kwargs) for each check."""
    if check_inputs is None:
        return [(args, kwargs)]
    return [
        _example_arguments(inputs, None) if not isinstance(inputs, dict) else ((), inputs)
        for inputs in check_inputs
    ]


# ---- the functions of weft.jit -------------------------------------------------------------------------------
def _check_options(check_trace, check_inputs, check_tolerance, strict):
    for name, flag in (("check_trace", check_trace), ("strict", strict)):
        if not isinstance(flag, (bool, int)):
            raise TypeError(f"weft.jit.trace: expected {name} to be True or False, got {flag!r}")
    if check_inputs is not None and not isinstance(check_inputs, (list, tuple)):
        raise TypeError(
            f"weft.jit.trace: expected check_inputs to be a list, got {type(check_inputs).__name__}"
        )
    is_number = isinstance(check_tolerance, (int, float)) and not isinstance(check_tolerance, bool)
    if not is_number or not 0 <= check_tolerance < float("inf"):
        raise ValueError(
            f"weft.jit.trace: expected check_tolerance to be a number of at least 0, got {check_tolerance!r}"
        )


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
):
    """Runs `func` on example inputs and gives what it did to tensors as a ScriptFunction, or a ScriptModule of a module.

    func: a function, or a weft.nn.Module, whose forward is traced; its sub-modules become those of the result.
    example_inputs: a tuple of tensors, or tuples, lists and dictionaries of them; one tensor may stand alone.
    check_trace: run the function and the trace again and compare. check_inputs: a list of tuples to check with instead.
    strict: lists and dictionaries as outputs are refused, as their length might depend on the inputs.
    Python's control flow is not recorded: only what happened for these inputs is. A TracerWarning names each line
    where a Python value was taken from a tensor.
    Raises: TracingCheckError where two runs record different graphs or the trace gives other results.
    """
    if isinstance(func, (ScriptFunction, ScriptModule)):
        warnings.warn(
            "weft.jit.trace: the function is compiled already; it is given back as it is", stacklevel=2
        )
        return func
    _check_options(check_trace, check_inputs, check_tolerance, strict)
    options = {"check_tolerance": check_tolerance, "strict": strict, "check_trace": check_trace}
    owner = getattr(func, "__self__", None)
    if isinstance(func, nn.Module) or (isinstance(owner, nn.Module) and func.__name__ == "forward"):
        module = func if isinstance(func, nn.Module) else owner
        checks = None if check_inputs is None else [{"forward": each} for each in check_inputs]
        return _trace_methods(
            module, {"forward": example_inputs}, checks, {"forward": example_kwarg_inputs}, **options
        )
    if not callable(func):
        raise TypeError(f"weft.jit.trace: expected a function or a module, got {type(func).__name__}")
    args, kwargs = _example_arguments(example_inputs, example_kwarg_inputs)
    checks = _check_sets(check_inputs, *_clone((args, kwargs))) if check_trace else []
    run = _Run(Program(), func, args, kwargs, strict)
    name = getattr(func, "__name__", type(func).__name__)
    name = name if name.isidentifier() else "function"
    traced = ScriptFunction(run.recorder.finish_function(_unique_name(f"__torch__.{name}")), func)
    for check_args, check_kwargs in checks:
        _check(
            lambda a, k: _Run(Program(), func, a, k, strict),
            func,
            traced,
            run,
            check_args,
            check_kwargs,
            check_tolerance,
        )
    return traced


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
):
    """Traces several methods of a module: `inputs` has the example inputs of each by its name. See trace()."""
    if not isinstance(mod, nn.Module):
        raise TypeError(f"weft.jit.trace_module: expected a weft.nn.Module, got {type(mod).__name__}")
    if not isinstance(inputs, dict) or not inputs:
        raise TypeError(
            "weft.jit.trace_module: inputs must be a dictionary of a method's name to its example inputs"
        )
    _check_options(check_trace, check_inputs, check_tolerance, strict)
    keywords = inputs if example_inputs_is_kwarg else {}
    inputs = dict.fromkeys(inputs) if example_inputs_is_kwarg else inputs
    return _trace_methods(
        mod,
        inputs,
        check_inputs,
        keywords,
        check_tolerance=check_tolerance,
        strict=strict,
        check_trace=check_trace,
    )


def _trace_methods(module, inputs, check_inputs, keywords, check_tolerance, strict, check_trace):
    def run(program, name, args, kwargs):
        function = module if name == "forward" else getattr(module, name)
        return _Run(program, function, args, kwargs, strict, getattr(module, name))

    program = Program(module)
    runs, examples = {}, {}
    for name, example in inputs.items():
        args, kwargs = _example_arguments(example, keywords.get(name))
        examples[name] = _clone((args, kwargs))
        runs[name] = run(program, name, args, kwargs)
    for name, one in runs.items():
        one.recorder.finish_method(name)
    traced = wrap(program.c.module(0))
    for name, one in runs.items() if check_trace else ():
        function, method = (
            (module, traced) if name == "forward" else (getattr(module, name), getattr(traced, name))
        )
        again = functools.partial(
            lambda name, args, kwargs: run(Program(module, is_check=True), name, args, kwargs), name
        )
        sets = [examples[name]]
        if check_inputs is not None:
            sets = [_example_arguments(each[name], None) for each in check_inputs if name in each]
        for args, kwargs in sets:
            _check(again, function, method, one, args, kwargs, check_tolerance, module)
    return traced


def script_if_tracing(fn):
    """A function that is compiled when it is called while tracing, so that its control flow is kept."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if not is_tracing():
            return fn(*args, **kwargs)
        with paused():
            compiled = _scripted(fn)
        return compiled(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


@functools.cache
def _scripted(fn):
    return script(fn)


# In a function that weft.compile captures, Python makes the trace, of what runs then.
trace._weft_disabled = trace_module._weft_disabled = "it records what runs"
