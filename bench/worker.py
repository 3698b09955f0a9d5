"""Times single implementations on request; bench/run.py talks to one worker per Python environment.

One JSON object per line on stdin, one answer per line on stdout:
    {"do": "hello"}                                  -> {"implementations": ["numpy", "weft"], "versions": {...}}
    {"do": "case", "name": "softmax f32"}            -> {"implementations": [...]}   (inputs made, warmed up, checked)
    {"do": "time", "implementation": "weft"}         -> {"seconds": 0.0123}
A failure answers {"error": "..."}.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback

import numpy as np
from cases import all_cases

THREADS = int(os.environ["BENCH_THREADS"])


def available() -> dict[str, str]:
    versions = {}
    for name in os.environ["BENCH_IMPLEMENTATIONS"].split(","):
        try:
            versions[name] = importlib.import_module(name).__version__
        except ImportError:
            continue
    return versions


def prepare(name, case, arguments):
    """A function of no arguments that runs the case with that implementation, or None."""
    if name == "numpy":
        return lambda: case.numpy(*arguments)
    if name == "weft":
        import weft

        weft.set_num_threads(THREADS)
        compiled = weft.compile(case.numpy)
        return lambda: compiled(*arguments)
    function = getattr(case, name)
    if function is None:
        return None
    if name == "torch":
        import torch

        torch.set_num_threads(THREADS)
        tensors = [torch.from_numpy(a) for a in arguments]
        with torch.inference_mode():
            compiled = torch.compile(function)
            return lambda: compiled(*tensors)
    if name == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        arrays = [jax.numpy.asarray(a) for a in arguments]
        compiled = jax.jit(function)
        return lambda: compiled(*arrays).block_until_ready()
    if name == "numexpr":
        import numexpr

        numexpr.set_num_threads(THREADS)
    return lambda: function(*arguments)


class Worker:
    def __init__(self):
        self.versions = available()
        self.case = None
        self.run = {}

    def hello(self):
        return {"implementations": list(self.versions), "versions": self.versions}

    def set_case(self, name, scale):
        self.run = {}
        self.case = next(case for case in all_cases(scale) if case.name == name)
        arguments = self.case.inputs(np.random.default_rng(0))
        # Rounding is judged against float64, so that NumPy's own float32 result has to pass too.
        wide = arguments if self.case.tolerance == 0 else [a.astype(np.float64) for a in arguments]
        expected = self.case.numpy(*wide)
        errors = {}
        for implementation in self.versions:
            try:
                run = prepare(implementation, self.case, arguments)
                if run is None:
                    continue
                got = np.asarray(run())
                self.check(got, expected)
                run()
                self.run[implementation] = run
            except Exception as error:  # the other implementations still run; the table says what failed
                errors[implementation] = f"{type(error).__name__}: {error}".splitlines()[0]
        return {"implementations": list(self.run), "errors": errors}

    def check(self, got, expected):
        if self.case.tolerance == 0:
            differing = np.count_nonzero(got != expected)
        else:
            bound = self.case.tolerance * max(np.abs(expected).max(), 1)
            differing = np.count_nonzero(~(np.abs(got - expected) <= bound))
        if differing:
            raise ValueError(f"{differing} of {expected.size} elements differ from NumPy's")

    def time(self, implementation):
        run, calls = self.run[implementation], self.case.calls
        start = time.perf_counter()
        for _ in range(calls):
            run()
        return {"seconds": (time.perf_counter() - start) / calls}


def main():
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "hello":
                answer = worker.hello()
            elif request["do"] == "case":
                answer = worker.set_case(request["name"], request["scale"])
            else:
                answer = worker.time(request["implementation"])
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
