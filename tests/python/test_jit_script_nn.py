"""Every module of weft.nn scripts: what is compiled, saved and loaded again gives what the module gives."""

import io

import nn_cases
import numpy as np
import pytest
import weft
from nn_cases import CASES
from weft import nn

# Parameters that no script has a type for, or operators that TorchScript has under another signature.
NOT_FOR_SCRIPTS = (
    "AdaptiveAvgPool2d((None, 3))",
    "AdaptiveMaxPool2d((None, 3))",
    "CTCLoss",
    "TripletMarginWithDistanceLoss",
)


def fresh(case):
    inputs, options = case.arrays()
    return nn_cases.to_tensors(weft.asarray, inputs), nn_cases.to_tensors(weft.asarray, options)


@pytest.mark.parametrize(
    "case", [case for case in CASES if not repr(case).startswith(NOT_FOR_SCRIPTS)], ids=repr
)
def test_scripted_modules_give_what_modules_give(case):
    module = nn_cases.filled(case.build(nn), weft.asarray)
    inputs, options = fresh(case)
    expected = [tensor.numpy().copy() for tensor in nn_cases.flat(module(*inputs, **options))]
    compiled = weft.jit.script(module)
    for one in (compiled, weft.jit.load(io.BytesIO(compiled.save_to_buffer()))):
        inputs, options = fresh(case)
        found = nn_cases.flat(one(*inputs, **options))
        assert len(found) == len(expected)
        for tensor, array in zip(found, expected):
            # float32 by other operators than the module's own: see test_nn_scripted.py
            np.testing.assert_allclose(tensor.numpy(), array, rtol=2e-5, atol=1e-5)
