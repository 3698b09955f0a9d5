"""Numbers of threads and where they come from, __config__, and the profiler."""

import json
import os
import subprocess
import sys

import pytest
import weft

CORES = len(os.sched_getaffinity(0))


def run(code, **variables):
    """What a fresh process prints, and its stderr."""
    clean = {
        k: v for k, v in os.environ.items() if k not in ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "WEFT_TRACE")
    }
    clean["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", "import weft\n" + code],
        env=clean | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def test_set_num_threads_over_variables():
    assert (
        run(
            "weft.set_num_threads(3); print(weft.get_num_threads())", MKL_NUM_THREADS="5", OMP_NUM_THREADS="4"
        )[0]
        == "3"
    )


@pytest.mark.parametrize("value", ["0", "-2", "many", "4x", "2.5", "99999999999999999999"])
@pytest.mark.parametrize("variable", ["MKL_NUM_THREADS", "OMP_NUM_THREADS"])
def test_invalid_variables_are_ignored_with_a_warning(variable, value):
    threads, warnings = run("print(weft.get_num_threads())", **{variable: value})
    assert 1 <= int(threads) <= CORES
    assert variable in warnings and value in warnings


def test_an_invalid_variable_gives_way_to_the_next():
    assert run("print(weft.get_num_threads())", MKL_NUM_THREADS="none", OMP_NUM_THREADS="4")[0] == "4"
    assert run("print(weft.get_num_threads())", MKL_NUM_THREADS="", OMP_NUM_THREADS="4")[0] == "4"


@pytest.mark.parametrize("function", [weft.set_num_threads, weft.set_num_interop_threads])
def test_numbers_are_checked(function):
    for number in (0, -1):
        with pytest.raises(ValueError, match=f"{function.__name__}: expected"):
            function(number)
    for number in (2.5, "2", None):
        with pytest.raises(TypeError):
            function(number)


def test_interop_threads_are_set_once():
    assert 1 <= int(run("print(weft.get_num_interop_threads())")[0]) <= CORES
    # The intra-op variables do not count here.
    assert int(run("print(weft.get_num_interop_threads())", OMP_NUM_THREADS="77")[0]) <= CORES
    code = """
weft.set_num_interop_threads(3)
print(weft.get_num_interop_threads())
try:
    weft.set_num_interop_threads(3)
except RuntimeError as error:
    print(error)
"""
    number, error = run(code)[0].splitlines()
    assert number == "3"
    assert error == (
        "set_num_interop_threads: cannot set the number of inter-op threads after parallel work has started "
        "or set_num_interop_threads was called"
    )


def test_parallel_info():
    lines = weft.__config__.parallel_info().splitlines()
    assert lines[0] == "weft/Parallel:"
    assert lines[1] == f"\tweft::get_num_threads() : {weft.get_num_threads()}"
    assert lines[2] == f"\tweft::get_num_interop_threads() : {weft.get_num_interop_threads()}"
    assert "MKL not found" in lines and "Environment variables:" in lines
    assert lines[-1] in ("weft parallel backend: OpenMP", "weft parallel backend: TBB")
    assert "\tOMP_NUM_THREADS : [not set]" in run("print(weft.__config__.parallel_info())")[0]
    assert "\tOMP_NUM_THREADS : 4" in run("print(weft.__config__.parallel_info())", OMP_NUM_THREADS="4")[0]


def test_show():
    text = weft.__config__.show()
    assert text.startswith("weft built with:\n")
    assert f"WEFT_VERSION={weft.__version__}" in text


def big_sum():
    return (weft.ones(1_000_000) + 1).sum().item()


def spans(path):
    return [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]


def test_profiler(tmp_path):
    path = tmp_path / "trace.json"
    with weft.profiler.record(path):
        assert big_sum() == 2_000_000
        with pytest.raises(RuntimeError, match="already recording"):
            weft.profiler.start(path)
    assert any(name.startswith("parallel_for") for name in spans(path))
    with pytest.raises(RuntimeError, match="not recording"):
        weft.profiler.stop()
    with pytest.raises(RuntimeError, match="No such file"):
        weft.profiler.start(tmp_path / "none" / "trace.json")


def test_a_whole_program_is_recorded(tmp_path):
    path = tmp_path / "trace.json"
    run("(weft.ones(1_000_000) + 1).sum()", WEFT_TRACE=str(path))
    assert any(name.startswith("parallel_for") for name in spans(path))
    # One that cannot be written is an error before the program begins.
    nowhere = os.environ | {"WEFT_TRACE": str(tmp_path / "none" / "trace.json")}
    done = subprocess.run(
        [sys.executable, "-c", "import weft; print('begun')"],
        env=nowhere,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0 and "begun" not in done.stdout
    assert "WEFT_TRACE" in done.stderr and "No such file" in done.stderr
    run("(weft.ones(100) + 1).sum()", WEFT_TRACE=str(tmp_path / "trace-%p.json"))
    (of_process,) = tmp_path.glob("trace-*.json")
    assert of_process.stem.removeprefix("trace-").isdigit() and "sum" in spans(of_process)
