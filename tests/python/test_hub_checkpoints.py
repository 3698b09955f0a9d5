"""Checkpoints that other programs quantized compute as their dequantized weights do."""

import json
import os
import pathlib
import shutil

import numpy as np
import pytest
import weft
import weft.models
from causal_lm_reference import load

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
FAMILIES = SHARED / "causal_lms"
pytestmark = pytest.mark.skipif(not FAMILIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
open_model = weft.models.CausalModel.from_pretrained
NAMES = {"float32": "F32", "float16": "F16", "int32": "I32", "int8": "I8", "uint8": "U8"}
NF4 = np.array(
    [
        -1.0,
        -0.6961928,
        -0.52507305,
        -0.39491749,
        -0.28444138,
        -0.18477343,
        -0.09105004,
        0.0,
        0.0795803,
        0.1609302,
        0.2461123,
    ]
    + [0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0],
    np.float32,
)


def save(path, tensors):
    """tensors: arrays, or (bytes as uint8, "F8_E4M3")."""
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        array, kind = tensor if isinstance(tensor, tuple) else (tensor, NAMES[str(tensor.dtype)])
        header[name] = {
            "dtype": kind,
            "shape": array.shape,
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += np.ascontiguousarray(array).tobytes()
        data += bytes(0)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def packed(codes, bits, axis):
    """Codes along an axis in words of int32, the first in the lowest bits."""
    codes = np.moveaxis(codes.astype(np.uint32), axis, -1)
    codes = codes.reshape(*codes.shape[:-1], -1, 32 // bits)
    words = np.bitwise_or.reduce(codes << (np.arange(32 // bits, dtype=np.uint32) * bits), axis=-1)
    return np.ascontiguousarray(np.moveaxis(words, -1, axis)).view(np.int32)


def rounded(weight, bits, group, symmetric=False):
    """(codes [out, in], scales [out, groups], zeros [out, groups]) of asymmetric rounding."""
    out, size = weight.shape
    parts = weight.reshape(out, size // group, group)
    most = (1 << bits) - 1
    if symmetric:
        scale = (np.abs(parts).max(-1) / (most // 2)).astype(np.float16)
        zero = np.full_like(scale, 1 << (bits - 1))
    else:
        scale = ((parts.max(-1) - parts.min(-1)) / most).astype(np.float16)
        zero = np.clip(np.round(-parts.min(-1) / scale.astype(np.float32)), 0, most)
    codes = np.clip(
        np.round(parts / scale.astype(np.float32)[..., None]) + zero[..., None].astype(np.float32), 0, most
    )
    return codes.reshape(out, size).astype(np.int64), scale, zero.astype(np.int64)


def dequantized(codes, scale, zero, group):
    wide = [np.repeat(x.astype(np.float32), group, axis=1) for x in (scale, zero)]
    return (codes.astype(np.float32) - wide[1]) * wide[0]


def gptq(base, weight, bits=4, group=32, act_order=False, version=1):
    order = (
        np.random.default_rng(len(base)).permutation(weight.shape[1])
        if act_order
        else np.arange(weight.shape[1])
    )
    codes, scale, zero = rounded(weight[:, order], bits, group)
    if version == 1:
        zero = np.maximum(zero, 1)
    plain = np.empty_like(weight)
    plain[:, order] = dequantized(codes, scale, zero, group)
    of_inputs = np.empty(weight.shape[1], np.int32)
    of_inputs[order] = np.arange(weight.shape[1]) // group
    in_place = np.empty_like(codes)
    in_place[:, order] = codes
    return plain, {
        f"{base}.qweight": packed(in_place.T, bits, 0),
        f"{base}.qzeros": packed(zero.T - (version == 1), bits, 1),
        f"{base}.scales": np.ascontiguousarray(scale.T),
        f"{base}.g_idx": of_inputs,
    }


def awq(base, weight, group=32):
    codes, scale, zero = rounded(weight, 4, group)
    order = [0, 2, 4, 6, 1, 3, 5, 7]

    def words(array):  # [rows, out]
        return packed(array.reshape(len(array), -1, 8)[..., order].reshape(array.shape), 4, 1)

    return dequantized(codes, scale, zero, group), {
        f"{base}.qweight": words(codes.T),
        f"{base}.qzeros": words(zero.T),
        f"{base}.scales": np.ascontiguousarray(scale.T),
    }


def compressed(base, weight, bits=4, group=32, symmetric=True):
    codes, scale, zero = rounded(weight, bits, group, symmetric)
    tensors = {
        f"{base}.weight_packed": packed(codes, bits, 1),
        f"{base}.weight_scale": scale,
        f"{base}.weight_shape": np.array(weight.shape, np.int32),
    }
    if not symmetric:
        tensors[f"{base}.weight_zero_point"] = packed(zero, bits, 0)
    return dequantized(codes, scale, zero, group), tensors


def compressed_int8(base, weight):
    codes, scale, zero = rounded(weight, 8, weight.shape[1], True)
    return dequantized(codes, scale, zero, weight.shape[1]), {
        f"{base}.weight": (codes - 128).astype(np.int8),
        f"{base}.weight_scale": scale.astype(np.float32),
    }


def float8(values):
    """Bytes of float8_e4m3fn, and what they stand for."""
    tensor = weft.tensor(np.ascontiguousarray(values, np.float32)).to(weft.float8_e4m3fn)
    return tensor.view(weft.uint8).numpy(), tensor.to(weft.float32).numpy()


def fp8_rows(base, weight):
    scale = (np.abs(weight).max(1, keepdims=True) / 448).astype(np.float32)
    data, values = float8(weight / scale)
    return values * scale, {f"{base}.weight": (data, "F8_E4M3"), f"{base}.weight_scale": scale}


def fp8_tensor(base, weight):
    scale = np.float32(np.abs(weight).max() / 448)
    data, values = float8(weight / scale)
    return values * scale, {
        f"{base}.weight": (data, "F8_E4M3"),
        f"{base}.weight_scale": scale.reshape(1),
        f"{base}.input_scale": np.ones(1, np.float32),
    }


def fp8_blocks(base, weight):
    rows, columns = (-(-size // 128) for size in weight.shape)
    rng = np.random.default_rng(len(base))
    scale = (np.abs(weight).max() / 448 * rng.uniform(1, 2, (rows, columns))).astype(np.float32)
    wide = np.repeat(np.repeat(scale, 128, 0), 128, 1)[: weight.shape[0], : weight.shape[1]]
    data, values = float8(weight / wide)
    return values * wide, {f"{base}.weight": (data, "F8_E4M3"), f"{base}.weight_scale_inv": scale}


def nf4(base, weight, is_nested=False):
    parts = weight.reshape(-1, 32 if weight.size % 64 else 64)
    scale = np.abs(parts).max(1).astype(np.float32)
    state = {"blocksize": 64, "quant_type": "nf4", "dtype": "float32", "shape": list(weight.shape)}
    tensors = {f"{base}.weight.quant_map": NF4}
    if is_nested:
        offset = float(scale.mean())
        table = np.linspace(-1, 1, 256).astype(np.float32)
        centred = scale - np.float32(offset)
        most = np.array([np.abs(centred[i : i + 256]).max() for i in range(0, len(scale), 256)], np.float32)
        wide = np.repeat(most, 256)[: len(scale)]
        codes = np.abs(centred[:, None] / wide[:, None] - table).argmin(1).astype(np.uint8)
        scale = table[codes] * wide + np.float32(offset)
        state |= {"nested_blocksize": 256, "nested_offset": offset}
        tensors |= {
            f"{base}.weight.absmax": codes,
            f"{base}.weight.nested_absmax": most,
            f"{base}.weight.nested_quant_map": table,
        }
    else:
        tensors[f"{base}.weight.absmax"] = scale
    codes = np.abs(parts[..., None] / scale[:, None, None] - NF4).argmin(-1).reshape(-1)
    tensors[f"{base}.weight"] = (codes[::2] << 4 | codes[1::2]).astype(np.uint8)[:, None]
    text = json.dumps(state).encode()
    tensors[f"{base}.weight.quant_state.bitsandbytes__nf4"] = np.frombuffer(text, np.uint8)
    return (NF4[codes].reshape(parts.shape) * scale[:, None]).reshape(weight.shape), tensors


def of_groups(kind, bits, format, strategy, **others):
    weights = {"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": True} | others
    groups = {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}
    return {
        "quant_method": "compressed-tensors",
        "format": format,
        "config_groups": groups,
        "ignore": ["lm_head"],
    }


GPTQ = {"quant_method": "gptq", "group_size": 32, "desc_act": False, "sym": False}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}
BNB = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
METHODS = {
    "gptq": (GPTQ | {"bits": 4}, gptq),
    "gptq 8": (GPTQ | {"bits": 8}, lambda b, w: gptq(b, w, bits=8)),
    "gptq, act-order": (GPTQ | {"bits": 4, "desc_act": True}, lambda b, w: gptq(b, w, act_order=True)),
    "gptq, whole rows": (GPTQ | {"bits": 4, "group_size": -1}, lambda b, w: gptq(b, w, group=w.shape[1])),
    "gptq_v2": (GPTQ | {"bits": 4, "checkpoint_format": "gptq_v2"}, lambda b, w: gptq(b, w, version=2)),
    "awq": (AWQ, awq),
    "compressed int4": (of_groups("int", 4, "pack-quantized", "group", group_size=32), compressed),
    "compressed int4 asymmetric": (
        of_groups("int", 4, "pack-quantized", "group", group_size=32, symmetric=False),
        lambda b, w: compressed(b, w, symmetric=False),
    ),
    "compressed packed int8": (
        of_groups("int", 8, "pack-quantized", "channel"),
        lambda b, w: compressed(b, w, bits=8, group=w.shape[1]),
    ),
    "compressed int8": (of_groups("int", 8, "int-quantized", "channel"), compressed_int8),
    "compressed fp8": (of_groups("float", 8, "float-quantized", "channel"), fp8_rows),
    "fp8, a scale": ({"quant_method": "fp8", "activation_scheme": "static"}, fp8_tensor),
    "fp8, blocks": ({"quant_method": "fp8", "weight_block_size": [128, 128]}, fp8_blocks),
    "nf4": (BNB, nf4),
    "nf4, nested": (BNB | {"bnb_4bit_use_double_quant": True}, lambda b, w: nf4(b, w, True)),
}


def write(folder, name, method, keep=lambda base: False):
    """A family's checkpoint with its layers' matrices quantized, and the same dequantized."""
    settings, quantize = METHODS[method]
    quantized, plain = {}, {}
    for key, array in load(FAMILIES / name / "model.safetensors").items():
        is_matrix = array.ndim == 2 and ".layers." in key and "norm" not in key and "mlp.gate." not in key
        base = key.removesuffix(".weight")
        fits = array.ndim == 2 and array.shape[1] % (64 if "nf4" in method else 32) == 0
        if not is_matrix or not key.endswith(".weight") or keep(base) or not fits or "moe.gate" in key:
            quantized[key] = plain[key] = array
            continue
        plain[key], parts = quantize(base, array.astype(np.float32))
        quantized |= parts
    config = json.loads((FAMILIES / name / "config.json").read_text())
    for kind, tensors in (("quantized", quantized), ("plain", plain)):
        (folder / kind).mkdir()
        save(folder / kind / "model.safetensors", tensors)
        extra = {"quantization_config": settings} if kind == "quantized" else {}
        (folder / kind / "config.json").write_text(json.dumps(config | extra))
        shutil.copy(FAMILIES / name / "tokenizer.json", folder / kind)
    return folder / "quantized", folder / "plain"


def logits_of(model, ids):
    return model(ids, model.make_cache(), all_logits=True).numpy()


@pytest.mark.parametrize("name", ["qwen3", "phi3", "llama_bias", "qwen3_moe"])
@pytest.mark.parametrize("method", METHODS)
def test_methods(method, name, tmp_path):
    quantized, plain = write(tmp_path, name, method)
    ids = list(range(3, 40))
    expected = logits_of(open_model(plain), ids)
    # Of experts, which are chosen may change where inputs are rounded.
    activations = "float32" if name == "qwen3_moe" else "auto"
    for execution in ("eager", "compiled"):
        model = open_model(quantized, execution=execution, activations=activations)
        np.testing.assert_allclose(logits_of(model, ids), expected, rtol=1e-3, atol=1e-3)
        cache = model.make_cache()
        rows = [model(ids[i : i + 1], cache, all_logits=True).numpy() for i in range(8)]
        np.testing.assert_allclose(np.concatenate(rows), expected[:8], rtol=1e-3, atol=1e-3)
    exact = logits_of(open_model(quantized, activations="float32"), ids)
    np.testing.assert_allclose(exact, expected, rtol=1e-4, atol=1e-4)
    again, same = (
        logits_of(open_model(folder, quantize="int8", activations="float32"), ids)
        for folder in (quantized, plain)
    )
    np.testing.assert_allclose(again, same, rtol=1e-2, atol=1e-2)


def test_mxfp4_of_gpt_oss(tmp_path):
    tensors = load(FAMILIES / "gpt_oss" / "model.safetensors")
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
    rng = np.random.default_rng(3)
    quantized = dict(tensors)
    plain = dict(tensors)
    for key, array in tensors.items():
        if not key.endswith(("gate_up_proj", "down_proj")):
            continue
        experts, size, out = array.shape
        codes = rng.integers(0, 16, (experts, out, size // 32, 32))
        exponents = rng.integers(119, 122, (experts, out, size // 32)).astype(np.uint8)
        del quantized[key]
        quantized[key + "_blocks"] = (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8)
        quantized[key + "_scales"] = exponents
        wide = values[codes] * np.exp2(exponents.astype(np.float32) - 127)[..., None]
        plain[key] = wide.reshape(experts, out, size).swapaxes(1, 2).astype(np.float32)
    config = json.loads((FAMILIES / "gpt_oss" / "config.json").read_text())
    for kind, parts in (("quantized", quantized), ("plain", plain)):
        (tmp_path / kind).mkdir()
        save(tmp_path / kind / "model.safetensors", parts)
        extra = {"quantization_config": {"quant_method": "mxfp4"}} if kind == "quantized" else {}
        (tmp_path / kind / "config.json").write_text(json.dumps(config | extra))
    ids = list(range(3, 40))
    expected = logits_of(open_model(tmp_path / "plain"), ids)
    np.testing.assert_allclose(
        logits_of(open_model(tmp_path / "quantized"), ids), expected, rtol=2e-3, atol=2e-3
    )


def test_some_matrices_may_be_as_they_were(tmp_path):
    quantized, plain = write(
        tmp_path, "qwen3", "gptq", keep=lambda base: "layers.0" in base or "v_proj" in base
    )
    ids = list(range(3, 40))
    np.testing.assert_allclose(
        logits_of(open_model(quantized), ids), logits_of(open_model(plain), ids), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"quant_method": "aqlm"},
            "the method 'aqlm' is not supported; weft has gptq, awq, compressed-tensors, fp8",
        ),
        ({"quant_method": "gptq", "bits": 3}, "GPTQ of 3 bits is not supported; weft has 4 and 8"),
        (
            {"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"},
            "checkpoint_format 'marlin' is not supported",
        ),
        ({"quant_method": "awq", "bits": 4, "version": "gemv"}, "AWQ's version 'gemv' is not supported"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "bitsandbytes of 8 bits is not supported"),
        (
            {"quant_method": "bitsandbytes", "bnb_4bit_quant_type": "fp4"},
            "bitsandbytes' 'fp4' is not supported",
        ),
        (
            of_groups("int", 4, "marlin-24", "group"),
            "in the format 'marlin-24' of type 'int' is not supported",
        ),
        (of_groups("int", 2, "pack-quantized", "group"), "of 2 bits is not supported"),
        ({"quant_method": "fp8", "weight_block_size": [128, 100]}, "the second a multiple of 128"),
        ({"quant_method": "gptq"}, "no 'bits'"),
    ],
)
def test_other_methods_are_named(settings, message, tmp_path):
    quantized, _ = write(tmp_path, "qwen3", "gptq")
    config = json.loads((quantized / "config.json").read_text())
    (quantized / "config.json").write_text(json.dumps(config | {"quantization_config": settings}))
    with pytest.raises(ValueError, match=message):
        open_model(quantized)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, b: t.pop(f"{b}.qzeros"), "has no tensor 'model.layers.0.mlp.up_proj.qzeros'"),
        (
            lambda t, b: t.update({f"{b}.scales": t[f"{b}.scales"][:1]}),
            r"up_proj.scales' has shape \[1, 96\], expected \[2, 96\]",
        ),
        (
            lambda t, b: t.update({f"{b}.qweight": t[f"{b}.qweight"].view(np.float32)}),
            "up_proj.qweight' is float32, which it never is",
        ),
        (
            lambda t, b: t.update({f"{b}.g_idx": np.arange(64, dtype=np.int32) % 3}),
            "does not give every group 32 inputs",
        ),
        (lambda t, b: t.update({f"{b}.wings": t[f"{b}.scales"]}), "a qwen3 model has no tensor"),
    ],
)
def test_damaged_checkpoints(change, message, tmp_path):
    quantized, _ = write(tmp_path, "qwen3", "gptq")
    tensors = dict(load_all(quantized / "model.safetensors"))
    change(tensors, "model.layers.0.mlp.up_proj")
    save(quantized / "model.safetensors", tensors)
    with pytest.raises((ValueError, TypeError), match=message):
        open_model(quantized)


def load_all(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    dtypes = {"F32": np.float32, "F16": np.float16, "I32": np.int32}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        yield name, np.frombuffer(data[begin:end], dtypes[entry["dtype"]]).reshape(entry["shape"])
