"""torchvision.datasets: images in folders and of random numbers, beside torchvision 0.29's answers."""

import os

import numpy as np
import pytest
import weft.torch as torch
from PIL import Image
from weft.torchvision import datasets, transforms
from weft.torchvision.datasets.folder import default_loader, is_image_file, make_dataset


@pytest.fixture
def folder(tmp_path):
    for name in ("cat", "dog/deep", "ant"):
        os.makedirs(tmp_path / name)
        for i in range(2):
            Image.fromarray(np.full((4, 5, 3), 40 * i, np.uint8)).save(tmp_path / name / f"{i}.png")
    (tmp_path / "cat" / "x.txt").write_text("x")
    return str(tmp_path)


def test_image_folder(folder):
    found = datasets.ImageFolder(folder, transforms.ToTensor(), lambda target: target * 10)
    assert found.classes == ["ant", "cat", "dog"] and found.class_to_idx == {"ant": 0, "cat": 1, "dog": 2}
    assert [(os.path.relpath(path, folder), target) for path, target in found.samples] == [
        ("ant/0.png", 0), ("ant/1.png", 0), ("cat/0.png", 1), ("cat/1.png", 1), ("dog/deep/0.png", 2), ("dog/deep/1.png", 2)]  # fmt: skip
    assert found.imgs is found.samples and found.targets == [0, 0, 1, 1, 2, 2] and len(found) == 6
    image, target = found[3]
    assert image.shape == (3, 4, 5) and abs(image.mean().item() - 40 / 255) < 1e-6 and target == 10
    batches = list(torch.utils.data.DataLoader(found, batch_size=4))
    assert [(tuple(x.shape), y.tolist()) for x, y in batches] == [
        ((4, 3, 4, 5), [0, 0, 10, 10]),
        ((2, 3, 4, 5), [20, 20]),
    ]
    only = datasets.ImageFolder(folder, is_valid_file=lambda path: "ant" in path, allow_empty=True)
    assert len(only) == 2 and "Transform" not in repr(only)
    assert repr(datasets.ImageFolder(folder, transforms.ToTensor())) == (
        f"Dataset ImageFolder\n    Number of datapoints: 6\n    Root location: {folder}\nStandardTransform\n"
        "Transform: ToTensor()"
    )
    assert is_image_file("a.JPG") and not is_image_file("jpg.txt")


def test_fake_data():
    found = datasets.FakeData(3, (3, 4, 4), 7, transforms.ToTensor(), random_offset=2)
    state = torch.get_rng_state()
    assert [round(found[i][0].mean().item(), 5) for i in range(3)] == [0.5098, 0.51119, 0.46928]
    assert [found[i][1] for i in range(3)] == [3, 1, 3]
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda d: datasets.FakeData(3)[3], IndexError, "FakeData index out of range"),
        (lambda d: datasets.ImageFolder(f"{d}/ant"), FileNotFoundError, "Couldn't find any class folder in"),
        (lambda d: make_dataset(d, {}), ValueError, "at least one entry"),
        (lambda d: make_dataset(d, {"cat": 0}), ValueError, "cannot be None or not None at the same time"),
        (lambda d: datasets.ImageFolder(d, is_valid_file=lambda path: "ant" in path), FileNotFoundError, "classes cat, dog. $"),
        (lambda d: datasets.DatasetFolder(d, default_loader, (".txt",)), FileNotFoundError, "ant, dog. Supported extensions are: .txt"),
        (lambda d: datasets.VisionDataset(d, transforms=1, transform=2), ValueError, "Only transforms or transform"),
        (lambda d: datasets.CIFAR10(d), NotImplementedError, "torchvision.datasets.CIFAR10 is torchvision's, but not weft's"),
    ],
)  # fmt: skip
def test_refused(folder, call, kind, message):
    with pytest.raises(kind, match=message):
        call(folder)
