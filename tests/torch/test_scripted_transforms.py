"""Transforms of torchvision as TorchScript: what they give as they are, and torchvision 0.29's means."""

import pytest
import weft.torch as torch
from weft import torchvision
from weft.torchvision.transforms import CenterCrop, InterpolationMode, Normalize, Resize

X = torch.sin(torch.arange(3 * 20 * 30).float()).reshape(3, 20, 30)
BYTES = (X * 100 + 120).to(torch.uint8)
EACH = torch.nn.Sequential(Resize((8, 10)), Normalize([0.1, 0.2, 0.3], [0.5, 0.6, 0.7]))


@pytest.mark.parametrize(
    "transform, image, shape, mean",
    [
        (EACH, X, (3, 8, 10), -0.31841),
        (Resize([8]), X, (3, 8, 12), 0.00119),
        (Resize([8]), X.transpose(1, 2), (3, 12, 8), 0.00119),
        (Resize([8], max_size=11), X, (3, 7, 11), 0.00109),
        (Resize((8, 10), InterpolationMode.BICUBIC), X, (3, 8, 10), 0.00131),
        (Resize((8, 10), InterpolationMode.NEAREST), X, (3, 8, 10), -0.00213),
        (Resize((50, 40), antialias=False), X, (3, 50, 40), 0.00096),
        (Resize((20, 30)), X, (3, 20, 30), 0.00098),
        (Resize((8, 10), InterpolationMode.BICUBIC), BYTES, (3, 8, 10), None),
        (Resize((8, 10), InterpolationMode.NEAREST_EXACT), BYTES, (3, 8, 10), None),
        (Resize([8]), X[None, None], (1, 1, 3, 8, 12), None),
        (Resize([8]), X[0], (8, 12), None),
        (CenterCrop(10), X, (3, 10, 10), None),
        (CenterCrop([24, 10]), X, (3, 24, 10), None),
        (CenterCrop((24, 40)), BYTES, (3, 24, 40), None),
        (CenterCrop((20, 40)), BYTES, (3, 20, 40), None),
    ],
)
def test_scripted(transform, image, shape, mean):
    expected = transform(image)
    found = torch.jit.script(transform)(image)
    assert tuple(found.shape) == shape and found.dtype == expected.dtype
    assert torch.allclose(found.double(), expected.double(), rtol=1e-5, atol=1e-6)
    if mean is not None:
        assert abs(found.double().mean().item() - mean) < 1e-5


@pytest.mark.parametrize(
    "transform, image, message",
    [
        (Normalize([0.0], [0.0]), X, "std evaluated to zero"),
        (Normalize([0.0], [1.0]), X[0], "Expected tensor to be a tensor image"),
        (Normalize([0.0], [1.0]), BYTES, "should be a float tensor"),
        (Resize([8], max_size=8), X, "strictly greater"),
        (Resize([8, 9], max_size=80), X, "length of the smaller edge"),
    ],
)
def test_refused(transform, image, message):
    with pytest.raises(torch.jit.Error, match=message):
        torch.jit.script(transform)(image)


def test_is_tracing():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + int(torchvision._is_tracing())

    assert torchvision._is_tracing() is False
    assert torch.jit.trace(Model(), (torch.zeros(1),), check_trace=False)(torch.zeros(1)).item() == 1.0
