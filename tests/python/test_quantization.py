"""weft.quantization.quantize_: numerics against NumPy's, state dicts, compiled, scripted and traced models."""

import numpy as np
import pytest
import weft
from weft import nn
from weft.quantization import (
    int4_weight_only,
    int8_dynamic_activation_int8_weight,
    int8_weight_only,
    quantize_,
)


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype("float32")


def expected_dynamic(x, weight, bias):
    """Scales, numbers and exact sums, step by step."""
    f32 = np.float32
    s = np.maximum(np.abs(x).max(-1, keepdims=True), f32(1e-5)) / f32(127)
    q = np.clip(np.round(x / s), -127, 127).astype("int32")
    w = np.maximum(np.abs(weight).max(1) / f32(127.5), np.finfo("float32").eps)
    v = np.clip(np.round(weight / w[:, None]), -128, 127).astype("int32")
    return (q @ v.T).astype("float32") * s * w + bias


class Model(nn.Module):
    def __init__(self, features=20, outputs=33):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.first = nn.Linear(features, 64)
        self.second = nn.Linear(64, outputs, bias=False)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.first(self.norm(x))))


def made(config, seed=0):
    model = Model().eval()
    for i, parameter in enumerate(model.parameters()):
        parameter.copy_(weft.tensor(random(*parameter.shape, seed=i + seed)))
    if config is not None:
        quantize_(model, config)
    return model


CONFIGS = [int8_dynamic_activation_int8_weight(), int8_weight_only(), int4_weight_only(group_size=32)]


@pytest.mark.parametrize("rows", [0, 1, 2, 13, 100])
@pytest.mark.parametrize("features, outputs", [(1, 1), (20, 33), (257, 64)])
def test_dynamic_numerics(rows, features, outputs):
    x = random(rows, features)
    if rows:
        x[0] = 0
    layer = nn.Sequential(nn.Linear(features, outputs)).eval()
    weight, bias = layer[0].weight.numpy().copy(), layer[0].bias.numpy().copy()
    quantize_(layer, int8_dynamic_activation_int8_weight())
    expected = expected_dynamic(x, weight, bias) if rows else np.zeros((0, outputs), "float32")
    compiled = weft.compile(lambda x: layer(x))
    for result in (layer(weft.tensor(x)), compiled(weft.tensor(x)), compiled(weft.tensor(x))):
        np.testing.assert_allclose(
            result.numpy(), expected, rtol=1e-6, atol=1e-6 * max(1, np.abs(expected).max(initial=0))
        )


def test_rows_that_are_not_finite_are_nan():
    layer = nn.Sequential(nn.Linear(20, 5)).eval()
    quantize_(layer, int8_dynamic_activation_int8_weight())
    x = random(4, 20)
    x[1, 3], x[2, 5] = np.nan, np.inf
    for run in (layer, weft.compile(lambda x: layer(x))):
        result = run(weft.tensor(x)).numpy()
        assert np.isnan(result[1:3]).all() and np.isfinite(result[[0, 3]]).all()


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_models(config, dtype):
    dtype = getattr(weft, dtype)
    x = weft.tensor(random(3, 7, 20))
    plain = made(None)(x).numpy()
    model = made(config).to(dtype)
    x = x.to(dtype)
    result = model(x)
    assert result.dtype == dtype
    scale = np.abs(plain).max()
    assert np.abs(result.float().numpy() - plain).max() < (0.2 if "int4" in repr(config) else 0.05) * scale
    close = 2e-2 if dtype == weft.bfloat16 else 1e-3
    compiled = weft.compile(lambda x: model(x))
    forms = {
        "compiled": compiled,
        "scripted": weft.jit.script(model),
        "traced": weft.jit.trace(model, x),
        "optimized": weft.jit.optimize_for_inference(weft.jit.script(model)),
    }
    for name, run in forms.items():
        for _ in range(3):
            got = run(x)
            assert got.dtype == dtype, name
            assert np.abs((got.float() - result.float()).numpy()).max() < close * scale, name


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_state_dicts(config):
    x = weft.tensor(random(5, 20))
    model, other = made(config), made(config, seed=9)
    state = model.state_dict()
    assert set(state) == {"norm.weight", "norm.bias", "first.weight", "first.scales", "first.bias", "second.weight",
                          "second.scales"}  # fmt: skip
    assert state["first.weight"].dtype in (weft.int8, weft.uint8)
    assert not np.array_equal(other(x).numpy(), model(x).numpy())
    other.load_state_dict(state)
    np.testing.assert_array_equal(other(x).numpy(), model(x).numpy())


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_archives(config, tmp_path):
    x = weft.tensor(random(5, 20))
    model = made(config)
    path = str(tmp_path / "model.pt")
    weft.jit.script(model).save(path)
    loaded = weft.jit.load(path)
    for _ in range(3):
        np.testing.assert_allclose(loaded(x).numpy(), model(x).numpy(), rtol=1e-3, atol=1e-3)


def test_which_layers():
    model = nn.Sequential(nn.Linear(20, 20), nn.Sequential(nn.Linear(20, 3), nn.Linear(3, 3)))
    shared = model[0]
    model.append(shared)
    quantize_(model, int8_weight_only(), lambda module, name: name != "1.1")
    assert type(model[0]) is type(model[1][0]) and model[0] is model[2]
    assert type(model[1][1]) is nn.Linear
    quantize_(model, int4_weight_only(32))
    assert type(model[1][1]) is nn.Linear  # of three inputs
    assert "in_features=20, out_features=20, bias=True" in repr(model[0])


def test_wrong_calls():
    with pytest.raises(TypeError, match="expected a Module"):
        quantize_(3, int8_weight_only())
    with pytest.raises(TypeError, match="expected a configuration"):
        quantize_(nn.Sequential(), "int8")
    with pytest.raises(TypeError, match="is a Linear itself"):
        quantize_(nn.Linear(2, 2), int8_weight_only())
    with pytest.raises(ValueError, match="group_size 32, 64, 128 or 256, got 5"):
        int4_weight_only(group_size=5)
    layer = nn.Sequential(nn.Linear(2, 2))
    layer[0].weight.copy_(weft.tensor(np.full((2, 2), np.nan, "float32")))
    with pytest.raises(ValueError, match="finite"):
        quantize_(layer, int8_dynamic_activation_int8_weight())
    with pytest.raises(ValueError, match="at least 1 dimension"):
        weft.quantize_tokens(weft.tensor(1.0))
    with pytest.raises(TypeError, match="floating"):
        weft.quantize_tokens(weft.tensor([1, 2]))
    with pytest.raises(TypeError, match="expected y of int8"):
        weft._int_mm(weft.ones(2, 2).to(weft.int8), weft.ones(2, 2))
    with pytest.raises(ValueError, match="inner dimensions"):
        weft._int_mm(weft.ones(2, 2).to(weft.int8), weft.ones(3, 2).to(weft.int8))


def test_the_module_is_found_by_its_name():
    assert "quantization" in dir(weft) and weft.quantization.quantize_ is quantize_
