"""Positions of 2:4 sparse weights: made of dense ones, and in the order of PyTorch's CUTLASS metadata.

Four elements have four bits: the place of the first that is kept, and two bits above that of the second.
"""

import numpy

import weft
from weft._errors import ArgumentError, ArgumentTypeError

_PAIRS = {(0, 1): 0b0100, (0, 2): 0b1000, (1, 2): 0b1001, (0, 3): 0b1100, (1, 3): 0b1101, (2, 3): 0b1110}
_LANES = numpy.zeros(
    16, numpy.uint8
)  # of four bits of positions, the bits of the lanes; 0 for what is no pair
for (_first, _second), _bits in _PAIRS.items():
    _LANES[_bits] = 1 << _first | 1 << _second


def _bits_of(weight):
    """NumPy's view of the weight, of its bits where NumPy has no such dtype."""
    return (weight.view(weft.int16) if weight.dtype == weft.bfloat16 else weight).contiguous().numpy()


def _tensor(array, dtype):
    made = weft.from_numpy(numpy.ascontiguousarray(array))
    return made.view(weft.bfloat16) if dtype == weft.bfloat16 else made


def compress(name, dense):
    """(values, positions) of a weight; where fewer than two of four are not zero, PyTorch's choice of places."""
    rows, columns = dense.shape
    bits = _bits_of(dense).reshape(rows, columns // 4, 4)
    kept = (dense != 0).numpy().reshape(rows, columns // 4, 4)
    counts = kept.sum(-1)
    if counts.max(initial=0) > 2:
        row, block = numpy.argwhere(counts > 2)[0]
        raise ArgumentError(
            f"{name}: row {row} has {counts[row, block]} elements other than zero at {4 * block} to {4 * block + 3}, at most 2 of 4 can "
            "be: weft.sparse.prune() first"
        )
    m0, m1, m3 = kept[..., 0], kept[..., 1], kept[..., 3]
    first = (~m0 & m1).astype(numpy.uint8) | (~m0 & ~m1).astype(numpy.uint8) << 1
    second = ((m0 & m1) | (~m0 & ~m1) | m3).astype(numpy.uint8) | ((~m0 & m1) | ~m1).astype(numpy.uint8) << 1
    places = numpy.stack([first, second], -1).astype(numpy.int64)
    values = numpy.take_along_axis(bits, places, -1).reshape(rows, columns // 2)
    quads = first | second << 2
    return _tensor(values, dense.dtype), weft.from_numpy(quads[:, ::2] | quads[:, 1::2] << 4)


def lanes_of(positions):
    """A bit per element, of positions [n, k / 8]. ValueError where they are not two of four."""
    packed = positions.numpy()
    low, high = _LANES[packed & 15], _LANES[packed >> 4]
    if packed.size and (low.min() == 0 or high.min() == 0):
        row, column = numpy.argwhere((low == 0) | (high == 0))[0]
        raise ArgumentError(
            f"positions: {packed[row, column]:#04x} at [{row}, {column}] are not two of each four, in order"
        )
    return weft.from_numpy(low | high << 4)


def _order(rows, columns):
    """Where elements of int16 metadata [rows, columns] stand in the reordered one.
    source: PyTorch's _calculate_meta_reordering_scatter_offsets; the layout is CUTLASS's ColumnMajorInterleaved<2>."""
    row, column = numpy.indices((rows, columns))
    row = row // 32 * 32 + row % 8 * 4 + row % 32 // 8
    swap = (row % 2 == 0) & (column % 2 == 1)
    back = (row % 2 == 1) & (column % 2 == 0)
    step = swap.astype(numpy.int64) - back
    row, column = row + step, column - step
    return (column // 2 * rows * 2 + row * 2 + column % 2).reshape(-1)


def _check(rows, columns, dtype):
    if dtype == weft.float32:
        raise ArgumentTypeError("the CUTLASS format has float32 in 1:2 only; bfloat16 is 2:4")
    if rows % 32 or columns % 16:
        raise ArgumentError(
            f"the CUTLASS format: expected n to be a multiple of 32 and k of 16, got ({rows}, {columns})"
        )


def write(values, positions):
    rows, columns = values.shape[0], values.shape[1] * 2
    _check(rows, columns, values.dtype)
    plain = numpy.ascontiguousarray(positions.numpy()).view(numpy.int16)
    metadata = numpy.empty(plain.size, numpy.int16)
    metadata[_order(*plain.shape)] = plain.reshape(-1)
    return values, weft.from_numpy(metadata.reshape(plain.shape))


def read(values, metadata):
    if not isinstance(values, weft.Tensor) or not isinstance(metadata, weft.Tensor) or len(values.shape) != 2:
        raise ArgumentTypeError("from_cutlass: expected values [n, k / 2] and metadata")
    rows, columns = values.shape[0], values.shape[1] * 2
    _check(rows, columns, values.dtype)
    if metadata.dtype != weft.int16 or tuple(metadata.shape) != (rows, columns // 16):
        raise ArgumentError(
            f"from_cutlass: expected metadata int16 {(rows, columns // 16)}, got {metadata.dtype} {tuple(metadata.shape)}"
        )
    plain = metadata.numpy().reshape(-1)[_order(rows, columns // 16)].reshape(rows, columns // 16)
    return weft.from_numpy(numpy.ascontiguousarray(plain).view(numpy.uint8))
