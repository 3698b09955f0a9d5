"""Expressions of a kernel as C++: arithmetic of numbers and tiles, indices, functions."""

import ast
import builtins
import math

import numpy

import weft

from ._values import (
    C_TYPES,
    LANES,
    NAMES,
    NUMPY,
    Array,
    Number,
    Thing,
    Tile,
    added,
    known,
    number_of,
    scaled,
)

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_ELEMENTARY = "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt".split()
_OTHERS = {
    "sqrt": "square_root({})",
    "abs": "absolute({})",
    "absolute": "absolute({})",
    "fabs": "absolute({})",
    "square": "square_of({})",
}
_BINARY = {"maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin"}


class Expressions:
    """What Translator inherits: value(node) is what an expression stands for."""

    def value(self, node):
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            self.fail(node, f"{type(node).__name__} expressions are not in the language of kernels")
        return method(node)

    # ---- names -----------------------------------------------------------------------------------------------
    def _constant(self, node):
        if isinstance(node.value, (bool, int, float)):
            return number_of(node.value)
        return Thing(node.value)

    def _name(self, node):
        if node.id in self.bound:
            return self.bound[node.id]
        if node.id in self.assigned:
            self.fail(node, f"'{node.id}' is used before it has a value")
        if node.id in self.names:
            return self._thing(self.names[node.id])
        if hasattr(builtins, node.id):
            return Thing(getattr(builtins, node.id))
        self.fail(node, f"the name '{node.id}' is not known")

    def _thing(self, value):
        return number_of(value) if isinstance(value, (bool, int, float)) else Thing(value)

    def _tuple(self, node):
        return Thing(tuple(self.value(one) for one in node.elts))

    _list = _tuple

    def _attribute(self, node):
        value = self.value(node.value)
        if isinstance(value, Thing):
            if hasattr(value.value, node.attr):
                return self._thing(getattr(value.value, node.attr))
            self.fail(node, f"there is no '{node.attr}' of that name")
        if node.attr == "shape":
            if isinstance(value, Array):
                return Thing(tuple(self.size_of(value, axis) for axis in range(value.dims)))
            return Thing(tuple(number_of(size) for size in value.shape))
        if node.attr == "T" and not isinstance(value, Number):
            return self.transposed(node, value)
        if node.attr == "dtype":
            return Thing(numpy.dtype(NUMPY[value.dtype]))
        if node.attr in ("ndim", "size"):
            shape = value.shape if not isinstance(value, Array) else (0,) * value.dims
            if node.attr == "ndim" or not isinstance(value, Array):
                return number_of(len(shape) if node.attr == "ndim" else math.prod(shape))
        self.fail(node, f"'.{node.attr}' is not in the language of kernels")

    # ---- numbers ---------------------------------------------------------------------------------------------
    def cast(self, number, dtype):
        return number.text if number.dtype == dtype else f"(({C_TYPES[dtype]})({number.text}))"

    def constant(self, node, number, what):
        """A number that is known while translating; what it depends on becomes part of the translation."""
        if not isinstance(number, Number) or number.dtype != "i64" or number.affine is None:
            self.fail(node, f"{what} has to be known before the kernel runs")
        total = number.affine.get("", 0)
        for name, factor in number.affine.items():
            if name:
                if name not in self.pinnable:
                    self.fail(
                        node,
                        f"{what} has to be known before the kernel runs, and depends on what varies in it",
                    )
                self.pinned[name] = self.pinnable[name]
                total += factor * self.pinnable[name]
        return total

    def promoted(self, node, a, b):
        """(dtype, weak) of an operation on two numbers, as NumPy has it."""
        if a.weak and b.weak:
            return ("f64" if a.is_float or b.is_float else "i64"), True
        if a.weak != b.weak:
            weak, strong = (a, b) if a.weak else (b, a)
            if weak.is_float and not strong.is_float:
                return "f64", False
            return ("i64" if strong.dtype == "b8" and weak.dtype == "i64" else strong.dtype), False
        found = numpy.result_type(NUMPY[a.dtype], NUMPY[b.dtype]).name
        if found not in NAMES:
            self.fail(node, f"there are no numbers of {found} in kernels")
        return NAMES[found], False

    def arithmetic(self, node, operator, a, b):
        if not isinstance(a, Number) or not isinstance(b, Number):
            return self.tile_arithmetic(node, operator, a, b)
        dtype, weak = self.promoted(node, a, b)
        kind = type(operator)
        if kind is ast.Pow:
            exponent = known(b.affine) if b.dtype == "i64" else None
            if exponent is None or not 1 <= exponent <= 8:
                self.fail(node, "powers are of a known exponent from 1 to 8; others: np.exp and np.log")
            return Number("(" + " * ".join([self.cast(a, dtype)] * exponent) + ")", dtype, weak)
        if kind is ast.Div and dtype not in LANES:
            dtype = "f64"
        x, y = self.cast(a, dtype), self.cast(b, dtype)
        if kind in (ast.FloorDiv, ast.Mod):
            if dtype in LANES:
                self.fail(node, "// and % are of integers in kernels")
            affine = None
            if self.is_known(a) and self.is_known(b) and self.constant(node, b, "a divisor"):
                left, right = self.constant(node, a, "a dividend"), self.constant(node, b, "a divisor")
                affine = {"": left // right if kind is ast.FloorDiv else left % right}
            function = "floor_quotient" if kind is ast.FloorDiv else "floor_rest"
            return Number(f"{function}({x}, {y})", dtype, weak, affine)
        if kind in (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor) and dtype not in LANES:
            signs = {ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
            return Number(f"({x} {signs[kind]} {y})", dtype, weak)
        if kind not in _OPERATORS:
            self.fail(node, f"the operator {kind.__name__} is not in the language of kernels")
        affine = None
        if dtype == "i64" and weak and kind is not ast.Div:
            if kind is ast.Mult:
                if known(a.affine) is not None:
                    affine = scaled(b.affine, known(a.affine))
                elif known(b.affine) is not None:
                    affine = scaled(a.affine, known(b.affine))
                elif self.is_known(a) and b.affine is not None:
                    affine = scaled(b.affine, self.constant(node, a, "a size"))
                elif self.is_known(b) and a.affine is not None:
                    affine = scaled(a.affine, self.constant(node, b, "a size"))
            else:
                affine = added(a.affine, b.affine, 1 if kind is ast.Add else -1)
        text = f"({x} {_OPERATORS[kind]} {y})"
        if dtype not in LANES and kind is not ast.Div:  # wraps around, as NumPy's does
            unsigned = {"i64": "u64", "i32": "u32", "u8": "u32"}.get(dtype)
            if unsigned:
                text = f"(({C_TYPES[dtype]})(({unsigned})({x}) {_OPERATORS[kind]} ({unsigned})({y})))"
        return Number(text, dtype, weak, affine)

    def is_known(self, number):
        return number.affine is not None and all(not name or name in self.pinnable for name in number.affine)

    def _binop(self, node):
        if isinstance(node.op, ast.MatMult):
            return self.product(node, self.value(node.left), self.value(node.right))
        return self.arithmetic(node, node.op, self.value(node.left), self.value(node.right))

    def _unaryop(self, node):
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Number(f"(!{self.truth(node, value)})", "b8", True)
        if isinstance(node.op, ast.UAdd):
            return value
        if not isinstance(node.op, ast.USub):
            self.fail(node, "~ is not in the language of kernels")
        if not isinstance(value, Number):
            tile = self.tile(node, value)
            return Tile(tile.shape, tile.dtype, lambda r, c: f"(-{tile.at(r, c)})")
        if value.dtype == "b8":
            self.fail(node, "- of a truth value")
        return Number(f"(-{value.text})", value.dtype, value.weak, scaled(value.affine, -1))

    def truth(self, node, value):
        if not isinstance(value, Number):
            self.fail(node, "the truth of a tile is not one: use np.where")
        return value.text if value.dtype == "b8" else f"({value.text} != 0)"

    def _boolop(self, node):
        sign = " && " if isinstance(node.op, ast.And) else " || "
        return Number(
            "(" + sign.join(self.truth(node, self.value(one)) for one in node.values) + ")", "b8", True
        )

    def _compare(self, node):
        values = [self.value(node.left), *(self.value(one) for one in node.comparators)]
        parts = [
            self.comparison(node, operator, a, b) for operator, a, b in zip(node.ops, values, values[1:])
        ]
        if len(parts) == 1:
            return parts[0]
        if any(not isinstance(part, Number) for part in parts):
            self.fail(node, "a chain of comparisons of tiles")
        return Number("(" + " && ".join(part.text for part in parts) + ")", "b8", True)

    def comparison(self, node, operator, a, b):
        sign = _COMPARISONS.get(type(operator))
        if sign is None:
            self.fail(node, f"{type(operator).__name__} is not in the language of kernels")
        if isinstance(a, Number) and isinstance(b, Number):
            dtype, _ = self.promoted(node, a, b)
            return Number(f"({self.cast(a, dtype)} {sign} {self.cast(b, dtype)})", "b8", True)
        tile = self.elementwise(node, f"({{}} {sign} {{}})", a, b)
        return Tile(tile.shape, "mask", tile.at)

    def _ifexp(self, node):
        test = self.truth(node, self.value(node.test))
        a, b = self.value(node.body), self.value(node.orelse)
        if not isinstance(a, Number) or not isinstance(b, Number):
            self.fail(node, "a choice between tiles: use np.where, or if")
        if (a.dtype, a.weak) != (b.dtype, b.weak):
            self.fail(node, "both sides of a choice have one type")
        return Number(f"({test} ? {a.text} : {b.text})", a.dtype, a.weak)

    # ---- calls -----------------------------------------------------------------------------------------------
    def _call(self, node):
        if any(isinstance(one, ast.Starred) for one in node.args) or any(
            key.arg is None for key in node.keywords
        ):
            self.fail(node, "* and ** in calls")
        keywords = {key.arg: key.value for key in node.keywords}
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if not isinstance(owner, Thing):
                return self.method(node, owner, node.func.attr, keywords)
        function = self.value(node.func)
        if not isinstance(function, Thing):
            self.fail(node, "only functions can be called")
        return self.called(node, function.value, keywords)

    def called(self, node, function, keywords):
        name = getattr(function, "__name__", "")
        owner = getattr(function, "__module__", None) or ""
        is_numpy = isinstance(function, numpy.ufunc) or owner.partition(".")[0] == "numpy"
        if isinstance(function, type) and (
            function in (float, int, bool) or issubclass(function, numpy.generic)
        ):
            return self.conversion(node, function)
        if is_numpy and name in ("zeros", "empty", "full", "ones"):
            return self.made(node, name, keywords)
        if function in (len,):
            value = self.value(node.args[0])
            if isinstance(value, Array):
                return self.size_of(value, 0)
            return number_of(len(value.value) if isinstance(value, Thing) else value.shape[0])
        values = [self.value(one) for one in node.args]
        if function in (min, max):
            return self.extreme(node, function, values)
        if function is abs and len(values) == 1:
            return self.mapped(node, "absolute({})", values[0], False)
        if is_numpy and name in ("max", "min", "sum", "amax", "amin"):
            return self.reduced(
                node, self.tile(node, values[0]), name.removeprefix("a"), values[1:], keywords
            )
        if is_numpy and name in ("dot", "matmul") and len(values) == 2:
            return self.product(node, *values)
        if keywords:
            self.fail(node, f"keywords of '{name}' are not in the language of kernels")
        is_math = owner == "math"
        if (is_numpy or is_math) and len(values) == 1 and (name in _ELEMENTARY or name in _OTHERS):
            if name in _ELEMENTARY:
                self.elementary.add(name)
            return self.mapped(node, _OTHERS.get(name, f"elementary::{name}({{}})"), values[0], True, is_math)
        if is_numpy and len(values) == 2 and name in _BINARY:
            if all(isinstance(one, Number) for one in values):
                dtype, weak = self.promoted(node, *values)
                return Number(
                    f"{_BINARY[name]}({self.cast(values[0], dtype)}, {self.cast(values[1], dtype)})",
                    dtype,
                    weak,
                )
            return self.elementwise(node, f"{_BINARY[name]}({{}}, {{}})", *values)
        if is_numpy and len(values) == 2 and name in ("add", "subtract", "multiply", "divide", "true_divide"):
            kinds = {"add": ast.Add, "subtract": ast.Sub, "multiply": ast.Mult}
            return self.arithmetic(node, kinds.get(name, ast.Div)(), *values)
        if is_numpy and name == "where" and len(values) == 3:
            return self.chosen(node, *values)
        self.fail(node, f"'{name or function}' is not in the language of kernels")

    def conversion(self, node, function):
        if len(node.args) != 1:
            self.fail(node, "a conversion has one argument")
        value = self.value(node.args[0])
        dtype = {float: "f64", int: "i64", bool: "b8"}.get(function) or NAMES.get(numpy.dtype(function).name)
        if not isinstance(value, Number) or dtype is None:
            self.fail(node, f"a conversion to {function.__name__} of this is not in the language of kernels")
        affine = value.affine if value.dtype == "i64" and function is int else None
        if function is bool:
            return Number(self.truth(node, value), "b8", True)
        return Number(self.cast(value, dtype), dtype, function in (float, int), affine)

    def extreme(self, node, function, values):
        if len(values) < 2 or not all(isinstance(one, Number) for one in values):
            self.fail(
                node, f"{function.__name__}() of two or more numbers, or np.{function.__name__}imum of tiles"
            )
        sign, result = "<" if function is min else ">", values[0]
        for one in values[1:]:
            if (one.dtype, one.weak) != (result.dtype, result.weak):
                self.fail(node, f"{function.__name__}() of numbers of one type")
            result = Number(
                f"({one.text} {sign} {result.text} ? {one.text} : {result.text})", one.dtype, one.weak
            )
        return result

    def mapped(self, node, form, value, to_float, is_math=False):
        if isinstance(value, Number):
            dtype = value.dtype
            if is_math or (to_float and dtype not in LANES):
                dtype = "f64"
            return Number(
                form.format(self.cast(value, dtype)), dtype, is_math or (value.weak and not to_float)
            )
        tile = self.tile(node, value)
        return Tile(tile.shape, tile.dtype, lambda r, c: form.format(tile.at(r, c)))

    def method(self, node, owner, name, keywords):
        values = [self.value(one) for one in node.args]
        if name in ("max", "min", "sum"):
            return self.reduced(node, self.tile(node, owner), name, values, keywords)
        if name == "copy" and not values:
            return self.copied(node, owner)
        if name == "astype" and len(values) == 1:
            dtype = NAMES.get(numpy.dtype(values[0].value).name)
            if isinstance(owner, Number) and dtype:
                return Number(self.cast(owner, dtype), dtype)
            if not isinstance(owner, Number) and dtype == owner.dtype:
                return self.copied(node, owner)
        if name == "dot" and len(values) == 1:
            return self.product(node, owner, values[0])
        if name == "transpose" and not values:
            return self.transposed(node, owner)
        self.fail(node, f"'.{name}()' of this is not in the language of kernels")

    def dtype_of(self, node, given):
        if given is None:
            return "f64"
        value = given.value if isinstance(given, Thing) else None
        if isinstance(value, weft.dtype):
            value = str(value).rpartition(".")[2]
        try:
            dtype = NAMES.get(numpy.dtype(value).name)
        except TypeError:
            dtype = None
        if dtype not in LANES:
            self.fail(node, "tiles are of float32 or float64")
        return dtype
