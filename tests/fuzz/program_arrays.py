"""Random programs of array statements, grown while NumPy runs them, so that every statement is valid."""

from __future__ import annotations

import math
import re

import numpy as np
import program_bounds as bounds
import program_calls as calls
import program_helpers
from program_values import Argument, Number, Program, shares, some_offset

DTYPES = """bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128""".split()
COMMON = ["int32", "int64", "float32", "float64", "float64", "bool"]
UNARY = ["np.negative", "np.abs", "np.square", "np.positive", "-", "+"]
DISCONTINUOUS = [
    "np.floor",
    "np.ceil",
    "np.rint",
    "np.trunc",
    "np.isnan",
    "np.isfinite",
    "np.signbit",
    "np.sign",
    "~",
]
BINARY = ["+", "-", "*"]
BINARY_CALLS = ["np.maximum", "np.minimum", "np.fmax", "np.fmin", "np.add", "np.subtract", "np.multiply"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
EXACT_BINARY = ["&", "|", "^", "//", "%", "<<", ">>", "/", "/", "**"]
SMALL = ["2", "3", "-3", "1", "0", "-1"]
CONSTANTS = [
    "2",
    "3",
    "-1",
    "0.5",
    "1.25",
    "7",
    "True",
    "np.float32(1.5)",
    "np.int8(3)",
    "np.float64(-2.5)",
    "np.uint8(200)",
    "1j",
]
NUMBERS = [
    "3",
    "-2",
    "2.5",
    "True",
    "np.float32(1.5)",
    "np.int16(-4)",
    "nan",
    "10**12",
    "np.uint8(250)",
    "-0.0",
    "inf",
    "0",
]
# What a casting to integers is applied to: outside of their range C leaves the result open.
CLIPPED = "np.clip(np.nan_to_num({}), 0, 100)"


class NothingExact(Exception):
    """No value is equal to NumPy's to the last bit."""


class Step:
    """A candidate statement. `bound`: of the result, given the scope after it; None: equal."""

    def __init__(self, text, bound=None, target=None):
        self.text, self.bound, self.target = text, bound, target


def arrays_in(value):
    return [a for item in value for a in arrays_in(item)] if isinstance(value, list | tuple) else [value]


def hold_one(a, b):
    """Some array of a shares memory with one of b: lists hold rows."""
    return any(shares(p, q) for p in arrays_in(a) for q in arrays_in(b))


class Generator:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.arguments, self.statements = [], []
        self.values = {}  # name -> value as NumPy computes it
        self.bounds = {}  # name -> bound, where the value may differ
        self.counter = 0
        self.raises = False  # the last statement raises
        self.exact = False  # only statements whose values are equal to NumPy's, whatever the arguments are

    def pick(self, items):
        items = list(items)
        return items[int(self.rng.integers(len(items)))]

    def chance(self, probability):
        return self.rng.random() < probability

    # ---- arguments ----
    def make_arguments(self):
        sizes = [int(self.pick([0, 1, 2, 3, 5, 8, 9, 17, 33])) for _ in range(3)]
        sizes = [s if s or self.chance(0.3) else 4 for s in sizes]
        base = tuple(sizes[: self.rng.integers(1, 4)]) if self.chance(0.97) else ()
        self.integers_only = self.chance(0.2)
        for i in range(int(self.rng.integers(1, 4))):
            self.arguments.append(self.make_argument(i, base))
            same = self.arguments[-1].same_as
            self.values[f"a{i}"] = self.values[f"a{same}"] if same >= 0 else self.arguments[-1].make()

    def make_argument(self, i, base):
        if i and self.chance(0.12):
            return Number(self.pick(NUMBERS))
        if i and self.chance(0.06):
            return Argument("float64", (), "C", False, 0, same_as=int(self.rng.integers(i)))
        shape = base
        if i and self.chance(0.5) and base:
            shape = tuple(1 if self.chance(0.3) else s for s in base[self.rng.integers(0, len(base)) :])
        dtype = self.pick(DTYPES) if self.chance(0.4) else self.pick(COMMON)
        if self.integers_only and np.dtype(dtype).kind in "fc":
            dtype = self.pick(["int64", "int32", "int8", "uint8", "uint64"])
        layout = self.pick(["C", "C", "C", "F", "reversed", "strided", "transposed"])
        special, seed = self.chance(0.3), int(self.rng.integers(1 << 30))
        return Argument(dtype, shape, layout, special, seed, offset=some_offset(dtype, seed))

    # ---- names ----
    def names(self, exact=False, arrays=False):
        found = [
            n
            for n, v in self.values.items()
            if isinstance(v, np.ndarray if arrays else np.ndarray | np.generic)
            and not (exact and self.bounds.get(n))
        ]
        if exact and not found:
            raise NothingExact
        return found or ["a0"]

    def any_name(self):
        return self.pick(self.names())

    def exact_name(self):
        return self.pick(self.names(exact=True))

    def operand(self, exact=False):
        if self.chance(0.3):
            return self.pick(CONSTANTS)
        return self.exact_name() if exact else self.any_name()

    def target(self):
        return f"v{self.counter}"

    def value(self, text):
        value = self.values.get(text)
        return value if value is not None else eval(text, {"np": np})

    def error(self, text):
        return self.bounds.get(text, 0.0)

    def linear(self, *inputs):
        """The bound of sums, selections and copies of inputs."""
        if not any(self.error(n) for n in inputs):
            return None
        return lambda r: sum(self.error(n) for n in inputs) + bounds.rounding(r)

    def product(self, a, b):
        x, y = self.value(a), self.value(b)
        is_complex = any(np.asarray(v).dtype.kind == "c" for v in (x, y))
        if not is_complex and not self.error(a) and not self.error(b):
            return None

        def bound(r):
            m, n = bounds.magnitude(x), bounds.magnitude(y)
            carried = m * self.error(b) + n * self.error(a) + self.error(a) * self.error(b)
            return carried + bounds.eps(r) * (bounds.magnitude(r) + 2 * is_complex * m * n)

        return bound

    # ---- statements ----
    def binary(self):
        a, b = self.any_name(), self.operand()
        if self.chance(0.3):
            function = self.pick(BINARY_CALLS)
            bound = self.product(a, b) if function == "np.multiply" else self.linear(a, b)
            return Step(f"{self.target()} = {function}({a}, {b})", bound)
        operator = self.pick(BINARY)
        if self.chance(0.2):
            a, b = b, a
        return Step(
            f"{self.target()} = {a} {operator} {b}",
            self.product(a, b) if operator == "*" else self.linear(a, b),
        )

    def comparison(self):
        return Step(
            f"{self.target()} = {self.exact_name()} {self.pick(COMPARISONS)} {self.operand(exact=True)}"
        )

    def exact_binary(self):
        a, operator = self.exact_name(), self.pick(EXACT_BINARY)
        b = self.exact_name() if self.chance(0.5) else self.pick(SMALL)
        floating = any(np.asarray(self.value(n)).dtype.kind in "fc" for n in (a, b))
        is_complex = any(np.asarray(self.value(n)).dtype.kind == "c" for n in (a, b))
        bound = None
        if floating and operator == "**" or is_complex and operator == "/":
            bound = lambda r: 4 * bounds.ELEMENTARY * bounds.rounding(r)  # noqa: E731
        if operator == "**" and (is_complex or b not in SMALL):
            operator = "-"
        return Step(f"{self.target()} = {a} {operator} {b}", bound)

    def unary(self):
        if self.chance(0.4):
            function, a = self.pick(DISCONTINUOUS), self.exact_name()
            is_divided = function == "np.sign" and self.values[a].dtype.kind == "c"  # by its absolute value
            return Step(f"{self.target()} = {function}({a})", bounds.rounded if is_divided else None)
        function, a = self.pick(UNARY), self.any_name()
        if function == "np.square":
            return Step(f"{self.target()} = np.square({a})", self.product(a, a))
        bound = self.linear(a)
        if function == "np.abs" and self.values[a].dtype.kind == "c":
            bound = lambda r: self.error(a) + bounds.ELEMENTARY * bounds.rounding(r)  # noqa: E731
        return Step(f"{self.target()} = {function}({a})", bound)

    def cast(self):
        dtype = self.pick(DTYPES)
        kind = np.dtype(dtype).kind
        a = self.any_name() if kind in "fc" else self.exact_name()
        source = self.values[a].dtype.kind
        if source == "c" and kind != "c":
            return Step(f"{self.target()} = {a}.real.copy()", self.linear(a))
        if source == "f" and kind in "iu":
            a_text = CLIPPED.format(a)
        else:
            a_text = a
        return Step(f"{self.target()} = {a_text}.astype(np.{dtype})", self.linear(a))

    def slice_text(self, size):
        if self.chance(0.2):
            return ":"
        start, stop = (
            str(self.rng.integers(-size - 1, size + 2)) if self.chance(0.6) else "" for _ in range(2)
        )
        return f"{start}:{stop}{self.pick(['', '', ':2', ':-1', ':-2', ':3'])}"

    def index_text(self, value):
        parts = []
        for size in value.shape[: self.rng.integers(1, value.ndim + 1)]:
            if size and self.chance(0.25):
                parts.append(str(self.rng.integers(-size, size + self.chance(0.03))))
            else:
                parts.append(self.slice_text(size))
        if self.chance(0.15):
            parts.insert(int(self.rng.integers(len(parts) + 1)), "None")
        if self.chance(0.1):
            parts.insert(int(self.rng.integers(len(parts) + 1)), "...")
        return ", ".join(parts)

    def index(self):
        a = self.pick(self.names(arrays=True))
        if not np.ndim(self.values[a]):
            return Step(f"{self.target()} = {a}[...]", self.linear(a))
        return Step(f"{self.target()} = {a}[{self.index_text(self.values[a])}]", self.linear(a))

    def shape(self):
        a = self.any_name()
        value = self.values[a]
        first = value.shape[0] if value.ndim else 1
        text = self.pick(
            [
                f"{a}.T",
                f"{a}.ravel()",
                f"{a}.reshape({self.pick(['-1', f'{first}, -1', f'1, {value.size}'])})",
                f"np.transpose({a})",
                f"{a}.copy()",
                f"np.flip({a}, {self.rng.integers(max(value.ndim, 1))})",
                f"{a}[:, None]",
                f"{a}.swapaxes(0, -1)",
                f"np.array({a})",
                f"np.asarray({a})",
                f"np.ascontiguousarray({a})",
                f"np.atleast_2d({a})",
                f"{a}.reshape({first}, -1, order='F')",
                a,
            ]
        )
        return Step(f"{self.target()} = {text}", self.linear(a))

    def reduction(self):
        a = self.exact_name()
        value = self.values[a]
        axis = (
            "" if self.chance(0.3) or not value.ndim else f"axis={self.rng.integers(-value.ndim, value.ndim)}"
        )
        if value.ndim > 1 and self.chance(0.1):
            axis = "axis=(0, 1)"
        keep = ", keepdims=True" if axis and self.chance(0.4) else ""
        if self.chance(0.3):
            return Step(
                f"{self.target()} = {a}.{self.pick(['argmax', 'argmin'])}({'' if '(' in axis else axis})"
            )
        more = ""
        if self.chance(0.15):
            more = f", where={a} > 0, initial={self.pick(['0', '1', '-2'])}"
        function = self.pick(["max", "min", "any", "all"])
        if function in ("any", "all"):
            more = more.split(", initial")[0]
        return Step(f"{self.target()} = np.{function}({a}{', ' + axis if axis else ''}{keep}{more})")

    def total(self):
        a = self.any_name()
        value = self.values[a]
        axis = (
            "" if self.chance(0.3) or not value.ndim else f"axis={self.rng.integers(-value.ndim, value.ndim)}"
        )
        keep = ", keepdims=True" if axis and self.chance(0.4) else ""
        function = self.pick(["sum", "mean", "cumsum"])
        absolute = float(np.sum(bounds.finite_abs(value)))

        def bound(r):
            total = bounds.sum_bound(max(value.size, 1), absolute, r, self.error(a))
            return total + bounds.rounding(r)

        return Step(f"{self.target()} = {a}.{function}({axis}{'' if function == 'cumsum' else keep})", bound)

    def where(self):
        a, b = self.any_name(), self.operand()
        return Step(f"{self.target()} = np.where({self.exact_name()}, {a}, {b})", self.linear(a, b))

    def update(self):
        a = self.pick(self.names(arrays=True))
        value = self.values[a]
        if not isinstance(value, np.ndarray) or not value.ndim:
            return None
        b, operator = self.operand(), self.pick(["=", "+=", "-=", "*="])
        if operator == "=" and value.dtype.kind in "iub" and np.asarray(self.value(b)).dtype.kind in "fc":
            b = "3"
        bound = self.product(a, b) if operator == "*=" else self.linear(a, b)
        if self.chance(0.15) and operator != "=":
            return Step(f"{a} {operator} {b}", bound, target=a)
        index = (
            self.index_text(value)
            if self.chance(0.8)
            else self.pick(["[0, -1]", f"{a} == {a}", "...", "::2, None"])
        )
        return Step(f"{a}[{index}] {operator} {b}", bound, target=a)

    def join(self):
        a = self.any_name()
        text = self.pick(
            [f"np.concatenate([{a}, {a}])", f"np.stack([{a}, {a}])", f"np.concatenate([{a}, {a}], axis=None)"]
        )
        return Step(f"{self.target()} = {text}", self.linear(a))

    def short_loop(self):
        a, target = self.exact_name(), self.target()
        return Step(
            f"{target} = {a}\nfor i in range({self.rng.integers(0, 4)}):\n    {target} = {target} + i"
        )

    def fill(self, template):
        names = {"x": self.exact_name(), "y": self.exact_name(), "k": str(self.rng.integers(0, 4))}
        names |= {"T": self.target(), "Tb": self.target() + "b"}
        return re.sub(r"(?<![\w.])(x|y|k|T|Tb)\b", lambda m: names[m.group()], template), names

    def call(self):
        return Step(f"{self.target()} = {self.fill(self.pick(calls.EXACT))[0]}")

    def selection(self):
        return Step(f"{self.target()} = {self.fill(self.pick(calls.SELECTIONS))[0]}")

    def change(self):
        text, names = self.fill(self.pick(calls.UPDATES))
        return Step(text, target=names["x"])

    def python(self):
        return Step(self.fill(self.pick(calls.PYTHON))[0])

    def bounded_call(self):
        return self.bounded(*self.pick(calls.BOUNDED))

    def bounded(self, template, limit, finite=False):
        """`finite`: what infinities and NaN become depends on the order of the operations."""
        text, names = self.fill(template)
        x, y = self.values[names["x"]], self.values[names["y"]]
        scope = {
            "np": np,
            "x": x,
            "y": y,
            "k": float(names["k"]),
            "A": bounds.finite_abs,
            "M": bounds.magnitude,
        }

        def bound(r):
            narrow = max(bounds.eps(r), bounds.eps(x), bounds.eps(y))
            scope["E"] = lambda v: max(narrow, 1e-300)
            scope["R"] = bounds.magnitude(r)
            if not x.size or np.asarray(r).dtype.kind not in "fc":
                return 0.0
            if (
                finite or np.asarray(r).dtype.kind == "c"
            ):  # which parts become NaN depends on the order of the products
                if not (np.isfinite(x).all() and np.isfinite(y).all()):
                    return math.inf
            with np.errstate(all="ignore"):
                size = float(np.max(eval(limit, scope), initial=0.0))
            # Never none: the sign of a sum of zeros depends on what it starts from.
            return max((x.size + y.size + bounds.ELEMENTARY) * narrow * size, 5e-324)

        return Step(f"{self.target()} = {text}", bound)

    KINDS = [  # weight, producer
        (14, binary),
        (5, comparison),
        (7, exact_binary),
        (6, unary),
        (6, cast),
        (10, index),
        (7, shape),
        (6, reduction),
        (5, total),
        (4, where),
        (11, update),
        (3, join),
        (2, short_loop),
        (16, call),
        (6, selection),
        (7, change),
        (6, python),
        (6, bounded_call),
    ]

    def grow(self, length):
        self.make_arguments()
        weights = np.array([w for w, _ in self.KINDS], float)
        weights /= weights.sum()
        for _ in range(length * 4):
            if len(self.statements) >= length or self.raises:
                break
            produce = self.KINDS[int(self.rng.choice(len(weights), p=weights))][1]
            try:
                step = produce(self)
            except NothingExact:
                continue
            if step is not None and not (self.exact and step.bound):
                self.try_step(step)
        names = [n for n in self.values if n.startswith("v")] or ["a0"]
        results = [n for n in names if self.chance(0.5)] or names[-1:]
        results += [f"a{i}" for i in range(len(self.arguments)) if self.chance(0.1)]
        known = {n: b for n, b in self.bounds.items() if b and (n in results or n.startswith("a"))}
        return Program(self.arguments, self.statements, results, known, self.exact)

    def try_step(self, step):
        scope = {"np": np, "math": math, **program_helpers.NAMES, **self.values}
        before = {n: v.copy() for n, v in self.values.items() if isinstance(v, np.ndarray)}
        try:
            with np.errstate(all="ignore"):
                exec(step.text, scope)
        except Exception as error:
            if self.statements and self.chance(0.04) and not isinstance(error, SyntaxError | NameError):
                self.statements.append(step.text)
                self.raises = True
                return
            for name, value in before.items():  # an update may have got halfway
                if self.values[name].flags.writeable:
                    np.copyto(self.values[name], value)
            return
        self.statements.append(step.text)
        self.counter += 1
        for name, value in list(scope.items()):
            is_new = value is not self.values.get(name)
            if name.startswith("v") and is_new and self.is_comparable(value):
                self.values[name] = value
                self.set_bound(name, step, value)
        if step.target is not None:
            self.values[step.target] = scope[step.target]
            self.set_bound(step.target, step, scope[step.target])

    def set_bound(self, name, step, value):
        # A view of what may differ may differ.
        held = max((b for n, b in self.bounds.items() if hold_one(value, self.values[n])), default=0.0)
        bound = (
            bounds.checked(step.bound(value), value)
            if step.bound and isinstance(value, np.ndarray | np.generic)
            else 0.0
        )
        bound = max(bound, held)
        if isinstance(bound, float) and math.isnan(bound):
            bound = math.inf
        if step.target == name:
            for other, view in self.values.items():
                if bound and hold_one(view, value):
                    self.bounds[other] = max(bound, self.bounds.get(other, 0.0))
        if bound:
            self.bounds[name] = bound
        else:
            self.bounds.pop(name, None)

    @staticmethod
    def is_comparable(value):
        if isinstance(value, list | tuple):
            return all(Generator.is_comparable(item) for item in value)
        return isinstance(value, np.ndarray | np.generic | int | float | str | bool)


def generate(seed):
    generator = Generator(seed)
    generator.exact = seed % 5 == 0
    return generator.grow(int(np.random.default_rng(seed).integers(2, 12)))
