"""mode="max-autotune": choices are measured once, kept, and change no result beyond rounding."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import weft


def _run(code, cache, **environment):
    """What a process writes to stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "WEFT_CACHE_DIR": str(cache), "WEFT_LOGS": "autotune", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, done.stderr


PRODUCT = """
import numpy as np, weft
rng = np.random.default_rng(0)
x, y = (weft.asarray(rng.standard_normal((200, 200), dtype=np.float32)) for _ in range(2))
f = weft.compile(lambda x, y: x @ y + 1, mode="max-autotune")
print(np.abs(f(x, y).numpy() - (x.numpy().astype(float) @ y.numpy() + 1)).max() < 1e-3)
"""


def test_a_process_measures_and_the_next_one_does_not(tmp_path):
    out, log = _run(PRODUCT, tmp_path)
    assert out == "True\n"
    assert "[weft autotune] float32 product" in log and "measured in" in log
    assert len(re.findall(r"^  \* ", log, re.M)) == 1 and log.count(" us ") >= 2
    out, log = _run(PRODUCT, tmp_path)
    assert out == "True\n"
    assert "as measured before" in log and "measured in" not in log


def test_other_modes_measure_nothing(tmp_path):
    for mode in ("default", "reduce-overhead"):
        out, log = _run(PRODUCT.replace("max-autotune", mode), tmp_path)
        assert (out, log) == ("True\n", "")


def test_damaged_entries_are_measured_again(tmp_path):
    _run(PRODUCT, tmp_path)
    (entry,) = tmp_path.glob("choice-*")
    entry.write_bytes(entry.read_bytes()[:-3])
    out, log = _run(PRODUCT, tmp_path)
    assert out == "True\n"
    assert "damaged" in log and "measured in" in log


def test_without_a_cache_each_process_measures(tmp_path):
    for _ in range(2):
        out, log = _run(PRODUCT, tmp_path, WEFT_DISABLE_CACHE="1")
        assert out == "True\n" and "measured in" in log
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    out, log = _run(PRODUCT, tmp_path / "file" / "cache")
    assert out == "True\n" and "measured in" in log and "cannot make the folder" in log


def test_processes_at_once(tmp_path):
    environment = {**os.environ, "WEFT_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", PRODUCT], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0] for process in running] == ["True\n"] * 3
    _, log = _run(PRODUCT, tmp_path)
    assert "as measured before" in log


def _products(dtype, shapes, threads=1):
    """Compiled products of several shapes, by one function, beside NumPy's."""
    multiply = weft.compile(lambda x, y: (x @ y) * 2, mode="max-autotune", dynamic=True)
    rng = np.random.default_rng(1)
    failures = []

    def work():
        for m, n, k in shapes:
            a, b = (rng_of(rng, size) for size in ((m, k), (k, n)))
            x, y = (weft.asarray(value).to(dtype) for value in (a, b))
            got = multiply(x, y).to(weft.float32).numpy()
            wanted = 2 * (x.to(weft.float32).numpy().astype(float) @ y.to(weft.float32).numpy())
            error = 2**-7 * np.abs(wanted) + k * 2.0**-22 * np.abs(a).astype(float) @ np.abs(b)
            if not (np.abs(got - wanted) <= error).all():
                failures.append((m, n, k))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return failures


def rng_of(rng, size):
    return rng.standard_normal(size, dtype=np.float32)


SHAPES = [(m, n, k) for m in (0, 1, 2, 17, 33, 65, 130) for n in (1, 31, 64, 257) for k in (0, 1, 64, 129)]


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
def test_symbolic_sizes(dtype):
    assert _products(dtype, SHAPES) == []


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
def test_threads_at_once(dtype):
    assert _products(dtype, SHAPES[-40:], threads=3) == []


ARCHIVE = """
import numpy as np, weft
class Net(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.linear = weft.nn.Conv2d(16, 32, 3, padding=1), weft.nn.Linear(512, 300)
    def forward(self, x):
        x = weft.nn.functional.relu(self.convolution(x))
        return self.linear(x.reshape(-1, 512))
def run(mode):
    net = Net().eval()
    x = weft.asarray(np.random.default_rng(0).standard_normal((2, 16, 32, 32), dtype=np.float32))
    fast = weft.jit.optimize_for_inference(weft.jit.script(net), mode=mode)
    print(max(np.abs((fast(x) - net(x)).detach().numpy()).max() for _ in range(3)) < 1e-4)
"""


def test_archives(tmp_path):
    program = tmp_path / "program.py"  # scripts need their source
    program.write_text(ARCHIVE)

    def run(mode):
        return _run(
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import program; program.run({mode!r})",
            tmp_path,
        )

    out, log = run("max-autotune")
    assert out == "True\n"
    for kernel in ("32 x 16 x 3 x 3", "300 x 512 x 1 x 1"):
        assert re.search(rf"packed float32 product \d+ x {kernel} .* measured in", log), log
    out, log = run("max-autotune")
    assert out == "True\n" and "measured in" not in log
    assert run("reduce-overhead") == ("True\n", "")


def test_wrong_modes_of_archives():
    module = weft.jit.script(weft.nn.Linear(2, 2).eval())
    with pytest.raises(ValueError, match="mode must be default"):
        weft.jit.optimize_for_inference(module, mode="fastest")
    with pytest.raises(TypeError, match="mode to be a str"):
        weft.jit.optimize_for_inference(module, mode=3)
