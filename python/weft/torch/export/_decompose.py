"""run_decompositions: a program's graph, performed operator by operator while it is recorded anew.

What writes becomes what gives new values: each tensor is a way from the memory that it sees part of, and a write
replaces the value of that memory. What the program changes of its buffers and arguments is given beside its results.
"""

import functools
import math
import operator
import re
import types

import weft
from weft import nn
from weft._C import _export
from weft.jit._tracer import current

from . import (  # noqa: F401 (their rules)
    _decompositions_elements,
    _decompositions_fourier,
    _decompositions_layers,
    _decompositions_shapes,
)
from ._capture import Plan, capture_by
from ._composite import COMPOSITE
from ._decompose_memory import Memory, Seen, put_back_of
from ._decompose_regions import (
    PerformedWriter,
    Regions,
    cast,
    cast_operands,
    decomposed_bodies,
    note_sizes,
    refuse,
    symbols_of_ranges,
)
from ._decompositions import MEMORY_FORMATS, TABLE, aten, note, view
from ._graph import OpOverload, TensorValue
from ._sizes import Size
from ._tracing import Place, SymInt, memory_of


def name_of(target):
    """ "aten::add.Tensor", "aten::relu" of an operator of a graph, of `torch.ops`, or of its name."""
    return (target if isinstance(target, str) else target.name()).removesuffix(".default")


class DecompositionTable(dict):
    """From operators to functions of their arguments, whose operators stand in a graph in their place."""

    def __contains__(self, target):
        return super().__contains__(name_of(target))

    def __getitem__(self, target):
        return super().__getitem__(name_of(target))

    def __setitem__(self, target, function):
        super().__setitem__(name_of(target), function)

    def __delitem__(self, target):
        super().__delitem__(name_of(target))

    def get(self, target, default=None):
        return super().get(name_of(target), default)

    def pop(self, target, *default):
        return super().pop(name_of(target), *default)

    def update(self, others):
        for target, function in others.items():
            self[target] = function


def default_decompositions():
    """The operators that run_decompositions takes apart. The table is the caller's: entries may be removed or replaced."""
    table = DecompositionTable()
    table.update({f"aten::{name}": function for name, function in TABLE.items()})
    return table


# ---- one run ---------------------------------------------------------------------------------------------------
class _Module(nn.Module):
    """What is recorded: the program's tensors by their names, which may be any. performed: called on the leaves."""

    def __init__(self, performed):
        super().__init__()
        self._weft_performed = performed

    def forward(self, *leaves):
        return self._weft_performed(*leaves)


class Performed(Regions):
    """A graph that is performed node by node when `module` is called.

    bodies: decomposed graphs of its branches and loops. around: the dtype of the autocast region that it stands in, or None.
    """

    def __init__(self, graph, table, bodies, around=None):
        self.module = _Module(self)
        self.graph, self._table, self._bodies, self._around = graph, table, bodies, around
        self.placeholders = [node for node in graph.nodes if node.op == "placeholder"]

    def _start(self):
        # Of one run: what symbols are, the dtype of autocast, and the operators that keep their graphs.
        self._symbols, self._narrow, self.kept = {}, self._around, []

    def _perform(self, graph, values):
        """The graph's result, in its terms."""
        for node in graph.nodes:
            if node.op == "call_function":
                values[node] = self._finished(node, self._call(node, values))
            elif node.op == "output":
                return _mapped(node.args[0], values)
        return None

    def _finished(self, node, value):
        meta = node.meta.get("val")
        if isinstance(value, Seen):
            if self._narrow is not None and isinstance(meta, TensorValue):
                value = _over(value, lambda tensor: cast(tensor, meta.dtype))
            note_sizes(meta, value.read(), self._symbols)
        else:
            note_sizes(meta, value, self._symbols)
        return value

    def _call(self, node, values):
        args, kwargs = _mapped(node.args, values), _mapped(dict(node.kwargs), values)
        current().script_place = _place_of(node)
        if not isinstance(node.target, OpOverload):
            if node.target is operator.pow and isinstance(args[0], SymInt) and args[1] > 0:
                return math.prod([args[0]] * args[1])
            return node.target(*_read(args), **_read(kwargs))
        space, packet, overload = node.target.namespace, node.target.packet, node.target._overload
        if space == "higher_order":
            return self._region(node, packet, args)
        if space == "aten" and packet in ("sym_size", "sym_numel"):
            tensor = _read(args)[0]
            return tensor.shape[args[1]] if packet == "sym_size" else tensor.numel()
        if space == "aten" and packet in (
            "_assert_tensor_metadata",
            "_assert_scalar",
            "sym_constrain_range_for_size",
            "sym_constrain_range",
        ):
            return None
        if self._narrow is not None:
            args, kwargs = cast_operands(packet, args, kwargs, self._narrow, _over)
        of_one = _export.operator_of_one(packet, "" if overload == "default" else overload)
        if of_one is not None:
            return self._each(*of_one, args, kwargs)
        if packet.endswith("_") and not packet.endswith("__"):
            return self._write(space, packet, overload, args, kwargs)
        result = self._apply(space, packet, overload, _read(args), _read(kwargs))
        return self._seen(space, packet, overload, args, kwargs, result)

    def _apply(self, space, packet, overload, args, kwargs):
        """Records the operator, or what it is made of."""
        name = f"{space}::{packet}" if overload == "default" else f"{space}::{packet}.{overload}"
        rule = self._table.get(name)
        result = NotImplemented if rule is None else rule(*args, **kwargs)
        if result is not NotImplemented:
            return result
        if packet.endswith("_copy") and name not in _overloads():
            seen = self._apply(space, packet.removesuffix("_copy"), overload, args, kwargs)
            return (
                [aten.clone(each) for each in seen] if isinstance(seen, (tuple, list)) else aten.clone(seen)
            )
        # An empty table leaves every operator as it is.
        if self._table and (rule is not None or name in COMPOSITE):
            why = "" if rule is None else " for these arguments"
            raise NotImplementedError(
                f"run_decompositions: weft does not know what {name} is made of{why}\n  {current().script_place}"
            )
        return _recorded(space, packet, overload, args, kwargs)

    def _each(self, packet, overload, args, kwargs):
        """What an operator on lists does, for each of them."""
        count = max(len(each) for each in args if isinstance(each, (list, tuple)))
        found = []
        for at in range(count):
            given = [each[at] if isinstance(each, (list, tuple)) else each for each in args]
            if packet.startswith("addc") and len(given) > 3:
                kwargs = {"value": given.pop()}
            if packet.endswith("_"):
                self._write("aten", packet, overload or "default", given, kwargs)
            else:
                found.append(self._apply("aten", packet, overload or "default", _read(given), _read(kwargs)))
        return args[0] if packet.endswith("_") else self._fresh(found)

    def _write(self, space, packet, overload, args, kwargs):
        target = args[0]
        given = _read(args)
        if packet == "zero_":
            result = aten.full_like(given[0], 0)
        elif packet == "copy_":
            source = given[1]
            same = source.dtype == given[0].dtype and list(source.shape) == list(given[0].shape)
            result = source if same else aten.copy(given[0], source)
        else:
            result = self._apply(space, packet[:-1], overload, given, _read(kwargs))
        if result.dtype != given[0].dtype:
            result = aten._to_copy(result, dtype=given[0].dtype)
        target.write(result)
        return target

    def _seen(self, space, packet, overload, args, kwargs, result):
        """Results in the graph's terms: tensors that see an argument's memory keep their way to it."""
        if isinstance(result, (tuple, list)):
            return type(result)(
                self._part(space, packet, args, at, each) if isinstance(each, weft.Tensor) else each
                for at, each in enumerate(result)
            )
        if not isinstance(result, weft.Tensor):
            return result
        base = args[0] if args and isinstance(args[0], Seen) else None
        if base is None or not _shares(result, base.read()):
            return Seen(Memory(result))
        rest, named = _read(args[1:]), _read(kwargs)
        put_back = put_back_of(packet, base.read(), rest)
        if put_back is None:
            put_back = _refuse(packet)
        if packet in ("view", "_unsafe_view") and isinstance(rest[0], (list, tuple)):
            look = lambda tensor: view(tensor, rest[0])  # noqa: E731 (what was written may lie in another order)
        else:
            look = lambda tensor: self._apply(space, packet, overload, (tensor, *rest), named)  # noqa: E731
        return Seen(base.memory, (*base.way, (look, put_back)), result)

    def _part(self, space, packet, args, at, result):
        base = args[0] if args and isinstance(args[0], Seen) else None
        if base is None or not _shares(result, base.read()):
            return Seen(Memory(result))
        dim = args[1] if packet == "unbind" and len(args) > 1 else args[2] if len(args) > 2 else 0
        if packet == "unbind":
            look, put_back = (
                (lambda x: aten["select.int"](x, dim, at)),
                put_back_of("select", result, (dim, at)),
            )
        elif packet in ("split", "chunk", "split_with_sizes", "tensor_split"):
            start = result.storage_offset() - base.read().storage_offset()
            start //= base.read().stride()[dim] or 1
            look = lambda x: aten["slice.Tensor"](x, dim, start, start + int(result.shape[dim]))  # noqa: E731
            put_back = put_back_of("slice", result, (dim, start, start + int(result.shape[dim])))
        else:
            look, put_back = None, _refuse(packet)
        return Seen(base.memory, (*base.way, (look, put_back)), result)

    def _inline(self, graph, inputs):
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        return self._perform(graph, dict(zip(placeholders, inputs)))

    def _fresh(self, tensors):
        return [Seen(Memory(tensor)) for tensor in tensors]

    def _read(self, value):
        return _read(value)


class Decomposed(Performed):
    """A program's graph over its leaves. It gives changed values, then results."""

    def __init__(self, program, table, bodies):
        super().__init__(program.graph_module.graph, table, bodies)
        self._signature = program.graph_signature
        self.changed = []  # of the last run: (kind, target) of the first results
        signature, tensors = (
            program.graph_signature,
            {**program._program.constants(), **program._program.weights()},
        )
        for path in signature.parameters:
            self._place(path, nn.Parameter(tensors[path], requires_grad=tensors[path].is_floating_point()))
        for path in signature.buffers:
            self._place(path, tensors[path], path not in signature.non_persistent_buffers)
        for path in signature.lifted_tensor_constants:
            owner, name = self._owner(path)
            object.__setattr__(owner, name, tensors[path])

    def _owner(self, path):
        owner = self.module
        *names, last = path.split(".")
        for name in names:
            if name not in owner._modules:
                owner.add_module(name, nn.Module())
            owner = owner._modules[name]
        return owner, last

    def _place(self, path, tensor, is_persistent=True):
        owner, name = self._owner(path)
        if isinstance(tensor, nn.Parameter):
            owner.register_parameter(name, tensor)
        else:
            owner.register_buffer(name, tensor, persistent=is_persistent)

    def _tensor(self, path):
        owner, name = self._owner(path)
        return getattr(owner, name)

    def __call__(self, *leaves):
        self._start()
        values, leaves, memories = {}, iter(leaves), []
        for node, spec in zip(self.placeholders, self._signature.input_specs, strict=True):
            kind = spec.kind.name
            value = next(leaves) if kind == "USER_INPUT" else self._tensor(spec.target)
            if isinstance(value, weft.Tensor):
                current().agreed[id(value)] = value
                word = {"PARAMETER": "parameter", "BUFFER": "buffer", "USER_INPUT": "user_input"}.get(kind)
                memories.append(
                    Memory(
                        value,
                        word and (f"{word}_mutation", node.name if word == "user_input" else spec.target),
                    )
                )
                note_sizes(node.meta["val"], value, self._symbols)
                value = Seen(memories[-1])
            values[node] = value
        with current().at(None):
            results = _read(self._perform(self.graph, values))
        # A program that was decomposed before says in its signature what is written.
        given = len(results) - len(self._signature.user_outputs)
        for spec, value in zip(self._signature.output_specs[:given], results):
            kind = spec.kind.name.lower()
            memory = next(each for each in memories if each.target == (kind, spec.target))
            memory.tensor, memory.version = value, memory.version + 1
        changed = sorted(
            (memory for memory in memories if memory.version and memory.target),
            key=lambda memory: memory.target[0] == "user_input_mutation",
        )
        self.changed = [memory.target for memory in changed]
        return [memory.tensor for memory in changed] + list(results[given:])


class _Body(Performed):
    """A graph of a branch or a loop over its leaves, which are tensors."""

    def __call__(self, *leaves):
        self._start()
        values, leaves = {}, iter(leaves)
        for node in self.placeholders:
            if isinstance(node.meta["val"], TensorValue):
                leaf = next(leaves)
                current().agreed[id(leaf)] = leaf
                values[node] = Seen(Memory(leaf))
                note_sizes(node.meta["val"], leaf, self._symbols)
        memories = [value.memory for value in values.values()]
        with current().at(None):
            for node in self.placeholders:
                if node not in values:
                    values[node] = self._size(node, values)
            results = _read(self._perform(self.graph, values))
        if any(memory.version for memory in memories):
            refuse("a branch or loop writes to its operands")
        return list(results) if isinstance(results, (tuple, list)) else [results]

    def _size(self, node, values):
        """A size among the operands, as the size of the tensor among them that has it."""
        tensors = [(other, value) for other, value in values.items() if isinstance(value, Seen)]
        for other, value in tensors:
            for dim, size in enumerate(other.meta["val"].shape):
                if str(size) == str(node.meta["val"]):
                    return value.read().shape[dim]
        return refuse(
            f"a branch or loop takes the size {node.meta['val']}, which no tensor among its operands has"
        )


# Overloads of lists without None.
_WITHOUT_NONE = {
    "index": "Tensor_hacked_twin",
    "index_put": "hacked_twin",
    "_unsafe_index": "Tensor_hacked_twin",
}


@functools.cache
def _overloads():
    return {schema.partition("(")[0] for schema in weft._C._builtin_schemas()}


def _recorded(space, packet, overload, args, kwargs):
    """The operator itself. In graphs numbers stand where the schema has tensors; here they have overloads of their own."""
    of_number = overload.replace("Tensor", "Scalar", 1)
    takes_tensor = (
        overload in ("Tensor", "Tensor_mode") and len(args) > 1 and not isinstance(args[1], weft.Tensor)
    )
    if takes_tensor and f"{space}::{packet}.{of_number}" in _overloads():
        overload = of_number
    if packet in _WITHOUT_NONE and all(isinstance(each, weft.Tensor) for each in args[1]):
        overload = _WITHOUT_NONE[packet]
    name = f"{space}::{packet}" if overload == "default" else f"{space}::{packet}.{overload}"
    return note(packet, args, kwargs, current().call_builtin(name, *args, **kwargs))


def _refuse(packet):
    def put_back(base, tensor):
        raise NotImplementedError(
            f"run_decompositions: a write through what aten::{packet} gives cannot be undone\n  {current().script_place}"
        )

    return put_back


def _shares(one, other):
    return one.numel() > 0 and memory_of(one) == memory_of(other)


def _mapped(value, values):
    """The graph's nodes, in nested arguments, by their values."""
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(each, values) for each in value)
    if isinstance(value, dict):
        return {key: _mapped(each, values) for key, each in value.items()}
    if isinstance(value, weft.torch.fx.Node):
        return (
            getattr(value.graph.owning_module, value.target).graph
            if value.op == "get_attr"
            else values[value]
        )
    return (
        _NUMBERS.get(value, value)
        if isinstance(value, (weft.torch.memory_format, weft.torch.layout))
        else value
    )


# Of layouts and memory formats, as TorchScript has them.
_NUMBERS = {weft.torch.strided: 0, **{format_: number for number, format_ in MEMORY_FORMATS.items()}}


def _read(value):
    if isinstance(value, (tuple, list)):
        return type(value)(_read(each) for each in value)
    if isinstance(value, dict):
        return {key: _read(each) for key, each in value.items()}
    return value.read() if isinstance(value, Seen) else value


def _over(value, function):
    """The function over the tensors of nested arguments."""
    if isinstance(value, (tuple, list)):
        return type(value)(_over(each, function) for each in value)
    if isinstance(value, dict):
        return {key: _over(each, function) for key, each in value.items()}
    if not isinstance(value, Seen):
        return value
    before = value.read()
    after = function(before)
    return value if after is before else Seen(Memory(after))


_PLACE = re.compile(r'File "([^"]*)", line (\d+), in (\S+)')


def _place_of(node):
    found = _PLACE.findall(node.meta.get("stack_trace") or "")
    return Place(found[-1][0], int(found[-1][1]), found[-1][2]) if found else Place("", 0, "forward")


# ---- the whole -------------------------------------------------------------------------------------------------
class _Writer(PerformedWriter):
    """Of a program that was recorded anew: it nests arguments and results as before."""

    def __init__(self, performed, captured, source):
        self.source = source
        super().__init__(performed, captured)

    def _output_specs(self, outputs):
        changed = self.performed.changed
        specs = []
        for (kind, target), output in zip(changed, outputs):
            key = {"buffer_mutation": "buffer_name", "parameter_mutation": "parameter_name"}.get(
                kind, "user_input_name"
            )
            specs.append({kind: {"arg": output["as_tensor"], key: target}})
        return specs + super()._output_specs(outputs[len(changed) :])

    def _guards(self):
        return self.source.get("guards_code", [])  # sizes are what they were

    def _calls(self):
        module = self.source["graph_module"]
        return {
            key: module[key] for key in ("module_call_graph", "treespec_namedtuple_fields") if key in module
        }


def _size(size):
    """A size of the schema as a polynomial of symbols."""
    if "as_int" in size:
        return Size.number(size["as_int"])
    return Size.parse(_export.size_text(size["as_expr"]["expr_str"]))


def _example(meta, sizes, hints):
    """A tensor of these sizes: any values, as nothing but sizes is kept of them."""
    dtype = next(
        each
        for each in weft.torch.export._graph._dtypes.values()
        if _export.dtype_number(each) == meta["dtype"]
    )
    shape = [size.evaluate(hints) for size in sizes]
    if dtype.is_floating_point or dtype.is_complex:
        return weft.torch.randn(shape).to(dtype)
    return (
        (weft.torch.arange(max(int(weft.torch.Size(shape).numel()), 1)) % 2)[: weft.torch.Size(shape).numel()]
        .reshape(shape)
        .to(dtype)
    )


def _plan(program, source, given):
    """(Plan, pairs, leaves) of a program's arguments. given: the leaves of an example; None where there is none."""
    graph = source["graph_module"]["graph"]
    sizes, leaves, pairs = [], [], []
    symbols = symbols_of_ranges(source["range_constraints"], r"s\d+")
    specs = [spec for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    metas = {}
    for spec in specs:
        meta = graph["tensor_values"].get(spec.arg.name)
        if meta is None and not hasattr(spec.arg, "value"):
            raise NotImplementedError(
                "run_decompositions: a dynamic number among the arguments is not supported"
            )
        metas[spec.arg.name] = meta
        own = None if meta is None else [_size(size) for size in meta["sizes"]]
        sizes.append(own)
    if given is not None:
        for leaf, own in zip(given, sizes):
            for size, seen in zip(own or (), leaf.shape if own else ()):
                if size.alone in symbols:
                    symbols[size.alone].hint = int(seen)
    hints = {name: symbol.hint for name, symbol in symbols.items()}
    used = {name for own in sizes for size in own or () for name in size.symbols}
    symbols = {name: symbol for name, symbol in symbols.items() if name in used}
    for at, (spec, own) in enumerate(zip(specs, sizes)):
        pairs.append((spec.arg.name, f"L[{spec.arg.name!r}]"))
        if own is None:
            leaves.append(spec.arg.value)
        else:
            leaves.append(_example(metas[spec.arg.name], own, hints) if given is None else given[at])
    return Plan.of(sizes, symbols), pairs, leaves


def decomposed(program, source, given, table):
    """The program as weft runs it. source: its JSON; given: the leaves of an example, or None; table: by operators."""
    chosen = DecompositionTable()
    chosen.update(default_decompositions() if table is None else table)
    ranges = source["range_constraints"]
    bodies = decomposed_bodies(program.graph_module.graph, _Body, chosen, ranges, None, {})
    performed = Decomposed(program, chosen, bodies)
    plan, pairs, leaves = _plan(program, source, given)
    spec = types.SimpleNamespace(unflatten=lambda values: (tuple(values), {}))
    captured = capture_by(plan, performed.module, pairs, leaves, {}, spec)
    return _Writer(performed, captured, source).made()
