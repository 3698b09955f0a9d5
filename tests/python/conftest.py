"""Tensors here are weft's own, also where a file before has imported weft.torch."""

import signal
import sys

import pytest
import weft

# A shell's background job ignores Ctrl-C, and so would the tests of what it stops.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_indexing():
    weft._C._set_torch_refusals(False)
    yield
    weft._C._set_torch_refusals("weft.torch" in sys.modules)
