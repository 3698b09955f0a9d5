"""Results made element by element lie in memory as PyTorch 2.15 lays them out, eagerly and compiled."""

import numpy as np
import pytest
import weft
import weft.torch as torch
import weft.torch.nn.functional as F

# Over x of 2 x 3 x 4 and p, its dimensions permuted to 4 x 2 x 3; the strides are PyTorch's.
CASES = [
    ("p + 1", (1, 12, 4)),
    ("-p", (1, 12, 4)),
    ("p + y", (1, 12, 4)),
    ("y + p", (6, 3, 1)),  # the first operand decides
    ("torch.exp(x[:, ::2].permute(2, 0, 1))", (1, 8, 4)),
    ("p * p[:1]", (1, 12, 4)),
    ("p + p[:, :, :1]", (1, 12, 4)),
    ("y[0, 0] + p", (1, 12, 4)),
    ("p == 0", (1, 12, 4)),
    ("torch.where(p > 0, p, 0.0)", (1, 12, 4)),
    ("torch.clamp(p, 0, 1)", (1, 12, 4)),
    ("torch.nn.functional.gelu(p)", (1, 12, 4)),
    ("p[:1].expand(4, 2, 3) * 1", (6, 3, 1)),
    ("x.expand(5, 2, 3, 4) + 1", (24, 12, 4, 1)),
    ("x[:, :1].expand(2, 3, 4).permute(2, 0, 1) + 1", (3, 12, 1)),
    ("x.as_strided((2, 3, 4), (1, 2, 6)) + x.as_strided((2, 3, 4), (12, 1, 3))", (1, 2, 6)),
    ("x.as_strided((2, 3, 4), (12, 1, 3)) + x.as_strided((2, 3, 4), (1, 2, 6))", (12, 1, 3)),
    ("p.to(torch.float64)", (1, 12, 4)),
    ("p.double()", (1, 12, 4)),
    ("p.type(torch.int32)", (1, 12, 4)),
    ("x[:, ::2].permute(2, 0, 1).clone()", (1, 8, 4)),
    ("torch.zeros_like(x[:, ::2].permute(2, 0, 1))", (1, 8, 4)),
    ("torch.softmax(p, 0)", (6, 3, 1)),
    ("p.sum(1, keepdim=True)", (3, 3, 1)),
    ("p.cumsum(0)", (6, 3, 1)),
]


def operands():
    x = torch.arange(24, dtype=torch.float32).view(2, 3, 4) / 7 - 1
    return x, x.permute(2, 0, 1), torch.ones(4, 2, 3)


@pytest.mark.parametrize(("code", "strides"), CASES, ids=[code for code, _ in CASES])
def test_strides_are_pytorchs(code, strides):
    function = eval(f"lambda x, p, y: {code}", {"torch": torch})
    x, p, y = operands()
    expected = np.asarray(function(x, p.contiguous(), y))
    compiled = weft.compile(function)
    for run in (function, compiled, compiled):
        result = run(x, p, y)
        assert result.stride() == strides
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6)


def test_large_and_small_ones_alike():
    for shape in ((2, 3), (40, 30), (300, 500)):
        x = torch.arange(shape[0] * shape[1], dtype=torch.float32).view(shape)
        result = x.t() * 2 + x.t()
        assert result.stride() == (1, shape[1]) and not result.is_contiguous()
        np.testing.assert_array_equal(np.asarray(result), np.asarray(x).T * 3)


def test_what_compiled_code_is_told_of_strides():
    @weft.compile
    def function(x):
        return x * 2 if (x + 1).is_contiguous() else x * 3

    x = torch.ones(3, 4)
    for _ in range(2):
        assert function(x)[0, 0] == 2 and function(x.t())[0, 0] == 3


def test_views_of_what_is_permuted_are_refused():
    x = torch.ones(3, 4)
    with pytest.raises(RuntimeError, match="use reshape"):
        (x.t() * 2).view(12)
    assert (x.t() * 2).reshape(12).shape == (12,)


@pytest.mark.parametrize("shapes", [((3, 4), (5, 3)), ((4, 2), (3, 4, 2))])
def test_shapes_that_do_not_fit_are_named_as_given(shapes):
    a, b = torch.ones(shapes[0]).t(), torch.ones(shapes[1])
    with pytest.raises(RuntimeError, match=rf"shapes \[{', '.join(map(str, a.shape))}\] and"):
        a + b


def test_no_elements():
    assert (torch.ones(0, 3).t() + 1).shape == (3, 0)


def test_numpys_arrays_stay_as_they_are():
    x = np.arange(6.0).reshape(2, 3)
    assert weft.compile(lambda x: x.T + 1)(x).strides == (np.arange(6.0).reshape(2, 3).T + 1).strides


def test_results_that_are_one_expanded_tensor_share_memory():
    def program(x):
        y = (x + 1).repeat(2, 1)
        return y.detach(), y

    compiled = torch.compile(program)
    for _ in range(3):
        first, second = compiled(torch.arange(3.0))
        assert first.data_ptr() == second.data_ptr() and first.tolist() == [[1, 2, 3]] * 2
        first[0, 0] = 7
        assert second[0, 0].item() == 7 and second[1, 0].item() == 1


def updated(view, update):
    def program(x):
        y = view(x + 1)
        update(y)
        return y

    return program


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[:, :2],
        lambda x: x.t(),
        lambda x: x.t()[1:],
        lambda x: torch.stack([x, x]).movedim(0, -1),
        lambda x: x.diagonal(),
        lambda x: x.view(-1),
    ],
    ids=["columns", "transposed", "transposed rows", "movedim", "diagonal", "whole"],
)
@pytest.mark.parametrize("update", [lambda y: y.cumsum_(0), lambda y: y.add_(1)], ids=["cumsum_", "add_"])
def test_a_view_that_is_updated_and_is_the_only_result_lies_as_plain_python_has_it(view, update):
    program = updated(view, update)
    compiled = torch.compile(program)
    for x in (torch.arange(12.0).view(3, 4), torch.arange(12.0).view(3, 4), torch.arange(35.0).view(5, 7)):
        expected, result = program(x), compiled(x)
        assert result.stride() == expected.stride()
        assert result.storage_offset() == expected.storage_offset()
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))


@pytest.mark.parametrize("dims", [(2, 1, 0), (0, 2, 1), (1, 2, 0), (1, 0, 2)])
@pytest.mark.parametrize("shape", [(4, 2, 1), (3, 1, 4), (1, 3, 4)])
def test_dimensions_of_one_element_have_the_operands_strides(shape, dims):
    def program(x):
        return x + 1, -x, x.clone(), x.flip(0), torch.where(x > 0, x, x), x.float()

    x = torch.arange(12 if 3 in shape else 8).view(shape).permute(dims)
    compiled = torch.compile(program)
    for _ in range(2):
        assert [r.stride() for r in compiled(x)] == [r.stride() for r in program(x)]


def whole_and_part(value):
    def program(x):
        y = value(x + 1)
        return y, y[1:], y.detach()

    return program


# What a graph simplifies to a view of x + 1 is an array of its own to the program.
COPIES_OF_VIEWS = {
    "flip": lambda x: x.flip(0),
    "fliplr": lambda x: x.fliplr(),
    "clone": lambda x: x[:, ::2].clone(),
    "contiguous": lambda x: x.t().contiguous(),
    "chunk": lambda x: x.chunk(2, 1)[1].contiguous(),
    "channels_last": lambda x: x.view(1, 3, 2, 2)
    .expand(3, 3, 2, 2)
    .contiguous(memory_format=torch.channels_last),
    "dtypes": lambda x: x[:, ::2].double().float(),
    "times 1": lambda x: x[:, ::2] * 1,
    "power 1": lambda x: x[:, ::2] ** 1,
    "positive": lambda x: +x[:, ::2],
    "maximum": lambda x: torch.maximum(x[:, ::2], x[:, ::2]),
    "repeat": lambda x: x[:, ::2].repeat(1, 1),
    "twice": lambda x: x[:, ::2].clone().t().clone().t().clone(),
    "reshape": lambda x: x.t().reshape(2, 6),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", COPIES_OF_VIEWS)
def test_results_that_look_at_one_copy_of_a_view_lie_and_share_memory_as_eagerly(name, dynamic):
    program = whole_and_part(COPIES_OF_VIEWS[name])
    compiled = torch.compile(program, dynamic=dynamic)
    for _ in range(3):
        x = torch.arange(12.0).view(3, 4)
        expected, results = program(x), compiled(x)
        for a, b in zip(expected, results):
            assert torch.equal(a, b) and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()
        assert len({b.untyped_storage().data_ptr() for b in results}) == 1
        results[0].fill_(7)
        assert (results[1] == 7).all() and (results[2] == 7).all() and x.sum().item() == 66


@pytest.mark.parametrize("dynamic", [None, True])
def test_views_of_more_elements_than_64_bits_count(dynamic):
    def program(x, times):
        for _ in range(times):
            x = x.expand(2, *x.shape)
        return x.shape

    compiled = torch.compile(program, dynamic=dynamic)
    assert compiled(torch.ones(2), 3) == (2, 2, 2, 2)
    with pytest.raises(ValueError) as expected:
        program(torch.ones(2), 70)
    with pytest.raises(ValueError, match="64 bits") as found:
        compiled(torch.ones(2), 70)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.broadcast_to(torch.tensordot(x[0], torch.cat([x, x], 1), ([0], [0])), (2, 3, 8)),
        lambda x: (x + 1)[:1].expand(3, 4),
        lambda x: torch.broadcast_to((x + 1).reshape(16), (2, 16)),
    ],
    ids=["tensordot", "row", "reshape"],
)
def test_results_that_are_broadcast_are_views(program):
    x = torch.arange(16.0).view(4, 4)
    for dynamic in (None, False, True):
        result, expected = torch.compile(program, dynamic=dynamic)(x), program(x)
        assert torch.equal(result, expected) and result.stride() == expected.stride()


def test_parts_of_tensors_that_numpy_has_written_to():
    def program(x):
        y = x * 2 + x
        y.numpy()[...] = 1
        return y[:, 1:3]

    compiled, x = torch.compile(program), torch.ones(5, 4)
    for _ in range(2):
        result = compiled(x)
        assert result.stride() == program(x).stride() == (4, 1) and (result == 1).all()


# Over images x of 2 x 8 x 6 x 6 and weights w of 8 x 8 x 3 x 3; PyTorch's strides of channels_last images.
IMAGES = {
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), (288, 1, 48, 8)),
    "conv2d + 1": (lambda x, w: F.relu(F.conv2d(x, w, padding=1) + 1), (288, 1, 48, 8)),
    "groups": (lambda x, w: F.conv2d(x, w[:, :1], groups=8), (128, 1, 32, 8)),
    "weights alone": (
        lambda x, w: F.conv2d(x.contiguous(), w.to(memory_format=torch.channels_last)),
        (128, 1, 32, 8),
    ),
    "1x1": (lambda x, w: F.conv2d(x, w[:, :, :1, :1]), (288, 1, 48, 8)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w), (512, 1, 64, 8)),
    "bfloat16": (lambda x, w: F.conv2d(x.bfloat16(), w.bfloat16(), padding=1), (288, 1, 48, 8)),
    "avg_pool2d": (lambda x, w: F.avg_pool2d(x, 2), (72, 1, 24, 8)),
    "adaptive_avg_pool2d": (lambda x, w: F.adaptive_avg_pool2d(x, 3), (72, 1, 24, 8)),
    "pixel_shuffle": (lambda x, w: F.pixel_shuffle(x, 2), (288, 1, 24, 2)),
    "conv1d": (lambda x, w: F.conv1d(x[:, :, 0], w[:, :, 0], padding=1), (48, 6, 1)),
    "avg_pool3d": (lambda x, w: F.avg_pool3d(x[:, :, None], (1, 2, 2)), (72, 9, 9, 3, 1)),
    "channels after": (lambda x, w: F.conv2d(x, w, padding=1).permute(0, 2, 3, 1), (288, 48, 8, 1)),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", IMAGES)
def test_images_whose_channels_lie_last(name, dynamic):
    function, strides = IMAGES[name]
    x, w = torch.arange(2 * 8 * 36.0).view(2, 8, 6, 6) % 7, torch.arange(8 * 8 * 9.0).view(8, 8, 3, 3) % 5
    x = x.to(memory_format=torch.channels_last)
    compiled = torch.compile(function, dynamic=dynamic)
    expected = function(x.contiguous(), w)
    for run in (function, compiled, compiled):
        result = run(x, w)
        assert result.stride() == strides
        assert torch.equal(result, expected)
    if name != "weights alone":
        assert compiled(x.contiguous(), w).stride() == function(x.contiguous(), w).stride()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "program",
    [
        lambda x: x[torch.tensor(1)].int(),
        lambda x: x.permute(1, 2, 0)[torch.tensor(2)] + 1,
        lambda x: (x * 1)[:, torch.tensor(1)].index_fill(0, torch.tensor([0]), 2),
        lambda x: x[..., torch.tensor(-1)] * 2,
        lambda x: x.mT[torch.tensor(0), 1:, torch.tensor(2)].clone(),
    ],
    ids=["select", "permuted", "middle", "last", "two"],
)
def test_what_is_computed_of_a_part_at_an_index_of_tensors(program, dynamic):
    compiled = torch.compile(program, dynamic=dynamic)
    for shape in ((3, 5, 4), (5, 4, 6)):
        x = torch.arange(float(np.prod(shape))).view(shape[::-1]).permute(2, 1, 0)
        result, expected = compiled(x), program(x)
        assert torch.equal(result, expected) and result.stride() == expected.stride()


def test_a_part_in_another_order_whose_first_size_grows():
    def program(x, k):
        y = torch.zeros(x.shape[0], k)
        return y.mT

    compiled = torch.compile(program, dynamic=True)
    for k in (1, 2, 5, 1):
        assert compiled(torch.ones(3), k).stride() == program(torch.ones(3), k).stride()


@pytest.mark.parametrize("sizes", [(5, 0, 2), (0, 2, 3), (2, 0, 0, 4)])
def test_the_order_of_what_has_no_elements_is_not_that_of_others(sizes):
    for program in (
        lambda x, k: x.unfold(0, 1, 1) - torch.empty(k).fill_(1),
        lambda x, k: x - torch.ones(k)[:, None, None],
    ):
        compiled, x = torch.compile(program), torch.arange(8.0).reshape(4, 2).t()
        for k in sizes:
            assert compiled(x, k).stride() == program(x, k).stride()


@pytest.mark.parametrize("dynamic", [None, True])
def test_whether_a_part_is_contiguous_depends_on_its_size(dynamic):
    def program(x):
        return x[1:].is_contiguous(), x.t()[:, 2:].is_contiguous()

    compiled = torch.compile(program, dynamic=dynamic)
    for size in (5, 2, 3, 4, 1, 6):
        x = torch.ones(2 * size, 2)[::2, :1]
        assert compiled(x) == program(x)


def test_without_elements_all_strides_are_contiguous():
    x = torch.zeros(4, 0, 3).mT.swapaxes(0, 1)
    assert x.is_contiguous() and x.contiguous().stride() == x.stride()
    assert torch.compile(lambda x: x.mT.swapaxes(0, 1).is_contiguous())(torch.zeros(4, 0, 3))


def test_repeated_tensors_of_no_elements_have_memory_of_their_own():
    x = torch.ones(3)[1:1]
    for function in (lambda x: x.repeat(2), lambda x: (x + 1).repeat(2)):
        for run in (function, torch.compile(function)):
            y = run(x)
            assert y.untyped_storage().nbytes() == 0 and y.numel() == 0
            with pytest.raises(ValueError, match="storage"):
                y.as_strided((1,), (1,))


def test_arrays_of_more_dimensions_than_numpy_has():
    with pytest.raises(ValueError, match="64 dimensions"):
        torch.ones([1] * 65).numpy()
    assert torch.ones([1] * 64).numpy().ndim == 64
