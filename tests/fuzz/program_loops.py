"""Random programs of explicit loops over numbers and elements of arrays, with every exception that they may meet."""

import random

from program_values import Argument, Number, Program, some_offset

LOOP_DTYPES = [
    "float64",
    "float64",
    "float64",
    "float32",
    "int64",
    "int64",
    "int32",
    "int8",
    "uint8",
    "bool",
    "uint64",
    "int16",
    "float16",
    "complex128",
]
RANGES = [
    "n",
    "len(a)",
    "1, n",
    "1, n - 1",
    "n - 1, -1, -1",
    "0, n, 2",
    "A.shape[0]",
    "20",
    "k, n",
    "n, 0, -3",
    "n % 4",
    "2 * n",
    "0",
]


class LoopGenerator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.integers, self.numbers = ["n", "k"], ["x", "s", "t"]
        self.loops, self.lines, self.depth, self.indent, self.count = [], [], 0, 0, 0
        self.has_list = self.chance(0.3)
        dtype = self.pick(LOOP_DTYPES)
        self.dtypes = [
            dtype if self.chance(0.7) else self.pick(LOOP_DTYPES) for _ in range(3)
        ]  # of a, b and A

    def emit(self, text):
        self.lines.append("    " * self.indent + text)

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, probability):
        return self.random.random() < probability

    # ---- expressions ----
    def integer(self, depth=2):
        roll = self.random.random()
        if depth == 0 or roll < 0.35:
            return self.pick(self.integers + self.loops * 2)
        if roll < 0.5:
            return self.pick(
                ["0", "1", "2", "3", "5", "-1", "-2", "7", "2**31", "2**62"]
                if self.chance(0.1)
                else ["0", "1", "2", "3", "-1"]
            )
        if roll < 0.6:
            return self.pick(["len(a)", "A.shape[0]", "A.shape[1]", "a.size", "A.ndim"])
        if roll < 0.66:
            return f"int({self.number(depth - 1)})"
        if roll < 0.74:
            return self.pick(
                [
                    f"abs({self.integer(depth - 1)})",
                    f"min({self.integer(depth - 1)}, {self.integer(depth - 1)})",
                    f"max({self.integer(depth - 1)}, k)",
                ]
            )
        operator = self.pick(["+", "-", "*", "//", "%", "+", "-", "&", "|", "^", ">>"])
        return f"({self.integer(depth - 1)} {operator} {self.integer(depth - 1)})"

    def position(self):
        if self.loops and self.chance(0.75):
            name = self.pick(self.loops)
            return self.pick(
                [
                    name,
                    name,
                    name,
                    f"{name} - 1",
                    f"{name} + 1",
                    f"-{name}",
                    f"{name} % 5",
                    f"2 * {name}",
                    f"{name} // 2",
                    f"I[{name}]",
                    f"I[{name} - 1]",
                ]
            )
        return self.pick(["0", "-1", "k", "1", self.integer(1)])

    def element(self):
        return self.pick(
            [
                f"a[{self.position()}]",
                f"b[{self.position()}]",
                f"A[{self.position()}, {self.position()}]",
                f"A[{self.position()}][{self.position()}]",
                f"a[{self.position()}]",
                f"a[I[{self.position()}]]",
            ]
        )

    def number(self, depth=2):
        roll = self.random.random()
        if depth == 0 or roll < 0.25:
            return self.pick(self.numbers + self.integers + self.loops)
        if roll < 0.5:
            return self.element()
        if roll < 0.56:
            return self.pick(["0.5", "1.5", "-2.0", "3", "0.0"])
        if roll < 0.58:
            return f"math.{self.pick(['sqrt', 'floor', 'fabs', 'trunc', 'ceil', 'isnan', 'degrees'])}({self.number(depth - 1)})"
        if roll < 0.60:
            return f"np.{self.pick(['sqrt', 'abs', 'floor', 'sign', 'isfinite', 'float32', 'int64'])}({self.number(depth - 1)})"
        if roll < 0.62:
            return self.number_call(depth - 1)
        if roll < 0.67:
            return f"{self.pick(['min', 'max'])}({self.number(depth - 1)}, {self.number(depth - 1)})"
        if roll < 0.70:
            return f"helper({self.number(depth - 1)})"
        if roll < 0.73:
            return f"({self.number(depth - 1)} if {self.condition(depth - 1)} else {self.number(depth - 1)})"
        if roll < 0.75:
            return self.pick(
                [
                    f"({self.number(depth - 1)}) ** 2",
                    f"float({self.number(0)})",
                    f"-({self.number(0)})",
                    f"bool({self.number(0)})",
                    f"round({self.number(0)})",
                ]
            )
        operator = self.pick(["+", "-", "*", "+", "-", "*", "/", "%", "//"])
        return f"({self.number(depth - 1)} {operator} {self.number(depth - 1)})"

    def number_call(self, depth):
        """NumPy's and Python's functions of numbers that round as arithmetic does."""
        x, y = self.number(depth), self.number(depth)
        one = ["round", "rint", "square", "signbit", "isinf", "logical_not", "real", "fix", "trunc"]
        two = ["add", "multiply", "copysign", "fmod", "fmax", "logical_and", "greater", "remainder", "divide"]
        return self.pick(
            [
                f"np.{self.pick(one)}({x})",
                f"np.{self.pick(two)}({x}, {y})",
                f"np.clip({x}, -1, 2.5)",
                f"np.round({x}, 2)",
                f"round({x}, 1)",
                f"sum(({x}, {y}))",
                f"any(({x}, {y}))",
                f"max(({x}, {y}))",
                f"isinstance({x}, float)",
                f"({x}, {y})[{self.position()}]",
                f"math.modf({x})[0]",
            ]
        )

    def condition(self, depth=1):
        text = f"{self.number(depth)} {self.pick(['<', '>', '<=', '==', '!=', '>='])} {self.number(depth)}"
        if self.chance(0.2):
            text += f" {self.pick(['and', 'or'])} {self.condition(0)}"
        return f"not ({text})" if self.chance(0.1) else text

    def slice_statement(self):
        place = self.position()
        # A sum of floating-point numbers has no promised order.
        if any(dtype.startswith(("float", "complex")) for dtype in self.dtypes):
            sums = [f"s += A[{place}].min()", f"s = s + np.sum(a[{place}:n] > b[{place}:n])"]
        else:
            sums = [f"s += A[{place}].sum()", f"s = s + np.sum(a[{place}:n] * b[{place}:n])"]
        return self.pick(
            [
                *sums,
                f"A[{place}] = A[{self.position()}]",
                f"A[{place}, :] += {self.pick(['1', 'k', 'x'])}",
                f"A[:, {place}] *= 2",
                f"a[{place}:] -= 1",
                f"t = A[{place}].max()",
                f"A[{place}, 1:] = A[{place}, :-1]",
                "a[1:n] = a[0:n - 1]",
                f"A[{place}] = A[{place}][::-1]",
                f"a[I[{place}:]] = {self.pick(['k', 'x', '1'])}",
                f"a[I] += {self.pick(['k', '1'])}",
                f"t = A[I[{place}], {self.position()}] - a[I][{self.position()}]",
                f"A[{place}] = a[:A.shape[1]]",
                f"row = A[{place}]\n{'    ' * self.indent}row[{self.position()}] = {self.number(1)}",
                f"A[{place}] = np.where(A[{place}] > 0, A[{place}], 1)",
            ]
        )

    def list_statement(self):
        indent = "    " * (self.indent + 1)
        value = self.pick([self.number(1), self.integer(1), "k", "s", self.element()])
        return self.pick(
            [
                f"l.append({value})",
                f"l.append({value})",
                "t = l.pop()",
                f"if l:\n{indent}s = l.pop()",
                f"if len(l) > {self.integer(0)}:\n{indent}t = l[{self.pick(['-1', '0', 'len(l) - 1'])}]",
                f"l[{self.position()}] = {value}",
                f"l[-1] {self.pick(['+=', '=', '-='])} {value}",
                f"t = l[{self.position()}]",
                "k += len(l)",
                f"while len(l) > 4:\n{indent}t = l.pop()",
                f"m.append({value})",
                f"for e in l:\n{indent}t = e",
                f"l = [{value}]",
                "l = []",
                "m = l",
                "l, m = m, l",
                f"l = {self.pick(['l[:]', 'list(m)', 'm.copy()', 'l[:3] + m[:]'])}",
                f"if len(l) < 20:\n{indent}{self.pick(['l = l + m', 'l += m', 'l.extend(m)', f'l = [{value}] + l'])}",
                f"l = [{value}{self.pick(['', ', k', ', t, 0.5'])}] * {self.integer(0)}",
                "l.reverse()",
                "p.append(l)",
                f"p.append([{value}, k])",
                f"for e in m:\n{indent}l = [e, {value}]",
            ]
        )

    # ---- statements ----
    def statement(self, inside):
        if self.has_list and self.chance(0.25):
            return self.emit(self.list_statement())
        roll = self.random.random()
        if roll < 0.23:
            self.emit(f"{self.pick(self.numbers[1:])} {self.pick(['=', '+=', '-=', '*='])} {self.number()}")
        elif roll < 0.34:
            self.emit(f"k {self.pick(['=', '+=', '-='])} {self.integer()}")
        elif roll < 0.60:
            self.emit(f"{self.element()} {self.pick(['=', '+=', '-=', '='])} {self.number()}")
        elif roll < 0.66:
            self.emit(self.slice_statement())
        elif roll < 0.77:
            self.branch(inside)
        elif roll < 0.81 and inside:
            self.emit(f"if {self.condition()}:")
            self.emit("    " + self.pick(["break", "continue", "return (s, k, x)", "continue", "return ()"]))
        elif roll < 0.89 and self.depth < 2:
            self.loop()
        elif roll < 0.91:
            self.attempt(inside)
        elif roll < 0.94:
            self.emit("a, b = b, a")
        else:
            self.emit(f"t, s = s, {self.number()}")

    def branch(self, inside):
        self.emit(f"if {self.condition()}:")
        self.block(1, 2, inside)
        if self.chance(0.2):
            self.emit(f"elif {self.condition()}:")
            self.block(1, 1, inside)
        if self.chance(0.4):
            self.emit("else:")
            self.block(1, 2, inside)

    def attempt(self, inside):
        self.emit("try:")
        self.block(1, 2, inside)
        self.emit(
            f"except {self.pick(['IndexError', 'ZeroDivisionError', '(ValueError, OverflowError)', 'ArithmeticError'])}:"
        )
        self.block(1, 1, inside)

    def block(self, low, high, inside):
        self.indent += 1
        for _ in range(self.random.randint(low, high)):
            self.statement(inside)
        self.indent -= 1

    def loop(self):
        self.depth += 1
        self.count += 1
        name = f"i{self.count}"
        roll = self.random.random()
        if roll < 0.72:
            triangle = f"{self.pick(self.loops or ['0'])}, n"
            self.emit(f"for {name} in range({self.pick([*RANGES, triangle])}):")
        elif roll < 0.76:
            self.emit(f"for {name}, e{self.count} in enumerate({self.pick(['a', 'b[::2]', 'A[0]'])}):")
        elif roll < 0.80:
            self.emit(f"for {name} in {self.pick(['(3, 1, 2)', '[0, -1]', 'range(2)'])}:")
        else:
            self.emit(f"{name} = 0")
            self.emit(f"while {name} < n{' and ' + self.condition(1) if self.chance(0.5) else ''}:")
            self.emit(f"    {name} += {self.pick(['1', '1', '1', '2', 'max(k, 1)'])}")
        self.loops.append(name)
        self.block(1, 4, True)
        self.loops.pop()
        if self.chance(0.12):
            self.emit("else:")
            self.block(1, 1, False)
        self.depth -= 1

    def generate(self):
        self.emit("a, b, A, n, k, x, I = a0, a1, a2, a3, a4, a5, np.abs(a6) % max(len(a0), 1)")
        self.emit(f"s, t = {self.pick(['0', '0.0', '1', 'x', 'a[0]'])}, {self.pick(['1.0', '2', 'x'])}")
        results = ["s", "t", "k", "x", "a", "b"]
        if self.has_list:
            first = self.pick(["", "1", "k, n", "x", "0.5, 1.5", "a[0]", "s, t", "1, 2, 3, 4, 5, 6", "True"])
            self.emit(f"l = [{first}]")
            self.emit(f"m = {self.pick(['l', '[]', 'l'])}")
            self.emit("p = []")
            results += ["l", "m", "p", "l is m", "[l is q for q in p]"]
        for _ in range(self.random.randint(1, 2)):
            self.loop()
        # A block is one statement.
        return Program(self.arguments(), ["\n".join(self.lines)], results)

    def arguments(self):
        rows, columns = self.random.randint(17, 30), self.random.randint(17, 30)
        length = self.pick([rows, rows, 1, 0, 20])

        def array(kind, shape):
            layout = self.pick(["C", "C", "C", "C", "F", "reversed", "strided", "transposed"])
            special, seed = self.chance(0.1), self.random.randrange(1 << 30)
            return Argument(kind, shape, layout, special, seed, offset=some_offset(kind, seed))

        first = array(self.dtypes[0], (rows,))
        second = (
            Argument("float64", (), "C", False, 0, same_as=0)
            if self.chance(0.1)
            else array(self.dtypes[1], (length or rows,))
        )
        numbers = [str(self.random.randint(0, 24)), str(self.random.randint(-3, 9))]
        x = self.pick(
            [
                "1.5",
                "2",
                "-0.5",
                "0",
                "np.float64(2.5)",
                "np.float32(0.5)",
                "np.int64(3)",
                "True",
                "2**40",
                "np.int8(100)",
                "nan",
                "0.0",
            ]
        )
        return [
            first,
            second,
            array(self.dtypes[2], (rows, columns)),
            *map(Number, [*numbers, x]),
            array("int64", (rows,)),
        ]


def generate(seed):
    return LoopGenerator(seed).generate()
