"""What test_environment.py runs with variables that are set to anything: compiled functions, modules, scripts.

    python environment_program.py FILE

reads JSON, a list of {"name": …, "value": …} (a value's bytes as Latin-1), and runs `use` for each in a forked child where
weft is imported with that variable set. Writes JSON: the exit status and stderr of each.
"""

import json
import os
import pathlib
import sys
import tempfile

import numpy as np


def use():
    import weft

    x = np.linspace(0.0, 1.0, 1000)
    assert np.allclose(weft.compile(lambda v: (v * 2 + 1).sum())(x), (x * 2 + 1).sum())
    layer = weft.nn.Linear(3, 3)
    t = weft.tensor(np.ones((2, 3), np.float32))
    expected = np.asarray(layer(t))
    script = weft.jit.script(layer)
    for call in (weft.compile(layer), script, script):
        assert np.allclose(
            np.asarray(call(t)), expected, atol=1e-6
        )  # of random weights, which may nearly cancel
    assert float(weft.ones((1 << 20,)).sum()) == 1 << 20  # of the allocator
    assert "get_num_threads" in weft.__config__.parallel_info()
    assert weft.__config__.show()


def in_child(name, value, log):
    os.dup2(log.fileno(), 2)
    status = 1
    try:
        os.environb[name.encode()] = value.encode("latin-1")
        os.environ.setdefault("WEFT_LOGS", "")
        use()
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    sys.stderr.flush()
    os._exit(status)


def main():
    results = []
    for plan in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        with tempfile.TemporaryFile() as log:
            child = os.fork()
            if child == 0:
                in_child(plan["name"], plan["value"], log)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            log.seek(0)
            results.append({"status": status, "stderr": log.read().decode("latin-1")})
    print(json.dumps(results))


if __name__ == "__main__":
    main()
