"""weft.torch.Tensor: sizes, views, attributes, methods that change a tensor's shape, errors, and how tensors are printed."""

import copy
import pickle

import numpy
import pytest
import weft
import weft.torch as torch


def values(*shape):
    return torch.arange(float(numpy.prod(shape))).reshape(shape)


class TestSize:
    def test_is_a_tuple_of_its_own_class(self):
        x = values(4, 5)
        assert isinstance(x.shape, torch.Size) and x.shape == (4, 5) and hash(x.shape) == hash((4, 5))
        assert repr(x.shape) == "torch.Size([4, 5])" and x.size() == x.shape and x.size(-1) == 5
        for part in (
            x.shape[1:],
            x.shape + (1,),
            (1,) + x.shape,
            x.shape * 2,
            2 * x.shape,
            copy.deepcopy(x.shape),
        ):
            assert type(part) is torch.Size
        assert type(x.shape[0]) is int and x.shape.numel() == 20 and torch.Size().numel() == 1
        assert pickle.loads(pickle.dumps(x.shape)) == x.shape
        assert type(weft.numpy.zeros((2, 3)).shape) is tuple

    def test_of_numbers(self):
        assert torch.Size([True, torch.tensor(3)]) == (1, 3)
        with pytest.raises(TypeError, match="Size: expected an iterable of ints, but item 0 is of type str"):
            torch.Size(["a"])
        with pytest.raises(TypeError):
            torch.Size([1.5])
        with pytest.raises(TypeError):
            torch.Size([1]) + [2]


class TestViews:
    def test_view_never_copies(self):
        x = values(4, 5)
        assert x.view(2, -1).shape == (2, 10) and x.view((20,)).data_ptr() == x.data_ptr()
        assert x.view(size=(5, 4)).shape == (5, 4) and x.view_as(values(2, 10)).shape == (2, 10)
        assert x[:, :1].view(4).stride() == (5,) and values(0, 3).view(3, 0).shape == (3, 0)
        assert values(1)[0].view(1, 1).shape == (1, 1)
        with pytest.raises(RuntimeError, match=r"view: cannot reshape"):
            x.view(7, 3)
        with pytest.raises(RuntimeError, match=r"its elements do not lie so; use reshape\(\)"):
            x.t().view(20)
        with pytest.raises(TypeError):
            x.view()

    def test_view_as_another_dtype(self):
        x = torch.tensor([1.0, 2.0])
        assert x.view(torch.int32).tolist() == [1065353216, 1073741824]
        assert x.view(torch.uint8).shape == (8,) and x.view(dtype=torch.float64).shape == (1,)
        with pytest.raises(RuntimeError):
            torch.tensor([1.0, 2.0, 3.0]).view(torch.float64)

    def test_parts_of_complex_numbers_are_views(self):
        z = torch.tensor([1 + 2j, 3 - 1j])
        z.real = torch.tensor([5.0, 6.0])
        z.imag[0] = 7
        assert z.tolist() == [5 + 7j, 6 - 1j]
        x = values(3)
        assert x.real is x
        with pytest.raises(TypeError, match="imag: expected complex numbers"):
            _ = x.imag

    def test_transposes(self):
        z = torch.tensor([[1 + 2j, 3 - 1j]])
        assert (
            z.H.tolist() == [[1 - 2j], [3 + 1j]]
            and z.mH.shape == (2, 1)
            and values(2, 3, 4).mT.shape == (2, 4, 3)
        )
        for name, shape in (("H", (2, 2, 2)), ("H", (3,)), ("mH", (3,)), ("mT", (3,))):
            with pytest.raises(RuntimeError):
                getattr(torch.zeros(shape), name)


CHANGES_OF_SHAPE = [
    (lambda x: x.t_(), (3, 2), (1, 3)),
    (lambda x: x.transpose_(0, -1), (3, 2), (1, 3)),
    (lambda x: x.swapaxes_(0, 1), (3, 2), (1, 3)),
    (lambda x: x.unsqueeze_(0), (1, 2, 3), (6, 3, 1)),
    (lambda x: x.unsqueeze_(0).squeeze_(), (2, 3), (3, 1)),
    (lambda x: x.as_strided_((2,), (3,), 1), (2,), (3,)),
    (lambda x: x.resize_(3), (3,), (1,)),
    (lambda x: x.resize_as_(values(1, 2)), (1, 2), (2, 1)),
    (lambda x: x.set_(values(4)), (4,), (1,)),
    (lambda x: x.set_(), (0,), (1,)),
    (lambda x: x.set_(x.storage(), 1, (2,), (2,)), (2,), (2,)),
]


class TestShapesInPlace:
    @pytest.mark.parametrize(("change", "shape", "stride"), CHANGES_OF_SHAPE)
    def test_the_object_stays(self, change, shape, stride):
        x = values(2, 3)
        assert change(x) is x and (x.shape, x.stride()) == (shape, stride)

    @pytest.mark.parametrize(("change", "shape", "stride"), CHANGES_OF_SHAPE)
    def test_the_object_stays_in_compiled_functions(self, change, shape, stride):
        compiled = torch.compile(lambda x: (change(x), x.numel()))
        for _ in range(3):
            x = values(2, 3)
            found, count = compiled(x)
            assert found is x and (x.shape, x.stride()) == (shape, stride) and count == x.numel()

    def test_resize_keeps_what_there_is(self):
        x = values(2, 3).resize_(2, 5)
        assert x.shape == (2, 5) and x.reshape(-1)[:6].tolist() == [0, 1, 2, 3, 4, 5]
        assert values(6).resize(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
        with pytest.raises(RuntimeError):
            values(6).resize(7)

    def test_data_stands_for_another(self):
        x = values(2)
        x.data = values(3)
        assert x.shape == (3,) and x.data.data_ptr() == x.data_ptr()


class TestNewTensors:
    def test_take_dtype_and_device(self):
        x = values(2).double()
        assert (
            x.new_zeros(2, 3).tolist() == [[0, 0, 0], [0, 0, 0]] and x.new_ones((2,)).dtype == torch.float64
        )
        assert x.new_full((2,), 3, dtype=torch.int32).tolist() == [3, 3] and x.new_empty(
            size=(2, 1)
        ).shape == (2, 1)
        assert x.new_tensor([1, 2]).dtype == torch.float64 and x.new_empty_strided(
            (2, 3), (1, 2)
        ).stride() == (1, 2)
        assert torch.tensor([1]).new_tensor([1.5]).tolist() == [1]
        assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).dtype == torch.float64 and x.new().shape == (0,)
        assert x.new_zeros(x.shape).shape == (2,) and x.new_ones(0, True).shape == (0, 1)

    def test_legacy_forms(self):
        assert torch.Tensor([1, 2]).dtype == torch.float32 and torch.Tensor(2, 3).shape == (2, 3)
        assert torch.Tensor().shape == (0,) and torch.Tensor(torch.Size([2])).shape == (2,)
        assert torch.LongTensor([1, 2]).dtype == torch.int64 and torch.HalfTensor(3).shape == (3,)
        assert isinstance(values(2), torch.FloatTensor) and not isinstance(values(2), torch.DoubleTensor)
        assert (
            values(2).type() == "torch.FloatTensor" and values(2).type("torch.IntTensor").dtype == torch.int32
        )
        assert values(2).type(torch.DoubleTensor).dtype == torch.float64
        with pytest.raises(ValueError, match="invalid type"):
            values(2).type("torch.NoTensor")
        with pytest.raises(TypeError):
            torch.Tensor("a")
        with pytest.raises(TypeError):
            torch.Tensor(2.5)


class TestMemory:
    def test_memory_formats(self):
        x = values(2, 3, 4, 5)
        last = x.contiguous(memory_format=torch.channels_last)
        assert last.stride() == (60, 1, 15, 3) and last.is_contiguous(memory_format=torch.channels_last)
        assert not last.is_contiguous() and last.tolist() == x.tolist()
        assert x.to(memory_format=torch.channels_last).stride() == last.stride() == last.clone().stride()
        assert last.clone(memory_format=torch.contiguous_format).stride() == x.stride()
        assert x.t if x.ndim == 2 else x.contiguous() is x
        with pytest.raises(RuntimeError, match="expected 4 dimensions"):
            values(2, 3).contiguous(memory_format=torch.channels_last)

    def test_storage(self):
        x = values(4, 5)
        assert x.untyped_storage().nbytes() == 80 and x[1:].storage_offset() == 5
        assert x[1:].untyped_storage().data_ptr() == x.data_ptr() and x.storage().size() == 20
        assert type(x.storage()) is torch.FloatStorage and x.storage()[3] == 3.0
        assert x.is_set_to(x.view(4, 5)) and not x.is_set_to(x.view(20)) and x.t().dim_order() == (1, 0)

    def test_to_in_all_forms(self):
        x = values(3)
        for same in (x.to(torch.float32), x.to("cpu"), x.to(x), x.cpu(), x.float(), x.to(), x.contiguous()):
            assert same is x
        assert x.to(torch.float64, True).dtype == torch.float64 and x.to(
            "cpu", torch.int32, True, False
        ).tolist() == [0, 1, 2]
        assert x.to(torch.float32, copy=True) is not x and x.to(other=x.double()).dtype == torch.float64
        assert x.byte().dtype == torch.uint8 and x.char().dtype == torch.int8
        with pytest.raises(RuntimeError):
            x.to("nodevice")
        with pytest.raises(RuntimeError):
            x.cuda()


class TestGradientBookkeeping:
    def test_flags_are_kept(self):
        x = torch.ones(2, requires_grad=True)
        assert x.requires_grad and x.is_leaf and x.grad is None and not x.detach().requires_grad
        assert repr(x) == "tensor([1., 1.], requires_grad=True)" and (x * 2).grad_fn is None
        x.grad = torch.zeros(2)
        assert x.grad.tolist() == [0, 0]
        assert not x.requires_grad_(False).requires_grad
        with pytest.raises(RuntimeError):
            torch.tensor([1]).requires_grad_()
        with pytest.raises(RuntimeError, match="does not train"):
            x.sum().backward()


class TestErrors:
    @pytest.mark.parametrize(
        ("call", "ours", "pytorchs"),
        [
            (lambda x: x @ x, ValueError, RuntimeError),
            (lambda x: x[9], IndexError, IndexError),
            (lambda x: x.sum(5), IndexError, IndexError),
            (lambda x: -(x > 1), TypeError, NotImplementedError),
            (lambda x: x << 1, TypeError, NotImplementedError),
            (lambda x: x.item(), ValueError, RuntimeError),
            (lambda x: bool(x), ValueError, RuntimeError),
            (lambda x: x.copy_(values(3)), ValueError, RuntimeError),
            (lambda x: torch.gather(x, 1, torch.full((4, 5), 9)), IndexError, RuntimeError),
            (lambda x: f"{x:.2f}", TypeError, TypeError),
        ],
    )
    def test_are_of_both_classes(self, call, ours, pytorchs):
        with pytest.raises(ours) as raised:
            call(values(4, 5))
        assert isinstance(raised.value, pytorchs)
        assert type(pickle.loads(pickle.dumps(raised.value))) is type(raised.value)

    def test_arrays_keep_numpys(self):
        with pytest.raises(ValueError) as raised:
            weft.numpy.reshape(weft.numpy.zeros((4, 5)), (7, 3))
        assert type(raised.value) is ValueError

    def test_methods_check_their_object(self):
        for method in (torch.Tensor.to, torch.Tensor.copy_, torch.Tensor.float, torch.Tensor.view):
            with pytest.raises(TypeError):
                method(5, torch.zeros(1))


class TestProtocols:
    def test_contains_and_reversed(self):
        x = values(4)
        assert 3 in x and 9 not in x and [each.item() for each in reversed(x)] == [3, 2, 1, 0]
        with pytest.raises(RuntimeError):
            _ = "a" in x

    def test_attributes_of_a_program(self):
        x = values(2)
        x.tag = "kept"
        assert x.tag == "kept" and isinstance(x.as_subclass(torch.nn.Parameter), torch.nn.Parameter)

    def test_fill_diagonal(self):
        assert torch.zeros(7, 3).fill_diagonal_(1, wrap=True).sum(1).tolist() == [1, 1, 1, 0, 1, 1, 1]
        assert torch.zeros(3, 3, 3).fill_diagonal_(2).sum().item() == 6
        for shape in ((3,), (2, 3, 3)):
            with pytest.raises(RuntimeError):
                torch.zeros(shape).fill_diagonal_(1)

    def test_indices(self):
        x = values(3, 4)
        assert x[torch.tensor([1, 0, 1], dtype=torch.uint8)].shape == (2, 4)
        assert x[range(2)].shape == (2, 4) and x[(0, 1),].shape == (2, 4)


def test_printing_options():
    x = torch.tensor([0.123456, 1000.5])
    try:
        torch.set_printoptions(precision=2, sci_mode=True)
        assert repr(x) == "tensor([1.23e-01, 1.00e+03])"
        torch.set_printoptions(profile="default")
        torch.set_printoptions(threshold=4, edgeitems=1)
        assert repr(torch.arange(9)) == "tensor([0,  ..., 8])"
    finally:
        torch.set_printoptions(profile="default")
    assert repr(torch.tensor([1.5], dtype=torch.float64)) == "tensor([1.5000], dtype=torch.float64)"
    torch.set_printoptions(profile="none")  # which changes nothing
    assert repr(torch.tensor([1.5])) == "tensor([1.5000])"


COMPILED = {
    "view": lambda x: x.view(x.shape[1], -1) + 1,
    "view_as_bits": lambda x: x.view(torch.int32) + 1,
    "shape": lambda x: (
        x.shape,
        x.shape[1:],
        x.shape + (1,),
        x.shape.numel(),
        isinstance(x.shape, torch.Size),
    ),
    "size": lambda x: torch.zeros(torch.Size([x.shape[0], 2])) + x[0, 0],
    "new": lambda x: x.new_zeros(x.shape) + x.new_full((1,), 2),
    "transposes": lambda x: x.H + x.mT + x.T,
    "masked_fill_": lambda x: x.masked_fill_(x > 3, torch.finfo(x.dtype).min),
    "in_place": lambda x: x.clamp_(1, 9).div_(2).cumsum_(0),
    "shapes_in_place": lambda x: (x + 1).unsqueeze_(0).squeeze_(0).t_() * 2,
    "kinds": lambda x: (
        x + 1,
        x.is_leaf,
        x.grad,
        x.dtype.is_floating_point,
        x.layout is torch.strided,
        x.is_sparse,
    ),
    "dtypes": lambda x: x.to(torch.promote_types(x.dtype, torch.float64)).type_as(x).type(torch.int32),
    "data": lambda x: x.data + x.detach(),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    function = COMPILED[name]
    compiled = weft.compile(function, fullgraph=True)
    for shape in ((4, 5), (6, 5), (3, 5)):
        wanted, got = function(values(*shape)), compiled(values(*shape))
        assert repr(got) == repr(wanted) and type(got) is type(wanted)


def test_compiled_parts_of_complex_numbers():
    def swapped(z):
        z.real = z.imag * 2
        return z.real + z.imag

    z = [1 + 2j, 3 - 1j]
    assert (
        weft.compile(swapped, fullgraph=True)(torch.tensor(z)).tolist() == swapped(torch.tensor(z)).tolist()
    )
