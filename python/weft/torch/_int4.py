"""Weight-only int4 as PyTorch packs it, for CPUs: _convert_weight_to_int4pack_for_cpu and _weight_int4pack_mm_for_cpu; and for GPUs:
_convert_weight_to_int4pack and _weight_int4pack_mm, here on the CPU, too.

Packed are blocks of rows, 32 (64 where PyTorch would use AVX-512), and of each block a column at a time: byte d of a column
holds row d in its low bits and row d + block / 2 in its high bits. In a last block of fewer rows, rows 2 d and 2 d + 1.

For GPUs, the eight numbers of an int32 [n / 8, k / (16 tiles), 32, tiles / 2] are those that a thread of a product on tensor cores
multiplies: row t // 4 of eight, and of 32 columns those at 2 (t % 4) + {0, 8, 16, 24} in its low half, and at one more in the high half.

source: what PyTorch 2.15 packs; its kernel for the layout of GPUs.
"""

import functools

import weft


@functools.cache
def _block():
    import os

    from .backends import cpu

    capability = os.environ.get("ATEN_CPU_CAPABILITY", "").upper() or cpu.get_cpu_capability()
    return 64 if capability == "AVX512" else 32


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
    block = _block()
    whole = rows - rows % block
    values, parts = self.to(weft.uint8), []
    if whole:
        blocks = values[:whole].reshape(-1, 2, block // 2, columns)
        parts.append((blocks[:, 0] | (blocks[:, 1] << 4)).transpose(1, 2).reshape(whole, columns // 2))
    if whole < rows:
        last = values[whole:]
        parts.append((last[0::2] | (last[1::2] << 4)).transpose(0, 1).reshape(rows - whole, columns // 2))
    return parts[0] if len(parts) == 1 else weft.cat(parts, 0)


def unpack(packed):
    """uint8 [n, k / 2] -> q[n, k] as uint8."""
    rows, columns = packed.shape[0], packed.shape[1] * 2
    block = _block()
    whole = rows - rows % block
    parts = []
    if whole:
        pairs = packed[:whole].reshape(-1, columns, block // 2).transpose(1, 2)
        parts.append(weft.stack([pairs & 15, pairs >> 4], 1).reshape(whole, columns))
    if whole < rows:
        pairs = packed[whole:].reshape(columns, (rows - whole) // 2).transpose(0, 1)
        parts.append(weft.stack([pairs & 15, pairs >> 4], 1).reshape(rows - whole, columns))
    return parts[0] if len(parts) == 1 else weft.cat(parts, 0)


def _weight_int4pack_mm_for_cpu(self, mat2, qGroupSize, qScaleAndZeros):
    """x[m, k] @ w.T, where w[n, k] is (q - 8) * scale + zero of its group of qGroupSize columns."""
    q = unpack(mat2)
    if self.dtype is weft.bfloat16 and qScaleAndZeros.dtype is weft.bfloat16:
        return weft._weight_int4pack_mm(self, (q[:, 0::2] << 4) | q[:, 1::2], qGroupSize, qScaleAndZeros)
    rows, columns = q.shape
    groups = q.reshape(rows, columns // qGroupSize, qGroupSize).to(weft.float32) - 8
    scales = qScaleAndZeros.to(weft.float32).transpose(0, 1)
    weight = (groups * scales[:, :, 0:1] + scales[:, :, 1:2]).reshape(rows, columns)
    return weft.matmul(self.to(weft.float32), weight.transpose(0, 1)).to(self.dtype)


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
