"""Subclasses of PyTorch's modules: their own methods are called where PyTorch calls them, and no name that PyTorch does not
have is taken by weft. What PyTorch has and calls was recorded: method_calls.py, test_method_calls.json."""

import ast
import copy
import importlib
import io
import json
import pickle
import pkgutil
from pathlib import Path

import method_calls
import numpy as np
import pytest
import weft
import weft.torch as torch

nn_cases, nn = method_calls.nn_cases, torch.nn
RECORDED = json.loads((Path(__file__).parent / "test_method_calls.json").read_text())
PRIVATE, ALWAYS = set(RECORDED.pop("private")), RECORDED.pop("always called")
# torchvision's own.
TORCHVISION = set("""_forward_impl _make_layer _norm_layer _forward _transform_input _post_nms_top_n _pre_nms_top_n _skip_resize
    _is_cn _process_input _scale _stage_out_channels _wh_pairs""".split())  # fmt: skip
# torch.jit.ScriptModule's, torch._dynamo's OptimizedModule's, those of parametrizations, torch.fx.GraphModule's.
OTHERS = {"_c", "_python", "_orig_mod", "_u", "_v", "_recompile_submodules", "_register_create_node_hook",
          "_register_replace_node_hook", "_wrapped_call", "_unregister_create_node_hook", "_unregister_replace_node_hook"}  # fmt: skip
CASES = {repr(case): case for case in nn_cases.CASES}


def tensor(array):
    return torch.from_numpy(np.array(array))


def packages():
    for package in (weft.nn, weft.jit, weft.sparse, weft.quantization, weft.torch.export, importlib.import_module("weft.torchvision"),
                    importlib.import_module("weft.models.sam"), importlib.import_module("weft.distributed.tensor_parallel")):  # fmt: skip
        yield package
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), package.__name__ + "."):
            if not found.name.endswith(("__main__", ".ladder_torch", ".ladder_fast")):  # PyTorch runs these
                yield importlib.import_module(found.name)


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def own_names():
    """Every private name that the source of weft's modules has: of functions, attributes and variables."""
    names = set()
    for module in packages():
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            names |= {
                getattr(node, key)
                for key in ("name", "attr", "id", "arg")
                if isinstance(getattr(node, key, None), str)
            }
    return {name for name in names if is_private(name) and not name.startswith("_weft_")}


def module_classes():
    list(packages())
    found, left = [], [weft.nn.Module]
    while left:
        own = left.pop()
        left += own.__subclasses__()
        # Not held to this yet; another test may have imported it.
        if own.__module__.startswith("weft.torch.ao."):
            continue
        if own not in found and own.__module__.split(".")[0] in ("weft", "torch"):
            found.append(own)
    return found


def test_names_of_classes():
    """What a class has beside PyTorch's names begins with _weft_: no attribute of a subclass hides it."""
    taken = {
        own.__name__: names
        for own in module_classes()
        if (names := {
            name for name in method_calls.private_names(own)
            if not name.startswith("_weft_") and name not in PRIVATE | TORCHVISION | OTHERS | {"_is_protocol"}
        })
    }  # fmt: skip
    assert not taken


@pytest.mark.parametrize("name", CASES)
def test_names_of_instances(name):
    module = CASES[name].build(nn)
    names = method_calls.private_names(type(module), module)
    assert not {each for each in names if not each.startswith("_weft_")} - PRIVATE


# ---- names of a program's own ------------------------------------------------------------------------------------
# "_gather" is that of ultralytics' Detect.
HIDING = own_names() - PRIVATE - OTHERS | {
    "_gather",
    "_take",
    "_own_state",
    "_check_name",
    "_before_forward",
    "_add_hook",
}


def hiding(own):
    """A subclass in which every such name is something else; pickles find it here."""
    subclass = type(
        f"Hiding{own.__name__}", (own,), {name: "mine" for name in HIDING} | {"__module__": __name__}
    )
    globals()[subclass.__name__] = subclass
    return subclass


def outputs(module, case, state):
    module.load_state_dict(state)
    inputs, options = case.arrays()
    inputs = [nn_cases.to_tensors(tensor, each) for each in inputs]
    torch.manual_seed(0)
    result = module(*inputs, **{key: nn_cases.to_tensors(tensor, value) for key, value in options.items()})
    return [each.numpy() for each in nn_cases.flat(result) if isinstance(each, torch.Tensor)]


@pytest.mark.parametrize("name", CASES)
def test_subclass_with_every_name(name):
    case = CASES[name]
    plain = case.build(nn)
    module = case.build(method_calls.Namespace(nn, case.name, hiding(getattr(nn, case.name))))
    for each in ("_gather", "_take", "_zeros"):
        setattr(module, each, "mine")
    state = plain.state_dict()
    assert list(module.state_dict()) == list(state)
    expected = outputs(plain, case, state)
    copies = [module, copy.deepcopy(module), copy.copy(module), pickle.loads(pickle.dumps(module))]
    for each in copies:
        assert type(each) is type(module) and each._gather == "mine"
        handles = [
            each.register_forward_hook(lambda *_: None),
            each.register_forward_pre_hook(lambda *_: None),
        ]
        for got, want in zip(outputs(each, case, state), expected, strict=True):
            np.testing.assert_array_equal(got, want)
        for handle in handles:
            handle.remove()
    parent = nn.Sequential(module)
    parent.double().float().train().eval()
    assert [key.removeprefix("0.") for key in parent.state_dict()] == list(state)
    method_calls.use(torch, module, case, tensor)


# ---- methods that are overridden -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", RECORDED)
def test_methods_are_called(name):
    expected = {*ALWAYS, *RECORDED[name]}
    called = set()
    for case in CASES.values():
        if case.name == name:
            called |= set(method_calls.called_methods(torch, case, sorted(expected), tensor))
    assert called == expected


class Scaled(nn.Conv2d):
    def _conv_forward(self, input, weight, bias):
        return super()._conv_forward(input, weight * 2, bias)


def test_a_convolution_of_ones_own():
    module = Scaled(2, 3, 3, padding=1, padding_mode="circular")
    plain = nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular")
    plain.load_state_dict(module.state_dict())
    plain.weight.mul_(2)
    x = torch.rand(1, 2, 5, 5)
    expected = plain(x)
    for each in (module, torch.compile(module), torch.compile(module, fullgraph=True), copy.deepcopy(module)):
        assert torch.allclose(each(x), expected, atol=1e-6)


class Kept(nn.Module):
    """Parts of it are never converted, and a tensor that is no buffer is."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.table = torch.ones(2)

    def _apply(self, fn, recurse=True):
        self.table = fn(self.table)
        return self


def test_conversions_of_ones_own():
    shared = nn.Linear(2, 2)
    parent = nn.ModuleDict(
        {"kept": Kept(), "first": shared, "second": nn.Sequential(shared), "rnn": nn.LSTM(2, 3)}
    )
    parent["tied"] = nn.Linear(2, 2)
    parent["tied"].weight = shared.weight
    assert parent.to(torch.float64) is parent
    kept = parent["kept"]
    assert kept.weight.dtype == torch.float32 and kept.table.dtype == torch.float64
    assert shared.weight.dtype == torch.float64 and parent["tied"].weight is shared.weight
    assert isinstance(shared.weight, nn.Parameter)
    assert all(weight.dtype == torch.float64 for weight in parent["rnn"]._flat_weights)
    assert parent["rnn"](torch.rand(4, 1, 2, dtype=torch.float64))[0].dtype == torch.float64


class Called(nn.Linear):
    def _call_impl(self, *args, **kwargs):
        return super()._call_impl(*args, **kwargs) + 1


def test_calls_of_ones_own():
    module, x = Called(2, 2), torch.rand(3, 2)
    plain = nn.Linear(2, 2)
    plain.load_state_dict(module.state_dict())
    expected = plain(x) + 1
    assert torch.equal(module(x), expected) and torch.equal(nn.Sequential(module)(x), expected)
    assert torch.allclose(torch.compile(module)(x), expected)
    module.compile()
    assert torch.allclose(module(x), expected)
    module = Called(2, 2)
    module._call_impl = lambda x: "mine"
    assert module(x) == "mine"

    class Beside:
        def _call_impl(self, *args, **kwargs):
            return "beside"

    class Calls(Beside, nn.Identity):
        pass

    assert Calls()(x) == "beside" and nn.Identity()(x) is x


class Watching(nn.Module):
    def __init__(self):
        self.__dict__["seen"] = []
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.bias = nn.Parameter(torch.ones(2))
        self.table = nn.Buffer(torch.ones(2))

    def register_parameter(self, name, param):
        self.seen.append(name)
        super().register_parameter(name, param)

    def register_buffer(self, name, tensor, persistent=True):
        self.seen.append(name)
        super().register_buffer(name, tensor, persistent)


def test_registrations_of_ones_own():
    module = Watching()
    module.bias = None
    module.table = torch.zeros(2)
    assert module.seen == ["weight", "bias", "table", "bias", "table"]
    assert module.table.tolist() == [0, 0] and list(module.state_dict()) == ["weight", "table"]
    module.weight = nn.Buffer(torch.zeros(2), persistent=False)
    assert list(module.state_dict()) == ["table"] and not list(module.parameters())


class Simple(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.ones(2))
        self.register_buffer("hidden", torch.ones(2), persistent=False)

    def register_buffer(self, name, tensor, persistent=None):
        super().register_buffer(name, tensor, persistent is not False)


class Simplest(Simple):
    def register_buffer(self, name, tensor):
        nn.Module.register_buffer(self, name, tensor)

    def __init__(self):
        nn.Module.__init__(self)
        self.register_buffer("table", torch.ones(2))


def test_buffers_of_ones_own():
    for module in (Simple(), Simplest()):
        module.table = torch.zeros(2)
        assert list(module.state_dict()) == ["table"] and module.table.tolist() == [0, 0]


def test_hooks_of_all_registrations():
    seen = []
    handles = [
        nn.modules.module.register_module_parameter_registration_hook(
            lambda m, name, value: seen.append(name)
        ),
        nn.modules.module.register_module_buffer_registration_hook(lambda m, name, value: seen.append(name)),
        nn.modules.module.register_module_module_registration_hook(lambda m, name, value: seen.append(name)),
    ]
    try:
        module = nn.Module()
        module.weight = nn.Parameter(torch.ones(1))
        module.register_buffer("table", torch.ones(1))
        module.table = torch.zeros(1)
        module.part = nn.Module()
        module.add_module("other", nn.Module())
    finally:
        for handle in handles:
            handle.remove()
    module.weight = nn.Parameter(torch.ones(1))
    assert seen == ["weight", "table", "table", "part", "other"]


class Recurrent(nn.LSTM):
    def check_forward_args(self, input, hidden, batch_sizes):
        self.checked = [tuple(input.shape), tuple(hidden[0].shape), batch_sizes is not None]

    def permute_hidden(self, hx, permutation):
        self.permuted = getattr(self, "permuted", 0) + 1
        return super().permute_hidden(hx, permutation)


@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_layers_of_ones_own(batch_first):
    module = Recurrent(2, 3, batch_first=batch_first)
    plain = nn.LSTM(2, 3, batch_first=batch_first)
    plain.load_state_dict(module.state_dict())
    x = torch.rand(4, 5, 2)
    batch = 4 if batch_first else 5
    assert torch.equal(module(x)[0], plain(x)[0])
    assert module.checked == [(4, 5, 2), (1, batch, 3), False]
    state = torch.rand(1, batch, 3), torch.rand(1, batch, 3)
    module.permuted = 0
    got, want = module(x, state), plain(x, state)
    assert torch.equal(got[0], want[0]) and torch.equal(got[1][1], want[1][1]) and module.permuted == 2
    single = torch.rand(4, 2)
    assert torch.equal(module(single)[0], plain(single)[0]) and module.checked[0] == (
        (1, 4, 2) if batch_first else (4, 1, 2)
    )
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.full((batch,), 4), batch_first=batch_first) if not batch_first else (
        nn.utils.rnn.pack_padded_sequence(x, torch.full((batch,), 5), batch_first=True))  # fmt: skip
    assert torch.equal(module(packed)[0].data, plain(packed)[0].data) and module.checked[2]


def test_weights_that_go_around_the_attributes():
    module, x = nn.GRU(2, 3), torch.rand(4, 1, 2)
    other = nn.GRU(2, 3)
    expected = other(x)[0]
    for name, value in other._parameters.items():
        module._parameters[name] = value
    assert torch.equal(module(x)[0], expected)
    given = {name: value.detach() for name, value in nn.GRU(2, 3).named_parameters()}
    assert torch.equal(torch.func.functional_call(module, dict(other.named_parameters()), (x,))[0], expected)
    assert not torch.equal(torch.func.functional_call(module, given, (x,))[0], expected)


# ---- copies and states --------------------------------------------------------------------------------------------
class WithState(nn.Linear):
    def __getstate__(self):
        return {**super().__getstate__(), "saved": True}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.made = "by __setstate__"


def test_copies_set_states():
    module = WithState(2, 2)
    for made in (copy.deepcopy(module), copy.copy(module), pickle.loads(pickle.dumps(module)),
                 copy.deepcopy(nn.Sequential(module))[0]):  # fmt: skip
        assert made.saved and made.made == "by __setstate__" and not hasattr(module, "made")
        assert torch.equal(made.weight, module.weight)
    assert copy.deepcopy(module).weight is not module.weight and copy.copy(module).weight is module.weight
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    assert torch.load(buffer, weights_only=False).made == "by __setstate__"


def test_copies_keep_what_is_shared():
    shared = nn.Linear(2, 2)
    copied = copy.deepcopy(nn.Sequential(shared, shared, nn.LSTM(2, 2)))
    assert copied[0] is copied[1] and copied[0].weight is not shared.weight
    assert all(a is b for a, b in zip(copied[2]._flat_weights, copied[2]._parameters.values()))


def test_recurrent_layers_of_older_files():
    module = nn.LSTM(2, 3, num_layers=2)
    for older in ("_all_names", "_all_weights"):
        state = {
            key: value
            for key, value in module.__getstate__().items()
            if not key.startswith(("_flat", "_all"))
        }
        again = nn.LSTM.__new__(nn.LSTM)
        again.__setstate__({**state, older: module._all_weights})
        assert again._all_weights == module._all_weights and "_all_names" not in vars(again)
        x = torch.rand(4, 1, 2)
        assert torch.equal(again(x)[0], module(x)[0])
