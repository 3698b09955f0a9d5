"""The operand of a product was printed without parentheses."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [Argument("float64", (17, 4, 1), "C", False, 87913054)],
    ["v2 = a0 + 0", "v7 = a0 - v2", "v8 = v7.prod(axis=0)"],
    ["v8"],
)
