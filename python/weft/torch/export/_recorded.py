"""One run of a module, recorded by weft.jit.trace's recorder: its graph, and the questions that it asked about sizes."""

import dataclasses
import linecache
import operator
import sys

import weft
from weft.jit._trace import Program
from weft.jit._trace_hooks import hooks
from weft.jit._tracer import _PACKAGE, TracedInt, Tracer, _user_frame, current
from weft.torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from weft.torch.utils import _pytree as pytree


@dataclasses.dataclass
class Place:
    """A line of the program."""

    file: str
    line: int
    function: str

    def __str__(self):
        code = linecache.getline(self.file, self.line).strip()
        return f'File "{self.file}", line {self.line}, in {self.function}' + (f"\n    {code}" if code else "")


@dataclasses.dataclass
class Question:
    """A comparison of sizes, which the program went on by: value numbers of the graph, or numbers."""

    compare: object
    left: object
    right: object
    place: Place
    is_weft: bool  # a function of weft's asked, not the program

    def text(self, show):
        return f"{show(self.left)} {_SIGNS[self.compare]} {show(self.right)}"


_SIGNS = {operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="}  # fmt: skip


class SymInt(TracedInt):
    """A size while a module is exported."""

    def __new__(cls, value, recorder, number):
        self = super().__new__(cls, value, recorder, number)
        self.id = recorder.value_id(self)
        current().ints[self.id] = value
        return self

    def _warn(self, what):
        """Sizes that become constants are found by comparing runs."""

    def _asked(self, compare, other):
        answer = compare(int.__index__(self), other)
        tracer = current()
        if tracer is not None and tracer.recorder is self.recorder and isinstance(other, int):
            right = other.id if isinstance(other, SymInt) else _Number(other)
            is_weft = sys._getframe(2).f_code.co_filename.startswith(_PACKAGE)
            tracer.questions.append(Question(compare, self.id, right, tracer.place(), is_weft))
        return answer

    __hash__ = TracedInt.__hash__


class _Number:
    """A plain number among operands."""

    def __init__(self, value):
        self.value = value


def _comparison(name):
    compare = getattr(operator, name)

    def method(self, other):
        return self._asked(compare, other) if isinstance(other, int) else NotImplemented

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SymInt, f"__{_name}__", _comparison(_name))
SymInt.__hash__ = TracedInt.__hash__
SymInt.__bool__ = lambda self: self._asked(operator.ne, 0)


class _Recording(Tracer):
    """As weft.jit.trace records, with what export needs beside the graph."""

    size_class = SymInt

    def __init__(self, program):
        super().__init__(program)
        self.ints = {}  # what integers of the graph were, by their values' numbers
        self.formed = {}  # those that were computed of others: (builtin, operands)
        self.sized = {}  # those that are sizes of a tensor: its value's number; of elements: "element"
        self.questions = []
        self.functions = {}  # of (file, line): the function's name

    def place(self):
        frame = _user_frame(sys._getframe(1))
        return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)

    def mark(self):
        place = self.place()
        self.functions[place.file, place.line] = place.function
        self.recorder.set_location(place.file, place.line)

    def record(self, name, *args, **kwargs):
        result = super().record(name, *args, **kwargs)
        if isinstance(result, SymInt) and isinstance(args[0], weft.Tensor):
            is_element = name.partition(".")[0] in ("Int", "item")
            self.sized[result.id] = "element" if is_element else self.recorder.value_id(args[0])
        elif isinstance(result, SymInt) and all(isinstance(one, int) for one in args):
            self.formed[result.id] = (
                name,
                [one.id if isinstance(one, SymInt) else _Number(one) for one in args],
            )
        return result

    def warns(self, message, of_values):
        if of_values:
            raise GuardOnDataDependentSymNode(
                f"Could not guard on data-dependent expression: the program takes a Python value of a tensor that depends on "
                f"its inputs.\n\nThe following call raised this error:\n  {self.place()}"
            )
        return False


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


def record(module, call, names, leaves):
    """Calls module(*args, **kwargs) of call(leaves) on leaves, whose tensors become inputs, and records it.

    names: of the leaves. The module's buffers are what they were afterwards.
    """
    program = Program(module, is_check=True)
    buffers = {}
    for owner in module.modules():
        for name, buffer in owner._buffers.items():
            if buffer is not None:
                buffers[owner, name] = (buffer, buffer.clone())
    tracer = _Recording(program)
    try:
        with hooks.installed(), tracer.active():
            tracer.mark()
            given = [
                tracer.recorder.add_input(name, leaf) if isinstance(leaf, weft.Tensor) else leaf
                for name, leaf in zip(names, leaves)
            ]
            args, kwargs = call(given)
            result = module(*args, **kwargs)
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
    numbers = {program.numbers[id(one)]: name for name, one in reversed(list(module.named_modules()))}
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
    )


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
