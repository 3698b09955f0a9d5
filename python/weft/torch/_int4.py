"""Weight-only int4 as PyTorch packs it, for CPUs: _convert_weight_to_int4pack_for_cpu, and _weight_int4pack_mm_for_cpu, which is
weft's operator; and for GPUs: _convert_weight_to_int4pack and _weight_int4pack_mm, here on the CPU, too.

weft._convert_weight_to_int4pack_for_cpu says how packs for CPUs lie (`src/ops/int4_packs.cc`).

For GPUs, the eight numbers of an int32 [n / 8, k / (16 tiles), 32, tiles / 2] are those that a thread of a product on tensor cores
multiplies: row t // 4 of eight, and of 32 columns those at 2 (t % 4) + {0, 8, 16, 24} in its low half, and at one more in the high half.

source: what PyTorch 2.15 packs; its kernel for the layout of GPUs.
"""

import weft


def _convert_weight_to_int4pack_for_cpu(self, innerKTiles):
    """int32 q[n, k] in [0, 15] -> uint8 [n, k / 2]. raises: RuntimeError unless n divides by 16 and k by 2."""
    if self.ndim != 2 or self.dtype is not weft.int32:
        raise RuntimeError(
            f"_convert_weight_to_int4pack_cpu: expected an int32 matrix, got {self.dtype} {tuple(self.shape)}"
        )
    rows, columns = self.shape
    if rows % 16:
        raise RuntimeError("_convert_weight_to_int4pack_cpu : expect N to be dividable by 16")
    if columns % 2:
        raise RuntimeError("_convert_weight_to_int4pack_cpu : expect K to be dividable by 2")
    return weft._convert_weight_to_int4pack_for_cpu(self, innerKTiles)


def _shifts():
    """Where each of eight numbers stands: [16 columns, 8 columns, 1 column]."""
    return weft.tensor([[[0, 16], [4, 20]], [[8, 24], [12, 28]]])


def _convert_weight_to_int4pack(self, innerKTiles):
    """int32 q[n, k] in [0, 15], or two of them in a byte [n, k / 2] (the even column's in the high bits) -> int32
    [n / 8, k / (16 innerKTiles), 32, innerKTiles / 2]. raises: RuntimeError for other shapes and dtypes."""
    if self.dtype is weft.uint8 and self.ndim == 2:
        q = weft.stack([self >> 4, self & 15], 2).reshape(self.shape[0], -1)
    else:
        q = self
    if q.ndim != 2 or q.dtype not in (weft.int32, weft.uint8):
        raise RuntimeError(
            f"_convert_weight_to_int4pack: expected an int32 matrix, got {self.dtype} {tuple(self.shape)}"
        )
    rows, columns = q.shape
    if innerKTiles not in (2, 4, 8):
        raise RuntimeError(f"_convert_weight_to_int4pack: innerKTiles is 2, 4 or 8, not {innerKTiles}")
    if rows % 8 or columns % (16 * innerKTiles):
        raise RuntimeError(
            f"_convert_weight_to_int4pack: expected rows by 8 and columns by {16 * innerKTiles}, got {tuple(q.shape)}"
        )
    parts = q.to(weft.int64).reshape(
        rows // 8, 8, columns // (16 * innerKTiles), innerKTiles // 2, 2, 2, 4, 2
    )
    words = (parts.permute(0, 2, 1, 6, 3, 4, 5, 7) << _shifts()).sum((5, 6, 7))
    words = weft.where(words >= 1 << 31, words - (1 << 32), words).to(weft.int32)
    return words.reshape(rows // 8, columns // (16 * innerKTiles), 32, innerKTiles // 2)


def unpack_for_gpus(packed):
    """int32 [n / 8, k / (16 tiles), 32, tiles / 2] -> q[n, k] as uint8."""
    blocks, outer, _, pairs = packed.shape
    words = packed.to(weft.int64).reshape(blocks, outer, 8, 4, pairs, 1, 1, 1)
    numbers = ((words >> _shifts()) & 15).to(weft.uint8)
    return numbers.permute(0, 2, 1, 4, 5, 6, 3, 7).reshape(blocks * 8, outer * pairs * 32)


def _weight_int4pack_mm(self, mat2, qGroupSize, qScaleAndZeros):
    """x[m, k] @ w.T of weights as _convert_weight_to_int4pack gives them, which are packed anew in each call, or bytes [n, k / 2] as
    weft packs them."""
    if mat2.dtype is weft.int32:
        q = unpack_for_gpus(mat2)
        mat2 = (q[:, 0::2] << 4) | q[:, 1::2]
    return weft._weight_int4pack_mm(self, mat2, qGroupSize, qScaleAndZeros)
