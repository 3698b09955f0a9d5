"""Operators that take graphs, in programs that are decomposed. Regions are performed where they stand, those of autocast with its
casts. The graphs of branches and loops are decomposed by themselves; in the program they stay one operator, `weft::region` while it
is recorded, whose results are made of the sizes that the program says: no branch is taken, and no loop is run."""

import operator
import re
import types

import weft
from weft._C import _export
from weft.jit._tracer import current, paused

from ._capture import Plan, capture_by
from ._decompositions import aten
from ._graph import OpOverload, SizeValue, TensorValue
from ._guards import LEAST, Symbol
from ._regions import RegionWriter, record_region
from ._sizes import Size

# The operators whose graphs stay graphs, and those that are performed in place: where their graph and its operands stand.
KEPT = ("cond", "while_loop", "map", "map_impl", "scan", "associative_scan")
_PERFORMED = {
    "wrap_with_set_grad_enabled": 1,
    "wrap_with_autocast": 4,
    "strict_mode": 0,
    "invoke_subgraph": 0,
}


def refuse(what, place=""):
    raise NotImplementedError(f"run_decompositions: {what}\n  {place}")


def _is_graph(argument):
    return isinstance(argument, weft.torch.fx.Node) and argument.op == "get_attr"


def _graph_of(argument):
    return getattr(argument.graph.owning_module, argument.target).graph


def _region_nodes(graph):
    for node in graph.nodes:
        if isinstance(node.target, OpOverload) and node.target.namespace == "higher_order":
            yield node


# ---- sizes of one run ------------------------------------------------------------------------------------------
def _symbol(size):
    """The symbol that a size of a node's value is; None of numbers and expressions."""
    text = size.text if isinstance(size, SizeValue) else ""
    return text if re.fullmatch(r"[su]\d+", text) else None


def note_sizes(meta, value, symbols):
    """What symbols are in this run, from a value that has them. meta: what the program says of it."""
    if isinstance(meta, TensorValue) and isinstance(value, weft.Tensor):
        unknown = [(at, _symbol(size)) for at, size in enumerate(meta.shape) if _symbol(size)]
        with paused():
            for at, name in unknown:
                symbols.setdefault(name, int(value.shape[at]))
    elif _symbol(meta) and isinstance(value, int):
        symbols.setdefault(_symbol(meta), int.__index__(value))


def _number(size, symbols):
    return size if isinstance(size, int) else Size.parse(size.text).evaluate(symbols)


def _zeros(meta, symbols):
    """A tensor as the program says that it is, strides included."""
    shape, strides = ([_number(size, symbols) for size in sizes] for sizes in (meta.shape, meta.strides))
    length = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)) if all(shape) else 0
    return weft.zeros([length], dtype=meta.dtype).as_strided(shape, strides)


# ---- autocast --------------------------------------------------------------------------------------------------
def cast(tensor, dtype):
    """The tensor in that dtype, where both are floating and it has less than 64 bits."""
    own = tensor.dtype
    if (
        not own.is_floating_point
        or not dtype.is_floating_point
        or weft.float64 in (own, dtype)
        or own == dtype
    ):
        return tensor
    return aten._to_copy(tensor, dtype=dtype)


def cast_operands(name, args, kwargs, narrow, over):
    """Operands as a region of that dtype casts them. over(value, function): the function over the tensors of nested arguments."""
    found = []
    over((args, kwargs), lambda tensor: found.append(tensor.dtype) or tensor)
    equation = args[0] if isinstance(args[0], str) else ""
    pads = len(args[1]) if len(args) > 1 and isinstance(args[1], (list, tuple)) else 0
    mode = args[2] if len(args) > 2 and isinstance(args[2], str) else kwargs.get("mode", "constant")
    dtype = _export.autocast_dtype(name, weft.float32 in found, narrow, equation, pads, mode)
    if dtype is None:
        return args, kwargs
    if not _export.autocast_keeps_states(name):
        return over((args, kwargs), lambda tensor: cast(tensor, dtype))

    def rounded(tensor):
        return cast(cast(tensor, dtype), tensor.dtype)

    # The states stand behind the input.
    others = over((args[2:], kwargs), rounded)
    return (over(args[0], rounded), args[1], *others[0]), others[1]


class Regions:
    """What performing a graph does with operators that take graphs; _decompose.Performed does the others."""

    def _region(self, node, packet, args):
        if packet in _PERFORMED:
            return self._perform_in_place(node, packet, args)
        if packet in KEPT:
            return self._keep(node, packet, self._read(args))
        return refuse(f"weft does not decompose higher_order::{packet}", current().script_place)

    def _perform_in_place(self, node, packet, args):
        at = _PERFORMED[packet]
        operands = [each for each in args[at + 1 :] if not isinstance(each, str)]  # a graph's name
        if packet == "strict_mode":
            operands = list(operands[0])
        before = self._narrow
        if packet == "wrap_with_autocast":
            self._narrow = _narrow_dtype(*args[:3])
        found = self._inline(args[at], operands)
        self._narrow = before
        return found[0] if _is_single(node) and isinstance(found, (tuple, list)) else found

    def _keep(self, node, packet, args):
        """Records the operator, with graphs that have been decomposed."""
        operands, arguments = [], []
        for at, argument in enumerate(node.args):
            if _is_graph(argument):
                arguments.append(("graph", self._bodies[node, at]))
                continue
            is_list = isinstance(args[at], (list, tuple))
            given = list(args[at]) if is_list else [args[at]]
            if not all(isinstance(each, weft.Tensor) for each in given):
                refuse(f"higher_order::{packet} takes what is no tensor", current().script_place)
            arguments.append(
                ("tensors" if is_list else "tensor", range(len(operands), len(operands) + len(given)))
            )
            operands.extend(given)
        users = [user for user in node.users if user.target is operator.getitem]
        metas = {user.args[1]: user.meta["val"] for user in users}
        if _is_single(node):
            metas = {0: node.meta.get("val")}
        if not all(isinstance(meta, TensorValue) for meta in metas.values()):
            refuse(f"higher_order::{packet} gives what is no tensor", current().script_place)
        number = len(self.kept)
        self.kept.append((packet, arguments, node.meta["is_hop_single_tensor_return"]))
        with paused():
            results = [_zeros(metas[at], self._symbols) for at in sorted(metas)]
        found = self._fresh(record_region(number, operands, results))
        return found[0] if _is_single(node) else found


def _is_single(node):
    """Whether a node's value is one tensor, and no list that is taken apart."""
    return not any(user.target is operator.getitem for user in node.users)


def _narrow_dtype(device, dtype, enabled):
    """The dtype that a region of autocast casts to; None where it casts nothing."""
    if not enabled or device != "cpu":
        return None
    return weft.bfloat16 if dtype is None else dtype


# ---- graphs of branches and loops ------------------------------------------------------------------------------
class PerformedWriter(RegionWriter):
    """Of a graph that was performed."""

    dialect = "ATEN"

    def __init__(self, performed, captured):
        self.performed = performed
        super().__init__(performed.module, captured)

    def region(self, number):
        return self.performed.kept[number]


class _BodyWriter(PerformedWriter):
    """Sizes stand among a graph's inputs where they stood."""

    def _add_arguments(self):
        values, sizes = iter(self.graph["inputs"]), iter(self.captured.sizes)
        for node in self.performed.placeholders:
            if isinstance(node.meta["val"], TensorValue):
                name = self._tensor(node.name, next(values))
                self.tensor_values[name]["sizes"] = [self.size(size) for size in next(sizes)]
                self._add_input({"as_tensor": {"name": name}}, None)
            else:
                name = self.namespace.create_name(node.name, None)
                self.int_values[name] = self.size(Size.parse(str(node.meta["val"])))
                self._add_input({"as_sym_int": {"as_name": name}}, None)

    def body(self):
        """The schema's graph."""
        if self.constants or self.weights:
            refuse("a branch or loop would have constants of its own")
        if self.captured.unbacked:
            refuse("values decide sizes in a branch or loop")
        is_single = not isinstance(next(reversed(self.performed.graph.nodes)).args[0], (tuple, list))
        return {**self.graph_json(self.outputs()), "is_single_tensor_return": is_single}


def symbols_of_ranges(ranges, pattern):
    """Symbols whose names fit, each with a hint in its range."""
    found = {}
    for name, each in ranges.items():
        if re.fullmatch(pattern, name):
            least, most = each["min_val"] or 0, each["max_val"]
            hint = max(LEAST + 2, least) if most is None else min(max(LEAST + 2, least), most)
            found[name] = Symbol(name, hint, least, most, name, name, "named")
    return found


def decomposed_bodies(graph, body_class, table, ranges, narrow, found):
    """{(node, argument's place): (name, the schema's graph)} of all branches and loops in a graph. narrow: see _narrow_dtype."""
    for node in _region_nodes(graph):
        packet = node.target.packet
        for at, argument in enumerate(node.args):
            if not _is_graph(argument):
                continue
            inner = _graph_of(argument)
            if packet in KEPT:
                found[node, at] = argument.target, _body(inner, body_class, table, ranges, narrow)
            else:
                within = _narrow_dtype(*node.args[:3]) if packet == "wrap_with_autocast" else narrow
                decomposed_bodies(inner, body_class, table, ranges, within, found)
    return found


def _body(graph, body_class, table, ranges, narrow):
    bodies = decomposed_bodies(graph, body_class, table, ranges, narrow, {})
    performed = body_class(graph, table, bodies, narrow)
    metas = [node.meta["val"] for node in performed.placeholders if isinstance(node.meta["val"], TensorValue)]
    sizes = [[Size.parse(str(size)) for size in meta.shape] for meta in metas]
    used = {name for own in sizes for size in own for name in size.symbols}
    known = symbols_of_ranges(ranges, r"[su]\d+")
    if used - set(known):
        refuse(f"a branch or loop has sizes without a range: {', '.join(sorted(used - set(known)))}")
    symbols = {name: symbol for name, symbol in known.items() if name in used}
    hints = {name: symbol.hint for name, symbol in symbols.items()}
    leaves = [_zeros(meta, hints) for meta in metas]
    names = [node.name for node in performed.placeholders if isinstance(node.meta["val"], TensorValue)]
    pairs = [(name, f"L[{name!r}]") for name in names]
    spec = types.SimpleNamespace(unflatten=lambda values: (tuple(values), {}))
    return _BodyWriter(
        performed, capture_by(Plan.of(sizes, symbols), performed.module, pairs, leaves, {}, spec)
    ).body()
