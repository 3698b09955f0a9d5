"""`python -m weft`, and the `weft` command of an installed wheel: runs the program that lies beside the package."""

import os
import pathlib
import sys


def main():
    if sys.argv[1:2] == ["compile"]:
        from .script import main as compile_script

        sys.exit(compile_script(sys.argv[2:]))
    if sys.argv[1:2] == ["torch"]:
        from .torch._program import main as run_torch

        sys.exit(run_torch(sys.argv[2:]))
    program = pathlib.Path(__file__).parent / "bin" / "weft"
    if not program.exists():
        sys.exit(f"weft: this installation has no command: {program} is missing")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
