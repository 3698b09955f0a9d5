"""Other arguments for the same compiled function: other sizes, dtypes, layouts, numbers and aliasing.

Only of programs whose values are all equal to NumPy's to the last bit, whatever their arguments are: floating-point
numbers stay floating-point numbers, and integers integers.
"""

import dataclasses
import random

from program_values import Argument, Number

KINDS = [
    ["bool"],
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
    ["float16", "float32", "float64"],
    ["complex64", "complex128"],
]
LAYOUTS = ["C", "F", "reversed", "strided", "transposed"]


def kind_of(dtype):
    return next(kind for kind in KINDS if dtype in kind)


def changed_argument(rng, argument, sizes, position, earlier):
    if isinstance(argument, Number):
        return Number(rng.choice([argument.text, "3", "-1", "2.5", "True", "0"]))
    same_as = argument.same_as
    if rng.random() < 0.2:
        alike = [i for i, other in enumerate(earlier) if isinstance(other, Argument) and other.same_as < 0]
        same_as = -1 if same_as >= 0 or not alike else rng.choice(alike)
    return dataclasses.replace(
        argument,
        shape=tuple(sizes.get(size, size) for size in argument.shape),
        dtype=rng.choice(kind_of(argument.dtype)) if rng.random() < 0.4 else argument.dtype,
        layout=rng.choice(LAYOUTS) if rng.random() < 0.4 else argument.layout,
        special=argument.special != (rng.random() < 0.2),
        seed=argument.seed + 1,
        same_as=same_as,
        offset=rng.choice([0, argument.offset, argument.offset + 16]),
    )


def variants(program, seed, count=3):
    """The program with other arguments, and at last with its own again."""
    rng = random.Random(seed)
    for _ in range(count):
        sizes = {}
        if rng.random() < 0.6:
            found = {size for one in program.arguments if isinstance(one, Argument) for size in one.shape}
            sizes = {
                size: rng.choice([0, 1, 2, 3, 7, 16, 33]) if rng.random() < 0.6 else size
                for size in found
                if size != 1
            }
        arguments = []
        for position, argument in enumerate(program.arguments):
            arguments.append(changed_argument(rng, argument, sizes, position, arguments))
        yield dataclasses.replace(program, arguments=arguments)
    yield program
