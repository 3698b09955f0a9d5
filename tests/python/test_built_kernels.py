"""Eager pointwise operators: the kernels that the build writes give, for every level of instructions, the bits of the
operators' own loops (which run under WEFT_VECTOR_BYTES=16), on any layout and number of elements."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import weft
from test_ops_reference import POINTWISE, parameters

DTYPES = ["float16", "bfloat16", "float32", "float64"]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-310,
    0.5,
    3e38,
    1e308,
    88.8,
    -104.2,
    709.9,
    -745.2,
]
REQUIRED = {"threshold": {"threshold": 1, "value": 20}}


def layouts(random, low, high):
    """Arrays for each operand: contiguous of several sizes, rows that are repeated, single elements, steps, unaligned."""
    for size in (1, 3, 16, 33, 1000, 40000):
        yield lambda: random.uniform(low, high, size)  # noqa: B023
    yield lambda: np.resize(SPECIAL, 1024)
    rows = iter([(300, 200), (200,), (300, 1), (1, 1)] * 4)
    yield lambda: random.uniform(low, high, next(rows))
    yield lambda: random.uniform(low, high, (64, 60))[:, ::3]
    yield lambda: random.uniform(low, high, 5001)[1:]
    yield lambda: random.uniform(low, high, (90, 70)).T


def digests():
    """From operator and dtype to a digest of the bits that it gives; every NaN counts as the same."""
    found = {}
    for name, operator in POINTWISE:
        names, _ = parameters(operator.schema)
        low, high = operator.definition["sample"]
        for dtype in DTYPES:
            if dtype not in operator.definition["dtypes"]:
                continue
            digest = hashlib.sha256()
            for make in layouts(np.random.default_rng(7), low, high):
                operands = []
                with np.errstate(all="ignore"):
                    for each in names:
                        array = make()
                        tensor = weft.from_numpy(array.astype("float64" if dtype == "float64" else "float32"))
                        operands.append(
                            weft.from_numpy(array > (low + high) / 2)
                            if each == "condition"
                            else tensor.to(getattr(weft, dtype))
                        )
                try:
                    result = operator(*operands, **REQUIRED.get(name, {}))
                except (TypeError, ValueError) as error:
                    digest.update(str(error).encode())
                    continue
                if result.dtype in (weft.float16, weft.bfloat16):
                    result = result.to(weft.float32)
                got = result.numpy()
                if got.dtype.kind == "f":
                    got = np.where(np.isnan(got), np.array(np.nan, got.dtype), got)
                digest.update(np.ascontiguousarray(got).tobytes())
            found[f"{name} {dtype}"] = digest.hexdigest()
    return found


def digests_at(width):
    environment = {**os.environ, "WEFT_VECTOR_BYTES": str(width)}
    environment["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])
    script = "import json, test_built_kernels; print(json.dumps(test_built_kernels.digests()))"
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
    )
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def plain():
    return digests_at(16)


@pytest.mark.parametrize("width", [32, 64])
def test_written_kernels_give_the_bits_of_the_loops(width, plain):
    found = digests_at(width)
    assert {name for name in plain if found[name] != plain[name]} == set()


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (7, 1024), (7, 1025), (3, 100003), (300, 2, 5), (2, 513, 9)])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "steps"])
def test_reductions_and_softmax_of_rows(shape, dtype, layout):
    random = np.random.default_rng(3)
    array = random.standard_normal([2 * size for size in shape] if layout == "steps" else shape)
    array = array.astype("float32" if dtype == weft.float32 else "float64")
    if layout == "steps":
        array = array[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "transposed":
        array = np.ascontiguousarray(array.T).T
    x, wide = weft.from_numpy(array), array.astype(np.longdouble)
    tolerance = {"rtol": 1e-5, "atol": 1e-4} if dtype == weft.float32 else {"rtol": 1e-12, "atol": 1e-12}
    for dim in range(len(shape)):
        shifted = np.exp(wide - wide.max(dim, keepdims=True))
        total = shifted.sum(dim, keepdims=True)
        expected = {
            "sum": wide.sum(dim),
            "amax": wide.max(dim),
            "amin": wide.min(dim),
            "logsumexp": (np.log(total) + wide.max(dim, keepdims=True)).squeeze(dim),
            "softmax": shifted / total,
            "log_softmax": wide - wide.max(dim, keepdims=True) - np.log(total),
            "norm": np.sqrt((wide * wide).sum(dim)),
        }
        for name, exact in expected.items():
            got = weft.norm(x, dim=dim) if name == "norm" else getattr(weft, name)(x, dim)
            np.testing.assert_allclose(
                got.numpy(), exact.astype(array.dtype), **tolerance, err_msg=f"{name} {dim}"
            )


@pytest.mark.parametrize("size", [1, 15, 16, 17, 64, 1025])
@pytest.mark.parametrize("at", [0, -1])
def test_the_largest_of_a_row_with_nan_is_nan(size, at):
    x = np.zeros((3, size), np.float32)
    x[1, at] = np.nan
    for name in ("amax", "amin"):
        np.testing.assert_array_equal(
            np.isnan(getattr(weft, name)(weft.from_numpy(x), 1).numpy()), [False, True, False]
        )
    assert np.isnan(weft.softmax(weft.from_numpy(x), 1).numpy()[1]).all()


def test_sums_of_nothing_but_negative_zeros():
    assert not np.signbit(weft.sum(weft.from_numpy(np.full((2, 40), -0.0, np.float32)), 1).numpy()).any()
