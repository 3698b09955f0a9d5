"""First calls by several threads at once in processes where nothing was called before: what test_cold_threads.py runs.

    python cold_calls.py SCENARIO --processes 40 --threads 6 --intra-op 2

forks that many children of a process that has imported weft and called nothing (`--fresh`: runs the scenario in this very
process instead, imports included). Each child must end with the right results within `--seconds`; one that does not prints
every thread's stack and is gone. The last line is JSON: {"processes": …, "failed": …}; the exit status is 1 if any failed.
"""

import argparse
import collections
import contextlib
import dataclasses
import enum
import faulthandler
import functools
import json
import os
import pathlib
import random
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings

import numpy as np
import weft

# ---- functions ---------------------------------------------------------------------------------------------------
# Between them they reach whatever capture finds out once: special methods, enums, exceptions, warnings, loops, breaks.


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 2
    HIGH = 3


@dataclasses.dataclass(frozen=True)
class Scale:
    by: float

    def __call__(self, x):
        return x * self.by


Pair = collections.namedtuple("Pair", "first second")


class Doubled:
    """A descriptor of the program's own."""

    def __get__(self, instance, owner):
        return instance.value * 2

    def __set__(self, instance, value):
        instance.value = value


class Vector:
    twice = Doubled()

    def __init__(self, value):
        self.value = value

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.value[i]

    def __add__(self, other):
        return Vector(self.value + other.value)

    def __getattr__(self, name):
        if name == "scaled":
            return 4.0
        raise AttributeError(name)

    def __iter__(self):
        return iter([1.0, 2.0])


class Held:
    def __enter__(self):
        return 3.0

    def __exit__(self, *error):
        return True


@functools.lru_cache
def cached(n):
    return n * 2.5


def elementwise(x):
    return (x * 2 + 1).sum()


def special_methods(x):
    v = Vector(x) + Vector(x)
    return len(v) * v[0] + v.twice + v.scaled + sum(v)


def values(x):
    space = types.SimpleNamespace(a=x)
    pair = Pair(space.a + 1, 2.0)
    return Scale(3.0)(pair.first) + pair.second + cached(2)


def members(x):
    color = Color(2)
    return x * Level.HIGH + (1 if color is Color.BLUE else 2) + color.value


def exceptions(x):
    try:
        if x.shape[0] > 1:
            raise ValueError("long", 2.0)
    except ValueError as error:
        x = x + error.args[1]
    with Held() as held:
        x = x * held
        raise KeyError(1)
    return x


def handled_inside(x):
    with contextlib.suppress(KeyError):
        x = x + 1
        {}[1]
    return x * 2


def warned(x):
    return np.log(x - 2.0) + np.sqrt(-x)


def in_error_state(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return x / (x - x) + 1


def rounds(x):
    out = np.zeros_like(x)
    for i in range(1, x.shape[0] - 1):
        out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3
    return out


def complex_rounds(x):
    z = 0.5 + 0.25j
    total = 0.0
    for i in range(x.shape[0]):
        z = np.exp(z) * 0.1 + x[i] * 1e-3
        total += z.real
    return total


def lists(x):
    order = [3, 1, 2]
    order.sort()
    return sorted([x.sum(), x.max(), x.min()])[order[0]] + sum([0.5, 1.5])


def generators(x):
    return sum(part.sum() for part in (x * i for i in range(3))) + max(float(v) for v in x[:3])


def broken(x):
    total = float(x.sum())  # a break
    text = f"{total:.3f}"
    names = {text: x}
    if "missing" in names:
        return x
    return names[text] * len(text)


def long_in_python(x):
    seen = {}
    for i in range(400):
        seen[str(i)] = seen.get(str(i - 1), 0) + i
    return x * len(seen) + globals()["THREE"]


THREE = 3
FUNCTIONS = [
    elementwise, special_methods, values, members, exceptions, handled_inside, warned, in_error_state, rounds,
    complex_rounds, lists, generators, broken, long_in_python,
]  # fmt: skip


def is_close(found, expected):
    if isinstance(expected, (tuple, list)):
        return len(found) == len(expected) and all(map(is_close, found, expected))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            is_close(found[key], expected[key]) for key in expected
        )
    return np.allclose(np.asarray(found), np.asarray(expected), rtol=1e-3, atol=1e-5, equal_nan=True)


def checked(call, expected, name):
    def run():
        for _ in range(2):
            found = call()
            assert is_close(found, expected), f"{name}: {found!r} is not {expected!r}"

    return run


# ---- scenarios: a list of calls, one for each thread ---------------------------------------------------------------


def one_function(rng, threads):
    """One compiled function, in all threads."""
    function = rng.choice(FUNCTIONS)
    compiled, x = weft.compile(function), np.linspace(1.0, 3.0, 40)
    return [checked(lambda: compiled(x), plain(function), function.__name__)] * threads


def functions(rng, threads):
    """A function for each thread, compiled there."""
    return [of_function(function) for function in rng.choices(FUNCTIONS, k=threads)]


def of_function(function):
    x = np.linspace(1.0, 3.0, 40)
    return checked(lambda: weft.compile(function)(x), plain(function), function.__name__)


@functools.cache
def plain(function):
    return function(np.linspace(1.0, 3.0, 40))


def archives(rng, threads):
    """TorchScript archives: one module in all threads, or a file for each."""
    names = [name for name in ARCHIVES if (FOLDER / f"{name}.pt").exists()]
    if rng.random() < 0.5:
        name = rng.choice(names)
        module = weft.jit.load(FOLDER / f"{name}.pt")
        return [of_archive(name, lambda: module)] * threads
    return [of_archive(name, functools.partial(weft.jit.load, FOLDER / f"{name}.pt"))
            for name in rng.choices(names, k=threads)]  # fmt: skip


ARCHIVES = "attention cnn_traced cnn_scripted control_flow early_return fork_wait lstm text".split()
FOLDER = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "")) / "torchscript"


def of_archive(name, module):
    arrays = np.load(FOLDER / f"{name}.npz")
    inputs = [arrays[f"in.{i}"] for i in range(sum(key.startswith("in.") for key in arrays))]
    expected = {key: arrays[key] for key in arrays if key.startswith("out")}

    def flattened(value, name):
        if not isinstance(value, (dict, tuple, list)):
            return {name: value}
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return {key: one for inner, item in parts for key, one in flattened(item, f"{name}.{inner}").items()}

    def call():
        result = module()(*(x.item() if x.ndim == 0 else weft.tensor(x) for x in inputs))
        return {key: np.asarray(value) for key, value in flattened(result, "out").items()}

    return checked(call, expected, name)


WEIGHTS = [
    np.linspace(-1, 1, 8 * 16, dtype=np.float32).reshape(16, 8),
    np.linspace(-1, 1, 16, dtype=np.float32),
]


def make_network():
    network = weft.nn.Sequential(weft.nn.Linear(8, 16), weft.nn.ReLU())
    network.load_state_dict({"0.weight": weft.tensor(WEIGHTS[0]), "0.bias": weft.tensor(WEIGHTS[1])})
    return network.eval()


def networks(rng, threads):
    """weft.nn modules: called, compiled, scripted, traced."""
    array = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
    x, expected = weft.tensor(array), np.maximum(array @ WEIGHTS[0].T + WEIGHTS[1], 0)
    shared = make_network() if rng.random() < 0.5 else None
    ways = [lambda m: m, weft.compile, weft.jit.script, lambda m: weft.jit.trace(m, x),
            lambda m: weft.compile(lambda t: m(t) * 2 - m(t))]  # fmt: skip

    def of(way):
        return checked(lambda: np.asarray(way(shared or make_network())(x)), expected, "network")

    return [of(rng.choice(ways)) for _ in range(threads)]


@weft.jit.ignore
def in_python(x):
    time.sleep(0)
    return x + 1


def doubled(x):
    return x * 2


def through_python(x):
    return in_python(x * 6)


def through_others(x):
    return doubled(x) * 3 + 1


def scripts(rng, threads):
    """weft.jit.script of functions, one of them Python's own, run while others are compiled."""
    x = weft.tensor(np.linspace(-1, 1, 12, dtype=np.float32))
    expected = np.linspace(-1, 1, 12, dtype=np.float32) * 6 + 1

    def of(function):
        return checked(lambda: np.asarray(weft.jit.script(function)(x)), expected, function.__name__)

    return [of(function) for function in rng.choices([through_python, through_others], k=threads)]


def models(rng, threads):
    """A language model: one, or one for each thread."""
    folder = pathlib.Path(os.environ["WEFT_SHARED_DATA"]) / "stories260k"
    expected = json.loads((folder / "expected.json").read_text())["greedy_ids"][:8]
    shared = weft.models.Llama.from_pretrained(folder) if rng.random() < 0.5 else None

    def call():
        stream = (shared or weft.models.Llama.from_pretrained(folder)).stream([1], max_new_tokens=7)
        for _ in stream:
            pass
        return stream.tokens

    return [checked(call, expected, "stories260k")] * threads


def everything(rng, threads):
    """Something else in each thread."""
    kinds = [functions, networks, scripts] + ([archives, models] if FOLDER.is_dir() else [])
    return [rng.choice(kinds)(rng, 1)[0] for _ in range(threads)]


SCENARIOS = {one.__name__: one for one in
             (one_function, functions, archives, networks, scripts, models, everything)}  # fmt: skip


# ---- processes -----------------------------------------------------------------------------------------------------


def run_threads(scenario, threads, intra_op, seed):
    """Runs the scenario's calls, which begin at the same moment; errors of the threads."""
    rng = random.Random(seed)
    if rng.random() < 0.7:
        sys.setswitchinterval(10 ** -rng.uniform(4, 6))
    weft.set_num_threads(intra_op)
    calls = SCENARIOS[scenario](rng, threads)
    barrier, errors = threading.Barrier(threads), []

    def run(call):
        barrier.wait()
        try:
            call()
        except BaseException:
            errors.append(traceback.format_exc())

    workers = [threading.Thread(target=run, args=(call,)) for call in calls]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return errors


def in_this_process(arguments, seed, log):
    """0, or 1 with the reason in `log`; a process that hangs ends with all stacks there."""
    faulthandler.enable(log)
    faulthandler.dump_traceback_later(arguments.seconds, exit=True, file=log)
    errors = run_threads(arguments.scenario, arguments.threads, arguments.intra_op, seed)
    faulthandler.cancel_dump_traceback_later()
    print("\n".join(errors), file=log)
    log.flush()
    return 1 if errors else 0


def forked(arguments):
    """How many children failed, and what the first of them said."""
    failed, said, running, started = 0, "", {}, 0
    while running or started < arguments.processes:
        if started < arguments.processes and len(running) < 2 and failed < arguments.stop_after:
            log = tempfile.TemporaryFile("w+")
            child = os.fork()
            if child == 0:
                os._exit(in_this_process(arguments, arguments.seed + started, log))
            running[child] = log
            started += 1
            continue
        if not running:
            break
        child, status = os.wait()
        log = running.pop(child)
        if status != 0:
            failed += 1
            log.seek(0)
            said = said or f"child {started} ended with {os.waitstatus_to_exitcode(status)}\n{log.read()}"
        log.close()
    return started, failed, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--intra-op", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--stop-after", type=int, default=1, help="failures")
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.fresh:
        sys.exit(in_this_process(arguments, arguments.seed, sys.stderr))
    start = time.perf_counter()
    processes, failed, said = forked(arguments)
    print(said)
    seconds = round(time.perf_counter() - start, 1)
    print(json.dumps({"processes": processes, "failed": failed, "seconds": seconds}))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
