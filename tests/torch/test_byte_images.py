"""uint8 images are resized as PyTorch and torchvision resize them, to the last bit: byte_images.py, test_byte_images.json."""

import json
from pathlib import Path

import byte_images
import pytest
import weft.torch as torch
from weft.torchvision.transforms import RandomResizedCrop, Resize
from weft.torchvision.transforms import functional as v1
from weft.torchvision.transforms import v2 as second
from weft.torchvision.transforms.v2 import functional as v2

F = torch.nn.functional
RECORDED = json.loads((Path(__file__).parent / "test_byte_images.json").read_text())
VALUES = byte_images.scope(torch, v2)


def test_every_call_is_recorded():
    assert list(RECORDED) == list(byte_images.calls())


@pytest.mark.parametrize("image", byte_images.IMAGES)
def test_resized_bytes(image):
    wrong = {}
    for code, expected in RECORDED.items():
        if image in code:
            got = byte_images.checksum(eval(code, VALUES))
            if got != expected:
                wrong[code] = got
    assert not wrong


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_compiled_scripted_and_by_the_second_version(mode, antialias):
    image = VALUES["color"]
    expected = F.interpolate(image, (24, 30), mode=mode, antialias=antialias)
    compiled = torch.compile(lambda x, size: F.interpolate(x, size, mode=mode, antialias=antialias))
    for size in ((24, 30), (25, 30), (26, 31)):
        assert torch.equal(compiled(image, size), F.interpolate(image, size, mode=mode, antialias=antialias))
    interpolation = v1.InterpolationMode(mode)
    assert torch.equal(v2.resize(image, [24, 30], interpolation, antialias=antialias), expected)
    resize = second.Resize([24, 30], interpolation, antialias=antialias)
    assert torch.equal(resize(image), expected) and torch.equal(resize(image[0]), expected[0])
    # The first version goes by way of floating point.
    assert torch.equal(Resize([24, 30], interpolation, antialias=antialias)(image),
                       v1.resize(image, [24, 30], interpolation, antialias=antialias))  # fmt: skip


def test_crops_of_the_second_version():
    image = VALUES["color"]
    for make, functional in ((RandomResizedCrop, v1), (second.RandomResizedCrop, v2)):
        crop = make(24, antialias=True)
        torch.manual_seed(2)
        got = crop(image)
        torch.manual_seed(2)
        box = crop.get_params(image, crop.scale, crop.ratio)
        assert torch.equal(got, functional.resized_crop(image, *box, [24, 24], antialias=True))


def test_images_that_stay():
    image = VALUES["narrow"]
    same = F.interpolate(image, image.shape[2:], mode="bilinear", antialias=True)
    assert torch.equal(same, image) and same.data_ptr() != image.data_ptr()
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        F.interpolate(image[0], 4, mode="linear")
