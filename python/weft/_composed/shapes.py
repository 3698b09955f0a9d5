"""Joining, diagonals, common shapes."""

from typing import List

import weft as _weft
from weft import Tensor

from . import aten
from .checks import dimension, need_tensor


def common_shape(function: str, first: List[int], second: List[int]) -> List[int]:
    """The shape that tensors of these shapes broadcast to."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    sizes = list(longer)
    start = len(longer) - len(shorter)
    for at, size in enumerate(shorter):
        if size != 1 and sizes[start + at] != 1 and sizes[start + at] != size:
            raise RuntimeError(
                f"{function}: shape mismatch: objects cannot be broadcast to a single shape: {first} and {second}"
            )
        if size != 1:
            sizes[start + at] = size
    return sizes


@aten("block_diag(Tensor[] tensors) -> Tensor")
def block_diag_of(tensors: List[Tensor]) -> Tensor:
    if len(tensors) == 0:
        return _weft.zeros([1, 0])
    matrices = [each.reshape(1, -1) if each.dim() < 2 else each for each in tensors]
    dtype = matrices[0].dtype
    columns = 0
    for at, each in enumerate(matrices):
        if each.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {at} has {each.dim()} dimensions"
            )
        dtype = _weft.promote_types(dtype, each.dtype)
        columns += each.shape[1]
    rows = [_weft.zeros([0, columns], dtype=dtype)]
    before = 0
    for each in matrices:
        height, width = each.shape[0], each.shape[1]
        left = _weft.zeros([height, before], dtype=dtype)
        right = _weft.zeros([height, columns - before - width], dtype=dtype)
        rows.append(_weft.cat([left, each.to(dtype), right], 1))
        before += width
    return _weft.cat(rows, 0)


@aten("cartesian_prod(Tensor[] tensors) -> Tensor")
def cartesian_prod_of(tensors: List[Tensor]) -> Tensor:
    for each in tensors:
        if each.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(each.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return _weft.stack([grid.reshape(-1) for grid in _weft.meshgrid(tensors, indexing="ij")], 1)


@aten(
    'pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right") -> Tensor'
)
def pad_sequence(
    sequences: List[Tensor], batch_first: bool, padding_value: float, padding_side: str
) -> Tensor:
    if padding_side != "left" and padding_side != "right":
        raise ValueError(f"pad_sequence: padding_side must be 'left' or 'right', got '{padding_side}'")
    if len(sequences) == 0:
        raise RuntimeError("pad_sequence: expected at least one sequence")
    trailing = list(sequences[0].shape[1:])
    steps = max([sequence.shape[0] for sequence in sequences])
    result = _weft.full([len(sequences), steps] + trailing, padding_value, dtype=sequences[0].dtype)
    for row, sequence in enumerate(sequences):
        if list(sequence.shape[1:]) != trailing:
            raise ValueError(
                f"pad_sequence: expected sequences whose shapes are alike but for the first dimension, which "
                f"{list(sequence.shape)} and {list(sequences[0].shape)} are not"
            )
        count = sequence.shape[0]
        start = steps - count if padding_side == "left" else 0
        if count > 0:
            result[row, start : start + count] = sequence
    return result if batch_first else result.transpose(0, 1)


@aten("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices of two new dimensions with the last dimension of the input on a diagonal."""
    need_tensor("diag_embed", input)
    rank = input.dim() + 1
    first, second = dimension("diag_embed", dim1, rank), dimension("diag_embed", dim2, rank)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if first > second:  # the diagonal counts from the dimension named first
        first, second, offset = second, first, -offset
    length = input.shape[-1]
    size = length + abs(offset)
    rows, columns = _weft.arange(size).unsqueeze(1), _weft.arange(size)
    if length == 0:
        result = _weft.zeros(list(input.shape[:-1]) + [size, size], dtype=input.dtype)
    else:
        at = _weft.clamp(rows if offset >= 0 else columns, min=0, max=length - 1)
        spread = _weft.index_select(input, -1, at.reshape(-1)).unsqueeze(-1 if offset >= 0 else -2)
        result = _weft.where(columns - rows == offset, spread, _weft.zeros([], dtype=input.dtype))
    return result.movedim([-2, -1], [first, second]).contiguous()


@aten("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r elements of a one-dimensional tensor, a row each."""
    need_tensor("combinations", input)
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return _weft.zeros([0], dtype=input.dtype)
    count = input.shape[0]
    step = 0 if with_replacement else 1
    rows = [[at] for at in range(count)]
    for _ in range(r - 1):
        longer: List[List[int]] = []
        for row in rows:
            for at in range(row[-1] + step, count):
                longer.append(row + [at])
        rows = longer
    places: List[int] = []
    for row in rows:
        places += row
    chosen = _weft.index_select(input, 0, _weft.tensor(places, dtype=_weft.int64))
    return chosen.reshape([len(rows), r])
