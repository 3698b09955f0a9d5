"""What test_gpu.py runs in processes of their own, in which the device cuda is emulated: gpu_checks.py NAME."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import weft

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

rng = np.random.default_rng(7)


def close(got, want, rtol=1e-9):
    """The same structure, dtypes and shapes; numbers up to the order of additions."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            close(a, b, rtol)
        return
    assert type(got) is type(want) and np.asarray(got).dtype == np.asarray(want).dtype
    single = np.asarray(want).dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-4 if single else rtol, atol=1e-5 if single else 1e-9)


def on_gpu(function, *arguments):
    """Compiled, twice, on copies of the arguments, which must be left as NumPy leaves them."""
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    want = function(*plain)
    compiled = weft.compile(function)
    for _ in range(2):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        with weft.device("cuda"):
            got = compiled(*copies)
        close(got, want)
        for a, b in zip(copies, plain):
            if isinstance(a, np.ndarray):
                close(a, b)
    return compiled


def nearest(x, means):
    return np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)


def kmeans_step(x, means):
    labels = np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)
    return np.array([x[labels == k].mean(axis=0) for k in range(len(means))])


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def standardized(x):
    return (x - x.mean()) / x.std()


def columns(x):
    return x - x.mean(axis=0), x.std(axis=0), x.argmax(axis=0), x.min(axis=0)


def rows(x):
    return x.argmin(axis=1), x.max(axis=1), (x > 0).any(axis=1), x.sum(axis=1)


def updated(x):
    x += 1
    x[0] = 3
    return x[1:], x.sum()


def functions():
    """k-means, rows and columns, of the sizes on each side of where kernels are split, and updates of arguments."""
    for dtype in ("f8", "f4"):
        points, means = (
            rng.standard_normal((5000, 2)).astype(dtype),
            rng.standard_normal((3, 2)).astype(dtype),
        )
        on_gpu(nearest, points, means)
        on_gpu(kmeans_step, points, means)
    for shape in ((50, 1000), (600, 1100), (3, 20000)):
        on_gpu(softmax, rng.standard_normal(shape))
        on_gpu(rows, rng.standard_normal(shape))
    for shape in ((3000, 40), (200, 40), (5, 2000)):
        on_gpu(columns, rng.standard_normal(shape))
    on_gpu(columns, rng.integers(0, 9, (3000, 40)))
    on_gpu(standardized, rng.standard_normal((300, 400)))
    on_gpu(updated, rng.standard_normal((30, 40)))


def sizes():
    """One graph for all sizes: launches and parts follow them."""
    compiled = weft.compile(standardized)
    for rows_, columns_ in ((3, 5), (40, 50), (41, 77), (300, 301), (17, 4000)):
        x = rng.standard_normal((rows_, columns_))
        with weft.device("cuda"):
            close(compiled(x.copy()), standardized(x))


def programs():
    """The suite of NumPy programs at its small sizes."""
    from programs import all_programs
    from programs.registry import copied, same

    failed = []
    for program in all_programs():
        arguments = program.arguments(program.small)
        plain = copied(arguments)
        expected = program.function(*plain)
        try:
            compiled = weft.compile(program.function)
            for _ in range(2):
                written = copied(arguments)
                with weft.device("cuda"):
                    got = compiled(*written)
                for problem in (
                    same(got, expected, max(program.rtol, 1e-9)),
                    same(written, plain, max(program.rtol, 1e-9)),
                ):
                    if problem:
                        failed.append(f"{program.name}: {problem}")
        except Exception as error:
            failed.append(f"{program.name}: {type(error).__name__}: {str(error)[:300]}")
        weft.compiler.reset()
    assert not failed, "\n".join(failed)


def tensors():
    """Tensors stay on the device; other devices are refused in PyTorch's words."""
    x = rng.standard_normal((100, 7))
    there = weft.tensor(x).to("cuda")
    assert there.is_cuda and str(there.device) == "cuda:0" and there.cpu().device == weft.device("cpu")
    np.testing.assert_array_equal((there * 2 + there).cpu().numpy(), x * 2 + x)
    np.testing.assert_allclose(there.sum(0).cpu().numpy(), x.sum(0))
    assert there[3, 4].item() == x[3, 4] and there.T[4].cpu().tolist() == x[:, 4].tolist()
    assert repr(weft.tensor([1.0, 2.0], device="cuda:1")) == "tensor([1., 2.], device='cuda:1')"

    @weft.compile
    def scaled(a, b):
        return weft.exp(a) * b + weft.sum(a)

    with weft.device("cuda"):
        result = scaled(there, there)
        assert result.is_cuda
        np.testing.assert_allclose(result.cpu().numpy(), np.exp(x) * x + x.sum())
        for call in (lambda: scaled(there, there.cpu()), lambda: there + there.cpu()):
            try:
                call()
            except RuntimeError as error:
                assert "Expected all tensors to be on the same device, but found at least two devices" in str(
                    error
                )
            else:
                raise AssertionError("two devices in one operation")


def errors():
    """Memory that ends, devices that are not there; the process goes on, and arguments are what they were."""
    gpu = weft._C._gpu
    x = np.ones(1 << 18)
    gpu.set_emulated_memory(1 << 20)

    @weft.compile
    def twice(a):
        return a * 2

    for call in (lambda: weft.tensor(x).to("cuda"), lambda: twice(x)):
        try:
            with weft.device("cuda"):
                call()
        except MemoryError as error:
            assert "cuda:0: out of memory: asked for 2.0 MiB; weft's tensors hold" in str(error), error
        else:
            raise AssertionError("2 MiB in 1 MiB")
    assert (x == 1).all()
    gpu.set_emulated_memory(0)
    with weft.device("cuda"):
        assert (twice(x) == 2).all()
    try:
        weft.ones(2, device="cuda:2")
    except RuntimeError as error:
        assert "there are 2 GPUs, cuda:0 to cuda:1, and no number 2" in str(error)
    else:
        raise AssertionError("a third GPU")
    memory = gpu.memory()
    assert memory["used"] < 4096 and memory["cached"] > 0, memory
    gpu.empty_cache()
    assert gpu.memory()["cached"] == 0


def assembled(folder, most=10**9):
    """Every kernel in a folder of WEFT_DUMP as PTX for sm_80 and sm_90, and by ptxas where it is installed."""
    sources = {}
    for path in sorted(Path(folder).glob("*.cc")):
        text = path.read_text()
        if "__global__" in text:
            sources.setdefault(
                text.split("#define convert number_as", 1)[1], (path.stem.split("_", 1)[1], text)
            )
    assert sources
    ptxas = shutil.which("ptxas")
    table = []
    for name, text in list(sources.values())[:most]:
        for capability in (80, 90):
            ptx = weft._C._gpu.ptx(name, text, capability)
            assert f".target sm_{capability}" in ptx and ".entry" in ptx
            # Products and sums are rounded one by one, and nothing is flushed to zero.
            assert not re.search(r"\b(mul|add|sub)\.f(32|64)\b|\.ftz|\.approx", ptx), name
            if ptxas:
                with tempfile.TemporaryDirectory() as place:
                    file = Path(place) / "kernel.ptx"
                    file.write_text(ptx)
                    command = [ptxas, "-v", f"-arch=sm_{capability}", str(file), "-o", str(file) + ".cubin"]
                    done = subprocess.run(command, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
                for entry, rest in re.findall(
                    r"Compiling entry function '(\w+)'(.*?)(?=Compiling|\Z)", done.stderr, re.S
                ):
                    registers = int(re.search(r"Used (\d+) registers", rest).group(1))
                    spills = int(re.search(r"(\d+) bytes spill stores", rest).group(1))
                    shared = re.search(r"(\d+) bytes smem", rest)
                    table.append(
                        (capability, entry, registers, spills, int(shared.group(1)) if shared else 0)
                    )
    for capability, entry, registers, spills, shared in table:
        print(
            f"sm_{capability} {entry:48} {registers:4} registers {spills:4} bytes spilled {shared:4} shared"
        )
    print(
        f"{len(sources)} sources, {len(table)} kernels assembled" + ("" if ptxas else "; there is no ptxas")
    )
    assert all(row[3] == 0 for row in table), "a kernel spills"


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
