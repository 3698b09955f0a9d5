"""channels_last in, channels_last out, where PyTorch 2.15 has it so (each was asked there), eagerly and compiled."""

import numpy as np
import pytest
import weft.torch as torch
import weft.torch.nn.functional as F

LAST = torch.channels_last


def image(*shape, dtype=torch.float32):
    values = torch.arange(int(np.prod(shape))).reshape(shape)
    return ((values * 7 % 23) / 4 - 2).to(dtype).contiguous(memory_format=LAST)


KEPT = {
    "group_norm": lambda y: F.group_norm(y, 2),
    "cat of channels": lambda y: torch.cat([y, y], 1),
    "cat of images": lambda y: torch.cat([y, y]),
    "cat of rows": lambda y: torch.cat([y, y], -2),
    "max_pool2d": lambda y: F.max_pool2d(y, 2),
    "max_pool2d, dilated": lambda y: F.max_pool2d(y, 2, dilation=2),
    "max_pool2d of integers": lambda y: F.max_pool2d(y.long(), 2),
    "max_pool2d with indices": lambda y: F.max_pool2d(y, 2, return_indices=True)[0],
    "adaptive_max_pool2d": lambda y: F.adaptive_max_pool2d(y, 2),
    "max_unpool2d": lambda y: F.max_unpool2d(*F.max_pool2d(y, 2, return_indices=True), 2, output_size=(6, 7)),
    "lp_pool2d": lambda y: F.lp_pool2d(y, 2, 2),
    "nearest": lambda y: F.interpolate(y, scale_factor=2),
    "bilinear": lambda y: F.interpolate(y, scale_factor=2, mode="bilinear"),
    "antialias": lambda y: F.interpolate(y, (3, 3), mode="bilinear", antialias=True),
    "bicubic": lambda y: F.interpolate(y, scale_factor=2, mode="bicubic"),
    "pad": lambda y: F.pad(y, (1, 1)),
    "reflect": lambda y: F.pad(y, (1, 1, 1, 1), mode="reflect"),
    "replicate": lambda y: F.pad(y, (1, 1, 1, 1), mode="replicate"),
    "channel_shuffle": lambda y: F.channel_shuffle(y, 2),
    "pixel_unshuffle": lambda y: F.pixel_unshuffle(y[:, :, :, :6], 2),
    "batch_norm": lambda y: F.batch_norm(y, torch.zeros(4), torch.ones(4)),
    "batch_norm in training": lambda y: F.batch_norm(y, torch.zeros(4), torch.ones(4), training=True),
    "local_response_norm": lambda y: F.local_response_norm(y, 2),
    "normalize": lambda y: F.normalize(y),
    "rms_norm": lambda y: F.rms_norm(y, (7,)),
    "prelu": lambda y: F.prelu(y, torch.ones(4)),
    "glu": lambda y: F.glu(y, 1),
    "sort": lambda y: torch.sort(y, 1)[0],
    "argsort": lambda y: y.argsort(1),
    "roll": lambda y: torch.roll(y, 1, 1),
    "diff": lambda y: torch.diff(y, dim=1),
    "complex": lambda y: torch.complex(y, y),
    "index_fill": lambda y: y.index_fill(1, torch.tensor([0]), 1),
}
IN_C_ORDER = {
    "circular": lambda y: F.pad(y, (1, 1, 1, 1), mode="circular"),
    "roll of all elements": lambda y: torch.roll(y, 1),
    "cat with one in C order": lambda y: torch.cat([y, y.contiguous()], 1),
    "conv2d whose 1x1 weight lies in both": lambda y: F.conv2d(y.contiguous(), image(3, 4, 1, 1)),
    "layer_norm": lambda y: F.layer_norm(y, (7,)),
    "unfold": lambda y: F.unfold(y, 2),
}


@pytest.mark.parametrize("name", KEPT)
def test_results_lie_channels_last(name):
    function = KEPT[name]
    y = image(2, 4, 6, 7)
    in_c_order = function(y.contiguous())
    for run in (function, *[torch.compile(function)] * 2):
        result = run(y)
        assert result.is_contiguous(memory_format=LAST), result.stride()
        np.testing.assert_allclose(result.numpy(), in_c_order.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", IN_C_ORDER)
def test_results_that_do_not(name):
    function = IN_C_ORDER[name]
    y = image(2, 4, 6, 7)
    for run in (function, *[torch.compile(function)] * 2):
        assert run(y).is_contiguous()
        np.testing.assert_allclose(run(y).numpy(), function(y.contiguous()).numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dim", [0, 1, 2, 3, -1])
def test_stacked_ones_lie_as_the_stacked(dim):
    y = image(2, 4, 6, 7)
    expected = {
        -1: (336, 84, 14, 2, 1),
        0: (336, 168, 1, 28, 4),
        1: (336, 4, 1, 56, 8),
        2: (336, 1, 168, 28, 4),
        3: (336, 1, 56, 28, 4),
    }
    for run in (torch.stack, torch.compile(torch.stack)):
        result = run([y, y + 1], dim)
        assert result.stride() == expected[dim]
        np.testing.assert_array_equal(result.numpy(), np.stack([y.numpy(), y.numpy() + 1], dim))


def test_convolutions_lie_as_the_image_or_the_weight_does():
    y, weight = image(2, 4, 6, 7), image(2, 4, 3, 3)
    expected = F.conv2d(y.contiguous(), weight.contiguous())
    assert expected.is_contiguous()
    for result in (F.conv2d(y, weight.contiguous()), F.conv2d(y.contiguous(), weight), F.conv2d(y, weight)):
        assert result.is_contiguous(memory_format=LAST)
        np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)


def test_views_of_joined_ones_need_no_copy():
    y = image(2, 4, 6, 7)
    joined = torch.cat([y, y], 1)
    assert joined.permute(0, 2, 3, 1).view(2, 42, 8).data_ptr() == joined.data_ptr()


def test_other_orders_are_kept_by_what_sorts_and_normalizes():
    x = image(2, 4, 6, 7)[0, :, :, 0].t()  # [6, 4], whose columns lie together
    for function in (F.normalize, lambda x: torch.sort(x, 0)[0], lambda x: F.glu(x, 1)):
        dense = x.t().contiguous().t()
        assert function(dense).stride()[0] == 1
        assert torch.compile(function)(dense).stride() == function(dense).stride()


def test_ravel_of_what_lies_apart_is_a_copy():
    x = torch.arange(10.0)[::2]
    for run in (torch.ravel, torch.compile(torch.ravel)):
        result = run(x)
        assert result.stride() == (1,) and result.tolist() == [0, 2, 4, 6, 8]
    dense = torch.arange(6.0).view(2, 3)
    assert dense.ravel().data_ptr() == dense.data_ptr()


def test_repeats_of_one_element_are_elements_of_their_own():
    assert torch.tensor(3).repeat_interleave(2).stride() == (1,)
