"""weft.compile and the tools to look into it."""

import copy
import dataclasses
import functools
import sys

from . import _C

__all__ = ["compile", "explain", "reset", "stats"]

_MODES = ("default", "reduce-overhead", "max-autotune")
_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")  # of what is wrapped


def _check_settings(fullgraph, dynamic, mode):
    if not isinstance(fullgraph, bool):
        raise TypeError(f"weft.compile: expected fullgraph to be True or False, got {fullgraph!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"weft.compile: expected dynamic to be None, True or False, got {dynamic!r}")
    if mode not in _MODES:
        raise ValueError(f"weft.compile: expected mode to be one of {', '.join(_MODES)}, got {mode!r}")


def _is_module(fn):
    nn = sys.modules.get("weft.nn")  # there are no modules before it is imported
    return nn is not None and isinstance(fn, nn.Module)


def _uncompiled(fn):
    """What a compiled function or module was made of; anything else itself."""
    if _is_module(fn):
        return fn.__wrapped__ if isinstance(fn, sys.modules["weft.nn"].OptimizedModule) else fn
    return fn.__wrapped__ if isinstance(fn, _C._CompiledFunction) else fn


def compile(fn=None, *, fullgraph=False, dynamic=None, mode="default"):
    """The function `fn`, compiled: a callable that gives what fn gives, array programs in it as fused loops.

    The first call with arguments of a new kind captures and compiles; later calls check guards and run. What
    cannot be captured is performed by Python, in order.

    Of a weft.nn.Module it makes a module: calls are compiled, all else is the module's own (weft.nn.OptimizedModule).
    Parameters and buffers are inputs, so a changed weight is seen at the next call.

    fullgraph: raise, showing the line, where one graph cannot hold the whole function.
    dynamic:   None: a size or number that changes becomes symbolic on its second value; True: at once; False: never.
    mode:      "default", "reduce-overhead" or "max-autotune".

    Compiled functions are pickled by name, as functions are, or as what they wrap and these options; what was compiled
    is made again where they are loaded.

    Without fn, a decorator. raises: TypeError unless fn is callable and fullgraph and dynamic are as above; ValueError
    for an unknown mode.
    """
    if fn is None:
        _check_settings(fullgraph, dynamic, mode)
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, mode=mode)
    if not callable(fn):
        raise TypeError(f"weft.compile: expected a callable, got {type(fn).__name__}")
    _check_settings(fullgraph, dynamic, mode)
    fn = _uncompiled(fn)
    compiled = _C._make_callable(fn, fullgraph, dynamic, mode)
    if _is_module(fn):
        return sys.modules["weft.nn"].OptimizedModule(fn, compiled)
    for name in _COPIED:
        if hasattr(fn, name):
            setattr(compiled, name, getattr(fn, name))
    return compiled


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


def _compile_again(fn, fullgraph, dynamic, mode):
    return compile(fn, fullgraph=fullgraph, dynamic=dynamic, mode=mode)


def _reduce(compiled):
    """For pickle: by name where that finds the compiled function, as Python's functions are (a decorated one, a method);
    else what it wraps, which must be found itself, and the options."""
    if _named(compiled) is compiled:
        return compiled.__qualname__
    wrapped = compiled.__wrapped__
    named = _named(wrapped)
    if isinstance(named, _C._CompiledFunction) and named.__wrapped__ is wrapped:
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
    """Forgets every capture of every compiled function, and the counters of stats()."""
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
        compiled = getattr(compiled, "_compiled", compiled)  # of a module
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
