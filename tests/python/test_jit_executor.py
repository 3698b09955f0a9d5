"""Compiled execution of TorchScript changes nothing but the time it takes."""

import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
import weft
from test_jit_archives import NAMES, check_archive, folder  # noqa: F401


@pytest.mark.parametrize("name", NAMES)
def test_interpreted(folder, name):
    module = weft.jit.load(folder / f"{name}.pt")
    with weft.jit.optimized_execution(False):
        for _ in range(2):
            check_archive(module, np.load(folder / f"{name}.npz"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "optimize", [lambda module: module, weft.jit.freeze, weft.jit.optimize_for_inference]
)
def test_many_threads(folder, name, optimize):
    module = optimize(weft.jit.load(folder / f"{name}.pt").eval())
    # Read at once: threads must not share an open archive.
    arrays, errors = dict(np.load(folder / f"{name}.npz")), []

    def run():
        try:
            for _ in range(4):
                check_archive(module, arrays)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize("name", ["cnn_scripted", "squeezenet1_1", "mobilenet_v3_small"])
@pytest.mark.parametrize("optimize", [lambda module: module, weft.jit.optimize_for_inference])
def test_other_sizes(folder, name, optimize):
    loaded = weft.jit.load(folder / f"{name}.pt").eval()
    module = optimize(loaded)
    shape = (1, 3, 32, 32) if name.startswith("cnn") else (1, 3, 96, 96)
    for batch in (1, 3, 2, 5):
        x = weft.tensor(np.random.default_rng(batch).standard_normal((batch, *shape[1:]), dtype=np.float32))
        with weft.jit.optimized_execution(False):
            expected = np.asarray(loaded(x))
        for _ in range(3):
            np.testing.assert_allclose(
                np.asarray(module(x)), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max()
            )
    with pytest.raises(RuntimeError, match="Traceback of TorchScript"):
        module(weft.tensor(np.zeros((1, 5, 32, 32), np.float32)))


def test_the_switch():
    assert weft.jit.optimized_execution
    with weft.jit.optimized_execution(False), weft.jit.optimized_execution(True):
        pass


def test_without_a_compiler(folder, tmp_path):
    """Networks are as right, and convolutions still packed, where nothing can generate code."""
    program = f"""
import sys, numpy as np, weft
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from test_jit_archives import NAMES, check_archive
import pathlib
folder = pathlib.Path({str(folder)!r})
for name in NAMES:
    loaded = weft.jit.load(folder / f"{{name}}.pt").eval()
    for module in (loaded, weft.jit.optimize_for_inference(loaded)):
        for _ in range(4):
            check_archive(module, np.load(folder / f"{{name}}.npz"))
"""
    environment = dict(
        os.environ,
        WEFT_TOOLCHAIN="clang",
        WEFT_CLANG_PLUGIN=str(tmp_path / "missing.so"),
        WEFT_LOGS="executor",
    )
    result = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("no code is generated for TorchScript") == 1
    assert "SqueezeNet.forward_0: compiled in" in result.stderr


def variances(x: weft.Tensor) -> weft.Tensor:
    return x.var(1)


def roots(x: weft.Tensor) -> weft.Tensor:
    return x.sqrt()


@pytest.mark.parametrize(("function", "kernels"), [(variances, 1), (roots, 0)])
def test_what_is_one_builtin_is_compiled_where_it_is_several_operators(function, kernels):
    scripted = weft.jit.script(function)
    x = weft.tensor(np.random.default_rng(0).random((3, 40), np.float32))
    for _ in range(4):
        with weft.profiler.profile() as profile:
            found = scripted(x)
        np.testing.assert_allclose(found.numpy(), function(x).numpy(), rtol=1e-5)
    assert sum(event.category == "kernel" for event in profile.events()) == kernels
