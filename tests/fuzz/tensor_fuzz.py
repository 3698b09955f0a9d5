"""Differential fuzzing of weft.compile over tensors: random programs, plain and compiled.

    python tests/fuzz/tensor_fuzz.py [--programs 1000] [--seed 0] [--minutes M] [--torch] [--compiled 8] [--workers 2]
                                     [--progress FILE]
    python tests/fuzz/tensor_fuzz.py --seed 1234 --programs 1      # one of them again

A program (tensor_programs.py) is a function, a method or a module's forward of random statements: operators on any dtype and
layout (tensor_calls.py), views and updates through them, branches and loops on sizes, flags and data, containers, exceptions,
random numbers; around it is what it reads (tensor_surroundings.py): globals, objects, closures, classes, modules with buffers and
hooks. It is made twice; one of the two is compiled. Both are called, changed in the same way and called again, with
arguments of other sizes, dtypes and layouts, or that share memory, or by several threads. After each step everything that results
and namespaces reach must be the same, the generators' states and the program's ambient settings too (tensor_values.py).

Programs run in the reference interpreter, where numbers are equal bit for bit, and every so manieth in compiled code, where those
whose sums are rounded have a tolerance; so do every second one of those with large arguments, and all with huge ones, about one
in a thousand. A program that differs is shrunk, and printed with its steps.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import multiprocessing
import os
import pathlib
import re
import resource
import sys
import threading
import time
import traceback
import warnings

import tensor_programs
import weft
from program_shrink import without_lines
from tensor_values import TOLERANCE, TOLERANCE_OF_MANY, Difference, compare
from time_limits import TimedOut, time_limit

SECONDS_PER_STEP = 30  # of the processor's time
SECONDS_TO_SHRINK = 60
SECONDS_BETWEEN_PROGRESS = 10
SLOW_SECONDS = 20  # a program that takes longer is mentioned
PROGRAMS_PER_PROCESS = 400
BYTES_PER_PROCESS = 3 << 30  # statements that need more are not generated
MODES = {
    "interpreted": {"WEFT_INTERPRET": "1", "WEFT_KERNEL_OPTIMIZATION": "0"},
    "quick": {"WEFT_INTERPRET": "0", "WEFT_KERNEL_OPTIMIZATION": "0"},
    "compiled": {"WEFT_INTERPRET": "0", "WEFT_KERNEL_OPTIMIZATION": "2"},
}
STRIDES = re.compile(r"strides \[[-\d, ]*\]")
CALL = re.compile(r"call\w*\(|next\(")  # in a step: compiled code runs
# Of a namespace, what is not compared: what every namespace has.
USUAL = {"calls", *tensor_programs.namespace(weft, True, None), "__builtins__", "__warningregistry__"} - {
    "GENERATOR"
}


class Side:
    """One of the two runs of a program: its namespace, and the state of the process while it runs. `codes`: what both share,
    {text: code}."""

    def __init__(self, library, program, compiled, codes):
        self.library, self.codes = library, codes
        self.namespace = tensor_programs.namespace(library, program.is_exact, compiled)
        self.ambient = None
        weft.random.manual_seed(1)
        self.run(program.text())

    def run(self, text):
        """The exception's text, or None."""
        library = self.library
        if self.ambient:
            self.enter()
        try:
            if text not in self.codes:
                self.codes[text] = compile(text, "<program>", "exec")
            with time_limit(SECONDS_PER_STEP, of_processor=True):
                exec(self.codes[text], self.namespace)
            return None
        except RecursionError:
            return "RecursionError"  # whose text says where the last frame was
        except Exception as error:
            # Which stride a dimension of one element has is nobody's promise.
            return f"{type(error).__name__}: {STRIDES.sub('strides', str(error))}"
        finally:
            self.ambient = (weft.random.get_rng_state(), ambient(library))

    def enter(self):
        state, settings = self.ambient
        weft.random.set_rng_state(state)
        set_ambient(self.library, settings)

    def state(self):
        return {name: value for name, value in self.namespace.items() if name not in USUAL}


def ambient(library):
    """Settings of the process that programs change."""
    return {
        name: getattr(library, getter)()
        for name, (getter, setter) in AMBIENT.items()
        if hasattr(library, getter) and hasattr(library, setter)
    }


AMBIENT = {
    "grad": ("is_grad_enabled", "set_grad_enabled"),
    "dtype": ("get_default_dtype", "set_default_dtype"),
    "threads": ("get_num_threads", "set_num_threads"),
}


def set_ambient(library, settings):
    for name, value in settings.items():
        getattr(library, AMBIENT[name][1])(value)


def check(program, library, mode):
    """Raises Difference where the compiled program and the plain one disagree."""
    usual = ambient(library)
    try:
        codes = {}
        plain = Side(library, program, tensor_programs.ungraded, codes)
        set_ambient(library, usual)
        compiled = Side(library, program, functools.partial(library.compile, **program.settings), codes)
        tolerance = TOLERANCE
        if program.is_exact:  # sums of many are rounded even then
            tolerance = 0.0 if program.size == "small" else TOLERANCE_OF_MANY
        for number, step in enumerate(program.steps):
            expected, got = plain.run(step), compiled.run(step)
            if "RecursionError" in (expected, got):
                return  # how far it gets depends on the frames
            if str(expected).startswith("MemoryError") or str(got).startswith("MemoryError"):
                return  # which of two errors is met first, and how, is nobody's promise
            if expected != got:
                raise Difference(f"step {number}: raised {got}, not {expected}")
            if not CALL.search(step) and number < len(program.steps) - 1:
                continue  # both do the same, and the next call shows it
            try:
                compare("", compiled.state(), plain.state(), tolerance)
                compare("settings", compiled.ambient[1], plain.ambient[1])
                compare("random numbers' state", compiled.ambient[0], plain.ambient[0], layouts=False)
            except Difference as difference:
                raise Difference(f"step {number}: {difference}") from None
    finally:
        set_ambient(library, usual)


def failure(program, library, mode):
    """What differs, or None."""
    saved = {name: os.environ.get(name) for name in MODES[mode]}
    os.environ.update(MODES[mode])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(program, library, mode)
    except Difference as difference:
        return str(difference)
    except TimedOut as error:
        return f"timed out: {error}"
    except Exception:
        return traceback.format_exc()
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return None


def failure_in_child(program, library, mode):
    """The same, found by a process of its own, which may die."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=lambda: theirs.send(failure(program, library, mode)))
    child.start()
    theirs.close()
    try:
        message = ours.recv()
    except EOFError:
        message = "died"
    child.join()
    return f"the process died, exit code {child.exitcode}" if message == "died" else message


# ---- shrinking -------------------------------------------------------------------------------------------------------
def kind_of(message):
    """What has to stay: a program that raises is no smaller case of a wrong element."""
    text = message.strip().split("\n")[-1].split(": ", 1)[-1]
    return (
        "died"
        if "died" in text
        else "raised"
        if text.startswith("raised")
        else "memory"
        if "memory" in text
        else "strides"
        if "strides" in text
        else "differs"
    )


def shrunk(program, message, library, mode):
    wanted, deadline = kind_of(message), time.monotonic() + SECONDS_TO_SHRINK

    def fails(candidate):
        try:
            compile(candidate.text(), "<program>", "exec")
        except SyntaxError:
            return None
        found = failure_in_child(candidate, library, mode)
        if not found or found.startswith(("Traceback", "timed")) != message.startswith(
            ("Traceback", "timed")
        ):
            return None
        if "raised" in found and ("NameError" in found.split("not", 1)[-1] or "SyntaxError" in found):
            return None  # another program
        return found if kind_of(found) == wanted else None

    changed = True
    while changed and time.monotonic() < deadline:
        changed = False
        for field in ("steps", "lines"):
            for fewer in without_lines(getattr(program, field)):
                if time.monotonic() > deadline:
                    break
                smaller = tensor_programs.dataclasses.replace(program, **{field: fewer})
                if found := fails(smaller):
                    program, message, changed = smaller, found, True
                    break
    return program, message


def report(seed, program, message, mode):
    lines = [
        f"seed {seed} ({mode}, {program.settings}): {message}",
        program.text(),
        "# steps",
        *program.steps,
    ]
    return "\n".join(lines)


# ---- running ---------------------------------------------------------------------------------------------------------
def mode_of(seed, share, size):
    """Every `share`-th program is compiled, a third of these with optimization; the others are interpreted."""
    if share and size == "huge":
        return "compiled"
    if not share or seed % (min(share, 2) if size == "big" else share):
        return "interpreted"
    return "quick" if seed // share % 3 else "compiled"


def difference(seed, library=weft, mode=None, share=8, shrinks=False, in_child=False):
    """What is wrong with the program of this seed, as a text; None where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = ambient(library)
        try:
            weft.random.manual_seed(0)
            program = tensor_programs.generate(seed, library)
        finally:
            set_ambient(library, usual)
    mode = mode or mode_of(seed, share, program.size)
    message = (failure_in_child if in_child else failure)(program, library, mode)
    if not message:
        return None
    if shrinks:
        program, message = shrunk(program, message, library, mode)
    return report(seed, program, message, mode)


def library_of(options):
    return importlib.import_module("weft.torch") if options.torch else weft


def run_seeds(options, seeds, state):
    """In one process, which lives for some programs only, since kernels stay loaded."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_PER_PROCESS, resource.getrlimit(resource.RLIMIT_AS)[1]))
    library = library_of(options)
    for seed in seeds:
        if time.monotonic() > options.deadline:
            break
        state[0] = seed
        start = time.monotonic()
        try:
            found = difference(seed, library, options.mode, options.compiled, options.shrink)
        except Exception:
            found = f"seed {seed}: the generator failed\n{traceback.format_exc()}"
        state[1] += 1
        if (seconds := time.monotonic() - start) > SLOW_SECONDS and not found:
            print(f"seed {seed} took {seconds:.0f} s", flush=True)
        if found:
            state[2] += 1
            print(found, end="\n\n", flush=True)
        if seed % 16 == 0:
            weft.compiler.reset()
        weft.empty_cache()  # of a program that takes all memory there is, the next ones need some


def show_crash(options, seed):
    print(
        difference(seed, library_of(options), options.mode, options.compiled, options.shrink, in_child=True),
        flush=True,
    )


def run_worker(options, number, state):
    seeds = range(options.seed + number, options.seed + options.programs, options.workers)
    context = multiprocessing.get_context("fork")
    while seeds and time.monotonic() < options.deadline:
        process = context.Process(target=run_seeds, args=(options, seeds[:PROGRAMS_PER_PROCESS], state))
        process.start()
        process.join()
        if process.exitcode:
            state[2] += 1
            seeds = seeds[seeds.index(state[0]) :]
            print(f"seed {seeds[0]}: the process died, exit code {process.exitcode}", flush=True)
            process = context.Process(target=show_crash, args=(options, seeds[0]))
            process.start()
            process.join()
            seeds = seeds[1:]
        else:
            seeds = seeds[PROGRAMS_PER_PROCESS:]


def tell_progress(options, states, done):
    """Writes how far it is into a file, every few seconds."""
    start = time.monotonic()
    while not done.wait(SECONDS_BETWEEN_PROGRESS):
        tried, failures = (sum(state[i] for state in states) for i in (1, 2))
        rate = tried / (time.monotonic() - start)
        hours = (options.programs - tried) / max(rate, 1e-9) / 3600
        text = f"{tried} of {options.programs} programs from seed {options.seed}, {failures} differ, {rate:.1f} programs/s, {hours:.2f} h left\n"  # fmt: skip
        pathlib.Path(options.progress).write_text(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first program's")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--compiled", type=int, default=8, help="compile every so manieth program; 0: none")
    parser.add_argument("--mode", choices=MODES, help="of all programs")
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--torch", action="store_true", help="programs use weft.torch's names")
    parser.add_argument("--progress", help="a file to write the rate and the time left to")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    options = parser.parse_args()
    start = time.monotonic()
    options.deadline = start + options.minutes * 60
    context = multiprocessing.get_context("fork")
    states = [context.Array("q", 3) for _ in range(options.workers)]  # the seed, programs tried, failures
    workers = [threading.Thread(target=run_worker, args=(options, *each)) for each in enumerate(states)]
    done = threading.Event()
    if options.progress:
        threading.Thread(target=tell_progress, args=(options, states, done), daemon=True).start()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done.set()
    tried, failures = (sum(state[i] for state in states) for i in (1, 2))
    seconds = time.monotonic() - start
    print(f"{tried} programs from seed {options.seed}: {failures} differ; {tried / seconds:.1f} programs/s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
