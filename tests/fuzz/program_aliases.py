#!/usr/bin/env python3
"""Random programs of views: chains of views, updates through any of them, graph breaks and loops in between.

Compares values, types, shapes and which results share memory with NumPy's. `program_aliases.py FIRST LAST` runs the
seeds of that range; WEFT_INTERPRET=1 is quick.
"""

import random
import sys

import numpy as np
import weft

VIEWS = [
    "{x}[1:]", "{x}[::-1]", "{x}[::2]", "{x}[:2]", "{x}[..., None]", "{x}.reshape(-1)", "{x}.reshape(2, -1)", "{x}.T",
    "{x}.ravel()", "{x}.swapaxes(0, -1)", "{x}.real", "np.flip({x})", "np.atleast_2d({x})", "np.squeeze({x})",
    "np.moveaxis({x}, 0, -1)", "np.diagonal(np.atleast_2d({x})) * 1", "np.broadcast_to({x}, {x}.shape) * 1",
]  # fmt: skip
UPDATES = [
    "{x}[...] = {k}", "{x}[0] = {k}", "{x}[:1] = {k}", "{x}[-1:] -= 3", "{x}[::-1] += 1", "{x}[{x} > 3] = 0", "{x} += 1",
    "{x} *= 2", "{x}.fill({k})", "np.add({x}, {k}, out={x})", "np.negative({x}, out={x})",
]  # fmt: skip


def pause():
    """A call that leaves the graph."""
    return id(object())


def source_of(rng):
    first = rng.choice(["v = a * 1", "v = a * 3", "v = a * 2", "v = a", "v = np.zeros(12)"])
    names, lines = ["v"], [first]
    for number in range(rng.randint(4, 10)):
        kind, name = rng.random(), rng.choice(names)
        if kind < 0.4:
            names.append(f"w{number}")
            lines.append(f"w{number} = " + rng.choice(VIEWS).format(x=name))
        elif kind < 0.8:
            lines.append(rng.choice(UPDATES).format(x=name, k=rng.randint(1, 9)))
        elif kind < 0.9:
            lines.append("pause()")
        elif kind < 0.95:
            lines.append(f"for i in range(20): {name}[0] += 1")
        else:
            lines.append(f"{rng.choice(names)} = {name}")
    results = rng.sample(names, min(len(names), rng.randint(1, 4)))
    return (
        "def f(a):\n" + "".join(f"    {line}\n" for line in lines) + f"    return a, {', '.join(results)}\n"
    )


def argument_of(rng):
    a = np.arange(12.0) if rng.random() < 0.5 else np.arange(12.0).reshape(3, 4)
    return np.asfortranarray(a) if rng.random() < 0.4 else a


def outcome(function, argument):
    try:
        return function(argument.copy(order="K"))
    except Exception as error:
        return type(error)


def difference(expected, actual):
    """What differs, or None."""
    if isinstance(expected, type) or isinstance(actual, type):
        return None if expected is actual else f"{actual} instead of {expected}"
    for place, (theirs, ours) in enumerate(zip(expected, actual)):
        if (
            type(theirs) is not type(ours)
            or np.shape(theirs) != np.shape(ours)
            or not np.array_equal(theirs, ours)
        ):
            return f"result {place} is {ours!r} instead of {theirs!r}"
        for other in range(place):
            if np.shares_memory(theirs, expected[other]) != np.shares_memory(ours, actual[other]):
                return f"results {other} and {place} share memory in one of both"
    return None


def fails(seed):
    """A message with the program, or None."""
    rng = random.Random(seed)
    source, argument = source_of(rng), argument_of(rng)
    namespace = {"np": np, "pause": pause}
    exec(source, namespace)
    expected = outcome(namespace["f"], argument)
    compiled = weft.compile(namespace["f"])
    for _ in range(2):
        found = difference(expected, outcome(compiled, argument))
        if found:
            return f"seed {seed}: {found}\n{source}{argument!r}"
    return None


if __name__ == "__main__":
    failures = 0
    for seed in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
        message = fails(seed)
        if message:
            failures += 1
            print(message)
        if seed % 100 == 0:
            weft.compiler.reset()
    print(f"{int(sys.argv[2]) - int(sys.argv[1]) + 1} programs, {failures} differ")
    sys.exit(failures > 0)
