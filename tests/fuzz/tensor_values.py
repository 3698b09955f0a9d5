"""What the fuzzed tensor programs are called with, and how two runs of one are compared.

Two runs must agree in every object that their namespaces and results reach: types, dtypes, shapes, strides, elements, which
tensors share memory and how, which objects are one, contents and order of containers, attributes of modules.
"""

from __future__ import annotations

import collections
import marshal
import math
import types

import numpy as np
import weft
from weft import nn

TOLERANCE_OF_MANY = 1e-6  # of sums of many numbers of few bits
TOLERANCE = 1e-3  # of programs whose sums are rounded, in compiled code
# Of modules and what else is not the program's own.
_OPAQUE = (
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.GeneratorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    weft.dtype,
)
_COMPILED = (weft._C._CompiledFunction, nn.OptimizedModule)
_PLAIN = {bool, int, str, bytes, type(None)}
_KEYS = {*_PLAIN, float, tuple}
# Attributes of the program's classes and objects that say nothing.
_IGNORED = {"__dict__", "__weakref__", "__module__", "__doc__", "__annotations__", "__qualname__"}


class Difference(Exception):
    """The compiled program did something else."""


# ---- arguments -------------------------------------------------------------------------------------------------------
def elements(rng, shape, dtype, special):
    """Numbers of few bits, so that sums and products of some are exact."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        return rng.integers(0 if dtype.startswith("u") else -4, 5, shape)
    values = rng.integers(-8, 9, shape) / 4.0
    if special and values.size:
        flat = values.reshape(-1)
        for position in rng.integers(0, flat.size, 2):
            flat[position] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return values


def arg(seed, shape, dtype="float32", layout="C", special=False):
    """A tensor: the same elements every time."""
    rng = np.random.default_rng(seed)
    kind = getattr(weft, dtype)
    wider = list(shape)
    if layout == "strided" and shape:
        wider[-1] *= 2
    elif layout == "offset" and shape:
        wider[0] += 1
    elif layout == "transposed":
        wider = wider[::-1]
    elif layout == "expanded" and shape:
        wider[0] = 1
    numbers = elements(rng, tuple(wider), dtype, special)
    numbers = np.asarray(numbers, {"bool": bool}.get(dtype, np.int64 if "int" in dtype else np.float32))
    if layout == "unaligned" and kind == weft.float32:  # of the vectors' size
        memory = np.zeros(numbers.size + 1, np.float32)[1:]
        memory[...] = numbers.reshape(-1)
        return weft.from_numpy(memory.reshape(numbers.shape))
    tensor = weft.tensor(numbers).to(kind)
    if layout == "strided" and shape:
        return tensor[..., ::2]
    if layout == "offset" and shape:
        return tensor[1:]
    if layout == "transposed":
        return tensor.permute(*range(len(shape) - 1, -1, -1)) if shape else tensor
    if layout == "expanded" and shape:
        return tensor.expand(*shape)
    return tensor


def filled(module, seed, is_exact=True):
    """The module with other parameters: such that products are exact, or any."""
    rng = np.random.default_rng(seed)
    for parameter in module.parameters():
        shape = tuple(parameter.shape)
        numbers = rng.integers(-2, 3, shape) / 2.0 if is_exact else rng.standard_normal(shape) * 0.5
        parameter.data.copy_(weft.tensor(np.asarray(numbers, np.float32)))
    return module


def contents(cell):
    """Of a closure's cell, or ... where it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return ...


# ---- comparing -------------------------------------------------------------------------------------------------------
def name_of(kind):
    return f"{getattr(kind, '__module__', None)}.{kind.__qualname__}"


class Comparison:
    """One walk over what two runs hold. `got`: the compiled run's."""

    def __init__(self, tolerance=0.0, layouts=True):
        self.tolerance, self.layouts = tolerance, layouts
        self.seen = {}  # id of an object of the compiled run -> that of the plain one, and the objects, so that they stay
        self.met = {}  # id of the plain one -> path
        self.kept = []
        self.tensors = []  # (path, extent in the compiled run, in the plain one)

    def fail(self, path, got, expected):
        raise Difference(f"{path}: {got}, not {expected}")

    def are_new(self, path, got, expected):
        """Whether this pair is met for the first time; objects are one in both runs or in neither."""
        a, b = id(got), id(expected)
        if a in self.seen or b in self.met:
            if self.seen.get(a, (None,))[0] != b:
                first = self.met.get(b) or self.seen[a][1]
                verb = "is" if b in self.met else "is not"
                raise Difference(f"{path}: plain Python's {verb} the object at {first}")
            return False
        self.seen[a] = b, path
        self.met[b] = path
        self.kept += [got, expected]
        return True

    def walk(self, path, got, expected):
        if got is expected:
            return
        kind = type(expected)
        if kind in _PLAIN and type(got) is kind:
            if got != expected:
                self.fail(path, repr(got), repr(expected))
            return
        if isinstance(got, _COMPILED):
            got = got.__wrapped__
            if got is expected:
                return
        if type(got) is not kind and name_of(type(got)) != name_of(kind):
            self.fail(path, f"a {name_of(type(got))} ({got!r:.80})", f"a {name_of(kind)} ({expected!r:.80})")
        if kind in _PLAIN:
            self.fail(path, repr(got), repr(expected))
        elif kind in (float, complex):
            self.number(path, got, expected)
        elif isinstance(expected, weft.Tensor):
            self.tensor(path, got, expected)
        elif isinstance(expected, np.ndarray | np.generic):
            if got.dtype != expected.dtype or got.shape != expected.shape:
                self.fail(path, f"{got.dtype}{got.shape}", f"{expected.dtype}{expected.shape}")
            self.numbers(path, got, expected)
        elif isinstance(expected, dict):
            self.dict(path, got, expected)
        elif isinstance(expected, list | tuple):
            self.sequence(path, got, expected)
        elif isinstance(expected, set | frozenset):
            described = [
                collections.Counter(e if type(e) in _KEYS else name_of(type(e)) for e in each)
                for each in (got, expected)
            ]
            if described[0] != described[1]:
                self.fail(path, repr(got), repr(expected))
        elif not isinstance(expected, _OPAQUE):
            self.object(path, got, expected)

    def number(self, path, got, expected):
        same = got == expected or (got != got and expected != expected)
        if same and got == 0 and isinstance(got, float) and not self.tolerance:
            same = math.copysign(1, got) == math.copysign(1, expected)
        if not same and not (
            self.tolerance and np.isclose(got, expected, self.tolerance, self.tolerance / 10)
        ):
            self.fail(path, repr(got), repr(expected))

    def numbers(self, path, a, b):
        if a.tobytes() == b.tobytes():
            return
        if a.dtype.kind not in "fc":
            same = a == b
        elif self.tolerance:
            same = np.isclose(a, b, self.tolerance, self.tolerance / 10, equal_nan=True)
        else:
            same = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype.kind == "f" else a == b
            same |= (a != a) & (b != b)
        if not np.all(same):
            where = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
            one, other = np.atleast_1d(a)[where], np.atleast_1d(b)[where]
            self.fail(f"{path}{list(where)}", one, other)

    def tensor(self, path, got, expected):
        if not self.are_new(path, got, expected):
            return
        shape = tuple(expected.shape)
        if (
            got.dtype != expected.dtype
            or tuple(got.shape) != shape
            or got.requires_grad != expected.requires_grad
        ):
            self.fail(path, *(
                f"{str(t.dtype)} {list(t.shape)}{' requires_grad' if t.requires_grad else ''}" for t in (got, expected)
            ))  # fmt: skip
        count = math.prod(shape)
        if count:
            extents = extent(got), extent(expected)
            if self.layouts and got.stride() != expected.stride():
                # Which stride a dimension of one element has is nobody's promise.
                strides = [tuple(s for s, n in zip(t.stride(), shape) if n > 1) for t in (got, expected)]
                if strides[0] != strides[1]:
                    self.fail(path, f"strides {strides[0]}", strides[1])
            self.tensors.append((path, *extents))
            self.numbers(path, as_array(got), as_array(expected))
        for name in expected.__dict__:
            self.walk(f"{path}.{name}", got.__dict__.get(name), expected.__dict__[name])

    def dict(self, path, got, expected):
        if not self.are_new(path, got, expected):
            return
        if list(got) != list(expected):
            keys = [[key if type(key) in _KEYS else name_of(type(key)) for key in d] for d in (got, expected)]
            of_hooks = "hook" in path.rsplit("[", 1)[-1]  # numbers that the process counts
            if keys[0] != keys[1] and not (of_hooks and len(keys[0]) == len(keys[1])):
                self.fail(path, f"keys {keys[0]}", keys[1])
        for key, a, b in zip(expected, got.values(), expected.values()):
            self.walk(f"{path}[{key!r}]", a, b)
        if type(expected) is not dict and hasattr(expected, "__dict__"):  # of a class derived from it
            self.walk(f"{path}.__dict__", got.__dict__, expected.__dict__)

    def sequence(self, path, got, expected):
        if not isinstance(expected, tuple) and not self.are_new(path, got, expected):
            return
        if len(got) != len(expected):
            self.fail(path, f"{len(got)} elements", len(expected))
        if len(expected) > 64 and is_of_numbers(expected) and is_of_numbers(got):
            if marshal.dumps(list(got), 2) == marshal.dumps(list(expected), 2):  # types and bits
                return
        for i, (a, b) in enumerate(zip(got, expected)):
            self.walk(f"{path}[{i}]", a, b)

    def object(self, path, got, expected):
        if not self.are_new(path, got, expected) or type(expected).__name__ == "RemovableHandle":
            return
        if isinstance(expected, types.FunctionType):
            for name in ("__defaults__", "__kwdefaults__", "__dict__"):
                self.walk(f"{path}.{name}", getattr(got, name), getattr(expected, name))
            cells = [[contents(c) for c in f.__closure__ or ()] for f in (got, expected)]
            self.walk(f"{path}.__closure__", tuple(cells[0]), tuple(cells[1]))
        elif isinstance(expected, types.MethodType):
            self.walk(f"{path}.__self__", got.__self__, expected.__self__)
        elif isinstance(expected, type):
            if not str(getattr(expected, "__module__", None)).startswith(("builtins", "weft")):
                attributes = [
                    {k: v for k, v in vars(c).items() if k not in _IGNORED} for c in (got, expected)
                ]
                self.kept += attributes
                self.walk(path, *attributes)
        elif isinstance(expected, weft.random.Generator):
            self.walk(f"{path}.get_state()", got.get_state(), expected.get_state())
        elif isinstance(expected, nn.Module):
            got, expected = got.__dict__, expected.__dict__
            if list(got) != list(expected):
                self.fail(f"{path}.__dict__", f"keys {list(got)}", list(expected))
            for name, value in expected.items():
                other = got[name]
                if type(value) is not dict or type(other) is not dict or value or other:  # most are empty
                    self.walk(f"{path}.{name}", other, value)
        else:
            for kind in type(expected).__mro__:
                for slot in kind.__dict__.get("__slots__", ()):
                    if slot not in _IGNORED:
                        self.walk(f"{path}.{slot}", getattr(got, slot, None), getattr(expected, slot, None))
            if hasattr(expected, "__dict__"):
                self.walk(f"{path}.__dict__", got.__dict__, expected.__dict__)

    def aliasing(self):
        """Tensors overlap in one run where they do in the other, at the same distance."""
        overlaps = [overlapping([tensor[side] for tensor in self.tensors]) for side in (1, 2)]
        if overlaps[0] == overlaps[1]:
            return
        for pair in sorted({**overlaps[0], **overlaps[1]}):
            here, plain = (overlap.get(pair) for overlap in overlaps)
            if here != plain:
                verb = "do not share memory" if plain is None else f"share memory, {plain} bytes apart"
                path, other = (self.tensors[i][0] for i in pair)
                raise Difference(f"{path} and {other}: in plain Python they {verb}, here {here}")


def is_of_numbers(sequence):
    return all(type(item) in (int, float, bool) for item in sequence)


def as_array(tensor):
    tensor = tensor.detach() if tensor.requires_grad else tensor
    tensor = tensor.reshape(-1) if tensor.dim() > 64 else tensor  # more than NumPy's arrays have
    return (tensor.float() if tensor.dtype == weft.bfloat16 else tensor).numpy()


def overlapping(extents):
    """Which pairs of ranges of memory overlap, and how far apart they begin."""
    found, open_ranges = {}, []
    for i in sorted(range(len(extents)), key=extents.__getitem__):
        first = extents[i][0]
        open_ranges = [j for j in open_ranges if extents[j][1] > first]
        for j in open_ranges:
            late, early = max(i, j), min(i, j)
            found[late, early] = extents[late][0] - extents[early][0]
        open_ranges.append(i)
    return found


def extent(tensor):
    """First byte, one past the last."""
    first = last = tensor.data_ptr()
    size = tensor.element_size()
    for stride, count in zip(tensor.stride(), tensor.shape):
        reach = stride * (count - 1) * size
        first, last = first + min(reach, 0), last + max(reach, 0)
    return first, last + size


def compare(what, got, expected, tolerance=0.0, layouts=True):
    comparison = Comparison(tolerance, layouts)
    comparison.walk(what, got, expected)
    if layouts:
        comparison.aliasing()


__all__ = ["TOLERANCE", "TOLERANCE_OF_MANY", "Comparison", "Difference", "arg", "compare", "filled", "nn"]
