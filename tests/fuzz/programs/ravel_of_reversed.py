"""ravel() of a reversed argument is a copy: assigning to it leaves the argument alone."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [Argument("float64", (3,), "reversed", False, 452271943)], ["v0 = a0.ravel()", "v0[-2] = 3"], ["v0"]
)
