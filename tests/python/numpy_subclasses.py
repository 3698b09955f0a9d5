"""The sample calls of NumPy's functions with arrays of classes of their own, which arise inside the compiled function.

Every sample of numpy_surface.py is called with each of CLASSES: all arrays of the sample are of the class, or the first
one is. What it gives, and what it leaves in the arrays, is what NumPy gives: types, masks and attributes included.
"""

import sys

import numpy as np
import numpy_surface as surface
import weft

METHODS = """all any argmax argmin argpartition argsort astype choose clip compress conj copy cumprod cumsum diagonal dot
    flatten item max mean min nonzero prod ravel repeat reshape round searchsorted squeeze std sum swapaxes take tolist
    trace transpose var view""".split()


class Plain(np.ndarray):
    """Nothing but another class."""


class Named(np.ndarray):
    """Handed on by NumPy from array to array."""

    def __array_finalize__(self, other):
        self.name = getattr(other, "name", "") + "'"


class Answering(np.ndarray):
    """Methods answer otherwise than ndarray's."""


def _answer(name):
    def method(self, *args, **kwargs):
        return f"{name} of {len(args)} and {sorted(kwargs)}"

    return method


for _name in METHODS:
    setattr(Answering, _name, _answer(_name))


class OfUfuncs(np.ndarray):
    """Numbers come as arrays, too. What is no array NumPy's own C code does not expect."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        def plain(one):
            return one.view(np.ndarray) if isinstance(one, OfUfuncs) else one

        if out is not None:
            kwargs["out"] = tuple(plain(one) for one in out)
        kwargs = {key: plain(value) for key, value in kwargs.items()}
        results = getattr(ufunc, method)(*[plain(one) for one in inputs], **kwargs)
        if isinstance(results, tuple):
            return tuple(np.asarray(one).view(OfUfuncs) for one in results)
        return None if results is None else np.asarray(results).view(OfUfuncs)


class OfFunctions(np.ndarray):
    def __array_function__(self, function, types, args, kwargs):
        return f"{function.__name__} of {len(args)} and {sorted(kwargs)}"


class Wrapping(np.ndarray):
    __array_priority__ = 10.0

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return "wrapped", np.asarray(array)


class Duck:
    """No array, but one can be made of it."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)

    def sum(self, axis=None, dtype=None, out=None):
        return "sum of a duck"

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        return self.array[key]


class DuckOfFunctions(Duck):
    def __array_function__(self, function, types, args, kwargs):
        return f"{function.__name__} of {len(args)} and {sorted(kwargs)}"

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return f"{ufunc.__name__}.{method} of {len(inputs)} and {sorted(kwargs)}"


# What makes an array {0} one of the class, in the function.
CLASSES = {
    "masked": "np.ma.masked_invalid({0})",
    "masked below": "np.ma.masked_less({0}, 1)",
    "masked copy": "np.ma.array({0}, mask={0} != {0}).copy()",
    "matrix": "np.matrix({0})",
    "record array": "{0}.view(np.recarray)",
    "memory map": "{0}.view(np.memmap)",
    "plain": "{0}.view(Plain)",
    "plain copy": "{0}.view(Plain).copy()",
    "named": "{0}.view(Named)",
    "answering": "{0}.view(Answering)",
    "of ufuncs": "{0}.view(OfUfuncs)",
    "of functions": "{0}.view(OfFunctions)",
    "wrapping": "{0}.view(Wrapping)",
    "duck": "Duck({0})",
    "duck of functions": "DuckOfFunctions({0})",
}

# By class: functions whose results NumPy takes from memory that nobody has written.
UNDEFINED = {"matrix": ["dstack"]}


def described(value, depth=0):
    """Text that tells classes, masks, attributes and values, of floating-point numbers to ten digits."""
    if isinstance(value, tuple | list) and depth < 4:
        return f"{type(value).__name__}({', '.join(described(item, depth + 1) for item in value)})"
    if isinstance(value, dict) and depth < 4:
        return f"dict({', '.join(f'{key!r}: {described(item, depth + 1)}' for key, item in value.items())})"
    if isinstance(value, Duck):
        return f"{type(value).__name__}({described(value.array, depth + 1)})"
    if isinstance(value, np.ma.MaskedArray):
        mask, data = np.asarray(value._mask), np.asarray(value.data)
        if mask.shape == data.shape and data.dtype.kind in "biufc":
            data = np.where(mask, 0, data)
        return f"{type(value).__name__}({described(data)}, {mask.tolist()})"
    if isinstance(value, np.ndarray):
        plain = np.ndarray.view(value, np.ndarray)
        if plain.dtype.kind in "fc":
            plain = np.round(plain + 0.0, 10)  # -0.0 and 0.0 may be either, where the order of a sum decides
        if plain.dtype.kind == "O":
            return f"{type(value).__name__}({[described(item, depth + 1) for item in plain.reshape(-1).tolist()]})"
        return f"{type(value).__name__}({value.dtype}, {value.shape}, {plain.tolist()}, {getattr(value, 'name', None)})"
    if isinstance(value, np.inexact | float):
        return f"{type(value).__name__}({complex(value):.10g})"
    return (
        f"{type(value).__name__}({value!r})"
        if isinstance(value, np.generic | int | str | bool)
        else type(value).__name__
    )


def program(sample, made, first_only):
    """The sample as a function whose arrays, or the first one, become arrays of the class as it begins."""
    plain, names = surface.program(sample)
    *statements, result = (part.strip() for part in sample.split(";"))
    made_of = [f"{name} = {made.format(name)}" for name in (names[:1] if first_only else names)]
    body = "".join(f"    {line}\n" for line in [*made_of, *statements]) + f"    return {result}\n"
    scope = {"np": np, "copy": __import__("copy")}
    scope.update(
        {one.__name__: one for one in (Plain, Named, Answering, OfUfuncs, OfFunctions, Wrapping, Duck)}
    )
    scope["DuckOfFunctions"] = DuckOfFunctions
    exec(f"def sample({', '.join(names)}):\n{body}", scope)
    return scope["sample"], names


def surveyed(function, names):
    try:
        result, arguments = surface.run(function, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"{described(result)}; {described(arguments)}"


def samples(most=None):
    """Of each function, at most so many."""
    for _, _, _, table, _ in surface.tables():
        for several in table.values():
            yield from several[:most]


def survey(name, most=None):
    """(sample, what compiled code gives, what NumPy gives) where these differ; how many there are in all."""
    made, differing, count = CLASSES[name], [], 0
    for sample in samples(most):
        names = surface.program(sample)[1]
        for first_only in [False, True] if len(names) > 1 else [False]:
            if not names or any(function in sample for function in UNDEFINED.get(name, [])):
                continue
            count += 1
            function, names = program(sample, made, first_only)
            expected = surveyed(function, names)
            compiled = weft.compile(function)
            for _ in range(2):
                actual = surveyed(compiled, names)
                if actual != expected:
                    differing.append((sample + (" (the first one)" if first_only else ""), actual, expected))
                    break
    return differing, count


def main():
    for name in sys.argv[1:] or CLASSES:
        differing, count = survey(name)
        for sample, actual, expected in differing:
            print(f"{name}: {sample}\n    {actual[:300]}\n    NumPy: {expected[:300]}")
        print(f"{name}: {len(differing)} of {count} differ")


if __name__ == "__main__":
    main()
