"""Guards, one by one: whatever tensor programs read is changed between calls, with everything that reads it.

    python tests/fuzz/tensor_changes.py [--torch]

For each piece of tensor_surroundings.py and each change of it: functions of its numbers, tensors and expressions are compiled,
called, the change is made, and they are called again, beside plain ones.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys

import tensor_fuzz
import weft
from tensor_programs import Program
from tensor_surroundings import MODULES, SURROUNDINGS, for_owner

KINDS = {
    "x": "a0",
    "f": "a0",
    "i": "i0",
    "b": "(a0 > 0)",
    "s": "a0.sum()",
    "v": "a0[0]",
    "w": "a0",
    "c": "1.5",
    "n": "k",
    "d": "0",
}
ALL = {**SURROUNDINGS, "modules": MODULES}
CALLS = """
def attempt(function):
    try:
        return function(a0, i0)
    except RecursionError:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def reads(surrounding):
    """Every expression that reads something of it."""
    found = for_owner([*surrounding.numbers, *surrounding.tensors, *surrounding.expressions], "NET")
    return [
        re.sub(r"(?<!\{)\{([xfibsvwcnd])\}", lambda match: KINDS[match.group(1)], text)
        .replace("{{", "{")
        .replace("}}", "}")
        for text in found
    ]


def program(name, change, expressions):
    lines = [*ALL[name].lines.split("\n"), *CALLS.strip().split("\n"), "calls = []"]
    for i, expression in enumerate(expressions):
        lines += [
            f"def read{i}(a0, i0, k=2, flag=False, bias=0.5):",
            f"    return {expression}",
            f"calls.append(compiled(read{i}))",
        ]
    call = "r = [attempt(call) for call in calls]"
    steps = ["a0 = arg(1, (2, 4))", "i0 = arg(2, (2,), 'int64').clamp(0, 1)", call, call, change, call, call]
    return Program(lines, steps, True, {})


def differences(name, change, library=weft, mode="interpreted", share=None):
    """What is read wrongly after the change: texts. `share`: (n, of): only each such expression."""
    expressions = reads(ALL[name])
    if share:
        expressions = expressions[share[0] % share[1] :: share[1]]
    found = []
    # All together, and one by one only where something differs.
    if tensor_fuzz.failure(program(name, change, expressions), library, mode):
        for expression in expressions:
            message = tensor_fuzz.failure(program(name, change, [expression]), library, mode)
            if message:
                found.append(f"{name}: {expression!r} after {change!r}: {message}")
    return found


def cases():
    return [(name, change) for name, surrounding in ALL.items() for change in surrounding.changes]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", action="store_true", help="with weft.torch's names")
    parser.add_argument("--only", default="", help="surroundings whose names begin so")
    options = parser.parse_args()
    library = importlib.import_module("weft.torch") if options.torch else weft
    count = failed = 0
    for number, (name, change) in enumerate(cases()):
        if not name.startswith(options.only):
            continue
        found = differences(name, change, library)
        count += len(reads(ALL[name]))
        failed += len(found)
        for text in found:
            print(text, flush=True)
        if number % 4 == 0:
            weft.compiler.reset()
    print(f"{count} reads after changes: {failed} differ")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
