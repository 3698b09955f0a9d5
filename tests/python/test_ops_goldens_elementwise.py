"""PyTorch's own results for the elementwise, reduction and softmax operators: torch_goldens/cases.json."""

import json
import os
import pathlib

import numpy as np
import pytest
import weft

DATA = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
GOLDENS = DATA / "torch_goldens"

FAMILIES = set(
    """softmax log_softmax sum mean prod amax amin argmax argmin logsumexp std var gelu exp exp2 expm1 log log2 log10
    log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh asinh acosh atanh erf erfc erfinv lgamma digamma
    floor ceil round trunc frac sign abs neg square isnan isinf isfinite signbit logit sinc i0 add sub mul div remainder
    floor_divide relu relu6 silu mish hardswish hardsigmoid sigmoid tanh softplus elu selu celu leaky_relu softsign
    logsigmoid hardtanh where fmod pow atan2 maximum minimum fmax fmin hypot copysign nextafter logaddexp xlogy
    bitwise_and bitwise_or bitwise_xor vector_norm""".split()
)


def cases():
    if not (GOLDENS / "cases.json").exists():
        return []
    table = json.loads((GOLDENS / "cases.json").read_text())
    return [case for case in table if case["op"].split(":")[1] in FAMILIES]


@pytest.fixture(scope="module")
def arrays():
    return np.load(GOLDENS / "cases.npz")


@pytest.mark.skipif(
    not (GOLDENS / "cases.json").exists(), reason="torch_goldens is absent: set WEFT_SHARED_DATA"
)
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["op"])
def test_equals_pytorch(case, arrays):
    def value(entry):
        return weft.from_numpy(np.array(arrays[entry["tensor"]])) if "tensor" in entry else entry["value"]

    name = case["op"].split(":")[1]
    operator = getattr(weft, name)
    result = operator(
        *map(value, case["args"]), **{key: value(entry) for key, entry in case["kwargs"].items()}
    )
    expected = arrays[case["out"]["tensor"]]
    got = result.numpy()
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(got, expected)
