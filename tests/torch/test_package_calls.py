"""The smaller packages beside PyTorch's and torchvision's answers: package_calls.py has the calls, and records them."""

import json

import package_calls
import pytest
import weft.torch as torch
import weft.torchvision as torchvision
from kept_values import compare

ANSWERS = json.loads(package_calls.ANSWERS.read_text())
# Sampled images: products and sums in another order.
FLOATS = {"elastic_transform", "elastic_transform_class"}


@pytest.mark.parametrize("name", package_calls.CASES)
def test_calls(name):
    floats = {"rtol": 1e-5, "atol": 1e-5} if name in FLOATS else None
    compare(torch, package_calls.CASES[name](torch, torchvision), ANSWERS[name], name, floats)


def test_more_dimensions_than_there_are():
    with pytest.raises(ValueError, match=r"\[1, 1111\]"):
        torch.quasirandom.SobolEngine(1112)
