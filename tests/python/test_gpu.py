"""The device cuda, emulated on the host (docs/GPU.md). On a machine with a GPU: make test-gpu."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import weft
from support.emulated import EMULATED
from support.tiers import long_but

CHECKS = Path(__file__).with_name("gpu_checks.py")
ASSEMBLED = Path(__file__).with_name("gpu_assembled.py")


def run(*arguments, emulate="1", **variables):
    """A process of its own: whether the device is emulated is decided when it is first used."""
    environment = {
        **os.environ,
        **(EMULATED if emulate == "1" else {"WEFT_DEVICE_EMULATE": emulate}),
        "WEFT_VERIFY": "1",
        **variables,
    }
    paths = [str(Path(weft.__file__).parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return done


def has_clang():
    try:
        return "sm_80" in weft._C._gpu.ptx("nothing", "", 80)
    except RuntimeError:
        return False


@pytest.mark.parametrize(
    "check",
    long_but(
        ["functions", "sizes", "tensors", "errors", "programs", "sharing", "indices", "pinned", "unpinned"],
        *("functions", "sizes", "tensors", "errors", "sharing", "indices", "pinned", "unpinned"),
    ),
)
def test_emulated(check):
    run(CHECKS, check)


def test_runs_are_recorded():
    log = run(CHECKS, "recorded", WEFT_LOGS="schedule,syncs").stderr
    assert "a run is recorded on cuda:0" in log and "a run is not recorded: cuda: a copy" in log


DATA = Path(os.environ.get("WEFT_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared/data"))


def test_archives_are_moved_there():
    if not (DATA / "torchscript").is_dir():
        pytest.skip(f"no data in {DATA}; set WEFT_SHARED_DATA")
    # Whole images: these kernels run longer than they take to optimize.
    run(CHECKS, "archives", WEFT_KERNEL_OPTIMIZATION="1")


@pytest.mark.parametrize("model", long_but(["llama", "sam"], "llama"))
def test_no_operator_of_a_model_runs_on_the_host(model):
    if not (DATA / "stories260k").is_dir():
        pytest.skip(f"no data in {DATA}; set WEFT_SHARED_DATA")
    run(CHECKS, model)


@pytest.fixture(scope="module")
def kernels_of(tmp_path_factory):
    """Texts of the kernels that a check uses, which runs once."""
    folders = {}

    def folder_of(check):
        if check not in folders:
            folders[check] = str(tmp_path_factory.mktemp(check))
            run(CHECKS, check, WEFT_DUMP=folders[check], WEFT_DISABLE_CACHE="0")
        return folders[check]

    return folder_of


@pytest.mark.long
def test_every_written_kernel_becomes_machine_code(kernels_of):
    """Registers, spilled bytes and shared memory of each, as ptxas counts them; GOLDEN_UPDATE=1 writes them anew."""
    if not has_clang():
        pytest.skip("no in-process compiler")
    golden = Path(__file__).parents[1] / "golden" / "gpu_kernels.txt"
    print(run(ASSEMBLED, kernels_of("written"), str(golden)).stdout)


@pytest.mark.long
@pytest.mark.parametrize("check", ["functions", "sampled"])
def test_every_kernel_becomes_machine_code(check, kernels_of):
    if not has_clang():
        pytest.skip("no in-process compiler")
    print(run(ASSEMBLED, kernels_of(check)).stdout)


def has_nvrtc():
    try:
        code = 'extern "C" __global__ void nothing() {}'
        return "sm_80" in weft._C._gpu.ptx("nothing", code, 80, "nvrtc")
    except RuntimeError:
        return False


@pytest.mark.long
@pytest.mark.parametrize("check", ["functions", "written", "sampled"])
def test_kernels_are_compiled_by_nvrtc(check, kernels_of):
    if not has_nvrtc():
        pytest.skip("no NVRTC")
    print(run(ASSEMBLED, kernels_of(check), "", "nvrtc").stdout)


def test_what_nvrtc_says_is_told():
    if not has_nvrtc():
        pytest.skip("no NVRTC")
    with pytest.raises(RuntimeError, match=r"nvrtc: compiling kernel 'wrong' failed.*\n(.|\n)*wrong.cu"):
        weft._C._gpu.ptx("wrong", "what is this", 80, "nvrtc")


def test_without_a_compiler_both_reasons_are_said(tmp_path):
    code = (
        "import weft\n"
        "try: weft._C._gpu.ptx('nothing', '', 80, 'auto')\n"
        "except RuntimeError as error: print(error)\n"
    )
    plugin = tmp_path / "libweft_clang.so"
    plugin.write_text("no library")
    broken = run("-c", code, WEFT_CLANG_PLUGIN=str(plugin)).stdout
    assert "cuda: there is no compiler of kernels for GPUs: " in broken and str(plugin) in broken


def test_logs_show_kernels_and_what_waits():
    code = (
        "import numpy as np, weft\n"
        "f = weft.compile(lambda x: np.linalg.inv(np.exp(x)) * 2)\n"
        "with weft.device('cuda'): f(np.eye(5))\n"
    )
    log = run("-c", code, WEFT_LOGS="output_code,syncs").stderr
    assert 'extern "C" __global__ void' in log and "first_item()" in log
    assert "has no form for cuda and runs on the host" in log and "bytes are copied from cuda:0" in log


def test_without_a_driver_nothing_changes_and_the_reason_is_said():
    if not weft._C._gpu.why_unavailable():
        pytest.skip("there is a GPU")
    code = (
        "import weft\n"
        "loaded = open('/proc/self/maps').read()\n"
        "assert 'libcuda' not in loaded and 'libweft_clang' not in loaded\n"
        "try: weft.ones(2, device='cuda')\n"
        "except RuntimeError as error: print(error)\n"
        "print(weft._C._gpu.why_library_fails('libno_such.so'))\n"
        "print(weft._C._gpu.why_library_fails('libc.so.6'))\n"
    )
    said = run("-c", code, emulate="0").stdout
    assert "device 'cuda:0' cannot be used: there is no NVIDIA driver: libcuda.so.1" in said
    assert "there is no NVIDIA driver: libno_such.so" in said
    assert "the NVIDIA driver is too old: libc.so.6 has no cuInit" in said


def test_a_child_of_fork_is_refused():
    code = (
        "import os, weft\n"
        "x = weft.ones(3, device='cuda')\n"
        "pinned, freed = weft.ones(3).pin_memory(), weft.ones(3, device='cuda')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    del pinned, freed\n"
        "    try: x + x\n"
        "    except RuntimeError as error: os._exit(7 if 'child of fork()' in str(error) else 8)\n"
        "    os._exit(9)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "assert (x + x).cpu().tolist() == [2, 2, 2]\n"
    )
    run("-c", code)


FAILURES = {
    "": "",
    "no device": "the NVIDIA driver finds no GPU",
    "init": "the NVIDIA driver does not start: unknown error (CUDA_ERROR_UNKNOWN)",
    "ancient": "the NVIDIA driver is too old: it is of CUDA 8.0 and reads PTX 5, weft's kernels are PTX 6.0 or newer",
    "older": "",  # compiled for an older GPU
    "old gpu": "Fake GPU (sm_30) cannot be used with a driver of CUDA 13.0: weft's kernels are for sm_70 and newer",
    "memory": "no memory",
    "ptx": "assembling kernel 'nothing' failed: unknown error (CUDA_ERROR_UNKNOWN)\nline 1: what is this",
    "kernel": "waiting for the GPU failed: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)\n"
    "  kernels launched before: nothing\n  WEFT_CUDA_BLOCKING=1 waits for each",
}


@pytest.fixture(scope="module")
def fake_cuda(tmp_path_factory):
    library = tmp_path_factory.mktemp("cuda") / "libcuda_fake.so"
    source = Path(__file__).with_name("fake_cuda.cc")
    subprocess.run(["c++", "-shared", "-fPIC", "-std=c++20", str(source), "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize("failure", FAILURES)
def test_what_the_driver_says_is_told(fake_cuda, failure, tmp_path):
    if not has_clang():
        pytest.skip("no in-process compiler")
    code = f"import weft; print(weft._C._gpu.why_library_fails({str(fake_cuda)!r}))"
    done = run("-c", code, emulate="0", FAKE_CUDA=failure, WEFT_CACHE_DIR=str(tmp_path))
    if FAILURES[failure]:
        assert FAILURES[failure] in done.stdout
    else:
        assert done.stdout.strip() == ""
    if failure == "older":
        assert (
            "the driver is of CUDA 11.4 and reads PTX 7.4; kernels for Fake GPU would be PTX 7.8"
            in done.stderr
        )
    if failure == "kernel":
        blocking = run(
            "-c", code, emulate="0", FAKE_CUDA=failure, WEFT_CUDA_BLOCKING="1", WEFT_CACHE_DIR=str(tmp_path)
        )
        assert "cuda: kernel 'nothing' failed: an illegal memory access" in blocking.stdout
