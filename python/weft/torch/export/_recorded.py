"""One run of a module, recorded: its graph, and the questions that it asked about sizes."""

import dataclasses

import weft
from weft.jit import ScriptModule
from weft.jit._trace import Program
from weft.jit._trace_hooks import hooks
from weft.torch.utils import _pytree as pytree

from ._script import Performed
from ._tracing import Recording, SymInt, key_of


@dataclasses.dataclass
class Run:
    """What one run recorded. graph: of Recorder.graph(), with the outputs' value numbers."""

    graph: dict
    ints: dict
    formed: dict
    sized: dict
    questions: list
    functions: dict
    outputs: list  # leaves: ("value", number) or ("constant", Python's value)
    out_spec: object
    modules: dict  # from a module's number to its name
    kept: list  # operators with graphs: _regions.Region
    written: list  # of a region's function: (tensor, line) of those that were changed in place


def record(module, call, names, leaves, around=None):
    """Calls module(*args, **kwargs) of call(leaves) on leaves, whose tensors become inputs, and records it.

    names: of the leaves. around: (the Recording around it, tensors of that which become inputs behind the leaves), for functions of
    regions. The module's tensors, and others that are no values of the run, are what they were afterwards.
    """
    program = _program(module)
    buffers = {}
    for owner in module.modules():
        for name, buffer in owner._buffers.items():
            if buffer is not None:
                buffers[owner, name] = (buffer, buffer.clone())
    forward = Performed(module) if isinstance(module, ScriptModule) else module
    outer, closures = around or (None, ())
    own = outer.own_tensors if outer else {key_of(each) for each in _tensors(module)}
    tracer = Recording(program, own)
    tracer.written = [] if outer else None
    tracer.buffers = outer.buffers if outer else buffers
    try:
        with hooks.installed(), tracer.active():
            tracer.mark()
            given = [
                tracer.recorder.add_input(name, leaf) if isinstance(leaf, weft.Tensor) else leaf
                for name, leaf in zip(names, leaves)
            ]
            for at, closure in enumerate(closures):
                tracer.recorder.add_closure(f"closure_{at}", closure)
            args, kwargs = call(given)
            result = forward(*args, **kwargs)
            for (owner, name), (buffer, _) in buffers.items():
                if owner._buffers.get(name) is not buffer:
                    tracer.record("copy_", buffer, owner._buffers[name])
            found, out_spec = pytree.tree_flatten(result)
            _check_results(found)
            tensors = [leaf for leaf in found if isinstance(leaf, weft.Tensor)]
            sizes = [leaf for leaf in found if isinstance(leaf, SymInt)]
            tracer.recorder.finish_graph((*tensors, sizes) if sizes else tuple(tensors))
    finally:
        for (owner, name), (buffer, values) in buffers.items():
            owner._buffers[name] = buffer
            buffer.copy_(values)
        tracer.put_back()
    graph = tracer.recorder.graph()
    operands = iter(_operands(graph))
    outputs = [
        ("value", next(operands))
        if isinstance(leaf, weft.Tensor)
        else ("value", leaf.id)
        if isinstance(leaf, SymInt)
        else ("constant", leaf)
        for leaf in found
    ]
    numbers = (
        {0: ""}
        if isinstance(module, ScriptModule)
        else {program.numbers[id(one)]: name for name, one in reversed(list(module.named_modules()))}
    )
    return Run(
        graph,
        tracer.ints,
        tracer.formed,
        tracer.sized,
        tracer.questions,
        tracer.functions,
        outputs,
        out_spec,
        numbers,
        tracer.kept,
        tracer.written,
    )


def _tensors(module):
    yield from module.parameters()
    yield from module.buffers()


def _program(module):
    """Of a script module, whose calls are performed here: one module that has all tensors by their whole names."""
    if not isinstance(module, ScriptModule):
        return Program(module, is_check=True)
    program = Program()
    program.numbers[id(module)] = number = program.c.add("Exported", False)
    for name, tensor in module.named_parameters(remove_duplicate=False):
        program.c.add_tensor(number, name, tensor, True, True)
    for name, tensor in module.named_buffers(remove_duplicate=False):
        program.c.add_tensor(number, name, tensor, False, True)
    return program


def _check_results(leaves):
    for leaf in leaves:
        if not isinstance(leaf, (weft.Tensor, int, float, str, type(None))):
            raise TypeError(
                f"torch.export.export: the module gives {type(leaf).__name__}; programs give tensors, numbers, texts and None, "
                "nested in tuples, lists, dictionaries and registered classes"
            )


def _operands(graph):
    """The value numbers of the recorded result's tensors; the nodes that put the result together are taken away."""
    if not graph["nodes"] or graph["nodes"][-1][3] != [graph["result"]]:
        return []  # nothing but constants
    operands = [operand for _, _, _, operand in graph["nodes"].pop()[2]]
    if operands and graph["types"][operands[-1]].startswith("List["):
        operands.pop()
        if graph["nodes"] and graph["nodes"][-1][0] == "prim::ListConstruct":
            graph["nodes"].pop()
    return operands
