"""An element taken out of an array is a copy: later assignments do not reach it."""

from program_fuzz import Argument, Program

PROGRAM = Program([Argument("float64", (9,), "F", False, 701898072)], ["v0 = a0[3]", "a0[:] *= -1"], ["v0"])
