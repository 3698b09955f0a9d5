"""weft.nn.Module and the modules: attributes, states, hooks, copies; layers by their formulae."""

import copy
import math
import pickle

import numpy as np
import pytest
import weft
from weft import nn

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_starting_values():
    nn.init.manual_seed(0)


def normal(*shape):
    return weft.asarray(RANDOM.standard_normal(shape).astype(np.float32))


def close(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=tolerance, atol=tolerance)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.first.weight.copy_(
            weft.full((4, 3), 0.25)
        )  # positive before the ReLU: every input shows in the output
        self.first.bias.copy_(weft.full((4,), 0.5))
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.register_buffer("scale", weft.ones((2,)))
        self.register_buffer("hidden", weft.zeros((1,)), persistent=False)

    def forward(self, x, factor=1.0):
        return self.rest(self.first(x)) * self.scale * factor


# ---- attributes -----------------------------------------------------------------------------------------------
def test_names_of_what_there_is():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias", "rest.1.weight"]
    assert [name for name, _ in net.named_parameters(prefix="net", recurse=False)] == []
    assert [name for name, _ in net.named_buffers()] == ["scale", "hidden"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [name for name, _ in net.named_children()] == ["first", "rest"]
    assert list(net.state_dict()) == ["scale", "first.weight", "first.bias", "rest.1.weight"]
    assert net.get_submodule("rest.1") is net.rest[1] and net.get_submodule("") is net
    assert net.get_parameter("rest.1.weight") is net.rest[1].weight and net.get_buffer("scale") is net.scale
    assert {"first", "scale", "training"} <= set(dir(net))
    for get, name in (
        (net.get_submodule, "rest.7"),
        (net.get_submodule, "scale"),
        (net.get_parameter, "scale"),
        (net.get_buffer, "first.weight"),
    ):
        with pytest.raises(AttributeError, match=name.split(".")[-1]):
            get(name)


def test_what_is_shared_is_listed_once():
    layer = nn.Linear(2, 2)
    pair = nn.ModuleList([layer, layer])
    assert [name for name, _ in pair.named_parameters()] == ["0.weight", "0.bias"]
    assert [name for name, _ in pair.named_parameters(remove_duplicate=False)] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
    ]
    assert len(list(pair.modules())) == 2 and len(list(pair.named_modules(remove_duplicate=False))) == 3
    tied = nn.Module()
    tied.a, tied.b = nn.Linear(3, 3), nn.Linear(3, 3)
    tied.b.weight = tied.a.weight
    tied.double()
    assert tied.b.weight is tied.a.weight and tied.a.weight.dtype == weft.float64
    other = copy.deepcopy(tied)
    assert other.b.weight is other.a.weight and other.a.weight is not tied.a.weight


def test_assignment_rules():
    net = Net()
    with pytest.raises(
        TypeError, match="'weight' is a parameter of Linear: expected weft.nn.Parameter or None, got Tensor"
    ):
        net.first.weight = weft.ones((4, 3))
    with pytest.raises(TypeError, match="'rest' is a child module"):
        net.rest = 3
    with pytest.raises(TypeError, match="'scale' is a buffer"):
        net.scale = "large"
    net.scale = weft.zeros((2,))
    assert "scale" in dict(net.named_buffers())
    net.first.bias = None
    assert net.first(weft.ones((1, 3))).shape == (1, 4) and net.first.extra_repr().endswith("bias=False")
    net.extra = weft.ones((1,))  # a plain attribute
    net.extra = nn.Parameter(net.extra)
    assert "extra" in dict(net.named_parameters()) and "extra" not in net.__dict__
    net.extra = nn.Linear(1, 1)
    assert "extra.weight" in dict(net.named_parameters()) and "extra" not in dict(net.named_parameters())
    net.kept = nn.Buffer(weft.ones((1,)), persistent=False)
    assert "kept" in dict(net.named_buffers()) and "kept" not in net.state_dict()
    del net.extra, net.scale
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'scale'"):
        net.scale

    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="before Module.__init__"):
        Early()


@pytest.mark.parametrize(
    "name, error", [("a.b", KeyError), ("", KeyError), (3, TypeError), ("forward", KeyError)]
)
def test_names_that_cannot_be_registered(name, error):
    for register in (nn.Module().register_buffer, nn.Module().register_parameter, nn.Module().add_module):
        with pytest.raises(error):
            register(name, None)


def test_conversions():
    net = Net()
    net.register_buffer("count", weft.zeros((), dtype=weft.int64))
    assert net.half() is net and net.first.weight.dtype == weft.float16 and net.count.dtype == weft.int64
    assert net.bfloat16().scale.dtype == weft.bfloat16 and net.to(weft.float64).scale.dtype == weft.float64
    assert (
        net.to(weft.ones((1,))).scale.dtype == weft.float32
        and net.to("cpu", weft.float16).scale.dtype == weft.float16
    )
    assert isinstance(net.first.weight, nn.Parameter)
    with pytest.raises(TypeError, match="expected a floating-point dtype"):
        net.to(weft.int32)
    with pytest.raises(TypeError, match="expected a device, a dtype or a tensor, got int"):
        net.to(3)
    assert net.eval().training is False and net.rest.training is False and net.train().first.training
    assert all(not p.requires_grad for p in net.requires_grad_(False).parameters())
    seen = []
    net.apply(seen.append)
    assert seen[-1] is net and len(seen) == 5


def test_copies_and_pickles():
    net = Net()
    net.register_forward_hook(print)
    net._forward_hooks.clear()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert isinstance(other.first.weight, nn.Parameter) and list(other.state_dict()) == list(
            net.state_dict()
        )
        close(other(weft.ones((2, 3))), net(weft.ones((2, 3))))
        other.first.weight[...] = 0.0
        assert np.asarray(net.first.weight).any()


# ---- states ---------------------------------------------------------------------------------------------------
def test_state_errors_name_everything():
    net = Net()
    before = np.asarray(net.first.weight).copy()
    state = net.state_dict()
    state["first.weight"] = weft.zeros((4, 3))
    del state["first.bias"]
    state["more"], state["rest.1.weight"], state["rest.5.weight"] = (
        weft.ones((1,)),
        weft.ones((2, 3)),
        weft.ones((1,)),
    )
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    text = str(error.value)
    assert text.startswith("Error(s) in loading state_dict for Net:\n\t")
    assert (
        'Missing key(s) in state_dict: "first.bias". ' in text
        and 'Unexpected key(s) in state_dict: "more", "rest.5.weight". ' in text
    )
    assert (
        "size mismatch for rest.1.weight: copying a param with shape torch.Size([2, 3]) from checkpoint, the shape in current model is torch.Size([2, 4])."
        in text
    )
    np.testing.assert_array_equal(np.asarray(net.first.weight), before)
    del state["rest.1.weight"]
    result = net.load_state_dict(state, strict=False)
    assert result.missing_keys == ["first.bias", "rest.1.weight"] and result.unexpected_keys == [
        "more",
        "rest.5.weight",
    ]
    assert not np.asarray(net.first.weight).any()
    assert repr(net.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(TypeError, match="expected a dictionary"):
        net.load_state_dict([1])


def test_states_share_copy_and_assign():
    net, other = Net(), Net().double()
    state = net.state_dict()
    state["scale"][...] = 5.0
    assert np.asarray(net.scale).tolist() == [5.0, 5.0]
    other.load_state_dict(state)
    assert other.scale.dtype == weft.float64 and np.asarray(other.scale).tolist() == [5.0, 5.0]
    other.load_state_dict(state, assign=True)
    assert other.scale.dtype == weft.float32 and isinstance(other.first.weight, nn.Parameter)
    state["scale"][...] = 6.0
    assert np.asarray(other.scale).tolist() == [6.0, 6.0]


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def test_extra_state_and_hooks():
    net = nn.Sequential(Counted(), nn.Linear(1, 1))
    net[0].count = 7
    events = []
    net.register_state_dict_pre_hook(
        lambda module, prefix, keep_vars: events.append(("pre", prefix, keep_vars))
    )
    net[1].register_state_dict_post_hook(lambda module, state, prefix, metadata: state.pop(prefix + "bias"))
    state = net.state_dict()
    assert list(state) == ["0._extra_state", "1.weight"] and events == [("pre", "", False)]
    assert state._metadata["1"] == {"version": 1}

    other = nn.Sequential(Counted(), nn.Linear(1, 1))
    other[1].register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: state.__setitem__(prefix + "bias", weft.full((1,), 9.0))
    )
    other.register_load_state_dict_post_hook(lambda module, keys: events.append(list(keys.missing_keys)))
    other.load_state_dict(state)
    assert other[0].count == 7 and float(other[1].bias) == 9.0 and events[-1] == []
    forgiving = nn.Linear(1, 1)
    forgiving.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    forgiving.load_state_dict({})


def test_old_batch_norm_states_lack_the_count():
    state = nn.BatchNorm2d(3).state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    nn.BatchNorm2d(3).load_state_dict(state)
    state._metadata[""]["version"] = 2
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        nn.BatchNorm2d(3).load_state_dict(state)


# ---- hooks ----------------------------------------------------------------------------------------------------
def test_forward_hooks():
    net, events = Net(), []
    x = weft.ones((1, 3))
    plain = np.asarray(net(x))
    handles = [
        net.register_forward_pre_hook(lambda module, args: events.append("second")),
        net.register_forward_pre_hook(lambda module, args: events.append("first"), prepend=True),
        net.register_forward_pre_hook(lambda module, args, kwargs: (args, {"factor": 2.0}), with_kwargs=True),
        net.register_forward_hook(lambda module, args, output: output + 1),
        net.register_forward_hook(
            lambda module, args, kwargs, output: events.append(kwargs), with_kwargs=True
        ),
    ]
    close(net(x), 2 * plain + 1)
    assert events == ["first", "second", {"factor": 2.0}]
    for handle in handles:
        handle.remove()
    close(net(x), plain)
    with net.register_forward_pre_hook(lambda module, args: weft.zeros((1, 3))):
        assert not np.array_equal(np.asarray(net(x)), plain)
    close(net(x), plain)
    with (
        pytest.raises(RuntimeError, match="expected None or"),
        net.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True),
    ):
        net(x)


def test_hooks_that_are_always_called():
    seen = []
    net = nn.Module()
    net.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    net.register_forward_hook(lambda module, args, output: seen.append("never"))
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        net(1)
    assert seen == [None]


# ---- containers -----------------------------------------------------------------------------------------------
def test_sequential():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(net) == 3 and isinstance(net[-1], nn.Linear) and len(net[:2]) == 2
    net.insert(1, nn.Tanh()).append(nn.Sigmoid())
    assert [type(m).__name__ for m in net] == ["Linear", "Tanh", "ReLU", "Linear", "Sigmoid"]
    assert isinstance(net.pop(1), nn.Tanh) and len(net + net) == 8 and len(net * 2) == 8
    del net[-1]
    net[1] = nn.Identity()
    close(net(weft.ones((1, 2))), net[2](net[0](weft.ones((1, 2)))))
    with pytest.raises(IndexError, match="Sequential: index 7 is out of range for 3 items"):
        net[7]


def test_lists_and_dictionaries():
    modules = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    modules.update([("c", nn.Tanh())])
    assert (
        list(modules) == ["a", "b", "c"]
        and "b" in modules
        and len(modules) == 3
        and isinstance(modules.pop("a"), nn.ReLU)
    )
    blocks = nn.ModuleList([nn.ReLU()]) + [nn.Tanh()]
    blocks += [nn.Identity()]
    assert [type(m).__name__ for m in blocks[1:]] == ["Tanh", "Identity"]
    values = nn.ParameterList([weft.ones((1,)), nn.Parameter(weft.zeros((2,)))])
    values += [weft.ones((3,))]
    assert [name for name, _ in values.named_parameters()] == ["0", "1", "2"] and values[-1].shape == (3,)
    named = nn.ParameterDict({"x": weft.ones((2,))})
    named["y"] = nn.Parameter(weft.zeros((1,)))
    assert list(named.state_dict()) == ["x", "y"] and named.pop("x").shape == (2,) and list(named) == ["y"]


# ---- layers ---------------------------------------------------------------------------------------------------
def test_rms_norm_and_newer_layers():
    x = normal(3, 8)
    layer = nn.RMSNorm(8, eps=1e-3)
    layer.weight.copy_(normal(8))
    array = np.asarray(x, np.float64)
    close(layer(x), array / np.sqrt((array**2).mean(-1, keepdims=True) + 1e-3) * np.asarray(layer.weight))
    assert nn.LayerNorm(8, bias=False).bias is None
    close(nn.CircularPad1d((1, 2))(weft.asarray(np.arange(4.0).reshape(1, 1, 4))), [[[3, 0, 1, 2, 3, 0, 1]]])
    close(nn.ZeroPad1d(1)(weft.ones((1, 1, 2))), [[[0, 1, 1, 0]]])
    assert nn.LPPool3d(2.0, 2)(weft.ones((1, 1, 4, 4, 4))).shape == (1, 1, 2, 2, 2)


def test_batch_norm_in_training_mode():
    x = normal(6, 3, 4)
    array = np.asarray(x, np.float64)
    mean, variance = array.mean((0, 2)), array.var((0, 2))
    layer = nn.BatchNorm1d(3, momentum=0.3)
    close(layer(x), (array - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5))
    close(layer.running_mean, 0.3 * mean)
    close(layer.running_var, 0.7 + 0.3 * array.var((0, 2), ddof=1))
    assert int(layer.num_batches_tracked) == 1
    average = nn.BatchNorm1d(3, momentum=None)
    average(x), average(x * 2)
    close(average.running_mean, 1.5 * mean)
    layer.reset_running_stats()
    assert int(layer.num_batches_tracked) == 0
    with pytest.raises(ValueError, match="expected 4D input"):
        nn.BatchNorm2d(3)(x)


def test_lazy_layers_become_ordinary_ones():
    net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert net[0].has_uninitialized_params()
    other = copy.deepcopy(net)
    assert net(normal(2, 3, 5, 5)).shape == (2, 2)
    assert [type(m).__name__ for m in net] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert net[0].in_channels == 3 and net[1].num_features == 4 and net[3].in_features == 36
    other.load_state_dict(net.state_dict())
    x = normal(1, 3, 5, 5)
    close(other.eval()(x), net.eval()(x))


def test_recurrent_layers_keep_their_weights_in_step():
    layer = nn.LSTM(2, 3)
    state = {key: value * 0 for key, value in layer.state_dict().items()}
    layer.load_state_dict(state, assign=True)
    assert not np.asarray(layer(normal(4, 1, 2))[0]).any()
    layer.double()
    assert layer(weft.ones((4, 1, 2), dtype=weft.float64))[0].dtype == weft.float64
    layer.bias_ih_l0 = nn.Parameter(weft.ones((12,), dtype=weft.float64))
    assert np.asarray(copy.deepcopy(layer)(weft.ones((4, 1, 2), dtype=weft.float64))[0]).any()
    with pytest.raises(RuntimeError, match="expected an input of size 2 in the last dimension, got 5"):
        layer(weft.ones((4, 1, 5)))
    with pytest.raises(ValueError, match="proj_size must be at least 0 and less than hidden_size 3, got 3"):
        nn.LSTM(2, 3, proj_size=3)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_packed_sequences(name):
    from weft.nn.utils import rnn

    layer = getattr(nn, name)(2, 3, 2, bidirectional=True)
    sequences = [normal(n, 2) for n in (3, 5, 1)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    output, state = layer(packed)
    padded, lengths = rnn.pad_packed_sequence(output, batch_first=True)
    assert np.asarray(lengths).tolist() == [3, 5, 1]
    for n, sequence in enumerate(sequences):
        alone, alone_state = layer(sequence)
        close(padded[n, : len(sequence)], alone)
        pairs = zip(state, alone_state) if name == "LSTM" else [(state, alone_state)]
        for got, expected in pairs:
            close(got[:, n], expected)
    again = rnn.unpack_sequence(packed)
    for got, expected in zip(again, sequences):
        close(got, expected)
    close(rnn.pad_sequence(sequences[:2], padding_value=7.0, padding_side="left")[0, 0], [7.0, 7.0])
    given = (normal(4, 3, 3), normal(4, 3, 3)) if name == "LSTM" else normal(4, 3, 3)
    _, state = layer(packed, given)
    of_one = tuple(each[:, 1] for each in given) if name == "LSTM" else given[:, 1]
    _, alone = layer(sequences[1], of_one)
    close((state[0] if name == "LSTM" else state)[:, 1], alone[0] if name == "LSTM" else alone)


def test_encoder_layer_as_one_operator_and_step_by_step():
    x, mask = normal(2, 5, 8), weft.asarray(np.triu(np.ones((5, 5), bool), 1))
    for norm_first in (False, True):
        layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=norm_first).eval()
        whole = layer(x, mask)
        layer.linear1.register_forward_hook(lambda *_: None)  # takes the other way
        close(layer(x, mask), whole)
        close(layer(x, weft.where(mask, weft.full((), float("-inf")), weft.zeros(()))), whole)


def test_dropout_follows_the_mode():
    x = weft.ones((100,))
    assert sorted(set(nn.Dropout(0.5)(x).tolist())) == [0.0, 2.0]
    assert nn.Dropout(0.5).eval()(x) is x
    assert not np.asarray(nn.Dropout(1.0)(weft.ones((2,)))).any()


@pytest.mark.parametrize("build, message", [
    (lambda: nn.Conv2d(3, 4, 1, groups=2), "Conv2d: in_channels 3 and out_channels 4 must be divisible by groups 2"),
    (lambda: nn.Conv2d(3, 4, (1, 2, 3)), r"Conv2d: expected one number or 2, got \[1, 2, 3\]"),
    (lambda: nn.Conv1d(3, 4, 1, padding_mode="mirror"), "padding_mode must be one of zeros, reflect, replicate, circular, got 'mirror'"),
    (lambda: nn.Conv1d(3, 4, 3, 2, padding="same"), "padding='same' needs stride 1"), (lambda: nn.Dropout(1.5), "p must be between 0 and 1"),
    (lambda: nn.Embedding(3, 2, padding_idx=3), r"padding_idx must be within num_embeddings: expected one in \[-3, 3\), got 3"),
    (lambda: nn.GroupNorm(2, 3), "num_channels 3 must be divisible by num_groups 2"), (lambda: nn.L1Loss(reduction="avg"), "reduction must be one of none, mean, sum, got 'avg'"),
    (lambda: nn.MultiheadAttention(8, 3), "embed_dim must be a positive multiple of num_heads, got 8 and 3"),
    (lambda: nn.ConvTranspose1d(2, 2, 3, 2)(weft.ones((1, 2, 4)), output_size=[20]), "output_size: dimension 0 can be 9 to 10, got 20"),
])  # fmt: skip
def test_bad_arguments(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# ---- starting values and helpers ------------------------------------------------------------------------------
def test_starting_values():
    nn.init.manual_seed(1)
    first = nn.Linear(100, 50)
    nn.init.manual_seed(1)
    np.testing.assert_array_equal(np.asarray(first.weight), np.asarray(nn.Linear(100, 50).weight))
    assert np.abs(np.asarray(first.weight)).max() <= 0.1 and np.asarray(first.weight).std() == pytest.approx(
        0.1 / math.sqrt(3), rel=0.05
    )
    close(nn.init.dirac_(weft.empty((2, 2, 3))), [[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]])
    q = np.asarray(nn.init.orthogonal_(weft.empty((3, 5))))
    close(q @ q.T, np.eye(3))
    assert (np.asarray(nn.init.sparse_(weft.empty((10, 4)), 0.3)) == 0).sum() == 12
    values = np.asarray(nn.init.trunc_normal_(weft.empty((1000,)), a=-0.5, b=1.0))
    assert values.min() >= -0.5 and values.max() <= 1.0
    close(nn.init.eye_(weft.empty((2, 3))), np.eye(2, 3))


def test_fused_batch_norm():
    for conv, bn, x, transpose in ((nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), normal(1, 3, 5, 5), False),
                                   (nn.ConvTranspose1d(3, 4, 3, bias=False), nn.BatchNorm1d(4), normal(1, 3, 5), True)):  # fmt: skip
        bn.running_mean.copy_(normal(4))
        bn.weight.copy_(normal(4))
        with pytest.raises(RuntimeError, match="eval mode only"):
            nn.utils.fuse_conv_bn_eval(conv, bn)
        conv.eval(), bn.eval()
        close(nn.utils.fuse_conv_bn_eval(conv, bn, transpose)(x), bn(conv(x)))
    linear, bn = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
    bn.running_var.copy_(weft.full((4,), 2.0))
    close(nn.utils.fuse_linear_bn_eval(linear, bn)(normal(2, 3)).shape, (2, 4))


def test_weight_norm_and_spectral_norm():
    layer = nn.Linear(4, 3)
    x, weight = normal(2, 4), np.asarray(layer.weight).copy()
    plain = np.asarray(layer(x))
    nn.utils.weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"] and layer.weight_g.shape == (3, 1)
    close(layer(x), plain)
    layer.weight_g.copy_(layer.weight_g * 2)
    close(layer(x), 2 * (plain - np.asarray(layer.bias)) + np.asarray(layer.bias))
    nn.utils.remove_weight_norm(layer)
    close(layer.weight, 2 * weight)
    nn.utils.spectral_norm(layer, n_power_iterations=50)
    assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    layer(x)
    nn.utils.remove_spectral_norm(layer.eval())
    close(np.linalg.norm(np.asarray(layer.weight), 2), 1.0)


def test_parameters_as_a_vector():
    net = nn.utils.skip_init(nn.Linear, 2, 3)
    vector = weft.asarray(np.arange(9, dtype=np.float32))
    nn.utils.vector_to_parameters(vector, net.parameters())
    close(net.bias, [6, 7, 8])
    close(nn.utils.parameters_to_vector(net.parameters()), vector)
    with pytest.raises(ValueError, match="expected a vector of 9 elements"):
        nn.utils.vector_to_parameters(weft.ones((3,)), net.parameters())
