"""What the fuzzed programs are made of and how their results are compared.

Results must agree in type, dtype, shape, memory order, writability, aliasing and every element. What NumPy does
not promise bit for bit has a bound, which the generator carries from statement to statement (program_bounds.py).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import program_helpers
from time_limits import time_limit

# Which zero is the larger of 0.0 and -0.0 depends on NumPy's vector instructions.
UNORDERED_ZEROS = (
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "clip",
    ".max(",
    ".min(",
    "ptp",
    "sort",
    "1d",
    "unique",
    "quantile",
    "percentile",
    "median",
    "partition",
)
# Arrays of three and more dimensions that are computed from permuted ones come in C order (docs/WHAT_COMPILES.md).
ORDERED_DIMS = 2
# A run that takes longer is a failure; of NumPy's own, a program that is no test (integers that double in every round).
SECONDS_PER_RUN = 60
SECONDS_PER_PLAIN_RUN = 3


CACHE_LINE = 64


def placed(array, offset):
    """A copy in C order whose memory begins `offset` bytes past the beginning of a cache line."""
    buffer = np.empty(array.nbytes + 2 * CACHE_LINE, np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE + offset
    copy = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def some_offset(dtype, seed):
    """Where elements begin, of arguments of random programs: 0 bytes past a cache line, and elsewhere."""
    element = np.dtype(dtype).itemsize
    return seed // 64 % CACHE_LINE // element * element if seed % 4 == 0 else 1 if seed % 63 == 0 else 0


@dataclasses.dataclass
class Argument:
    """How to make one argument: the same bytes every time."""

    dtype: str
    shape: tuple
    layout: str  # "C", "F", "reversed", "strided", "transposed"
    special: bool
    seed: int
    same_as: int = -1  # the number of an earlier argument: this one is that array
    offset: int = 0  # bytes past the beginning of a cache line; 0: wherever NumPy's allocator puts it

    def make(self):
        rng = np.random.default_rng(self.seed)
        shape = self.shape
        if self.layout == "strided" and shape:
            shape = (*shape[:-1], shape[-1] * 2)
        if self.layout == "transposed":
            shape = shape[::-1]
        array = np.asarray(self._elements(rng, shape))
        if self.special and array.size:
            self._put_special(rng, array.reshape(-1))
        if self.offset:
            array = placed(array.T, self.offset).T if self.layout == "F" else placed(array, self.offset)
        if self.layout == "F":
            return np.asfortranarray(array)
        if self.layout == "transposed":
            return array.T
        if self.layout == "reversed" and array.ndim:
            return array[::-1]
        if self.layout == "strided" and array.ndim:
            return array[..., ::2]
        return array

    def _elements(self, rng, shape):
        if self.dtype == "bool":
            return rng.random(shape) < 0.5
        if self.dtype.startswith("float"):
            return np.round(rng.standard_normal(shape) * 4, 2).astype(self.dtype)
        if self.dtype.startswith("complex"):
            parts = np.round(rng.standard_normal((2, *shape)) * 4, 2)
            return (parts[0] + 1j * parts[1]).astype(self.dtype)
        return rng.integers(0 if self.dtype.startswith("u") else -9, 10, shape).astype(self.dtype)

    def _put_special(self, rng, flat):
        if self.dtype.startswith(("float", "complex")):
            values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0]).astype(self.dtype)
        elif self.dtype == "bool":
            values = np.array([True])
        else:
            limits = np.iinfo(self.dtype)
            values = np.array([limits.min, limits.max, 0], dtype=self.dtype)
        for position in rng.integers(0, flat.size, min(4, flat.size)):
            flat[position] = values[rng.integers(len(values))]


@dataclasses.dataclass
class Number:
    """A Python or NumPy number among the arguments: its expression."""

    text: str
    same_as: int = -1

    def make(self):
        return eval(self.text, {"np": np, "inf": math.inf, "nan": math.nan})


@dataclasses.dataclass
class Program:
    arguments: list
    statements: list
    results: list
    # How far elements may be from NumPy's, by name: of results, and of arguments afterwards. Absent: equal.
    bounds: dict = dataclasses.field(default_factory=dict)
    # Every value is equal to NumPy's, also with other arguments.
    exact: bool = False

    def source(self, name="program"):
        names = ", ".join(f"a{i}" for i in range(len(self.arguments)))
        body = "".join(f"    {line}\n" for statement in self.statements for line in statement.split("\n"))
        return f"def {name}({names}):\n{body}    return ({', '.join(self.results)},)\n"

    def function(self):
        scope = {"np": np, "math": math, **program_helpers.NAMES}
        source = self.source()
        # A real file name lets tracebacks and logs show the line.
        exec(compile(source, f"<program {hash(source) & 0xFFFFFF:06x}>", "exec"), scope)
        return scope["program"]

    def make_arguments(self):
        made = []
        for argument in self.arguments:
            made.append(made[argument.same_as] if argument.same_as >= 0 else argument.make())
        return made


class Difference(Exception):
    """The compiled program did something else."""


def run(function, program, seconds=SECONDS_PER_RUN):
    """(result, arguments afterwards, exception)"""
    arguments = program.make_arguments()
    with np.errstate(all="ignore"), time_limit(seconds):
        try:
            return function(*arguments), arguments, None
        except Exception as error:  # compared, not handled
            return None, arguments, error


def compare_elements(what, actual, expected, bound=0.0, exact_zeros=True):
    """`bound`: the largest distance from NumPy's that is not an error; inf: elements are not compared."""
    a, b = np.asarray(actual), np.asarray(expected)
    if bound and b.dtype.kind == "c":  # an infinite real part is no distance of the imaginary ones
        compare_elements(what, a.real, b.real, bound, exact_zeros)
        compare_elements(what, a.imag, b.imag, bound, exact_zeros)
        return
    with np.errstate(all="ignore"):
        equal = (a == b) | ((a != a) & (b != b))
        if bound and b.dtype.kind == "f":
            # The comparison itself rounds.
            tiny = 4 * float(np.finfo(b.dtype).smallest_subnormal)
            equal |= np.abs(a.astype(np.float64) - b.astype(np.float64)) <= bound * (1 + 1e-9) + tiny
            equal |= math.isinf(bound)
        elif b.dtype.kind == "f" and exact_zeros:
            equal &= (np.signbit(a) == np.signbit(b)) | np.isnan(b)
    if not np.all(equal):
        position = tuple(int(i) for i in np.argwhere(~np.atleast_1d(equal))[0])
        one, other = np.atleast_1d(a)[position], np.atleast_1d(b)[position]
        allowed = f", within {bound:.3g}" if bound else ""
        raise Difference(f"{what}{list(position)}: {one!r}, NumPy gives {other!r}{allowed}")


def compare(what, actual, expected, bound=0.0, exact_zeros=True, layouts=True):
    if type(actual) is not type(expected):
        raise Difference(f"{what}: type {type(actual).__name__}, NumPy gives {type(expected).__name__}")
    if isinstance(expected, tuple | list):
        if len(actual) != len(expected):
            raise Difference(f"{what}: {len(actual)} elements, NumPy gives {len(expected)}")
        for i, (one, other) in enumerate(zip(actual, expected)):
            compare(f"{what}[{i}]", one, other, bound, exact_zeros, layouts)
        return
    if isinstance(expected, float | complex):
        compare_elements(what, np.asarray(actual), np.asarray(expected), bound, exact_zeros)
        return
    if not isinstance(expected, np.ndarray | np.generic):
        if actual != expected:
            raise Difference(f"{what}: {actual!r}, NumPy gives {expected!r}")
        return
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        raise Difference(
            f"{what}: {actual.dtype}{list(actual.shape)}, NumPy gives {expected.dtype}{list(expected.shape)}"
        )
    if layouts and isinstance(expected, np.ndarray):
        compare_layout(what, actual, expected)
    compare_elements(what, actual, expected, bound, exact_zeros)


def compare_layout(what, actual, expected):
    # What NumPy gives read-only (broadcast_to, the imaginary part of real numbers) may be an array of its own.
    if expected.flags.writeable and not actual.flags.writeable:
        raise Difference(f"{what}: read-only, NumPy's can be written to")

    def order(array):
        return {(1, 1): "any", (1, 0): "C", (0, 1): "F", (0, 0): "neither"}[
            array.flags.c_contiguous, array.flags.f_contiguous
        ]

    # A view of what is not returned may come in one piece.
    allowed = {"C": {"C"}, "F": {"F"}, "any": {"any"}}.get(order(expected))
    if expected.ndim > ORDERED_DIMS and allowed:
        allowed.add("C")
    if allowed and order(actual) not in allowed:
        raise Difference(f"{what}: memory order {order(actual)}, NumPy gives {order(expected)}")


def shares(a, b):
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    if not (a.flags.writeable and b.flags.writeable):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=1000))
    except np.exceptions.TooHardError:
        return bool(np.may_share_memory(a, b))
