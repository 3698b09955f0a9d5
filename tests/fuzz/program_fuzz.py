"""Differential fuzzing of weft.compile: random NumPy programs, plain, in the reference interpreter and compiled.

    python tests/fuzz/program_fuzz.py --programs 1000 [--seed 7] [--minutes 5] [--workers 2] [--corpus tests/fuzz/programs]
        [--kinds arrays,loops,whole] [--compiled 4]

A program is a function of a few arrays and numbers: statements over arrays (program_arrays.py), explicit loops
over elements (program_loops.py), classes, generators, containers, closures, exceptions, graph breaks and linear
algebra between the former (program_whole.py), or updates of arrays of the sizes from which on other code runs
(program_memory.py), on sizes that include 0 and 1, any dtype, any memory order, any address, NaN, infinities and
signed zeros. It is generated while NumPy runs it, so that its statements are valid, or the last one raises. Results
and the arguments' contents afterwards must agree in type, dtype, shape, memory order, aliasing and every element, or
the same exception must come with the same text. What NumPy does not promise bit for bit has a bound that follows the
values through the program (program_bounds.py); such values never reach a comparison, a rounding or a cast to integers.

A failure is shrunk by deleting lines and simplifying arguments, and written to the corpus, which the test suite
replays. A process that dies is a failure of the program it ran.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import pathlib
import sys
import threading
import time
import traceback
import warnings

import program_arrays
import program_loops
import program_memory
import program_whole
from program_shrink import shrink
from program_values import (  # noqa: F401  (the corpus imports them from here)
    SECONDS_PER_PLAIN_RUN,
    SECONDS_PER_RUN,
    UNORDERED_ZEROS,
    Argument,
    Difference,
    Number,
    Program,
    compare,
    run,
    shares,
)
from program_variants import variants
from time_limits import TimedOut

GENERATORS = {
    "arrays": program_arrays.generate,
    "loops": program_loops.generate,
    "whole": program_whole.generate,
    "memory": program_memory.generate,
}
# How the compiled function is executed: environment variables.
MODES = {
    # Native loops are compiled here, too.
    "interpreted": {"WEFT_INTERPRET": "1", "WEFT_KERNEL_OPTIMIZATION": "0"},
    # Arrays of any size are written past the caches.
    "compiled": {"WEFT_INTERPRET": "0", "WEFT_KERNEL_OPTIMIZATION": "2", "WEFT_STREAMING_BYTES": "1"},
    "quick": {"WEFT_INTERPRET": "0", "WEFT_KERNEL_OPTIMIZATION": "0"},
}
# A process that stays this long with one program and its shrinking hangs where no signal reaches it.
SECONDS_PER_PROGRAM = 600
PROGRAMS_PER_PROCESS = 200


def compare_run(what, program, actual, expected, layouts=True):
    """`actual`, `expected`: what run() gave. `layouts`: memory order and aliasing, too."""
    exact_zeros = not any(name in statement for statement in program.statements for name in UNORDERED_ZEROS)
    results, arrays, error = actual
    expected_results, expected_arrays, expected_error = expected
    if type(error) is not type(expected_error):
        raise Difference(f"{what}: raised {error!r}, NumPy raises {expected_error!r}") from error
    if str(error) != str(expected_error):
        raise Difference(f"{what}: raised {error!r}, NumPy's text is {expected_error!r}") from error
    names = [f"a{i}" for i in range(len(arrays))]
    if expected_error is None:
        if len(results) == len(program.results):
            results_names = program.results
        else:  # an early return
            results_names = [str(i) for i in range(len(results))]
        for name, one, other in zip(results_names, results, expected_results):
            compare(f"{what}: {name}", one, other, program.bounds.get(name, 0.0), exact_zeros, layouts=False)
    for name, one, other in zip(names, arrays, expected_arrays):
        compare(f"{what}: argument {name} afterwards", one, other, program.bounds.get(name, 0.0), exact_zeros)
    if expected_error is None and layouts:
        for name, one, other in zip(results_names, results, expected_results):
            compare(f"{what}: {name}", one, other, math.inf, exact_zeros)
        compare_aliasing(
            what, [*results_names, *names], [*results, *arrays], [*expected_results, *expected_arrays]
        )


def compare_aliasing(what, names, actual, expected):
    """Two arrays look at one memory exactly where NumPy's do."""
    for i in range(len(names)):
        for j in range(i):
            if shares(actual[i], actual[j]) != shares(expected[i], expected[j]):
                verb = "shares" if shares(expected[i], expected[j]) else "does not share"
                raise Difference(f"{what}: in NumPy {names[i]} {verb} memory with {names[j]}")


class TooLong(Exception):
    """NumPy itself does not get through the program."""


def check(program, modes=("interpreted", "compiled"), layouts=True, others=False, threads=False):
    """Raises Difference where the compiled function and the plain one disagree, TooLong where that is not known."""
    import weft

    try:
        expected = run(program.function(), program, SECONDS_PER_PLAIN_RUN)
    except TimedOut:
        raise TooLong from None
    for mode in modes:
        saved = {name: os.environ.get(name) for name in MODES[mode]}
        os.environ.update(MODES[mode])
        try:
            compiled = weft.compile(program.function())
            for call in ("first call", "second call", "third call"):
                compare_run(f"{mode}, {call}", program, run(compiled, program), expected, layouts)
            if others and program.exact:
                check_variants(mode, program, compiled)
            if threads:
                check_threads(mode, program, expected, layouts)
        finally:
            for name, value in saved.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def check_variants(mode, program, compiled):
    """The same compiled function called with other arguments, and with its first ones again."""
    plain = program.function()
    for number, other in enumerate(variants(program, len(program.source()))):
        expected = run(plain, other, SECONDS_PER_RUN)
        try:
            compare_run(
                f"{mode}, other arguments {number}", other, run(compiled, other), expected, layouts=False
            )
        except Difference as difference:
            raise Difference(f"{difference}\nwith {other.arguments}") from None


def check_threads(mode, program, expected, layouts):
    """Two threads call one compiled function, its first calls."""
    import weft

    compiled, outcomes = weft.compile(program.function()), [None, None]

    def call(number):
        outcomes[number] = run(compiled, program)

    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(len(outcomes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS_PER_RUN)
        if thread.is_alive():
            raise TimedOut(f"{mode}: a thread runs for more than {SECONDS_PER_RUN} s")
    for number, outcome in enumerate(outcomes):
        compare_run(f"{mode}, thread {number}", program, outcome, expected, layouts)


def fails(program, modes=("interpreted", "compiled"), layouts=True, others=False, threads=False):
    try:
        check(program, modes, layouts, others, threads)
    except Difference as difference:
        return str(difference)
    except TooLong:
        raise
    except TimedOut as error:
        return str(error)
    except Exception:
        return "weft raised\n" + traceback.format_exc()
    return None


def write_case(folder, name, program, message):
    folder.mkdir(parents=True, exist_ok=True)
    arguments = "".join(f"        {argument!r},\n" for argument in program.arguments)
    path = folder / f"{name}.py"
    first = message.split("\n")[0].replace('"""', "'''").replace("\\", "/")
    path.write_text(
        f'"""{first}"""\n\nfrom program_fuzz import Argument, Number, Program  # noqa: F401\n\n'
        f"PROGRAM = Program(\n    [\n{arguments}    ],\n    {program.statements!r},\n    {program.results!r},\n"
        f"    {program.bounds!r},\n    {program.exact!r},\n)\n"
    )
    return path


def modes_of(seed, share):
    """Every program in the interpreter, every `share`-th compiled, two thirds of these without optimization."""
    if share == 0 or seed % share:
        return ("interpreted",)
    return ("interpreted", "quick" if (seed // share) % 3 else "compiled")


class Worker:
    """Runs seeds first, first + step, … in processes that live for some programs only, since kernels stay loaded."""

    def __init__(self, options, number):
        self.options, self.number = options, number
        self.state = multiprocessing.Array("q", 4)  # seed being tried, programs tried, compiled, failures

    def run(self):
        options = self.options
        seed = options.seed + self.number
        end = options.seed + options.programs
        while seed < end and time.monotonic() < options.deadline:
            last = min(end, seed + PROGRAMS_PER_PROCESS * options.workers)
            process = multiprocessing.get_context("fork").Process(target=self.batch, args=(seed, last))
            process.start()
            self.wait(process)
            if process.exitcode:
                seed = self.state[0]
                self.state[3] += 1
                print(f"seed {seed}: the process died, exit code {process.exitcode}", flush=True)
                print(GENERATORS[options.kinds[seed % len(options.kinds)]](seed).source(), flush=True)
                seed += options.workers
            else:
                seed += -(-(last - seed) // options.workers) * options.workers

    def wait(self, process):
        """Until it ends, or is killed."""
        seed, since = -1, time.monotonic()
        while process.is_alive():
            process.join(1)
            if self.state[0] != seed:
                seed, since = self.state[0], time.monotonic()
            elif time.monotonic() - since > SECONDS_PER_PROGRAM:
                process.kill()
                process.join()

    def batch(self, first, last):
        import weft

        warnings.simplefilter("ignore")
        for seed in range(first, last, self.options.workers):
            if time.monotonic() > self.options.deadline:
                break
            self.state[0] = seed
            kind = self.options.kinds[seed % len(self.options.kinds)]
            self.one(
                seed, GENERATORS[kind](seed), modes_of(seed // len(self.options.kinds), self.options.compiled)
            )
            if seed % 16 == 0:
                weft.compiler.reset()

    def one(self, seed, program, modes):
        options = self.options
        threads = options.threads and seed % options.threads == 0

        def failure(candidate):
            return fails(candidate, modes, options.layouts, options.others, threads)

        try:
            message = failure(program)
        except TooLong:
            return
        self.state[1] += 1
        self.state[2] += len(modes) > 1
        if not message:
            return
        self.state[3] += 1
        if options.shrink:
            program = shrink(program, failure, message)
            message = failure(program) or message
        print(f"seed {seed}: {message}\n{program.source()}{program.arguments}\n", flush=True)
        if options.corpus:
            print(f"written to {write_case(options.corpus, f'seed_{seed}', program, message)}", flush=True)


def run_workers(options):
    workers = [Worker(options, number) for number in range(options.workers)]
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=worker.run) for worker in workers]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [sum(worker.state[i] for worker in workers) for i in range(1, 4)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=1000, help="how many to try")
    parser.add_argument("--seed", type=int, default=1, help="the first program's seed")
    parser.add_argument("--minutes", type=float, default=60, help="stop after this long")
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--compiled", type=int, default=1, help="compile every so manieth program; 0: none")
    parser.add_argument("--kinds", default="arrays,loops,whole,memory", help="of programs")
    parser.add_argument("--corpus", type=pathlib.Path, help="write shrunk failures to this folder")
    parser.add_argument(
        "--values", dest="layouts", action="store_false", help="memory order and aliasing are not compared"
    )
    parser.add_argument(
        "--others", action="store_true", help="call compiled functions with other arguments, too"
    )
    parser.add_argument(
        "--threads", type=int, default=8, help="every so manieth program in two threads at once; 0: none"
    )
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    options = parser.parse_args()
    options.kinds = options.kinds.split(",")
    start = time.monotonic()
    options.deadline = start + options.minutes * 60
    tried, compiled, failures = run_workers(options)
    seconds = time.monotonic() - start
    print(
        f"{tried} programs from seed {options.seed}, {compiled} of them compiled: {failures} differ; "
        f"{tried / seconds:.1f} programs/s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
