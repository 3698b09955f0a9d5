"""python -m weft.torch program.py [argument ...]: runs a program written for PyTorch on weft."""

import sys

from weft.torch import _program

if __name__ == "__main__":
    sys.exit(_program.main(sys.argv[1:]))
