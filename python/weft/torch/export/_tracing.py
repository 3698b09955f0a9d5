"""What a thread does while it records a module for export: as weft.jit.trace, and comparisons of sizes are kept."""

import contextlib
import dataclasses
import linecache
import operator
import sys

import weft
from weft.jit._tracer import _PACKAGE, TracedInt, Tracer, _user_frame, current, paused
from weft.torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode


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
            right = other.id if isinstance(other, SymInt) else Number(other)
            is_weft = sys._getframe(2).f_code.co_filename.startswith(_PACKAGE)
            tracer.questions.append(Question(compare, self.id, right, tracer.place(), is_weft))
        return answer

    __hash__ = TracedInt.__hash__


class Number:
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


def key_of(tensor):
    """Tensors that are the same are equal by it, whatever Python's objects are."""
    return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def _tensors_in(values):
    for value in values:
        if isinstance(value, weft.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _whole(tensor):
    """All of a tensor's memory."""
    return tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)


def memory_of(tensor):
    """Tensors that share memory are equal by it; empty ones are not told apart."""
    return tensor.untyped_storage().data_ptr()


class Recording(Tracer):
    """As weft.jit.trace records, with what export needs beside the graph."""

    size_class = SymInt
    for_pytorch = True

    def __init__(self, program, own_tensors=frozenset()):
        super().__init__(program)
        self.own_tensors = own_tensors  # key_of the module's
        self.kept = []  # operators with graphs: _regions.Region
        self.made = {}  # constants by what they are made of: (its id, the function)
        self.ints = {}  # what integers of the graph were, by their values' numbers
        self.formed = {}  # those that were computed of others: (builtin, operands)
        self.sized = {}  # those that are sizes of a tensor: its value's number; of elements: "element"
        self.questions = []
        self.functions = {}  # of (file, line): the function's name
        self.buffers = {}  # of the module's that is exported, by (owner, name): (the buffer, its values before)
        self.plain = {}  # tensors that are no values of the run, by their memory
        self.before = {}  # of those that were written to, by their memory: (all of it, what it held)
        self.written = None  # of a region's function: (tensor, line) of those that were changed in place
        self.agreed = {}  # tensors whose strides PyTorch has too, by their ids (_decompositions.note)

    script_place = None  # of the node of a script module that is performed

    @contextlib.contextmanager
    def at(self, place):
        """A script module is performed: places are its nodes'."""
        before, self.script_place = self.script_place, place
        try:
            yield
        finally:
            self.script_place = before

    def constant(self, tensor, function):
        """function(tensor) of a tensor that is no value of the run's, as a constant of the program."""
        key = id(tensor), function
        if key not in self.made:
            with paused():
                self.made[key] = tensor, function(tensor)
        return self.made[key][1]

    def place(self):
        if self.script_place is not None:
            return self.script_place
        frame = _user_frame(sys._getframe(1))
        return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)

    def mark(self):
        place = self.place()
        self.functions[place.file, place.line] = place.function
        self.recorder.set_location(place.file, place.line)

    def _note(self, args, kwargs, target):
        """Before a call: the tensors that become constants, and what those held of them that it writes to (target)."""
        for each in _tensors_in((*args, *kwargs.values())):
            if not self.recorder.is_computed(each):
                self.plain.setdefault(memory_of(each), each)
        if not isinstance(target, weft.Tensor):
            return
        if self.written is not None:
            self.written.append((target, self.place()))
        memory = memory_of(target)
        if memory in self.plain and memory not in self.before:
            with paused():
                whole = _whole(self.plain[memory])
                self.before[memory] = whole, whole.clone()

    def put_back(self):
        """Tensors that are no values of the run, and were written to, hold what they held."""
        for tensor, values in self.before.values():
            tensor.copy_(values)

    def __call__(self, operator_object, is_inplace, args, kwargs):
        self._note(args, kwargs, args[0] if is_inplace else kwargs.get("out"))
        return super().__call__(operator_object, is_inplace, args, kwargs)

    def call_builtin(self, name, *args, **kwargs):
        packet = name.partition(".")[0]
        is_inplace = packet.endswith("_") and not packet.endswith("__")
        self._note(args, kwargs, args[0] if is_inplace else kwargs.get("out"))
        return super().call_builtin(name, *args, **kwargs)

    def record(self, name, *args, **kwargs):
        result = super().record(name, *args, **kwargs)
        if isinstance(result, SymInt) and isinstance(args[0], weft.Tensor):
            is_element = name.partition(".")[0] in ("Int", "item")
            self.sized[result.id] = "element" if is_element else self.recorder.value_id(args[0])
        elif isinstance(result, SymInt) and all(isinstance(one, int) for one in args):
            self.formed[result.id] = (
                name,
                [one.id if isinstance(one, SymInt) else Number(one) for one in args],
            )
        return result

    def warns(self, message, of_values):
        if of_values:
            raise GuardOnDataDependentSymNode(
                f"Could not guard on data-dependent expression: the program takes a Python value of a tensor that depends on "
                f"its inputs.\n\nThe following call raised this error:\n  {self.place()}"
            )
        return False
