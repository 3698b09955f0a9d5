"""weft.compile and the tools to look into it."""

import copy
import dataclasses
import functools
import sys
import types
import weakref

from . import _C

__all__ = [
    "compile",
    "disable",
    "explain",
    "freeze",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "reset",
    "stats",
    "unfreeze",
]

_MODES = ("default", "reduce-overhead", "max-autotune")
_BACKENDS = ("weft", "eager")
# Settings that options= takes, with the mode that a true one asks for.
_OPTIONS = {"max_autotune": "max-autotune", "reduce_overhead": "reduce-overhead"}
_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")  # of what is wrapped


def _mode_of(mode, options):
    """The mode that mode= and options= ask for together."""
    if options is None:
        return "default" if mode is None else mode
    if mode is not None:
        raise RuntimeError("weft.compile: expected either mode or options, got both")
    if not isinstance(options, dict):
        raise TypeError(f"weft.compile: expected options to be a dict or None, got {options!r}")
    modes = []
    for name, value in options.items():
        if name not in _OPTIONS:
            raise RuntimeError(
                f"weft.compile: unexpected option {name!r}; there are: {', '.join(sorted(_OPTIONS))}"
            )
        if not isinstance(value, bool):
            raise RuntimeError(f"weft.compile: expected option {name!r} to be True or False, got {value!r}")
        modes += [_OPTIONS[name]] if value else []
    return modes[0] if modes else "default"


def _check_settings(fullgraph, dynamic, mode, backend):
    if not isinstance(fullgraph, bool):
        raise TypeError(f"weft.compile: expected fullgraph to be True or False, got {fullgraph!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"weft.compile: expected dynamic to be None, True or False, got {dynamic!r}")
    if mode not in _MODES:
        raise ValueError(f"weft.compile: expected mode to be one of {', '.join(_MODES)}, got {mode!r}")
    if backend not in _BACKENDS:
        raise ValueError(
            f"weft.compile: expected backend to be one of {', '.join(_BACKENDS)}, got {backend!r}"
        )


def _is_module(fn):
    nn = sys.modules.get("weft.nn")  # there are no modules before it is imported
    return nn is not None and isinstance(fn, nn.Module)


def _uncompiled(fn):
    """What a compiled function or module was made of; anything else itself."""
    if _is_module(fn):
        return fn.__wrapped__ if isinstance(fn, sys.modules["weft.nn"].OptimizedModule) else fn
    if isinstance(fn, _C._CompiledFunction):
        return fn.__wrapped__
    # torch's own functions, while calls of them are offered to classes (weft.torch._overriding).
    return fn._when_entered if isinstance(fn, types.FunctionType) and hasattr(fn, "_when_entered") else fn


def compile(
    fn=None, *, fullgraph=False, dynamic=None, backend="weft", mode=None, options=None, disable=False
):
    """The function `fn`, compiled: a callable that gives what fn gives, array programs in it as fused loops.

    The first call with arguments of a new kind captures and compiles; later calls check guards and run. What
    cannot be captured is performed by Python, in order.

    Of a weft.nn.Module it makes a module: calls are compiled, all else is the module's own (weft.nn.OptimizedModule).
    Parameters and buffers are inputs, so a changed weight is seen at the next call.

    fullgraph: raise, showing the line, where one graph cannot hold the whole function. min() and max() of two 0-d tensors, or
        of one and a number, are a tensor then, whichever it is, as in PyTorch.
    dynamic:   None: a size or number that changes becomes symbolic on its second value; True: at once; False: never.
    backend:   "weft", or "eager": every call is fn's own.
    mode:      "default", "reduce-overhead" or "max-autotune"; None: the default, or what options ask for.
               "reduce-overhead": sizes that come again are run from a prepared list of calls, with what is between them
               in one block of memory, which is kept; results have memory of their own, and are never overwritten.
               "max-autotune": products are computed in the way that is measured to be the fastest for their sizes, by
               the first calls, once: the choice is kept beside compiled kernels, of GPUs in the process
               (WEFT_LOGS=autotune shows it). Results are within the operators' error bounds, as always, but may be
               rounded otherwise than by default.
    options:   instead of mode: {"reduce_overhead": bool, "max_autotune": bool}.
    disable:   True gives fn itself.

    Compiled functions are pickled by name, as functions are, or as what they wrap and these options; what was compiled
    is made again where they are loaded.

    Without fn, a decorator. raises: TypeError unless fn is callable and fullgraph and dynamic are as above; ValueError
    for an unknown mode or backend; RuntimeError for unknown options, or options beside mode.
    """
    mode = _mode_of(mode, options)
    _check_settings(fullgraph, dynamic, mode, backend)
    if fn is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, disable=disable
        )
    if not callable(fn):
        raise TypeError(f"weft.compile: expected a callable, got {type(fn).__name__}")
    fn = _uncompiled(fn)
    if disable or _is_disabled(fn):
        return fn
    compiled = _C._make_callable(fn, fullgraph, dynamic, mode, backend)
    if _is_module(fn):
        return sys.modules["weft.nn"].OptimizedModule(fn, compiled)
    for name in _COPIED:
        if hasattr(fn, name):
            setattr(compiled, name, getattr(fn, name))
    return compiled


# ---- what is not compiled, and what is symbolic --------------------------------------------------------------------


def _is_disabled(fn):
    return getattr(fn, "__dict__", {}).get("_weft_disabled", False)


def disable(fn=None, recursive=True, *, reason=None):
    """The function `fn` as one that is never compiled: a compiled function that calls it ends its graph there, and Python
    performs the call. Of a weft.nn.Module, calls of its forward(). Without fn, a decorator.

    recursive: True or False: what fn calls is performed by Python too, but for compiled functions, either way.
    reason:    why, for WEFT_LOGS=graph_breaks and weft.compiler.explain.

    raises: TypeError unless fn is callable and reason a str.
    """
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"weft.compiler.disable: expected reason to be a str, got {type(reason).__name__}")
    if not isinstance(recursive, bool):
        raise TypeError(f"weft.compiler.disable: expected recursive to be a bool, got {recursive!r}")
    if fn is None:
        return functools.partial(disable, reason=reason)
    if not callable(fn):
        raise TypeError(f"weft.compiler.disable: expected a callable, got {type(fn).__name__}")
    fn = _uncompiled(fn)
    if _is_module(fn):
        fn.__dict__["forward"] = disable(fn.forward, reason=reason)
        return fn

    @functools.wraps(fn)
    def call_plain(*args, **kwargs):
        return fn(*args, **kwargs)

    call_plain._weft_disabled = reason or True
    return call_plain


def is_compiling():
    """True where it is asked while weft.compile captures a program."""
    return False


is_compiling._when_captured = True


_marked = {}  # id of a tensor -> (a weak reference that takes the entry out, {dimension: is dynamic})


def _mark(function, tensor, index, is_dynamic):
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(f"weft.compiler.{function}: expected a Tensor, got {type(tensor).__name__}")
    dims = index if isinstance(index, (list, tuple, range)) else (index,)
    for dim in dims:
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise TypeError(
                f"weft.compiler.{function}: expected a dimension as an int, got {type(dim).__name__}"
            )
        if not -tensor.ndim <= dim < tensor.ndim:
            raise IndexError(
                f"weft.compiler.{function}: dimension {dim} is out of range for a tensor of {tensor.ndim} dimensions"
            )
    key = id(tensor)
    if key not in _marked:
        _marked[key] = weakref.ref(tensor, lambda _: _forget(key)), {}
    for dim in dims:
        _marked[key][1][dim % tensor.ndim] = is_dynamic
    _C._set_marked_sizes({key: marks for key, (_, marks) in _marked.items()})


def _forget(key):
    _marked.pop(key, None)
    _C._set_marked_sizes({key: marks for key, (_, marks) in _marked.items()})


def mark_dynamic(tensor, index, *, min=None, max=None):
    """The size of the tensor's dimension `index` (an int or a sequence of ints) is symbolic from the first call of a compiled
    function on, whatever dynamic= says. min and max are accepted, and not needed.

    raises: TypeError, IndexError for a dimension that is not there.
    """
    _mark("mark_dynamic", tensor, index, True)


def mark_static(tensor, index=None):
    """The size of the tensor's dimension `index`, or of all, is a number in compiled code: another size compiles anew."""
    _mark("mark_static", tensor, range(tensor.ndim) if index is None else index, False)


_frozen = {}  # id of a tensor -> a weak reference that takes the entry out


def freeze(module):
    """Promises that the parameters and buffers of a weft.nn.Module do not change: in compiled code they are constants, whose
    layouts are prepared once. A buffer that a compiled program writes to is none of them.

    What is written to a frozen parameter later is not seen by compiled code; unfreeze() takes the promise back. Both forget
    what is compiled. Returns the module. raises: TypeError.
    """
    for tensor in _tensors_of("freeze", module):
        key = id(tensor)
        _frozen[key] = weakref.ref(tensor, lambda _, key=key: _frozen.pop(key, None))
    _C._set_frozen_tensors(_frozen)
    reset()
    return module


def unfreeze(module):
    """Takes back what freeze() promised. Returns the module. raises: TypeError."""
    for tensor in _tensors_of("unfreeze", module):
        _frozen.pop(id(tensor), None)
    reset()
    return module


def _tensors_of(function, module):
    if not _is_module(module):
        raise TypeError(f"weft.compiler.{function}: expected a weft.nn.Module, got {type(module).__name__}")
    return [*module.parameters(), *module.buffers()]


# ---- copies and pickles ------------------------------------------------------------------------------------------


def _named(function):
    """What the qualified name of a function finds in its module; None where it finds nothing."""
    found = sys.modules.get(getattr(function, "__module__", None))
    for part in getattr(function, "__qualname__", "<none>").split("."):
        found = getattr(found, part, None)
    return found


def _own_attributes(compiled):
    """What was set on a compiled function since it was made."""
    of_wrapped = {name: getattr(compiled.__wrapped__, name, None) for name in _COPIED}
    return {
        name: value
        for name, value in vars(compiled).items()
        if name not in of_wrapped or of_wrapped[name] is not value
    }


def _compile_again(fn, fullgraph, dynamic, mode, backend="weft"):
    return compile(fn, fullgraph=fullgraph, dynamic=dynamic, mode=mode, backend=backend)


def _by_cloudpickle():
    """Is it cloudpickle that asks, its own copy or that of joblib or Ray? It writes functions of __main__ as they are, since the
    process that reads them may have another __main__."""
    frame = sys._getframe()
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    return frame is not None and "cloudpickle" in frame.f_globals.get("__name__", "").split(".")


def _reduce(compiled):
    """For pickle: by name where that finds the compiled function, as Python's functions are (a decorated one, a method);
    else what it wraps, which must be found itself, and the options."""
    is_written = compiled.__module__ == "__main__" and _by_cloudpickle()
    if _named(compiled) is compiled and not is_written:
        return compiled.__qualname__
    wrapped = compiled.__wrapped__
    named = _named(wrapped)
    if not is_written and isinstance(named, _C._CompiledFunction) and named.__wrapped__ is wrapped:
        wrapped = named  # its decorator has the name
    return _compile_again, (wrapped, *compiled._options), _own_attributes(compiled) or None


def _deep_copy(compiled, memo):
    """The function itself, as Python's are copied, unless it wraps what is copied: a module, a method of an object."""
    wrapped = copy.deepcopy(compiled.__wrapped__, memo)
    if wrapped is compiled.__wrapped__:
        return compiled
    result = _compile_again(wrapped, *compiled._options)
    vars(result).update(copy.deepcopy(_own_attributes(compiled), memo))
    return result


def reset():
    """Forgets every capture of every compiled function, the kernels that nothing else refers to, and the counters of stats()."""
    _C._reset()


def stats():
    """Counters since the start or reset(): calls, captures, graphs, breaks, recompiles, kernels, eager_calls, runs, and
    warning_runs: how often NumPy ran compiled code's part again, because it may have to warn."""
    return _C._stats()


@dataclasses.dataclass
class Break:
    """A place where a graph ended and Python performed an operation."""

    reason: str
    file: str
    line: int
    source: str
    advice: str  # what to do about it

    def __str__(self):
        return f"{self.file}:{self.line}: {self.reason}\n    {self.source}\n    {self.advice}"


@dataclasses.dataclass
class Unrolled:
    """A loop that is not native code and of which one graph holds more than 16 rounds: what it costs grows with their number.

    Up to 16, as many as a stencil's taps or a model's layers, rounds are unrolled without a word.
    """

    reason: str
    file: str
    line: int
    source: str
    advice: str  # what to do about it
    rounds: int

    def __str__(self):
        return (
            f"{self.file}:{self.line}: {self.rounds} rounds in one graph, not native code: {self.reason}\n"
            f"    {self.source}\n    {self.advice}"
        )


@dataclasses.dataclass
class Explanation:
    """What compiling a function for some arguments gave."""

    result: object
    graphs: list  # text of each graph
    breaks: list
    guards: list  # one list of lines per segment
    kernels: list  # dicts: name, source, compile_ms, from_cache
    variants: int
    capture_ms: float
    compile_ms: float
    run_ms: float
    unrolled: list  # Unrolled, one per loop that is in graphs round after round
    fallbacks: list  # Break: from where on the function, or the rest of a call, is Python's, and why

    def __str__(self):
        lines = [
            f"{len(self.graphs)} graphs, {len(self.breaks)} breaks, {len(self.kernels)} kernels, {self.variants} segments; "
            f"capture {self.capture_ms:.2f} ms, compile {self.compile_ms:.2f} ms, run {self.run_ms:.2f} ms"
        ]
        lines += [f"break {i}: {entry}" for i, entry in enumerate(self.breaks)]
        lines += [f"unrolled {loop}" for loop in self.unrolled]
        lines += [f"falls back to Python at {entry}" for entry in self.fallbacks]
        lines += [f"graph {i}:\n{text}" for i, text in enumerate(self.graphs)]
        lines += [f"kernel {kernel['name']}" for kernel in self.kernels]
        lines += [f"guard: {guard}" for guards in self.guards for guard in guards]
        return "\n".join(lines)


def most_rounds(loops):
    """Of each loop's entries, in several graphs, the one with most rounds."""
    found = {}
    for loop in loops:
        place = loop["file"], loop["line"]
        found[place] = max(loop, found.get(place, loop), key=lambda one: one["rounds"])
    return found.values()


def explain(fn, **options):
    """A function of fn's arguments that calls fn, freshly compiled, and gives an Explanation."""
    fn = _uncompiled(fn)

    def call(*args, **kwargs):
        compiled = compile(fn, **options)
        result = compiled(*args, **kwargs)
        compiled = getattr(compiled, "_weft_compiled", compiled)  # of a module
        report = _C._report(compiled)
        return Explanation(
            result=result,
            graphs=[entry["graph"] for entry in report if entry["has_graph"]],
            breaks=[
                Break(entry["reason"], entry["file"], entry["line"], entry["source"], entry["advice"])
                for entry in report
                if not entry["returns"]
            ],
            guards=[entry["guards"] for entry in report],
            kernels=[kernel for entry in report for kernel in entry["kernels"]],
            variants=len(report),
            capture_ms=sum(entry["capture_ms"] for entry in report),
            compile_ms=sum(entry["compile_ms"] for entry in report),
            run_ms=sum(entry["run_ms"] for entry in report),
            unrolled=[
                Unrolled(**loop)
                for loop in most_rounds(loop for entry in report for loop in entry["unrolled"])
            ],
            fallbacks=[Break(**entry) for entry in _C._fallbacks(compiled)],
        )

    return call
