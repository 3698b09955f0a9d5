"""Memory of programs that are decomposed: what sees part of it, and how a write through a view puts it back."""

from ._decompositions import TABLE, aten, view


class Memory:
    """What views share. target: ("buffer_mutation", "count") of what the program has from outside."""

    def __init__(self, tensor, target=None):
        self.tensor, self.target, self.version = tensor, target, 0


class Seen:
    """A tensor: a way of (view, what puts it back) from memory."""

    def __init__(self, memory, way=(), tensor=None):
        self.memory, self.way, self.version = memory, way, memory.version
        self.made = memory.tensor if tensor is None else tensor

    def read(self):
        if self.version != self.memory.version:
            self.made, self.version = self.memory.tensor, self.memory.version
            for look, _ in self.way:
                self.made = look(self.made)
        return self.made

    def write(self, tensor):
        bases = [self.memory.tensor]
        for look, _ in self.way[:-1]:
            bases.append(look(bases[-1]))
        for (_, put_back), base in zip(reversed(self.way), reversed(bases)):
            tensor = put_back(base, tensor)
        self.memory.tensor = tensor
        self.memory.version += 1


def _reshaped(base, tensor):
    return view(tensor, base.shape)


def _permuted_back(order):
    def put_back(base, tensor):
        return aten.permute(tensor, [order.index(dim) for dim in range(len(order))])

    return put_back


def _swapped_back(one, other):
    return lambda base, tensor: TABLE["transpose.int"](tensor, one, other)


def put_back_of(name, tensor, args):
    """The function that puts a changed view back; None of operators whose views cannot be."""
    if name in ("alias", "detach", "lift_fresh"):
        return lambda base, part: part
    if name == "permute":
        order = [dim % tensor.dim() for dim in args[0]]
        return _permuted_back(order)
    if name in ("t", "numpy_T", "mT"):
        return _swapped_back(-2, -1)
    if name == "transpose":
        return _swapped_back(*args[:2])
    if name == "select":
        return lambda base, part: aten.select_scatter(base, part, *args)
    if name == "slice":
        return lambda base, part: aten.slice_scatter(base, part, *args)
    if name == "narrow":
        dim, start, length = args
        return lambda base, part: aten.slice_scatter(base, part, dim, start, start + length)
    if name == "diagonal":
        return lambda base, part: aten.diagonal_scatter(base, part, *args)
    if name in ("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "_unsafe_view", "contiguous", "expand",
                "expand_as", "broadcast_to"):  # fmt: skip
        return _reshaped
    return None
