"""Functions of torch as attributes of classes, and what programs ask of torch without a graph of PyTorch's."""

import collections
import enum

import numpy as np
import pytest
import weft
import weft.torch as torch


class Plain:
    activation = torch.tanh


class Layer(torch.nn.Module):
    activation = torch.exp
    convolution = torch.conv2d

    def forward(self, x, weight):
        return self.convolution(self.activation(x), weight=weight, padding=1)


def test_operators_are_no_methods_of_the_classes_that_have_them():
    x = torch.linspace(-1, 1, 5)
    assert torch.equal(Plain().activation(x), x.tanh())
    image, weight = torch.rand(1, 1, 4, 4), torch.ones(1, 1, 3, 3)
    expected = torch.conv2d(image.exp(), weight, padding=1)
    assert torch.equal(Layer()(image, weight), expected)
    assert torch.allclose(torch.compile(Layer(), fullgraph=True)(image, weight), expected)


def test_they_are_methods_of_tensors():
    x = torch.linspace(-1, 1, 5)
    assert torch.equal(torch.Tensor.exp(x), torch.exp(x))
    assert torch.equal(torch.nn.Parameter(x).exp(), torch.exp(x))
    assert isinstance(torch.Tensor.exp, weft.Operator) and torch.Tensor.exp.__name__ == "exp"
    assert torch.equal(weft.compile(lambda x: torch.Tensor.exp(x) + x.exp())(x), 2 * x.exp())


@pytest.mark.parametrize("compiled", [False, True])
def test_assert_async(compiled):
    def check(x):
        torch._assert_async((x > 0).all(), "all of them")
        return x + 1

    function = torch.compile(check, fullgraph=True) if compiled else check
    for _ in range(3):
        assert torch.equal(function(torch.ones(3)), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="all of them"):
        function(torch.zeros(3))
    with pytest.raises(RuntimeError, match="nonzero"):
        torch._assert_async(torch.zeros(1))
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch._assert_async(torch.zeros(2))


def test_as_tensor_is_part_of_graphs():
    def program(x, array):
        number = torch.as_tensor(2.0, dtype=x.dtype, device=x.device)
        return (
            number * x
            + torch.as_tensor([1, 2, 3])
            + torch.as_tensor(x)
            + torch.as_tensor(array, dtype=torch.float64)
        )

    compiled = torch.compile(program, fullgraph=True)
    for scale in (1, 2):
        x, array = torch.ones(3) * scale, np.arange(3.0) * scale
        expected, result = program(x, array), compiled(x, array)
        assert torch.equal(result, expected) and result.dtype == expected.dtype
    same = torch.compile(lambda x: torch.as_tensor(x), fullgraph=True)
    assert same(x) is x


ALLOWED = {"reflect", "constant"}


def test_texts_of_global_sets():
    compiled = torch.compile(lambda x, name: (x + 1, f"{name} is none of {ALLOWED}"), fullgraph=True)
    x = torch.ones(2)
    assert compiled(x, "same")[1] == f"same is none of {ALLOWED}"
    ALLOWED.add("circular")
    assert compiled(x, "same")[1] == f"same is none of {ALLOWED}"


def test_classes_of_named_tuples_made_inside():
    def program(x):
        outputs = collections.namedtuple("Outputs", ["low", "high"], defaults=[None])
        return outputs(x.min(), x.max()), outputs(low=x), collections.namedtuple("One", "x")(1)

    compiled = torch.compile(program, fullgraph=True)
    for x in (torch.rand(4), torch.rand(4)):
        (both, one, last), expected = compiled(x), program(x)
        assert both == expected[0] and type(both).__name__ == "Outputs" and both._fields == ("low", "high")
        assert type(both).__module__ == __name__ and one.high is None and last.x == 1

    def wrong(x):
        collections.namedtuple("Wrong", "a a")
        return x

    with pytest.raises(ValueError, match="duplicate"):
        torch.compile(wrong)(x)


def test_strides_and_paddings_of_one_number_stand_for_all():
    x = torch.rand(1, 2, 8, 8)
    one = torch.nn.Conv2d(2, 3, 3, stride=[2], padding=[1], dilation=(1,))
    both = torch.nn.Conv2d(2, 3, 3, stride=2, padding=1)
    both.load_state_dict(one.state_dict())
    assert one.stride == (2,) and torch.equal(one(x), both(x))
    assert "stride=(2,), padding=(1,))" in repr(one)
    grown = torch.nn.ConvTranspose2d(2, 3, 3, stride=[2], output_padding=[1])
    assert grown(x).shape == (1, 3, 18, 18)
    with pytest.raises(ValueError, match="expected one number or 2"):
        torch.nn.Conv2d(2, 3, [3])
    with pytest.raises(ValueError, match="expected one number or 2"):
        torch.nn.Conv2d(2, 3, 3, padding=[1, 1, 1])


def test_answers_without_graphs_of_pytorchs():
    from weft.torch._subclasses.fake_tensor import is_fake
    from weft.torch.fx import GraphModule
    from weft.torch.fx.experimental.proxy_tensor import get_proxy_mode

    x = torch.ones(2)
    assert not torch.onnx.is_in_onnx_export() and get_proxy_mode() is None and not is_fake(x)
    assert torch.autograd.forward_ad.unpack_dual(x).tangent is None
    assert torch.autograd.forward_ad.unpack_dual(x).primal is x
    assert not torch._C._are_functorch_transforms_active() and torch._C._get_tracing_state() is None
    assert torch._C._log_api_usage_once("anything") is None
    assert not isinstance(torch.nn.Linear(1, 1), GraphModule) and issubclass(GraphModule, torch.nn.Module)


class Kind(enum.Enum):
    LINEAR = 1
    CUBIC = 2


def test_members_of_enumerations():
    def program(x, name):
        known = [key for key in Kind.__members__]
        if name not in Kind.__members__:
            return x, known
        return x * Kind[name].value + len(Kind.__members__), [member for member in Kind.__members__.values()]

    compiled, x = torch.compile(program, fullgraph=True), torch.ones(2)
    for name in ("LINEAR", "CUBIC", "NONE"):
        (value, members), expected = compiled(x, name), program(x, name)
        assert torch.equal(value, expected[0]) and members == expected[1]


def test_numbers_by_way_of_numpys_functions():
    def program(x):
        parts = x.chunk(int(np.ceil(x.shape[0] / 2)), 0)
        return parts, int(np.floor(7.5)), float(np.sqrt(4.0)), int(np.log2(x.shape[1]))

    whole = torch.compile(program, fullgraph=True, dynamic=False)
    for shape in ((6, 8), (6, 8), (9, 16)):
        x = torch.ones(*shape)
        (parts, *numbers), expected = whole(x), program(x)
        assert len(parts) == len(expected[0]) and numbers == list(expected[1:])
        assert [type(number) for number in numbers] == [int, float, int]
    compiled = torch.compile(program)
    for rows in range(5, 9):
        assert len(compiled(torch.ones(rows, 4))[0]) == (rows + 1) // 2
    with pytest.raises(OverflowError):
        torch.compile(lambda x: x + int(np.ceil(np.inf * 2)))(x)
