"""Joining, diagonals, common shapes."""

from typing import List

import weft as _weft
from weft import Tensor

from . import aten, number
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


# ---- matrices seen otherwise, sums to a shape, diagonals in place -------------------------------------------
@aten("adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped, conjugated; of no dimension the input itself."""
    need_tensor("adjoint", input)
    if input.dim() == 1:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    turned = input if input.dim() == 0 else input.transpose(-2, -1)
    return _weft.conj(turned) if input.is_complex() else turned


@aten("mH(Tensor(a) self) -> Tensor(a)")
def mH(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    if input.dim() == 0:
        return input
    if input.dim() < 2:
        raise RuntimeError(
            f"tensor.mH is a matrix's or those of a batch: expected 2 dimensions or more, got {input.dim()}"
        )
    return adjoint(input)


@aten("sum_to_size(Tensor self, int[] size) -> Tensor")
def sum_to_size(input: Tensor, size: List[int]) -> Tensor:
    """The sum over the dimensions that broadcasting to this tensor's shape would stretch in a tensor of shape `size`."""
    lead = input.dim() - len(size)
    fits = lead >= 0
    dims = list(range(lead))
    for at, wanted in enumerate(size):
        if fits and wanted != input.shape[lead + at]:
            dims.append(lead + at)
            fits = wanted == 1
    if not fits:
        raise RuntimeError(f"sum_to_size: size {list(size)} does not broadcast to {list(input.shape)}")
    if len(dims) == 0:
        return input if input.dim() > 0 else input.sum()
    return input.sum(dims, keepdim=True).reshape(size)


@aten("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor")
def tensordot(a: Tensor, b: Tensor, first: List[int], second: List[int]) -> Tensor:
    """The sum of products over dimensions of each."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"tensordot: both inputs should have one dtype, got {a.dtype} and {b.dtype}")
    # A dimension of size 1 goes with every other: what is beside it is summed.
    for left, right in zip(first, second):
        if a.shape[left] == 1 and b.shape[right] != 1:
            b = b.sum([right], keepdim=True, dtype=b.dtype)
        elif b.shape[right] == 1 and a.shape[left] != 1:
            a = a.sum([left], keepdim=True, dtype=a.dtype)
    return _weft.tensordot(a, b, dims_x=first, dims_y=second)


@aten("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)")
def fill_diagonal_(input: Tensor, fill_value: number, wrap: bool) -> Tensor:
    """The main diagonal set to a value; wrap: again after every square of a tall matrix."""
    sizes = list(input.shape)
    if len(sizes) < 2:
        raise RuntimeError(f"fill_diagonal_: expected at least 2 dimensions, got {len(sizes)}")
    if len(sizes) > 2 and min(sizes) != max(sizes):
        raise RuntimeError(f"fill_diagonal_: expected dimensions of one length, got {sizes}")
    if wrap and len(sizes) == 2 and sizes[0] > sizes[1] + 1:
        # In the order of rows, every (columns + 1)th element.
        places = _weft.arange(0, sizes[0] * sizes[1], sizes[1] + 1, device=input.device)
        input[places // sizes[1], places % sizes[1]] = fill_value
        return input
    diagonal = input
    for _ in range(len(sizes) - 1):
        diagonal = diagonal.diagonal(0, 0, 1)
    diagonal.fill_(fill_value)
    return input
