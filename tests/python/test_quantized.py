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
            arrays.append(
                np.frombuffer(data[8 + length + begin : 8 + length + end], np.float32).reshape(entry["shape"])
            )
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
        np.testing.assert_array_equal(
            weft.dequantize_int8(values, scales).numpy(),
            expected.astype(np.float32) * expected_scales[:, None],
        )


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


# ---- products ---------------------------------------------------------------------------------------------------
def quantized(scheme, w):
    """Operands of linear_packed after the input, its keywords, and the weights that they stand for."""
    if scheme == "int8":
        values, scales = weft.quantize_int8(w)
        return (values, scales), {}, weft.dequantize_int8(values, scales).numpy()
    if scheme == "int4":
        values, scales = weft.quantize_int4(w, 64)
        return (values, scales), {"group_size": 64}, weft.dequantize_int4(values, scales, 64).numpy()
    narrow = w.to(getattr(weft, scheme))
    return (narrow,), {}, narrow.to(weft.float32).numpy()


@pytest.mark.parametrize("scheme", ["float32", "float16", "bfloat16", "int8", "int4"])
@pytest.mark.parametrize("precision", ["float32", "int16", "int8"])
@pytest.mark.parametrize("rows", [1, 5, 33])
def test_linear_packed(scheme, precision, rows):
    rng = np.random.default_rng(2)
    w, b = rng.standard_normal((70, 192)).astype(np.float32), rng.standard_normal(70).astype(np.float32)
    x, residual = (
        rng.uniform(-1, 1, (rows, 192)).astype(np.float32),
        rng.standard_normal((rows, 70)).astype(np.float32),
    )
    operands, keywords, exact = quantized(scheme, weft.tensor(w))
    keywords |= {
        "bias": weft.tensor(b),
        "residual": weft.tensor(residual),
        "activation": "silu",
        "precision": precision,
    }
    sums = x.astype(np.float64) @ exact.T.astype(np.float64) + b
    expected = sums / (1 + np.exp(-sums)) + residual
    rounding = (
        {"float32": 0, "int16": 0.5 / 32512, "int8": 0.5 / 127}[precision]
        if scheme in ("int8", "int4")
        else 0
    )
    # silu's slope is at most 1.1.
    bound = 1.1 * (rounding * np.abs(exact).sum(axis=1) + 2e-6 * (1 + np.abs(x) @ (np.abs(exact) + 1).T))

    def run(x):
        return weft.linear_packed(x, *operands, **keywords)

    actual, compiled = run(weft.tensor(x)), weft.compile(run)(weft.tensor(x))
    assert (np.abs(actual.numpy() - expected) <= bound).all()
    np.testing.assert_array_equal(compiled.numpy(), actual.numpy())


def test_names_of_pytorch():
    w, x = (
        weft.tensor(next(samples(128))),
        weft.tensor(np.random.default_rng(3).standard_normal((3, 128)).astype(np.float32)),
    )
    values, scales = weft.quantize_int8(w)
    np.testing.assert_array_equal(
        weft._weight_int8pack_mm(x, values, scales).numpy(), weft.linear_packed(x, values, scales).numpy()
    )
    values, scales = weft.quantize_int4(w, 32)
    q = np.stack([values.numpy() >> 4, values.numpy() & 15], axis=2).reshape(37, 128)
    packed = weft._convert_weight_to_int4pack(weft.tensor(q.astype(np.int32)), 8)
    np.testing.assert_array_equal(packed.numpy(), values.numpy())
    np.testing.assert_array_equal(
        weft._weight_int4pack_mm(x, packed, 32, scales).numpy(),
        weft.linear_packed(x, values, scales, group_size=32).numpy(),
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_linear_packed_rounds_sixteen_bit_results_once(dtype):
    w, x = (
        weft.tensor(next(samples(64))),
        weft.tensor(np.random.default_rng(4).standard_normal((2, 64)).astype(np.float32)),
    )
    values, scales = weft.quantize_int8(w)
    narrow = x.to(getattr(weft, dtype))
    y = weft.linear_packed(narrow, values, scales)
    assert y.dtype == narrow.dtype
    wide = weft.linear_packed(narrow.to(weft.float32), values, scales).to(narrow.dtype)
    np.testing.assert_array_equal(y.to(weft.float32).numpy(), wide.to(weft.float32).numpy())


def test_errors_of_products():
    x, w = weft.ones((2, 64)), weft.ones((8, 64))
    values, scales = weft.quantize_int8(w)
    with pytest.raises(TypeError, match="expected scales of float32 with weight of int8"):
        weft.linear_packed(x, values)
    with pytest.raises(TypeError, match="floating weights take no scales"):
        weft.linear_packed(x, w, scales)
    with pytest.raises(ValueError, match=r"expected scales \[n\]"):
        weft.linear_packed(x, values, scales[1:])
    with pytest.raises(ValueError, match=r"expected input \[..., 64\]"):
        weft.linear_packed(x[:, 1:], values, scales)
    with pytest.raises(ValueError, match="expected group_size 32, 64, 128 or 256 with int4 weights, got 0"):
        weft.linear_packed(x, *weft.quantize_int4(w))
    with pytest.raises(
        ValueError,
        match="expected activation one of 'none', 'relu', 'relu6', .*, 'gelu_erf', 'gelu_tanh', got 'tanh'",
    ):
        weft.linear_packed(x, values, scales, activation="tanh")
    with pytest.raises(ValueError, match="expected residual of the result's type"):
        weft.linear_packed(x, values, scales, residual=weft.ones((2, 9)))
    with pytest.raises(ValueError, match=r"expected bias \[8\]"):
        weft.linear_packed(x, values, scales, weft.ones(9))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_compiled_products_with_sixteen_bit_constants(dtype):
    rng = np.random.default_rng(5)
    w = weft.tensor(rng.standard_normal((70, 96)).astype(np.float32)).to(getattr(weft, dtype))
    f = weft.compile(lambda x: weft.linear(x, w) + 1)
    for shape in [(1, 96), (2, 5, 96), (40, 96)]:
        x = weft.tensor(rng.standard_normal(shape).astype(np.float32)).to(w.dtype)
        exact = x.to(weft.float32).numpy().astype(np.float64) @ w.to(weft.float32).numpy().T.astype(
            np.float64
        )
        unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
        # Rounded as a product, then as a sum.
        assert (
            np.abs(f(x).to(weft.float32).numpy() - (exact + 1))
            <= 1.01 * unit * (2 * np.abs(exact) + 1) + 1e-4
        ).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, 70, 96), (5, 600, 300), (40, 33, 1000), (3, 5, 0), (64, 1, 7)])
def test_eager_products_of_sixteen_bits_are_rounded_once(dtype, shape):
    m, n, k = shape
    rng = np.random.default_rng(6)
    dtype = getattr(weft, dtype)
    a, b = (weft.tensor(rng.standard_normal(s).astype(np.float32)).to(dtype) for s in ((m, k), (n, k)))
    exact = a.to(weft.float32).numpy().astype(np.float64) @ b.to(weft.float32).numpy().T.astype(np.float64)
    unit = 2.0**-11 if dtype == weft.float16 else 2.0**-8
    for y in (weft.linear(a, b), weft.matmul(a, b.T.contiguous()), weft.matmul(a.T.contiguous().T, b.T)):
        assert y.dtype == dtype
        assert (np.abs(y.to(weft.float32).numpy() - exact) <= 1.01 * unit * np.abs(exact) + 1e-4).all()
