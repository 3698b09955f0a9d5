"""A kernel's function as C++: statements, from Python's syntax tree."""

import ast
import collections
import inspect
import textwrap

from weft import _C

from ._expressions import Expressions
from ._prelude import PRELUDE
from ._tiles import Tiles
from ._values import C_TYPES, LANES, Array, KernelError, Number, Slice, Tile, number_of


class Source:
    """A function's syntax tree and where it stands."""

    def __init__(self, function):
        try:
            lines, self.first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise KernelError(f"kernel {function.__name__}: its source is not there") from None
        self.lines = lines
        self.file = inspect.getsourcefile(function) or "?"
        tree = ast.parse(textwrap.dedent("".join(lines)))
        self.tree = next((one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)), None)
        if self.tree is None:
            raise KernelError(f"kernel {function.__name__}: write it with def")
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise KernelError(f"kernel {function.__name__}: parameters are positional and without defaults")
        self.parameters = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        stores, self.stored = collections.Counter(), set()  # names, and those whose elements are set
        self.in_place = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stores[node.id] += 1
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                        self.stored.add(target.value.id)
                    if isinstance(node, ast.AugAssign) and isinstance(target, ast.Name):
                        self.in_place.add(target.id)
        self.stores = stores
        changed = [name for name in self.parameters if stores[name]]
        if changed:
            raise KernelError(
                f"kernel {function.__name__}: the parameter '{changed[0]}' gets another value; use another name"
            )

    def line(self, node):
        return self.first + node.lineno - 1

    def text(self, node):
        return self.lines[node.lineno - 1].strip()


def names_of(function):
    """Names that the function sees beside its own: of its module, and of functions around it."""
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            pass
    return names


class Translator(Expressions, Tiles):
    """One translation of a kernel, for arguments of these kinds.

    arguments: (name, kind, ...) each: ("array", dtype, dimensions), ("int", value), ("float",), ("number", dtype). sizes: of
    arrays, by the names of atoms. grid_dims: how many of the parameters are the block's coordinates.
    pinned: what is known of integers that the text depends on, {name: value}.
    """

    def __init__(self, function, source, arguments, values, grid_dims, is_debug):
        self.function, self.source, self.is_debug = function, source, is_debug
        self.names = names_of(function)
        self.assigned = set(source.stores)
        self.pinnable, self.pinned = values, {}
        self.bound, self.variables = {}, {}
        self.elementary, self.places = set(), []
        self.vector_bytes = max(_C._host_vector_bytes(), 16)
        self.declarations, self.lines, self.depth = [], [], 1
        self.temporaries, self.free, self.scratch_bytes, self.count = [], {}, 0, 0
        self.stable = set(values)
        self.head = []
        self._bind(arguments, grid_dims)
        for statement in source.tree.body:
            self.statement(statement)

    def fail(self, node, message):
        line = self.source.line(node) if hasattr(node, "lineno") else self.source.first
        raise KernelError(
            f"kernel {self.function.__name__}: {message}\n  at {self.source.file}:{line}\n    "
            f"{self.source.text(node) if hasattr(node, 'lineno') else ''}"
        )

    def fresh(self):
        self.count += 1
        return self.count

    def emit(self, text):
        self.lines.append("  " * (self.depth + 1) + text)

    def declare(self, text):
        self.declarations.append(text)

    def place(self, node, name):
        self.places.append((self.source.line(node), self.source.text(node), name))
        return len(self.places) - 1

    # ---- parameters ------------------------------------------------------------------------------------------
    def _bind(self, arguments, grid_dims):
        parameters = self.source.parameters
        word = grid_dims
        self.head.append("i64 rest = block;")
        for axis in reversed(range(grid_dims)):
            name = parameters[axis]
            self.head.append(f"const i64 block_{name} = rest % words[{axis}]; rest /= words[{axis}];")
            self.bound[name] = Number(f"block_{name}", "i64", True, {f"block_{name}": 1})
            self.stable.add(f"block_{name}")
        for own_name, (kind, *more) in zip(parameters[grid_dims:], arguments):
            name = f"p_{own_name}"
            if kind == "array":
                dtype, dims = more
                self.head.append(f"{C_TYPES[dtype]}* const {name} = ({C_TYPES[dtype]}*)words[{word}];")
                word += 1
                for axis in range(dims):
                    self.head.append(f"const i64 {name}_n{axis} = words[{word + axis}];")
                    unit = axis == dims - 1 and f"{name}_unit" in self.pinnable
                    step = "1" if unit else f"words[{word + dims + axis}]"
                    self.head.append(f"const i64 {name}_s{axis} = {step};")
                word += 2 * dims
                self.bound[own_name] = Array(name, dtype, dims)
                continue
            text = f"words[{word}]"
            word += 1
            if kind == "int":
                self.head.append(f"const i64 {name} = {text};")
                self.bound[own_name] = Number(name, "i64", True, {name: 1})
            else:
                dtype = "f64" if kind == "float" else more[0]
                self.head.append(
                    f"{C_TYPES[dtype]} {name}; __builtin_memcpy(&{name}, &{text}, sizeof({name}));"
                )
                self.bound[own_name] = Number(name, dtype, kind == "float")

    # ---- statements ------------------------------------------------------------------------------------------
    def statement(self, node):
        method = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if method is None:
            self.fail(node, f"{type(node).__name__} statements are not in the language of kernels")
        method(node)
        self.end_statement()
        if self.is_debug and not isinstance(node, (ast.For, ast.While, ast.If, ast.Pass)):
            self.emit("if (failure[0] >= 0) return;")

    def block(self, statements):
        self.depth += 1
        for statement in statements:
            self.statement(statement)
        self.depth -= 1

    def on_expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.fail(node, "an expression whose value nobody uses")

    def on_pass(self, node):
        pass

    def on_return(self, node):
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.fail(node, "kernels write their results, and return nothing")
        self.emit("return;")

    def on_break(self, node):
        self.emit("break;")

    def on_continue(self, node):
        self.emit("continue;")

    def on_assert(self, node):
        pass

    def on_if(self, node):
        self.emit(f"if ({self.truth(node, self.value(node.test))}) {{")
        self.block(node.body)
        if node.orelse:
            self.emit("} else {")
            self.block(node.orelse)
        self.emit("}")

    def on_while(self, node):
        if node.orelse:
            self.fail(node, "else of a loop")
        self.emit("for (;;) {")
        self.depth += 1
        if self.is_debug:
            self.emit("if (failure[0] >= 0) return;")
        self.emit(f"if (!{self.truth(node, self.value(node.test))}) break;")
        self.depth -= 1
        self.block(node.body)
        self.emit("}")

    def on_for(self, node):
        call = node.iter
        if (
            node.orelse
            or not isinstance(node.target, ast.Name)
            or not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Name)
            or call.func.id != "range"
            or call.keywords
        ):
            self.fail(node, "loops are over range(…)")
        limits = [self.value(one) for one in call.args]
        if any(not isinstance(one, Number) or one.dtype != "i64" for one in limits):
            self.fail(node, "range() of integers")
        start, stop = (limits[0], limits[1]) if len(limits) > 1 else (number_of(0), limits[0])
        step = self.constant(node, limits[2], "the step of a loop") if len(limits) == 3 else 1
        if step == 0:
            self.fail(node, "a loop of steps of 0")
        name, at, end = node.target.id, f"at{self.fresh()}", f"end{self.fresh()}"
        self.set_number(node, name, Number(at, "i64", True), is_loop=True, emit=False)
        self.emit(f"const i64 {end} = {stop.text};")
        sign = "<" if step > 0 else ">"
        self.emit(f"for (i64 {at} = {start.text}; {at} {sign} {end}; {at} += {step}L) {{")
        self.depth += 1
        self.emit(f"{self.variables[name][0]} = {at};")
        self.depth -= 1
        self.block(node.body)
        self.emit("}")

    def set_number(self, node, name, number, is_loop=False, emit=True):
        found = self.variables.get(name)
        if found is None:
            if isinstance(self.bound.get(name), Tile):
                self.fail(node, f"'{name}' was a tile before")
            found = self.variables[name] = (f"v_{name}", number.dtype, number.weak, self.source.line(node))
            self.declare(f"{C_TYPES[number.dtype]} v_{name} = 0;")
        text, dtype, weak, line = found
        if (dtype, weak) != (number.dtype, number.weak):
            kinds = [self.kind_of(*one) for one in ((dtype, weak), (number.dtype, number.weak))]
            self.fail(
                node,
                f"'{name}' is {kinds[0]} in line {line} and {kinds[1]} here: give it one type, as by np.float32(…)",
            )
        affine = None
        if dtype == "i64" and weak:
            once = self.source.stores[name] == 1 and name not in self.source.in_place
            if once and is_loop:
                self.stable.add(text)
            stable = number.affine is not None and all(not one or one in self.stable for one in number.affine)
            affine = number.affine if once and stable and not is_loop else {text: 1}
        self.bound[name] = Number(text, dtype, weak, affine)
        if emit:
            self.emit(f"{text} = {number.text};")

    @staticmethod
    def kind_of(dtype, weak):
        if weak:
            return {"f64": "a Python float", "i64": "a Python int", "b8": "a bool"}[dtype]
        return {"f32": "float32", "f64": "float64"}.get(dtype, dtype)

    def on_annassign(self, node):
        if node.value is None:
            self.fail(node, "a name without a value")
        self.on_assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def on_assign(self, node):
        if len(node.targets) != 1:
            self.fail(node, "one name at a time")
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            self.unpack(node, target)
        elif isinstance(target, ast.Name):
            self.set_name(node, target.id, self.value(node.value), node.value)
        elif isinstance(target, ast.Subscript):
            self.set_elements(node, target, self.value(node.value))
        else:
            self.fail(node, "this cannot be assigned to")

    def unpack(self, node, target):
        value = self.value(node.value)
        values = getattr(value, "value", None)
        if not isinstance(values, tuple) or len(values) != len(target.elts):
            self.fail(node, f"expected {len(target.elts)} values")
        values = [one if isinstance(one, (Number, Tile, Slice, Array)) else number_of(one) for one in values]
        if not all(
            isinstance(one, Number) and isinstance(to, ast.Name) for one, to in zip(values, target.elts)
        ):
            self.fail(node, "several names get numbers at once, one tile at a time")
        held = []
        for one in values:
            name = f"held{self.fresh()}"
            self.emit(f"const {C_TYPES[one.dtype]} {name} = {one.text};")
            held.append(Number(name, one.dtype, one.weak, one.affine))
        for one, to in zip(held, target.elts):
            self.set_number(node, to.id, one)

    def set_name(self, node, name, value, expression):
        if isinstance(value, Number):
            self.set_number(node, name, value)
            return
        if isinstance(value, (Slice, Array)):
            array = value if isinstance(value, Array) else value.array
            if (
                array.own_name in self.source.stored
                or name in self.source.in_place
                or name in self.source.stored
            ):
                self.fail(
                    node,
                    f"'{name}' would be a view of '{array.own_name}', and one of them is written to: .copy() it",
                )
        elif isinstance(value, Tile) and isinstance(expression, (ast.Name, ast.Subscript)):
            self.fail(node, f"'{name}' would be a view of another tile: .copy() it")
        tile = self.tile(node, value)
        if tile.dtype not in LANES:
            self.fail(node, "a comparison has no name: use it in np.where")
        if name in self.variables:
            self.fail(node, f"'{name}' was a number before")
        target = self.bound.get(name)
        if target is None:
            if tile.buffer and tile.name is None and not isinstance(expression, (ast.Name, ast.Subscript)):
                self.temporaries = [one for one in self.temporaries if not self.owns(tile, one)]
                tile.name = name
                self.bound[name] = tile
                return
            target = self.buffer(tile.shape, tile.dtype, name)
            self.stored(tile, target)
            self.bound[name] = target
            return
        if target.shape != tile.shape or target.dtype != tile.dtype:
            self.fail(
                node,
                f"'{name}' had the shape {target.shape} of {target.dtype}, not {tile.shape} of {tile.dtype}",
            )
        self.assign_to(node, target, tile)

    def owns(self, tile, temporary):
        base = f"* const {tile.buffer[0]} = "
        return any(base in one and f"scratch + {temporary[1]})" in one for one in self.declarations)

    def set_elements(self, node, target, value):
        holder = self.value(target.value)
        if not isinstance(holder, (Array, Tile)):
            self.fail(node, "this cannot be written to")
        place = self._subscript(target)
        if isinstance(place, Number):
            if not isinstance(value, Number):
                self.fail(node, "one element gets one number")
            if value.is_float and place.dtype not in LANES:
                value = Number(self.cast(value, "i64"), "i64")
            self.emit(f"{place.text} = {self.cast(value, place.dtype)};")
            return
        if isinstance(place, Slice):
            if isinstance(value, Number):
                text = f"splat<{C_TYPES[place.array.dtype]}, {self.lanes(place.array.dtype)}>({self.once(value, place.array.dtype)})"
                value = Tile(place.shape, place.array.dtype, lambda r, c: text)
            tile = self.tile(node, value)
            if tile.dtype != place.array.dtype:
                self.fail(node, f"'{place.array.own_name}' is of another dtype than what is written to it")
            self.store(node, place, tile)
            return
        if not place.buffer:
            self.fail(node, "a column of a tile is written element by element")
        if isinstance(value, Number):
            text = (
                f"splat<{C_TYPES[place.dtype]}, {self.lanes(place.dtype)}>({self.once(value, place.dtype)})"
            )
            value = Tile(place.shape, place.dtype, lambda r, c: text)
        place.name = ""  # a part: what lies behind it stays
        self.assign_to(node, place, self.tile(node, value))

    def on_augassign(self, node):
        target = node.target
        if isinstance(target, ast.Name):
            held = self.bound.get(target.id)
            if isinstance(held, Tile):
                return self.update_tile(node, held)
            read = ast.copy_location(ast.Name(target.id, ast.Load()), node)
        elif isinstance(target, ast.Subscript):
            read = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), node)
        else:
            self.fail(node, "this cannot be assigned to")
        whole = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        ast.fix_missing_locations(whole)
        if isinstance(target, ast.Name):
            if target.id not in self.bound:
                self.fail(node, f"'{target.id}' is used before it has a value")
            self.set_number(node, target.id, self.value(whole))
        else:
            self.set_elements(node, target, self.value(whole))

    def update_tile(self, node, held):
        value = node.value
        if (
            isinstance(node.op, ast.Add)
            and isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.MatMult)
        ):
            a, b = (self.tile(node, self.value(one)) for one in (value.left, value.right))
            names = {a.name, b.name}
            if (
                len(a.shape) == len(b.shape) == 2
                and held.shape == (a.rows, b.columns)
                and held.name not in names
            ):
                self.product(node, a, b, into=held)
                return
        self.assign_to(node, held, self.arithmetic(node, node.op, held, self.value(value)))

    # ---- the whole -------------------------------------------------------------------------------------------
    def body(self, name):
        lines = [
            f'extern "C" void {name}(i64 first_block, i64 last_block, const i64* words, char* scratch, i64* failure) {{',
            "  i64 nowhere[1] = {0}; (void)nowhere; (void)scratch;",
            "  const auto run = [&](i64 block) __attribute__((always_inline)) {",
            *(f"    {text}" for text in self.head),
            *(f"    {text}" for text in self.declarations),
            *self.lines,
            "  };",
            "  for (i64 block = first_block; block < last_block && failure[0] < 0; ++block) run(block);",
            "}",
        ]
        return PRELUDE + "\n".join(lines) + "\n"
