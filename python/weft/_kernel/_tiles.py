"""Tiles of a kernel as C++: loads, elementwise loops, reductions, products, over scratch memory."""

import ast

from ._values import C_TYPES, LANES, Array, Number, Slice, Thing, Tile, added, number_of


class Tiles:
    """What Translator inherits: operations on tiles."""

    def lanes(self, dtype):
        return self.vector_bytes // LANES[dtype]

    # ---- scratch ---------------------------------------------------------------------------------------------
    def stride(self, columns, dtype):
        lanes = self.lanes(dtype)
        return -(-columns // lanes) * lanes

    def buffer(self, shape, dtype, name=None):
        """A tile in scratch memory; without a name until the statement ends."""
        rows, columns = (1, *shape)[-2:] if len(shape) < 2 else shape
        stride = self.stride(columns, dtype)
        size = -(-max(rows, 1) * max(stride, 1) * LANES[dtype] // 64) * 64
        free = self.free.setdefault(size, [])
        offset = free.pop() if free and name is None else self.scratch_bytes
        if offset == self.scratch_bytes:
            self.scratch_bytes += size
        if name is None:
            self.temporaries.append((size, offset))
        base = f"tile{self.fresh()}"
        self.declare(f"{C_TYPES[dtype]}* const {base} = ({C_TYPES[dtype]}*)(scratch + {offset});")
        return self.view(shape, dtype, base, stride, name)

    def view(self, shape, dtype, base, stride, name=None):
        lanes, element = self.lanes(dtype), C_TYPES[dtype]

        def at(r, c):
            return f"load_lanes<{element}, {lanes}>({base} + ({r}) * {stride}L + ({c}))"

        return Tile(tuple(shape), dtype, at, (base, stride), name)

    def end_statement(self):
        for size, offset in self.temporaries:
            self.free[size].append(offset)
        self.temporaries = []

    # ---- loads and stores ------------------------------------------------------------------------------------
    def size_of(self, array, axis):
        name = f"{array.name}_n{axis}"
        return Number(name, "i64", True, {name: 1})

    def parts_of(self, node, indices, sizes, what):
        """An index's text or (start, count) for each axis; newaxis: None."""
        parts, axis = [], 0
        for index in indices:
            if isinstance(index, ast.Constant) and index.value is None:
                parts.append(None)
                continue
            if axis >= len(sizes):
                self.fail(node, f"{what} has {len(sizes)} dimensions")
            if isinstance(index, ast.Slice):
                if index.step is not None:
                    self.fail(node, "slices with a step")
                start = self.value(index.lower) if index.lower else number_of(0)
                stop = self.value(index.upper) if index.upper else sizes[axis]
                for one in (start, stop):
                    if not isinstance(one, Number) or one.dtype != "i64":
                        self.fail(node, "slices are of integers")
                count = Number("", "i64", True, added(stop.affine, start.affine, -1))
                parts.append((start.text, self.constant(node, count, "the length of a tile")))
                if parts[-1][1] < 0:
                    self.fail(node, f"a slice of {parts[-1][1]} elements")
            else:
                value = self.value(index)
                if not isinstance(value, Number) or value.is_float or value.dtype == "b8":
                    self.fail(node, "an index is an integer, or a slice of integers")
                if value.affine is not None and list(value.affine) == [""] and value.affine[""] < 0:
                    self.fail(node, "negative indices are not in the language of kernels")
                parts.append(value.text)
            axis += 1
        while axis < len(sizes):
            parts.append(("0L", self.constant(node, sizes[axis], "the length of a tile")))
            axis += 1
        return parts

    def _subscript(self, node):
        value = self.value(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(value, Thing):
            index = self.constant(node, self.value(node.slice), "an index of a tuple")
            if not isinstance(value.value, tuple) or not -len(value.value) <= index < len(value.value):
                self.fail(node, "this cannot be indexed")
            found = value.value[index]
            return found if isinstance(found, (Number, Tile, Array, Thing)) else self._thing(found)
        if isinstance(value, Array):
            sizes = [self.size_of(value, axis) for axis in range(value.dims)]
            parts = self.parts_of(node, indices, sizes, f"'{value.own_name}'")
            if any(part is None for part in parts):
                self.fail(node, "None in the index of an argument: index the tile that it gives")
            if not any(isinstance(part, tuple) for part in parts):
                return Number(self.element(node, value, parts), value.dtype)
            if value.dtype not in LANES:
                self.fail(node, f"tiles are of float32 or float64, '{value.own_name}' is not")
            return Slice(value, parts)
        return self.part_of_tile(node, self.tile(node, value), indices)

    def part_of_tile(self, node, tile, indices):
        if not tile.buffer:
            tile = self.stored(tile)
        sizes = [number_of(size) for size in tile.shape]
        parts = self.parts_of(node, indices, sizes, "the tile")
        base, stride = tile.buffer
        steps = [stride, 1] if len(tile.shape) == 2 else [1]
        offset, shape, strides, axis = [], [], [], 0
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            start, count = part if isinstance(part, tuple) else (part, None)
            self.check(node, start, count, number_of(tile.shape[axis]), axis, tile.name or "a tile")
            offset.append(f"({start}) * {steps[axis]}L")
            if count is not None:
                shape.append(count)
                strides.append(steps[axis])
            axis += 1
        first = f"({base} + {' + '.join(offset) or '0'})"
        if not shape:
            return Number(f"{first}[0]", tile.dtype)
        if len(shape) > 2:
            self.fail(node, "tiles have one or two dimensions")
        if strides[-1] == 1:
            return self.view(shape, tile.dtype, first, strides[0] if len(shape) == 2 else 0, tile.name)
        lanes, element = self.lanes(tile.dtype), C_TYPES[tile.dtype]
        if shape[-1] == 1:
            step = strides[0]
            return Tile(
                tuple(shape), tile.dtype, lambda r, c: f"splat<{element}, {lanes}>({first}[({r}) * {step}L])"
            )
        result = self.buffer(shape, tile.dtype)  # a column
        self.emit(
            f"load_tile<{element}, 1, {shape[0]}, {result.buffer[1]}>({result.buffer[0]}, {first}, 0, {strides[0]});"
        )
        return result

    def offset(self, array, parts):
        starts = [part[0] if isinstance(part, tuple) else part for part in parts]
        return " + ".join(f"({start}) * {array.name}_s{axis}" for axis, start in enumerate(starts)) or "0"

    def element(self, node, array, parts):
        place = f"{array.name}[{self.offset(array, parts)}]"
        if not self.is_debug:
            return place
        tests = " && ".join(
            f"inside(failure, block, {self.place(node, array.own_name)}, {axis}, {part}, {array.name}_n{axis})"
            for axis, part in enumerate(parts)
        )
        element = C_TYPES[array.dtype]
        return f"*({tests} ? {array.name} + ({self.offset(array, parts)}) : ({element}*)nowhere)"

    def check(self, node, start, count, size, axis, name):
        if not self.is_debug:
            return
        place = self.place(node, name)
        if count is None:
            self.emit(f"if (!inside(failure, block, {place}, {axis}, {start}, {size.text})) return;")
        else:
            self.emit(
                f"if (!range_inside(failure, block, {place}, {axis}, {start}, {count}L, {size.text})) return;"
            )

    def check_slice(self, node, part):
        for axis, one in enumerate(part.parts):
            start, count = one if isinstance(one, tuple) else (one, None)
            self.check(node, start, count, self.size_of(part.array, axis), axis, part.array.own_name)

    def steps_of(self, node, part):
        axes = [axis for axis, one in enumerate(part.parts) if isinstance(one, tuple)]
        if len(axes) > 2:
            self.fail(node, "tiles have one or two dimensions")
        steps = [f"{part.array.name}_s{axis}" for axis in axes]
        return steps if len(steps) == 2 else ["0", *steps]

    def tile(self, node, value):
        """The value as a tile."""
        if isinstance(value, Tile):
            return value
        if isinstance(value, Slice):
            return self.loaded(node, value, None)
        if isinstance(value, Array) and value.dims in (1, 2):
            sizes = [self.size_of(value, axis) for axis in range(value.dims)]
            return self.loaded(node, Slice(value, self.parts_of(node, [], sizes, "")), None)
        self.fail(node, "this is no tile")

    def loaded(self, node, part, result):
        self.check_slice(node, part)
        steps = self.steps_of(node, part)
        result = result or self.buffer(part.shape, part.array.dtype)
        self.emit(
            f"load_tile<{C_TYPES[part.array.dtype]}, {result.rows}, {result.columns}, {result.buffer[1]}>"
            f"({result.buffer[0]}, {part.array.name} + {self.offset(part.array, part.parts)}, {', '.join(steps)});"
        )
        return result

    def store(self, node, part, tile):
        """Elements of a tile into a part of an argument."""
        self.check_slice(node, part)
        tile = (
            tile
            if tile.buffer and tile.shape == part.shape
            else self.stored(self.spread(node, tile, part.shape))
        )
        stride = tile.buffer[1]
        self.emit(
            f"store_tile<{C_TYPES[tile.dtype]}, {tile.rows}, {tile.columns}, {stride}>"
            f"({part.array.name} + {self.offset(part.array, part.parts)}, {tile.buffer[0]}, {', '.join(self.steps_of(node, part))});"
        )

    # ---- elementwise -----------------------------------------------------------------------------------------
    def spread(self, node, tile, shape):
        """The tile at a shape that it can be broadcast to."""
        if tile.shape == tuple(shape):
            return tile
        rows, columns = ((1, *shape) if len(shape) == 1 else shape)[:2]
        if len(tile.shape) > len(shape) or (tile.rows not in (1, rows)) or (tile.columns not in (1, columns)):
            self.fail(node, f"tiles of shapes {tile.shape} and {tuple(shape)} do not go together")
        at, element, lanes = (
            tile.at,
            C_TYPES.get(tile.dtype),
            self.lanes(tile.dtype) if tile.dtype in LANES else 0,
        )
        if tile.columns == 1 and columns != 1:
            if tile.dtype == "mask":
                self.fail(node, "a comparison of a column: write it at the shape of the tile")
            inner = at

            def at(r, c):
                return f"splat<{element}, {lanes}>({inner(r, '0')}[0])"

        if tile.rows == 1 and rows != 1:
            whole = at

            def at(r, c):
                return whole("0", c)

        return Tile(tuple(shape), tile.dtype, at)

    def common_shape(self, node, tiles):
        shape = max((tile.shape for tile in tiles), key=len)
        rows = max((tile.rows for tile in tiles), key=lambda size: (size != 1, size))
        columns = max((tile.columns for tile in tiles), key=lambda size: (size != 1, size))
        return (columns,) if len(shape) == 1 else (rows, columns)

    def elementwise(self, node, form, *values):
        """form.format(…) of tiles and numbers, at their common shape."""
        tiles = [None if isinstance(value, Number) else self.tile(node, value) for value in values]
        real = [tile for tile in tiles if tile is not None]
        dtypes = {tile.dtype for tile in real if tile.dtype != "mask"}
        strong = {value.dtype for value in values if isinstance(value, Number) and not value.weak}
        if len(dtypes) != 1 or (
            strong - dtypes and any(one in LANES or one == "i64" for one in strong - dtypes)
        ):
            found = ", ".join(sorted(dtypes | strong))
            self.fail(
                node, f"tiles and numbers of one dtype go together, not {found}: convert with np.float32(…)"
            )
        dtype = next(iter(dtypes))
        shape = self.common_shape(node, real)
        spread = [None if tile is None else self.spread(node, tile, shape) for tile in tiles]
        lanes, element = self.lanes(dtype), C_TYPES[dtype]
        numbers = [
            f"splat<{element}, {lanes}>({self.once(value, dtype)})" if isinstance(value, Number) else None
            for value in values
        ]

        def at(r, c):
            return form.format(*(tile.at(r, c) if tile else number for tile, number in zip(spread, numbers)))

        return Tile(shape, dtype, at)

    def once(self, number, dtype):
        """The number's text, computed before the loop that uses it."""
        text = self.cast(number, dtype)
        if number.weak and number.affine is not None and set(number.affine) == {""}:
            return text
        name = f"number{self.fresh()}"
        self.emit(f"const {C_TYPES[dtype]} {name} = {text};")
        return name

    def tile_arithmetic(self, node, operator, a, b):
        signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
        if type(operator) is ast.Pow and isinstance(b, Number) and b.affine == {"": 2}:
            return self.elementwise(node, "square_of({})", a)
        sign = signs.get(type(operator))
        if sign is None:
            self.fail(
                node, f"the operator {type(operator).__name__} of tiles is not in the language of kernels"
            )
        return self.elementwise(node, f"({{}} {sign} {{}})", a, b)

    def chosen(self, node, mask, a, b):
        if isinstance(mask, Number):
            self.fail(node, "np.where of a number: write a if test else b")
        if all(isinstance(one, Number) for one in (a, b)):
            self.fail(node, "np.where of two numbers: one of them has to be a tile")
        return self.elementwise(node, "select({}, {}, {})", mask, a, b)

    def stored(self, tile, result=None):
        """The tile in memory."""
        result = result or self.buffer(tile.shape, tile.dtype)
        base, stride = result.buffer
        lanes, element = self.lanes(tile.dtype), C_TYPES[tile.dtype]
        r, c = f"r{self.fresh()}", f"c{self.fresh()}"
        whole = result.columns % lanes == 0 or stride % lanes == 0 and result.name != ""
        store = f"store_lanes<{element}, {lanes}>({base} + {r} * {stride}L + {c}, {tile.at(r, c)});"
        if not whole:
            store = f"store_some<{element}, {lanes}>({base} + {r} * {stride}L + {c}, {tile.at(r, c)}, {result.columns} - {c} < {lanes} ? {result.columns} - {c} : {lanes});"
        self.emit(f"WEFT_ROLLED_ONCE for (i64 {r} = 0; {r} < {tile.rows}; ++{r})")
        self.emit(f"  for (i64 {c} = 0; {c} < {tile.columns}; {c} += {lanes}) {store}")
        return result

    def assign_to(self, node, target, tile):
        """Elements of a tile into a tile that is in memory, as if all were computed first."""
        tile = self.spread(node, tile, target.shape)
        if tile.dtype != target.dtype:
            self.fail(node, "a tile of another dtype")
        text = tile.at("R", "C").replace(target.at("R", "C"), "")
        base = target.buffer[0].strip("()").split(" ")[0]
        if base in text.replace("(", " ").split():
            tile = self.stored(tile)
        self.stored(tile, target)

    # ---- reductions, products --------------------------------------------------------------------------------
    def reduced(self, node, tile, name, values, keywords):
        given = dict(zip(("axis",), values))
        for key, value in keywords.items():
            given[key] = self.value(value)
        if set(given) - {"axis", "keepdims"}:
            self.fail(node, f"'{name}' takes an axis and keepdims in kernels")
        axis = given.get("axis")
        keep = given.get("keepdims")
        keep = keep is not None and getattr(keep, "text", "") == "true"
        if isinstance(axis, Thing) and axis.value is None:
            axis = None
        if axis is not None:
            axis = self.constant(node, axis, "an axis")
            axis += len(tile.shape) if axis < 0 else 0
            if not 0 <= axis < len(tile.shape):
                self.fail(node, f"an axis of a tile of shape {tile.shape}")
        if 0 in tile.shape:
            self.fail(node, "a reduction of no elements")
        dtype = tile.dtype
        if dtype not in LANES:
            self.fail(node, "reductions are of numbers")
        if axis == 0 and len(tile.shape) == 2:
            return self.over_rows(tile, name, keep)
        lanes, element = self.lanes(dtype), C_TYPES[dtype]
        combine = {"sum": "{} + {}", "max": "maximum({}, {})", "min": "minimum({}, {})"}[name].format
        result = self.buffer((tile.rows,), dtype)
        r, c, v, x = (f"{letter}{self.fresh()}" for letter in "rcvx")
        start = {"sum": "0", "max": "-__builtin_inf()", "min": "__builtin_inf()"}[name]
        self.emit(f"for (i64 {r} = 0; {r} < {tile.rows}; ++{r}) {{")
        self.emit(f"  auto {v} = splat<{element}, {lanes}>(({element})({start}));")
        full = tile.columns // lanes * lanes
        if full:
            self.emit(f"  for (i64 {c} = 0; {c} < {full}; {c} += {lanes}) {v} = {combine(v, tile.at(r, c))};")
        self.emit(
            f"  {element} {x} = reduce_lanes({v}, [](auto a, auto b) {{ return {combine('a', 'b')}; }});"
        )
        if full != tile.columns:
            self.emit(f"  const auto rest{x} = {tile.at(r, str(full))};")
            self.emit(
                f"  for (int l = 0; l < {tile.columns - full}; ++l) {x} = {combine(x, f'({element})rest{x}[l]')};"
            )
        self.emit(f"  {result.buffer[0]}[{r}] = {x};")
        self.emit("}")
        if axis is None and len(tile.shape) == 2:
            total = self.reduced(node, result, name, [], {})
            return total
        if len(tile.shape) == 1:
            if keep:
                return self.view((1,), dtype, *result.buffer)
            number = f"total{self.fresh()}"
            self.emit(f"const {element} {number} = {result.buffer[0]}[0];")
            return Number(number, dtype)
        if keep:
            base = result.buffer[0]
            return Tile((tile.rows, 1), dtype, lambda r, c: f"splat<{element}, {lanes}>({base}[{r}])")
        return result

    def over_rows(self, tile, name, keep):
        combine = {"sum": "{} + {}", "max": "maximum({}, {})", "min": "minimum({}, {})"}[name].format
        dtype, lanes, element = tile.dtype, self.lanes(tile.dtype), C_TYPES[tile.dtype]
        result = self.buffer((tile.columns,), dtype)
        r, c, v = (f"{letter}{self.fresh()}" for letter in "rcv")
        self.emit(f"for (i64 {c} = 0; {c} < {tile.columns}; {c} += {lanes}) {{")
        self.emit(f"  auto {v} = {tile.at('0', c)};")
        self.emit(f"  for (i64 {r} = 1; {r} < {tile.rows}; ++{r}) {v} = {combine(v, tile.at(r, c))};")
        self.emit(f"  store_lanes<{element}, {lanes}>({result.buffer[0]} + {c}, {v});")
        self.emit("}")
        return self.view((1, tile.columns), dtype, result.buffer[0], 0) if keep else result

    def product(self, node, a, b, into=None):
        a, b = self.tile(node, a), self.tile(node, b)
        if len(a.shape) == 1 and len(b.shape) == 1:
            return self.reduced(node, self.elementwise(node, "({} * {})", a, b), "sum", [], {})
        if len(b.shape) != 2:
            self.fail(node, "products are of matrices, of a vector with a matrix, and of two vectors")
        if a.columns != b.rows or a.dtype != b.dtype:
            self.fail(node, f"a product of {a.dtype}{a.shape} and {b.dtype}{b.shape}")
        a, b = (one if one.buffer else self.stored(one) for one in (a, b))
        if b.buffer[1] % self.lanes(b.dtype) and b.columns % self.lanes(b.dtype):
            b = self.stored(b)
        shape = (b.columns,) if len(a.shape) == 1 else (a.rows, b.columns)
        result = into or self.buffer(shape, a.dtype)
        self.emit(
            f"tile_product<{C_TYPES[a.dtype]}, {self.lanes(a.dtype)}, {a.rows}, {b.columns}, {a.columns}, "
            f"{'true' if into else 'false'}>({a.buffer[0]}, {a.buffer[1]}, {b.buffer[0]}, {b.buffer[1]}, "
            f"{result.buffer[0]}, {result.buffer[1]});"
        )
        return result

    def transposed(self, node, value):
        if isinstance(value, Slice) and len(value.shape) == 2:
            self.check_slice(node, value)
            steps = self.steps_of(node, value)
            result = self.buffer(value.shape[::-1], value.array.dtype)
            source, dtype = f"{value.array.name} + {self.offset(value.array, value.parts)}", value.array.dtype
        else:
            tile = self.tile(node, value)
            if len(tile.shape) == 1:
                return tile
            tile = tile if tile.buffer else self.stored(tile)
            source, steps, dtype = tile.buffer[0], [str(tile.buffer[1]), "1"], tile.dtype
            result = self.buffer(tile.shape[::-1], dtype)
        self.emit(
            f"load_tile<{C_TYPES[dtype]}, {result.rows}, {result.columns}, {result.buffer[1]}>"
            f"({result.buffer[0]}, {source}, {steps[1]}, {steps[0]});"
        )
        return result

    def copied(self, node, value):
        if isinstance(value, Number):
            return value
        tile = self.tile(node, value)
        return self.stored(Tile(tile.shape, tile.dtype, tile.at))

    def made(self, node, name, keywords):
        """np.zeros, np.empty, np.ones, np.full."""
        values = [self.value(one) for one in node.args]
        given = dict(zip(("shape", "fill_value", "dtype") if name == "full" else ("shape", "dtype"), values))
        given.update({key: self.value(value) for key, value in keywords.items()})
        shape = given.get("shape")
        sizes = shape.value if isinstance(shape, Thing) else (shape,)
        sizes = tuple(self.constant(node, size, "the shape of a tile") for size in sizes)
        if len(sizes) not in (1, 2) or any(not 0 < size <= 1 << 16 for size in sizes):
            self.fail(node, f"tiles have one or two sizes, got {sizes}")
        fill = given.get("fill_value", number_of(1 if name == "ones" else 0))
        dtype = given.get("dtype")
        if dtype is None and name == "full" and isinstance(fill, Number) and not fill.weak:
            dtype = fill.dtype
        else:
            dtype = self.dtype_of(node, dtype)
        text = f"splat<{C_TYPES[dtype]}, {self.lanes(dtype)}>({self.cast(fill, dtype)})"
        return Tile(sizes, dtype, lambda r, c: text)
