"""Threads and processes: the pool is shared, children of fork() have their own, nothing waits for ever."""

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import weft

LENGTH = 1_000_000


@pytest.fixture(autouse=True)
def three_threads():
    before = weft.get_num_threads()
    weft.set_num_threads(3)
    yield
    weft.set_num_threads(before)


def eager():
    """A sum over an array long enough to be cut among threads; exact, so that any cut gives the same."""
    x = weft.from_numpy(np.arange(LENGTH, dtype=np.int64))
    return int((x + x).sum().item())


EXPECTED = LENGTH * (LENGTH - 1)


def in_child(body):
    """The exit status of a forked child that runs `body`; killed after 60 seconds."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        status = 1
        try:
            status = 0 if body() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def doubled_sum(x):
    return (x * 2.0).sum()


def compiled_agrees(seed=0):
    x = np.arange(100_000, dtype=np.float64) + seed
    return float(weft.compile(doubled_sum)(x)) == float(doubled_sum(x))


def test_fork_after_the_parent_used_the_pool():
    assert eager() == EXPECTED
    for _ in range(3):
        assert in_child(lambda: eager() == EXPECTED) == 0
    assert eager() == EXPECTED


def test_a_child_compiles_what_the_parent_did_not():
    assert compiled_agrees()
    assert (
        in_child(
            lambda: compiled_agrees(1)
            and float(weft.compile(lambda x: (x * 3.0).max())(np.arange(9.0))) == 24.0
        )
        == 0
    )


def test_a_child_uses_its_parents_compiled_function():
    compiled = weft.compile(doubled_sum)
    x = np.arange(100_000, dtype=np.float64)
    expected = float(compiled(x))
    assert in_child(lambda: float(compiled(x)) == expected) == 0


def test_fork_from_a_worker_thread():
    assert eager() == EXPECTED
    with ThreadPoolExecutor(2) as pool:
        assert pool.submit(in_child, lambda: eager() == EXPECTED).result() == 0


def test_threads_share_the_pool():
    compiled = weft.compile(doubled_sum)
    x = np.arange(100_000, dtype=np.float64)
    expected = float(compiled(x))
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: eager(), range(64))) == {EXPECTED}
        assert set(pool.map(lambda _: float(compiled(x)), range(64))) == {expected}


def worker_of_a_data_loader(index):
    weft.set_num_threads(2)
    return eager() == EXPECTED and compiled_agrees(index)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader_workers(method):
    assert eager() == EXPECTED
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert all(pool.map_async(worker_of_a_data_loader, range(6)).get(timeout=120))


def threads_of(**variables):
    code = "import weft; print(weft.get_num_threads())"
    clean = {k: v for k, v in os.environ.items() if k not in ("MKL_NUM_THREADS", "OMP_NUM_THREADS")}
    clean["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    result = subprocess.run(
        [sys.executable, "-c", code], env=clean | variables, capture_output=True, text=True, check=True
    )
    return int(result.stdout)


def test_mkl_over_omp_over_cores():
    assert threads_of(MKL_NUM_THREADS="5", OMP_NUM_THREADS="4") == 5
    assert threads_of(OMP_NUM_THREADS="4") == 4
    assert 1 <= threads_of() <= len(os.sched_getaffinity(0))


def test_number_of_threads_is_checked():
    with pytest.raises(ValueError, match="n >= 1|1 <= n"):
        weft.set_num_threads(0)
