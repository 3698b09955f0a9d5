"""A program whose own `import torch` and `import torchvision` find weft's."""

import runpy
import sys
from pathlib import Path

from . import _aliases

USAGE = """usage: python -m weft.torch PROGRAM.py [ARGUMENT ...]
       python -m weft.torch -m MODULE [ARGUMENT ...]
       python -m weft.torch --coverage [--missing]

Runs a program written for PyTorch on weft: its `import torch` and `import torchvision` find weft.torch and
weft.torchvision. --coverage counts the names of PyTorch that are there; --missing lists the others with the reason."""


def stand_in():
    """From now on `import torch` finds weft.torch."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("torch", "torchvision")]:
        del sys.modules[name]
    _aliases.add("torch", "weft.torch")
    _aliases.add("torchvision", "weft.torchvision")


def main(arguments):
    """The command's exit status. Exceptions of the program are the program's."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] == "--coverage":
        from . import _coverage

        return _coverage.main(arguments[1:])
    if arguments[0] == "-m":
        if len(arguments) == 1:
            print(f"-m: expected the name of a module\n{USAGE}", file=sys.stderr)
            return 2
        stand_in()
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    program = Path(arguments[0])
    if arguments[0].startswith("-") or not program.exists():
        print(f"{arguments[0]}: no such file\n{USAGE}", file=sys.stderr)
        return 2
    stand_in()
    sys.argv = arguments
    sys.path.insert(0, str(program.parent.resolve()))
    runpy.run_path(str(program), run_name="__main__")
    return 0
