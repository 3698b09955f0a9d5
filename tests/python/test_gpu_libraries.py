"""NVIDIA's libraries on the device cuda, which is emulated: libraries in their place that compute on the host."""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import weft
from support.emulated import EMULATED
from support.tiers import long_but

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """A folder that holds a library made of a file of this folder."""
    folders = {}

    def folder_of(source, library, *options):
        key = source, library, options
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("library")
            subprocess.run(
                ["c++", "-O2", "-shared", "-fPIC", "-std=c++20", *options, str(HERE / source),
                 "-o", str(folders[key] / library)],
                check=True,
            )  # fmt: skip
        return str(folders[key])

    return folder_of


def run(check, folder, logs="autotune,syncs", **variables):
    """What a check of gpu_library_checks.py, or gpu_assembled.py with arguments, writes to stderr."""
    paths = [str(Path(weft.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ, **EMULATED, "WEFT_VERIFY": "1", "WEFT_LOGS": logs,
        "LD_LIBRARY_PATH": folder, "PYTHONPATH": os.pathsep.join(path for path in paths if path), **variables,
    }  # fmt: skip
    arguments = ["gpu_library_checks.py", check] if isinstance(check, str) else check
    done = subprocess.run(
        [sys.executable, str(HERE / arguments[0]), *arguments[1:]],
        capture_output=True,
        text=True,
        env=environment,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return done.stderr


# ---- cuBLASLt ----


def cublaslt(build, version=13):
    return build("fake_cublaslt.cc", f"libcublasLt.so.{version}")


def chosen(log):
    """The candidate of each table."""
    return re.findall(r"^\[weft autotune\] product .*: (\S+(?: \d)?), measured$", log, re.M)


EXPECTED = {
    "products": [
        f"product {dtype} {sizes}, cuda:0"
        for dtype in ("float32", "float64", "float16", "bfloat16")
        for sizes in (
            "20 x 17 x 33, nn", "20 x 17 x 33, tn", "20 x 17 x 33, nt", "20 x 17 x 33, tt", "1 x 8 x 9, nn",
            "7 x 8 x 6, 3 of them, nn", "7 x 8 x 6, 6 of them, nn", "8 x 10 x 9, nn",
        )
    ],
    "linears": [
        f"product {dtype} 18 x 40 x 24, nt{what}, cuda:0"
        for dtype in ("float32", "float16", "bfloat16")
        for what in ("", ", bias", ", bias, residual", ", relu", ", bias, relu", ", gelu", ", bias, gelu")
    ]
    + ["product float32 18 x 40 x 24, nt, bias, residual, relu, cuda:0"],
    "integers": [f"product int8 20 x 32 x 24, {order}, cuda:0" for order in ("nn", "tn", "nt", "tt")],
}  # fmt: skip


@pytest.mark.parametrize("check", long_but(EXPECTED, "products", "integers"))
def test_products_of_cublaslt_are_the_hosts(build, check):
    log = run(check, cublaslt(build))
    assert set(chosen(log)) == {"cuBLASLt 1"} and "differs" not in log and "status" not in log
    for problem in EXPECTED[check]:
        assert f"[weft autotune] {problem}: cuBLASLt 1, measured\n" in log, problem


@pytest.mark.parametrize("version", long_but([11, 12], 11))
def test_older_ones_are_found(build, version):
    assert "cuBLASLt" in chosen(run("one", cublaslt(build, version)))[0]


def test_what_is_slower_is_not_chosen(build):
    log = run("slow", cublaslt(build))
    assert chosen(log) == ["weft", "weft", "cuBLASLt 1"] and "differs" not in log


def test_only_max_autotune_asks_for_the_library(build):
    assert "fake cublasLtMatmul" not in run("without_autotune", cublaslt(build))


@pytest.mark.parametrize("how", ["wrong", "tf32", "nothing"])
def test_wrong_results_are_never_chosen(build, how):
    log = run("one", cublaslt(build), FAKE_CUBLASLT=how)
    assert chosen(log) == ["weft"] and log.count("differs from weft's kernel by more than rounding") == 2
    assert log.count("fake cublasLtMatmul") == 2


def test_one_wrong_algorithm_leaves_the_other(build):
    log = run("one", cublaslt(build), FAKE_CUBLASLT="wrong 1")
    assert chosen(log) == ["cuBLASLt 2"] and log.count("differs") == 1


def test_an_activation_that_swallows_nan_is_never_chosen(build):
    assert chosen(run("relu", cublaslt(build))) == ["cuBLASLt 1"]
    log = run("relu", cublaslt(build), FAKE_CUBLASLT="nan")
    assert chosen(log) == ["weft"] and log.count("differs from weft's kernel") == 2
    assert log.count("fake cublasLtMatmul") == 4


FUNCTIONS = [
    "cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
    "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic",
    "cublasLtMatmul",
]  # fmt: skip


@pytest.mark.parametrize(
    "function", long_but(FUNCTIONS, "cublasLtCreate", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul")
)
def test_a_function_that_fails_leaves_it_to_weft(build, function):
    log = run("one_linear", cublaslt(build), FAKE_CUBLASLT=function)
    assert "fake cublasLtMatmul" not in log
    if function == "cublasLtMatmulAlgoGetHeuristic":
        assert log.count("cuBLASLt has no algorithm for it") == 1
    else:
        assert f"{function} gives status 13" in log


def test_a_library_that_fails_later_is_given_up_in_one_line(build):
    log = run("many", cublaslt(build), FAKE_CUBLASLT="late")
    assert chosen(log)[0].startswith("cuBLASLt")
    assert log.count("weft from now on: cublasLtMatmul gives status 13") == 1


def test_without_memory_to_measure_on_it_is_left_to_weft(build):
    log = run("little_memory", cublaslt(build))
    assert (
        log.count("weft: cuda:0: out of memory") == 1 and not chosen(log) and "fake cublasLtMatmul" not in log
    )


def test_each_device_has_choices_of_its_own(build):
    log = run("two_devices", cublaslt(build))
    for device in ("cuda:0", "cuda:1"):
        assert f"product float32 8 x 12 x 16, nn, {device}: cuBLASLt 1, measured" in log


def test_a_library_without_a_function_is_none(build):
    folder = build("fake_cublaslt.cc", "libcublasLt.so.13", "-DcublasLtMatmulPreferenceCreate=another")
    log = run("one", folder)
    assert log.count("weft: cuBLASLt has no cublasLtMatmulPreferenceCreate") == 1 and not chosen(log)


def test_without_the_library(tmp_path):
    log = run("one", str(tmp_path))
    assert re.search(
        "weft: there is no cuBLASLt .libcublasLt.so.13, libcublasLt.so.12, libcublasLt.so.11.: ", log
    )


# ---- cuFFT ----


def cufft(build, version=12):
    return build("fake_cufft.cc", f"libcufft.so.{version}")


def on_the_host(log):
    return re.findall(r"(\S+) has no form for cuda and runs on the host", log)


def test_transforms_of_cufft_are_the_hosts(build):
    log = run("transforms", cufft(build))
    assert not on_the_host(log) and "status" not in log and "fake cufftMakePlanMany64" in log


@pytest.mark.parametrize("version", long_but([10, 11], 10))
def test_older_cuffts_are_found(build, version):
    log = run("one_transform", cufft(build, version))
    assert log.count("fake cufftMakePlanMany64") == 6 and not on_the_host(log)


def test_plans_are_kept_and_destroyed(build):
    """34 sizes: the 33rd and 34th push the first and second out; then the last is there, and the first is made anew."""
    log = run("many_plans", cufft(build))
    assert log.count("fake cufftMakePlanMany64") == 35 and log.count("fake cufftDestroy") == 3
    assert max(int(count) for count in re.findall(r"fake cufftMakePlanMany64 (\d+)", log)) == 33


def test_recorded_transforms(build):
    log = run("recorded_transforms", cufft(build), "schedule,syncs")
    assert "a run is recorded on cuda:0" in log and not on_the_host(log)


def test_a_plan_is_not_made_while_a_run_is_recorded(build):
    log = run("plans_that_go", cufft(build), "schedule,syncs")
    assert "a run is not recorded: cuda: a plan of cuFFT cannot be recorded" in log and not on_the_host(log)


CUFFT_FUNCTIONS = [
    "cufftCreate", "cufftSetAutoAllocation", "cufftMakePlanMany64", "cufftSetStream", "cufftSetWorkArea",
    "cufftExecC2C", "cufftExecR2C", "cufftExecC2R", "cufftExecZ2Z", "cufftExecD2Z", "cufftExecZ2D",
]  # fmt: skip


@pytest.mark.parametrize(
    "function",
    long_but(CUFFT_FUNCTIONS, "cufftCreate", "cufftMakePlanMany64", "cufftExecC2C", "cufftExecD2Z"),
)
def test_a_function_of_cufft_that_fails_leaves_it_to_the_host(build, function):
    log = run("one_transform", cufft(build), FAKE_CUFFT=function)
    times = 1 if "Exec" in function else 6
    assert log.count(f": {function} gives status 6") == times and len(on_the_host(log)) == times
    assert "would run it" not in log


def test_a_plan_without_memory_is_made_again(build):
    assert not on_the_host(run("one_transform", cufft(build), FAKE_CUFFT="memory"))


def test_without_cufft_transforms_run_on_the_host(build, tmp_path):
    without = build("fake_cufft.cc", "libcufft.so.12", "-DcufftSetWorkArea=another")
    for folder in (str(tmp_path), without):
        log = run("one_transform", folder)
        assert log.count("runs on the host; libcufft.so would run it on the GPU: ") == 6


# ---- cuSOLVER ----


def cusolver(build, version=12):
    return build("fake_cusolver.cc", f"libcusolver.so.{version}")


@pytest.mark.parametrize("version", long_but([11, 12], 11))
def test_linear_algebra_of_cusolver_is_the_hosts(build, version):
    log = run("linear_algebra", cusolver(build, version))
    assert not on_the_host(log) and "status" not in log and "info" not in log


def test_singular_matrices_are_the_hosts(build):
    log = run("singular", cusolver(build))
    assert log.count("has info 2 and is the host's") == 14
    assert set(on_the_host(log)) == {"det", "slogdet", "cholesky_ex", "lu_factor"}  # the others raise


def test_complex_and_empty_matrices_are_the_hosts(build):
    log = run("left_to_the_host", cusolver(build))
    assert on_the_host(log) == ["det"] * 3 and "would run it" not in log and "fake" not in log


def test_linear_algebra_is_not_recorded(build):
    log = run("solve_in_recorded_runs", cusolver(build))
    assert "a run is not recorded: cuda: linear algebra" in log and not on_the_host(log)


CUSOLVER_FUNCTIONS = {
    "potrf": "cholesky", "getrf": "solve", "getrs": "solve", "syevd": "eigvalsh", "geqrf": "qr", "orgqr": "qr",
    "gesvd": "svdvals",
}  # fmt: skip


@pytest.mark.parametrize("letter", long_but(["S", "D"], "D"))
@pytest.mark.parametrize("function", long_but(CUSOLVER_FUNCTIONS, "potrf", "getrs", "gesvd"))
def test_a_function_of_cusolver_that_fails_leaves_it_to_the_host(build, function, letter):
    for name in (function, function + "_bufferSize"):
        if name == "getrs_bufferSize":
            continue
        log = run("one_of_each", cusolver(build), FAKE_CUSOLVER=letter + name)
        assert log.count(f": {name} gives status 6") == 1
        assert on_the_host(log) == [CUSOLVER_FUNCTIONS[function]]


@pytest.mark.parametrize("function", ["Create", "SetStream"])
def test_cusolver_that_does_not_begin_leaves_all_to_the_host(build, function):
    log = run("one_of_each", cusolver(build), FAKE_CUSOLVER=function)
    assert len(on_the_host(log)) == 10 and log.count("gives status 6") == 10


def test_without_cusolver_linear_algebra_runs_on_the_host(build, tmp_path):
    without = build("fake_cusolver.cc", "libcusolver.so.12", "-DcusolverDnSetStream=another")
    for folder in (str(tmp_path), without):
        log = run("one_of_each", folder)
        assert log.count("runs on the host; libcusolver.so would run it on the GPU: ") == 10


# ---- NVIDIA's own ----

SOURCES = HERE.parents[1] / "src" / "device" / "cuda"
OWN = [
    ("cublaslt", [f"libcublasLt.so.{version}" for version in (13, 12, 11)], [""]),
    ("cufft", [f"libcufft.so.{version}" for version in (12, 11, 10)], [""]),
    ("cusolver", [f"libcusolver.so.{version}" for version in (12, 11)], ["cusolverDnS", "cusolverDnD"]),
]


@pytest.mark.parametrize("header, libraries, prefixes", OWN)
def test_libraries_of_nvidias_have_every_function(header, libraries, prefixes):
    found = 0
    for name in libraries:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        found += 1
        functions = re.findall(r"^  X\((\w+),", (SOURCES / f"{header}_api.h").read_text(), re.M)
        assert len(functions) >= 12
        for function in functions:
            for prefix in prefixes:
                assert hasattr(library, prefix + function), (name, prefix + function)
    if not found:
        pytest.skip(f"there is none of {libraries}")


# ---- weft's kernels around them ----


@pytest.mark.parametrize("compiler", ["clang", "nvrtc"])
def test_kernels_around_libraries_become_machine_code(build, tmp_path, compiler):
    try:
        text = 'extern "C" __global__ void nothing() {}' if compiler == "nvrtc" else ""
        weft._C._gpu.ptx("nothing", text, 80, compiler)
    except RuntimeError as error:
        pytest.skip(str(error))
    folder = f"{cublaslt(build)}:{cufft(build)}"
    log = run("kernels", folder, WEFT_DUMP=str(tmp_path), WEFT_DISABLE_CACHE="0")
    assert "cuBLASLt 1" in chosen(log) and not on_the_host(log)
    names = {path.stem.split("_", 1)[1] for path in tmp_path.glob("*.cc")}
    kinds = {f"fill_samples_{dtype}" for dtype in ("f32", "f64", "f16", "bf16", "i8", "i32")}
    kinds |= {f"{kind}_signals_{dtype}" for kind in ("gather", "spread") for dtype in ("f32", "f64")}
    assert kinds <= names, names
    run(["gpu_assembled.py", str(tmp_path), "", compiler], os.environ.get("LD_LIBRARY_PATH", ""))
