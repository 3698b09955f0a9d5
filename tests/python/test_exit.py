"""Programs end well whatever weft's threads are at."""

import os
import subprocess
import sys
import textwrap

import pytest
from support.tiers import long_but

START = """
import threading, time
import numpy as np
import weft

def for_ever(call):
    started = threading.Event()

    def run():
        while True:
            call()
            started.set()

    for _ in range(2):
        threading.Thread(target=run, daemon=True).start()
    started.wait()
"""
PROGRAMS = {
    "compiled function": """
        x = np.ones(200_000)
        f = weft.compile(lambda v: (v * 2 + 1).sum())
        for_ever(lambda: f(x))
    """,
    "a part that Python performs": """
        class Slow:
            def __enter__(self):
                time.sleep(0.01)

            def __exit__(self, *error):
                time.sleep(0.01)

        def f(v):
            time.sleep(0.01)
            with Slow():
                v = v * float(v.sum())
            return sum(time.sleep(0.001) or v for _ in range(3))

        x = np.ones(10)
        c = weft.compile(f)
        for_ever(lambda: c(x))
    """,
    "what weft does not compile": """
        async def g():
            pass

        def f(v):
            time.sleep(0.01)
            yield v

        x = np.ones(10)
        c = weft.compile(f)
        d = weft.compile(lambda v: time.sleep(0.01) or v * 2)
        t = weft.ones((3,))
        for_ever(lambda: (list(c(x)), d(x), d(t)))
    """,
    "compiled module": """
        f, x = weft.compile(weft.nn.Linear(64, 64)), weft.ones((64, 64))
        for_ever(lambda: f(x))
    """,
    "operator": """
        x = weft.ones((1000, 1000))
        for_ever(lambda: x + x)
    """,
    "script": """
        f, x = weft.jit.script(weft.nn.Linear(64, 64)), weft.ones((64, 64))
        for_ever(lambda: f(x))
    """,
    "saving": """
        x = weft.ones((1000, 100))
        import os, tempfile
        path = os.path.join(tempfile.mkdtemp(), "x.pt")
        weft.save(x, path)
        for_ever(lambda: weft.load(path, verify=True))
    """,
    "futures": """
        @weft.jit.ignore
        def slow(x):
            time.sleep(0.2)
            return x + 1

        def f(x):
            return slow(x)

        s, x = weft.jit.script(f), weft.ones((3,))
        futures = [weft.jit.fork(s, x) for _ in range(8)]
    """,
    "a thread that waits for a future": """
        @weft.jit.ignore
        def slow(x):
            time.sleep(0.2)
            return x + 1

        def f(x):
            return slow(x)

        s, x = weft.jit.script(f), weft.ones((3,))
        for_ever(lambda: weft.jit.wait(weft.jit.fork(s, x)))
    """,
}


def run_program(folder, environment, timeout):
    return subprocess.run(
        [sys.executable, "program.py"],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=folder,
        env=environment,
    )


@pytest.mark.parametrize("after", long_but(["", "time.sleep(0.05)", "raise SystemExit(0)"], ""))
@pytest.mark.parametrize("name", PROGRAMS)
def test_daemon_threads_and_tasks(tmp_path, name, after):
    (tmp_path / "program.py").write_text(START + textwrap.dedent(PROGRAMS[name]) + after + "\n")
    # Kernels are loaded, or compiled while the program ends.
    for cache in ({}, {"WEFT_CACHE_DIR": str(tmp_path / "cache")}):
        done = run_program(tmp_path, os.environ | cache, timeout=120)
        assert done.returncode == 0, f"{done.returncode} {done.stderr}"


def test_a_forked_child_ends(tmp_path):
    """A thread that compiles exists in the parent only; the child's end does not wait for it."""
    program = """
        import os, sys, time, warnings
        warnings.simplefilter("ignore")

        def compile_another(number=[0]):
            number[0] += 1
            weft.compile(lambda v, n=number[0]: v * 2 + n)(np.ones(number[0]))

        for_ever(compile_another)
        child = os.fork()
        if child == 0:
            sys.exit(3)
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) == 3
    """
    (tmp_path / "program.py").write_text(START + textwrap.dedent(program))
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(3):
        done = run_program(tmp_path, environment, timeout=20)
        assert done.returncode == 0, done.stderr
