"""Elementary functions: the same bits at every vector width, eagerly and compiled; errors within the documented bounds."""

import importlib.util
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import weft

path = pathlib.Path(__file__).resolve().parents[2] / "bench" / "elementary_accuracy.py"
spec = importlib.util.spec_from_file_location("elementary_accuracy", path)
accuracy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(accuracy)

OWN = [
    "exp",
    "exp2",
    "expm1",
    "sinh",
    "cosh",
    "tanh",
    "log",
    "log2",
    "log10",
    "log1p",
    "arctan",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
    "power",
    "arctan2",
    "fmod",
    "hypot",
]
SPECIAL = ["erf", "erfc", "lgamma", "digamma"]  # that NumPy has not
DTYPES = [np.float32, np.float64]


def operands(name, dtype):
    if accuracy.FUNCTIONS[name] is None:
        return accuracy.pairs(name, dtype, 2000)
    return (accuracy.arguments(accuracy.FUNCTIONS[name], dtype, 2000),)


def compiled_results():
    """name_dtype: what one kernel per function and dtype gives, as unsigned integers; all NaN are one."""
    results = {}
    for name in OWN:
        function = weft.compile(eval(f"lambda *arguments: np.{name}(*arguments)", {"np": np}))
        for dtype in DTYPES:
            results[f"{name}_{np.dtype(dtype).name}"] = bits(function(*operands(name, dtype)))
    for name in SPECIAL:
        function = weft.compile(getattr(weft, name))
        for dtype in DTYPES:
            results[f"{name}_{np.dtype(dtype).name}"] = bits(function(special_operand(dtype)).numpy())
    return results


def special_operand(dtype):
    return weft.from_numpy(accuracy.arguments([*accuracy.EVERYWHERE, (0, 9), (-9, 0)], dtype, 2000))


def bits(values):
    values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return values.view(f"u{values.itemsize}")


@pytest.fixture(scope="module")
def expected():
    return compiled_results()


@pytest.mark.parametrize("width", ["16", "32"])
def test_every_width_gives_the_same_bits(width, expected, tmp_path):
    script = "import sys, numpy, test_elementary as t; numpy.savez(sys.argv[1], **t.compiled_results())"
    environment = {**os.environ, "WEFT_VECTOR_BYTES": width}
    environment["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])
    file = str(tmp_path / "results.npz")
    subprocess.run([sys.executable, "-c", script, file], check=True, env=environment)
    with np.load(file) as results:
        for name, want in expected.items():
            np.testing.assert_array_equal(results[name], want, err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OWN)
def test_eager_gives_the_bits_of_compiled_code(name, dtype, expected):
    got = getattr(weft, name)(*map(weft.from_numpy, operands(name, dtype))).numpy()
    np.testing.assert_array_equal(bits(got), expected[f"{name}_{np.dtype(dtype).name}"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_eager_special_functions_give_the_bits_of_compiled_code(name, dtype, expected):
    got = getattr(weft, name)(special_operand(dtype)).numpy()
    np.testing.assert_array_equal(bits(got), expected[f"{name}_{np.dtype(dtype).name}"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in [*OWN, *SPECIAL] if name not in ("power", "fmod")])
def test_nan_stays_nan_whatever_its_payload(name, dtype):
    kind, quiet = (np.uint32, 0x7FC00000) if dtype == np.float32 else (np.uint64, 0x7FF8000000000000)
    payloads = np.array(
        [quiet | payload | sign for payload in (0, 1, 2, 0x12345) for sign in (0, 1 << 31)], np.uint64
    )
    if dtype == np.float64:
        payloads = np.array([quiet | payload for payload in (0, 1, 2, 0x12345, 1 << 50)], np.uint64)
    values = np.tile(payloads.astype(kind), 9).view(dtype)
    for count in (1, len(values)):
        x = weft.from_numpy(values[:count].copy())
        both = (x, x) if name in ("arctan2", "hypot") else (x,)
        assert np.isnan(getattr(weft, name)(*both).numpy()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gamma_functions_against_the_c_library(dtype):
    epsilon = np.finfo(dtype).eps
    x = accuracy.arguments(
        [(0.01, 3), (0.9, 1.1), (1.9, 2.1), (2.5, 9), (7.9, 8.1), (-0.5, 0), (-9, -0.5)], dtype, 500
    )
    x = x[(np.abs(x) < 100) & ((x > 0) | (x != np.floor(x)))]
    # Python's own errs by some units.
    exact = np.array([math.lgamma(float(value)) for value in x])
    got = weft.lgamma(weft.from_numpy(x)).numpy()
    assert (np.abs(got - exact) <= 12 * epsilon * np.maximum(1, np.abs(exact))).all()
    # The derivative: digamma(x + 1) - digamma(x) = 1 / x, and two values that are known.
    x = np.abs(x[(np.abs(x) > 1e-2) & (np.abs(x) < 90)])
    got = weft.digamma(weft.from_numpy(x)).numpy().astype(np.float64)
    next_ = weft.digamma(weft.from_numpy((x.astype(np.float64) + 1))).numpy()
    assert (np.abs(next_ - got - 1 / x.astype(np.float64)) <= 16 * epsilon * np.maximum(1, np.abs(got))).all()
    known = weft.digamma(weft.from_numpy(np.array([1, 0.5, -0.5], dtype))).numpy()
    np.testing.assert_allclose(
        known, [-0.5772156649015329, -1.9635100260214235, 0.03648997397857652], rtol=64 * epsilon
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OWN)
def test_error_is_within_the_documented_bound(name, dtype):
    error, at, got, exact = accuracy.measure(name, dtype, 20000)
    bound = getattr(weft, name).definition["error"][0 if dtype == np.float32 else 1]
    assert error <= bound, f"{name}({at}) = {got}, exactly {exact}"
