"""Differential fuzzing of weft.compile: random NumPy programs, plain against compiled.

    python tests/fuzz/program_fuzz.py --programs 1000 [--seed 7] [--minutes 5] [--corpus tests/fuzz/programs]

A program is a function of a few arrays: arithmetic over mixed dtypes, views with any step, in-place updates,
reductions, indexing, branches and short loops, on sizes that include 0 and 1, Fortran order, NaN, infinities
and signed zeros. It is generated while NumPy runs it, so that every statement is valid (or raises, and then
both must raise the same). The compiled function runs twice on fresh copies of the arguments; results and the
arguments' contents afterwards must agree in type, dtype, shape and every element. What NumPy itself does not
promise bit for bit (the order of a floating sum, the last place of exp) is compared with a bound, and such
values never reach a comparison, a rounding or a cast to integers, where a last place could flip the result.

A failure is shrunk by deleting statements and written to the corpus, which the test suite replays.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import sys
import time
import traceback

import numpy as np

DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
COMMON = ["int32", "int64", "float32", "float64", "float64", "bool"]
UNARY = ["np.negative", "np.abs", "np.square", "np.sign", "np.positive"]
UNARY_DISCONTINUOUS = ["np.floor", "np.ceil", "np.rint", "np.trunc", "np.isnan", "np.isfinite", "np.signbit"]
UNARY_APPROXIMATE = ["np.exp", "np.sin", "np.cos", "np.tanh", "np.arctan", "np.log1p", "np.sqrt", "np.cbrt"]
BINARY = ["+", "-", "*"]
BINARY_CALLS = ["np.maximum", "np.minimum", "np.fmax", "np.fmin", "np.add", "np.subtract", "np.multiply"]
BINARY_DISCONTINUOUS = ["<", "<=", ">", ">=", "==", "!="]
INTEGER = ["&", "|", "^", "//", "%", "<<", ">>"]
EXACT_REDUCTIONS = ["max", "min", "any", "all"]
INDEX_REDUCTIONS = ["argmax", "argmin"]
SUMS = ["sum", "mean", "prod"]
# Calls whose results are the same to the last bit; x and y are arrays, k a small number.
EXACT_CALLS = """
np.diff(x) | np.diff(x, axis=0, prepend=x[:1]) | np.append(x, y) | np.delete(x, k, axis=0) | np.insert(x, k, 1, axis=0)
np.insert(x, [0, 1], 2) | np.pad(x, k) | np.pad(x, 1, "edge") | np.pad(x, 1, "reflect") | np.pad(x, 2, "wrap")
np.pad(x, 1, "symmetric") | np.median(x) | np.median(x, axis=0) | np.nanmedian(x, axis=0) | np.percentile(x, 30)
np.quantile(x, 0.25, axis=0) | np.quantile(x, [0.1, 0.9]) | np.nanquantile(x, 0.5, axis=0) | np.quantile(x, 0.4, method="lower")
np.sort(x, axis=0) | np.argsort(x, axis=-1) | np.argsort(x, axis=0, kind="stable") | np.searchsorted(np.sort(x.ravel()), y)
np.searchsorted(np.sort(x.ravel()), y, side="right") | np.digitize(y, [-2, 0, 3]) | np.isin(x, y) | np.isin(x, [1, 2], invert=True)
np.select([x > 0, x < -1], [x, x], 2) | np.rot90(x, k) | np.roll(x, k) | np.roll(x, -k, axis=0) | np.tile(x, 2) | np.repeat(x, 2, axis=0)
np.repeat(x, [2, 0, 1], axis=0) | np.take(x, [0, -1], axis=0) | np.take(x, k, mode="wrap") | np.take(x, [k, -9], mode="clip")
np.ravel(x, order="F") | np.reshape(x, -1, order="F") | x.flatten("F") | np.clip(x, -1, 3) | np.nan_to_num(x)
np.interp(x, [-3.0, 0.0, 2.0], [1.0, -1.0, 5.0]) | np.histogram(x, [-5, -1, 0, 2, 9])[0] | np.histogram(x, 4, range=(-6, 6))[0]
np.unravel_index(np.argmax(x), x.shape)[0] | np.maximum.accumulate(x) | np.bitwise_or.reduce(x) | np.subtract.reduce(x)
np.logical_xor.accumulate(x) | np.minimum.reduceat(x, [0, 1]) | np.ptp(x) | np.count_nonzero(x, axis=0) | np.packbits(x > 0)
np.nanmax(x, axis=0) | np.nanmin(x) | np.nanargmax(x, axis=0) | np.stack([x, x], axis=-1) | np.hstack([x, y]) | np.vstack([x, x]) | np.dstack([x, x])
np.block([[x, x]]) | np.triu(x) | np.tril(x, -1) | np.diag(x) | np.diagonal(x) | np.meshgrid(x, y)[0] | np.unique(x) | np.flatnonzero(x)
np.moveaxis(x, 0, -1) | np.expand_dims(x, (0, -1)) | np.atleast_3d(x) | np.broadcast_arrays(x, x[:1])[1] + 0 | np.isclose(x, x)
np.ix_(np.arange(k), [0])[0] | x[np.ix_([0], [0, -1])] | np.r_[x.ravel(), 1, 2] | np.c_[x.ravel(), x.ravel()] | np.array(x, ndmin=3)
np.ascontiguousarray(x.T) | np.copy(x) | np.zeros_like(x) | np.full_like(x, k) | np.compress([True, False, True], x)
np.choose(np.abs(k), [x, y]) | np.ediff1d(x) | np.vander(x) | np.split(x, [1, 2])[1] | np.array_split(x, 3)[0] | np.cumulative_sum(x > 0, axis=0)
np.bitwise_count(x) | np.lexsort((x, x)) | np.apply_along_axis(np.max, 0, x) | np.unstack(x)[0] | np.resize(x, (2, 3)) | np.fix(x) | np.signbit(x)
np.where(x)[0] | np.array(x.tolist()) | np.asarray(x.item(0)) | np.asarray(np.array_equal(x, y)) | np.nextafter(x, 0) | np.reciprocal(x) | np.spacing(x) | np.isposinf(x)
np.maximum(x, y, where=x > 0, out=np.zeros_like(x)) | np.add(x, k, dtype=np.float64) | x.astype(np.float64, order="F") | np.logical_and.reduce(x)
"""
# And calls that add up in another order, or compute elementary functions.
APPROXIMATE_CALLS = """
np.trapezoid(x) | np.gradient(x, axis=0) | np.gradient(x, 0.5, axis=0, edge_order=2) | np.cov(x) | np.convolve(x.ravel(), y.ravel())
np.convolve(x.ravel(), y.ravel(), "same") | np.correlate(x.ravel(), y.ravel(), "full") | np.std(x, axis=0, ddof=1) | np.var(x, where=y > 0)
np.nanmean(x) | np.nanvar(x, axis=0) | np.nanstd(x) | np.nansum(x, axis=0) | np.nancumsum(x) | np.average(x, weights=np.abs(x) + 1)
np.outer(x, y) | np.kron(x, y) | np.linalg.norm(x) | np.linalg.norm(x, 1) | np.dot(x, y) | np.einsum("i...->...", x) | np.polyval(y.ravel()[:4], x)
np.mean(x, axis=0, where=x > 0) | np.add.reduceat(x, [0, 1]) | np.sum(x, axis=0, initial=k) | np.vecdot(x, x) | np.tensordot(x, x, 1) | np.sinc(x)
"""
# Statements that change x.
UPDATES = """
np.putmask(x, x > 1, 0) | np.copyto(x, k, where=x > 0) | np.put(x, [0, -1], k) | x.sort(axis=0) | np.fill_diagonal(x, k) | np.add.at(x, [0, 0], 1)
np.place(x, x > 0, [1, 2]) | np.maximum(x, k, out=x) | np.clip(x, -1, 2, out=x) | x.put([0], k) | np.put_along_axis(x, np.argmax(x, axis=0)[None], k, axis=0)
x[x > 1] = 0 | x[[0, -1]] = k | x[..., None][:] = k | x.T[:] += 1 | x.ravel()[:1] = k | x.reshape(-1)[::2] = k
"""


def calls(text):
    return [call.strip() for line in text.strip().split("\n") for call in line.split(" | ")]


# Relative to the largest magnitude, by the itemsize of the least precise dtype that took part.
TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-10}
# Which zero is the larger of 0.0 and -0.0 depends on NumPy's vector instructions.
UNORDERED_ZEROS = ("maximum", "minimum", "fmax", "fmin", "clip", ".max(", ".min(")


@dataclasses.dataclass
class Argument:
    """How to make one argument: the same bytes every time."""

    dtype: str
    shape: tuple
    layout: str  # "C", "F", "reversed", "strided"
    special: bool
    seed: int

    def make(self):
        rng = np.random.default_rng(self.seed)
        shape = self.shape
        if self.layout == "strided" and shape:
            shape = (*shape[:-1], shape[-1] * 2)
        if self.dtype == "bool":
            array = rng.random(shape) < 0.5
        elif self.dtype.startswith("float"):
            array = np.round(rng.standard_normal(shape) * 4, 2).astype(self.dtype)
        else:
            low = 0 if self.dtype.startswith("u") else -9
            array = rng.integers(low, 10, shape).astype(self.dtype)
        array = np.asarray(array)
        if self.special and array.size:
            if self.dtype.startswith("float"):
                values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype=self.dtype)
            elif self.dtype == "bool":
                values = np.array([True])
            else:
                limits = np.iinfo(self.dtype)
                values = np.array([limits.min, limits.max, 0], dtype=self.dtype)
            flat = array.reshape(-1)
            for position in rng.integers(0, flat.size, min(4, flat.size)):
                flat[position] = values[rng.integers(len(values))]
        if self.layout == "F":
            return np.asfortranarray(array)
        if self.layout == "reversed" and array.ndim:
            return array[::-1]
        if self.layout == "strided" and array.ndim:
            return array[..., ::2]
        return array


@dataclasses.dataclass
class Program:
    arguments: list
    statements: list
    results: list

    def source(self, name="program"):
        names = ", ".join(f"a{i}" for i in range(len(self.arguments)))
        body = "".join(f"    {line}\n" for statement in self.statements for line in statement.split("\n"))
        return f"def {name}({names}):\n{body}    return ({', '.join(self.results)},)\n"

    def function(self):
        scope = {"np": np}
        source = self.source()
        # A real file name lets tracebacks and logs show the line.
        exec(compile(source, f"<program {hash(source) & 0xFFFFFF:06x}>", "exec"), scope)
        return scope["program"]


class Generator:
    """Grows a program statement by statement, running it as it grows."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.arguments, self.statements = [], []
        self.values = {}  # name -> value as NumPy computes it
        self.approximate = set()
        self.counter = 0

    def pick(self, items):
        items = list(items)
        return items[self.rng.integers(len(items))]

    def chance(self, probability):
        return self.rng.random() < probability

    def make_arguments(self):
        sizes = [int(self.pick([0, 1, 2, 3, 5, 8, 9, 17])) for _ in range(3)]
        sizes = [s if s or self.chance(0.3) else 4 for s in sizes]
        base = tuple(sizes[: self.rng.integers(1, 4)])
        for i in range(int(self.rng.integers(1, 4))):
            shape = base
            if i and self.chance(0.5):
                shape = tuple(1 if self.chance(0.3) else s for s in base[self.rng.integers(0, len(base)) :])
            dtype = self.pick(DTYPES) if self.chance(0.3) else self.pick(COMMON)
            layout = self.pick(["C", "C", "C", "F", "reversed", "strided"])
            argument = Argument(dtype, shape, layout, self.chance(0.3), int(self.rng.integers(1 << 30)))
            self.arguments.append(argument)
            self.values[f"a{i}"] = argument.make()

    def arrays(self, condition=lambda name, value: True):
        return [
            n for n, v in self.values.items() if isinstance(v, np.ndarray | np.generic) and condition(n, v)
        ]

    def exact(self, name, value):
        return name not in self.approximate

    def constant(self):
        return self.pick(["2", "3", "-1", "0.5", "1.25", "7", "True", "np.float32(1.5)", "np.int8(3)"])

    def slice_text(self, size):
        if self.chance(0.2):
            return ":"
        start, stop = (
            str(self.rng.integers(-size - 1, size + 2)) if self.chance(0.6) else "" for _ in range(2)
        )
        step = self.pick(["", "", ":2", ":-1", ":-2", ":3"])
        return f"{start}:{stop}{step}"

    def index_text(self, value):
        parts = []
        for size in value.shape[: self.rng.integers(1, value.ndim + 1)]:
            if size and self.chance(0.25):
                parts.append(str(self.rng.integers(-size, size)))
            else:
                parts.append(self.slice_text(size))
        if self.chance(0.15):
            parts.insert(int(self.rng.integers(len(parts) + 1)), "None")
        return ", ".join(parts)

    def statement(self):
        """One candidate: (text, names of approximate inputs matter, makes approximate)."""
        kind = self.rng.random()
        name = self.pick(self.arrays())
        value = self.values[name]
        exact_name = self.pick(self.arrays(self.exact) or ["a0"])
        exact_value = self.values[exact_name]
        floating = value.dtype.kind == "f"
        target = f"v{self.counter}"
        if self.chance(0.3):
            return self.call(target)
        if kind < 0.22:
            other = self.pick(self.arrays()) if self.chance(0.7) else self.constant()
            if self.chance(0.3):
                return f"{target} = {self.pick(BINARY_CALLS)}({name}, {other})", [name, other], False
            return f"{target} = {name} {self.pick(BINARY)} {other}", [name, other], False
        if kind < 0.28:
            other = self.pick(self.arrays(self.exact) or ["a0"]) if self.chance(0.6) else self.constant()
            return f"{target} = {exact_name} {self.pick(BINARY_DISCONTINUOUS)} {other}", [], False
        if kind < 0.34:
            other = (
                self.pick(self.arrays(self.exact) or ["a0"])
                if self.chance(0.5)
                else self.pick(["2", "3", "-3", "1"])
            )
            return f"{target} = {exact_name} {self.pick(INTEGER)} {other}", [], False
        if kind < 0.42:
            if self.chance(0.4):
                return f"{target} = {self.pick(UNARY_DISCONTINUOUS)}({exact_name})", [], False
            if self.chance(0.4) and floating and self.is_moderate(value):
                return f"{target} = {self.pick(UNARY_APPROXIMATE)}({name})", [name], True
            return f"{target} = {self.pick(UNARY)}({name})", [name], False
        if kind < 0.50:
            dtype = self.pick(DTYPES)
            source = name if dtype.startswith("float") else exact_name
            source_value = self.values[source]
            if source_value.dtype.kind == "f" and not dtype.startswith(("float", "bool")):
                # Out-of-range casts are undefined in C and differ between machines.
                return (
                    f"{target} = np.clip(np.nan_to_num({source}), 0, 100).astype(np.{dtype})",
                    [source],
                    False,
                )
            return f"{target} = {source}.astype(np.{dtype})", [source], False
        if kind < 0.60 and value.ndim:
            return f"{target} = {name}[{self.index_text(value)}]", [name], False
        if kind < 0.66 and value.ndim:
            choice = self.pick(["T", "ravel", "reshape", "transpose", "copy", "flip", "newaxis", "swapaxes"])
            text = {
                "T": f"{name}.T",
                "ravel": f"{name}.ravel()",
                "reshape": f"{name}.reshape({self.pick(['-1', f'{value.shape[0]}, -1', f'1, {value.size}'])})",
                "transpose": f"np.transpose({name})",
                "copy": f"{name}.copy()",
                "flip": f"np.flip({name}, {self.rng.integers(value.ndim)})",
                "newaxis": f"{name}[:, None]",
                "swapaxes": f"{name}.swapaxes(0, -1)",
            }[choice]
            return f"{target} = {text}", [name], False
        if kind < 0.76:
            axis = (
                ""
                if self.chance(0.3) or not value.ndim
                else f"axis={self.rng.integers(-value.ndim, value.ndim)}"
            )
            keep = ", keepdims=True" if axis and self.chance(0.4) else ""
            if self.chance(0.4):
                function = self.pick(SUMS)
                return f"{target} = {name}.{function}({axis}{keep})", [name], floating or function == "mean"
            if self.chance(0.3):
                exact_axis = "" if not exact_value.ndim else f"axis={self.rng.integers(exact_value.ndim)}"
                return f"{target} = {exact_name}.{self.pick(INDEX_REDUCTIONS)}({exact_axis})", [], False
            return (
                f"{target} = np.{self.pick(EXACT_REDUCTIONS)}({exact_name}{', ' + axis if axis else ''}{keep})",
                [],
                False,
            )
        if kind < 0.81:
            other = self.pick(self.arrays()) if self.chance(0.7) else self.constant()
            return f"{target} = np.where({exact_name}, {name}, {other})", [name, other], False
        if kind < 0.92 and value.ndim and isinstance(value, np.ndarray):
            other = self.pick(self.arrays()) if self.chance(0.5) else self.constant()
            operator = self.pick(["=", "+=", "-=", "*="])
            stored = self.values.get(other, np.float64(0))
            if operator == "=" and value.dtype.kind in "iub" and stored.dtype.kind == "f":
                other = f"np.clip(np.nan_to_num({other}), 0, 100)"  # out-of-range casts are undefined
            return f"{name}[{self.index_text(value)}] {operator} {other}", [name, other], False
        if kind < 0.96:
            lines = (
                f"{target} = {name}\nfor i in range({self.rng.integers(0, 4)}):\n    {target} = {target} + i"
            )
            return lines, [name], False
        joined = self.pick(
            [f"np.concatenate([{name}, {name}])", f"np.stack([{name}, {name}])", f"np.cumsum({name})"]
        )
        return f"{target} = {joined}", [name], "cumsum" in joined and floating

    @staticmethod
    def is_moderate(value):
        """No magnitude at which one bit more turns a sine around."""
        return np.abs(value[np.isfinite(value)]).max(initial=0) < 1000

    def call(self, target):
        """One of the calls by name; those that change an array in place keep it exact."""
        names = {
            "x": self.pick(self.arrays(self.exact) or ["a0"]),
            "y": self.pick(self.arrays(self.exact) or ["a0"]),
        }
        names["k"] = str(self.rng.integers(0, 4))
        kind = self.rng.random()
        template = self.pick(
            calls(EXACT_CALLS if kind < 0.6 else UPDATES if kind < 0.75 else APPROXIMATE_CALLS)
        )
        text = re.sub(r"\b[xyk]\b", lambda match: names[match.group()], template)
        if kind >= 0.6 and kind < 0.75:
            return text, [], False
        return f"{target} = {text}", [], kind >= 0.75

    def grow(self, length):
        self.make_arguments()
        for _ in range(length * 3):
            if len(self.statements) >= length:
                break
            text, inputs, approximate = self.statement()
            scope = {"np": np, **self.values}
            before = {n: (v.copy() if isinstance(v, np.ndarray) else v) for n, v in self.values.items()}
            try:
                with np.errstate(all="ignore"):
                    exec(text, scope)
            except Exception:
                for known, value in before.items():  # an update may have got halfway
                    if isinstance(value, np.ndarray) and self.values[known].flags.writeable:
                        np.copyto(self.values[known], value)
                continue
            tainted = approximate or any(n in self.approximate for n in inputs)
            changed = [n for n in self.values if scope.get(n) is not self.values[n]]
            for known in scope:
                if known == "np" or known == "i" or known.startswith("__"):
                    continue
                if known not in self.values or known in changed:
                    self.values[known] = scope[known]
                    if tainted:
                        self.approximate.add(known)
            if tainted and " = " not in text.split("\n")[0].split("[")[0]:
                # An in-place update reaches every view of the same memory.
                target = text.split("[")[0]
                for known, value in self.values.items():
                    if isinstance(value, np.ndarray) and np.may_share_memory(value, self.values.get(target)):
                        self.approximate.add(known)
            self.statements.append(text)
            self.counter += 1
        names = [n for n in self.values if n.startswith("v")] or ["a0"]
        results = [n for n in names if self.chance(0.5)] or names[-1:]
        return Program(self.arguments, self.statements, results), self.approximate


class Difference(Exception):
    """The compiled program did something else."""


def run(function, arguments):
    arrays = [a.make() for a in arguments]
    with np.errstate(all="ignore"):
        try:
            return function(*arrays), arrays, None
        except Exception as error:  # compared, not handled
            return None, arrays, error


def compare(what, actual, expected, tolerance, exact_zeros=True):
    if type(actual) is not type(expected):
        raise Difference(f"{what}: type {type(actual).__name__}, NumPy gives {type(expected).__name__}")
    if not isinstance(expected, np.ndarray | np.generic):
        if actual != expected:
            raise Difference(f"{what}: {actual!r}, NumPy gives {expected!r}")
        return
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        raise Difference(
            f"{what}: {actual.dtype}{list(actual.shape)}, NumPy gives {expected.dtype}{list(expected.shape)}"
        )
    a, b = np.asarray(actual), np.asarray(expected)
    if tolerance and b.dtype.kind == "f":
        with np.errstate(all="ignore"):
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            magnitude = np.abs(wide_b[np.isfinite(wide_b)]).max(initial=1.0)
            bound = max(tolerance, TOLERANCE[b.dtype.itemsize]) * magnitude
            equal = (
                (np.abs(wide_a - wide_b) <= bound)
                | (wide_a == wide_b)
                | (np.isnan(wide_a) & np.isnan(wide_b))
            )
            # Where the exact result is at the edge of overflow, one order of summation may reach it first.
            equal |= ~np.isfinite(wide_b) & (np.abs(wide_a) > 0.9 * np.finfo(b.dtype).max)
    else:
        equal = (a == b) | ((a != a) & (b != b))
        if b.dtype.kind == "f" and exact_zeros:
            equal &= (np.signbit(a) == np.signbit(b)) | np.isnan(b)
    if not np.all(equal):
        position = tuple(int(i) for i in np.argwhere(~np.atleast_1d(equal))[0])
        raise Difference(
            f"{what}{list(position)}: {np.atleast_1d(a)[position]!r}, NumPy gives {np.atleast_1d(b)[position]!r}"
        )


def check(program, approximate=0.0):
    """Raises Difference where the compiled function and the plain one disagree.

    approximate: 0 where every element must be equal, else the relative bound of what may differ.
    """
    import weft

    function = program.function()
    exact_zeros = not any(name in statement for statement in program.statements for name in UNORDERED_ZEROS)
    expected, expected_arrays, expected_error = run(function, program.arguments)
    compiled = weft.compile(program.function())
    for attempt in range(2):
        actual, arrays, error = run(compiled, program.arguments)
        if (error is None) != (expected_error is None) or type(error) is not type(expected_error):
            raise Difference(
                f"call {attempt + 1} raised {error!r}, NumPy raises {expected_error!r}"
            ) from error
        if expected_error is None:
            for name, one, other in zip(program.results, actual, expected):
                compare(f"call {attempt + 1}: {name}", one, other, approximate, exact_zeros)
        for i, (one, other) in enumerate(zip(arrays, expected_arrays)):
            compare(f"call {attempt + 1}: argument a{i} afterwards", one, other, approximate, exact_zeros)


def fails(program, approximate):
    try:
        check(program, approximate)
    except Difference as difference:
        return str(difference)
    return None


def shrink(program, approximate):
    """Deletes statements, results and arguments' special values while the program still differs."""
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(program.statements))):
            shorter = dataclasses.replace(
                program, statements=program.statements[:i] + program.statements[i + 1 :]
            )
            if _runs(shorter) and fails(shorter, approximate):
                program, changed = shorter, True
        for i in reversed(range(len(program.results))):
            if len(program.results) > 1:
                shorter = dataclasses.replace(program, results=program.results[:i] + program.results[i + 1 :])
                if fails(shorter, approximate):
                    program, changed = shorter, True
    return program


def _runs(program):
    try:
        return run(program.function(), program.arguments)[2] is None
    except SyntaxError:
        return False


def write_case(folder, seed, program, approximate, message):
    folder.mkdir(parents=True, exist_ok=True)
    arguments = "".join(f"    {argument!r},\n" for argument in program.arguments)
    path = folder / f"seed_{seed}.py"
    path.write_text(
        f'"""{message}"""\n\nfrom program_fuzz import Argument, Program\n\n'
        f"PROGRAM = Program(\n    [\n{arguments}    ],\n    {program.statements!r},\n    {program.results!r},\n)\n"
        f"APPROXIMATE = {approximate!r}\n"
    )
    return path


def one(seed):
    generator = Generator(seed)
    program, approximate = generator.grow(int(np.random.default_rng(seed).integers(2, 12)))
    sizes = [v.dtype.itemsize for v in generator.values.values() if v.dtype.kind == "f"]
    return program, TOLERANCE[min(sizes, default=8)] if approximate else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=1000, help="how many to try")
    parser.add_argument("--seed", type=int, default=1, help="the first program's seed")
    parser.add_argument("--minutes", type=float, default=60, help="stop after this long")
    parser.add_argument("--corpus", type=pathlib.Path, help="write shrunk failures to this folder")
    options = parser.parse_args()
    start, failures, tried = time.monotonic(), 0, 0
    for seed in range(options.seed, options.seed + options.programs):
        if time.monotonic() - start > options.minutes * 60:
            break
        program, approximate = one(seed)
        tried += 1
        try:
            message = fails(program, approximate)
        except Exception:
            message = traceback.format_exc()
            print(f"seed {seed}: weft raised\n{message}\n{program.source()}", flush=True)
            failures += 1
            continue
        if message:
            failures += 1
            small = shrink(program, approximate)
            message = fails(small, approximate) or message
            print(f"seed {seed}: {message}\n{small.source()}{small.arguments}", flush=True)
            if options.corpus:
                print(f"written to {write_case(options.corpus, seed, small, approximate, message)}")
        if sys.stderr.isatty() and tried % 50 == 0:
            rate = tried / (time.monotonic() - start)
            print(
                f"\r{tried}/{options.programs} programs, {rate:.0f}/s, {failures} differ",
                end="",
                file=sys.stderr,
            )
    print(f"{tried} programs from seed {options.seed}: {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
