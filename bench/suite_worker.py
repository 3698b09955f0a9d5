"""Runs one implementation of the programs on request; bench/suite.py starts a worker for each.

One JSON object per line on stdin, one answer per line on stdout:
    {"do": "hello"}                             -> {"version": "..."}
    {"do": "program", "name": "jacobi_2d"}      -> {"seconds": 0.1, "mode": "njit parallel"}   (compiled, checked)
    {"do": "time"}                              -> {"seconds": 0.0123}
A failure answers {"error": "..."}. `suite_worker.py fresh IMPLEMENTATION PROGRAM` is another thing: it prints what a
process that has just started spends on its first call, and its peak memory.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import json
import os
import sys
import time
import types
import warnings

import numpy as np
from programs import PROGRAMS
from programs.registry import copied, same

THREADS = int(os.environ.get("BENCH_THREADS", "1"))
SHORTEST_SAMPLE = 2e-3  # seconds; quicker programs are called several times for one sample
MODES_SECONDS = 20  # once a mode of a peer works, no further one is compiled after this
PEERS_RTOL = 1e-12  # some contract products and sums


def with_namespace(function, namespace):
    """The same source with another array library under the name np."""
    return types.FunctionType(
        function.__code__, {**function.__globals__, "np": namespace}, function.__name__, function.__defaults__
    )


def numba_modes(program):
    import numba

    numba.set_num_threads(THREADS)
    sources = {" of loops": program.peers["numba"]} if "numba" in program.peers else {}
    sources["" if sources or not program.loops else " of loops"] = program.function
    for label, source in sources.items():
        yield "njit parallel" + label, numba.njit(source, parallel=True)
        yield "njit" + label, numba.njit(source)
        if label:
            yield "njit parallel fastmath" + label, numba.njit(source, parallel=True, fastmath=True)


def jax_modes(program):
    import jax

    jax.config.update("jax_enable_x64", True)
    if "jax" not in program.peers and program.loops:
        return  # jit would unroll the loops
    function = program.peers.get("jax") or with_namespace(program.function, jax.numpy)
    static = [i for i, a in enumerate(program.arguments(program.small)) if isinstance(a, int)]
    compiled = jax.jit(function, static_argnums=static)

    def run(*arguments):
        return jax.block_until_ready(compiled(*arguments))

    run.convert = lambda arguments: tuple(
        jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments
    )
    yield "jit", run


def torch_modes(program):
    import torch

    torch.set_num_threads(THREADS)
    if "torch" not in program.peers and program.loops:
        return  # as jax.jit
    if "torch" not in program.peers:
        yield "compile of NumPy", torch.compile(program.function)
        return
    compiled = torch.compile(program.peers["torch"])
    compiled.convert = lambda arguments: tuple(
        torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments
    )
    yield "compile", compiled


def numexpr_modes(program):
    import numexpr

    numexpr.set_num_threads(THREADS)
    if "numexpr" in program.peers:
        yield "evaluate", program.peers["numexpr"]


def weft_modes(program):
    import weft

    weft.set_num_threads(THREADS)
    yield "compile", weft.compile(program.function)


def numpy_modes(program):
    yield "", program.function


MODES = {
    "numpy": numpy_modes,
    "weft": weft_modes,
    "numba": numba_modes,
    "jax": jax_modes,
    "torch": torch_modes,
    "numexpr": numexpr_modes,
}


def timed(function, arguments, calls=1):
    """Seconds of one call. Each sample starts from arguments that no call has written to."""
    convert = getattr(function, "convert", lambda arguments: arguments)
    fresh = [convert(copied(arguments)) for _ in range(calls)]
    start = time.perf_counter()
    for arguments in fresh:
        function(*arguments)
    return (time.perf_counter() - start) / calls


def await_rest():
    """Returns when no thread of this process spins any more, as those of NumPy's BLAS do after their last work."""
    for _ in range(50):
        before = time.process_time()
        time.sleep(0.02)
        if time.process_time() - before < 0.002:
            return


class Worker:
    def __init__(self, implementation):
        self.implementation = implementation
        self.run = None

    def hello(self):
        return {"version": importlib.import_module(self.implementation).__version__}

    def set_program(self, name):
        program = PROGRAMS[name]
        arguments = program.arguments(program.size)
        expected = program.function(*copied(arguments))
        await_rest()
        strict = self.implementation == "weft"
        rtol = program.rtol if strict else max(program.rtol, PEERS_RTOL)
        best, failure = None, None
        start = time.perf_counter()
        for mode, function in MODES[self.implementation](program):
            if best is not None and time.perf_counter() - start > MODES_SECONDS:
                break
            try:
                convert = getattr(function, "convert", lambda arguments: arguments)
                differs = same(function(*convert(copied(arguments))), expected, rtol, strict)
                if differs:
                    raise ValueError(f"differs from NumPy: {differs}")
                seconds = min(timed(function, arguments) for _ in range(3))
                if best is None or seconds < best[0]:
                    best = (seconds, mode, function)
            except Exception as error:  # other modes may still run
                failure = failure or f"{type(error).__name__}: {error}".splitlines()[0]
        if best is None:
            return {"failed": failure}
        calls = max(1, min(200, int(SHORTEST_SAMPLE / best[0])))
        self.run = functools.partial(timed, best[2], arguments, calls)
        return {"seconds": best[0], "mode": best[1]}

    def time(self):
        return {"seconds": self.run()}


def peak_since(baseline):
    """Bytes that this process held at most beyond `baseline`, since reset_peak()."""
    return memory("VmHWM") - baseline


def memory(field):
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return memory("VmRSS")


def release_memory(implementation):
    """Gives back to the system what is kept for the next allocation."""
    gc.collect()
    if implementation == "weft":
        import weft

        weft.empty_cache()
    ctypes.CDLL(None).malloc_trim(0)


def peak_of_call(implementation, function, arguments):
    """Bytes that one call takes at most beyond what the process holds before it, its results included.

    Not the first call: code, the compiler's objects and modules that are imported late are no memory of the call.
    """
    copies = copied(arguments)
    release_memory(implementation)
    baseline = reset_peak()
    result = function(*copies)  # noqa: F841: lives until the peak is read
    return peak_since(baseline)


def fresh(implementation, name):
    """What the first call in this process takes beyond a later one, breaks, and the peak of memory."""
    program = PROGRAMS[name]
    _, function = next(iter(MODES[implementation](program)))
    arguments = program.arguments(program.size)
    copies = copied(arguments)
    start = time.perf_counter()
    function(*copies)
    first = time.perf_counter() - start
    result = {"first_seconds": first}
    if implementation == "weft":
        result["compile_seconds"] = max(0.0, first - min(timed(function, arguments) for _ in range(2)))
    result["peak_bytes"] = peak_of_call(implementation, function, arguments)
    if implementation == "weft":
        import weft

        explained = weft.compiler.explain(program.function)(*copied(arguments))
        result["breaks"] = [f"line {b.line}: {b.reason}" for b in explained.breaks]
        result["kernels"] = len(explained.kernels)
    return result


def serve(worker):
    """Answers requests until stdin ends."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "hello":
                answer = worker.hello()
            elif request["do"] == "program":
                answer = worker.set_program(request["name"])
            else:
                answer = worker.time()
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1] == "fresh":
        print(json.dumps(fresh(sys.argv[2], sys.argv[3])))
    else:
        serve(Worker(sys.argv[1]))


if __name__ == "__main__":
    main()
