"""Weight-only quantization against the formulas in NumPy."""

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

import weft

EPSILON = np.finfo(np.float32).eps


def bfloat16(x):
    """float32 rounded to bfloat16, half to even, as float32."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def int8_formula(w):
    scale = np.maximum(np.abs(w).max(axis=1, initial=0) / np.float32(127.5), EPSILON)
    return np.clip(np.rint(w / scale[:, None]), -128, 127).astype(np.int8), scale


def int4_formula(w, group):
    """(q, scale, zero, dequantized), q before packing."""
    n, k = w.shape
    groups = w.reshape(n, k // group, group)
    low, high = groups.min(axis=2), groups.max(axis=2)
    exact = np.maximum(high - low, np.float32(1e-6)) / np.float32(15)
    scale, zero = bfloat16(exact), bfloat16(low + exact * np.float32(8))
    least = zero - scale * np.float32(8)
    q = np.clip(np.rint((groups - least[..., None]) / scale[..., None]), 0, 15)
    dequantized = (q - 8).astype(np.float32) * scale[..., None] + zero[..., None]
    return q.reshape(n, k).astype(np.uint8), scale, zero, dequantized.reshape(n, k)


def stories():
    """Weights of a trained model, where there is one."""
    path = Path(os.environ.get("WEFT_SHARED_DATA", "../shared/data")) / "stories260k" / "model.safetensors"
    if not path.exists():
        return []
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    entries = json.loads(data[8 : 8 + length])
    arrays = []
    for name, entry in entries.items():
        if name != "__metadata__" and entry["dtype"] == "F32" and len(entry["shape"]) == 2:
            begin, end = entry["data_offsets"]
            arrays.append(np.frombuffer(data[8 + length + begin : 8 + length + end], np.float32).reshape(entry["shape"]))
    return arrays


def samples(columns):
    rng = np.random.default_rng(0)
    yield rng.standard_normal((37, columns)).astype(np.float32)
    yield (rng.standard_normal((5, columns)) * 10.0 ** rng.integers(-30, 30, (5, 1))).astype(np.float32)
    yield np.zeros((3, columns), np.float32)
    yield np.full((2, columns), -2.5, np.float32)
    # Halves: every quotient lies between two integers.
    yield np.tile(np.float32([127.5, 0.5, 1.5, 2.5, -0.5, -1.5, -126.5, -127.5]), (2, columns // 8))


@pytest.mark.parametrize("columns", [32, 256])
def test_int8_is_the_formula(columns):
    for w in [*samples(columns), *stories()]:
        values, scales = weft.quantize_int8(weft.tensor(w))
        expected, expected_scales = int8_formula(w)
        np.testing.assert_array_equal(scales.numpy(), expected_scales)
        np.testing.assert_array_equal(values.numpy(), expected)
        np.testing.assert_array_equal(weft.dequantize_int8(values, scales).numpy(), expected.astype(np.float32) * expected_scales[:, None])


@pytest.mark.parametrize("group", [32, 64, 128, 256])
def test_int4_is_the_formula(group):
    for w in [*samples(2 * group), *(w for w in stories() if w.shape[1] % group == 0)]:
        values, scales = weft.quantize_int4(weft.tensor(w), group)
        q, scale, zero, dequantized = int4_formula(w, group)
        np.testing.assert_array_equal(values.numpy(), q[:, ::2] << 4 | q[:, 1::2])
        pairs = scales.to(weft.float32).numpy()
        np.testing.assert_array_equal(pairs[..., 0].T, scale)
        np.testing.assert_array_equal(pairs[..., 1].T, zero)
        np.testing.assert_array_equal(weft.dequantize_int4(values, scales, group).numpy(), dequantized)


def test_int4_last_group_may_be_short():
    w = np.random.default_rng(1).standard_normal((4, 76)).astype(np.float32)
    values, scales = weft.quantize_int4(weft.tensor(w), 32)
    head, tail = int4_formula(w[:, :64], 32), int4_formula(w[:, 64:], 12)
    assert scales.shape == (3, 4, 2)
    expected = np.concatenate([head[3], tail[3]], axis=1)
    np.testing.assert_array_equal(weft.dequantize_int4(values, scales, 32).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bit_weights_quantize_as_their_floats(dtype):
    w = weft.tensor(next(samples(64))).to(getattr(weft, dtype))
    for quantize in (weft.quantize_int8, weft.quantize_int4):
        for narrow, wide in zip(quantize(w), quantize(w.to(weft.float32)), strict=True):
            np.testing.assert_array_equal(narrow.to(weft.float32).numpy(), wide.to(weft.float32).numpy())


def test_errors():
    w = weft.ones((4, 64))
    with pytest.raises(TypeError, match="expected weight of float32, float16 or bfloat16"):
        weft.quantize_int8(weft.ones((4, 4), dtype=weft.int32))
    with pytest.raises(ValueError, match=r"expected weight \[n, k\]"):
        weft.quantize_int8(weft.ones(4))
    with pytest.raises(ValueError, match="infinity or NaN in row 2"):
        weft.quantize_int8(weft.tensor(np.float32([[1, 2], [3, 4], [5, np.nan]])))
    with pytest.raises(ValueError, match="infinity or NaN in row 1"):
        weft.quantize_int4(weft.tensor(np.float32([[1, 2], [3, np.inf]])))
    with pytest.raises(ValueError, match="expected group_size 32, 64, 128 or 256, got 48"):
        weft.quantize_int4(w, 48)
    with pytest.raises(ValueError, match="even number of columns, got 63"):
        weft.quantize_int4(weft.ones((4, 63)))
    values, scales = weft.quantize_int4(w)
    with pytest.raises(ValueError, match="expected scales_and_zeros"):
        weft.dequantize_int4(values, scales, 64)
