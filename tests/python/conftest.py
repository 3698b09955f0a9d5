"""Tensors here are weft's own, also where a file before has imported weft.torch."""

import sys

import pytest
import weft


@pytest.fixture(autouse=True)
def own_indexing():
    weft._C._set_torch_refusals(False)
    yield
    weft._C._set_torch_refusals("weft.torch" in sys.modules)
