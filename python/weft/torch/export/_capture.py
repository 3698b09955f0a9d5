"""A module as a graph whose sizes are symbols.

A module is recorded once for its example and, where sizes are dynamic, again for other sizes: what all runs recorded alike
is the program; each size in it is the expression of symbols that it was in every run. What a run recorded otherwise, and
each comparison of sizes that the program went on by and that does not hold for the whole range, is an error with its line,
or narrows the range of a size that has no name of its own.
"""

import dataclasses
import hashlib
import itertools

import weft
from weft.torch._dynamo.exc import UserError
from weft.torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from weft.torch.utils import _pytree as pytree

from ._guards import LEAST, Sizes, Specialized, Symbol, ask
from ._recorded import Run, record
from ._regions import families
from ._sizes import Size
from ._tracing import Number, Place
from .dynamic_shapes import Dim, combined_arguments, sizes_of_leaves


@dataclasses.dataclass
class Captured:
    run: Run  # of the example
    names: list  # of the leaves: "x", "d_a"
    sources: list  # "L['x']"
    leaves: list
    arguments: dict
    in_spec: object
    sizes: list  # of each leaf that is a tensor: its sizes
    symbols: dict  # by name
    value_sizes: dict  # (value number, "size" or "stride", dimension) and value numbers of integers: Size
    unbacked: set  # symbols of sizes that values decide
    function: object = None  # of a region of the run: function(number, place) is its Captured


# ---- arguments -----------------------------------------------------------------------------------------------
def _paths(value, name, source):
    """(name, source) of each leaf of an argument."""
    if pytree.tree_is_leaf(value):
        yield name, source
        return
    for key, child in pytree.children_with_keys(value):
        (shown,) = vars(key).values()
        yield from _paths(child, f"{name}_{shown}", f"{source}{key}")


def _symbol_name(source, taken):
    number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
    while f"s{number}" in taken:
        number += 1
    return f"s{number}"


class Plan:
    """Which sizes of the arguments are which expressions of symbols."""

    @classmethod
    def of(cls, sizes, symbols):
        """sizes: of each leaf, None of one that is no tensor. symbols: by name."""
        plan = cls.__new__(cls)
        plan.sizes, plan.symbols = sizes, symbols
        return plan

    def __init__(self, leaves, sources, said):
        self.symbols, self.sizes, roots = {}, [], {}
        for leaf, source, dims in zip(leaves, sources, said):
            if not isinstance(leaf, weft.Tensor):
                self.sizes.append(None)
                continue
            sizes = []
            for at, size in enumerate(leaf.shape):
                sizes.append(self._size(dims.get(at), int(size), f"{source}.size()[{at}]", roots))
            self.sizes.append(sizes)

    def _size(self, dim, size, source, roots):
        if dim is None:
            return Size.number(size)
        if isinstance(dim, Dim):
            root = dim.root
            hint, rest = divmod(size - dim.offset, dim.factor)
            if rest or not root.min <= hint <= root.max:
                raise UserError(
                    f"Constraints violated ({dim.__name__})! {source} = {size} is not in the range of {dim.__name__} = {dim!r}"
                )
            if root.__name__ not in roots:
                most = None if root.max == float("inf") else root.max
                roots[root.__name__] = self._add(hint, root.min, most, root.__name__, source, "named")
            symbol = roots[root.__name__]
            if symbol.hint != hint or (symbol.min, symbol.max or float("inf")) != (root.min, root.max):
                raise UserError(
                    f"Constraints violated ({root.__name__})! {root.__name__} is {symbol.hint} of {symbol.source}, and {hint} of {source}"
                )
            return Size({(symbol.name,): dim.factor, (): dim.offset})
        least, most = dim.min or 0, dim.max
        if size < least or (most is not None and size > most):
            raise UserError(f"Constraints violated! {source} = {size} is not in the range of {dim!r}")
        if size < LEAST:
            if dim.type is Dim.DYNAMIC.type:
                raise UserError(
                    f"Constraints violated ({source})! You marked {source} as dynamic, but it is {size} in the example, and programs "
                    "of sizes 0 and 1 are exported for that size only"
                )
            return Size.number(size)
        symbol = self._add(size, max(least, LEAST), most, source, source, dim.type.name)
        return Size.symbol(symbol.name)

    def _add(self, hint, least, most, shown, source, kind):
        name = _symbol_name(source, self.symbols)
        self.symbols[name] = Symbol(name, hint, least, most, shown, source, kind)
        return self.symbols[name]

    def replace(self, name, size):
        """The symbol is that size from now on."""
        self.symbols.pop(name)
        for sizes in self.sizes:
            for at, each in enumerate(sizes or ()):
                if name in each.symbols:
                    factor, offset = each.terms[(name,)], each.terms.get((), 0)
                    sizes[at] = Size(
                        {
                            **{key: value * factor for key, value in size.terms.items()},
                            (): offset + factor * size.terms.get((), 0),
                        }
                    )

    def runs(self):
        """Values of the symbols: the example's, then one symbol changed at a time, then all."""
        hints = {name: symbol.hint for name, symbol in self.symbols.items()}
        others = {name: _others(symbol) for name, symbol in self.symbols.items()}
        runs = [hints]
        for name, values in others.items():
            if not values:
                symbol = self.symbols[name]
                what = f"{symbol.shown} has no value in its range beside {symbol.hint}, and above 1, for which the program could be tried"
                if symbol.kind == "named":
                    raise UserError(f"Constraints violated ({symbol.shown})! {what}")
                raise Specialized(symbol, what)
            runs.append({**hints, name: values[0]})
        for turn in (1, 2) if self.symbols else ():
            runs.append(
                {name: values[(turn + at) % len(values)] for at, (name, values) in enumerate(others.items())}
            )
        return runs


def _others(symbol):
    """Values of a symbol that are not the example's, few and near it."""
    hint = symbol.hint
    wanted = (hint + 1, symbol.least, hint + 3, 2 * hint + 1, hint - 1, hint + 6, hint - 2, hint - 3)
    most = float("inf") if symbol.max is None else symbol.max
    return [value for value in dict.fromkeys(wanted) if value != hint and symbol.least <= value <= most][:5]


def _resized(leaf, sizes):
    """The example's values, repeated or cut, in memory of their own."""
    if tuple(leaf.shape) == sizes:
        return leaf.clone()
    for dim, (size, old) in enumerate(zip(sizes, leaf.shape)):
        if size != old:
            leaf = leaf.index_select(dim, weft.arange(size) % old if old else weft.arange(size))
    return leaf.clone()


# ---- comparing runs ------------------------------------------------------------------------------------------
def _same_constant(one, other):
    if isinstance(one, weft.Tensor) and isinstance(other, weft.Tensor):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and bool(weft.isclose(one, other, 0, 0, True).all())
        )
    return type(one) is type(other) and repr(one) == repr(other)


def _difference(first, other):
    """The place where two runs did not record the same, and what each did; None where they did."""
    one, two = first.graph, other.graph
    for left, right in itertools.zip_longest(one["nodes"], two["nodes"]):
        node = left or right
        place = Place(
            node[4], node[5], (first if left else other).functions.get((node[4], node[5]), "forward")
        )
        if left is None or right is None:
            return place, *(each[0].partition("::")[2] if each else "nothing" for each in (left, right))
        if left[:2] != right[:2] or left[3:] != right[3:] or len(left[2]) != len(right[2]):
            return place, left[0].partition("::")[2], right[0].partition("::")[2]
        for (name, _, _, mine), (_, _, _, yours) in zip(left[2], right[2]):
            values = [run["constants"].get(value, value) if isinstance(value, int) else value
                      for run, value in ((one, mine), (two, yours))]  # fmt: skip
            if not _same_constant(*values):
                shown = [tuple(value.shape) if isinstance(value, weft.Tensor) else value for value in values]
                return place, *(
                    f"{node[0].partition('::')[2]}({name or 'one of them'}={value})" for value in shown
                )
    for mine, yours in zip(first.kept, other.kept):
        for left, right in zip(mine.runs, yours.runs):
            if (found := _difference(left, right)) is not None:
                return found
    if [kind for kind, _ in first.outputs] != [kind for kind, _ in other.outputs]:
        return None
    for (kind, mine), (_, yours) in zip(first.outputs, other.outputs):
        if mine != yours if kind == "value" else not _same_constant(mine, yours):
            return Place("", 0, "forward"), f"the result {mine}", f"the result {yours}"
    return None


_LEAVES = (weft.Tensor, int, float, complex, str, type(None), weft.dtype, weft.device)


# ---- capture -------------------------------------------------------------------------------------------------
def capture(module, args, kwargs, dynamic_shapes):
    """Returns: Captured. raises: UserError, GuardOnDataDependentSymNode."""
    arguments = combined_arguments(module, args, kwargs)
    said = sizes_of_leaves(arguments, dynamic_shapes)
    pairs = [pair for name, value in arguments.items() for pair in _paths(value, name, f"L[{name!r}]")]
    leaves, in_spec = pytree.tree_flatten((args, kwargs))
    for leaf in leaves:
        if not isinstance(leaf, _LEAVES):
            raise ValueError(
                f"Unsupported input type {type(leaf)}. Export only supports pytree containers of basic types (Tensor, int, float, "
                "...) as input. To register a custom dataclass, use torch.export.register_dataclass."
            )
    # Positional arguments stand before keywords in both orders, so that leaves are the same.
    plan = Plan(leaves, [source for _, source in pairs], said)
    return capture_by(plan, module, pairs, leaves, arguments, in_spec)


def capture_by(plan, module, pairs, leaves, arguments, in_spec):
    """capture, by a plan. pairs: (name, source) of each leaf; in_spec.unflatten(leaves): the (args, kwargs) of a call."""
    while True:
        try:
            return _capture(module, plan, pairs, leaves, arguments, in_spec)
        except _Narrowed:
            continue
        except Specialized as error:
            _relax(plan, error)


def _relax(plan, error):
    """One size fewer is free: those that were equal in the example become one, then a hint is given up."""
    symbol = error.symbol
    if symbol.kind != "named":
        twins = [
            name
            for name, each in plan.symbols.items()
            if each.kind != "named" and each.hint == symbol.hint and each is not symbol
        ]
        if twins:
            # The one whose range has not been narrowed to the example's.
            kept = max((symbol.name, *twins), key=lambda name: _width(plan.symbols[name]))
            for name in {symbol.name, *twins} - {kept}:
                plan.replace(name, Size.symbol(kept))
            return
        if symbol.kind == "AUTO":
            plan.replace(symbol.name, Size.number(symbol.hint))
            return
    raise UserError(f"Constraints violated ({symbol.shown})!\n{error.text}") from None


def _width(symbol):
    return float("inf") if symbol.max is None else symbol.max - symbol.min


def _capture(module, plan, pairs, leaves, arguments, in_spec):
    names, sources = ([pair[at] for pair in pairs] for at in (0, 1))
    values = plan.runs()
    runs = []
    for run_values in values:
        given = [
            _resized(leaf, tuple(size.evaluate(run_values) for size in sizes)) if sizes is not None else leaf
            for leaf, sizes in zip(leaves, plan.sizes)
        ]
        changed = [plan.symbols[name] for name in plan.symbols if run_values[name] != values[0][name]]
        try:
            runs.append(record(module, in_spec.unflatten, names, given))
        except (GuardOnDataDependentSymNode, UserError):
            raise
        except Exception as error:
            if not changed:
                raise
            raise Specialized(
                changed[0], _specialized(changed, run_values, str(error).partition("\n")[0], error)
            ) from error
        difference = _difference(runs[0], runs[-1])
        if difference is not None:
            _explain(runs, values, plan, changed, run_values, difference)
    sizes = Sizes(runs, values, plan.symbols)
    before = [(symbol.min, symbol.max) for symbol in plan.symbols.values()]
    for same in families(runs) if plan.symbols else ():
        known = sizes if same is runs else Sizes(same, values, plan.symbols)
        for question in same[0].questions:
            ask(question, known, plan)
    if before != [(symbol.min, symbol.max) for symbol in plan.symbols.values()]:
        raise _Narrowed()
    return _captured(runs, values, plan.symbols, sizes)(
        names, sources, leaves, arguments, in_spec, plan.sizes
    )


def _captured(runs, values, symbols, sizes):
    """What makes the Captured of runs of the same function, from its arguments."""

    def function(number, at):
        same = [run.kept[number].runs[at] for run in runs]
        return _captured(same, values, symbols, Sizes(same, values, symbols))([], [], [], {}, None, [])

    return lambda *arguments: Captured(
        runs[0], *arguments, symbols, _value_sizes(sizes), {size.alone for size in sizes.unbacked.values()}, function
    )  # fmt: skip


def _explain(runs, values, plan, changed, run_values, difference):
    """A question that the runs answered differently says more than the first node that differs."""
    for one, other in zip(runs[0].questions, runs[-1].questions):
        mine, yours = (
            one.compare(
                *(each.value if isinstance(each, Number) else run.ints[each] for each in (q.left, q.right))
            )
            for run, q in ((runs[0], one), (runs[-1], other))
        )
        if mine != yours:
            both = [runs[0], runs[-1]]
            known = Sizes(both, [values[0], run_values], [symbol.name for symbol in changed[:1]])
            before = [(symbol.min, symbol.max) for symbol in plan.symbols.values()]
            ask(one, known, plan)
            if before != [(symbol.min, symbol.max) for symbol in plan.symbols.values()]:
                raise _Narrowed()
            break
    place, mine, yours = difference
    raise Specialized(
        changed[0],
        _specialized(changed, run_values, f"it does {mine}, and {yours} for that size", None, place),
    )


class _Narrowed(Exception):
    """A range has become smaller: the runs have to be made again."""


def _specialized(changed, values, what, error, place=None):
    symbol = changed[0]
    if place is None:
        place = _place_of(error)
    at = f"\n    asked for at {place}" if place is not None and place.file else ""
    return (
        f"  - You marked {symbol.shown} as dynamic but your code specialized it to be a constant ({symbol.hint}): with "
        f"{', '.join(f'{each.shown} = {values[each.name]}' for each in changed)}, {what}{at}\n"
        f"Suggested fixes:\n  {symbol.shown} = {symbol.hint}"
    )


def _place_of(error):
    """The last line of the program's own that an error passed."""
    package, found = weft.__path__[0], None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(package):
            found = Place(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return found


def _value_sizes(sizes):
    """Of every tensor's sizes and strides, and of integers, by their numbers."""
    found = {}
    for number, (_, shape, _, _) in sizes.runs[0].graph["forms"].items():
        forms = [run.graph["forms"][number] for run in sizes.runs]
        for dim in range(len(shape)):
            found[number, "size", dim] = sizes.fit([form[1][dim] for form in forms], number)
            found[number, "stride", dim] = sizes.fit([form[2][dim] for form in forms])
    for number in sizes.runs[0].ints:
        if all(number in run.ints for run in sizes.runs):
            found[number] = sizes.of_int(number)
    return found
