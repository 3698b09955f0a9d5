"""The smaller packages beside PyTorch's and torchvision's answers: package_calls.py has the calls, and records them."""

import json

import package_calls
import pytest
import weft.torch as torch
import weft.torchvision as torchvision
from kept_values import compare

ANSWERS = json.loads(package_calls.ANSWERS.read_text())
# Sampled images and factors of matrices: products and sums in another order.
FLOATS = {"elastic_transform", "elastic_transform_class", "orthogonal"}


@pytest.mark.parametrize("name", package_calls.CASES)
def test_calls(name):
    floats = {"rtol": 1e-5, "atol": 1e-5} if name in FLOATS else None
    compare(torch, package_calls.CASES[name](torch, torchvision), ANSWERS[name], name, floats)


def test_more_dimensions_than_there_are():
    with pytest.raises(ValueError, match=r"\[1, 1111\]"):
        torch.quasirandom.SobolEngine(1112)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 2], [0, 1], [1.0], (1, 2)), "do not fit"),
        (([0, 2, 1], [0, 1], [1.0, 2.0], (2, 2)), "never fall"),
        (([1, 2], [0, 1], [1.0, 2.0], (1, 2)), "begin with 0"),
        (([0, 2], [1, 0], [1.0, 2.0], (1, 2)), "sorted"),
        (([0, 2], [1, 1], [1.0, 2.0], (1, 2)), "distinct"),
        (([0, 2], [0, 2], [1.0, 2.0], (1, 2)), "below 2"),
        (([0.0, 1.0], [0.0], [1.0], (1, 2)), "int32 or int64"),
        (([[0, 1]], [[0]], [[1.0]], (1, 1, 2)), "one matrix"),
    ],
)
def test_compressed_matrices_that_are_none(arguments, words):
    for make in (torch.sparse_csr_tensor, torch.sparse_csc_tensor):
        arguments = arguments if make is torch.sparse_csr_tensor else (*arguments[:3], arguments[3][::-1])
        with pytest.raises((ValueError, RuntimeError, NotImplementedError), match=words):
            make(*arguments)


def test_what_compressed_matrices_do_not_do():
    s = torch.eye(2).to_sparse_csr()
    with pytest.raises(TypeError, match="not for sparse tensors"):
        torch.exp(s)
    with pytest.raises(NotImplementedError, match="over dimensions"):
        s.sum(0)
    with pytest.raises(NotImplementedError, match="expected a matrix"):
        torch.zeros(2, 2, 2).to_sparse_csr()
    with pytest.raises(NotImplementedError, match="sparse_bsr"):
        torch.eye(2).to_sparse(layout=torch.sparse_bsr)


def test_transforms_of_boxes_are_refused():
    boxes = torchvision.tv_tensors.BoundingBoxes([0, 1, 2, 3], format="XYXY", canvas_size=(4, 5))
    for functional in (torchvision.transforms.functional, torchvision.transforms.v2.functional):
        with pytest.raises(NotImplementedError, match="not BoundingBoxes"):
            functional.hflip(boxes)
    image = torchvision.tv_tensors.Image(torch.arange(4.0).reshape(1, 2, 2))
    assert torch.equal(torchvision.transforms.v2.functional.hflip(image), image.flip(-1))
