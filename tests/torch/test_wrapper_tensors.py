"""Classes of programs that wrap tensors: Tensor._make_wrapper_subclass, __torch_function__, __torch_dispatch__."""

import copy
import pickle

import pytest
import weft.torch as torch
from weft.torch.utils._python_dispatch import is_traceable_wrapper_subclass, return_and_correct_aliasing

aten = torch.ops.aten


class Rounded(torch.Tensor):
    """A weight as int8 and a scale of each row."""

    calls = []

    @staticmethod
    def __new__(cls, values, scales, dtype):
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=dtype, device=values.device)

    def __init__(self, values, scales, dtype):
        super().__init__()
        self.values, self.scales = values, scales

    @classmethod
    def of(cls, weight):
        scales = weight.abs().amax(1, keepdim=True) / 127
        return cls(torch.round(weight / scales).to(torch.int8), scales, weight.dtype)

    def dequantize(self):
        return (self.values * self.scales).to(self.dtype)

    def __repr__(self):
        return f"Rounded({self.shape}, {self.dtype})"

    def __tensor_flatten__(self):
        return ["values", "scales"], {"dtype": self.dtype}

    @classmethod
    def __tensor_unflatten__(cls, tensors, attributes, size, stride):
        return cls(tensors["values"], tensors["scales"], attributes["dtype"])

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.nn.functional.linear:
            x, weight, bias = (*args, None)[:3]
            return (x @ weight.values.to(x.dtype).t()) * weight.scales.to(x.dtype).flatten() + bias
        if func == torch.Tensor.tolist:
            return args[0].dequantize().tolist()
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs):
        cls.calls.append((func.name(), kwargs))
        self = args[0]
        if func in (aten.detach.default, aten.clone.default):
            made = cls(func(self.values), func(self.scales), self.dtype)
        elif func is aten._to_copy.default:
            made = cls(self.values, self.scales, kwargs.get("dtype", self.dtype))
        elif func is aten.mm.default:
            return args[0].dequantize() @ args[1]
        else:
            return NotImplemented
        return return_and_correct_aliasing(func, args, kwargs, made)


@pytest.fixture
def model():
    model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()
    for number, one in enumerate(model.parameters()):
        one.data.copy_(torch.sin(torch.arange(float(one.numel())) + number).reshape(one.shape))
    return model


X = torch.cos(torch.arange(48.0)).reshape(3, 16)


def test_as_a_parameter(model):
    expected = model(X)
    weight = Rounded.of(model[0].weight.detach())
    model[0].weight = torch.nn.Parameter(weight, requires_grad=False)
    assert model[0].weight is weight and isinstance(weight, torch.Tensor)
    assert [name for name, _ in model.named_parameters()][:2] == ["0.weight", "0.bias"]
    assert (weight.shape, weight.dtype, str(weight.device), weight.ndim) == ((8, 16), torch.float32, "cpu", 2)
    assert not weight.is_meta and weight.is_cpu and is_traceable_wrapper_subclass(weight)
    assert torch.allclose(model(X), expected, atol=0.05) and not torch.equal(model(X), expected)
    compiled = torch.compile(model)
    assert torch.allclose(compiled(X), model(X), atol=1e-6)
    other = copy.deepcopy(model)
    assert type(other[0].weight) is Rounded and other[0].weight.values is not weight.values
    assert torch.equal(other(X), model(X))
    state = model.state_dict()
    assert type(state["0.weight"]) is Rounded
    half = copy.deepcopy(model).to(torch.bfloat16)
    assert type(half[0].weight) is Rounded and half[0].weight.dtype == torch.bfloat16
    assert torch.allclose(half(X.bfloat16()).float(), expected, atol=0.1)


def test_where_calls_go():
    weight = Rounded.of(torch.arange(1.0, 7.0).reshape(2, 3))
    Rounded.calls.clear()
    assert type(weight.detach()) is type(weight.clone()) is Rounded
    assert weight.to(torch.float64).dtype == weight.double().dtype == torch.float64
    assert weight.to("cpu", torch.float16).dtype == torch.float16
    assert [name for name, _ in Rounded.calls] == ["aten::detach", "aten::clone"] + ["aten::_to_copy"] * 3
    assert Rounded.calls[-1][1] == {"dtype": torch.float16, "device": torch.device("cpu")}
    assert torch.allclose(weight @ torch.ones(3, 1), torch.tensor([[6.0], [15.0]]), atol=0.1)
    assert len(weight.tolist()) == 2 and repr(weight) == "Rounded(torch.Size([2, 3]), torch.float32)"
    for call in (
        lambda: weight + 1,
        lambda: weight.sin(),
        lambda: weight[0],
        lambda: torch.ones(2, 3) * weight,
    ):
        with pytest.raises(TypeError, match="no implementation found for"):
            call()


def test_classes_that_do_not_say_how():
    class Silent(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="needs a __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Silent, (2, 3))


def test_int_mm():
    x = ((torch.arange(5 * 3000).reshape(5, 3000) * 7919) % 256 - 128).to(torch.int8)
    y = ((torch.arange(3000 * 2).reshape(3000, 2) * 104729) % 256 - 128).to(torch.int8)
    for k in (0, 1, 1024, 1025, 3000):
        found = torch._int_mm(x[:, :k], y[:k])
        assert found.dtype == torch.int32 and torch.equal(found.long(), x[:, :k].long() @ y[:k].long())
    lowest = torch.full((1, 2048), -128, dtype=torch.int8)
    assert torch._int_mm(lowest, lowest.t()).item() == 2**25
    with pytest.raises(RuntimeError, match="of dtype int8"):
        torch._int_mm(x, y.int())
    with pytest.raises(RuntimeError, match="of dimension 2 but got 1"):
        torch._int_mm(x, y[:, 0])
    with pytest.raises(RuntimeError, match="needs to match"):
        torch._int_mm(x, y[1:])


def test_names_of_libraries_of_quantization():
    from weft.torch._inductor.decomposition import decompositions, register_decomposition
    from weft.torch._library.infer_schema import infer_schema

    def cast(x: torch.Tensor, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        return x.to(dtype) + 0

    with torch.library._scoped_library("wrapper_tests", "FRAGMENT") as lib:
        assert infer_schema(cast, mutates_args={}) == "(Tensor x, ScalarType dtype=float64) -> Tensor"
        lib.define("cast" + infer_schema(cast, mutates_args={}), tags=[torch.Tag.pt2_compliant_tag])
        lib.impl("cast", cast, "CompositeExplicitAutograd")
        operator = torch.ops.wrapper_tests.cast
        assert operator(torch.ones(1)).dtype == torch.float64
        assert operator(torch.ones(1), torch.float16).dtype == torch.float16
        assert register_decomposition([operator])(cast) is cast and decompositions.pop(operator) is cast
    assert torch._C.Tag is torch.Tag and torch.Tag.core in torch.Tag
    with pytest.raises(NotImplementedError, match="torch.distributed's functions"):
        torch.ops.c10d.scatter_.default(None)


def test_names_of_schemes():
    assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine"
    assert isinstance(torch.per_channel_symmetric, torch.qscheme)
    assert copy.deepcopy(torch.per_channel_affine) is not None
    from weft.torch.ao.quantization.fx._decomposed import quantized_decomposed_lib

    assert quantized_decomposed_lib.ns == "quantized_decomposed"


@pytest.mark.parametrize("weights_only", [False, True])
def test_saved_and_loaded(model, tmp_path, weights_only):
    model[0].weight = torch.nn.Parameter(Rounded.of(model[0].weight.detach()), requires_grad=False)
    expected = model(X)
    torch.save(model.state_dict(), tmp_path / "state.pt")
    with torch.serialization.safe_globals([Rounded]):
        state = torch.load(tmp_path / "state.pt", weights_only=weights_only)
    assert type(state["0.weight"]) is Rounded and state["0.weight"].device.type == "cpu"
    other = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    other.load_state_dict(state, assign=True)
    assert torch.equal(other(X), expected)
    if weights_only:
        with pytest.raises(pickle.UnpicklingError, match="Rounded is not allowed"):
            torch.load(tmp_path / "state.pt")
    again = pickle.loads(pickle.dumps(model[0].weight))
    assert type(again) is Rounded and torch.equal(again.values, model[0].weight.values)
    assert torch.equal(copy.copy(model[0].weight).scales, model[0].weight.scales)


@pytest.mark.parametrize(
    "place, value", [(0, torch.Tensor), (0, dict), (1, "float32"), (2, (1.5,)), (6, "cpu")]
)
def test_what_files_cannot_make(place, value):
    made = [Rounded, torch.float32, (2, 3), (3, 1), 0, torch.strided, torch.device("cpu"), False]
    made[place] = value
    with pytest.raises(TypeError, match="torch.load: expected"):
        torch._utils._rebuild_wrapper_subclass(*made)
