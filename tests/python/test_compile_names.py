"""Variables may be called what generated code calls something else."""

import numpy as np
import pytest
import weft

NAMES = "i32 i64 f64 bf16 vec lanes maximum select sum_of_elements fuel alignas namespace nullptr _a π WEFT_INLINE r i8 turn".split()
PROGRAM = """
def root(NAME):
    return np.sqrt(NAME * 2 + 1)

def total(NAME):
    s = 0.0
    for i in range(len(NAME)):
        s += NAME[i]
    return s
"""


@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_any_name_compile(name):
    functions = {"np": np}
    exec(PROGRAM.replace("NAME", name), functions)
    x = np.arange(40.0)
    for function in (functions["root"], functions["total"]):
        assert len(weft.compiler.explain(function)(x).kernels) == 1
        np.testing.assert_array_equal(weft.compile(function)(x), function(x))
