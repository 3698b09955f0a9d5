"""Compiled functions inside Dask, joblib and MPI (docs/CLUSTERS.md). `scripts/test clusters` runs them, with those packages."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import weft

dask = pytest.importorskip("dask", reason="scripts/test clusters installs dask")
import dask.array as da  # noqa: E402
import joblib  # noqa: E402
from dask.distributed import Client, LocalCluster  # noqa: E402

TOP = pathlib.Path(__file__).parents[2]
ARRAY = np.linspace(0.0, 1.0, 1000)


@weft.compile
def decorated(x):
    return np.sin(x) * 2 + 1


def plain(x):
    return np.cos(x) * 2 + 1


def local():
    factor = 3.0
    return weft.compile(lambda x: x * factor)


FUNCTIONS = {
    "decorated": (decorated, np.sin(ARRAY) * 2 + 1),
    "wrapping": (weft.compile(plain), np.cos(ARRAY) * 2 + 1),
    "local": (local(), ARRAY * 3.0),
    "module": (weft.compile(weft.nn.Tanh()), np.tanh(ARRAY)),
}


def threads(_=None):
    return weft.get_num_threads()


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
@pytest.mark.parametrize("name", ["decorated", "wrapping", "local"])
def test_map_blocks(name, scheduler):
    function, expected = FUNCTIONS[name]
    blocks = da.from_array(ARRAY, chunks=250)
    np.testing.assert_allclose(blocks.map_blocks(function).compute(scheduler=scheduler), expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["decorated", "wrapping", "local"])
def test_delayed_and_submitted(client, name):
    function, expected = FUNCTIONS[name]
    np.testing.assert_allclose(dask.delayed(function)(ARRAY).compute(), expected, rtol=1e-15)
    np.testing.assert_allclose(client.submit(function, ARRAY).result(), expected, rtol=1e-15)


def test_a_worker_has_the_threads_of_its_scheduler(client):
    assert set(client.run(threads).values()) == {1}


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.parametrize("name", ["decorated", "wrapping"])
def test_joblib(name, backend):
    function, expected = FUNCTIONS[name]
    for result in joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(function)(ARRAY) for _ in range(3)
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-15)


def test_loky_has_joblibs_inner_limit():
    assert set(
        joblib.Parallel(n_jobs=2, backend="loky", inner_max_num_threads=1)(
            joblib.delayed(threads)() for _ in range(2)
        )
    ) == {1}


SCRIPT = """
import joblib, numpy, weft
from dask.distributed import Client, LocalCluster

@weft.compile
def own(x):
    return x * 2

of_lambda = weft.compile(lambda x: x * 3)

if __name__ == "__main__":
    x = numpy.arange(3.0)
    print([r.tolist() for r in joblib.Parallel(n_jobs=2)(joblib.delayed(f)(x) for f in (own, of_lambda))])
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        print([client.submit(f, x).result().tolist() for f in (own, of_lambda)])
"""


def test_functions_of_a_script(tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[[0.0, 2.0, 4.0], [0.0, 3.0, 6.0]]"] * 2


RANKS = """
import numpy, weft
from mpi4py import MPI

@weft.compile
def f(x):
    return numpy.sin(x).sum()

rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
x = numpy.linspace(0, 1, 1000)[rank::ranks]
total = MPI.COMM_WORLD.allreduce(float(f(x)))
assert abs(total - numpy.sin(numpy.linspace(0, 1, 1000)).sum()) < 1e-9
print("ok")
"""


@pytest.mark.skipif(not shutil.which("mpirun"), reason="there is no mpirun here")
def test_ranks_of_mpi4py(tmp_path):
    (tmp_path / "program.py").write_text(RANKS)
    done = subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["ok", "ok"]


def test_the_example():
    done = subprocess.run(
        [sys.executable, TOP / "examples/kmeans_dask.py", "--points", "300000", "--block", "100000"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("weft")
