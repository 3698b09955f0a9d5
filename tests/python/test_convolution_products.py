"""Convolutions with kernels of one element are products of matrices: the bits of any other convolution."""

import numpy as np
import pytest
import weft
import weft.nn.functional as F

SIZES = [
    (1, 64, 128, 14, 14),
    (2, 3, 5, 8, 8),
    (3, 16, 13, 9, 7),  # 63 pixels: as other convolutions
    (1, 1, 4, 10, 10),
    (1, 7, 1, 20, 20),
    (2, 1500, 40, 8, 9),
    (1, 33, 17, 64, 1),
    (1, 24, 36, 40, 41),
]


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("batch, channels, out, height, width", SIZES)
def test_one_product_for_each_image(batch, channels, out, height, width, has_bias):
    random = np.random.default_rng(3)
    x, weight, bias = (
        weft.from_numpy(random.standard_normal(shape).astype(np.float32))
        for shape in ((batch, channels, height, width), (out, channels, 1, 1), (out,))
    )
    given = bias if has_bias else None
    got = F.conv2d(x, weight, given)
    channels_last = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert weft.equal(got, F.conv2d(channels_last, weight, given))
    exact = np.einsum("nchw,oc->nohw", *(a.numpy().astype(np.float64) for a in (x, weight[:, :, 0, 0])))
    if has_bias:
        exact += bias.numpy()[:, None, None]
    np.testing.assert_allclose(got.numpy(), exact, atol=1e-4 * channels**0.5, rtol=0)
    # Padding, steps and groups are no product.
    for options in ({"padding": 1}, {"stride": 2}):
        expected = F.conv2d(channels_last, weight, given, **options)
        assert weft.equal(F.conv2d(x, weight, given, **options), expected)
    rows = F.conv1d(x.reshape(batch, channels, height * width), weight[:, :, 0], given)
    assert weft.equal(rows, got.reshape(batch, out, height * width))


def test_images_that_are_parts_of_others_and_nothing():
    x = weft.from_numpy(np.arange(2 * 6 * 20 * 20, dtype=np.float32).reshape(2, 6, 20, 20))
    weight = weft.from_numpy(np.arange(12, dtype=np.float32).reshape(4, 3, 1, 1))
    part = x[:, 1:4, 3:19, ::2]
    assert weft.equal(F.conv2d(part, weight), F.conv2d(part.contiguous(), weight))
    empty = F.conv2d(x[:0, :3], weight, weft.ones(4))
    assert empty.shape == (0, 4, 20, 20)
