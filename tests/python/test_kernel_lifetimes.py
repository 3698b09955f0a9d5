"""Kernels live as long as somebody refers to them: what processes map does not grow with what they have ever compiled."""

import os
import subprocess
import sys

PROGRAM = """
import gc, re
import numpy as np
import numpy.testing  # maps files of its own
import weft


def mappings():
    return len(open("/proc/self/maps").readlines())


def code_in_memory():
    '''KiB of memory that can be executed and is no file's.'''
    total, is_code = 0, False
    for line in open("/proc/self/smaps"):
        if re.match("[0-9a-f]+-", line):
            fields = line.split()
            is_code = "x" in fields[1] and len(fields) == 5
        elif is_code and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


def make(i):
    '''A function with a kernel and a native loop of its own, which refers to itself.'''
    text = f'''
def outer():
    def f(x, again=False):
        total = 0.0
        for k in range(len(x)):
            total += x[k] * {i}
        if again:
            return f(x)
        return np.sin(x) * {i}.25 + total
    f = weft.compile(f)
    return f
'''
    names = {"np": np, "weft": weft}
    exec(text, names)
    return names["outer"]()


x = np.arange(5.0)
make(10**6)(x)
before = mappings(), code_in_memory()
functions = [make(i) for i in range(COUNT)]
for i, f in enumerate(functions):
    np.testing.assert_allclose(f(x), np.sin(x) * (i + 0.25) + 10.0 * i)
held = mappings(), code_in_memory()
assert held[0] < before[0] + COUNT / 4, (before, held)
assert held[1] > before[1], (before, held)
ENDING
gc.collect()
weft.compiler.reset()
after = mappings(), code_in_memory()
# The interpreter maps memory of its own now and then; kernels that stayed would have three mappings each.
assert after[0] < before[0] + COUNT / 4, (before, held, after)
assert after[1] <= before[1] + (held[1] - before[1]) / 8, (before, held, after)
make(10**6)(x)
print("well")
"""


def run(ending, count=100):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("COUNT", str(count)).replace("ENDING", ending)],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"WEFT_KERNEL_OPTIMIZATION": "3"},  # those for a debugger are the system's loader's
    )
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def test_functions_that_are_let_go_of():
    run("del functions, f")


def test_reset():
    run("weft.compiler.reset()")
