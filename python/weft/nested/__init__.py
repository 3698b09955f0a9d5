"""Nested tensors: tensors that differ in one dimension as one, without padding.

    nt = weft.nested.nested_tensor([a, b, c], layout=weft.jagged)     # a: [3, 8], b: [5, 8], c: [1, 8]
    nt.shape                                                          # (3, j1, 8)
    weft.nn.functional.linear(nt, weight).unbind()

Operators take them as NestedTensor says; what they compute is what they compute of each part. PyTorch's torch.nested, where
the strided layout is the default: layout=weft.nested.strided is for tensors that differ in more than one dimension.
"""

import itertools

import weft
from weft._errors import ArgumentError, ArgumentTypeError

from . import _attention, _operators  # noqa: F401  (found by NestedTensor's methods)
from ._strided import StridedNestedTensor
from ._tensor import NestedTensor, RaggedSize

__all__ = [
    "NestedTensor",
    "RaggedSize",
    "StridedNestedTensor",
    "as_nested_tensor",
    "jagged",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "strided",
    "to_padded_tensor",
]


class _Layout:
    """How the elements of nested tensors lie: jagged, those of all parts behind each other; strided, each part's by themselves."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"weft.{self._name}"

    def __reduce__(self):
        return self._name

    def __eq__(self, other):
        return self is other or str(other) in (f"weft.{self._name}", f"torch.{self._name}")

    def __hash__(self):
        return hash(self._name)


jagged, strided = _Layout("jagged"), _Layout("strided")


def _check_layout(name, layout, *others):
    if layout is not None and not any(layout == one for one in (jagged, *others)):
        raise ArgumentError(f"{name}: Specified layout is unsupported for nested tensors: {layout}")


def nested_tensor(
    tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, ragged=None
):
    """A NestedTensor of tensors (or lists of numbers) that have the same number of dimensions, at least one, and the same sizes
    but in one dimension; their elements are copied.

    layout: weft.jagged, the default; or weft.nested.strided, for a StridedNestedTensor, whose parts may differ in all sizes. ragged: which dimension of the result is ragged; by default the one in which they differ, 1
    if they differ in none. ValueError for an empty list, other shapes, 0-d tensors.
    """
    _check_layout("nested_tensor", layout, strided)
    parts = [one if isinstance(one, weft.Tensor) else weft.tensor(one) for one in tensor_list]
    if layout is not None and layout == strided:
        return _strided_of(parts, dtype, device)
    if not parts:
        raise ArgumentError("nested_tensor: expected tensors, got an empty list")
    shapes = [tuple(one.shape) for one in parts]
    if len({len(shape) for shape in shapes}) != 1 or not shapes[0]:
        raise ArgumentError(
            f"nested_tensor: tensors of one number of dimensions, at least 1; got shapes {shapes}"
        )
    differing = [axis for axis in range(len(shapes[0])) if len({shape[axis] for shape in shapes}) > 1]
    if ragged is None:
        ragged = (differing[0] if differing else 0) + 1
    if any(axis != ragged - 1 for axis in differing):
        raise ArgumentError(f"nested_tensor: tensors differ in one dimension, got shapes {shapes}")
    if dtype is None and len({one.dtype for one in parts}) != 1:
        raise ArgumentTypeError("nested_tensor: tensors of one dtype, or dtype=")
    order = [ragged - 1, *(axis for axis in range(len(shapes[0])) if axis != ragged - 1)]
    if ragged != 1:
        parts = [weft.permute(one, order) for one in parts]
    values = weft.cat(parts)
    values = values if dtype is None else values.to(dtype)
    lengths = [shape[ragged - 1] for shape in shapes]
    offsets = weft.tensor([0, *itertools.accumulate(lengths)], dtype=weft.int64)
    return NestedTensor(values, offsets, ragged, max(lengths))


def _strided_of(parts, dtype, device, copy=True):
    for number, part in enumerate(parts):
        if len(part.shape) != len(parts[0].shape):
            raise ArgumentError(
                f"All Tensors given to nested_tensor must have the same dimension. Found dimension {len(part.shape)} for Tensor at "
                f"index {number} and dimension {len(parts[0].shape)} for Tensor at index 0."
            )
    options = {} if device is None else {"device": device}
    dtype = dtype or (parts[0].dtype if parts else weft.float32)
    return StridedNestedTensor([part.to(dtype=dtype, copy=copy, **options) for part in parts], dtype)


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """The nested tensor itself, or one of a list of tensors, or of a tensor's parts along its first dimension."""
    if isinstance(ts, (NestedTensor, StridedNestedTensor)):
        return ts if dtype is None else ts.to(dtype)
    if layout is not None and layout == strided:
        return _strided_of(list(ts), dtype, device, copy=False)
    return nested_tensor(list(ts), dtype=dtype, layout=layout)


def _check_offsets(name, offsets, total):
    bounds = offsets.tolist()
    if not bounds or bounds[0] != 0:
        raise ArgumentError(f"{name}: offsets: expected 0 first, got {bounds[:1]}")
    for number, (start, end) in enumerate(zip(bounds, bounds[1:])):
        if end < start:
            raise ArgumentError(
                f"{name}: offsets: offsets[{number + 1}] is {end}, less than offsets[{number}], {start}"
            )
    if bounds[-1] > total:
        raise ArgumentError(f"{name}: offsets: the last one is {bounds[-1]}, values have {total} rows")
    return bounds


def nested_tensor_from_jagged(
    values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None
):
    """A NestedTensor over `values` [total, …] (jagged_dim: another dimension of the result is ragged).

    offsets: int64 [batch + 1], where each part begins, and the last one's end: 0 first, none less than the one before, none more
    than `total`. lengths: int64 [batch], of parts behind each other, or with offsets, of parts that begin there (what lies between
    is left out, by a copy). max_seqlen: the largest length, where it is known.
    ValueError for offsets and lengths that do not fit, with the place; TypeError for other dtypes.
    """
    name = "nested_tensor_from_jagged"
    if not isinstance(values, weft.Tensor) or not len(values.shape):
        raise ArgumentTypeError(f"{name}: values: expected a tensor [total, …]")
    ragged = 1 if jagged_dim is None else jagged_dim
    if not 1 <= ragged <= len(values.shape):
        raise ArgumentError(f"{name}: jagged_dim: expected 1 to {len(values.shape)}, got {ragged}")
    if ragged != 1:
        values = weft.permute(
            values, [ragged - 1, *(axis for axis in range(len(values.shape)) if axis != ragged - 1)]
        )
    if offsets is None and lengths is None:
        raise ArgumentError(f"{name}: offsets or lengths are needed")
    for what, given in (("offsets", offsets), ("lengths", lengths)):
        if given is None:
            continue
        if not isinstance(given, weft.Tensor) or len(given.shape) != 1:
            raise ArgumentTypeError(f"{name}: {what}: expected a tensor of one dimension")
        if given.dtype not in (weft.int64, weft.int32):
            raise ArgumentTypeError(f"{name}: {what}: expected int64, got {given.dtype}")
    if lengths is not None and not weft.compiler.is_compiling():
        for number, length in enumerate(lengths.tolist()):
            if length < 0:
                raise ArgumentError(f"{name}: lengths: lengths[{number}] is {length}")
    if offsets is None:
        total = weft.cumsum(lengths.to(weft.int64), 0)
        offsets = weft.cat([weft.zeros([1], dtype=weft.int64), total])
        lengths = None
    if weft.compiler.is_compiling():
        if lengths is not None:
            raise ArgumentTypeError(f"{name}: offsets with lengths in a compiled function; make it before")
        return NestedTensor(values, offsets, ragged, max_seqlen)
    bounds = _check_offsets(name, offsets, values.shape[0])
    if lengths is not None:
        sizes = lengths.tolist()
        if len(sizes) != len(bounds) - 1:
            raise ArgumentError(f"{name}: lengths: expected {len(bounds) - 1}, got {len(sizes)}")
        for number, (start, end, size) in enumerate(zip(bounds, bounds[1:], sizes)):
            if size > end - start:
                raise ArgumentError(
                    f"{name}: lengths: lengths[{number}] is {size}, and offsets leave {end - start} for it"
                )
        values = weft.cat([values[start : start + size] for start, size in zip(bounds, sizes)])
        offsets = weft.tensor([0, *itertools.accumulate(sizes)], dtype=weft.int64)
        bounds = offsets.tolist()
    elif bounds[-1] != values.shape[0]:
        raise ArgumentError(
            f"{name}: offsets: the last one is {bounds[-1]}, and values have {values.shape[0]} rows: slice them, or give lengths"
        )
    longest = max((end - start for start, end in zip(bounds, bounds[1:])), default=0)
    if max_seqlen is not None and max_seqlen < longest:
        raise ArgumentError(f"{name}: max_seqlen: expected at least {longest}, got {max_seqlen}")
    return NestedTensor(values, offsets, ragged, longest)


def to_padded_tensor(input, padding, output_size=None, out=None):
    """NestedTensor.to_padded_tensor."""
    if not isinstance(input, (NestedTensor, StridedNestedTensor)):
        raise ArgumentTypeError(f"to_padded_tensor: expected a nested tensor, got {type(input).__name__}")
    return input.to_padded_tensor(padding, output_size)


def narrow(tensor, dim, start, length, layout=None):
    """Of each part of a tensor [batch, rows, …], the rows from start[i] on, length[i] of them (numbers: the same for all); dim is 1.
    Elements are copied."""
    _check_layout("narrow", layout)
    if dim != 1 or len(tensor.shape) < 2:
        raise ArgumentError(f"narrow: expected dim=1 of a tensor of two dimensions or more, got {dim}")
    count, rows = tensor.shape[0], tensor.shape[1]
    starts = start.tolist() if isinstance(start, weft.Tensor) else [start] * count
    lengths = length.tolist() if isinstance(length, weft.Tensor) else [length] * count
    if len(starts) != count or len(lengths) != count:
        raise ArgumentError(
            f"narrow: expected {count} starts and lengths, got {len(starts)} and {len(lengths)}"
        )
    for number, (first, size) in enumerate(zip(starts, lengths)):
        if first < 0 or size < 0 or first + size > rows:
            raise ArgumentError(f"narrow: part {number}: rows {first} to {first + size} of {rows}")
    return nested_tensor(
        [tensor[i, first : first + size] for i, (first, size) in enumerate(zip(starts, lengths))], ragged=1
    )


def masked_select(tensor, mask):
    """Of each row of a tensor, the elements where the mask is true: (batch, j1)."""
    if len(tensor.shape) != 2 or len(mask.shape) != 2 or mask.dtype != weft.bool:
        raise ArgumentError("masked_select: expected a tensor and a mask of bool, of two dimensions")
    shape = [max(one, other) for one, other in zip(tensor.shape, mask.shape)]
    tensor, mask = weft.expand(tensor, shape), weft.expand(mask, shape)
    lengths = weft.sum(mask.to(weft.int64), 1)
    return nested_tensor_from_jagged(weft.masked_select(tensor, mask), lengths=lengths)
