"""torch.nn: modules' attributes, hooks and states, import paths, parametrizations, and devices that hold nothing."""

import importlib
import pickle
from typing import List, Optional

import numpy as np
import pytest
import weft
import weft.torch as torch

nn = torch.nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.BatchNorm1d(3), nn.ReLU())
        self.register_buffer("kept", weft.ones((2,)))
        self.register_buffer("left", weft.ones((2,)), persistent=False)

    def forward(self, x, scale=1):
        return self.rest(self.first(x)) * scale


PATHS = {
    "activation": "ReLU MultiheadAttention", "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "_BatchNorm BatchNorm2d SyncBatchNorm", "container": "Sequential Container", "conv": "Conv2d _ConvNd LazyConv2d",
    "distance": "CosineSimilarity", "dropout": "Dropout", "flatten": "Flatten", "fold": "Unfold", "instancenorm": "_InstanceNorm",
    "lazy": "LazyModuleMixin", "linear": "Linear LazyLinear NonDynamicallyQuantizableLinear", "loss": "_Loss _WeightedLoss",
    "module": "Module _IncompatibleKeys register_module_forward_hook", "normalization": "LayerNorm GroupNorm CrossMapLRN2d",
    "padding": "ReflectionPad2d", "pixelshuffle": "PixelShuffle", "pooling": "MaxPool2d FractionalMaxPool2d",
    "rnn": "LSTM RNNBase", "sparse": "Embedding", "transformer": "TransformerEncoderLayer", "upsampling": "Upsample",
    "utils": "_single _pair _triple _quadruple _ntuple _reverse_repeat_tuple consume_prefix_in_state_dict_if_present",
}  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_import_paths(name):
    module = importlib.import_module(f"weft.torch.nn.modules.{name}")
    assert all(hasattr(module, each) for each in PATHS[name].split())
    assert hasattr(nn.modules, name)


def test_further_import_paths():
    from weft.torch.nn.attention import SDPBackend, sdpa_kernel
    from weft.torch.nn.common_types import _size_2_t  # noqa: F401
    from weft.torch.nn.parallel import DistributedDataParallel
    from weft.torch.nn.utils.weight_norm import WeightNorm  # noqa: F401

    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        pass
    with pytest.raises(AssertionError):
        with sdpa_kernel("fast"):
            pass
    x = weft.ones((1, 2))
    layer = nn.Linear(2, 2)
    assert DistributedDataParallel(layer)(x).tolist() == layer(x).tolist()
    assert list(nn.DataParallel(layer).state_dict()) == ["module.weight", "module.bias"]


# ---- devices and dtypes --------------------------------------------------------------------------------------


def test_modules_of_a_device_without_memory():
    with torch.device("meta"):
        net = nn.Sequential(
            nn.Linear(100_000, 100_000), nn.BatchNorm1d(100_000), nn.LSTM(4, 4), nn.Embedding(9, 4)
        )
    assert {str(each.device) for each in [*net.parameters(), *net.buffers()]} == {"meta"}
    small = nn.Linear(2, 3, device="meta")
    small.load_state_dict(nn.Linear(2, 3).state_dict(), assign=True)
    assert str(small.weight.device) == "cpu" and isinstance(small.weight, nn.Parameter)
    empty = nn.Linear(2, 3, device="meta", dtype=weft.bfloat16).to_empty(device="cpu")
    assert empty.weight.shape == (3, 2) and empty.weight.dtype == weft.bfloat16
    assert str(Net().to("meta").kept.device) == "meta"


def test_dtypes_of_all_tensors():
    net = Net().half()
    assert net.first.weight.dtype == net.kept.dtype == weft.float16
    assert net.rest[0].num_batches_tracked.dtype == weft.int64
    assert net.to(weft.ones((1,)).double()).kept.dtype == weft.float64
    assert net.type("torch.FloatTensor").rest[0].num_batches_tracked.dtype == weft.float32
    with pytest.raises(TypeError, match="floating"):
        net.to(weft.int32)


def test_norms_without_bias():
    for layer in (
        nn.BatchNorm2d(3, bias=False),
        nn.GroupNorm(1, 3, bias=False),
        nn.InstanceNorm1d(3, affine=True, bias=False),
    ):
        assert layer.bias is None and layer.weight is not None and "bias=False" in repr(layer)


# ---- texts ---------------------------------------------------------------------------------------------------


def test_texts():
    assert (
        repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()]))
        == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert (
        repr(nn.Parameter(weft.zeros((2,)))) == "Parameter containing:\ntensor([0., 0.], requires_grad=True)"
    )
    assert "requires_grad" not in repr(nn.Parameter(weft.zeros((2,)), requires_grad=False))
    assert "[torch.FloatTensor of size 2x3]" in repr(nn.ParameterDict({"a": weft.zeros((2, 3))}))


# ---- states --------------------------------------------------------------------------------------------------


def test_errors_of_states():
    net, state = Net(), Net().state_dict()
    state["more"] = state.pop("kept")
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert str(error.value) == (
        'Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "kept". \n\t'
        'Unexpected key(s) in state_dict: "more". '
    )
    keys = net.load_state_dict(state, strict=False)
    assert type(keys).__name__ == "_IncompatibleKeys" and keys.missing_keys == ["kept"]
    state["first.weight"] = weft.ones((4, 4))
    with pytest.raises(RuntimeError, match=r"copying a param with shape torch.Size\(\[4, 4\]\)"):
        net.load_state_dict(state, strict=False)


def test_states_by_position_and_hooks():
    net, seen = Net(), {}
    net.state_dict(seen, "x.")
    assert "x.first.weight" in seen
    net._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1})
    assert net.state_dict() == {"only": 1}


def test_containers():
    values = nn.ParameterDict({"a": weft.ones((1,))})
    with pytest.raises(AttributeError):
        values["b"]
    values |= {"c": weft.ones((2,))}
    assert list({"z": weft.ones((1,))} | values) == ["z", "a", "c"]
    layers = nn.Sequential(nn.ReLU())
    layers *= 3
    assert len(layers) == 3
    assert list(nn.Container(a=nn.ReLU())._modules) == ["a"]


# ---- hooks ---------------------------------------------------------------------------------------------------


def test_hooks_of_all_modules():
    from weft.torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    seen = []
    with register_module_forward_hook(lambda module, args, output: seen.append(type(module).__name__)):
        with register_module_forward_pre_hook(lambda module, args: (args[0] + 1,)):
            result = nn.Sequential(nn.ReLU())(weft.zeros((1,)))
    assert seen == ["ReLU", "Sequential"] and result.tolist() == [2.0]
    nn.ReLU()(weft.zeros((1,)))
    assert len(seen) == 2


def test_registration_hooks():
    from weft.torch.nn.modules.module import register_module_buffer_registration_hook

    seen = []
    with register_module_buffer_registration_hook(lambda module, name, buffer: seen.append(name)):
        Net()
    assert "kept" in seen
    count = len(seen)
    Net()
    assert len(seen) == count


def test_backward_hooks_are_accepted():
    net = Net()
    net.register_full_backward_hook(lambda *_: None).remove()
    net.register_full_backward_pre_hook(lambda *_: None)
    assert float(nn.utils.clip_grad_norm_(net.parameters(), 1.0)) == 0.0


def test_arguments_of_other_base_classes():
    class Named:
        def __init__(self, name):
            self.name = name

    class Both(nn.Module, Named):
        call_super_init = True

        def __init__(self):
            super().__init__(name="x")

    assert Both().name == "x"
    with pytest.raises(TypeError):
        nn.Module(3)


# ---- parametrizations, other parameters ----------------------------------------------------------------------


def test_weight_norm_as_a_parametrization():
    layer = nn.Linear(3, 2)
    before = np.asarray(layer.weight).copy()
    nn.utils.parametrizations.weight_norm(layer)
    assert sorted(layer.state_dict()) == [
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    ]
    np.testing.assert_allclose(np.asarray(layer.weight), before, rtol=1e-6)
    older = nn.utils.weight_norm(nn.Linear(3, 2)).state_dict()
    assert repr(layer.load_state_dict(older)) == "<All keys matched successfully>"
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)


def test_parametrizations_compute_and_are_assigned():
    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    layer = nn.Linear(2, 2)
    nn.utils.parametrize.register_parametrization(layer, "weight", Doubled())
    layer.weight = weft.ones((2, 2))
    assert (
        layer.parametrizations.weight.original.tolist() == [[0.5, 0.5]] * 2
        and layer.weight.tolist() == [[1.0, 1.0]] * 2
    )
    with nn.utils.parametrize.cached():
        assert layer.weight is layer.weight
    with pytest.raises(ValueError, match="parametrized element with name"):
        nn.utils.parametrize.register_parametrization(layer, "nothing", Doubled())


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


class Sum(nn.Module):
    def forward(self, x, y, z):
        return x + y * z

    def right_inverse(self, x):
        return x - 6, weft.full_like(x, 2.0), weft.full_like(x, 3.0)


class Assigning(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())

    def forward(self, x):
        self.layer.weight = x
        return x


@pytest.mark.parametrize("chain", [[Doubled], [Sum], [Sum, Doubled], [Doubled, Doubled, Doubled]])
def test_parametrized_modules_in_scripts(chain, tmp_path):
    layer, x = nn.Linear(3, 3), weft.arange(6.0).reshape(2, 3)
    for each in chain:
        nn.utils.parametrize.register_parametrization(layer, "weight", each())
    scripted = weft.jit.script(nn.Sequential(layer, nn.Linear(3, 2)))
    expected = layer(x)
    assert weft.equal(scripted[0](x), expected)
    weft.jit.save(scripted, tmp_path / "m.pt")
    assert weft.equal(weft.jit.load(tmp_path / "m.pt")[0](x), expected)
    scripted[0].parametrizations.weight.get_parameter(
        "original" if chain[0] is Doubled else "original0"
    ).zero_()
    assert not weft.equal(scripted[0](x), expected)  # computed at every call


@pytest.mark.parametrize("make", ["weight_norm", "spectral_norm"])
def test_pytorchs_parametrizations_in_scripts(make):
    layer, x = (
        getattr(nn.utils.parametrizations, make)(nn.Linear(3, 3)).eval(),
        weft.arange(6.0).reshape(2, 3),
    )
    torch.testing.assert_close(weft.jit.script(layer)(x), layer(x))


def test_parametrized_tensors_are_not_assigned_in_scripts():
    with pytest.raises(weft.jit.Error, match="parametrized tensors cannot be assigned"):
        weft.jit.script(Assigning())(weft.ones((2, 2)))


def test_parametrized_modules_are_not_pickled():
    layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)


def test_calls_with_other_parameters():
    from weft.torch.func import functional_call

    layer, x = nn.Linear(2, 2), weft.ones((1, 2))
    before = np.asarray(layer.weight).copy()
    given = {"weight": weft.ones((2, 2)), "bias": weft.zeros((2,))}
    assert functional_call(layer, given, x).tolist() == [[2.0, 2.0]]
    assert functional_call(layer, ({"weight": given["weight"]}, {"bias": given["bias"]}), (x,)).tolist() == [
        [2.0, 2.0]
    ]
    np.testing.assert_array_equal(np.asarray(layer.weight), before)
    with pytest.raises(RuntimeError, match="missing"):
        functional_call(layer, {"weight": given["weight"]}, x, strict=True)


# ---- attention by functions ----------------------------------------------------------------------------------


def test_flex_attention():
    from weft.torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q = weft.from_numpy(np.random.default_rng(0).standard_normal((2, 2, 5, 4)).astype(np.float32))
    plain = nn.functional.scaled_dot_product_attention(q, q, q)
    np.testing.assert_allclose(np.asarray(flex_attention(q, q, q)), np.asarray(plain), rtol=1e-5, atol=1e-6)
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 5, 5)
    causal = nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    result = flex_attention(q, q, q, block_mask=mask)
    np.testing.assert_allclose(np.asarray(result), np.asarray(causal), rtol=1e-5, atol=1e-6)
    nothing = create_block_mask(lambda b, h, i, j: j < i, None, None, 5, 5)
    assert not np.asarray(flex_attention(q, q, q, block_mask=nothing))[:, :, 0].any()


def causal(b, h, i, j):
    return i >= j


def test_blocks_of_a_mask():
    from weft.torch.nn.attention.flex_attention import BlockMask, create_block_mask

    mask = create_block_mask(causal, None, 2, 12, 12, BLOCK_SIZE=(4, 4))
    assert mask.shape == (1, 2, 12, 12) and mask.numel() == 288 and mask.BLOCK_SIZE == (4, 4)
    assert mask.kv_num_blocks[0, 0].tolist() == [1, 1, 1] and mask.full_kv_num_blocks[0, 1].tolist() == [
        0,
        1,
        2,
    ]
    assert mask.full_kv_indices[0, 0].tolist() == [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    assert mask.q_indices[0, 0, :, 0].tolist() == [0, 1, 2] and mask.to_dense()[0, 0, 0].tolist() == [1, 0, 0]
    assert abs(mask.sparsity() - 100 / 3) < 1e-9
    rows = mask[:, 1, 1:]
    assert rows.shape == (1, 1, 8, 12) and rows.kv_num_blocks.tolist() == [[[1, 1]]]
    assert mask[:, :, weft.tensor([2])].shape == (1, 2, 4, 12)
    with pytest.raises(IndexError, match="Q-block"):
        mask[0, 0, 0, 0]
    same = BlockMask.from_kv_blocks(
        mask.kv_num_blocks,
        mask.kv_indices,
        mask.full_kv_num_blocks,
        mask.full_kv_indices,
        (4, 4),
        causal,
        (12, 12),
    )
    assert weft.equal(same.to_dense(), mask.to_dense())


def attend_to_row(q, k, v, mask, row):
    from weft.torch.nn.attention.flex_attention import flex_attention

    part = mask[:, :, row // mask.BLOCK_SIZE[0]]
    part.mask_mod = lambda b, h, i, j: mask.mask_mod(b, h, i + row, j)
    part.seq_lengths = (1, mask.seq_lengths[1])
    return flex_attention(q, k, v, block_mask=part, enable_gqa=True)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
@pytest.mark.parametrize("row", [0, 6, 9])
def test_attention_of_a_part_of_a_mask(dtype, row):
    from weft.torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = (
        weft.from_numpy(np.random.default_rng(i).standard_normal((1, heads, 10, 4)).astype(np.float32)).to(
            dtype
        )
        for i, heads in enumerate((4, 2, 2))
    )
    mask = create_block_mask(causal, 1, 1, 10, 10, BLOCK_SIZE=4)
    expected = flex_attention(q, k, v, block_mask=mask, enable_gqa=True)[:, :, row : row + 1]
    at = weft.tensor([row])
    for attend in (attend_to_row, weft.compile(attend_to_row, fullgraph=True)):
        found = attend(q[:, :, row : row + 1], k, v, mask, at)
        assert found.dtype == dtype
        np.testing.assert_allclose(
            np.asarray(found.float()), np.asarray(expected.float()), rtol=1e-5, atol=1e-6
        )


def test_masks_of_other_lengths_are_refused():
    from weft.torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q = weft.ones((1, 1, 8, 4))
    with pytest.raises(RuntimeError, match="smaller length"):
        flex_attention(q, q, q, block_mask=create_block_mask(causal, 1, 1, 4, 8))
    with pytest.raises(RuntimeError, match="sliced BlockMask"):
        flex_attention(q, q, q, block_mask=create_block_mask(causal, 1, 1, 8, 8)[0])


def test_cross_map_norm_and_fractional_pooling():
    x = weft.ones((1, 3, 4, 4))
    assert nn.CrossMapLRN2d(3)(x).shape == x.shape
    samples = weft.full((1, 3, 2), 0.5)
    assert nn.FractionalMaxPool2d(2, output_size=2, _random_samples=samples)(x).shape == (1, 3, 2, 2)
    with pytest.raises(ValueError, match="output_size or output_ratio"):
        nn.FractionalMaxPool2d(2)


def test_compiled_modules_are_eager():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).eval()
    x = weft.ones((4, 3))
    np.testing.assert_allclose(np.asarray(weft.compile(layer)(x)), np.asarray(layer(x)), rtol=1e-5)


class Collecting(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.ReLU(), nn.Tanh()

    def forward(self, x):
        out = torch.jit.annotate(List[Optional[torch.Tensor]], [])
        found: list[torch.Tensor] = torch.jit.annotate(list[torch.Tensor], [])
        for layer in self.children():
            x = layer(x)
            out.append(x)
        return found, out


def test_annotations_and_children_compile():
    model = Collecting()
    x = torch.arange(6.0) - 3
    torch.testing.assert_close(torch.compile(model, fullgraph=True)(x), model(x))
