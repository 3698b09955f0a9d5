"""Elementary functions: the same bits at every vector width, eagerly and compiled; errors within the documented bounds."""

import importlib.util
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
    "power",
    "arctan2",
    "fmod",
]
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
    return results


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
@pytest.mark.parametrize("name", OWN)
def test_error_is_within_the_documented_bound(name, dtype):
    error, at, got, exact = accuracy.measure(name, dtype, 20000)
    bound = getattr(weft, name).definition["error"][0 if dtype == np.float32 else 1]
    assert error <= bound, f"{name}({at}) = {got}, exactly {exact}"
