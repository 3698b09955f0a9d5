"""NestedTensor: tensors of different lengths as one, their elements behind each other."""

import itertools

import weft
from weft._errors import ArgumentError, ArgumentIndexError, ArgumentTypeError

_numbers = itertools.count(1)


class RaggedSize:
    """The size of the ragged dimension: equal for nested tensors over the same tensor of offsets only. Printed as j1, j2, …"""

    def __init__(self, offsets):
        self._offsets, self._number = offsets, None

    def __eq__(self, other):
        return isinstance(other, RaggedSize) and self._offsets is other._offsets

    def __hash__(self):
        return id(self._offsets)

    def __repr__(self):
        if self._number is None:
            self._number = next(_numbers)
        return f"j{self._number}"


class Parted:
    """What nested tensors of all layouts have: Python's operators, over the class's __weft_operator__, and conversions."""

    is_nested = True
    requires_grad = False

    def _operator(self, name, *args, **kwargs):
        return type(self).__weft_operator__(name, self, *args, **kwargs)

    def detach(self):
        return self

    def __eq__(self, other):
        return self._operator("eq", other)

    def __ne__(self, other):
        return self._operator("ne", other)

    __hash__ = object.__hash__


def _forward(name, operator):
    def method(self, other):
        return self._operator(operator, other)

    method.__name__ = name
    setattr(Parted, name, method)


def _reflected(name, operator):
    def method(self, other):
        return type(self).__weft_operator__(operator, other, self)

    method.__name__ = name
    setattr(Parted, name, method)


for _name, _operator in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}.items():
    _forward(f"__{_name}__", _operator)
    _reflected(f"__r{_name}__", _operator)
for _name in ("lt", "le", "gt", "ge"):
    _forward(f"__{_name}__", _name)


def _unary(name, operator):
    def method(self):
        return self._operator(operator)

    method.__name__ = name
    setattr(Parted, name, method)


def _conversion(name, target):
    def method(self):
        return self.to(target)

    method.__name__ = name
    setattr(Parted, name, method)


for _name, _target in {
    "half": weft.float16,
    "bfloat16": weft.bfloat16,
    "float": weft.float32,
    "double": weft.float64,
    "int": weft.int32,
    "long": weft.int64,
    "bool": weft.bool,
    "cpu": "cpu",
}.items():
    _conversion(_name, _target)
for _name, _operator in {"__neg__": "neg", "__abs__": "abs", "__invert__": "bitwise_not"}.items():
    _unary(_name, _operator)


class NestedTensor(Parted):
    """A batch of tensors that differ in one dimension, the ragged one. weft.nested.nested_tensor and others make them.

    Operators of weft and weft.nn.functional take them: pointwise ones, among each other (with the same offsets: of one
    NestedTensor, or made with the same `offsets` tensor), with numbers and with tensors that are broadcast; linear, layer_norm,
    softmax, reductions, cat, matmul, scaled_dot_product_attention and others. NotImplementedError names those that do not.
    shape has a RaggedSize, j1, that is equal to the same tensor's and its descendants' only: weft.compile guards it.
    """

    def __init__(self, values, offsets, ragged=1, longest=None):
        # _values: [total, *others], the ragged dimension first. _ragged: where it is in `shape`.
        self._values, self._offsets, self._ragged = values, offsets, ragged
        self._size = RaggedSize(offsets)
        # As many numbers as the longest part has rows: in graphs, sizes of tensors may vary. None: not known yet.
        self._steps = None if longest is None else weft.arange(longest)

    # ---- what it is ------------------------------------------------------------------------------------------
    @property
    def shape(self):
        others = [int(size) if isinstance(size, int) else size for size in self._values.shape[1:]]
        return (
            self._offsets.shape[0] - 1,
            *others[: self._ragged - 1],
            self._size,
            *others[self._ragged - 1 :],
        )

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[self._dimension(dim)]

    @property
    def ndim(self):
        return len(self._values.shape) + 1

    def dim(self):
        return self.ndim

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def device(self):
        return self._values.device

    @property
    def layout(self):
        return weft.nested.jagged

    def values(self):
        """The elements of all, [total, …]; shares memory."""
        return self._from_front(self._values)

    def offsets(self):
        """Where each begins, and the last one's end: int64 [batch + 1]."""
        return self._offsets

    def lengths(self):
        """None: there are no gaps between them."""
        return None

    def numel(self):
        return self._values.numel()

    def element_size(self):
        return self._values.element_size()

    def is_contiguous(self, memory_format=None):
        return self._ragged == 1 and self._values.is_contiguous()

    def is_floating_point(self):
        return self._values.is_floating_point()

    def is_complex(self):
        return self._values.is_complex()

    def __len__(self):
        return self._offsets.shape[0] - 1

    def __repr__(self):
        shape = ", ".join(str(size) for size in self.shape)
        return f"NestedTensor(size=({shape}), offsets={self._offsets}, contiguous={self.is_contiguous()})"

    # ---- dimensions ------------------------------------------------------------------------------------------
    def _dimension(self, dim):
        count = self.ndim
        if not -count <= dim < count:
            raise ArgumentIndexError(
                f"a nested tensor of {count} dimensions: expected a dimension from {-count} to {count - 1}, got {dim}"
            )
        return dim + count if dim < 0 else dim

    def _axis(self, dim):
        """The dimension of _values that a dimension from 1 on is."""
        return 0 if dim == self._ragged else dim if dim < self._ragged else dim - 1

    def _from_front(self, values):
        """A tensor with the ragged dimension where `shape` has it (without the batch's), not first."""
        if self._ragged == 1:
            return values
        order = list(range(1, self._ragged)) + [0] + list(range(self._ragged, len(values.shape)))
        return weft.permute(values, order)

    def _like(self, values, ragged=None):
        made = NestedTensor(values, self._offsets, self._ragged if ragged is None else ragged)
        made._size, made._steps = self._size, self._steps
        return made

    # ---- parts -----------------------------------------------------------------------------------------------
    def _lengths(self):
        return self._offsets[1:] - self._offsets[:-1]

    def _bounds(self):
        return self._offsets.tolist()

    def _ids(self):
        """Of each row of _values, whose it is."""
        return weft.searchsorted(
            self._offsets[1:], weft.arange(self._values.shape[0], device=self._offsets.device), right=True
        )

    def longest(self):
        """The largest length, an int."""
        if self._steps is None:
            bounds = self._bounds()
            self._steps = weft.arange(max((end - start for start, end in zip(bounds, bounds[1:])), default=0))
        return self._steps.shape[0]

    def _parts(self):
        bounds = self._bounds()
        return [self._values[start:end] for start, end in zip(bounds, bounds[1:])]

    def unbind(self, dim=0):
        """The tensors, as a tuple; they share its memory."""
        if self._dimension(dim) != 0:
            raise ArgumentError(f"unbind: a nested tensor has parts along dimension 0, not {dim}")
        return tuple(self._from_front(part) for part in self._parts())

    def __iter__(self):
        return iter(self.unbind())

    def tolist(self):
        return [part.tolist() for part in self.unbind()]

    def _padded(self, padding, length):
        """[batch, length, *others]; what is longer is cut off."""
        values, count = self._values, self._offsets.shape[0] - 1
        if values.shape[0] == 0 or length == 0:
            return weft.full([count, length, *values.shape[1:]], padding, dtype=values.dtype)
        steps = weft.arange(length)
        valid = steps < self._lengths()[:, None]
        rows = weft.where(valid, self._offsets[:-1][:, None] + steps, 0)
        gathered = weft.index_select(values, 0, weft.reshape(rows, [count * length]))
        gathered = weft.reshape(gathered, [count, length, *values.shape[1:]])
        mask = weft.reshape(valid, [count, length] + [1] * (len(values.shape) - 1))
        return weft.where(mask, gathered, weft.full([], padding, dtype=values.dtype))

    def _unpadded(self, padded):
        """The rows of [batch, length, *others] that are there, behind each other."""
        ids = self._ids()
        rows = ids * padded.shape[1] + (
            weft.arange(self._values.shape[0]) - weft.index_select(self._offsets, 0, ids)
        )
        whole = weft.reshape(padded, [padded.shape[0] * padded.shape[1], *padded.shape[2:]])
        return weft.index_select(whole, 0, rows)

    def to_padded_tensor(self, padding, output_size=None):
        """[batch, …, longest length, …], filled up with `padding`; output_size: a larger shape than that.

        ValueError where output_size has other dimensions, or smaller ones.
        """
        length = self.longest()
        if output_size is None:
            wanted = None
        else:
            wanted = list(output_size)
            needed = [length if isinstance(size, RaggedSize) else size for size in self.shape]
            if len(wanted) != len(needed) or any(one < other for one, other in zip(wanted, needed)):
                raise ArgumentError(
                    f"to_padded_tensor: output_size: expected at least {tuple(needed)}, got {tuple(wanted)}"
                )
            length = wanted[self._ragged]
        result = self._padded(padding, length)
        if self._ragged != 1:
            order = [0, *range(2, self._ragged + 1), 1, *range(self._ragged + 1, self.ndim)]
            result = weft.permute(result, order)
        if wanted is not None and list(result.shape) != wanted:
            filled = weft.full(wanted, padding, dtype=result.dtype)
            filled[tuple(slice(0, size) for size in result.shape)] = result
            return filled
        return result

    # ---- indexing --------------------------------------------------------------------------------------------
    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if Ellipsis in [one for one in index if one is Ellipsis]:
            at = [one is Ellipsis for one in index].index(True)
            missing = self.ndim - (len(index) - 1)
            index = index[:at] + (slice(None),) * missing + index[at + 1 :]
        if len(index) > self.ndim:
            raise ArgumentIndexError(f"a nested tensor of {self.ndim} dimensions with {len(index)} indices")
        first, others = index[0], index[1:]
        if isinstance(first, int):
            bounds = self._bounds()
            count = len(bounds) - 1
            if not -count <= first < count:
                raise ArgumentIndexError(
                    f"index {first} is out of bounds for a nested tensor of {count} parts"
                )
            first %= count
            part = self._from_front(self._values[bounds[first] : bounds[first + 1]])
            return part[others] if others else part
        if not isinstance(first, slice):
            raise ArgumentTypeError(
                f"a nested tensor's first index is an int or a slice, got {type(first).__name__}"
            )
        found = self if first == slice(None) else self._of_parts(range(*first.indices(len(self))))
        result, dim = found, 1
        for one in others:
            if dim == result._ragged and not (isinstance(one, slice) and one == slice(None)):
                raise ArgumentError(
                    "the ragged dimension of a nested tensor is indexed part by part: nt[i][…], or weft.nested.narrow"
                )
            if isinstance(one, int):
                result = result._operator("select", dim, one)
            else:
                if isinstance(one, slice) and one != slice(None):
                    inner = (slice(None),) * result._axis(dim) + (one,)
                    result = result._like(result._values[inner])
                elif not isinstance(one, slice):
                    raise ArgumentTypeError(
                        f"an index of a nested tensor is an int or a slice, got {type(one).__name__}"
                    )
                dim += 1
        return result

    def _of_parts(self, numbers):
        parts, lengths = self._parts(), []
        chosen = [parts[number] for number in numbers]
        for part in chosen:
            lengths.append(part.shape[0])
        offsets = weft.tensor([0, *itertools.accumulate(lengths)], dtype=weft.int64)
        values = weft.cat(chosen) if chosen else self._values[:0]
        return NestedTensor(values, offsets, self._ragged, max(lengths, default=0))

    # ---- operators -------------------------------------------------------------------------------------------
    def __weft_operator__(name, *args, **kwargs):
        return weft.nested._operators.call(name, *args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("_") or not weft.nested._operators.is_known(name):
            raise AttributeError(f"'NestedTensor' object has no attribute '{name}'")
        return lambda *args, **kwargs: weft.nested._operators.call(name, self, *args, **kwargs)

    def to(self, *args, **kwargs):
        return self._like(self._values.to(*args, **kwargs))

    def clone(self):
        return self._like(self._values.clone())

    def contiguous(self):
        return self._like(self._values.contiguous())
