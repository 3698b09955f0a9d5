"""Tensors here are weft's own: no test imports weft.torch, which gives them PyTorch's methods (its tests: tests/torch)."""

import signal
import sys

import pytest

# A shell's background job ignores Ctrl-C, and so would the tests of what it stops.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_methods_of_torch():
    yield
    assert "weft.torch" not in sys.modules
