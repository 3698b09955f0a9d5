"""torch.cond and torch.while_loop in modules that are exported: operators whose functions are graphs of their own.

Each function is recorded by itself, in each of the module's runs (_capture.py), and what it reads of the function around it is an
operand. The operator is `weft::region` while it is recorded; the results of the run are those of the branch taken, or of the loop run.
"""

import dataclasses
import threading

import weft
from weft import nn
from weft._C import _jit
from weft.jit._tracer import current, paused
from weft.torch._dynamo.exc import UserError
from weft.torch.utils import _pytree as pytree

from ._schema import Writer, tensor_meta
from ._tracing import key_of, memory_of

_recording = threading.local()  # .results: of the operator that this thread records next
_jit.define_operator(
    "weft::region(int number, Tensor[] tensors) -> Tensor[]", lambda number, tensors: _recording.results
)


def record_region(number, operands, results):
    """Records the operator of that number, and returns its results as values of the graph."""
    _recording.results = results
    return list(current().call_builtin("weft::region", number, operands))


class RegionWriter(Writer):
    """Of a graph that has operators with graphs."""

    def region(self, number):
        """(operator, arguments, whether its result is one tensor) of the operator with that number. Arguments: ("graph", (name, the
        schema's graph)), ("tensor", [place among the operands]) and ("tensors", places)."""
        raise NotImplementedError

    def _add_node(self, node):
        if node[0] != "weft::region":
            super()._add_node(node)
            return
        _, _, ((_, _, _, number), (_, _, _, operands)), results, _, _ = node
        packet, arguments, is_single = self.region(self.graph["constants"][number])
        inputs = []
        for kind, value in arguments:
            if kind == "graph":
                inputs.append(("", {"as_graph": {"name": value[0], "graph": value[1]}}, 1))
                continue
            named = [{"name": self.names[self.lists[operands][at]]} for at in value]
            inputs.append(("", {"as_tensor": named[0]} if kind == "tensor" else {"as_tensors": named}, 1))
        own = self.namespace.create_name(packet, None)
        parts = [self._tensor("getitem", each) for each in self.list_outputs.get(results[0], [])]
        outputs = [{"as_tensor": {"name": part}} for part in parts]
        self._add(f"torch.ops.higher_order.{packet}", inputs, outputs, self._place(node), own)
        self.nodes[-1]["is_hop_single_tensor_return"] = is_single


# ---- one run -------------------------------------------------------------------------------------------------
@dataclasses.dataclass
class Region:
    """An operator that was recorded. runs: of its functions; extra: (function, value's number there, constant) of the constants of
    each function, the last of the operands."""

    packet: str
    arguments: list  # as RegionWriter.region; graphs are the places of their functions
    is_single: bool
    names: list  # of the functions' inputs, but for extra
    runs: list
    extra: list


class _Function(nn.Module):
    """What record() takes. Results share no memory with what the function is given, as in PyTorch. dense: they are contiguous."""

    def __init__(self, function, given, dense):
        super().__init__()
        self.__dict__.update(function=function, shared=given, dense=dense)

    def forward(self, *values):
        return pytree.tree_map(lambda leaf: _own(leaf, self.shared, self.dense), self.function(*values))


def _own(leaf, shared, dense):
    """A result that shares no memory with those tensors."""
    if not isinstance(leaf, weft.Tensor):
        return leaf
    with paused():
        is_shared = leaf.numel() and memory_of(leaf) in {
            memory_of(tensor) for tensor in shared if tensor.numel()
        }
    if is_shared:
        return leaf.clone(memory_format=weft.torch.contiguous_format)
    return leaf.contiguous() if dense else leaf


def _is_of(tracer, tensor):
    """Whether it is a value of the run, or one of the module's tensors."""
    return tracer.recorder.is_computed(tensor) or key_of(tensor) in tracer.own_tensors


def _constants(run):
    return [(value, each) for value, each in run.graph["constants"].items() if isinstance(each, weft.Tensor)]


def _record_functions(tracer, packet, functions, operands, dense=False):
    """(runs, closures) of the functions, over clones of the operands. Closures: what they read of the function around them."""
    from ._recorded import record

    closures = {}
    while True:
        runs = []
        for function in functions:
            with paused():
                given = [each.clone(memory_format=weft.torch.preserve_format) for each in operands]
            buffers = _buffers(tracer)
            names = [f"arg{at}_1" for at in range(len(given))]
            shared = [*given, *closures.values()]
            with paused():
                run = record(
                    _Function(function, shared, dense),
                    lambda values: (tuple(values), {}),
                    names,
                    given,
                    around=(tracer, list(closures.values())),
                )
                _check_writes(run, packet, function, given, closures.values())
                _check_buffers(tracer, buffers, packet, function)
            runs.append(run)
        with paused():
            found = {
                key_of(each): each for run in runs for _, each in _constants(run) if _is_of(tracer, each)
            }
        if not set(found) - set(closures):
            return runs, list(closures.values())
        closures |= found


def _refuse_change(packet, function, what, place):
    raise UserError(
        f"torch.{packet}: {getattr(function, '__name__', function)} {what}: functions of torch.{packet} give what they compute\n"
        f"  {place}"
    )


def _buffers(tracer):
    return {(owner, name): owner._buffers.get(name) for owner, name in tracer.buffers}


def _check_buffers(tracer, before, packet, function):
    """Refuses a function that puts other tensors in place of the module's buffers."""
    for (owner, name), buffer in before.items():
        if owner._buffers.get(name) is not buffer:
            _refuse_change(packet, function, f"assigns to the buffer {name}", tracer.place())


def _check_writes(run, packet, function, given, closures):
    """Refuses a function that changes what it is given, or what it reads of the function around it."""
    arguments = [memory_of(each) for each in given]
    around = {memory_of(each) for each in closures}
    constants = {memory_of(each) for _, each in _constants(run)}
    for tensor, place in run.written:
        memory = memory_of(tensor)
        if not tensor.numel():
            continue
        if memory in arguments:
            _refuse_change(
                packet, function, f"changes its argument {arguments.index(memory)} in place", place
            )
        if memory in around | constants:
            what = "a tensor of the program around it, or one made of data (clone() it)"
            _refuse_change(packet, function, f"changes {what} in place", place)


def _results(run, packet, function, place):
    """(dtype, shape, strides) of each result."""
    forms = []
    for kind, value in run.outputs:
        if kind != "value" or value not in run.graph["forms"]:
            shown = "a size" if kind == "value" else repr(value)
            raise UserError(
                f"torch.{packet}: functions give tensors, {getattr(function, '__name__', function)} gives {shown}\n  {place}"
            )
        forms.append(run.graph["forms"][value][:3])
    return forms


def _flat(operands, packet):
    leaves, spec = pytree.tree_flatten(operands)
    for leaf in leaves:
        if not isinstance(leaf, weft.Tensor):
            raise UserError(
                f"torch.{packet}: operands of an exported program are tensors, got {type(leaf).__name__}\n  {current().place()}"
            )
    return leaves, spec


def _keep(tracer, packet, functions, operands, closures, runs, layout, results):
    """Adds the operator to the run. layout(places of closures and constants): its arguments, graphs by their functions' places."""
    extra = [(at, value, each) for at, run in enumerate(runs) for value, each in _constants(run)]
    names = [f"arg{at}_1" for at in range(len(runs[0].graph["inputs"]))]
    given = [*operands, *closures, *(each for _, _, each in extra)]
    number = len(tracer.kept)
    tracer.kept.append(Region(packet, layout(range(len(operands), len(given))), False, names, runs, extra))
    return record_region(number, given, results)


def cond(tracer, pred, true_fn, false_fn, operands):
    """torch.cond of a tensor, while a module is exported."""
    leaves, spec = _flat(operands, "cond")
    functions = [_over(function, spec) for function in (true_fn, false_fn)]
    for dense in (False, True):  # for results of different strides
        runs, closures = _record_functions(tracer, "cond", functions, leaves, dense)
        one, other = (
            (_results(run, "cond", function, tracer.place()), run.out_spec)
            for run, function in zip(runs, (true_fn, false_fn))
        )
        if one == other:
            break
    else:
        raise UserError(
            f"torch.cond: both functions must give results of the same structure, dtypes and sizes, got {_shown(*one)} of "
            f"{getattr(true_fn, '__name__', 'true_fn')} and {_shown(*other)} of {getattr(false_fn, '__name__', 'false_fn')}\n  {tracer.place()}"
        )
    with paused():
        taken = pytree.tree_leaves((true_fn if pred else false_fn)(*operands))
        taken = [
            weft.torch.empty_strided(shape, strides, dtype=dtype).copy_(each)
            for each, (dtype, shape, strides) in zip(taken, one[0])
        ]

    def layout(more):
        places = [*range(1, 1 + len(leaves)), *more]
        return [("tensor", [0]), ("graph", 0), ("graph", 1), ("tensors", places)]

    found = _keep(tracer, "cond", functions, [pred, *leaves], closures, runs, layout, taken)
    return pytree.tree_unflatten(found, runs[0].out_spec)


def while_loop(tracer, cond_fn, body_fn, carried):
    """torch.while_loop while a module is exported. Returns: a tuple."""
    leaves, spec = _flat(carried, "while_loop")
    functions = [_over(function, spec) for function in (cond_fn, body_fn)]
    runs, closures = _record_functions(tracer, "while_loop", functions, leaves)
    (asked,) = _results(runs[0], "while_loop", cond_fn, tracer.place())[:1] or [None]
    if len(runs[0].outputs) != 1 or asked[0] != weft.bool or weft.torch.Size(asked[1]).numel() != 1:
        raise UserError(
            f"torch.while_loop: cond_fn must give one tensor of bool with one element\n  {tracer.place()}"
        )
    with paused():
        given = [(each.dtype, tuple(each.shape), tuple(each.stride())) for each in leaves]
    found = _results(runs[1], "while_loop", body_fn, tracer.place())
    if found != given:
        raise UserError(
            f"torch.while_loop: body_fn must give what it is given, of the same dtypes, sizes and strides: it gives "
            f"{_shown(found, None)} of {_shown(given, None)}\n  {tracer.place()}"
        )
    with paused():
        values = list(leaves)
        while functions[0](*values):
            values = pytree.tree_leaves(functions[1](*values))
        values = [
            weft.torch.empty_strided(shape, strides, dtype=dtype).copy_(each)
            for each, (dtype, shape, strides) in zip(values, found)
        ]

    def layout(more):
        return [("graph", 0), ("graph", 1), ("tensors", range(len(leaves))), ("tensors", more)]

    found = _keep(tracer, "while_loop", functions, leaves, closures, runs, layout, values)
    return tuple(pytree.tree_unflatten(found, spec))


def _over(function, spec):
    """The function, of the operands' leaves."""

    def flat(*leaves):
        return function(*pytree.tree_unflatten(list(leaves), spec))

    flat.__name__ = getattr(function, "__name__", type(function).__name__)
    return flat


def _shown(forms, spec):
    return f"({', '.join(f'{str(dtype).rpartition(chr(46))[2]}{list(shape)} of strides {list(strides)}' for dtype, shape, strides in forms)})"


# ---- all runs ------------------------------------------------------------------------------------------------
def families(runs):
    """Lists of runs that recorded the same function: the module's, and those of all its regions."""
    yield runs
    for regions in zip(*(run.kept for run in runs)):
        for same in zip(*(region.runs for region in regions)):
            yield from families(list(same))


class ExportWriter(RegionWriter):
    """Of a captured module, with its regions."""

    def region(self, number):
        region = self.captured.run.kept[number]
        arguments = [
            ("graph", self._graph(number, value)) if kind == "graph" else (kind, value)
            for kind, value in region.arguments
        ]
        return region.packet, arguments, region.is_single

    def _graph(self, number, at):
        """(name, the schema's graph) of a region's function."""
        region = self.captured.run.kept[number]
        names = {
            "cond": ("true_graph", "false_graph"),
            "while_loop": ("while_loop_cond_graph", "while_loop_body_graph"),
        }[region.packet]
        before = sum(each.packet == region.packet for each in self.captured.run.kept[:number])
        captured = self.captured.function(number, at)
        if captured.unbacked:
            raise NotImplementedError(
                f"torch.export.export: values decide sizes within torch.{region.packet}"
            )
        is_single = region.packet == "while_loop" and at == 0
        return f"{names[at]}_{before}", _FunctionWriter(captured, region, at).body(is_single)


class _FunctionWriter(ExportWriter):
    """Of a region's function: its inputs are the operands, those that it does not read as well."""

    def __init__(self, captured, region, at):
        self.own = region, at
        super().__init__(nn.Module(), captured)

    def _add_constants(self):
        """They are operands."""

    def _add_arguments(self):
        region, at = self.own
        values = self.captured.value_sizes
        self.captured.sizes = []
        for name, value in zip(region.names, self.graph["inputs"]):
            self._add_input({"as_tensor": {"name": self._tensor(name, value)}}, None)
            rank = len(self.graph["forms"][value][1])
            self.captured.sizes.append([values[value, "size", dim] for dim in range(rank)])
        for owner, value, constant in region.extra:
            name = self.namespace.create_name("lifted", None)
            if owner == at:
                self.names[value] = name
            self.tensor_values[name] = tensor_meta(constant)
            self._add_input({"as_tensor": {"name": name}}, None)

    def body(self, is_single):
        """The schema's graph."""
        return {**self.graph_json(self.outputs()), "is_single_tensor_return": is_single}
